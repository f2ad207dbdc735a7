"""A rule says which lines count, which of them are one answer, which values win, and how the answer is priced."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hansard.ledger.reconcile.line_store import ADVISOR, ANSWER, TOLD, UsageLines
from hansard.ledger.reconcile.prices import OVER, SCALE, LineRates
from hansard.model.reconcile import Counted, CountingMethod, DifferenceStep
from hansard.model.time import to_milliseconds
from hansard.pricing.cost import ZERO, recorded

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from decimal import Decimal


KEYS = {
    "ours": "ours",
    "transcript": "ours || ' ' || transcript",  # ours, but each transcript separately
    "line": "rank",
    "ccusage": "daily",
    "agentsview": "CASE WHEN id <> '' AND request <> '' THEN id || ' ' || request ELSE run END",
    "tokscale": "CASE WHEN id = '' THEN '#' || rank ELSE id || ' ' || request END",
    "message": "message",  # one statement for each message of a file
}
"""What identifies two lines as the same answer."""

_COUNTS = tuple("input output cache_read cache_write write_5m write_1h has_split searches recorded reasoning".split())
_CHOICES = {
    "total": "side, input + output + cache_read + {writes} DESC, place",
    "output": "output DESC, ts DESC, place DESC",
    "first": "place",
}
# The tokens of cache writes for five minutes and for an hour, by how a line's two statements are read.
_WRITES = {
    "ours": ("write_5m + max(0, cache_write - write_5m - write_1h)", "write_1h"),
    "split": ("CASE WHEN has_split THEN write_5m ELSE cache_write END", "CASE WHEN has_split THEN write_1h ELSE 0 END"),
    "flat": ("cache_write - min(write_1h, cache_write)", "min(write_1h, cache_write)"),
    "five minutes": ("cache_write", "0"),
    "input": ("0", "0"),  # they count as input
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One counting method; the defaults are ours."""

    # which lines
    live: bool = False  # only transcripts that are still in the source
    days: tuple[str, str] | None = None  # only from one day to another
    roots: frozenset[int] | None = None  # only of these
    strict: bool = False  # no odd lines
    beside: bool = True  # also subagents' files beside the sessions
    synthetic: bool = False  # also the client's own synthetic messages
    advisors: bool = True  # also calls to another model inside an answer
    repeats: frozenset[str] = frozenset()  # also these repetitions, of clients that say what they repeat
    orphans: frozenset[str] = frozenset()  # also these, where the session that they were copied from is missing
    told: str = "only"  # also what progress records repeat: `only` answers without a line of their own, `all`, or none
    # which of them are one answer, and which values win
    key: str = "ours"
    merge: str = "max"  # the maximum of each class; or the line with the greatest `total` or `output`, or the `first`
    reasoning: str = (
        "output"  # tokens of reasoning that are beside those of the output: among these, only `charged`, or `dropped`
    )
    # what it costs
    writes: str = "ours"
    searches: bool = True
    recorded: bool = True  # a cost recorded by the client takes precedence over the price
    dated: bool = True  # at the price at its time, not the newest
    long: str = "whole"  # a long prompt costs more as a `whole`, or only the part `above` the limit in each class
    longer: frozenset[str] = frozenset()  # models that cost more for long prompts, unknown to our price data
    missing: frozenset[str] = frozenset()  # models that cost nothing
    rounded: bool = False  # each answer to a millionth of a dollar


class Count:
    """Queries lines for totals; each rule is computed once."""

    def __init__(self, lines: UsageLines, rates: LineRates, now: datetime) -> None:
        self._db = lines.db
        self._now = to_milliseconds(now)
        self._rates = rates
        self._known: dict[tuple[Rule, bool], dict[str, Counted]] = {}
        self._told: str = ""  # which rule's rows `told` has
        rates.attach(self._db)

    def total(self, rule: Rule) -> Counted:
        return self._ask(rule, by_model=False)[""]

    def by_model(self, rule: Rule) -> dict[str, Counted]:
        return self._ask(rule, by_model=True)

    def _ask(self, rule: Rule, *, by_model: bool) -> dict[str, Counted]:
        known = self._known.get((rule, by_model))
        if known is None:
            known = self._known[rule, by_model] = self._add_up(rule, by_model=by_model)
        return known

    def _add_up(self, rule: Rule, *, by_model: bool) -> dict[str, Counted]:
        sql, values = _messages(rule)
        if self._told != repr((sql, values)):
            self._db.execute("DROP TABLE IF EXISTS told")
            self._db.execute(f"CREATE TABLE told AS {sql}", values)
            self._rates.complete(self._db, "told")
            self._told = repr((sql, values))
        result: dict[str, Counted] = {} if by_model else {"": EMPTY}
        for number, has_recorded, *counts in self._db.execute(_priced(rule, self._now)):
            rate = self._rates.rates[number]
            name = rate.model if by_model else ""
            known = result.get(name, EMPTY)
            result[name] = known + self._charged(rule, number, bool(has_recorded), counts)
        return result

    def _charged(self, rule: Rule, number: int, has_recorded: bool, counts: list[Any]) -> Counted:
        messages, billionths, millionths, reasoning, *tokens = counts
        model = self._rates.rates[number].model
        cost: Decimal | None = None
        if has_recorded and rule.recorded:
            cost = recorded(billionths)
        elif model in rule.missing:
            pass
        elif rule.rounded:
            cost = None if millionths is None else recorded(millionths * 1000)
        else:
            cost = self._rates.cost(number, tokens, long=rule.long, longer=model in rule.longer)
        given, output, read, write_5m, write_1h, searches, *_ = tokens
        unpriced = messages if cost is None else 0
        if rule.reasoning == "charged":
            output -= reasoning
        return Counted(messages, given, output, read, write_5m + write_1h, write_1h, searches, cost or ZERO, unpriced)


EMPTY = Counted(0, 0, 0, 0, 0, 0, 0, ZERO)


def _messages(rule: Rule) -> tuple[str, tuple[Any, ...]]:
    """One row for each answer that the rule counts."""
    where, values = _lines(rule)
    key = KEYS[rule.key]
    write_5m, write_1h = _WRITES[rule.writes]
    given = "input + cache_write" if rule.writes == "input" else "input"
    output = "output - reasoning" if rule.reasoning == "dropped" else "output"
    shown = (
        f"model, tier, speed, geo, ts, {given} AS input, {output} AS output, cache_read, {write_5m} AS write_5m,"
        f" {write_1h} AS write_1h, {'searches' if rule.searches else '0'} AS searches, recorded, reasoning"
    )
    if rule.key == "line":
        return f"SELECT {shown} FROM line WHERE {where}", values
    if rule.merge == "max":
        maxima = ", ".join(f"max({name}) AS {name}" for name in (*_COUNTS, "tier", "speed", "geo"))
        sql = (
            f"SELECT {shown} FROM (SELECT o.model, o.ts, g.* FROM (SELECT min(rank) AS owner, {maxima}"
            f" FROM line WHERE {where} GROUP BY {key}) g CROSS JOIN line o ON o.rank = g.owner)"
        )
        return sql, values
    order = _CHOICES[rule.merge].format(writes=f"{write_5m} + {write_1h}")
    # Sort only the deciding columns: there are many lines, and each is long.
    sql = (
        f"SELECT {shown} FROM line WHERE rank IN (SELECT rank FROM (SELECT rank, row_number() OVER"
        f" (PARTITION BY {key} ORDER BY {order}) AS choice FROM line WHERE {where}) WHERE choice = 1)"
    )
    return sql, values


def _lines(rule: Rule) -> tuple[str, tuple[Any, ...]]:
    terms = []
    values: list[Any] = []
    kinds = [ANSWER]
    if rule.advisors:
        kinds.append(ADVISOR)
    told = {"": "", "only": f" OR (kind = {TOLD} AND known = 0)", "all": f" OR kind = {TOLD}"}[rule.told]
    terms.append(f"(kind IN ({', '.join(map(str, kinds))}){told})")
    if rule.live:
        terms.append("live = 1")
    if rule.days is not None:
        terms.append("day BETWEEN ? AND ?")
        values += rule.days
    if rule.roots is not None:
        terms.append(f"root IN ({', '.join(map(str, sorted(rule.roots)))})")
    if rule.strict:
        terms.append("odd = 0")
    if not rule.beside:
        terms.append("beside = 0")
    if not rule.synthetic:
        terms.append("synthetic = 0")
    if rule.key == "message":
        terms.append("message <> ''")
    terms.append(f"(repeats IN ({_listed({'', *rule.repeats})})" + f"{_or_orphans(rule)})")
    return " AND ".join(terms), tuple(values)


def _or_orphans(rule: Rule) -> str:
    return f" OR orphan = 1 AND repeats IN ({_listed(rule.orphans)})" if rule.orphans else ""


def _listed(names: Iterable[str]) -> str:
    """Names that clients' folders give to repetitions, as SQL."""
    return ", ".join(f"'{name}'" for name in sorted(names))


def _priced(rule: Rule, now: int) -> str:
    """Sums of the answers by applicable rate, including the parts above the limit of a usual prompt."""
    ts = "t.ts" if rule.dated else str(now)
    size = "t.input + t.cache_read + t.write_5m + t.write_1h"
    sized = "r.above = -1" if rule.long != "whole" else f"{size} > r.above AND {size} <= r.upto"
    classes = ("input", "output", "cache_read", "write_5m", "write_1h")
    over = ", ".join(f"sum(max(0, t.{name} - {OVER}))" for name in classes)
    exact = " + ".join(f"t.{name} * r.{name}" for name in (*classes, "searches"))
    millionths = f"sum(({exact} + {SCALE // 2}) / {SCALE})" if rule.rounded else "NULL"
    return (
        f"SELECT r.id, t.recorded >= 0, count(*), sum(max(t.recorded, 0)), {millionths}, sum(t.reasoning),"
        f" {', '.join(f'sum(t.{name})' for name in (*classes, 'searches'))}, {over}"
        " FROM told t CROSS JOIN rate r ON r.model = t.model AND r.tier = t.tier AND r.speed = t.speed AND r.geo = t.geo"
        f" AND {ts} >= r.since AND {ts} < r.until AND {sized} GROUP BY 1, 2"
    )


@dataclass(frozen=True, slots=True)
class Change:
    """One difference from the previous rule, and its effect."""

    cause: str
    about: str
    how: dict[str, Any]


@dataclass(frozen=True, slots=True)
class MethodRules:
    """How another tool counts: the changes from our rule to theirs, in the order in which they are reported."""

    name: str
    title: str
    rule: str
    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()

    def last(self) -> Rule:
        rule = Rule()
        for change in self.changes:
            rule = replace(rule, **change.how)
        return rule


def walk(count: Count, habit: MethodRules, ours: Counted) -> CountingMethod:
    """Walk from our total to theirs, dropping steps that change nothing."""
    steps: list[DifferenceStep] = []
    rule = Rule()
    before = count.total(rule)
    add(steps, "read_otherwise", "lines that differ from the index: run `hansard rebuild`", before - ours)
    for change in habit.changes:
        rule = replace(rule, **change.how)
        after = count.total(rule)
        add(steps, change.cause, change.about, after - before)
        before = after
    return CountingMethod(habit.name, habit.title, habit.rule, ours, before, tuple(steps), habit.notes)


def add(steps: list[DifferenceStep], cause: str, about: str, amount: Counted) -> None:
    if amount:
        steps.append(DifferenceStep(cause, about, amount))
