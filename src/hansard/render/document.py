"""A session as JSON, in pieces: one document by turns or by entries, or a line for each thing said or done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hansard.model.display import Item
from hansard.model.gate import replaced
from hansard.model.serialize import json_bytes

if TYPE_CHECKING:
    from hansard.model.display import Turn
    from hansard.model.threads import Entry
    from hansard.thread.thread import Thread


def pieces(thread: Thread) -> Iterator[bytes]:
    """The document `Display` as JSON in UTF-8, a line for each turn."""
    yield b'{"session": ' + json_bytes(thread.session) + b',\n"thread": '
    if thread.has_log:
        yield from _thread(thread)
    else:
        yield b'{"agent": null, "turns": [], "not_shown": {}}'
    yield b',\n"others": ['
    before = b"\n"
    for other in thread.others():
        yield before
        yield from _thread(other)
        before = b",\n"
    yield b"]" + _redacted(thread) + b"}\n"


def _redacted(thread: Thread) -> bytes:
    """How many secrets were replaced, if any were."""
    count = len(replaced(thread.redact))
    return b', "%b": %d' % (REDACTED.encode(), count) if count else b""


def _thread(thread: Thread) -> Iterator[bytes]:
    yield b'{"agent": ' + json_bytes(thread.agent) + b', "turns": ['
    before = b"\n"
    for turn in thread.turns():
        yield before + json_bytes(turn)
        before = b",\n"
    yield b'],\n"not_shown": ' + json_bytes(thread.not_shown) + b"}"


def conversation(thread: Thread, entries: Iterable[Entry]) -> Iterator[bytes]:
    """The document `Conversation` with these entries of a thread, and its session, on one line; `not_shown` counts what was read so far."""
    about = thread.session
    yield b'{"session": ' + json_bytes(about) + b', "session_id": ' + json_bytes(about.session_id)
    yield (
        b', "agent_id": ' + json_bytes(thread.agent.agent_id if thread.agent is not None else None) + b', "entries": ['
    )
    before = b""
    for entry in entries:
        yield before + json_bytes(entry)
        before = b", "
    yield b'], "forks": ' + json_bytes(thread.forks) + b', "agents": ' + json_bytes(thread.agents)
    yield b', "not_shown": ' + json_bytes(thread.not_shown) + _redacted(thread) + b"}\n"


REDACTED = "redacted_secrets"
"""The name of their count."""
_FIELDS = tuple(name for name in Item.__struct_fields__ if name != "thread")
# The fields of lines that are not items: every line has the same fields with the same types.
_NO_ITEM: dict[str, Any] = {
    **dict.fromkeys(_FIELDS, ""),
    "who": "client",
    **dict.fromkeys(("at", "model", "uuid")),
    **dict.fromkeys(("facts", "parts", "results", "forks"), ()),
    **dict.fromkeys(("is_error", "queued"), False),
    **dict.fromkeys(("branch", "offset", "length"), 0),
}


def lines(thread: Thread) -> Iterator[bytes]:
    """The lines of a session; what a subagent did follows the call that made it."""
    about = thread.session
    yield _line(
        thread, None, 0, {**_NO_ITEM, "anchor": "session", "kind": "session", "at": about.started_at}, session=about
    )
    yield from _turns(thread, None, thread.turns())
    yield from _rest(thread, None, thread.not_shown)
    for other in thread.others():
        agent_id = other.agent.agent_id if other.agent else None
        yield from _turns(thread, agent_id, other.turns())
        yield from _rest(thread, agent_id, other.not_shown)
    if count := len(replaced(thread.redact)):
        yield from _rest(thread, None, {REDACTED: count})


def _turns(thread: Thread, agent_id: str | None, turns: Iterable[Turn]) -> Iterator[bytes]:
    for turn in turns:
        for item in turn.items:
            made = item.thread.agent.agent_id if item.thread is not None and item.thread.agent is not None else None
            yield _line(thread, agent_id, turn.number, {name: getattr(item, name) for name in _FIELDS}, made=made)
            if item.thread is not None:
                yield from _turns(thread, made, item.thread.turns)
                yield from _rest(thread, made, item.thread.not_shown)


def _rest(thread: Thread, agent_id: str | None, not_shown: Mapping[str, int]) -> Iterator[bytes]:
    if not_shown:
        values = {**_NO_ITEM, "anchor": "not_shown", "kind": "not_shown"}
        yield _line(thread, agent_id, 0, values, not_shown=dict(not_shown))


def _line(
    thread: Thread,
    agent_id: str | None,
    turn: int,
    values: Mapping[str, Any],
    *,
    made: str | None = None,
    session: Any = None,
    not_shown: Any = None,
) -> bytes:
    value = {
        "session_id": thread.session.session_id,
        "project": thread.session.project,
        "agent_id": agent_id,
        "turn": turn,
        **values,
        "made_agent_id": made,
        "session": session,
        "not_shown": not_shown,
    }
    return json_bytes(value) + b"\n"
