"""A session's display tree as one JSON document, given out turn by turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hansard.model.serialize import json_bytes

if TYPE_CHECKING:
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
