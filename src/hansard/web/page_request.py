"""Parameters of a page: the request to the engine, and the addresses of the same page with other parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from msgspec import Struct

from hansard.errors import UsageError
from hansard.render.format import date_text
from hansard.render.html.tables import SortLink
from hansard.web.parameters import NARROWED, Params, make_parameters, moment
from hansard.web.urls import UrlValue, place

if TYPE_CHECKING:
    from starlette.requests import Request

    from hansard.model.calendar import Zone

_Request = TypeVar("_Request", bound=Struct)
TIMES = {
    "today": "Today",
    "7d": "Last 7 days",
    "30d": "Last 30 days",
    "90d": "Last 90 days",
    "1y": "Last year",
}
"""Beginnings that forms offer."""
RANGES = {
    "7d": "7 days",
    "30d": "30 days",
    "90d": "90 days",
    "month": "This month",
    "year": "This year",
    "all": "All time",
}
"""Ranges of whole days that end today, with their names."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_AROUND = 40  # characters of a query on both sides of a mistake
_NOT_KEPT = ("part", "cursor", "in", "around", "facets", "skip", "limit")  # the first row, and the piece of the page


@dataclass(frozen=True, slots=True)
class FormError:
    """An error in a form field and its position: the text before it, the character there, and the text after it."""

    problem: str
    before: str = ""
    here: str = ""
    after: str = ""
    column: int | None = None  # counted from 1

    @classmethod
    def of(cls, error: UsageError) -> Self:
        """The message of an error, with its position if it is in a query."""
        from hansard.query.language import QueryError

        if not isinstance(error, QueryError):
            return cls(str(error))
        at = min(max(error.column, 0), len(error.query))
        before, here, after = error.query[:at], error.query[at : at + 1], error.query[at + 1 :]
        return cls(
            error.problem,
            f"…{before[-_AROUND:]}" if len(before) > _AROUND else before,
            here or " ",
            f"{after[:_AROUND]}…" if len(after) > _AROUND else after,
            at + 1,
        )


@dataclass(frozen=True, slots=True)
class Choice:
    """An option that is a link."""

    name: str
    href: str
    current: bool


@dataclass(frozen=True, slots=True)
class Period:
    """A range of time, and how links and commands write it."""

    name: str | None  # of a range; None: given by `since` and `until`
    since: datetime | None
    until: datetime | None
    since_text: str | None
    until_text: str | None
    today: date
    zone: Zone

    @property
    def days(self) -> tuple[date, date] | None:
        """The first and the last day; None without a beginning."""
        if self.since is None:
            return None
        first = self.zone.local(self.since).date()
        last = self.today
        if self.until is not None:
            last = self.zone.local(self.until - timedelta(microseconds=1)).date()
        return (first, max(first, last))

    @property
    def is_dated(self) -> bool:
        """Whether both ends are dates, not 7d or times of day."""
        return all(text is None or _DATE.fullmatch(text) for text in (self.since_text, self.until_text))

    @property
    def words(self) -> str:
        if self.since is None and self.until is None:
            return "all time"
        if self.since is None or self.days is None:
            return f"until {self.until_text}"
        first, last = self.days
        if first == last:
            return date_text(first)
        beginning = date_text(first) if first.year != last.year else date_text(first).rpartition(" ")[0]
        return f"{beginning} to {date_text(last)}"


def _range_period(name: str, today: date, zone: Zone) -> Period:
    if name == "all":
        return Period(name, None, None, None, None, today, zone)
    match name:
        case "month":
            first = today.replace(day=1)
        case "year":
            first = today.replace(month=1, day=1)
        case _:
            first = today - timedelta(days=int(name.removesuffix("d")) - 1)
    return Period(name, zone.midnight(first), None, first.isoformat(), None, today, zone)


@dataclass(frozen=True, slots=True)
class PageRequest(Generic[_Request]):
    """The parsed address of a page: the request to the engine, and links to variants of the page."""

    path: str
    request: _Request
    given: Mapping[str, UrlValue]  # by the names in addresses; None or False: the default
    span: Period
    now: datetime
    mistakes: dict[str, FormError] = field(default_factory=dict)  # by the names of form fields

    def address(self, **changed: UrlValue) -> str:
        """The address of this page with other parameters, from the first row."""
        return place(self.path, **{**self.given, **changed})

    def without_usual_order(self, *, ascending: bool, usual: bool) -> Self:
        """Leave the order out of addresses if it is the default."""
        order = None if ascending == usual else "asc" if ascending else "desc"
        return replace(self, given={**self.given, "order": order})

    def has(self, *names: str) -> bool:
        """Whether any of these parameters was given."""
        return any(self.given[name] for name in names)

    @property
    def hidden(self) -> Iterator[tuple[str, str]]:
        """Parameters that the form must keep as hidden fields."""
        for name, value in self.given.items():
            if name not in ("q", "project") and value:
                yield name, str(value)

    @property
    def ranges(self) -> list[Choice]:
        """The ranges that can be chosen."""
        return [
            Choice(
                words,
                self.address(range=None if name == "all" else name, since=None, until=None),
                name == self.span.name,
            )
            for name, words in RANGES.items()
            if name != "month"
        ]

    @property
    def is_narrowed(self) -> bool:
        """Whether the form filters anything."""
        return self.has("q", "project") or self.span.name != "all"


def parse_page(
    request: Request, kind: type[_Request], names: str, *, path: str | None = None, **fixed: Any
) -> PageRequest[_Request]:
    """Parse a page's address: `names` are the request fields that it may set, in the order of links.

    With a field `range`, `since` and `until` take precedence over it; without one, an invalid time is reported beside its form field.
    """
    state = request.app.state
    zone: Zone = state.zone
    now = datetime.now(UTC)
    asked = Params(request)
    values: dict[str, Any] = {}
    given: dict[str, UrlValue] = dict(request.scope.get(NARROWED, {}))
    texts: dict[str, str | None] = {"since": None, "until": None}
    for parameter in make_parameters(kind, names.split()):
        name, own = parameter.name, parameter.field
        if own.type is datetime:
            value = texts[name] = asked.text(name)
        else:
            value = values[own.name] = parameter.read(asked, zone.info)
        if own.type is bool and own.default is None:
            value = None if value is None else "asc" if value else "desc"
        elif parameter.is_list and value is not None:
            value = ",".join(value)
        if name not in _NOT_KEPT:
            given[name] = None if value == own.default else value
    asked.done()
    today = zone.local(now).date()
    mistakes: dict[str, FormError] = {}
    if "range" in values and texts["since"] is None and texts["until"] is None:
        span = _range_period(values["range"], today, zone)
    else:
        times: dict[str, datetime | None] = {}
        for name, text in texts.items():
            try:
                times[name] = None if text is None else moment(text, now, zone.info, end=name == "until")
            except UsageError as error:
                if "range" in values:
                    raise
                times[name], mistakes[name] = None, FormError.of(error)
        span = Period(None, times["since"], times["until"], texts["since"], texts["until"], today, zone)
        if "range" in values:
            given["range"] = None
    known: dict[str, Any] = {"since": span.since, "until": span.until, "timezone": state.settings.timezone, "now": now}
    values |= {name: value for name, value in known.items() if name in kind.__struct_fields__}
    return PageRequest(path or request.url.path, kind(**values, **fixed), given, span, now, mistakes)


def sort_links(
    asked: PageRequest[Any],
    sort: str | None,
    *,
    ascending: bool,
    default: str | None = None,
    texts: Sequence[str] = (),
    fragment: str = "",
) -> Callable[[str], SortLink]:
    """The links of the headings that sort by a column; `texts` begin with A, all others with the largest or the latest.

    The heading of the current order reverses it.
    """

    def link(key: str) -> SortLink:
        usual = key in texts
        up = not ascending if key == sort else usual
        order = None if up == usual else "asc" if up else "desc"
        href = asked.address(sort=None if key == default and up == usual else key, order=order) + fragment
        return SortLink(href, ("ascending" if ascending else "descending") if key == sort else None)

    return link
