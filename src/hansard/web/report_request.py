"""What a report of the ledger is asked for by its address, and how other addresses and the command line say the same."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hansard.model.requests import DIMENSIONS, MODES, USAGE_SORTS
from hansard.web.params import Params
from hansard.web.period import Period, parse_period
from hansard.web.urls import place

if TYPE_CHECKING:
    from starlette.requests import Request

    from hansard.engine import Hansard
    from hansard.model.explain import Explanation
    from hansard.model.ledger import UsageReport
    from hansard.web.answer_cache import AnswerCache

STACKS = ("model", "project", "agent", "none")
MEASURES = ("cost", "tokens")
ORDERS = ("asc", "desc")
_TIMES = ("hour", "day", "week", "month", "block")
_UNSAYABLE = re.compile("[\x00\ud800-\udfff]")
_LONGEST = 2_000  # bytes of one value of a key, as an address has it
_DIGEST = "sha256:"


@dataclass(frozen=True, slots=True)
class ReportFilters:
    """Which messages count, and how money is found."""

    span: Period
    project: str | None
    model: str | None
    query: str | None
    mode: str
    timezone: str | None
    now: datetime

    @property
    def conditions(self) -> dict[str, Any]:
        """As the engine takes them."""
        return {
            "query": self.query,
            "project": self.project,
            "model": self.model,
            "since": self.span.since,
            "until": self.span.until,
            "timezone": self.timezone,
            "mode": self.mode,
            "now": self.now,
        }

    @property
    def identity(self) -> tuple[object, ...]:
        """All that an answer depends on but the store; a query may name times back from now, so it is as old as a minute."""
        minute = int(self.now.timestamp() // 60) if self.query else 0
        return (self.query, self.project, self.model, self.span.since, self.span.until, self.mode, minute)

    @property
    def asked(self) -> dict[str, str | None]:
        """As an address says it, the range by its first day."""
        return {
            "since": self.span.since_text,
            "until": self.span.until_text,
            "project": self.project,
            "model": self.model,
            "q": self.query,
            "mode": None if self.mode == "auto" else self.mode,
        }

    def explain(self, by: Sequence[str], key: Sequence[str | None]) -> str:
        """The address that explains a row of a report by these dimensions."""
        said = [None if value is None else _sayable(value) for value in key]
        return place("/explain", by=",".join(by), key=said, **self.asked)

    def options(self) -> list[str]:
        """As the command line says it."""
        named = (
            ("--since", self.span.since_text),
            ("--until", self.span.until_text),
            ("--project", self.project),
            ("--model", self.model),
            ("--mode", None if self.mode == "auto" else self.mode),
        )
        return [word for name, value in named if value is not None for word in _option(name, value)]


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """A report, and how it is shown."""

    chosen: ReportFilters
    by: tuple[str, ...]
    work: bool
    stack: str
    measure: str | None  # None: money where there is any
    sort: str
    order: str
    skip: int
    has_stack: bool = False  # it was chosen

    @property
    def asked(self) -> dict[str, Any]:
        """As an address says it; what is usual is left out."""
        named = {"range": self.chosen.span.name} if self.chosen.span.name else {}
        conditions = {**self.chosen.asked, "since": None, "until": None} if named else self.chosen.asked
        return {
            "by": ",".join(self.by),
            **named,
            **conditions,
            "work": self.work,
            "stack": self.stack if self.has_stack else None,
            "measure": self.measure,
            "sort": None if self.sort == usual_sort(self.by) else self.sort,
            "order": None if self.order == "desc" else self.order,
        }

    def at(self, path: str = "/usage", **other: Any) -> str:
        """The address of the same with something else."""
        return place(path, **{**self.asked, **other})

    def command(self) -> str:
        """The same report in a terminal."""
        words = ["hansard", "usage", "--by", ",".join(self.by), *self.chosen.options()]
        words += ["--work"] if self.work else []
        words += ["--sort", self.sort, "--order", self.order]
        return shlex.join([*words, *(["--", self.chosen.query] if self.chosen.query else [])])

    def report(self, h: Hansard, kept: AnswerCache) -> UsageReport:
        """The report."""
        key = ("usage", h.state(), self.by, self.work, self.sort, self.order, *self.chosen.identity)
        how: Any = {"by": self.by, "work": self.work, "sort": self.sort, "ascending": self.order == "asc"}
        return kept.answer(key, lambda: h.usage(**how, **self.chosen.conditions))


def usual_sort(by: Sequence[str]) -> str:
    """What the rows of a report are ordered by unless told: times in order, the rest by money."""
    return "key" if any(name in _TIMES for name in by) else "cost"


def parse_report_filters(request: Request, asked: Params, *, default: str) -> ReportFilters:
    """The conditions that an address names; `default` is the range where it names none."""
    now = datetime.now(UTC)
    return ReportFilters(
        parse_period(asked, request.app.state.zone, now, default=default),
        asked.text("project"),
        asked.text("model"),
        asked.text("q"),
        asked.choice("mode", MODES, "auto"),
        request.app.state.settings.timezone,
        now,
    )


def parse_report_request(request: Request) -> ReportRequest:
    """The report that an address asks for."""
    asked = Params(request)
    chosen = parse_report_filters(request, asked, default="30d")
    by = tuple(dict.fromkeys(asked.words("by", DIMENSIONS))) or ("day",)
    by = tuple(name for name in by if name != "total") or ("total",)
    wish = ReportRequest(
        chosen,
        by,
        asked.flag("work"),
        asked.choice("stack", STACKS, "model"),
        asked.choice("measure", MEASURES, "") or None,
        asked.choice("sort", USAGE_SORTS, usual_sort(by)),
        asked.choice("order", ORDERS, "desc"),
        asked.number("skip", 0, 0, 1_000_000),
        asked.text("stack") is not None,
    )
    asked.done()
    return wish


def explain_command(
    chosen: ReportFilters, by: Sequence[str], key: Sequence[str | None], target: str | None, limit: int
) -> str:
    """The same explanation in a terminal."""
    words = ["hansard", "explain"]
    words += ["--by", ",".join(by)] if by else []
    words += [*chosen.options(), *(_option("--query", chosen.query) if chosen.query else [])]
    words += ["--limit", str(limit)]
    values = [target] if target is not None else ["-" if value is None else value for value in key]
    return shlex.join([*words, *(["--", *values] if values else [])])


def explained(
    h: Hansard, kept: AnswerCache, chosen: ReportFilters, by: Sequence[str], key: Sequence[str | None], **how: Any
) -> Explanation:
    """What is behind a figure."""
    said = ("explain", h.state(), tuple(by), tuple(key), *sorted(how.items()), *chosen.identity)
    return kept.answer(said, lambda: h.explain(by=tuple(by) or None, key=tuple(key), **how, **chosen.conditions))


def _option(name: str, value: str) -> list[str]:
    return [f"{name}={value}"] if value.startswith("-") else [name, value]


def _sayable(value: str) -> str:
    """A value as an address can have it: by its digest where it is too long, or has what no address may."""
    if _UNSAYABLE.search(value) or len(quote(value)) > _LONGEST:
        return _digest(value)
    return value


def _digest(value: str) -> str:
    return _DIGEST + hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def named_key(
    h: Hansard, chosen: ReportFilters, by: Sequence[str], key: Sequence[str | None]
) -> tuple[str | None, ...]:
    """The key of the row that an address names, values that it only has the digest of in full."""
    if not any(value is not None and value.startswith(_DIGEST) for value in key):
        return tuple(key)
    for row in h.usage(by=tuple(by), **chosen.conditions).rows:
        values = tuple(row.key.values())
        fits = (
            one == other or (one is not None and other == _digest(one)) for one, other in zip(values, key, strict=False)
        )
        if len(values) == len(key) and all(fits):
            return values
    return tuple(key)
