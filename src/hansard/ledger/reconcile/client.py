"""The client's own figures: the running totals in its transcripts (`cost-state`), and its statistics (`stats-cache.json`)."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from hansard.errors import StoreCorrupt
from hansard.ledger.reconcile.peer_rules import LINES
from hansard.ledger.reconcile.rules import EMPTY, Change, Count, MethodRules, add, walk
from hansard.model.ledger import Rate, Tokens
from hansard.model.reconcile import ClientCheck, ClientDifference, Counted, CountingMethod, DifferenceStep
from hansard.model.time import from_milliseconds
from hansard.pricing.cost import EXACT, ZERO, cost, recorded
from hansard.storage import OFFSET_BITS, OFFSET_MASK

if TYPE_CHECKING:
    from hansard.ledger.reconcile.line_store import UsageLines
    from hansard.ledger.reconcile.prices import LineRates
    from hansard.query.reader import Reader
    from hansard.record.store import Record

_FIELDS = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cache_read_tokens": "cacheReadInputTokens",
    "cache_write_tokens": "cacheCreationInputTokens",
}
_MOST = 1 << 60
_BILLIONTH = Decimal("1e-9")
_STATED = "rank, ours, kind, known, synthetic, tier, speed, geo, input, output, cache_read, cache_write, write_5m, write_1h, searches, recorded"
_STATE_RULE = "the client's own totals per session and model; a fork's total includes its parent's"
_STATS_RULE = "the client's statistics: the sum of all lines, up to the day they were computed"


def stated_sessions(reader: Reader) -> list[str]:
    return [row[0] for row in reader.rows("SELECT session_id FROM sessions WHERE cost_state NOT IN ('', '{}')")]


def check_sessions(
    reader: Reader, lines: UsageLines, rates: LineRates, compared: Counted
) -> tuple[CountingMethod, ClientCheck] | None:
    """Compare the client's totals with the transcripts of the same sessions; None if it has none."""
    stated: dict[str, dict[str, Counted]] = {}
    ended: dict[str, int | None] = {}
    rows = reader.rows("SELECT session_id, ended_at, cost_state FROM sessions WHERE cost_state NOT IN ('', '{}')")
    for session_id, at, text in rows:
        models = _models(text)
        if models is not None:
            stated[session_id], ended[session_id] = models, at
    if not stated:
        return None
    shown = _shown(reader, lines, rates)
    whole, agreeing = EMPTY, 0
    more, less, dearer = _none(), _none(), ZERO
    differing = []
    for session_id, models in sorted(stated.items()):
        here = shown.get(session_id, {})
        agrees = True
        for model in sorted(models.keys() | here.keys()):
            said, seen = models.get(model, _none()), here.get(model, EMPTY)
            rest = _bare(said) - _bare(seen)
            rate = rates.of_model(model, from_milliseconds(ended[session_id]))
            above, below = _side(rest, rate, 1), _side(rest, rate, -1)
            whole += seen
            more, less = more + above, less + below
            if said.cost_usd is not None:
                explained = EXACT.add(above.cost_usd or ZERO, below.cost_usd or ZERO)
                left = EXACT.subtract(said.cost_usd, EXACT.add(seen.cost_usd or ZERO, explained))
                dearer = EXACT.add(dearer, left)
            if rest.tokens or above or below:
                agrees = False
                differing.append(ClientDifference(session_id, model, said, seen, rest))
        agreeing += agrees
    steps: list[DifferenceStep] = []
    add(
        steps,
        "copies",
        "messages shared with other sessions: a fork starts with those of its parent and its parent's subagents",
        whole - compared,
    )
    add(steps, "no_line", "requests that are not in the transcript: compactions, titles, retries, searches", more)
    add(
        steps,
        "not_counted",
        "messages in the transcript that the client did not count: interrupted, or after its last count",
        less,
    )
    add(steps, "client_prices", "the client's own prices where they differ from Hansard's", _money_only(dearer))
    end = whole + more + less + _money_only(dearer)
    notes = (f"{agreeing:,} of {len(stated):,} sessions agree in every token",)
    way = CountingMethod("cost-state", "the client's cost-state", _STATE_RULE, compared, end, tuple(steps), notes)
    return way, ClientCheck(len(stated), agreeing, tuple(differing))


def _models(text: str) -> dict[str, Counted] | None:
    """The client's figures for each model; names omit the window size."""
    try:
        value = json.loads(text, parse_float=Decimal)
        found: dict[str, Counted] = {}
        for name, figures in value.items():
            model = str(name).partition("[")[0]
            counted = _figures(figures)
            found[model] = found[model] + counted if model in found else counted
    except (ValueError, TypeError, AttributeError, ArithmeticError):
        return None
    return found or None


def _figures(told: dict[str, Any]) -> Counted:
    counts = {ours: _count(told.get(theirs)) for ours, theirs in _FIELDS.items()}
    amount: Any = told.get("costUSD")
    money: Decimal | None = None
    if type(amount) in (int, Decimal) and abs(amount) < _MOST:
        money = Decimal(amount).quantize(_BILLIONTH)  # without binary floating-point noise
    hour = told.get("cacheCreationEphemeral1hInputTokens")
    return Counted(
        None,
        **counts,
        cache_write_1h_tokens=None if hour is None else _count(hour),
        web_searches=_count(told.get("webSearchRequests")),
        cost_usd=money,
    )


def _count(value: Any) -> int:
    return value if type(value) is int and 0 <= value < _MOST else 0


def _shown(reader: Reader, lines: UsageLines, rates: LineRates) -> dict[str, dict[str, Counted]]:
    """What the transcripts show for each session and model, with every answer counted once.

    A fork continues from its parent's totals, subagents included; a branch starts at zero, without what it copied.
    """
    lines.db.execute("CREATE TABLE branch (session TEXT PRIMARY KEY)")
    lines.db.executemany(
        "INSERT OR IGNORE INTO branch VALUES (?)", reader.rows("SELECT target FROM links WHERE relation = 'branch'")
    )
    lines.db.execute("CREATE TABLE inherited (session TEXT, transcript INTEGER, until INTEGER)")
    lines.db.executemany("INSERT INTO inherited VALUES (?, ?, ?)", _inherited(reader))
    lines.db.execute("CREATE INDEX inherited_transcript ON inherited (transcript)")
    lines.db.execute(
        "CREATE TABLE shown AS SELECT g.session, o.model, o.ts, g.tier, g.speed, g.geo, g.input, g.output, g.cache_read,"
        " g.write_5m + max(0, g.cache_write - g.write_5m - g.write_1h) AS write_5m, g.write_1h, g.searches, g.recorded"
        " FROM (SELECT session, min(rank) AS owner, max(tier) AS tier, max(speed) AS speed, max(geo) AS geo, max(input) AS input,"
        " max(output) AS output, max(cache_read) AS cache_read, max(cache_write) AS cache_write, max(write_5m) AS write_5m,"
        " max(write_1h) AS write_1h, max(searches) AS searches, max(recorded) AS recorded FROM"
        f" (SELECT belongs AS session, {_STATED} FROM line WHERE copy = 0 OR belongs NOT IN (SELECT session FROM branch)"
        f" UNION ALL SELECT i.session, {_STATED} FROM line"
        " CROSS JOIN inherited i ON i.transcript = line.transcript AND line.ts BETWEEN 1 AND i.until)"
        " WHERE (kind <> 2 OR known = 0) AND synthetic = 0 GROUP BY session, ours) g CROSS JOIN line o ON o.rank = g.owner"
    )
    rates.complete(lines.db, "shown")
    size = "t.input + t.cache_read + t.write_5m + t.write_1h"
    found: dict[str, dict[str, Counted]] = {}
    for session, number, has_recorded, messages, billionths, *sums in lines.db.execute(
        "SELECT t.session, r.id, t.recorded >= 0, count(*), sum(max(t.recorded, 0)), sum(t.input), sum(t.output),"
        " sum(t.cache_read), sum(t.write_5m), sum(t.write_1h), sum(t.searches) FROM shown t CROSS JOIN rate r"
        " ON r.model = t.model AND r.tier = t.tier AND r.speed = t.speed AND r.geo = t.geo AND t.ts >= r.since AND t.ts < r.until"
        f" AND {size} > r.above AND {size} <= r.upto GROUP BY 1, 2, 3"
    ):
        given, output, read, write_5m, write_1h, searches = sums
        amount = recorded(billionths) if has_recorded else rates.cost(number, sums)
        models = found.setdefault(session, {})
        model = rates.rates[number].model
        unpriced = 0 if amount is not None else messages
        models[model] = models.get(model, EMPTY) + Counted(
            messages, given, output, read, write_5m + write_1h, write_1h, searches, amount or ZERO, unpriced
        )
    return found


def _inherited(reader: Reader) -> Iterator[tuple[str, int, int]]:
    """For each fork, the subagent transcripts of its ancestors, and until when their answers are in its totals."""
    parents: dict[str, tuple[str, int]] = {
        child: (parent, began)
        for child, parent, began in reader.rows(
            f"SELECT l.target, l.source, (SELECT r.ts FROM records r WHERE r.id BETWEEN (t.id << {OFFSET_BITS}) + t.copied"
            f" AND (t.id << {OFFSET_BITS}) + {OFFSET_MASK} AND r.kind = 'user' AND r.ts IS NOT NULL ORDER BY r.id LIMIT 1)"
            " FROM links l JOIN sessions s ON s.session_id = l.target JOIN transcripts t ON t.id = s.transcript"
            " WHERE l.relation = 'fork' AND t.copied > 0"
        )
        if began is not None
    }
    subagents: dict[str, list[int]] = {}
    for session_id, transcript in reader.rows("SELECT session_id, transcript FROM agents WHERE record_id IS NULL"):
        subagents.setdefault(session_id, []).append(transcript)
    for child in parents:
        seen, above, until = {child}, child, _MOST
        while above in parents:
            above, began = parents[above]
            until = min(until, began)
            if above in seen:
                break
            seen.add(above)
            for transcript in subagents.get(above, ()):
                yield child, transcript, until


def _none() -> Counted:
    return Counted(None, 0, 0, 0, 0, None, 0, ZERO)


def _bare(counted: Counted) -> Counted:
    """Only what the client states."""
    return replace(counted, messages=None, unpriced_messages=0)


def _money_only(amount: Decimal) -> Counted:
    return Counted(None, 0, 0, 0, 0, None, 0, amount)


def _side(rest: Counted, rate: Rate | None, sign: int) -> Counted:
    """The positive or negative part of a difference, at our rate."""

    def part(value: int) -> int:
        return value if value * sign > 0 else 0

    hour = part(rest.cache_write_1h_tokens or 0)
    tokens = Tokens(
        part(rest.input_tokens),
        part(rest.output_tokens),
        part(rest.cache_read_tokens),
        part(rest.cache_write_tokens) - hour,
        hour,
        part(rest.web_searches),
    )
    amount = cost(rate, tokens) if rate is not None else None
    return Counted(
        None,
        tokens.input,
        tokens.output,
        tokens.cache_read,
        tokens.cache_write_5m + tokens.cache_write_1h,
        None,
        tokens.web_searches,
        amount or ZERO,
    )


# -- stats-cache.json


def check_statistics(
    reader: Reader, record: Record, lines: UsageLines, count: Count, ours: Counted
) -> CountingMethod | None:
    """Compare the client's statistics with sums of lines up to the same day; None if no root has any."""
    stated, days, roots = _none(), [], set()
    for number, root in enumerate(lines.roots):
        row = reader.one("SELECT max(id) FROM side_files WHERE kind = 'stats' AND root = ? AND current = 1", (root,))
        found = None
        if row is not None and row[0] is not None:
            with contextlib.suppress(StoreCorrupt):
                found = _statistics(record.read_snapshot(row[0]))
        if found is not None:
            roots.add(number)
            stated += found[0]
            days.append(found[1])
    if not roots:
        return None
    changes: list[Change] = []
    if len(roots) < len(lines.roots):
        changes.append(Change("other_roots", "source roots without statistics", {"roots": frozenset(roots)}))
    changes.append(
        Change("later_days", f"usage after {max(days)}, the day they were computed", {"days": ("", max(days))})
    )
    # They still include what the client has deleted since.
    habit = MethodRules("stats-cache", "the client's stats-cache.json", _STATS_RULE, (*changes, *LINES.changes[1:]))
    way = walk(count, habit, ours)
    rest = _bare(stated) - _bare(way.total)
    steps = list(way.steps)
    add(
        steps, "unexplained", "not explained by the stored lines: deleted before they were stored, or not counted", rest
    )
    return CountingMethod(way.name, way.title, way.rule, ours, _bare(stated), tuple(steps), way.notes)


def _statistics(data: bytes) -> tuple[Counted, str] | None:
    try:
        value = json.loads(data, parse_float=Decimal)
        figures = [_figures(told) for told in value["modelUsage"].values()]
        day = str(value["lastComputedDate"])
    except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError):
        return None
    total = _none()
    for figure in figures:
        total += figure
    # Most versions write a cost of 0, which means nothing.
    return (total if total.cost_usd else replace(_bare(total), cache_write_1h_tokens=None, cost_usd=None)), day
