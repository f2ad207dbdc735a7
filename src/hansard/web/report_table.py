"""Rows of a report as cells: what they are about, with where that leads, and figures, each of which leads to its explanation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from hansard.model.time import BLOCK
from hansard.render.format import dollars, duration, exact, row_cost, tool_name
from hansard.render.reports import key_names
from hansard.render.series import date_text
from hansard.render.text import one_line
from hansard.web.urls import day_place, place, session_place

if TYPE_CHECKING:
    from hansard.model.ledger import UsageReport, UsageRow, Work
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
    """A column; `sort` is how the engine calls its order."""

    text: str
    is_number: bool = True
    is_minor: bool = False  # left out on a phone
    sort: str | None = None
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


@dataclass(frozen=True, slots=True)
class Figure:
    """A column of figures: a row's text, and what else there is to say of it."""

    name: str
    text: Callable[[UsageRow], str]
    told: Callable[[UsageRow], str] = lambda _row: ""
    is_minor: bool = True
    sort: str | None = None
    title: str = ""


def make_table(
    report: UsageReport, wish: ReportRequest, *, most: int, more: Mapping[str, str] = MappingProxyType({})
) -> Table:
    """The rows of a report from the one at `wish.skip` on, and its total; `more` says something about times."""
    names = [name for name in report.by if name != "total"]
    shown = report.rows[wish.skip : wish.skip + most] if names else ()
    figures = list(_figures(report))
    columns = [list(_keys(name, shown, wish, more)) for name in names]
    lines = tuple(
        Line(
            tuple(column[place_] for column in columns),
            _numbers(figures, row),
            wish.chosen.explain(names, [row.key[name] for name in names]) if row.api_messages else None,
        )
        for place_, row in enumerate(shown)
    )
    total = Line(
        (Key("Total"),) if names else (Key("All"),),
        _numbers(figures, report.totals),
        wish.chosen.explain(("total",), ()) if report.totals.api_messages else None,
    )
    heads = [
        _head(name.capitalize(), wish, None if number else "key", is_number=False) for number, name in enumerate(names)
    ] or [Head("", is_number=False)]
    heads += [
        _head(item.name, wish, item.sort, is_number=True, is_minor=item.is_minor, title=item.title) for item in figures
    ]
    return Table(tuple(heads), lines, total, wish.skip, len(report.rows) if names else 0)


def _head(
    text: str, wish: ReportRequest, sort: str | None, *, is_number: bool, is_minor: bool = False, title: str = ""
) -> Head:
    if sort is None:
        return Head(text, is_number, is_minor, title=title)
    is_now = wish.sort == sort
    order = ("asc" if wish.order == "desc" else "desc") if is_now else "desc"
    direction = ("descending" if wish.order == "desc" else "ascending") if is_now else None
    href = wish.at(sort=sort, order=None if order == "desc" else order)
    return Head(text, is_number, is_minor, sort, href, direction, title)


# -- figures


def _figures(report: UsageReport) -> Iterator[Figure]:
    """The columns; those that say nothing of any row are left out."""

    def count(name: str, of: Callable[[UsageRow], int], **more: Any) -> Figure:
        return Figure(name, lambda row: f"{of(row):,}", **more)

    rows = (*report.rows, report.totals)
    yield count("Messages", lambda row: row.api_messages, sort="messages", title="API messages, each counted once")
    yield count("Input", lambda row: row.input_tokens)
    yield count("Output", lambda row: row.output_tokens)
    yield count("Cache write", lambda row: row.cache_write_5m_tokens + row.cache_write_1h_tokens)
    yield count("Cache read", lambda row: row.cache_read_tokens)
    yield count(
        "Tokens", lambda row: row.tokens, is_minor=False, sort="tokens", title="Input, output and cache together"
    )
    if any(row.web_searches for row in rows):
        yield count("Searches", lambda row: row.web_searches, title="Web searches")
    if any(row.work is not None for row in rows):
        yield from _work()
    extra, gain = "Extra cost of cache writes over plain input", "Saved by cache reads compared with plain input"
    yield Figure(
        "Cache extra", lambda row: dollars(row.cache_extra_usd), lambda row: _exact(row.cache_extra_usd), title=extra
    )
    yield Figure(
        "Cache saved", lambda row: dollars(row.cache_saved_usd), lambda row: _exact(row.cache_saved_usd), title=gain
    )
    yield Figure("Cost", row_cost, lambda row: _exact(row.cost_usd), is_minor=False, sort="cost")


def _work() -> Iterator[Figure]:
    def of(name: str, text: Callable[[Work], str], title: str) -> Figure:
        return Figure(name, lambda row: "" if row.work is None else text(row.work), title=title)

    def lines(work: Work) -> str:
        changed = work.lines_added + work.lines_removed
        return f"+{work.lines_added:,} -{work.lines_removed:,}" if changed else ""

    yield of("Calls", lambda work: f"{work.calls:,}", "Tool calls")
    yield of("Errors", lambda work: f"{work.errors:,}", "Failed tool calls")
    yield of(
        "Time",
        lambda work: duration(work.duration_ms) if work.duration_ms else "",
        "Time spent in calls that have a result",
    )
    yield of("Lines", lines, "Lines added and removed")


def _numbers(figures: Sequence[Figure], row: UsageRow) -> tuple[Number, ...]:
    return tuple(Number(item.text(row), item.is_minor, item.told(row)) for item in figures)


def _exact(amount: Decimal | None) -> str:
    return "price unknown" if amount is None else f"exactly {exact(amount)}"


# -- what rows are about


def _keys(name: str, rows: Sequence[UsageRow], wish: ReportRequest, more: Mapping[str, str]) -> Iterator[Key]:
    values = [row.key[name] for row in rows]
    zone = wish.chosen.span.zone
    names = key_names(name, {value for value in values if value is not None}, zone)
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
