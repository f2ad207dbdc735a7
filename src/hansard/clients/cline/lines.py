"""The messages of a task's document; a call is one with its approval and the outputs that follow it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hansard.clients.documents import DocumentLines, list_start
from hansard.lazy_regex import lazy_compile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_decode = msgspec.json.Decoder(dict[str, Any]).decode
_LIST = lazy_compile(rb"\s*+\[")
_KIND = lazy_compile(rb'"(?:ask|say)"\s*+:\s*+"(\w++)"(?!\s*:)')
_CALLS = frozenset({b"command", b"use_mcp_server", b"browser_action_launch", b"browser_action"})
_OUTPUTS = frozenset({b"command_output", b"mcp_server_response", b"browser_action_result"})
_SEARCHED = 300  # bytes: the kind is one of the first values of a message


class TaskLines(DocumentLines):
    """Messages, one at a time."""

    def __init__(self, pieces: Iterable[bytes], offset: int) -> None:
        super().__init__(pieces, offset, _opening, is_list=True)

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        held: tuple[int, bytes] | None = None
        held_kind = b""
        for offset, line in super().__iter__():
            found = _KIND.search(line[:_SEARCHED])
            kind = found[1] if found else b""
            if held is not None:
                if kind in _OUTPUTS or (kind == held_kind and _is_repeated(held[1], line)):
                    held = held[0], self.between(held[0], offset + len(line))
                    continue
                yield held
                held = None
            if kind in _CALLS:
                held, held_kind = (offset, line), kind
            else:
                yield offset, line
        if held is not None:
            yield held


def _opening(data: bytes) -> int:
    """The end of the bracket that opens the messages: those of a task are a list by themselves."""
    found = _LIST.match(data)
    return found.end() if found is not None else list_start(data, b"messages", 1)


def _is_repeated(asked: bytes, said: bytes) -> bool:
    """Whether a call is the one that the user was asked about just before, and approved."""
    try:
        one, two = _decode(asked), _decode(said)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return "ask" in one and "say" in two and one.get("text") == two.get("text")
