"""Rows of a report as cells: what they are about, with where that leads, and figures, each of which leads to its explanation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING

from hansard.model.table import Column, Cost, Kind
from hansard.model.time import BLOCK
from hansard.render.cells import cell
from hansard.render.format import ProjectNames, exact, tool_name
from hansard.render.reports import figures, key_names
from hansard.render.series import date_text
from hansard.render.text import one_line
from hansard.web.urls import day_place, place, session_place

if TYPE_CHECKING:
    from hansard.model.ledger import UsageReport, UsageRow
    from hansard.render.reports import Figure
    from hansard.web.report_request import ReportRequest

_WEEK = timedelta(days=6)


@dataclass(frozen=True, slots=True)
class Key:
    """What a row is about."""

    text: str
    href: str | None = None
    title: str = ""
    more: str = ""  # beside it, in small letters


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column."""

    text: str
    is_number: bool
    is_minor: bool  # left out on a phone
    href: str | None = None
    sorted: str | None = None  # ascending, descending
    title: str = ""


@dataclass(frozen=True, slots=True)
class Number:
    """A figure."""

    text: str
    is_minor: bool = False
    title: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table; what has no messages has nothing to explain."""

    keys: tuple[Key, ...]
    numbers: tuple[Number, ...]
    href: str | None


@dataclass(frozen=True, slots=True)
class Table:
    """A report, or the part of it that is shown."""

    heads: tuple[Head, ...]
    lines: tuple[Line, ...]
    total: Line
    skip: int
    count: int  # of all rows


def make_table(
    report: UsageReport,
    wish: ReportRequest,
    projects: ProjectNames,
    *,
    most: int,
    more: Mapping[str, str] = MappingProxyType({}),
) -> Table:
    """The rows of a report from the one at `wish.skip` on, and its total; `more` says something about times."""
    names = [name for name in report.by if name != "total"]
    shown = report.rows[wish.skip : wish.skip + most] if names else ()
    shown_figures = list(figures((*report.rows, report.totals)))
    columns = [list(_keys(name, shown, wish, projects, more)) for name in names]
    lines = tuple(
        Line(
            tuple(column[place_] for column in columns),
            tuple(_number(figure, row) for figure in shown_figures),
            wish.chosen.explain(names, [row.key[name] for name in names]) if row.api_messages else None,
        )
        for place_, row in enumerate(shown)
    )
    total = Line(
        (Key("Total"),) if names else (Key("All"),),
        tuple(_number(figure, report.totals) for figure in shown_figures),
        wish.chosen.explain(("total",), ()) if report.totals.api_messages else None,
    )
    heads = [
        _head(Column(name.capitalize(), sort=None if number else "key"), wish) for number, name in enumerate(names)
    ] or [_head(Column(""), wish)]
    heads += [_head(figure.column, wish) for figure in shown_figures]
    return Table(tuple(heads), lines, total, wish.skip, len(report.rows) if names else 0)


def _head(column: Column, wish: ReportRequest) -> Head:
    head = Head(column.title, column.is_right, column.is_right and _is_minor(column), title=column.about)
    if column.sort is None:
        return head
    is_now = wish.sort == column.sort
    order = ("asc" if wish.order == "desc" else "desc") if is_now else "desc"
    direction = ("descending" if wish.order == "desc" else "ascending") if is_now else None
    href = wish.at(sort=column.sort, order=None if order == "desc" else order)
    return replace(head, href=href, sorted=direction)


def _number(figure: Figure, row: UsageRow) -> Number:
    kind, value = figure.column.kind, figure.of(row)
    amount = value.amount if isinstance(value, Cost) else value
    told = "" if kind not in (Kind.MONEY, Kind.COST) else _exact(amount)
    return Number(cell(value, kind), _is_minor(figure.column), told)


def _is_minor(column: Column) -> bool:
    return column.sort not in ("tokens", "cost")


def _exact(amount: Decimal | None) -> str:
    return "price unknown" if amount is None else f"exactly {exact(amount)}"


# -- what rows are about


def _keys(
    name: str, rows: Sequence[UsageRow], wish: ReportRequest, projects: ProjectNames, more: Mapping[str, str]
) -> Iterator[Key]:
    values = [row.key[name] for row in rows]
    zone = wish.chosen.span.zone
    names = key_names(name, {value for value in values if value is not None}, zone, projects)
    for value, row in zip(values, rows, strict=True):
        if value is None:
            yield Key(f"(no {name})")
            continue
        about = row.about
        match name:
            case "session":
                title = one_line(about.get("title", "")[:400]) or "(untitled)"
                yield Key(title, session_place(value), value, names[value])
            case "subagent":
                task = one_line((about.get("description") or about.get("agent_type", ""))[:400])
                yield Key(task or names[value], None, value, names[value] if task else "")
            case "tool":
                yield Key(tool_name(value), place("/tools", tool=value), value)
            case "project":
                yield Key(names[value], place("/sessions", project=value), value)
            case "model":
                yield Key(names[value], wish.at(by="day", model=value, skip=None, sort=None), value)
            case "branch":
                yield Key(names[value], None, value)
            case _:
                yield Key(names[value], *_time_place(name, value, wish), more.get(value, ""))


def _time_place(name: str, value: str, wish: ReportRequest) -> tuple[str | None, str]:
    """Where a time leads, and what it is in full: a day to its sessions, what is longer to its days, a block to its sessions."""
    try:
        match name:
            case "day":
                return day_place(value), f"{date.fromisoformat(value):%A}, {date_text(date.fromisoformat(value))}"
            case "week":
                year, _, week = value.partition("-W")
                monday = date.fromisocalendar(int(year), int(week), 1)
                last = monday + _WEEK
                told = f"{date_text(monday)} to {date_text(last)}"
                return _within(wish, "day", monday.isoformat(), last.isoformat()), told
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


def _within(wish: ReportRequest, by: str, since: str, until: str) -> str:
    """The same report by something finer, within a shorter time."""
    return wish.at(by=by, range=None, since=since, until=until, sort=None, order=None)
