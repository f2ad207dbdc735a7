"""Command-line options generated from requests, and helpers for lists and reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import click
from msgspec import NODEFAULT, Struct
from msgspec.structs import replace

from hansard.cli.arguments import Moment, parse_moment
from hansard.cli.context import Context, now
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
LEDGER_FILTERS = "since until timezone project model match"
SESSION_FILTERS = ("project since until branch model tool version text has_errors", GONE)
_TEXT_SORTS = frozenset({"title", "project", "path"})  # ascending by default


class _Page(Protocol):
    @property
    def next_cursor(self) -> str | None: ...


_AnyPage = TypeVar("_AnyPage", bound=_Page)
_Listed = TypeVar("_Listed", bound=Struct)


class Period(NamedTuple):
    """The time zone of a report, and its name if the user chose one."""

    zone: Zone
    timezone: str | None


def takes(request: type[Struct], *options: str | Option) -> Callable[[_Command], Callable[..., Any]]:
    """Add options for the named fields of a request, and others, in this order.

    The command gets the request as its argument, with the values of all options and arguments named like one of its fields.
    """

    def add(command: _Command) -> Callable[..., Any]:
        names = " ".join(one for one in options if isinstance(one, str)).split()

        @wraps(command)
        def run(**given: Any) -> Any:
            fields = {name: given.pop(name) for name in request.__struct_fields__ if name in given}
            return command(request(**_values(request, fields)), **given)

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
            if fields[name] is not None:
                fields[name] = parse_moment(fields[name], fields["now"], f"--{name}", end=name == "until", zone=zone)
    return fields


def _option(request: type[Struct], name: str, names: list[str]) -> Option:
    match name:
        case "reverse":
            return click.option("--reverse", is_flag=True, help="Reverse the order.")
        case "page":
            words = "Show the Nth page of --limit results."
            return click.option("--page", type=click.IntRange(min=1), default=1, metavar="N", help=words)
        case "cursor":
            return click.option("--cursor", metavar="CURSOR", help="Continue after a page: next_cursor of --json.")
    field = field_of(request, name)
    if name == "limit":
        return limit_option(field.default)
    flags = field.extra.get("option", f"--{name.replace('_', '-')}").split()
    if "timezone" in names and name in ("since", "until"):
        flags.insert(0, f"-{name[0]}")  # as ccusage has them
    default = None if field.default is NODEFAULT else field.default
    how: dict[str, Any] = {"metavar": field.extra.get("metavar")}
    if field.type is bool:
        how = {"is_flag": True}
    elif field.type is int:
        numbers = click.IntRange(field.meta.ge, field.meta.le)  # type: ignore[arg-type] # of whole numbers
        how = {"type": numbers, "default": default, "metavar": field.extra.get("metavar", "N")}
    elif field.type is datetime:
        how = {"metavar": "WHEN"} if "timezone" in names else {"type": Moment(end=name == "until")}
    elif field.choices:
        how = {"type": click.Choice(field.choices), "default": default, "show_default": default is not None}
    return click.option(*flags, name, help=field.meta.description, **how)


def limit_option(default: int | None, *, least: int = 0, text: str | None = None) -> Callable[[_Command], _Command]:
    """`-n`, `--limit`: how many to show."""
    words = text or ("Show at most this many." if least else "Show at most this many; 0 shows all.")
    number = click.IntRange(min=least)
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


def more_note(shown: int, total: str, what: str, page: int) -> str:
    """The note below a page that is not the last."""
    return f"{shown:,} of {total} {what}; --page {page + 1} shows the next, --limit 0 shows all"


def period_of(request: Dated) -> Period:
    """The time zone of a request's days."""
    from hansard.model.calendar import find_zone

    return Period(find_zone(request.timezone), request.timezone)


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
