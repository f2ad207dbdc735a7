"""A usage report as a table of links: keys to the sessions, days or tools behind them, figures to their explanations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hansard.model.table import Column, Cost, Kind, Link, Table
from hansard.model.time import BLOCK
from hansard.query.language.refine import written
from hansard.render.format import ProjectNames, date_text, exact, tool_name, weekday_text
from hansard.render.reports import figures, key_names
from hansard.render.text import one_line
from hansard.web.urls import day_place, place, session_place

if TYPE_CHECKING:
    from hansard.model.ledger import UsageReport, UsageRow
    from hansard.render.reports import Figure
    from hansard.web.report_request import ReportPage, UsagePageRequest

    Wish = ReportPage[UsagePageRequest]

_WEEK = timedelta(days=6)


def make_table(
    report: UsageReport,
    wish: Wish,
    projects: ProjectNames,
    *,
    most: int,
    more: Mapping[str, str] = MappingProxyType({}),
) -> Table:
    """The rows of a report from the one at `skip` on, and its total; `more` says something about times.

    Every figure links to its explanation.
    """
    names = [name for name in report.by if name != "total"]
    skip = wish.request.skip
    shown = report.rows[skip : skip + most] if names else ()
    shown_figures = list(figures((*report.rows, report.totals)))
    columns = [
        Column(name.capitalize(), Kind.LABEL, sort=None if place else "key", css="key")
        for place, name in enumerate(names)
    ]
    columns = columns or [Column("", Kind.LABEL)]
    columns += [
        figure.column if figure.column.sort in ("tokens", "cost") else replace(figure.column, css="minor")
        for figure in shown_figures
    ]
    keys = zip(*(_keys(name, shown, wish, projects, more) for name in names), strict=True)
    rows = [
        [*cells, *_numbers(shown_figures, row, wish.explain(names, [row.key[name] for name in names]))]
        for cells, row in zip(keys, shown, strict=True)
    ]
    beyond = f"of all {len(report.rows):,} rows" if names and len(report.rows) > len(shown) else ""
    total = Link("Total" if names else "All", more=beyond)
    return Table(columns, rows, [total, *_numbers(shown_figures, report.totals, wish.explain(("total",), ()))])


def _numbers(shown: Sequence[Figure], row: UsageRow, href: str | None) -> Iterator[Link]:
    """The figures of a row; a row without messages has nothing to explain."""
    for column, of in shown:
        value = of(row)
        amount = value.amount if isinstance(value, Cost) else value
        is_money = column.kind in (Kind.MONEY, Kind.COST)
        title = "" if not is_money else "price unknown" if amount is None else f"exactly {exact(amount)}"
        yield Link(value, href if row.api_messages else None, title)


# -- what rows are about


def _keys(
    name: str, rows: Sequence[UsageRow], wish: Wish, projects: ProjectNames, more: Mapping[str, str]
) -> Iterator[Link]:
    values = [row.key[name] for row in rows]
    zone = wish.span.zone
    names = key_names(name, {value for value in values if value is not None}, zone, projects)
    for value, row in zip(values, rows, strict=True):
        if value is None:
            yield Link(f"(no {name})")
            continue
        about = row.about
        match name:
            case "session":
                title = one_line(about.get("title", "")[:400]) or "(untitled)"
                yield Link(title, session_place(value), value, names[value])
            case "subagent":
                task = one_line((about.get("description") or about.get("agent_type", ""))[:400])
                yield Link(task or names[value], None, value, names[value] if task else "")
            case "tool":
                yield Link(tool_name(value), None if wish.team else place("/tools", tool=value), value)
            case "project":
                yield Link(names[value], place("/sessions", project=value), value)
            case "model":
                yield Link(names[value], wish.address(by="day", model=value, skip=None, sort=None), value)
            case "machine" | "person":
                href = wish.address(by="day", skip=None, sort=None, order=None, **{name: value})
                yield Link(names[value], href, value)
            case "branch" | "group":
                yield Link(names[value], None, value)
            case "pr":
                field = written("pr", value)
                yield Link(names[value], place("/sessions", q=field) if field else None, value)
            case _:
                yield Link(names[value], *_time_place(name, value, wish), more.get(value, ""))


def _time_place(name: str, value: str, wish: Wish) -> tuple[str | None, str]:
    """The link and the full name of a period: days and blocks link to their sessions, longer periods to their days."""
    try:
        match name:
            case "day":
                return day_place(value), weekday_text(date.fromisoformat(value))
            case "week":
                year, _, week = value.partition("-W")
                monday = date.fromisocalendar(int(year), int(week), 1)
                last = monday + _WEEK
                words = f"{date_text(monday)} to {date_text(last)}"
                return _within(wish, "day", monday.isoformat(), last.isoformat()), words
            case "month":
                return _within(wish, "day", value, value), ""
            case "block":
                start = datetime.fromisoformat(value).astimezone(UTC)
                return _within(wish, "session", value, f"{start + BLOCK:%Y-%m-%dT%H:%M:%SZ}"), ""
            case "hour":
                start = datetime.fromisoformat(value).astimezone(UTC)
                hour = f"{start + timedelta(hours=1):%Y-%m-%dT%H:%MZ}"
                return _within(wish, "session", f"{start:%Y-%m-%dT%H:%MZ}", hour), ""
            case _:
                return None, ""
    except (ValueError, OverflowError):
        return None, ""


def _within(wish: Wish, by: str, since: str, until: str) -> str:
    """The same report by something finer, within a shorter time."""
    return wish.address(by=by, range=None, since=since, until=until, sort=None, order=None)
