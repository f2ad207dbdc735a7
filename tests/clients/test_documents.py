"""Files that are read as a whole: how much of one is in memory."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import pytest

from hansard.clients import client_of, documents, lines
from hansard.clients.lines import LongLine

if TYPE_CHECKING:
    from collections.abc import Iterator

_PIECE = 1 << 16
_LIMIT = 4 * _PIECE
_PIECES = 100


def pieces(first: bytes) -> Iterator[bytes]:
    """A file without newlines behind its first bytes that is much longer than the limit."""
    yield first
    for _ in range(_PIECES):
        yield b" " * _PIECE


@pytest.mark.parametrize(
    "name", ["aider", "amp", "atif", "chatgpt", "claude-ai", "continue", "copilot-chat", "droid", "gemini"]
)
def test_of_a_file_that_is_too_long_only_the_length_is_kept(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINE", _LIMIT)
    monkeypatch.setattr(documents, "MAX_LINE", _LIMIT)
    client = client_of(name)
    for first in (b"{\n", b'{"messages": [', b"{"):
        tracemalloc.start()
        read = client.lines(pieces(first), 0)
        given = [line for _, line in read]
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert read.end == len(first) + _PIECES * _PIECE
        assert peak < 5 * _LIMIT
        assert isinstance(read.rest, LongLine) or any(isinstance(line, LongLine) for line in given)
