"""`read`: a session's outline first, then a turn, then a message whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct, field

from hansard.errors import NotFound, UsageError
from hansard.guard.passages import safe_text
from hansard.mcp.answer import Answer, Cursor, Params, Passage, moment, one_line
from hansard.mcp.conversation import (
    Place,
    add_texts,
    find_turn,
    last_reply,
    read_turn,
    texts_of_message,
    texts_of_turn,
)
from hansard.mcp.tool import Ask, Tool
from hansard.mcp.tools.sessions import SessionRow, row_of

if TYPE_CHECKING:
    from hansard.model.sessions import Session
    from hansard.query.messages import MessagePlace
    from hansard.thread.thread import Thread

_OUTCOME = 800  # characters
_FILES = 12
_MOST_TURNS = 200
DESCRIPTION = """Read a past session. With target alone: an outline (facts, turns by their prompts, changed files, how it ended). With turn: that turn's prompts, replies and tool calls. With a message uuid as target: that message whole.
target is a session id or the beginning of one, a message uuid, a title, or @last for the latest session before this one. Tool output is left out unless include_tool_output is true.
Examples: {"target": "@last"}; {"target": "3f2a91c0", "turn": 4}; {"target": "3f2a91c0", "turn": 4, "include_tool_output": true}; {"target": "9b1c...message-uuid"}"""


class ReadParams(Params):
    """What `read` takes."""

    target: Annotated[str, Meta(min_length=1, max_length=500, description="Session id, message uuid, title or @last")]
    turn: Annotated[int, Meta(ge=0, description="Number of a turn in the outline; 0: the outline")] = 0
    subagent: Annotated[str, Meta(max_length=200, description="Id of a subagent of the session")] = ""
    include_tool_output: Annotated[bool, Meta(description="Also what tools returned and commands printed")] = False
    cursor: Cursor = ""


class TurnRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A turn in the outline."""

    turn: int
    at: str = ""
    failed: bool = False
    text: str = ""  # how its prompt begins, quoted
    truncated: bool = False


class ReadAnswer(Answer):
    """What `read` gives."""

    session: SessionRow | None = None
    turns: list[TurnRow] = field(default_factory=list)
    files: tuple[str, ...] = ()  # that the session changed, the most changed first
    subagents: tuple[str, ...] = ()
    passages: list[Passage] = field(default_factory=list)


def run(ask: Ask, params: ReadParams) -> ReadAnswer:
    """An outline, a turn, or a message."""
    session, message = _find(ask, params)
    ask.repository.check(session, params.scope)
    agent = params.subagent or (message.agent_id if message is not None else None)
    thread = ask.h.read(session, agent or None, pictures=False, subagents=False, long_lines=False)
    if message is not None:
        return _read_message(ask, params, thread, message)
    if params.turn or (params.cursor and Place.read(params.cursor).text):
        return _read_turn(ask, params, thread)
    return _outline(ask, params, thread)


def _find(ask: Ask, params: ReadParams) -> tuple[Session, MessagePlace | None]:
    target = params.target.strip().removeprefix("hansard://session/")
    if target == "@last":
        return last_session(ask, params.scope), None
    try:
        return ask.h.session(target), None
    except NotFound as error:
        try:
            message = ask.h.find_message(target)
        except NotFound:
            raise NotFound(f"{error}; nor does a message have this uuid. `sessions` and `search` find ids.") from None
        return ask.h.session(message.session_id), message


def last_session(ask: Ask, scope: str) -> Session:
    """The latest session of the scope that is not the one that asks."""
    page = ask.h.sessions(folder=ask.repository.condition(scope), limit=5)
    for session in page.sessions:
        if session.session_id != ask.session_id:
            return session
    raise NotFound(f"there is no earlier session ({ask.repository.words(scope)})")


def _begin(ask: Ask, params: ReadParams, thread: Thread) -> ReadAnswer:
    return ask.packer.begin(
        ReadAnswer(
            notice=ask.packer.notice,
            scope=ask.repository.words(params.scope),
            session=row_of(ask, thread.session, with_project=True),
        )
    )


def _outline(ask: Ask, params: ReadParams, thread: Thread) -> ReadAnswer:
    packer = ask.packer
    answer = _begin(ask, params, thread)
    first = Place.read(params.cursor).turn if params.cursor else 1
    count = len(thread.starts)
    if first > max(count, 1):
        raise UsageError(f"invalid cursor {params.cursor!r}: the session has {count} turns")
    if first == 1:
        _add_facts(ask, answer, thread)
    last = min(count, first + _MOST_TURNS - 1)
    for turn in thread.outline(first, last) if count else ():
        text = one_line(turn.text, 160)
        row = TurnRow(turn=turn.number, at=moment(turn.started_at), failed=turn.failed, text=packer.quoter.quote(text))
        if not packer.add(answer.turns, row):
            break
    shown = answer.turns[-1].turn if answer.turns else count
    parts, next_cursor = [ask.hint], ""
    if shown < count:
        next_cursor = str(Place(shown + 1))
        parts.append(f"Turns {shown + 1} to {count} are missing: pass next_cursor as cursor.")
    parts.append("Pass turn to read one.")
    return ask.packer.end(answer, parts, next_cursor)


def _add_facts(ask: Ask, answer: ReadAnswer, thread: Thread) -> None:
    """What the outline begins with: changed files, subagents, and how the session ended."""
    packer = ask.packer
    room = packer.room
    if thread.agent is None:
        answer.files = tuple(one_line(file.path, 160) for file in thread.changed_files(_FILES))
        answer.subagents = tuple(
            packer.quoted_line(f"{agent.agent_id} {agent.agent_type}: {agent.description}", 100)
            for agent in thread.agents[:8]
        )
    size = sum(len(text.encode()) + 4 for text in (*answer.files, *answer.subagents))
    if size > room // 3:
        answer.files, answer.subagents = answer.files[:1], ()
        size = sum(len(text.encode()) + 4 for text in answer.files)
    packer.room -= size + 40
    end = safe_text(last_reply(thread))
    if end:
        shown = end[: min(_OUTCOME, room // 8)]
        packer.add(
            answer.passages,
            Passage(
                session=thread.session.session_id,
                turn=len(thread.starts),
                origin="model",
                kind="last reply",
                text=packer.quoter.quote(shown),
                truncated=len(shown) < len(end),
            ),
        )


def _read_turn(ask: Ask, params: ReadParams, thread: Thread) -> ReadAnswer:
    answer = _begin(ask, params, thread)
    place = Place.read(params.cursor) if params.cursor else Place(params.turn)
    texts = texts_of_turn(read_turn(thread, place.turn), with_results=params.include_tool_output)
    following = add_texts(ask.packer, answer.passages, texts, thread, place)
    parts, next_cursor = [ask.hint], ""
    if following is not None:
        next_cursor = str(following)
        parts.append("The turn goes on: pass next_cursor as cursor.")
    elif place.turn < len(thread.starts):
        parts.append(f"Turn {place.turn} of {len(thread.starts)}.")
    if any(passage.truncated for passage in answer.passages):
        parts.append("Pass the message of a truncated passage as target to read it whole.")
    return ask.packer.end(answer, parts, next_cursor)


def _read_message(ask: Ask, params: ReadParams, thread: Thread, message: MessagePlace) -> ReadAnswer:
    answer = _begin(ask, params, thread)
    offset = thread.call_of(message.offset)
    number = find_turn(thread, offset)
    items = read_turn(thread, number)
    here = [item for item in items if item.uuid == message.uuid] or [item for item in items if item.offset == offset]
    if not here:
        raise NotFound(f"message {message.uuid} says nothing that can be read; `read` its session {message.session_id}")
    place = Place.read(params.cursor) if params.cursor else Place(number)
    is_result = message.offset != offset or any(item.kind == "output" for item in here)
    texts = texts_of_message(here, with_results=params.include_tool_output)
    following = add_texts(ask.packer, answer.passages, texts, thread, place._replace(turn=number))
    parts, next_cursor = [ask.hint], ""
    if following is not None:
        next_cursor = str(following)
        parts.append("The message goes on: pass next_cursor as cursor.")
    if is_result and not params.include_tool_output:
        parts.append("This is the output of a tool or a command: pass include_tool_output to read it.")
    parts.append(f"It stands in turn {number}.")
    return ask.packer.end(answer, parts, next_cursor)


TOOL = Tool("read", "Read a session", DESCRIPTION, ReadParams, ReadAnswer, run)
