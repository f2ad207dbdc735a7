"""What decoding a line of a transcript gives: records and issues."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

# What msgspec raises on bytes that it cannot read. Nesting of a thousand levels is a RecursionError even where it only skips.
REFUSED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class ParsedLine(NamedTuple):
    """One decoded record: where it stands, what kind it is, its wire struct, and fields of it that nobody has seen."""

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
