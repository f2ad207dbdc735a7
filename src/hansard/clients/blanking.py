"""Markers in place of what a record says: as many bytes, and still JSON that a reader understands.

A client names the values that tell what a record is and where it belongs; those stay. Every other text becomes a marker,
every other number 0.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hansard.lazy_regex import lazy_compile
from hansard.model.erasing import marker

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TOKEN = lazy_compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[{}\[\],:]|-?+[0-9][0-9.eE+-]*+', re.DOTALL)
_NOT_A_BREAK = lazy_compile(rb"[^\r\n]+")
_decode = msgspec.json.Decoder(msgspec.Raw).decode


class Kept(NamedTuple):
    """Which values stay, by their paths: keys joined by dots, without case and underscores; `[]` for the items of a list."""

    exact: frozenset[str]
    below: tuple[str, ...]
    """Of values that stay with all that is in them."""
    steps: frozenset[str]
    """Of the keys on the way to them, which stay."""
    objects: frozenset[str] | None
    """Of objects that keep all their keys; None: every object."""


def kept(*paths: str, objects: Iterable[str] = ()) -> Kept:
    """The values at these paths, with a `*` at the end of one all that lies below, and all keys of some objects."""
    plain = [_plain(path) for path in paths]
    below = tuple(path[:-1] for path in plain if path.endswith("*"))
    ends = [path.rstrip("*") for path in plain]
    steps = {
        path[:place] for path in ends for place in range(1, len(path) + 1) if path[place : place + 1] in ("", ".", "[")
    }
    return Kept(
        frozenset(path for path in plain if not path.endswith("*")),
        below or ("\0",),
        frozenset(steps),
        frozenset(map(_plain, objects)),
    )


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


_PLACES = ("type", "id", "uuid", "role", "timestamp", "ts", "time", "session_id", "parent_id")
USUAL = kept(
    *("fact", "update", "deleted"),
    *(f"{above}{key}" for above in ("", "message.", "payload.", "data.") for key in _PLACES),
    objects=("", "message", "payload", "data"),
)
"""What most clients call the values that tell what a record is."""
NOTHING = kept()
ONLY_KEYS = NOTHING._replace(objects=None)


def blank(data: bytes, kept: Kept = USUAL) -> bytes:
    """A record without what it says; anything but one whole JSON value is blanked as a whole, up to its line breaks."""
    try:
        _decode(data)
    except (msgspec.DecodeError, RecursionError):
        return _NOT_A_BREAK.sub(lambda found: marker(len(found[0])), data)
    result = bytearray(data)
    around: list[
        tuple[str, bool]
    ] = []  # of each open container: the path of what contains it, and whether that is an object
    above, is_object = "", False
    key: str | None = None  # of the value that comes next; None in a list
    waits_for_key = False
    for token in TOKEN.finditer(data):
        text, start = token[0], token.start()
        first = text[:1]
        if first in b"{[":
            around.append((above, is_object))
            above = _step(above, key) + ("[]" if first == b"[" else "")
            is_object = waits_for_key = first == b"{"
            key = None
        elif first in b"}]":
            above, is_object = around.pop()
            waits_for_key, key = False, None
        elif first == b",":
            waits_for_key, key = is_object, None
        elif first == b":":
            waits_for_key = False
        elif waits_for_key:
            key = _plain(text[1:-1].decode("utf-8", "replace"))
            if not _keeps_key(kept, above, _step(above, key)):
                result[start + 1 : token.end() - 1] = marker(len(text) - 2)
        else:
            place = _step(above, key)
            if place not in kept.exact and not place.startswith(kept.below):
                if first == b'"':
                    result[start + 1 : token.end() - 1] = marker(len(text) - 2)
                else:
                    result[start : token.end()] = b"0".ljust(len(text))
    return bytes(result)


def _keeps_key(kept: Kept, above: str, place: str) -> bool:
    return kept.objects is None or above in kept.objects or place in kept.steps or place.startswith(kept.below)


def objects_naming(data: bytes, key: bytes) -> Iterator[tuple[str, int, int]]:
    """The objects that have a text under a key, which is given with its quotes: the text, and from where to where they are."""
    around: list[tuple[int, str]] = []  # of each open container: where it begins, and the text
    last, is_value = b"", False
    for token in TOKEN.finditer(data):
        text = token[0]
        if text in (b"{", b"["):
            around.append((token.start(), ""))
        elif text in (b"}", b"]"):
            start, name = around.pop() if around else (0, "")
            if name:
                yield name, start, token.end()
        elif is_value and last == key and around and text[:1] == b'"':
            around[-1] = around[-1][0], text[1:-1].decode("utf-8", "replace")
        last, is_value = (last if text == b":" else text), text == b":"


def _step(above: str, key: str | None) -> str:
    if key is None:
        return above
    return f"{above}.{key}" if above else key
