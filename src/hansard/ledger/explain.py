"""Explaining a figure: its messages one by one, the lines and decisions behind each, the rates and the arithmetic.

The rows of `charges` are walked once, with the report's own conditions and keys. Their sums per rate are the figure; of the rows
themselves only the dearest are kept, so memory does not grow with the history.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping
from operator import mul
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from hansard.errors import NotFound, UsageError
from hansard.index.schema import QUARTER
from hansard.ledger.messages import CLASSES, COLUMNS, Counted, charges, explain_messages, found_by
from hansard.ledger.targets import Target, find_target
from hansard.model.explain import ExplainedRate, Explanation
from hansard.model.ledger import Rate, Tokens
from hansard.pricing.cost import EXACT, ZERO, Sums, charge

if TYPE_CHECKING:
    from hansard.ledger.report import Ledger
    from hansard.model.ledger import UsageRow
    from hansard.record.store import Record

_COUNTED = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_5m_tokens",
    "cache_write_1h_tokens",
    "web_searches",
    "api_messages",
    "cost_usd",
)


def explain(
    ledger: Ledger,
    record: Record,
    target: str | None = None,
    *,
    by: tuple[str, ...] | None = None,
    key: tuple[str | None, ...] = (),
    limit: int | None = 20,
) -> Explanation:
    """What is behind a figure; the `limit` most expensive messages (None: all) with their lines."""
    if limit is not None and limit < 0:
        raise UsageError("the limit cannot be negative; 0 shows only the arithmetic, no limit shows all messages")
    return _explained(ledger, record, find_target(ledger, target, by, key), limit)


def _explained(ledger: Ledger, record: Record, wanted: Target, limit: int | None) -> Explanation:
    order = _order(ledger.rates, ledger.mode)
    dearest: list[tuple[Any, ...]] = []
    rest = Sums()
    for row in _rows(ledger, wanted):
        if limit is None or len(dearest) < limit:
            heapq.heappush(dearest, (*order(row), row))
        else:
            least = heapq.heappushpop(dearest, (*order(row), row))[-1]
            rest.add(least.rate, least.has_recorded, least.numbers)
    dearest.sort(reverse=True)
    rows = [ranked[-1] for ranked in dearest]
    shown = Sums()
    for row in rows:
        shown.add(row.rate, row.has_recorded, row.numbers)
    whole = Sums()
    for part in (shown, rest):
        for (rate, has_recorded), counts in part.groups.items():
            whole.add(rate, has_recorded, (*counts, part.first, part.last))
    if not whole.groups:
        raise NotFound(f"{wanted.message or 'this'} is not in the selection")
    about = {
        name: text
        for item, value in zip(wanted.dimensions, wanted.key, strict=True)
        for name, text in item.about(value).items()
    }
    figure = whole.row(wanted.named, about, ledger.rates, ledger.mode)
    pricing = ledger.pricing(figure)
    return Explanation(
        by=tuple(wanted.named) or ("total",),
        key=wanted.named,
        timezone=ledger.zone.name,
        since=ledger.wanted.since,
        until=ledger.wanted.until,
        figure=figure,
        rates=tuple(_by_rate(whole, ledger.rates, ledger.mode)),
        messages=tuple(explain_messages(ledger, record, rows)),
        shown=shown.row({}, {}, ledger.rates, ledger.mode),
        rest=rest.row({}, {}, ledger.rates, ledger.mode),
        pricing=replace(pricing, notes=(*pricing.notes, *ledger.rate_notes({rate for rate, _ in whole.groups}))),
        notes=tuple(_differences(ledger, wanted, figure)),
    )


def _rows(ledger: Ledger, wanted: Target) -> Iterator[Counted]:
    """The messages of the figure."""
    selection = ledger.selection
    columns = list(dict.fromkeys(column for item in wanted.dimensions for column in item.columns))
    condition, values = _narrowed(wanted)
    rows = ledger.reader.rows(
        f"SELECT {''.join(f'{column}, ' for column in columns)}{COLUMNS} FROM charges WHERE {selection.where}{condition}",
        (*selection.values, *values),
    )
    skip = len(columns)
    key_of = ledger.key_of(wanted.dimensions, columns)
    for row in rows:
        if key_of(row) == wanted.key:
            yield Counted(*row[skip:])


def _narrowed(wanted: Target) -> tuple[str, list[Any]]:
    """A condition that holds for every message of a row and is found by an index: no message of another day is looked at."""
    if wanted.message is not None:
        return " AND key = ?", [wanted.message]
    condition, values = "", list[Any]()
    timed = [value for item, value in zip(wanted.dimensions, wanted.key, strict=True) if item.is_time]
    if timed and None in timed:
        condition += f" AND first_ts < {QUARTER}"
    elif timed and wanted.reported is not None:
        condition += " AND first_ts BETWEEN ? AND ?"
        values += [wanted.reported.first, wanted.reported.last]
    session = [value for item, value in zip(wanted.dimensions, wanted.key, strict=True) if item.name == "session"]
    if session:
        condition += " AND session_id = ?"
        values.append(session[0] or "")
    return condition, values


def _order(rates: Mapping[int, Rate], mode: str) -> Callable[[Counted], tuple[Any, ...]]:
    """What messages are ranked by: money, then tokens, then time; exact, in whole numbers of a unit that fits every rate."""
    prices = {number: [getattr(rate, name) for *_, name in CLASSES] for number, rate in rates.items() if rate.is_priced}
    digits = max((-price.as_tuple().exponent for found in prices.values() for price in found if price), default=0)
    digits = max(digits, 3)  # billionths of a dollar, a million tokens
    units = {
        number: [
            int((price or ZERO).scaleb(digits, EXACT)) * (1000 if place == 5 else 1)
            for place, price in enumerate(found)
        ]
        for number, found in prices.items()
    }
    unwritten = mode == "recorded"
    written = mode != "calculate"
    billionth = 10 ** (digits - 3)

    def order(row: Counted) -> tuple[Any, ...]:
        counts = row[4:10]
        unit = units.get(row.rate)
        if row.has_recorded and written:
            amount = row.recorded * billionth
        elif unit is None or unwritten:
            amount = -1
        else:
            amount = sum(map(mul, counts, unit))
        return amount, sum(counts[:5]), -row.last_ts, row.key

    return order


def _by_rate(whole: Sums, rates: Mapping[int, Rate], mode: str) -> list[ExplainedRate]:
    """The arithmetic of the whole figure, the dearest rate first."""
    explained = []
    for (number, has_recorded), counts in whole.groups.items():
        rate = rates[number]
        tokens = Tokens(*counts[2:8])
        how = found_by(rate, has_recorded=bool(has_recorded), mode=mode)
        explained.append(
            ExplainedRate(
                rate=rate,
                found_by=how,
                messages=counts[0],
                lower_bound_messages=counts[1],
                charges=charges(rate, tokens, how),
                cost_usd=charge(rate, tokens, has_recorded=bool(has_recorded), billionths=counts[8], mode=mode),
            )
        )
    return sorted(
        explained, key=lambda one: (one.cost_usd is None, -(one.cost_usd or 0), one.rate.model, str(one.rate.since))
    )


def _differences(ledger: Ledger, wanted: Target, figure: UsageRow) -> Iterator[str]:
    """Where the report has another figure than its messages: then the index is damaged."""
    if wanted.reported is None:
        return
    reported = wanted.reported.row({}, {}, ledger.rates, ledger.mode)
    for name in _COUNTED:
        says, is_so = getattr(reported, name), getattr(figure, name)
        if says != is_so:
            yield f"{name}: reports say {says}, but the messages add up to {is_so}. Run `hansard rebuild`"
