"""How other tools count, determined by running them on lines made for the purpose, and from their sources.

ccusage 20.0.24, agentsview 0.46.1, tokscale 1.4.3 and its later sources.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.ledger.reconcile.rules import Change, MethodRules

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hansard.clients.statements import PeerRule, StatementReader

GONE = Change("gone", "transcripts that were deleted or rewritten: only Hansard still has them", {"live": True})
_FORKS = Change("copies", "messages in several transcripts: forks, replays, copied files", {"key": "transcript"})
_REPEATED = Change("repeated_lines", "repeated lines of one message", {"key": "line"})
_SYNTHETIC = Change("synthetic", "messages that the client generated itself", {"synthetic": True})
_ADVISORS = Change("advisors", "calls to an advisor model inside a message are not counted", {"advisors": False})
_NO_SEARCHES = Change("web_searches", "web searches are not charged", {"searches": False})
_NOT_RECORDED = Change("recorded_cost", "costs that old clients recorded are not used", {"recorded": False})
_NOT_THE_CLIENTS = Change("recorded_cost", "prices instead of the costs that the client recorded", {"recorded": False})
_FIRST = Change(
    "one_statement",
    "figures that do not follow a message of the model, or not as the first ones, are left out",
    {"key": "message", "merge": "first"},
)
_CHARGED = Change("reasoning", "reasoning is not among the output tokens, but charged", {"reasoning": "charged"})
_DROPPED = Change("reasoning", "reasoning that is beside the output is left out", {"reasoning": "dropped"})
_AS_INPUT = Change("cache_class", "cache writes count as input", {"writes": "input"})
_TODAY = Change("undated_prices", "today's prices, even for usage before they changed", {"dated": False})
_FLAT = Change(
    "cache_split", "the flat count of cache writes, even where the counts by lifetime are greater", {"writes": "flat"}
)
_FIVE_MINUTES = Change("cache_tier", "1-hour cache writes at the 5-minute price", {"writes": "five minutes"})
_COPIES = Change("progress_copies", "copies of subagents' messages in progress records", {"told": "all"})
_NO_PROGRESS = Change(
    "progress_only",
    "subagents' messages found only in progress records (their transcripts are gone) are not counted",
    {"told": ""},
)

LINES = MethodRules(
    "lines",
    "sum of all lines",
    "adds up the usage of every line",
    (GONE, _NO_PROGRESS, _FORKS, _REPEATED, _ADVISORS, _SYNTHETIC),
)

_STRICT = Change("refused_lines", "lines that it rejects: a time not in milliseconds, a null field", {"strict": True})
_CC_KEY = Change(
    "key",
    "messages are identified by id and request: copies without a request count again, other requests count separately",
    {"key": "ccusage"},
)
_GREATEST = Change(
    "one_line",
    "one line per message (outside subagents first, then the largest) instead of the maxima",
    {"merge": "total"},
)
_SPLIT = Change(
    "cache_split",
    "cache writes by lifetime if a line has them, without the rest of the flat count",
    {"writes": "split"},
)
_MARGINAL = Change(
    "long_prompts",
    "for long prompts only the tokens above 200,000 cost more, separately for each class",
    {"long": "above"},
)
_LONGER = Change(
    "price_list",
    "its price list charges more for long prompts of claude-sonnet-4; Hansard's does not",
    {"longer": frozenset({"claude-sonnet-4-20250514"})},
)
_CC_PRICES = (_NO_SEARCHES, _TODAY, _MARGINAL, _LONGER)

CCUSAGE = MethodRules(
    "ccusage",
    "ccusage 20 (daily)",
    "messages by id and request over all files; the line with the largest sum, outside subagents first; progress records included",
    (GONE, _STRICT, _CC_KEY, _GREATEST, _SPLIT, _SYNTHETIC, _COPIES, *_CC_PRICES),
)
_AV_BESIDE = Change(
    "old_layout", "subagent files beside the sessions (clients before 2.1) are not read", {"beside": False}
)
_AV_KEY = Change(
    "key",
    "messages are identified by id and request: copies without a request count again, unless the line is the same",
    {"key": "agentsview"},
)
_AV_ROUNDED = Change("rounding", "the cost of each message is rounded to a millionth of a dollar", {"rounded": True})
_AV_OUTPUT = Change("one_line", "the line with the largest output instead of the maxima", {"merge": "output"})

AGENTSVIEW = MethodRules(
    "agentsview",
    "agentsview 0.46",
    "messages by id and request over all sessions; the line with the largest output; dated prices",
    (GONE, _NO_PROGRESS, _AV_BESIDE, _ADVISORS, _AV_KEY, _AV_OUTPUT, _FLAT, _NOT_RECORDED, _AV_ROUNDED),
)
_TK_KEY = Change(
    "key", "messages are identified by id and request: copies without a request count again", {"key": "tokscale"}
)
_TK_PRICES = (_NO_SEARCHES, _NOT_RECORDED, _TODAY, _MARGINAL)

TOKSCALE = MethodRules(
    "tokscale",
    "tokscale 2 and later",
    "messages by id and request over all files; the maximum of each class; one price for all cache writes",
    (GONE, _NO_PROGRESS, _TK_KEY, _FLAT, _FIVE_MINUTES, *_TK_PRICES),
)
SHOWN = (LINES, CCUSAGE, AGENTSVIEW, TOKSCALE)
"""The methods that every reconciliation compares with our total."""


def rules_of(reader: StatementReader) -> tuple[MethodRules, ...]:
    """The methods that other tools have for a client that says what its files repeat."""
    return tuple(
        MethodRules(peer.tool, peer.title, peer.rule, tuple(_changes(peer, reader.repetitions)), peer.notes)
        for peer in reader.peers
    )


def _changes(peer: PeerRule, repetitions: Mapping[str, str]) -> Iterator[Change]:
    yield GONE
    for number, name in enumerate(peer.adds, 1):
        yield Change(name, repetitions[name], {"repeats": frozenset(peer.adds[:number])})
    for number, name in enumerate(peer.orphans, 1):
        about = f"{repetitions[name]}, which is missing"
        yield Change(name, about, {"orphans": frozenset(peer.orphans[:number])})
    options = (
        (_FORKS, peer.per_file),
        (_FIRST, peer.per_message),
        (_CHARGED, peer.reasoning == "charged"),
        (_DROPPED, peer.reasoning == "dropped"),
        (_AS_INPUT, peer.writes_are_input),
        (_NOT_THE_CLIENTS, not peer.is_recorded),
        (_TODAY, not peer.is_dated),
        (_AV_ROUNDED, peer.is_rounded),
    )
    yield from (change for change, applies in options if applies)


def missing(models: frozenset[str]) -> Change:
    return Change("missing_model", f"its price list has no {', '.join(sorted(models))}", {"missing": models})


def within(first: str, last: str) -> Change:
    """The change when only some days were counted."""
    return Change("other_days", f"days before {first} and after {last} are not in it", {"days": (first, last)})
