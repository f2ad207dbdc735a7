"""A session's display tree as one JSON document, given out turn by turn."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from hansard.model.serialize import plain

if TYPE_CHECKING:
    from hansard.thread.tree import ThreadTree, Tree


def pieces(tree: Tree) -> Iterator[bytes]:
    """The document `Display` as JSON in UTF-8, a line for each turn."""
    yield b'{"session": ' + _json(tree.session) + b',\n"thread": '
    main = tree.main()
    if main is None:
        yield b'{"agent": null, "turns": [], "not_shown": {}}'
    else:
        yield from _thread(main)
    yield b',\n"others": ['
    before = b"\n"
    for other in tree.others():
        yield before
        yield from _thread(other)
        before = b",\n"
    yield b"]}\n"


def _thread(thread: ThreadTree) -> Iterator[bytes]:
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
