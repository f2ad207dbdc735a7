"""What decoding a line of a transcript gives: records and issues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hansard.clients.lines import BLANK, LongLine, length_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# What msgspec raises on bytes that it cannot read. Nesting of a thousand levels is a RecursionError even where it only skips.
REFUSED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


UNREAD = frozenset({"not_json", "too_deep", "too_long", "too_many_values", "torn", "not_an_object", "unknown_shape"})
"""The reasons of issues about bytes that nothing could be made of."""
_BLANK_END = 64  # bytes at the end of a line that are looked at


class ParsedLine(NamedTuple):
    """One decoded record: its place, its kind, its wire struct, and the names of unknown fields."""

    offset: int
    length: int
    kind: str
    body: Any
    strange: tuple[str, ...] = ()


class Issue(NamedTuple):
    """Something in a transcript that could not be read as it should: kept, counted, reported."""

    offset: int
    length: int
    reason: str
    detail: str = ""


def unfinished(
    rest: bytes, offset: int, read: Callable[[bytes, int], Iterable[ParsedLine | Issue]]
) -> list[ParsedLine | Issue]:
    """What a last line without a newline is: whole records where it is complete, otherwise an issue until more comes."""
    if not isinstance(rest, LongLine) and not rest.strip():
        return []
    # Whole records end like an object; without looking at the end all of a long line that is still coming would be searched for some.
    found = list(read(rest, offset)) if rest[-_BLANK_END:].rstrip(BLANK)[-1:] in (b"", b"}") else []
    if found and all(isinstance(item, ParsedLine) for item in found):
        return found
    return [Issue(offset, length_of(rest), "unfinished", "the last line has no end yet")]
