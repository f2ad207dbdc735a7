"""The records of a file: each line of a log, each message of a document or of a snapshot inside of a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.clients.documents import DocumentLines, SplitLines, first_line, is_in_document
from hansard.lazy_regex import lazy_compile

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hansard.clients.lines import Lines

_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_VALUE = rb"(?:%b|[-+.\w]++|\[[^\[\]{}]*+\])" % _STRING
_BEFORE = lazy_compile(
    rb'\A\s*+\{(?:\s*+(?!"messages")%b\s*+:\s*+%b\s*+,)*+\s*+"messages"\s*+:\s*+\[' % (_STRING, _VALUE)
)
_SNAPSHOT = b'{"$set":{"messages":['


def read_lines(pieces: Iterable[bytes], start: int) -> Lines:
    """The records of a document up to 0.38, or of a log, where a snapshot of all messages is one line."""
    first, pieces = first_line(pieces)
    if is_in_document(first) if start else _is_document(first):
        return DocumentLines(pieces, start, _BEFORE)
    return SplitLines(pieces, start, lambda line: len(_SNAPSHOT) if line.startswith(_SNAPSHOT) else 0)


def _is_document(first: bytes) -> bool:
    # Only a document has a line with nothing but a bracket.
    return first.lstrip().partition(b"\n")[0].strip() == b"{" or _BEFORE.match(first) is not None
