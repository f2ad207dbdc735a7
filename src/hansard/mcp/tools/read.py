"""`read`: a session's outline first, then a turn, then a message whole."""

from __future__ import annotations

import contextlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import tee
from typing import TYPE_CHECKING, Annotated, NamedTuple

from msgspec import Meta, Struct, field

from hansard.errors import Ambiguous, NotFound, UsageError
from hansard.guard.passages import origin_of, safe_text, safe_texts
from hansard.mcp.answer import Answer, Excerpt, Form, Packer, Passage, Path, encoded_size, moment
from hansard.mcp.tools import CURSOR, Ask, Tool
from hansard.mcp.tools.sessions import SessionRow, row_of
from hansard.model.display import Checklist, Facts, Item, Part, Picture
from hansard.model.names import shown_id

if TYPE_CHECKING:
    from hansard.model.sessions import Session
    from hansard.query.transcripts import MessagePlace
    from hansard.thread.thread import Thread


_CALL_LENGTH = 400  # characters of a tool's input in a turn
_RESULT_LENGTH = 1_500
_LISTED = frozenset(
    {"prompt", "reply", "command", "bash", "output", "tool", "compaction", "summary", "error", "interruption"}
)

_OUTCOME = 800  # characters
_FILES = 12
_SUBAGENTS = 8
_MOST_TURNS = 200
DESCRIPTION = """Read a past session. With target alone: an outline (facts, turns by their prompts, changed files, how it ended). With turn: that turn's prompts, replies and tool calls. With a message uuid as target: that message whole.
target is a session id or the beginning of one, a message uuid, a title, or @last for the latest session before this one. Tool output is left out unless include_tool_output is true.
Examples: {"target": "@last"}; {"target": "3f2a91c0", "turn": 4}; {"target": "3f2a91c0", "turn": 4, "include_tool_output": true}; {"target": "9b1c...message-uuid"}"""


class Text(NamedTuple):
    """One text of an item: what was said, or what a tool returned."""

    item: Item
    text: str
    is_result: bool
    is_shortened: bool = False


_Draft = tuple[Text, int | None]
"""A text before redaction, and how many characters of it to show."""


def find_turn(thread: Thread, offset: int) -> int:
    """The number of the turn at an offset of the transcript; 0 before the first turn."""
    return bisect_right([start.offset for start in thread.starts], offset)


def read_turn(thread: Thread, number: int) -> list[Item]:
    """All items of a turn; 0 is what comes before the first turn."""
    starts = thread.starts
    if not 0 <= number <= len(starts):
        raise NotFound(f"there is no turn {number}; the session has {len(starts)}")
    first = starts[number - 1].offset if number else 0
    end = starts[number].offset if number < len(starts) else None
    return [item for turn in thread.turns(first, number, end) for item in turn.items]


def _texts_of_turn(items: Iterable[Item], *, with_results: bool) -> Iterator[_Draft]:
    """Whole prompts and replies, the beginning of calls, and results if `with_results`."""
    for item in items:
        if item.kind not in _LISTED:
            continue
        text = text_of(item)
        if item.kind == "output":
            if with_results and text:
                yield Text(item, text, is_result=True), _RESULT_LENGTH
        elif item.kind == "tool":
            yield Text(item, text, is_result=False), _CALL_LENGTH
            if with_results and (result := "\n".join(map(part_text, item.results))):
                yield Text(item, result, is_result=True), _RESULT_LENGTH
        elif text:
            yield Text(item, text, is_result=False), None


def _texts_of_message(items: Iterable[Item], *, with_results: bool) -> Iterator[_Draft]:
    for item in items:
        is_output = item.kind == "output"
        if (text := text_of(item)) and (with_results or not is_output):
            yield Text(item, text, is_result=is_output), None
        if with_results and (result := "\n".join(map(part_text, item.results))):
            yield Text(item, result, is_result=True), None


def _safe(drafts: Iterator[_Draft]) -> Iterator[Text]:
    drafts, others = tee(drafts)
    for (draft, longest), text in zip(drafts, safe_texts(other.text for other, _ in others), strict=True):
        yield draft._replace(text=text[:longest], is_shortened=longest is not None and len(text) > longest)


def text_of(item: Item) -> str:
    """What was said, or a tool's input."""
    said = "\n".join(map(part_text, item.parts))
    return f"{item.subject}\n{said}".strip() if item.subject and item.subject not in said else said


def part_text(part: Part) -> str:
    """A part of an item as plain text."""
    if isinstance(part, Facts):
        return "\n".join(f"{name}: {value}" for name, value in part.pairs)
    if isinstance(part, Checklist):
        return "\n".join(f"[{state}] {text}" for state, text in part.items)
    return "[image]" if isinstance(part, Picture) else part.text


def passage_of(text: Text, thread: Thread, packer: Packer, turn: int) -> Passage:
    item = text.item
    tool = item.title if item.kind == "tool" else ""
    called = item.thread.agent if item.thread is not None else None
    return Passage(
        session=thread.session.session_id,
        message=item.uuid or "",
        turn=turn,
        at=moment(item.at),
        origin=origin_of(item.who, item.facts.kind, is_result=text.is_result),
        kind="call" if tool and not text.is_result else "result" if tool else item.kind,
        tool=tool,
        subagent=called.agent_id if called is not None else "",
        error=item.is_error,
        text=packer.quoter.quote(text.text),
        truncated=text.is_shortened,
    )


class Place(NamedTuple):
    """Where to continue reading: the number of a text in a turn or message, and a character in it."""

    turn: int
    text: int = 0
    character: int = 0

    def __str__(self) -> str:
        return f"{self.turn}.{self.text}.{self.character}"

    @classmethod
    def read(cls, cursor: str) -> Place:
        try:
            place = cls(*map(int, cursor.split(".")))
        except (TypeError, ValueError):
            raise UsageError(f"invalid cursor {cursor!r}: pass next_cursor of the previous answer unchanged") from None
        if min(place) < 0:
            raise UsageError(f"invalid cursor {cursor!r}: pass next_cursor of the previous answer unchanged")
        return place


def add_texts(
    packer: Packer, passages: list[Passage], texts: Iterable[Text], thread: Thread, place: Place
) -> Place | None:
    """Add texts from a position on while they fit; returns where to continue, or None at the end."""
    for number, text in enumerate(texts):
        if number < place.text:
            continue
        start, grown = place.character if number == place.text else 0, 0
        if start:
            rest = text.text[start:]
            text = text._replace(text=safe_text(rest))  # noqa: PLW2901 - what is left of it
            grown = len(text.text) - len(rest)  # a beginning may need escaping that it did not need in the middle
        count = len(passages)
        if not packer.add(passages, passage_of(text, thread, packer, place.turn)):
            if len(passages) == count:
                return Place(place.turn, number, start)
            shown = len(packer.unquoted(passages[-1].text))
            return Place(place.turn, number, start + max(1, shown - grown))
    return None


def last_reply(thread: Thread) -> str:
    """The model's last reply in a session; empty if there is none."""
    for number in range(len(thread.starts), max(0, len(thread.starts) - 3), -1):
        for item in reversed(read_turn(thread, number)):
            if item.kind == "reply" and (text := text_of(item)):
                return text
    return ""


class ReadRequest(Struct, frozen=True):
    """A session, one of its turns, or a message."""

    target: Annotated[str, Meta(min_length=1, max_length=500, description="Session id, message uuid, title or @last")]
    turn: Annotated[int, Meta(ge=0, description="Number of a turn in the outline; 0: the outline")] = 0
    subagent: Annotated[str | None, Meta(max_length=200, description="Id of a subagent of the session")] = None
    include_tool_output: Annotated[bool, Meta(description="Also what tools returned and commands printed")] = False
    cursor: str | None = None


class TurnRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A turn in the outline."""

    turn: int
    at: str = ""
    failed: bool = False
    text: Excerpt = ""  # how its prompt begins, quoted
    truncated: bool = False


class ReadAnswer(Answer):
    """What `read` gives."""

    session: SessionRow | None = None
    turns: list[TurnRow] = field(default_factory=list)
    files: tuple[Path, ...] = ()  # that the session changed, the most changed first
    subagents: tuple[Annotated[str, Form("quoted", 160)], ...] = ()  # id, type and description
    passages: list[Passage] = field(default_factory=list)


def run(ask: Ask, request: ReadRequest) -> ReadAnswer:
    """An outline, a turn, or a message."""
    session, message = _find(ask, request)
    thread = _open(ask, session, request.subagent or (message.agent_id if message is not None else None))
    if message is not None:
        return _read_message(ask, request, thread, message)
    if request.turn or (request.cursor and Place.read(request.cursor).text):
        return _read_turn(ask, request, thread)
    return _outline(ask, request, thread)


def _find(ask: Ask, request: ReadRequest) -> tuple[Session, MessagePlace | None]:
    target = request.target.strip().removeprefix("hansard://session/")
    if target == "@last":
        return last_session(ask), None
    # Out of scope, ambiguous and nonexistent get the same answer.
    folder = ask.folder
    with contextlib.suppress(NotFound, Ambiguous):
        return ask.h.session(target, folder=folder), None
    with contextlib.suppress(NotFound, Ambiguous):
        message = ask.h.find_message(target, folder=folder)
        if session := ask.h.session_with_id(message.session_id, folder=folder):
            return session, message
    wider = "" if folder is None else ", scope: all looks in other projects"
    raise NotFound(
        f"{request.target!r} does not name one session or message here: give a whole id, or words of one title;"
        f" `sessions` and `search` find ids{wider}"
    )


def _open(ask: Ask, session: Session, agent: str | None) -> Thread:
    try:
        return ask.h.read(session, agent or None, pictures=False, subagents=False, long_lines=False)
    except NotFound:  # its message contains ids verbatim
        raise NotFound(f"session {shown_id(session.session_id)} has no subagent {agent!r}: `read` lists them") from None


def last_session(ask: Ask) -> Session:
    """The latest session of the scope, other than the client's own."""
    page = ask.h.sessions(folder=ask.folder, limit=5)
    for session in page.sessions:
        if session.session_id != ask.session_id:
            return session
    raise NotFound(f"there is no earlier session ({ask.scope})")


def _begin(ask: Ask, thread: Thread) -> ReadAnswer:
    session = row_of(ask, thread.session, with_project=True)
    return ask.packer.begin(ReadAnswer(scope=ask.scope, session=session))


def _outline(ask: Ask, request: ReadRequest, thread: Thread) -> ReadAnswer:
    packer = ask.packer
    answer = _begin(ask, thread)
    first = Place.read(request.cursor).turn if request.cursor else 1
    count = len(thread.starts)
    if first > max(count, 1):
        raise UsageError(f"invalid cursor {request.cursor!r}: the session has {count} turns")
    if first == 1:
        _add_facts(ask, answer, thread)
    last = min(count, first + _MOST_TURNS - 1)
    turns = (
        TurnRow(turn=turn.number, at=moment(turn.started_at), failed=turn.failed, text=packer.quoter.quote(turn.text))
        for turn in (thread.outline(first, last) if count else ())
    )
    packer.fill(answer.turns, turns)
    shown = answer.turns[-1].turn if answer.turns else count
    parts, next_cursor = [ask.hint], ""
    if shown < count:
        next_cursor = str(Place(shown + 1))
        parts.append(f"Turns {shown + 1} to {count} are missing: pass next_cursor as cursor.")
    parts.append("Pass turn to read one.")
    return ask.packer.end(answer, parts, next_cursor)


def _add_facts(ask: Ask, answer: ReadAnswer, thread: Thread) -> None:
    """Add changed files, subagents and the end of the session to the outline."""
    packer = ask.packer
    room = packer.room
    if thread.agent is None:
        packer.set_names(answer, "files", (file.path for file in thread.changed_files(_FILES)), room // 4)
        agents = (
            f"{shown_id(agent.agent_id)} {agent.agent_type}: {agent.description}"
            for agent in thread.agents[:_SUBAGENTS]
        )
        packer.set_names(answer, "subagents", agents, room // 8)
    end = safe_text(last_reply(thread))
    shown = end[: min(_OUTCOME, room // 16)]
    passage = Passage(
        session=thread.session.session_id,
        turn=len(thread.starts),
        origin="model",
        kind="last reply",
        text=packer.quoter.quote(shown),
        truncated=len(shown) < len(end),
    )
    if end and encoded_size(passage) < packer.room // 2:
        packer.add(answer.passages, passage)


def _read_turn(ask: Ask, request: ReadRequest, thread: Thread) -> ReadAnswer:
    answer = _begin(ask, thread)
    place = Place.read(request.cursor) if request.cursor else Place(request.turn)
    texts = _safe(_texts_of_turn(read_turn(thread, place.turn), with_results=request.include_tool_output))
    following = add_texts(ask.packer, answer.passages, texts, thread, place)
    parts, next_cursor = [ask.hint], ""
    if following is not None:
        next_cursor = str(following)
        parts.append("The turn continues: pass next_cursor as cursor.")
    elif place.turn < len(thread.starts):
        parts.append(f"Turn {place.turn} of {len(thread.starts)}.")
    if any(passage.truncated for passage in answer.passages):
        parts.append("Pass the message of a truncated passage as target to read it whole.")
    return ask.packer.end(answer, parts, next_cursor)


def _read_message(ask: Ask, request: ReadRequest, thread: Thread, message: MessagePlace) -> ReadAnswer:
    answer = _begin(ask, thread)
    offset = thread.call_of(message.offset)
    number = find_turn(thread, offset)
    items = read_turn(thread, number)
    here = [item for item in items if item.uuid == message.uuid] or [item for item in items if item.offset == offset]
    if not here:
        raise NotFound(
            f"message {shown_id(message.uuid)} has no readable text; `read` its session {shown_id(message.session_id)}"
        )
    place = Place.read(request.cursor) if request.cursor else Place(number)
    is_result = message.offset != offset or any(item.kind == "output" for item in here)
    texts = _safe(_texts_of_message(here, with_results=request.include_tool_output))
    following = add_texts(ask.packer, answer.passages, texts, thread, place._replace(turn=number))
    parts, next_cursor = [ask.hint], ""
    if following is not None:
        next_cursor = str(following)
        parts.append("The message continues: pass next_cursor as cursor.")
    if is_result and not request.include_tool_output:
        parts.append("This is the output of a tool or a command: pass include_tool_output to read it.")
    parts.append(f"It is in turn {number}.")
    return ask.packer.end(answer, parts, next_cursor)


_TAKES = ("target", "turn", "subagent", "include_tool_output", CURSOR)
TOOL = Tool("read", "Read a session", DESCRIPTION, ReadRequest, _TAKES, ReadAnswer, run)
