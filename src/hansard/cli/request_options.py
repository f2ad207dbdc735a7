"""Command-line options generated from requests, and helpers for lists and reports."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from functools import wraps
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, get_origin

import click
from msgspec import NODEFAULT, Struct
from msgspec.structs import replace

from hansard.cli.arguments import Moment, parse_moment
from hansard.cli.context import Context, note, now
from hansard.errors import NotFound
from hansard.model.requests import field_of

if TYPE_CHECKING:
    from hansard.model.calendar import Zone
    from hansard.model.requests import Dated

_Command = TypeVar("_Command", bound=Callable[..., Any])
Option = Callable[[Any], Any]
GONE = click.option(
    "--gone",
    "source_state",
    flag_value="gone",
    help="Only sessions whose files the client has deleted; Hansard keeps them.",
)
OFFLINE = click.option(
    "-O", "--offline", is_flag=True, expose_value=False, help="Accepted as in ccusage: reports never fetch prices."
)
CSV = click.option("--csv", "as_csv", is_flag=True, help="Write CSV to stdout.")
ORDER = click.option("--order", type=click.Choice(["asc", "desc"]), help="Smallest or largest first.")
YES = click.option("--yes", "-y", is_flag=True, help="Make the changes; otherwise they are only shown.")
LEDGER_FILTERS = "since until timezone project model match"
SESSION_FILTERS = ("project since until branch model tool version text has_errors", GONE)
_MOST = 1 << 40  # of any number; offsets have as many bits
_MOST_ROWS = 1 << 30  # of pages, and of rows on each: their product is still an integer of SQLite
_TEXT_SORTS = frozenset({"title", "project", "path"})  # ascending by default


class _Continued(Protocol):
    @property
    def next_cursor(self) -> str | None: ...


class _Page(_Continued, Protocol):
    @property
    def total(self) -> int: ...


_AnyPage = TypeVar("_AnyPage", bound=_Continued)
_Listed = TypeVar("_Listed", bound=Struct)


def takes(request: type[Struct], *options: str | Option) -> Callable[[_Command], Callable[..., Any]]:
    """Add options for the named fields of a request, and others, in this order.

    The command gets the request as its argument, with the values of all options and arguments named like one of its fields. Of two
    requests the first gets the options that both could have.
    """

    def add(command: _Command) -> Callable[..., Any]:
        names = " ".join(one for one in options if isinstance(one, str)).split()

        @wraps(command)
        def run(*requests: Struct, **given: Any) -> Any:
            fields = {name: given.pop(name) for name in request.__struct_fields__ if name in given}
            return command(*requests, request(**_values(request, fields)), **given)

        for one in reversed(options):
            parts = [_option(request, name, names) for name in one.split()] if isinstance(one, str) else [one]
            for part in reversed(parts):
                run = part(run)
        return run

    return add


def _values(request: type[Struct], fields: dict[str, Any]) -> dict[str, Any]:
    """Convert options to fields; dates are in the time zone given beside them."""
    if isinstance(fields.get("query"), tuple):
        fields["query"] = " ".join(fields["query"]) or None
    if fields.get("limit") == 0:
        fields["limit"] = None
    if "now" in request.__struct_fields__:
        fields["now"] = now()
    if "timezone" in fields:
        from hansard.model.calendar import find_zone

        settings = click.get_current_context().ensure_object(Context).settings()
        fields["timezone"] = fields["timezone"] or settings.timezone
        zone = find_zone(fields["timezone"]).info
        for name in ("since", "until"):
            if fields.get(name) is not None:
                fields[name] = parse_moment(fields[name], fields["now"], f"--{name}", end=name == "until", zone=zone)
    return fields


def _option(request: type[Struct], name: str, names: list[str]) -> Option:
    match name:
        case "reverse":
            return click.option("--reverse", is_flag=True, help="Reverse the order.")
        case "page":
            words = "Show the Nth page of --limit results."
            return click.option("--page", type=Count(min=1, most=_MOST_ROWS), default=1, metavar="N", help=words)
        case "cursor":
            return click.option("--cursor", metavar="CURSOR", help="Continue after a page: next_cursor of --json.")
    field = field_of(request, name)
    if name == "limit":
        return limit_option(field.default)
    flags = field.extra.get("option", f"--{name.replace('_', '-')}").split()
    if "timezone" in names and name in ("since", "until"):
        flags.insert(0, f"-{name[0]}")  # as ccusage has them
    is_required = field.default is NODEFAULT
    default = None if is_required else field.default
    how: dict[str, Any] = {"metavar": field.extra.get("metavar")}
    if is_required:
        how["required"] = True
    limits: Any = (field.meta.ge, field.meta.le)
    if field.type is bool:
        how = {"is_flag": True, **({"default": True} if default else {})}
    elif field.type in (int, float):
        numbers = Count(*limits) if field.type is int else click.FloatRange(*limits)
        how = {"type": numbers, "default": default, "metavar": field.extra.get("metavar", "N")}
        how["show_default"] = field.type is float
    elif field.type is datetime:
        how = {"metavar": "WHEN"} if "timezone" in names else {"type": Moment(end=name == "until")}
    elif field.choices:
        how = {"type": click.Choice(field.choices), "default": default, "show_default": bool(default)}
    if get_origin(field.type) in (tuple, Sequence, Collection):
        how |= {"multiple": True}
    return click.option(*flags, name, help=field.meta.description, **how)


class Count(click.IntRange):
    """A number in a range, and at most what databases can still calculate with."""

    def __init__(self, min: int | None = None, max: int | None = None, *, most: int = _MOST) -> None:  # noqa: A002 - as click
        super().__init__(min, max)
        self._most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if number > self._most:
            self.fail(f"{number} is too large: use {self._most:,} or less", param, ctx)
        return number


def limit_option(default: int | None, *, least: int = 0, text: str | None = None) -> Callable[[_Command], _Command]:
    """`-n`, `--limit`: how many to show."""
    words = text or ("Show at most this many." if least else "Show at most this many; 0 shows all.")
    number = Count(min=least, most=_MOST_ROWS)
    return click.option(
        "-n", "--limit", type=number, default=default, show_default=bool(default), metavar="N", help=words
    )


def sort_option(orders: Iterable[str], default: str) -> Callable[[_Command], _Command]:
    return click.option(
        "--sort", type=click.Choice(list(orders)), default=default, show_default=True, help="Sort by this."
    )


def reversed_order(request: _Listed) -> _Listed:
    """The same list in reverse: texts from Z, other values ascending."""
    return replace(request, ascending=getattr(request, "sort", "") not in _TEXT_SORTS)


def read_page(ask: Callable[[_Listed], _AnyPage], request: _Listed, number: int) -> _AnyPage:
    page = ask(request)
    for before in range(1, number):
        if page.next_cursor is None:
            raise NotFound(f"there is no page {number}: the last page is {before}")
        page = ask(replace(request, cursor=page.next_cursor))
    return page


def show_page(
    cli: Context, page: _Page, items: Sequence[Any], lines: Callable[[], Iterable[str]], what: str, number: int
) -> None:
    """Answer with a page as JSON or as lines; an empty one has no lines."""
    if items or cli.as_json:
        cli.answer(page, lines)
        note_next(cli, page, items, what, number)


def note_next(cli: Context, page: _Page, items: Sequence[Any], what: str, number: int) -> None:
    """Say how to see the pages after this one."""
    if page.next_cursor is not None and items and not cli.as_json:
        note(f"{len(items):,} of {page.total:,} {what}; --page {number + 1} shows the next, --limit 0 shows all")


def note_rest(cli: Context, items: Sequence[Any], total: int, what: str) -> None:
    """Say that a list was cut at --limit."""
    if len(items) < total and not cli.as_json:
        note(f"{len(items):,} of {total:,} {what}; --limit 0 shows all")


def zone_of(request: Dated) -> Zone:
    """The time zone of a request's days."""
    from hansard.model.calendar import find_zone

    return find_zone(request.timezone)


def filter_line(query: tuple[str, ...]) -> list[str]:
    """The filters of a report, as typed; empty if there are none."""
    typed = click.get_current_context().params
    names = [name for name in ("since", "until", "project", "model", "match") if typed[name] is not None]
    given = [f"--{name} {typed[name]}" for name in names]
    return [f"Filter: {' '.join([*given, *query])}"] if given or query else []


def typed_query() -> tuple[str, ...]:
    """The words of the query, as they were typed."""
    words: tuple[str, ...] = click.get_current_context().params["query"]
    return words
