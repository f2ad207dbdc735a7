"""A session as one JSON document, given out piece by piece: its display tree by turns, or a conversation by entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from hansard.model.serialize import json_bytes

if TYPE_CHECKING:
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
    yield b"]}\n"


def _thread(thread: Thread) -> Iterator[bytes]:
    yield b'{"agent": ' + json_bytes(thread.agent) + b', "turns": ['
    before = b"\n"
    for turn in thread.turns():
        yield before + json_bytes(turn)
        before = b",\n"
    yield b'],\n"not_shown": ' + json_bytes(thread.not_shown) + b"}"


def conversation(thread: Thread, entries: Iterable[Entry]) -> Iterator[bytes]:
    """The document `Conversation` with these entries of a thread, and its session, on one line; what was not shown is told as far as they were read."""
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
    yield b', "not_shown": ' + json_bytes(thread.not_shown) + b"}\n"
