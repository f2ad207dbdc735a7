"""The real output of another tool: which tool, its totals, and how much of them its rule explains."""

from __future__ import annotations

import dataclasses
import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from hansard.errors import UsageError
from hansard.ledger.reconcile.peer_rules import missing, within
from hansard.ledger.reconcile.rules import EMPTY, MethodRules, Rule, add, walk
from hansard.model.reconcile import Counted, CountingMethod, DifferenceStep, PeerCheck, PeerModel
from hansard.model.tools import CLAUDE_CODE
from hansard.pricing.cost import ZERO

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from hansard.ledger.reconcile.run import Part

_KNOWN = "ccusage (daily, weekly, monthly, session --json, also of one agent), agentsview (usage daily --json) or tokscale (models, monthly --json, graph)"
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_MILLION = Decimal(1_000_000)
_BILLIONTH = Decimal("1e-9")
_CC_LISTS = ("daily", "weekly", "monthly", "session", "sessions")
_SPELLINGS = {  # ours: theirs
    "input_tokens": ("inputTokens", "input"),
    "output_tokens": ("outputTokens", "output"),
    "cache_read_tokens": ("cacheReadTokens", "cacheRead"),
    "cache_write_tokens": ("cacheCreationTokens", "cacheWrite"),
}
_CLIENTS = {"claude": CLAUDE_CODE, "codex": "codex", "opencode": "opencode"}
"""What other tools call the clients that are compared."""
_COSTS = ("totalCost", "cost", "costUSD")


@dataclasses.dataclass(slots=True)
class Report:
    """What another tool reports."""

    tool: str
    name: str
    stated: Counted
    clients: tuple[str, ...] = ()  # whose usage it reports; empty: it does not say
    models: dict[str, Counted] = dataclasses.field(default_factory=dict)
    days: tuple[str, str] | None = None
    unpriced: frozenset[str] = frozenset()
    notes: list[str] = dataclasses.field(default_factory=list)


def read(data: bytes, clients: Collection[str] = tuple(_CLIENTS.values())) -> Report:
    """The output of a tool, as far as it is about some clients."""
    try:
        value = json.loads(data, parse_float=Decimal)
    except (ValueError, RecursionError):
        raise UsageError(f"not JSON; expected the output of {_KNOWN}") from None
    named = {name: client for name, client in _CLIENTS.items() if client in clients}
    if isinstance(value, dict):
        for recognise in (_agentsview, _ccusage, _tokscale):
            try:
                report = recognise(value, named)
            except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError):
                report = None
            if report is not None:
                report.stated = _rounded(report.stated)
                report.models = {name: _rounded(figures) for name, figures in report.models.items()}
                return report
    raise UsageError(f"not the output of a known tool; expected that of {_KNOWN}")


def check(parts: Sequence[Part], report: Report) -> PeerCheck:
    """Our total, the tool's rule, and its own figures; the rest is reported as unexplained."""
    compared = [part for part in parts if part.client in (report.clients or (_likely(parts, report),))]
    names = tuple(part.client for part in compared)
    if not compared:
        raise UsageError(f"the output is about {', '.join(report.clients)}, of which there are no sessions here")
    if not report.clients and len(parts) > 1:
        report.notes.append(f"taken for a report on {names[0]}, because of the models in it")
    ways = [_simulated(part, report) for part in compared]
    way = ways[0] if len(ways) == 1 else _joined(names, ways, report.tool)
    simulated: dict[str, Counted] = {}
    for part in compared if report.models else ():
        for name, figures in part.count.by_model(_rules(part, report).last()).items():
            simulated[name] = simulated.get(name, EMPTY) + figures
    models = sorted(_differing(report, simulated), key=_weight)
    steps = list(way.steps)
    for item in models:
        if item.stated.tokens and item.unexplained.cost_usd and not replace(item.unexplained, cost_usd=ZERO):
            amount = replace(EMPTY, cost_usd=item.unexplained.cost_usd)
            add(steps, "other_price", f"{item.model}: the same tokens at another price", amount)
            way = replace(way, total=way.total + amount, steps=tuple(steps))
    return PeerCheck(
        report.tool,
        report.name,
        report.stated,
        way,
        _bare(report.stated) - _bare(way.total),
        tuple(models),
        (*report.notes, *(note for note in way.notes if len(parts) > 1)),
        names,
    )


def _rules(part: Part, report: Report) -> MethodRules:
    """The tool's rules for a client, for the days and prices of its report."""
    (rules,) = (rules for rules in part.methods if rules.name == report.tool)
    first = [within(*report.days)] if report.days is not None else []
    last = [missing(report.unpriced)] if report.unpriced else []
    return dataclasses.replace(rules, changes=(*first, *rules.changes, *last))


def _simulated(part: Part, report: Report) -> CountingMethod:
    return walk(part.count, _rules(part, report), part.ours)


def _joined(clients: Sequence[str], ways: Sequence[CountingMethod], tool: str) -> CountingMethod:
    """One way for a report on several clients; each step names its client."""
    steps = [
        DifferenceStep(step.cause, f"{client}: {step.about}", step.amount)
        for client, way in zip(clients, ways, strict=True)
        for step in way.steps
    ]
    rule = "; ".join(f"{client}: {way.rule}" for client, way in zip(clients, ways, strict=True))
    compared = sum((way.compared for way in ways), EMPTY)
    whole = sum((way.total for way in ways), EMPTY)
    notes = tuple(note for way in ways for note in way.notes)
    return CountingMethod(tool, tool, rule, compared, whole, tuple(steps), notes)


def _likely(parts: Sequence[Part], report: Report) -> str:
    """The client that a report is about which names none: the one with most of the tokens of its models."""
    shares = {}
    for part in parts:
        known = part.count.by_model(Rule())
        shares[part.client] = sum(figures.tokens for name, figures in report.models.items() if name in known)
    return max(shares, key=lambda client: shares[client])


def _weight(item: PeerModel) -> tuple[Decimal, int, str]:
    return -abs(item.unexplained.cost_usd or ZERO), -abs(item.unexplained.tokens), item.model


def _differing(report: Report, simulated: dict[str, Counted]) -> Iterator[PeerModel]:
    """The models with an unexplained remainder."""
    for name in report.models.keys() | simulated.keys():
        theirs = report.models.get(name, _bare(EMPTY))
        told = _bare(simulated.get(name, EMPTY))
        rest = theirs - told
        if rest:
            yield PeerModel(name, theirs, told, rest)


def _bare(counted: Counted) -> Counted:
    """Only what other tools state."""
    return replace(counted, messages=None, cache_write_1h_tokens=None, web_searches=0, unpriced_messages=0)


def _rounded(figures: Counted) -> Counted:
    """Remove floating-point noise: other tools count money in floats."""
    cost = figures.cost_usd
    return figures if cost is None else replace(figures, cost_usd=cost.quantize(_BILLIONTH))


# -- shapes


def _ccusage(value: dict[str, Any], named: Mapping[str, str]) -> Report | None:
    name = next((name for name in _CC_LISTS if isinstance(value.get(name), list)), None)
    totals = value.get("totals")
    if name is None or not isinstance(totals, dict) or "totalTokens" not in totals:
        return None
    rows = value[name]
    _count(totals, ("totalTokens",))
    report = Report("ccusage", "session" if name == "sessions" else name, _figures(totals))
    if "reasoningOutputTokens" in totals:  # of `ccusage codex`, which has tokens by model, and their cost by row
        report.clients = (_CLIENTS["codex"],)
        _models(report, [{"model": model, **told} for row in rows for model, told in row["models"].items()])
        report.unpriced = frozenset(totals.get("unpricedModels") or ())
    else:
        _models(report, [part for row in rows for part in row.get("modelBreakdowns") or ()])
        agents = {str(agent) for row in rows for agent in (row.get("metadata") or {}).get("agents") or ()}
        agents |= {str(row["agent"]) for row in rows if row.get("agent")} - {"all"}
        _about(report, agents, named)
    _days(report, rows, only=name == "daily")
    return report


def _about(report: Report, agents: Iterable[str], named: Mapping[str, str]) -> None:
    """Note whose usage a report contains."""
    found = set(agents)
    report.clients = tuple(client for name, client in named.items() if name in found)
    if others := sorted(found - named.keys()):
        report.notes.append(f"it also counts other agents: {', '.join(others)}")


def _agentsview(value: dict[str, Any], named: Mapping[str, str]) -> Report | None:
    totals = value.get("totals")
    if not isinstance(value.get("daily"), list) or not isinstance(totals, dict) or "cacheSavings" not in totals:
        return None
    report = Report("agentsview", "daily", _figures(totals))
    rows = value["daily"]
    _models(report, [part for row in rows for part in row.get("modelBreakdowns") or ()])
    _days(report, rows, only=True)
    _about(report, map(str, (value.get("sessionCounts") or {}).get("byAgent") or ()), named)
    return report


def _tokscale(value: dict[str, Any], named: Mapping[str, str]) -> Report | None:
    if isinstance(value.get("contributions"), list):
        parts = [
            {
                **part["tokens"],
                "model": part["modelId"],
                "cost": part["cost"],
                "source": part.get("source", part.get("client")),
            }
            for day in value["contributions"]
            for part in day.get("sources", day.get("clients")) or ()
        ]
        name = "graph"
    elif isinstance(value.get("entries"), list) and "totalCost" in value:
        parts = value["entries"]
        name = "monthly" if parts and "month" in parts[0] else "models"
    else:
        return None
    sources = {str(part.get("source", part.get("client"))) for part in parts}
    kept = [part for part in parts if part.get("source", part.get("client")) in (*named, None)]
    report = Report("tokscale", name, sum((_figures(part) for part in kept), _bare(EMPTY)))
    report.clients = tuple(client for name, client in named.items() if name in sources)
    if name != "monthly":
        _models(report, kept)
    if name == "graph":
        _days(report, value["contributions"], only=True)
    if others := sorted(sources - named.keys() - {"None"}):
        report.notes.append(f"left out, because they are other agents: {', '.join(others)}")
    return report


def _figures(told: dict[str, Any]) -> Counted:
    counts = {ours: _count(told, theirs) for ours, theirs in _SPELLINGS.items()}
    cost = next((told[name] for name in _COSTS if name in told), None)
    return Counted(None, **counts, cache_write_1h_tokens=None, web_searches=0, cost_usd=_money(cost))


def _count(told: dict[str, Any], names: tuple[str, ...]) -> int:
    value = next((told[name] for name in names if name in told), 0)
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(names[0])
    return value


def _money(value: Any) -> Decimal | None:
    if value is None:
        return None
    if isinstance(value, dict):
        return Decimal(value["microdollars"]) / _MILLION
    amount = Decimal(value)
    if not amount.is_finite():
        raise ValueError("no amount")
    return amount


def _models(report: Report, parts: list[dict[str, Any]]) -> None:
    """Sums by model; a model with tokens but no cost is missing from the tool's price list."""
    found: dict[str, Counted] = {}
    for part in parts:
        name = str(part.get("modelName", part.get("model")))
        found[name] = found.get(name, _bare(EMPTY)) + _figures(part)
    report.models = found
    report.unpriced = frozenset(
        name for name, figures in found.items() if figures.tokens and figures.cost_usd == 0 and name != "<synthetic>"
    )


def _days(report: Report, rows: list[dict[str, Any]], *, only: bool) -> None:
    days = [str(row.get("date", row.get("period"))) for row in rows]
    days = sorted(day for day in days if _DAY.fullmatch(day))
    if only and days:
        report.days = (days[0], days[-1])
