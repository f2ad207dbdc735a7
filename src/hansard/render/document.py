"""A session's display tree as one JSON document, given out turn by turn."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from hansard.model.serialize import plain

if TYPE_CHECKING:
    from hansard.thread.thread import Thread


def pieces(thread: Thread) -> Iterator[bytes]:
    """The document `Display` as JSON in UTF-8, a line for each turn."""
    yield b'{"session": ' + _json(thread.session) + b',\n"thread": '
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
    yield b'{"agent": ' + _json(thread.agent) + b', "turns": ['
    before = b"\n"
    for turn in thread.turns():
        yield before + _json(turn)
        before = b",\n"
    yield b'],\n"not_shown": ' + _json(thread.not_shown) + b"}"


def _json(value: Any) -> bytes:
    value = plain(value)
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half a character is fine in JSON, as an escape
        return json.dumps(value).encode()
