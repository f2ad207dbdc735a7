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
