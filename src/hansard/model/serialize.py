"""JSON representations of values."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hansard.lazy_regex import lazy_compile

if TYPE_CHECKING:
    import re

# JSON allows these characters unescaped, but terminals obey C1 controls and bidirectional overrides, and readers cannot see the rest.
_UNPRINTABLE = lazy_compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def plain(value: Any) -> Any:
    """Convert a value for JSON: snake_case keys, times as ISO 8601 UTC, money as decimal strings."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, Decimal):
        return money(value)
    if isinstance(value, Struct):
        if hasattr(value, "as_plain"):  # its parts are merged into one object in JSON
            return plain(value.as_plain())
        return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    return value


def money(value: Decimal) -> str:
    """An exact amount in plain digits, without trailing zeros."""
    digits = format(value, "f")
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def json_bytes(value: Any) -> bytes:
    """Encode a model value, or a dict of them, as UTF-8 JSON that is valid for every parser and safe on a terminal."""
    import json

    value = plain(value)
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        value = _finite(value)
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if not text.isascii() or "\x7f" in text:
        text = _UNPRINTABLE.sub(_escaped, text)
    try:
        return text.encode()
    except UnicodeEncodeError:  # JSON allows a lone surrogate as an escape
        return json.dumps(value, allow_nan=False).encode()


def _escaped(found: re.Match[str]) -> str:
    """The JSON escape of a character's UTF-16 code units."""
    units = found[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def encoded(value: Any) -> bytes:
    """Encode a value as one line of JSON."""
    return json_bytes(value) + b"\n"


def _finite(value: Any) -> Any:
    """Numbers too large for a float as text, since JSON has no infinity."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):  # noqa: PLR0124 - NaN
        return str(value)
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return value
