"""Values as JSON knows them."""

from __future__ import annotations

import sys
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decimal import Decimal


def plain(value: Any) -> Any:
    """A value as JSON knows it: snake_case keys, times as ISO 8601 UTC, money as decimal strings."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if hasattr(value, "as_plain"):  # a value whose parts stand side by side in JSON
        return plain(value.as_plain())
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    # No decimal can be here unless somebody loaded the module, which costs start-up more than this look.
    decimal = sys.modules.get("decimal")
    return money(value) if decimal is not None and isinstance(value, decimal.Decimal) else value


def money(value: Decimal) -> str:
    """An exact amount in plain digits, without zeros that say nothing."""
    digits = format(value, "f")
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def json_bytes(value: Any) -> bytes:
    """A value of the model as JSON in UTF-8, without a newline."""
    import json

    value = plain(value)
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half a character is fine in JSON, as an escape
        return json.dumps(value).encode()


def encoded(value: Any) -> bytes:
    """A value of the model, or a dict of such, as one line of JSON in UTF-8; valid for every reader, whatever transcripts hold."""
    import json

    value = plain(value)
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        value = _finite(value)
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # half a character is fine in JSON, as an escape
        return json.dumps(value, allow_nan=False).encode() + b"\n"


def _finite(value: Any) -> Any:
    """Numbers too large for a float as text, since JSON has no infinity."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):  # noqa: PLR0124 - NaN
        return str(value)
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return value
