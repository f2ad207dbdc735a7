"""Reports: usage and cost, by any dimensions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from hansard.clients import client_of
from hansard.errors import UsageError
from hansard.index.schema import NO_USAGE, QUARTER, RATE_OF_CALL
from hansard.ledger.dimensions import Dimension, Dimensions, Groups, MessageCommits
from hansard.model.calendar import find_zone
from hansard.model.ledger import PriceData, Pricing, Rate, Unrecorded, UsageReport, UsageRow, Work
from hansard.model.requests import MODES, USAGE_SORTS, ExplainRequest, LedgerRequest, UsageRequest
from hansard.pricing.cost import SUMS, Sums, data_of, rates_of
from hansard.query.duplicates import find_copies
from hansard.query.language.options import report_query
from hansard.storage import OFFSET_BITS, OFFSET_MASK
from hansard.storage.sqlite import to_json

if TYPE_CHECKING:
    from hansard.model.sessions import Activity
    from hansard.query.compile import Compiler, Target
    from hansard.query.language import Node
    from hansard.query.reader import Reader


RowKey = tuple[str | None, ...]


class Selection:
    """A condition over the columns that `spending` and `charges` share, and which of the two it needs."""

    def __init__(
        self,
        reader: Reader,
        query: Node | None,
        sessions: Sequence[str] | None = None,
        target: Target | None = None,
        compiler: type[Compiler] | None = None,
    ) -> None:
        self.is_fine = False  # whether sums per quarter of an hour are too coarse
        self.where = "true"
        self.values: tuple[object, ...] = ()
        if query is not None:
            from hansard.query import compile as compiling

            compiled = (compiler or compiling.Compiler)(reader, target or compiling.USAGE)
            asked = compiled.condition(query)
            if asked is not None:
                self.where, self.values, self.is_fine = asked.sql, asked.values, compiled.is_fine
        if sessions is not None:
            self.where += " AND session_id IN (SELECT value FROM json_each(?))"
            self.values += (to_json(sessions),)

    @property
    def source(self) -> str:
        """The table or view to read."""
        return "charges" if self.is_fine else "spending"


class Ledger:
    """Sums of the messages that a request selects, or of those in `sessions`."""

    def __init__(
        self,
        reader: Reader,
        request: LedgerRequest | ExplainRequest,
        commits: Callable[[], MessageCommits] | None = None,
        *,
        sessions: Sequence[str] | None = None,
        groups: Groups = MappingProxyType({}),
    ) -> None:
        self.mode = request.mode
        if self.mode not in MODES:
            raise UsageError(f"unknown mode {self.mode!r}; choose one of {', '.join(MODES)}")
        self.reader = reader
        self.request = request
        self.zone = find_zone(request.timezone)
        self.now = request.now or datetime.now(UTC)
        self.rates: dict[int, Rate] = rates_of(reader.rows)
        self.query = report_query(request)
        self._sessions = sessions
        self.selection = self._select(sessions)
        self._commits = commits
        self._groups = groups

    def _select(self, sessions: Sequence[str] | None) -> Selection:
        return Selection(self.reader, self.query, sessions)

    def calls(self, *, by_model: bool) -> tuple[str, tuple[object, ...]]:
        """A SELECT of all calls, each once, and its values; those of no known model only if models do not matter."""
        values = (to_json(find_copies(self.reader)), clients_of_calls(self.reader))
        return _CALLS + (_OTHER_CALLS_OF_MODELS if by_model else _OTHER_CALLS), values

    def price_data(self) -> PriceData:
        """Where the prices come from."""
        return price_data(self.reader)

    def dimensions(self, by: tuple[str, ...]) -> tuple[Dimension, ...]:
        return Dimensions(self.reader, self.rates, self.zone, self._commits, self._groups).make(by)

    def sums(self, dimensions: tuple[Dimension, ...]) -> dict[RowKey, Sums]:
        columns = list(dict.fromkeys(column for item in dimensions for column in item.columns))
        if "rate" not in columns:
            columns.append("rate")
        columns.append("has_recorded")
        source = "charges" if any(item.is_fine for item in dimensions) else self.selection.source
        names = ", ".join(columns)
        rows = self.reader.rows(
            f"SELECT {names}, {SUMS} FROM {source} WHERE {self.selection.where}"
            f" GROUP BY {', '.join(str(place) for place in range(1, len(columns) + 1))}",
            self.selection.values,
        )
        key_of = key_function(dimensions, columns)
        rate, count = columns.index("rate"), len(columns)
        found: dict[RowKey, Sums] = {}
        for row in rows:
            key = key_of(row)
            sums = found.get(key)
            if sums is None:
                sums = found[key] = Sums()
            sums.add(row[rate], row[count - 1], row[count:])
        return found

    def pricing(self, totals: UsageRow, unrecorded: Unrecorded | None = None) -> Pricing:
        """The prices used, and what is uncertain about the sums."""
        return Pricing(self.price_data(), self.mode, tuple(self._notes(totals, unrecorded)))

    def unrecorded(self) -> Unrecorded | None:
        """What the selection leaves out, because its clients recorded no usage."""
        found = sorted(self.without_usage())
        clients = tuple(client for client, _, _ in found)
        return Unrecorded(sum(row[1] for row in found), sum(row[2] for row in found), clients) if found else None

    def without_usage(self) -> Iterable[tuple[str, int, int]]:
        """The selected sessions without recorded usage: each client with their number and that of their messages."""
        from hansard.query.sessions import where_sessions

        # First what few sessions have: the rest of the condition may read the records of each.
        where, values = where_sessions(self.reader, self.query, debris=True)
        if self._sessions is not None:
            where += " AND session_id IN (SELECT value FROM json_each(?))"
            values.append(to_json(self._sessions))
        return self.reader.rows(
            "SELECT client, count(*), sum(messages) FROM"
            f" (SELECT * FROM sessions WHERE {NO_USAGE}) sessions WHERE {where} GROUP BY client",
            tuple(values),
        )

    def _notes(self, totals: UsageRow, unrecorded: Unrecorded | None) -> list[str]:
        notes = []  # first those that explain a mark, as `marked_notes` in `render` expects
        if totals.lower_bound_messages:
            notes.append(
                f"{totals.lower_bound_messages:,} of {totals.api_messages:,} messages have no final usage record:"
                " their output is a lower bound"
            )
        if totals.unpriced_messages:
            named = ", ".join(model or "an unnamed model" for model in totals.unpriced_models)
            one = totals.unpriced_messages == 1
            why = "no cost recorded by the client" if self.mode == "recorded" else "no price"
            notes.append(
                f"{_messages(totals.unpriced_messages)} of {named} {'has' if one else 'have'} {why} and {'is' if one else 'are'} not in the cost"
            )
        if totals.progress_only_messages:
            notes.append(
                f"{_messages(totals.progress_only_messages)} of subagents whose transcripts are gone, counted from the progress"
                " records of the sessions that started them"
            )
        if totals.recorded_messages:
            notes.append(f"{_messages(totals.recorded_messages)} at the cost recorded by the client")
        if unrecorded is not None:
            notes.append(
                f"{unrecorded.words}; these figures do not include {'it' if unrecorded.sessions == 1 else 'them'}"
            )
        return notes

    def rate_notes(self, used: set[int]) -> list[str]:
        """What is derived or could not be applied in these rates, each stated once."""
        said: dict[str, set[str]] = {}
        for number in used:
            rate = self.rates[number]
            for note in rate.notes if rate.is_priced else ():
                said.setdefault(note, set()).add(rate.model)
        return [f"{', '.join(sorted(models))}: {note}" for note, models in sorted(said.items())]


def key_function(dimensions: Sequence[Dimension], columns: Sequence[str]) -> Callable[[Any], RowKey]:
    """A function from a row that begins with these columns to its key in the report."""
    places = [(item.key, [columns.index(column) for column in item.columns]) for item in dimensions]
    known: dict[Any, RowKey] = {}
    needed = sorted({place for _, needs in places for place in needs})
    raw_of: Callable[[Any], Any] = itemgetter(*needed) if needed else lambda _row: None

    def key_of(row: Any) -> RowKey:
        raw = raw_of(row)
        key = known.get(raw)
        if key is None:
            key = known[raw] = tuple(make(*(row[place] for place in needs)) for make, needs in places)
        return key

    return key_of


def _messages(count: int) -> str:
    return f"{count:,} {'message' if count == 1 else 'messages'}"


def price_data(reader: Reader) -> PriceData:
    """Where the rates of an index come from."""
    return data_of(reader.rows) or PriceData("genai-prices", "", "", None, 0)


def names_of(by: str | Sequence[str]) -> tuple[str, ...]:
    """Parse dimensions from a list or comma-separated text."""
    names = by.split(",") if isinstance(by, str) else by
    found = tuple(name.strip() for name in names if name.strip())
    if not found:
        raise UsageError("give a dimension to group by, for example day, model or total")
    return found


def total(
    reader: Reader,
    *,
    sessions: Sequence[str] | None = None,
    project: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    now: datetime | None = None,
) -> UsageReport:
    request = UsageRequest(by="total", project=project, since=since, until=until, now=now)
    return make_report(Ledger(reader, request, sessions=sessions), request)


def count_activity(reader: Reader, since: datetime | None, until: datetime | None) -> Activity:
    """How much happened between two times, and what it cost."""
    from hansard.query import activity

    report = total(reader, since=since, until=until)
    used = report.totals
    found = activity.count_activity(reader, since, until)
    if report.unrecorded is not None and not used.api_messages:
        found = replace(found, input_tokens=None, output_tokens=None, cache_read_tokens=None, cache_write_tokens=None)
    return replace(
        found,
        cost_usd=used.cost_usd,
        lower_bound_messages=used.lower_bound_messages,
        unpriced_messages=used.unpriced_messages,
    )


def make_report(ledger: Ledger, request: UsageRequest) -> UsageReport:
    """A report by the dimensions of the request; its rows add up to its totals."""
    by = names_of(request.by)
    dimensions = ledger.dimensions(by)
    names = tuple(item.name for item in dimensions)
    found = ledger.sums(dimensions)
    parts: dict[RowKey, list[UsageRow]] = {}
    if request.breakdown:
        models = ledger.dimensions((*by, "model")) if "model" not in names else dimensions
        for key, sums in ledger.sums(models).items():
            row = sums.row(
                {"model": key[-1] if "model" not in names else key[names.index("model")]}, {}, ledger.rates, ledger.mode
            )
            parts.setdefault(key[: len(names)], []).append(row)
    rows = [
        sums.row(
            dict(zip(names, key, strict=True)),
            {
                name: text
                for item, value in zip(dimensions, key, strict=True)
                for name, text in item.about(value).items()
            },
            ledger.rates,
            ledger.mode,
            tuple(sorted(parts.get(key, ()), key=lambda row: (-_money(row), row.key["model"] or ""))),
        )
        for key, sums in found.items()
    ]
    whole = Sums()
    for sums in found.values():
        whole.merge(sums)
    totals = whole.row({}, {}, ledger.rates, ledger.mode)
    if request.work or "tool" in names:
        rows, totals = add_work(ledger, dimensions, rows, totals, idle=request.work)
    unrecorded = ledger.unrecorded()
    if unrecorded is not None and not totals.api_messages:
        totals = replace(totals, cost_usd=None, cache_saved_usd=None, cache_extra_usd=None)
    pricing = ledger.pricing(totals, unrecorded)
    used = {rate for rate, has_recorded in whole.groups if ledger.mode == "calculate" or not has_recorded}
    if ledger.mode != "recorded":
        pricing = replace(pricing, notes=(*pricing.notes, *ledger.rate_notes(used)))
    return UsageReport(
        by=names or ("total",),
        timezone=ledger.zone.name,
        since=ledger.request.since,
        until=ledger.request.until,
        rows=tuple(_sorted(rows, dimensions, request.sort, request.ascending)),
        totals=totals,
        pricing=pricing,
        unrecorded=unrecorded,
    )


def _sorted(
    rows: list[UsageRow], dimensions: tuple[Dimension, ...], sort: str | None, ascending: bool | None
) -> list[UsageRow]:
    if sort is None:
        sort = "key" if any(item.is_time for item in dimensions) else "cost"
    if sort not in USAGE_SORTS:
        raise UsageError(f"cannot sort usage by {sort!r}; choose one of {', '.join(USAGE_SORTS)}")
    if ascending is None:
        ascending = sort == "key"
    rows = sorted(rows, key=lambda row: [(value is None, value or "") for value in row.key.values()])
    if sort == "key":
        return rows if ascending else rows[::-1]
    measure = {"cost": _money, "tokens": lambda row: row.tokens, "messages": lambda row: row.api_messages}[sort]
    return sorted(rows, key=measure, reverse=not ascending)


def _money(row: UsageRow) -> Decimal:
    return Decimal(-1) if row.cost_usd is None else row.cost_usd


# -- what tools did, besides what it cost: calls, errors, time and lines, each call counted once

# A call belongs to the message that made it: it counts at the place and time of that message.
_CALLS = """
    SELECT g.quarter AS quarter, g.session_id AS session_id, g.agent_id AS agent_id, g.branch AS branch, g.rate AS rate,
        g.first_ts AS first_ts, c.tool AS tool, c.is_error AS is_error,
        max(0, coalesce(c.result_ts - c.ts, 0)) AS duration, c.added AS added, c.removed AS removed
    FROM tool_calls c CROSS JOIN messages m ON m.id = c.message_id CROSS JOIN charges g ON g.key = m.key
    WHERE c.part = 0 AND c.id NOT IN (SELECT value FROM json_each(?1))
"""
BRANCH_OF_CALL = "coalesce((SELECT s.branch FROM sessions s WHERE s.session_id = t.session_id), '')"
# Clients that do not say which answer made a call: it counts at its own time, for the branch of its session, and for its model if
# that has rates.
_OTHER_CALLS = f"""
    UNION ALL SELECT coalesce(c.ts, 0) / {QUARTER}, t.session_id, t.agent_id, {BRANCH_OF_CALL}, {RATE_OF_CALL}, coalesce(c.ts, 0),
        c.tool, c.is_error, max(0, coalesce(c.result_ts - c.ts, 0)), c.added, c.removed
    FROM transcripts t CROSS JOIN tool_calls c
        ON c.id BETWEEN t.id << {OFFSET_BITS} AND (t.id << {OFFSET_BITS}) + {OFFSET_MASK}
    WHERE c.message_id IS NULL AND c.part = 0 AND t.current = 1 AND t.client IN (SELECT value FROM json_each(?2))
        AND c.id NOT IN (SELECT value FROM json_each(?1))
"""
_OTHER_CALLS_OF_MODELS = f"{_OTHER_CALLS} AND {RATE_OF_CALL} IS NOT NULL"


def clients_of_calls(reader: Reader) -> str:
    """The clients whose calls count at their own time, because they do not say which answer made a call; a JSON list."""
    names = [str(name) for (name,) in reader.rows("SELECT DISTINCT client FROM transcripts")]
    return to_json([name for name in names if not _has_messages(name)])


def _has_messages(client: str) -> bool:
    try:
        return client_of(client).calls_have_messages
    except UsageError:  # its package is not installed any more
        return False


def add_work(
    ledger: Ledger, dimensions: tuple[Dimension, ...], rows: list[UsageRow], totals: UsageRow, *, idle: bool
) -> tuple[list[UsageRow], UsageRow]:
    """Add the work to the rows and totals that it belongs to.

    Messages are grouped by the first tool they call, calls by their own: `idle` adds rows for tools that no message called first.
    """
    columns = list(dict.fromkeys(column for item in dimensions for column in item.columns))
    names = tuple(item.name for item in dimensions)
    selection = ledger.selection
    chosen = "".join(f"{column}, " for column in columns)
    found: dict[tuple[str | None, ...], Work] = {}
    key_of = key_function(dimensions, columns)
    groups = "".join(f"{place}, " for place in range(1, len(columns) + 1)).removesuffix(", ")
    calls, values = ledger.calls(by_model="rate" in columns)
    answers: Any = ledger.reader.rows(
        f"SELECT {chosen} count(*), sum(is_error), sum(duration), sum(added), sum(removed) FROM ({calls}) made"
        f" WHERE {selection.where} {'GROUP BY ' + groups if groups else ''}",
        (*values, *selection.values),
    )
    for row in answers:
        if row[len(columns)]:
            key = key_of(row)
            found[key] = found.get(key, Work()) + Work(*row[len(columns) :])
    whole = Work()
    worked = []
    for row in rows:
        work = found.pop(tuple(row.key[name] for name in names), Work())
        whole += work
        worked.append(replace(row, work=work))
    for key, work in found.items() if idle else ():
        about = {
            name: text for item, value in zip(dimensions, key, strict=True) for name, text in item.about(value).items()
        }
        empty = Sums().row(dict(zip(names, key, strict=True)), about, ledger.rates, ledger.mode)
        whole += work
        worked.append(replace(empty, work=work))
    return worked, replace(totals, work=whole)
