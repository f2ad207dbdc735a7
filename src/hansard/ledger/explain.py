"""Explain a figure: its messages one by one, the lines and decisions behind each, the rates and the arithmetic.

SQL adds up the rows of `charges` per rate, with the report's own conditions and keys: that is the figure. Only the most
expensive rows themselves are examined, so neither memory nor most of the time grows with the history.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from operator import mul
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from hansard.errors import Ambiguous, NotFound, UsageError
from hansard.index.schema import QUARTER
from hansard.ledger.dimensions import TIMES, Dimension
from hansard.ledger.messages import CLASSES, COLUMNS, Counted, charges, explain_messages, found_by
from hansard.ledger.report import Ledger, RowKey, key_function, names_of
from hansard.model.explain import ExplainedRate, Explanation
from hansard.model.ledger import Rate, Tokens, UsageRow
from hansard.pricing.cost import EXACT, SUMS, ZERO, Sums, charge
from hansard.storage.sqlite import to_json

if TYPE_CHECKING:
    from hansard.model.requests import ExplainRequest
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
_SPARE = 100  # messages examined beyond those shown
_ERROR = 1e-9  # exceeds the relative floating-point error of a cost


def explain(ledger: Ledger, record: Record, request: ExplainRequest) -> Explanation:
    """What is behind a figure; the `limit` most expensive messages (None: all) with their lines."""
    limit = request.limit
    if limit is not None and limit < 0:
        raise UsageError("the limit cannot be negative; 0 shows only the arithmetic, no limit shows all messages")
    by = names_of(request.by) if request.by is not None else None
    wanted = find_target(ledger, request.target, by, request.key)
    charged = _Charges(ledger, wanted)
    rows = charged.most_expensive(limit)
    shown = Sums()
    for row in rows:
        shown.add(row.rate, row.has_recorded, row.numbers)
    rest = charged.sums(without=[row.key for row in rows])
    whole = Sums()
    for part in (shown, rest):
        whole.merge(part)
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
        since=ledger.request.since,
        until=ledger.request.until,
        figure=figure,
        rates=tuple(_by_rate(whole, ledger.rates, ledger.mode)),
        messages=tuple(explain_messages(ledger, record, rows)),
        shown=shown.row({}, {}, ledger.rates, ledger.mode),
        rest=rest.row({}, {}, ledger.rates, ledger.mode),
        pricing=replace(pricing, notes=(*pricing.notes, *ledger.rate_notes({rate for rate, _ in whole.groups}))),
        notes=tuple(_differences(ledger, wanted, figure)),
    )


class _Charges:
    """The messages of a figure."""

    def __init__(self, ledger: Ledger, wanted: Target) -> None:
        self._ledger = ledger
        self._wanted = wanted.key
        self._columns = list(dict.fromkeys(column for item in wanted.dimensions for column in item.columns))
        self._key_of = key_function(wanted.dimensions, self._columns)
        selection = ledger.selection
        condition, values = _narrowed(wanted)
        self._where = f"{selection.where}{condition}"
        self._values = (*selection.values, *values)
        self._narrow()

    def _narrow(self) -> None:
        """Exclude messages whose columns belong to other rows of the report."""
        if not self._columns:
            return
        names = ", ".join(self._columns)
        rows = self._ask(f"SELECT DISTINCT {names} FROM charges WHERE {self._where}")
        mine = [row for row in rows if self._key_of(row) == self._wanted]
        for place, column in enumerate(self._columns):
            found = {row[place] for row in mine}
            unknown = f" OR {column} IS NULL" if None in found else ""
            self._where += f" AND ({column} IN (SELECT value FROM json_each(?)){unknown})"
            self._values += (to_json([value for value in found if value is not None]),)

    def _ask(self, sql: str, *values: Any) -> Iterator[Any]:
        """Rows that may belong to the figure: interdependent columns are only compared one by one."""
        return self._ledger.reader.rows(sql, (*self._values, *values))

    def sums(self, without: Sequence[str]) -> Sums:
        columns = [*self._columns, "rate", "has_recorded"]
        groups = ", ".join(str(place) for place in range(1, len(columns) + 1))
        found = Sums()
        for row in self._ask(
            f"SELECT {', '.join(columns)}, {SUMS} FROM charges WHERE {self._where}"
            f" AND key NOT IN (SELECT value FROM json_each(?)) GROUP BY {groups}",
            to_json(without),
        ):
            if self._key_of(row) == self._wanted:
                found.add(row[len(columns) - 2], row[len(columns) - 1], row[len(columns) :])
        return found

    def most_expensive(self, limit: int | None) -> list[Counted]:
        """The `limit` most expensive messages (None: all), most expensive first."""
        if limit == 0:
            return []
        order = _order(self._ledger.rates, self._ledger.mode)
        if limit is None:
            return sorted(self._rows(), key=order, reverse=True)
        found = self._estimated(limit)
        return heapq.nlargest(limit, self._rows() if found is None else found, key=order)

    def _rows(self) -> Iterator[Counted]:
        chosen = "".join(f"{column}, " for column in self._columns)
        skip = len(self._columns)
        for row in self._ask(f"SELECT {chosen}{COLUMNS} FROM charges WHERE {self._where}"):
            if self._key_of(row) == self._wanted:
                yield Counted(*row[skip:])

    def _estimated(self, limit: int) -> list[Counted] | None:
        """A superset of the most expensive messages, found by approximate cost; None if too many cost the same."""
        chosen = "".join(f"{column}, " for column in self._columns)
        worth = _worth(self._ledger.rates, self._ledger.mode)
        skip = len(self._columns)
        for most in (limit + _SPARE, 16 * (limit + _SPARE)):
            rows = list(
                self._ask(
                    f"SELECT {chosen}{COLUMNS}, {worth} AS worth FROM charges WHERE {self._where} ORDER BY worth DESC LIMIT ?",
                    most,
                )
            )
            mine = [row for row in rows if self._key_of(row) == self._wanted]
            # Skip rows that cannot reach the top `limit` even after rounding.
            least = mine[limit - 1][-1] if len(mine) >= limit else None
            if len(rows) < most or (least is not None and rows[-1][-1] < least - abs(least) * _ERROR):
                return [Counted(*row[skip:-1]) for row in mine]
        return None


def _narrowed(wanted: Target) -> tuple[str, list[Any]]:
    """A condition that holds for every message of a row and uses an index: messages of other days are not read."""
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
    """The ranking of messages: money, then tokens, then time; exact, in integers of a unit that fits every rate."""
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


def _worth(rates: Mapping[int, Rate], mode: str) -> str:
    """SQL for the first ranking key, approximately in millionths of a dollar: floating point."""
    cases = []
    for number, rate in rates.items() if mode != "recorded" else ():
        if rate.is_priced:
            prices = [(of, getattr(rate, name) or ZERO) for _, of, name in CLASSES]
            parts = [
                f"{of} * {float(price) * (1000 if of == 'web_searches' else 1)!r}" for of, price in prices if price
            ]
            cases.append(f" WHEN {number} THEN {' + '.join(parts) or '0.0'}")
    priced = f"CASE rate{''.join(cases)} ELSE -1.0 END" if cases else "-1.0"
    return priced if mode == "calculate" else f"iif(has_recorded, recorded / 1000.0, {priced})"


def _by_rate(whole: Sums, rates: Mapping[int, Rate], mode: str) -> list[ExplainedRate]:
    """The arithmetic of the whole figure, most expensive rate first."""
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
    """Differences between the report's figure and its messages: these mean that the index is damaged."""
    if wanted.reported is None:
        return
    reported = wanted.reported.row({}, {}, ledger.rates, ledger.mode)
    for name in _COUNTED:
        stated, summed = getattr(reported, name), getattr(figure, name)
        if stated != summed:
            yield f"{name}: reports say {stated}, but the messages add up to {summed}. Run `hansard rebuild`"


_PATTERNS = {
    "hour": r"\d{4}-\d\d-\d\dT\d\d:\d\d(Z|[+-]\d\d:\d\d)",
    "day": r"\d{4}-\d\d-\d\d",
    "week": r"\d{4}-W\d\d",
    "month": r"\d{4}-\d\d",
    "block": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ",
}
_FORMS = "2026-11-01, 2026-11, 2026-W45, 2026-11-01T14:00Z"
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Target:
    """A row of a report by dimensions, or one message; `reported` is the report's sum for the row."""

    dimensions: tuple[Dimension, ...] = ()
    key: RowKey = ()
    message: str | None = None
    reported: Sums | None = None

    @property
    def named(self) -> dict[str, str | None]:
        """The key as a mapping from dimension to value."""
        if self.message is not None:
            return {"message": self.message}
        return {item.name: value for item, value in zip(self.dimensions, self.key, strict=True)}


def find_target(
    ledger: Ledger, target: str | None, by: tuple[str, ...] | None, key: Sequence[str | None] = ()
) -> Target:
    """Find the target: with `by` the values of a row's key, in order; otherwise the text names it."""
    values = tuple(key) if target is None else (target, *key)
    if by is not None:
        return _row(ledger, by, values)
    if not values:
        return _row(ledger, ("total",), ())
    if len(values) > 1 or values[0] is None:
        raise UsageError(
            "explain takes one target; to give several values, name the report with --by, e.g. --by day,model"
        )
    name = values[0]
    message = _message(ledger, name)
    if message is not None:
        return Target(message=message)
    when = _time(ledger, name)
    if when is not None:
        return _row(ledger, when[:1], when[1:])
    return _row(ledger, ("session",), (_session(ledger, name),))


def _message(ledger: Ledger, name: str) -> str | None:
    """The key of the message with this key, or with a line that has this uuid."""
    ask = ledger.reader.one
    if ask("SELECT 1 FROM usage WHERE key = ?", (name,)) is not None:
        return name
    key = name
    if ask("SELECT 1 FROM messages WHERE key = ?", (name,)) is None:
        lines = list(ledger.reader.rows("SELECT kind, message_id FROM records WHERE uuid = ? ORDER BY id", (name,)))
        if not lines:
            return None
        found = next((line[1] for line in lines if line[1] is not None), None)
        row = None if found is None else ask("SELECT key FROM messages WHERE id = ?", (found,))
        if row is None:
            raise NotFound(f"the line {name} is a {lines[0][0]!r} record: only API messages use tokens")
        key = row[0]
    if ask("SELECT 1 FROM usage WHERE key = ?", (key,)) is None:
        raise NotFound(f"no line of message {key} has usage")
    return str(key)


def _time(ledger: Ledger, name: str) -> tuple[str, str] | None:
    """The dimension and key of a time, as report rows show it."""
    if name in ("today", "yesterday"):
        today = ledger.zone.local(ledger.now).date()
        return "day", (today - timedelta(days=name == "yesterday")).isoformat()
    for dimension, pattern in _PATTERNS.items():
        if re.fullmatch(pattern, name, re.ASCII):
            return dimension, name
    return None


def _session(ledger: Ledger, name: str) -> str:
    from hansard.query.sessions import find_session

    try:
        session = find_session(ledger.reader, name)
    except NotFound as error:
        if name.startswith("@"):
            raise
        words = (
            f"nothing matches {name!r}: give a session (the beginning of its id, words of its title, @last), a time as"
            f" reports show it ({_FORMS}), a message's id or a line's uuid"
        )
        raise NotFound(words, "; or name a row of a report with --by") from error
    if session.has_no_usage:
        raise NotFound(f"{session.client} recorded no usage for this session")
    return session.session_id


def _row(ledger: Ledger, by: tuple[str, ...], values: RowKey) -> Target:
    dimensions = ledger.dimensions(by)
    names = [item.name for item in dimensions]
    if len(values) != len(names):
        takes = f"{len(names)} values ({', '.join(names)})" if names else "no value"
        raise UsageError(
            f"--by {','.join(names) or 'total'} takes {takes}, not {len(values)}; use - for an unknown one"
        )
    found = ledger.sums(dimensions)
    key = _match(names, values, found)
    return Target(dimensions, key, None, found[key])


def _match(names: Sequence[str], values: RowKey, found: Collection[RowKey]) -> RowKey:
    """The key of the requested row: with these values, or the only one whose values contain them."""
    if values in found:
        return values
    if not names:
        raise NotFound("no usage in the selection")
    near = [key for key in found if all(map(_fits, names, values, key))]
    if len(near) == 1:
        return near[0]
    if near:
        shown = "\n".join("  " + _said(key) for key in sorted(near, key=_said)[:_SHOWN])
        more = f"\n  and {len(near) - _SHOWN} more" if len(near) > _SHOWN else ""
        raise Ambiguous(f"{len(near)} rows match {_said(values)}:\n{shown}{more}")
    by = ",".join(names)
    which = f"on {_said(values)}" if by in ("day", "week", "month") else f"for {_said(values)} by {by}"
    raise NotFound(f"no usage {which}", f"; `hansard usage --by {by}` lists what there is")


def _fits(name: str, wanted: str | None, value: str | None) -> bool:
    if wanted is None or value is None:
        return wanted == value
    return wanted == value or (name not in TIMES and bool(wanted) and wanted.casefold() in value.casefold())


def _said(key: RowKey) -> str:
    return " ".join("-" if value is None else value for value in key)
