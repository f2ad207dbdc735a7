"""Prices and budgets in the configuration file."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

from hansard.errors import UsageError
from hansard.model.ledger import Limit, PriceOverride

_PRICES = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "web_search")
_PERIODS = ("day", "week", "month")
_SESSION = "session"
ACTIONS = ("warn", "block")
_WARN_AT = Decimal("0.8")


def overrides(path: str, value: object) -> tuple[PriceOverride, ...]:
    """The user's prices: a list of tables."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise UsageError(f"{path}: prices are tables: write [[prices]] above each one")
    return tuple(_override(path, item) for item in value)


def _override(path: str, item: dict[str, Any]) -> PriceOverride:
    known = {"model", "since", "until", "above", "speed", "service_tier", *_PRICES}
    refuse_unknown(path, "prices", item, known)
    model = item.get("model")
    if not isinstance(model, str) or not model.strip():
        raise UsageError(f'{path}: a price needs a model, e.g. model = "claude-opus-5-5"')
    place = f"{path}: the price of {model}"
    if "input" not in item or "output" not in item:
        raise UsageError(f"{place} needs input and output, in dollars per million tokens")
    amounts = {name: _amount(f"{place}: {name}", item[name]) for name in _PRICES if name in item}
    since, until = (_day(f"{place}: {name}", item.get(name)) for name in ("since", "until"))
    if since is not None and until is not None and until <= since:
        raise UsageError(f"{place}: it ends ({until}) before it starts ({since})")
    above = item.get("above")
    if above is not None and (isinstance(above, bool) or not isinstance(above, int) or above < 0):
        raise UsageError(f"{place}: above must be a number of tokens, e.g. above = 200000")
    for name in ("speed", "service_tier"):
        if not isinstance(item.get(name, ""), str):
            raise UsageError(f'{place}: {name} must be a string, e.g. {name} = "fast"')
    return PriceOverride(
        model=model,
        **amounts,
        since=since,
        until=until,
        above=above,
        speed=item.get("speed"),
        service_tier=item.get("service_tier"),
    )


def limits(path: str, value: object, *, of_lake: bool = False) -> tuple[Limit, ...]:
    """The budgets: a table with periods, and one such table for each project; those of a lake are not of sessions."""
    if not isinstance(value, dict):
        raise UsageError(f"{path}: budgets is a table: write [budgets] above it, and for example day = 20 in it")
    more = set() if of_lake else {_SESSION, "action"}
    refuse_unknown(path, "lake.budgets" if of_lake else "budgets", value, {*_PERIODS, *more, "warn_at", "projects"})
    warn_at = _amount(f"{path}: budgets: warn_at", value.get("warn_at", _WARN_AT))
    if not 0 < warn_at <= 1:
        raise UsageError(f"{path}: budgets: warn_at must be a fraction between 0 and 1, e.g. warn_at = 0.8")
    projects = value.get("projects", {})
    if not isinstance(projects, dict) or not all(isinstance(item, dict) for item in projects.values()):
        raise UsageError(f'{path}: budgets of projects are tables: write [budgets.projects."my-app"] above each one')
    found = _periods(path, "budgets", value, warn_at, None, (*_PERIODS, _SESSION))
    for project, item in projects.items():
        refuse_unknown(path, f"budgets of {project}", item, {*_PERIODS})
        found += _periods(path, f"budgets of {project}", item, warn_at, project)
    return tuple(found)


def action(path: str, value: object) -> str | None:
    """What the hook does about a budget that is near its limit or passed; None: nothing."""
    chosen = value.get("action") if isinstance(value, dict) else None
    if chosen is not None and chosen not in ACTIONS:
        raise UsageError(f'{path}: budgets: action must be "warn" or "block", e.g. action = "warn"')
    return chosen


def _periods(
    path: str,
    name: str,
    item: dict[str, Any],
    warn_at: Decimal,
    project: str | None,
    periods: tuple[str, ...] = _PERIODS,
) -> list[Limit]:
    found = []
    for period in periods:
        if period in item:
            amount = _amount(f"{path}: {name}: {period}", item[period])
            if amount < Decimal("0.01"):
                raise UsageError(f"{path}: {name}: {period} must be a number of dollars, at least 0.01")
            found.append(Limit(period, amount, warn_at, project))
    return found


def _amount(place: str, value: object) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise UsageError(f"{place} must be a number of dollars, e.g. 2.50")
    amount = Decimal(value)
    digits = amount.as_tuple().exponent
    # Reject NaN, and more digits than sums can hold without rounding.
    if not isinstance(digits, int) or digits < -40 or not 0 <= amount < 10**9:
        raise UsageError(f"{place} must be a number of dollars, e.g. 2.50")
    return amount


def _day(place: str, value: object) -> date | None:
    if value is None:
        return None
    if isinstance(value, datetime) or not isinstance(value, date):
        raise UsageError(f"{place} must be a date without quotes, e.g. 2026-03-13")
    return value


def refuse_unknown(path: str, name: str, item: dict[str, Any], known: set[str]) -> None:
    """Raise for keys that a table of the configuration does not have."""
    unknown = sorted(set(item) - known)
    if unknown:
        raise UsageError(f"{path}: {name}: unknown key {', '.join(unknown)}; the keys are {', '.join(sorted(known))}")
