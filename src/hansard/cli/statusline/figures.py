"""The figures of a snapshot, from the engine, and the sync before that."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from hansard import config, engine
from hansard.cli.statusline.line import shown
from hansard.cli.statusline.snapshot import system_zone
from hansard.errors import UsageError
from hansard.model.calendar import find_zone
from hansard.render.format import cost, dollars, short

if TYPE_CHECKING:
    from hansard.cli.statusline.run import Options
    from hansard.model.ledger import Budget, CurrentTotal, CurrentUsage, Limit
    from hansard.model.sessions import Session

_SESSIONS = 500  # newest first; an older one is added as soon as it continues
_BUDGETS = 3  # at most, the exceeded ones first


def sync(options: Options) -> float:
    before = time.monotonic()
    with contextlib.suppress(Exception):  # `hansard sync` and `hansard doctor` report errors
        settings = config.load(os.environ, home=options.home, roots=options.roots, follow_links=options.follow_links)
        if settings.roots:
            with settings.open() as h:
                h.sync(wait_seconds=0)
    return time.monotonic() - before


def unkept(home: str, options: Options | None) -> int | None:
    """How many transcripts the client deletes within seven days that are not stored; None if that cannot be known."""
    roots, links = (options.roots, options.follow_links) if options is not None else ((), ())
    with contextlib.suppress(Exception):  # `hansard status` reports errors
        settings = config.load(os.environ, home=home, roots=roots, follow_links=links)
        with settings.open() as h:
            return h.status().doomed_unkept
    return None


def settings_and_figures(home: str, last: dict[str, Any] | None) -> dict[str, Any]:
    """The settings of the line, and its figures; the previous ones if the store cannot be read."""
    form = trouble = timezone = figures = None
    limits: Sequence[Limit] = ()
    try:
        settings = config.load(os.environ, home=home)
        find_zone(settings.timezone)
    except UsageError:
        trouble = "config.toml is invalid: run `hansard status`"
    else:
        form, timezone, limits = settings.statusline, settings.timezone, settings.limits
    if os.path.exists(os.path.join(home, "index.db")):
        with contextlib.suppress(Exception):  # locked, damaged or of another version: `hansard doctor` reports it
            figures = _figures(home, limits, timezone)
    is_failed = figures is None and last is not None
    return {"form": form, "trouble": trouble, "figures": last if is_failed else figures, "is_failed": is_failed}


def _figures(home: str, limits: Sequence[Limit], timezone: str | None) -> dict[str, Any]:
    """The engine's figures, formatted for the line."""
    now = datetime.now(UTC)
    with engine.open(home) as h:
        current = h.current(limits=limits, timezone=timezone, now=now)
        sessions = h.sessions(debris=True, limit=_SESSIONS).sessions
        names = h.project_names()
    zone = find_zone(timezone)
    midnight = zone.midnight(zone.local(now).date() + timedelta(days=1))
    pressing = sorted((item for item in current.budgets if item.state != "ok"), key=lambda item: item.state != "over")
    of_day = [item.state for item in current.budgets if item.period == "day" and item.project is None]
    return {
        "at": _milliseconds(now),
        "zone": system_zone() if timezone is None else None,
        "day": [_milliseconds(current.today_since), _milliseconds(midnight)],
        "today": _cost(current.today.cost_usd, current.today),
        "today_state": of_day[0] if of_day else None,
        "budgets": [[_budget(item), item.state] for item in pressing[:_BUDGETS]],
        "forecast": _forecast(current.budgets),
        "block": _block(current),
        "projects": {path: name for path, name in names.items() if "/" in name.replace("\\", "/")},
        "sessions": {session.session_id: _session(session) for session in sessions if session.api_messages},
    }


def _cost(amount: Decimal | None, used: CurrentTotal | Session) -> str:
    return cost(amount, lower_bound=used.lower_bound_messages > 0, unpriced=bool(used.unpriced_models))


def _session(session: Session) -> list[Any]:
    """Cost and tokens of a session, as text and as numbers."""
    tokens = session.tokens or 0  # only sessions with usage come here
    amount = None if session.cost_usd is None else float(session.cost_usd)
    return [_cost(session.cost_usd, session), short(tokens), amount, tokens]


def _block(current: CurrentUsage) -> dict[str, Any] | None:
    used, start, end, burn = current.block, current.block_start, current.block_end, current.burn_usd_per_hour
    if used is None or start is None or end is None:
        return None
    return {
        "start": _milliseconds(start),
        "end": _milliseconds(end),
        "cost": _cost(used.cost_usd, used),
        "burn": None if burn is None else _cost(burn, used),
    }


def _budget(budget: Budget) -> str:
    name = f"{shown(budget.project) or '?'} {budget.period}" if budget.project else budget.period
    return f"{'OVER ' if budget.state == 'over' else ''}{name} budget {budget.share:.0%}"


def _forecast(budgets: Sequence[Budget]) -> list[str] | None:
    """The end of the longest period with a forecast, and whether it will be over."""
    known = [item for item in budgets if item.forecast_usd is not None and item.project is None]
    if not known:
        return None
    last = max(known, key=lambda item: item.until or item.since)
    amount = last.forecast_usd or Decimal(0)
    words = f"{last.period} forecast {dollars(amount)} of {dollars(last.limit_usd)}"
    return [words, "over" if amount > last.limit_usd else "ok"]


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
