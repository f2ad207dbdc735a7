"""The records of a file: each line of a log, each message of a document or of a snapshot inside of a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.clients.documents import DocumentLines, SplitLines, first_line, is_in_document, list_start
from hansard.lazy_regex import lazy_compile

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hansard.clients.lines import Lines

_NAME = b"messages"
_SNAPSHOT = lazy_compile(rb'\s*+\{\s*+"\$set"\s*+:\s*+\{')
_SESSION = lazy_compile(rb'\s*+\{\s*+"(?:sessionId|projectHash|startTime|messages)"\s*+:')


def read_lines(pieces: Iterable[bytes], start: int) -> Lines:
    """The records of a document up to 0.38, or of a log, where a snapshot of all messages is one line."""
    first, pieces = first_line(pieces)
    if is_in_document(first) if start else _is_document(first):
        return DocumentLines(pieces, start, _opening)
    return SplitLines(pieces, start, _opening_in_line)


def _is_document(first: bytes) -> bool:
    """Whether a file does not begin with a line that is an object by itself."""
    line, newline, _ = first.lstrip().partition(b"\n")
    return line.strip() == b"{" or (not newline and _opening(line) > 0)


def _opening(data: bytes) -> int:
    return list_start(data, _NAME, 1)


def _opening_in_line(line: bytes) -> int:
    if _SNAPSHOT.match(line):
        return list_start(line, _NAME, 2)
    return _opening(line) if _SESSION.match(line) else 0
