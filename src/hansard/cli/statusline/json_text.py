"""JSON without `json`, which brings `re` along: the same C code that it uses itself, where Python has it."""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` would be the largest import
if TYPE_CHECKING:
    from typing import Any


class _Ways:
    """How the scanner is to read things; anything it cannot make sense of is an error of the caller's text."""

    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


def decode(text: bytes) -> Any:
    """The value that a JSON text stands for; ValueError where it is none."""
    try:
        from _json import make_scanner
    except ImportError:
        from json import loads

        return loads(text)
    plain = text.decode("utf-8", "replace").lstrip("\ufeff").strip()
    try:
        value, end = make_scanner(_Ways())(plain, 0)  # type: ignore[arg-type]
    except (
        Exception
    ) as error:  # a SystemError too: the scanner wants to raise what `json` defines, and that is not loaded
        raise ValueError("no JSON") from error
    if end < len(plain):
        raise ValueError("more than one JSON value")
    return value


def encode(value: Any) -> str:
    """A value of dicts, lists, texts, whole numbers and None as JSON."""
    try:
        from _json import encode_basestring_ascii as quote
    except ImportError:
        from json import dumps as quote
    if isinstance(value, dict):
        return "{" + ",".join(f"{quote(key)}:{encode(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(encode, value)) + "]"
    if value is None:
        return "null"
    return quote(value) if isinstance(value, str) else str(int(value))
