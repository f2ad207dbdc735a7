"""Cards with a few figures each: today, this week, all time, the current five-hour block, the budgets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from hansard.model.time import BLOCK
from hansard.query.sessions import PAUSE
from hansard.render.charts.svg import per_cent
from hansard.render.format import (
    ProjectNames,
    budget_cost,
    cost,
    date_text,
    duration,
    many,
    project_name,
    row_cost,
    short,
    weekday_text,
)
from hansard.render.html.escaping import escaped
from hansard.render.reports import PERIODS
from hansard.web.urls import place

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.model.calendar import Zone
    from hansard.model.ledger import BillingBlock, Budget, CurrentUsage, UsageRow
    from hansard.query.activity import PeriodActivity


_DAY = timedelta(days=1)
_ACTIVE = (
    f"Active time: pauses of up to {PAUSE // timedelta(minutes=1)} minutes between two lines of a session count, longer"
    " ones do not. By the clock, so sessions at the same time count once."
)


@dataclass(frozen=True, slots=True)
class Figure:
    """A labelled number with the previous one and a link."""

    name: str
    value: str
    before: str = ""
    href: str | None = None
    title: str = ""


@dataclass(frozen=True, slots=True)
class SummaryCard:
    """Today, this week, or all of the history."""

    name: str
    when: str
    figures: tuple[Figure, ...]


def summary_cards(
    h: Hansard, zone: Zone, timezone: str | None, now: datetime, last_active: datetime | None
) -> list[SummaryCard]:
    """Today and this week, or the last active day and its week where this one is empty; each figure beside the one before."""
    today = zone.local(now).date()
    monday = today - _DAY * today.weekday()
    is_now = last_active is None or last_active >= zone.midnight(monday)
    if not is_now and last_active is not None:
        today = zone.local(last_active).date()
        monday = today - _DAY * today.weekday()
    starts = {day: zone.midnight(day) for day in (today - _DAY, today, today + _DAY)}
    weeks = [zone.midnight(monday + _DAY * days) for days in (-7, 0, 7)]
    in_day, before, week, last = h.activity_by_period(
        (starts[today], starts[today + _DAY]),
        (starts[today - _DAY], starts[today]),
        (weeks[1], weeks[2]),
        (weeks[0], weeks[1]),
    )
    used = {
        name: {
            row.key[name]: row for row in h.usage(by=name, since=since, until=weeks[2], timezone=timezone, now=now).rows
        }
        for name, since in (("day", starts[today - _DAY]), ("week", weeks[0]))
    }
    keys = [_week_key(monday), _week_key(monday - _DAY * 7)]
    return [
        SummaryCard(
            "Today" if is_now else "Last active day",
            f"{today:%A}" if is_now else weekday_text(today),
            tuple(
                _figures(
                    ("day", today.isoformat(), today, today),
                    (in_day, used["day"].get(today.isoformat())),
                    (before, used["day"].get((today - _DAY).isoformat())),
                    "yesterday" if is_now else "prior day",
                )
            ),
        ),
        SummaryCard(
            "This week" if is_now else "Last active week",
            "since Monday" if is_now else f"from {weekday_text(monday)}",
            tuple(
                _figures(
                    ("week", keys[0], monday, today if is_now else monday + _DAY * 6),
                    (week, used["week"].get(keys[0])),
                    (last, used["week"].get(keys[1])),
                    "last week" if is_now else "prior week",
                )
            ),
        ),
    ]


def all_time(h: Hansard, zone: Zone, timezone: str | None, now: datetime) -> SummaryCard:
    """All of the history, by the functions of `hansard status` and `hansard usage --by total`."""
    done = h.activity()
    used = h.usage(by="total", timezone=timezone, now=now).totals
    explained = place("/explain", by="total") if used.api_messages else None
    since = f"since {date_text(zone.local(used.first_at).date())}" if used.first_at else ""
    return SummaryCard(
        "All time",
        since,
        (
            Figure("Cost", row_cost(used), href=explained),
            *(
                (
                    Figure("Tokens", short(used.tokens), href=explained, title=f"{used.tokens:,}"),
                    Figure("Output tokens", short(used.output_tokens), href=explained, title=f"{used.output_tokens:,}"),
                )
                if used.cost_usd is not None or used.api_messages
                else (Figure("Tokens", "-"), Figure("Output tokens", "-"))
            ),
            Figure("Sessions", f"{done.sessions:,}", href="/sessions"),
            Figure("Projects", f"{done.projects:,}", href="/sessions?group=project"),
            Figure("Prompts", f"{done.prompts:,}", href="/prompts"),
            Figure("Tool calls", f"{done.tool_calls:,}", href="/tools"),
        ),
    )


def _figures(
    what: tuple[str, str, date, date],
    now: tuple[PeriodActivity, UsageRow | None],
    before: tuple[PeriodActivity, UsageRow | None],
    called: str,
) -> Iterator[Figure]:
    """The figures of a day or a week, each beside the one before."""
    by, key, first, last = what
    (happened, row), (was, earlier) = now, before
    asked = {"since": first.isoformat(), "until": last.isoformat()}
    on = f"on:{asked['since']}" if first == last else f"since:{asked['since']}"
    spent = place("/explain", by=by, key=[key]) if row is not None else None
    yield Figure("Cost", _row_cost(row), f"{called} {_row_cost(earlier)}", spent)
    yield Figure(
        "Tokens", short(row.tokens if row else 0), f"{called} {short(earlier.tokens if earlier else 0)}", spent
    )
    yield Figure("Sessions", f"{happened.sessions:,}", f"{called} {was.sessions:,}", place("/sessions", **asked))
    worked = f" The sum over sessions is {_lasting(happened.worked)}." if happened.worked else ""
    yield Figure(
        "Active time",
        _lasting(happened.active),
        f"{called} {_lasting(was.active)}",
        place("/sessions", **asked),
        _ACTIVE + worked,
    )
    yield Figure("Prompts", f"{happened.prompts:,}", f"{called} {was.prompts:,}", place("/prompts", **asked))
    yield Figure("Tool calls", f"{happened.tool_calls:,}", f"{called} {was.tool_calls:,}", place("/tools", **asked))
    yield Figure(
        "Errors",
        f"{happened.errors:,}",
        f"{called} {was.errors:,}",
        place("/search", q=f"is:error {on}"),
        f"{_count(happened.tool_errors, 'failed tool call')}, {_count(happened.api_errors, 'API error')}",
    )


def _count(number: int, name: str) -> str:
    return many(number, name) if number else f"no {name}s"


def _row_cost(row: UsageRow | None) -> str:
    return "$0.00" if row is None else row_cost(row)


def _lasting(time: timedelta) -> str:
    return duration(time // timedelta(milliseconds=1)) if time else "0 min"


def _week_key(monday: date) -> str:
    year, week, _ = monday.isocalendar()
    return f"{year:04}-W{week:02}"


def block_of(current: CurrentUsage, zone: Zone, now: datetime) -> dict[str, Any] | None:
    """The current block as in the status line: its cost, its rate and its projection."""
    block, start, end = current.block, current.block_start, current.block_end
    if block is None or start is None or end is None:
        return None
    burn = current.burn_usd_per_hour
    leads = None
    if burn is not None and block.cost_usd is not None:
        leads = block.cost_usd + burn * Decimal((end - now) // timedelta(milliseconds=1)) / 3_600_000
    marks = {"lower_bound": block.lower_bound_messages > 0, "unpriced": bool(block.unpriced_models)}
    return {
        **_block_times(start, end, zone, now),
        "cost": cost(block.cost_usd, **marks),
        "tokens": block.tokens,
        "messages": block.api_messages,
        "burn": None if burn is None else cost(burn, **marks),
        "leads": None if leads is None else cost(leads, **marks),
    }


def active_block(block: BillingBlock, zone: Zone, now: datetime) -> dict[str, Any] | None:
    """The same for a block of a report, with tokens."""
    used = block.usage
    if used is None or not block.is_active:
        return None
    marks = {"lower_bound": used.lower_bound_messages > 0, "unpriced": used.unpriced_messages > 0}
    return {
        **_block_times(block.start, block.end, zone, now),
        "cost": row_cost(used),
        "tokens": used.tokens,
        "messages": used.api_messages,
        "burn": None if block.burn_usd_per_hour is None else cost(block.burn_usd_per_hour, **marks),
        "leads": None if block.projected_usd is None else cost(block.projected_usd, **marks),
        "burn_tokens": block.burn_tokens_per_minute,
        "leads_tokens": block.projected_tokens,
    }


def _block_times(start: datetime, end: datetime, zone: Zone, now: datetime) -> dict[str, Any]:
    left, gone = end - now, (now - start) / BLOCK
    return {
        "start": f"{zone.local(start):%H:%M}",
        "end": f"{zone.local(end):%H:%M}",
        "left": _lasting(left) if left >= timedelta(minutes=1) else "less than a minute",
        "meter": meter(gone, label=f"{gone:.0%} of the five hours are over", kind="plain"),
        "href": place("/explain", by="block", key=[f"{start:%Y-%m-%dT%H:%M:%SZ}"]),
    }


def budget_of(item: Budget, names: ProjectNames) -> dict[str, Any]:
    """A limit and how much of it is spent."""
    name = PERIODS[item.period] + (f" in {project_name(item.project, names)}" if item.project is not None else "")
    by = place("/usage", by="day", since=item.since.isoformat().replace("+00:00", "Z"), project=item.project)
    return {
        "name": name[:1].upper() + name[1:],
        "spent": budget_cost(item),
        "limit": item.limit_usd,
        "forecast": item.forecast_usd,
        "share": f"{item.share * 100:,.0f} %",
        "state": item.state,
        "meter": meter(item.share, label=f"{item.share * 100:,.0f} % of the limit is spent", kind=item.state),
        "href": by,
    }


def meter(share: Decimal | float, *, label: str, kind: str = "ok") -> Markup:
    """A bar that is full only when all is used; `kind` is the class of its colour."""
    part = min(1.0, max(0.0, float(share)))
    return Markup(  # noqa: S704 - every text in it went through escaped()
        f'<svg class="chart meter {escaped(kind)}" height="8" role="img" aria-label="{escaped(label)}">'
        f'<rect class="trough" width="100%" height="8" rx="4"/>'
        f'<rect class="used" width="{per_cent(part)}" height="8" rx="4"/></svg>'
    )
