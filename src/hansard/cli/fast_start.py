"""JSON without `json`, which takes 8 ms to import where a whole status line takes 13."""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` would be the largest import
if TYPE_CHECKING:
    from typing import Any


class _ScannerOptions:
    """How the scanner is to read things."""

    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


def decode(text: bytes) -> Any:
    """The value of a JSON text, by the C code that `json` uses itself; ValueError where it is none."""
    try:
        from _json import make_scanner
    except ImportError:  # another Python than CPython
        from json import loads

        return loads(text)
    plain = text.decode("utf-8", "replace").lstrip("\ufeff").strip()
    try:
        value, end = make_scanner(_ScannerOptions())(plain, 0)  # type: ignore[arg-type]
    except (
        Exception
    ) as error:  # a SystemError too: the scanner wants to raise what `json` defines, and that is not loaded
        raise ValueError("no JSON") from error
    if end < len(plain):
        raise ValueError("more than one JSON value")
    return value
