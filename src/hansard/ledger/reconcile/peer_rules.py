"""How other tools count, determined by running them on lines made for the purpose, and from their sources.

ccusage 20.0.24, agentsview 0.46.1, tokscale 1.4.3 and its later sources.
"""

from __future__ import annotations

from hansard.ledger.reconcile.rules import Change, MethodRules

GONE = Change(
    "gone",
    "transcripts that are gone from the source or were rewritten: only Hansard still has them",
    {"live": True},
)
_FORKS = Change(
    "copies", "answers that are in several transcripts: forks, replays, copied files", {"key": "transcript"}
)
_REPEATED = Change("repeated_lines", "repeated lines of one answer", {"key": "line"})
_SYNTHETIC = Change("synthetic", "messages that the client made itself", {"synthetic": True})
_ADVISORS = Change("advisors", "calls to an advising model inside an answer are not counted", {"advisors": False})
_NO_SEARCHES = Change("web_searches", "web searches are not charged", {"searches": False})
_NOT_RECORDED = Change("recorded_cost", "what old clients wrote that an answer cost is not used", {"recorded": False})
_TODAY = Change("undated_prices", "today's prices, also for what was used before they changed", {"dated": False})
_FLAT = Change(
    "cache_split", "the flat number of cache writes, not the one by lifetime where that is greater", {"writes": "flat"}
)
_FIVE_MINUTES = Change(
    "cache_tier", "cache writes for an hour at the price of those for five minutes", {"writes": "five minutes"}
)
_COPIES = Change("progress_copies", "copies of subagents' answers in progress records", {"told": "all"})
_NO_PROGRESS = Change(
    "progress_only",
    "subagents' answers that only progress records show, since their own transcripts are gone, are not counted",
    {"told": ""},
)

LINES = MethodRules(
    "lines",
    "sum of all lines",
    "adds up the usage of every line",
    (GONE, _NO_PROGRESS, _FORKS, _REPEATED, _ADVISORS, _SYNTHETIC),
)

_STRICT = Change(
    "refused_lines", "lines that it does not take: a time not in milliseconds, a field that is null", {"strict": True}
)
_CC_KEY = Change(
    "key",
    "id and request tell an answer: copies without a request count again, other requests are other answers",
    {"key": "ccusage"},
)
_GREATEST = Change(
    "one_line",
    "one line of an answer, outside subagents first, then the greatest, instead of the maxima",
    {"merge": "total"},
)
_SPLIT = Change(
    "cache_split",
    "cache writes by lifetime where a line has them, without the rest of the flat number",
    {"writes": "split"},
)
_MARGINAL = Change(
    "long_prompts",
    "of a long prompt only what is above 200,000 tokens costs more, each class for itself",
    {"long": "above"},
)
_LONGER = Change(
    "price_list",
    "its price list charges more for long prompts of claude-sonnet-4, ours does not",
    {"longer": frozenset({"claude-sonnet-4-20250514"})},
)
_CC_PRICES = (_NO_SEARCHES, _TODAY, _MARGINAL, _LONGER)

CCUSAGE = MethodRules(
    "ccusage",
    "ccusage 20 (daily)",
    "id and request over all files; of several lines the one with the greatest sum, outside subagents first; progress records too",
    (GONE, _STRICT, _CC_KEY, _GREATEST, _SPLIT, _SYNTHETIC, _COPIES, *_CC_PRICES),
)
_AV_BESIDE = Change(
    "old_layout",
    "subagents' files beside the sessions, as clients before 2.1 wrote them, are not read",
    {"beside": False},
)
_AV_KEY = Change(
    "key",
    "id and request tell an answer: copies without a request count again, unless the line is the same",
    {"key": "agentsview"},
)
_AV_ROUNDED = Change("rounding", "the cost of each answer is rounded to a millionth of a dollar", {"rounded": True})
_AV_OUTPUT = Change("one_line", "the line with the greatest output instead of the maxima", {"merge": "output"})

AGENTSVIEW = MethodRules(
    "agentsview",
    "agentsview 0.46",
    "id and request over all sessions; the line with the greatest output; dated prices",
    (GONE, _NO_PROGRESS, _AV_BESIDE, _ADVISORS, _AV_KEY, _AV_OUTPUT, _FLAT, _NOT_RECORDED, _AV_ROUNDED),
)
_TK_KEY = Change("key", "id and request tell an answer: copies without a request count again", {"key": "tokscale"})
_TK_PRICES = (_NO_SEARCHES, _NOT_RECORDED, _TODAY, _MARGINAL)

TOKSCALE = MethodRules(
    "tokscale",
    "tokscale 2 and later",
    "id and request over all files; of each class the maximum; one price for all cache writes",
    (GONE, _NO_PROGRESS, _TK_KEY, _FLAT, _FIVE_MINUTES, *_TK_PRICES),
)
SHOWN = (LINES, CCUSAGE, AGENTSVIEW, TOKSCALE)
"""The methods that every reconciliation compares with our total."""


def missing(models: frozenset[str]) -> Change:
    """The change when a price list lacks models."""
    return Change("missing_model", f"its price list has no {', '.join(sorted(models))}", {"missing": models})


def within(first: str, last: str) -> Change:
    """The change when only some days were counted."""
    return Change("other_days", f"days before {first} and after {last} are not in it", {"days": (first, last)})
