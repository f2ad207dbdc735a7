"""Usage and explain pages: their parameters, the links from a figure to its explanation, and the same as a command line."""

from __future__ import annotations

import dataclasses
import hashlib
import re
import shlex
from collections.abc import Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar
from urllib.parse import quote

from msgspec.structs import replace

from hansard.model.requests import DIMENSIONS, Dated, ExplainRequest, UsageRequest, about, same_for
from hansard.team import OFFERED
from hansard.web.page_request import RANGES, PageRequest, Period, parse_page
from hansard.web.parameters import NARROWING
from hansard.web.urls import place

if TYPE_CHECKING:
    from starlette.requests import Request

    from hansard.engine import Hansard

_Request = TypeVar("_Request", bound=Dated)
STACKS = ("model", "project", "agent", "none")
TEAM_STACKS = ("model", "project", "person", "agent", "none")
MEASURES = ("cost", "tokens")
LIMITS = (20, 100, 500)
"""Messages that an explanation shows."""
_USUAL = timedelta(days=29)  # from the first day of a report to the last, unless another time is asked for
_TIMES = ("hour", "day", "week", "month", "block")
_UNENCODABLE = re.compile("[\x00\ud800-\udfff]")
_LONGEST = 2_000  # bytes of one value of a key in an address
_DIGEST = "sha256:"


class UsagePageRequest(UsageRequest, frozen=True, kw_only=True):
    """A report, and how it is shown."""

    range: Annotated[str, about("Days up to today.", choices=RANGES)] = "30d"
    stack: Annotated[str | None, about("What the bars are divided by.", choices=STACKS)] = None
    measure: Annotated[str | None, about("What the bars show; by default money if there is any.", choices=MEASURES)] = (
        None
    )
    skip: Annotated[int, about("The number of the first row.", ge=0, le=1_000_000)] = 0


class TeamUsagePageRequest(UsagePageRequest, frozen=True, kw_only=True):
    """The same from a team's database."""

    by: Annotated[
        str | Sequence[str], about("What to group rows by; several with commas.", choices=OFFERED, several=True)
    ] = "day"
    stack: Annotated[str | None, about("What the bars are divided by.", choices=TEAM_STACKS)] = None


class ExplainPageRequest(ExplainRequest, frozen=True, kw_only=True):
    """A figure."""

    key: Annotated[Sequence[str | None], about("The values of its row.", most=len(DIMENSIONS))] = ()
    limit: Annotated[int | None, about("Maximum number of messages.", ge=1, le=LIMITS[-1])] = LIMITS[0]
    range: Annotated[str, about("Days up to today.", choices=RANGES)] = "all"


@dataclasses.dataclass(frozen=True, slots=True)
class ReportPage(PageRequest[_Request]):
    """A page about figures of the ledger."""

    team: bool = False  # they are from a team's database, which cannot explain them

    @property
    def filters(self) -> dict[str, Any]:
        """The conditions as parameters, a range by its first day."""
        names = ("project", "model", "q", "match", "mode")
        times = {"since": self.span.since_text, "until": self.span.until_text}
        return times | {name: self.given[name] for name in names}

    def explain(self, by: Sequence[str], key: Sequence[str | None]) -> str | None:
        """The address that explains a row of a report by these dimensions, if anything does."""
        if self.team:
            return None
        values = [None if value is None else _address_value(value) for value in key]
        return place("/explain", by=",".join(by), key=values, **self.filters)

    def until(self, last: date) -> Self:
        """The same report for the usual number of days, up to this one."""
        zone, first = self.span.zone, last - _USUAL
        since, until = zone.midnight(first), zone.midnight(last + timedelta(days=1))
        texts = {"since": first.isoformat(), "until": last.isoformat()}
        return dataclasses.replace(
            self,
            request=replace(self.request, since=since, until=until),
            given={**self.given, **texts, "range": None},
            span=Period(None, since, until, texts["since"], texts["until"], self.span.today, zone),
        )

    def command(self, *words: str, then: Sequence[str], values: Sequence[str] = ()) -> str:
        """The same as a command line: `words`, the conditions, `then` and, behind a double dash, `values`."""
        options: list[str] = []
        for name, value in (*self.filters.items(), *((name, self.given.get(name)) for name in NARROWING)):
            if name != "q" and value:
                options += option(f"--{name}", str(value))
        return shlex.join(["hansard", *words, *options, *then, *(["--", *values] if values else [])])


def parse_usage_page(request: Request) -> ReportPage[UsagePageRequest]:
    """The report that an address asks for."""
    names = "by range since until project model query match mode work stack measure sort ascending skip"
    team = request.app.state.team is not None
    page = parse_page(request, TeamUsagePageRequest if team else UsagePageRequest, names)
    asked = page.request
    chosen = (asked.by,) if isinstance(asked.by, str) else tuple(dict.fromkeys(asked.by))
    by = tuple(name for name in chosen if name != "total") or ("total",)
    usual = "key" if any(name in _TIMES for name in by) else "cost"
    given = {
        **page.given,
        "by": ",".join(by),
        "range": page.span.name,
        "sort": None if asked.sort in (None, usual) else asked.sort,
        "order": "asc" if asked.ascending else None,
    }
    report = replace(asked, by=by, sort=asked.sort or usual, ascending=bool(asked.ascending))
    return ReportPage(page.path, report, given, page.span, page.now, team=team)


def parse_explain_page(request: Request) -> ReportPage[ExplainPageRequest]:
    """The figure that an address asks for."""
    names = "by key target range since until project model query match mode limit"
    page = parse_page(request, ExplainPageRequest, names)
    return ReportPage(page.path, page.request, page.given, page.span, page.now)


def option(name: str, value: str) -> list[str]:
    """An option of a command line."""
    return [f"{name}={value}"] if value.startswith("-") else [name, value]


def _address_value(value: str) -> str:
    """A value for an address: its digest if it is too long or cannot be encoded."""
    if _UNENCODABLE.search(value) or len(quote(value)) > _LONGEST:
        return _digest(value)
    return value


def _digest(value: str) -> str:
    return _DIGEST + hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def named_key(h: Hansard, asked: ExplainRequest, by: Sequence[str]) -> tuple[str | None, ...]:
    """The key of the row that an address names, with digests resolved to their values."""
    key = tuple(asked.key)
    if not any(value is not None and value.startswith(_DIGEST) for value in key):
        return key
    for row in h.usage(same_for(UsageRequest, asked, by=tuple(by), mode=asked.mode)).rows:
        values = tuple(row.key.values())
        fits = (
            one == other or (one is not None and other == _digest(one)) for one, other in zip(values, key, strict=False)
        )
        if len(values) == len(key) and all(fits):
            return values
    return key
