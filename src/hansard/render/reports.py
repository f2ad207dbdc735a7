"""Usage reports in every front end: columns, names of keys, prices, notes and their marks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from hansard.model.names import shortest_names
from hansard.model.table import Column, Cost, Kind
from hansard.render.format import many, model_name, project_name, short
from hansard.render.text import one_line, short_id

if TYPE_CHECKING:
    from hansard.model.calendar import Zone
    from hansard.model.ledger import BillingBlock, PriceData, Pricing, Rate, UsageReport, UsageRow, Work
    from hansard.render.format import ProjectNames


PERIODS = {"day": "today", "week": "this week", "month": "this month", "session": "this session"}
"""The periods of budgets."""


# -- prices and marks


def nothing_found(report: UsageReport) -> str:
    """Why a report has no rows."""
    return "no usage matches" if report.unrecorded is None else report.unrecorded.words


def data_words(data: PriceData) -> str:
    words = one_line(f"{data.source} {data.version}".strip())
    words += f", latest as of {one_line(data.dated)}" if data.dated else ""
    words += f", fetched {data.fetched_at:%Y-%m-%d}" if data.fetched_at else ""
    return words + (f", {data.overrides} of your own" if data.overrides else "")


def marked_notes(pricing: Pricing, figure: UsageRow) -> list[tuple[str, str]]:
    """The notes on a figure, each with the mark it explains."""
    # The first notes are about what is marked, in this order.
    marks = ["+"] * bool(figure.lower_bound_messages) + ["?"] * bool(figure.unpriced_messages)
    return list(zip_longest(marks[: len(pricing.notes)], pricing.notes, fillvalue="-"))


def report_notes(pricing: Pricing, figure: UsageRow, more: Sequence[str] = ()) -> list[tuple[str, str]]:
    """The notes below a figure or a report: by which prices, what its marks mean, and `more`."""
    return [("Prices:", data_words(pricing.data)), *marked_notes(pricing, figure), *(("-", text) for text in more)]


def row_notes(rows: Sequence[UsageRow]) -> Iterator[tuple[str, str]]:
    """The notes that explain the marks of these rows."""
    messages = sum(row.api_messages for row in rows)
    if lower := sum(row.lower_bound_messages for row in rows):
        yield "+", f"{lower:,} of {messages:,} messages have no final usage record: their output is a lower bound"
    if unpriced := sum(row.unpriced_messages for row in rows):
        models = sorted({model or "an unnamed model" for row in rows for model in row.unpriced_models})
        yield (
            "?",
            f"the cost leaves out {many(unpriced, 'message')} of {', '.join(models)}, which {'has' if len(models) == 1 else 'have'} no price",
        )


# -- rows


class Figure(NamedTuple):
    """A column of a report, and its value in a row."""

    column: Column
    of: Callable[[UsageRow], Any]


def figures(rows: Sequence[UsageRow]) -> Iterator[Figure]:
    """The columns that these rows need."""
    count = Kind.COUNT
    yield Figure(
        Column("Messages", count, rank=8, sort="messages", about="API messages, each counted once"),
        lambda row: row.api_messages,
    )
    yield Figure(Column("Input", count, rank=6), lambda row: row.input_tokens)
    yield Figure(Column("Output", count), lambda row: row.output_tokens)
    yield Figure(
        Column("Cache write", count, rank=7), lambda row: row.cache_write_5m_tokens + row.cache_write_1h_tokens
    )
    yield Figure(Column("Cache read", count, rank=5), lambda row: row.cache_read_tokens)
    yield Figure(
        Column("Tokens", count, sort="tokens", about="Input, output and cache together"), lambda row: row.tokens
    )
    if any(row.web_searches for row in rows):
        yield Figure(Column("Searches", count, rank=9, about="Web searches"), lambda row: row.web_searches)
    if any(row.work is not None for row in rows):
        yield _work(Column("Calls", count, rank=3, about="Tool calls"), lambda work: work.calls)
        yield _work(Column("Errors", count, rank=4, about="Failed tool calls"), lambda work: work.errors)
        yield _work(
            Column("Time", Kind.DURATION, rank=4, about="Time spent in calls that have a result"),
            lambda work: work.duration_ms or None,
        )
        yield _work(
            Column("Lines", Kind.LINES, rank=3, about="Lines added and removed"),
            lambda work: (work.lines_added, work.lines_removed) if work.lines_added + work.lines_removed else None,
        )
    extra, saved = "Extra cost of cache writes over plain input", "Saved by cache reads compared with plain input"
    yield Figure(Column("Cache extra", Kind.MONEY, rank=12, about=extra), lambda row: row.cache_extra_usd)
    yield Figure(Column("Cache saved", Kind.MONEY, rank=11, about=saved), lambda row: row.cache_saved_usd)
    yield Figure(Column("Cost", Kind.COST, sort="cost"), usage_cost)


def _work(column: Column, of: Callable[[Work], Any]) -> Figure:
    return Figure(column, lambda row: None if row.work is None else of(row.work))


def usage_cost(row: UsageRow) -> Cost:
    return Cost(row.cost_usd, row.lower_bound_messages + row.understated_messages > 0, row.unpriced_messages > 0)


# -- blocks


def gap_length(blocks: Sequence[BillingBlock], number: int) -> tuple[int, str]:
    """The length of a gap between blocks, from message to message, and its unit."""
    start, end = blocks[number].start, blocks[number].end
    if number and (before := blocks[number - 1].usage) is not None:
        start = before.last_at or start
    if number + 1 < len(blocks) and (after := blocks[number + 1].usage) is not None:
        end = after.first_at or end
    hours = round((end - start) / timedelta(hours=1))
    return (hours, "hour") if hours < 48 else (round(hours / 24), "day")


# -- keys


def key_names(dimension: str, values: Iterable[str], zone: Zone, projects: ProjectNames) -> dict[str, str]:
    """The displayed names of keys: as short as they stay distinct."""
    values = list(values)
    match dimension:
        case "hour":
            return _distinct(values, lambda key: key[:16].replace("T", " "), lambda key: key.replace("T", " "))
        case "block":
            return _distinct(values, lambda key: f"{zone.local(datetime.fromisoformat(key)):%Y-%m-%d %H:%M}", one_line)
        case "session":
            return _distinct(values, short_id, one_line)
        case "commit":
            return _distinct(values, lambda key: key[:8], one_line)
        case "pr":
            return _distinct(values, lambda key: one_line(key).rpartition("://")[2].replace("/pull/", "#"), one_line)
        case "subagent":
            return _distinct(values, lambda key: one_line(key)[:10], one_line)
        case "project":
            names = shortest_names(values)
            return _distinct(
                values, lambda key: project_name(key, projects), lambda key: one_line(names[key]), one_line
            )
        case "model":
            return _distinct(values, model_name, lambda key: one_line(key).removeprefix("claude-"), one_line)
        case _:
            return _distinct(values, one_line)


def _distinct(values: Sequence[str], *ways: Callable[[str], str]) -> dict[str, str]:
    names: dict[str, str] = {}
    for way in ways:
        names = {value: way(value) or "-" for value in values}
        if len(set(names.values())) == len(names):
            break
    return names


PRICED = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "web_search")
"""The prices of a `Rate`."""

_PLAIN = frozenset({"", "standard", "not_available", "global"})  # tiers, speeds and regions without their own price


def grouped(rates: Sequence[Rate], *, everything: bool) -> Iterator[tuple[str, Rate]]:
    """The rates of each model; tiers, speeds and places that cost the same and have the same notes only once."""
    for model in dict.fromkeys(rate.model for rate in rates):
        kinds: dict[tuple[str, str, str], list[Rate]] = {}
        for rate in rates:
            if rate.model == model:
                kinds.setdefault((rate.service_tier, rate.speed, rate.inference_geo), []).append(rate)
        alike: dict[Any, list[tuple[str, str, str]]] = {}
        for kind, listed in kinds.items():
            alike.setdefault(kind if everything else tuple(map(_terms, listed)), []).append(kind)
        for group in alike.values():
            names = [
                " / ".join(word or "-" for word in kind)
                if everything
                else " ".join(word for word in kind if word not in _PLAIN)
                for kind in group
            ]
            name = "" if "" in names else ", ".join(dict.fromkeys(names))
            yield from ((one_line(name), rate) for rate in kinds[group[0]])


def _terms(rate: Rate) -> tuple[Any, ...]:
    prices = tuple(getattr(rate, name) for name in PRICED)
    return (rate.since, rate.until, rate.above, rate.upto, rate.priced_as, rate.source, rate.notes, *prices)


def prompt_size(rate: Rate) -> str:
    """The sizes of prompts that a rate applies to."""
    parts = [f"over {short(rate.above)}" if rate.above else "", f"to {short(rate.upto)}" if rate.upto else ""]
    return " ".join(filter(None, parts))


def rate_cells(rate: Rate) -> tuple[str, ...]:
    """The cells of a rate: from, until, sizes of prompts, and prices."""
    times = (f"{at:%Y-%m-%d}" if at else "" for at in (rate.since, rate.until))
    return (*times, prompt_size(rate), *(price(getattr(rate, name)) for name in PRICED))


def price(amount: Decimal | None) -> str:
    """All digits of a price, at least cents."""
    if amount is None:
        return ""
    text = format(amount.normalize(), "f")
    return f"{amount:.2f}" if len(text.partition(".")[2]) < 3 else text
