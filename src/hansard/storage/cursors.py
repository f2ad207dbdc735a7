"""Cursors for pagination: where a page of a list ended, as an opaque text that is valid only for that list."""

from __future__ import annotations

from typing import Any

from hansard.errors import UsageError
from hansard.storage.sqlite import from_json, to_json

_LARGEST = 1 << 63
_FOR_URLS = str.maketrans("+/", "-_")
_FROM_URLS = str.maketrans("-_", "+/")


def write_cursor(made_for: list[Any], place: tuple[Any, ...]) -> str:
    """A cursor to continue after a place in the list that `made_for` describes."""
    from binascii import b2a_base64

    return b2a_base64(to_json([made_for, *place]).encode(), newline=False).decode().translate(_FOR_URLS)


def read_cursor(cursor: str, made_for: list[Any], *kinds: type | tuple[type, ...]) -> tuple[Any, ...]:
    """The place that a cursor of this list names, each value of its type; rejects any other cursor.

    Integers fit into 63 bits, and a bool is not an integer.
    """
    from binascii import a2b_base64

    try:
        made, *place = from_json(a2b_base64(cursor.translate(_FROM_URLS)))
    except (ValueError, TypeError, RecursionError) as error:
        raise UsageError("invalid cursor: not from this listing") from error
    if isinstance(made, list) and made != made_for:
        raise UsageError("invalid cursor: from another listing or sort order")
    if made != made_for or len(place) != len(kinds) or not all(map(_is, place, kinds)):
        raise UsageError("invalid cursor: not from this listing")
    return tuple(place)


def _is(value: Any, kinds: type | tuple[type, ...]) -> bool:
    allowed = kinds if isinstance(kinds, tuple) else (kinds,)
    return type(value) in allowed and (type(value) is not int or abs(value) < _LARGEST)
