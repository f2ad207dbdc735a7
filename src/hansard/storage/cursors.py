"""Cursors for pagination: where a page of a list ended, as one opaque text that fits only the list it was made for."""

from __future__ import annotations

import base64
import json
from typing import Any

from hansard.errors import UsageError

_LARGEST = 1 << 63


def write_cursor(made_for: list[Any], place: tuple[Any, ...]) -> str:
    """A cursor for what follows a place in the list that `made_for` describes."""
    return base64.urlsafe_b64encode(json.dumps([made_for, *place]).encode()).decode()


def read_cursor(cursor: str, made_for: list[Any], *kinds: type | tuple[type, ...]) -> tuple[Any, ...]:
    """The place that a cursor of this list names, each value of its type; rejects any other cursor.

    Integers fit into 63 bits, and a bool is not an integer.
    """
    try:
        made, *place = json.loads(base64.urlsafe_b64decode(cursor.encode()))
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
