"""`hansard team usage`, `sessions` and `search`: what the machines of a team have pushed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from hansard.cli.arguments import FreeTextCommand, QueryCommand
from hansard.cli.commands.search import SEARCH_OPTIONS, grouped, show_found
from hansard.cli.commands.usage import answer_usage
from hansard.cli.context import Context, common, none_found
from hansard.cli.output.session_table import session_table
from hansard.cli.request_options import (
    CSV,
    LEDGER_FILTERS,
    ORDER,
    SESSION_FILTERS,
    filter_line,
    limit_option,
    read_page,
    reversed_order,
    show_page,
    takes,
    typed_query,
)
from hansard.cli.team_address import asks_database
from hansard.errors import UsageError
from hansard.model.requests import SearchRequest, SessionsRequest, UsageRequest

if TYPE_CHECKING:
    from hansard.cli.team_address import Place


@click.command(cls=QueryCommand)
@click.argument("query", nargs=-1, type=click.UNPROCESSED)
@takes(
    UsageRequest,
    click.option(
        "--by",
        default="day",
        metavar="WHAT",
        help="Group rows by anything that `hansard usage` takes except commit, or by machine or person. [day]",
    ),
    f"{LEDGER_FILTERS} mode breakdown work sort reverse",
    ORDER,
    limit_option(0, text="Show at most N rows, the latest if they are periods; the total covers all."),
    CSV,
)
@common
@asks_database
def usage(
    cli: Context,
    request: UsageRequest,
    place: Place,
    machine: str | None,
    person: str | None,
    reverse: bool,
    order: str | None,
    limit: int,
    as_csv: bool,
) -> None:
    """Report tokens and cost of all machines, as `hansard usage` does for this one.

    Each message counts once, even if several machines have it. You see the machines and projects that you may read.

    Examples:
      hansard team usage
      hansard team usage --by person,month
      hansard team usage --by project --machine laptop since:30d
      hansard team usage --database postgresql://cia@db.example.com/team --json
    """
    if cli.as_json and as_csv:
        raise UsageError("--json and --csv cannot be used together")
    if as_csv and request.breakdown:
        raise UsageError("--csv and --breakdown cannot be used together: add model to --by instead")
    request = replace(request, ascending=None if order is None else order == "asc")
    with place.open() as team:
        report = team.usage(request, machine=machine, person=person, groups=cli.settings().groups)
    named = [f"--{name} {value}" for name, value in (("machine", machine), ("person", person)) if value]
    filters = filter_line((*named, *typed_query()))
    answer_usage(cli, report, request, filters=filters, limit=limit, reverse=reverse, as_csv=as_csv)
    if not report.rows:
        none_found("no usage matches")


@click.command(cls=QueryCommand)
@click.argument("query", nargs=-1)
@takes(SessionsRequest, *SESSION_FILTERS, "debris sort reverse limit page cursor")
@common
@asks_database
def sessions(
    cli: Context,
    request: SessionsRequest,
    place: Place,
    machine: str | None,
    person: str | None,
    reverse: bool,
    page: int,
) -> None:
    """List the sessions of all machines, newest first; QUERY selects them in the language of `hansard search`.

    Titles, prompts and paths of files are known of opened projects only.

    Examples:
      hansard team sessions --person ann --since 7d
      hansard team sessions 'project:webshop is:error'
      hansard team sessions --sort cost -n 10 --json
    """
    with place.open() as team:
        found = read_page(
            lambda one: team.sessions(one, machine=machine, person=person),
            reversed_order(request) if reverse else request,
            page,
        )
    table = session_table(found.sessions, people=[one.person for one in found.sessions])
    show_page(cli, found, found.sessions, lambda: cli.draw(table), "sessions", page)
    if not found.sessions:
        none_found("no session matches" if found.total == 0 else "no more sessions")


@click.command(cls=FreeTextCommand)
@click.argument("query", nargs=-1, type=click.UNPROCESSED)
@takes(
    SearchRequest,
    *SEARCH_OPTIONS,
    "sort project since until context facets page cursor",
)
@common
@asks_database
def search(
    cli: Context,
    request: SearchRequest,
    place: Place,
    machine: str | None,
    person: str | None,
    grouping: str | None,
    page: int,
) -> None:
    """Search the texts of opened projects on all machines, in the language of `hansard search`.

    You find what you may read: your own machines, and opened projects that you lead or belong to.

    Examples:
      hansard team search flaky login
      hansard team search 'parse_line tool:Edit' --person ann
      hansard team search is:error project:webshop --facets
      hansard team search '"connection refused"' --json
    """
    if not (request.query or "").strip():
        raise UsageError("no query given; `hansard search --syntax` explains the query language")
    request = grouped(cli, request, grouping)
    with place.open() as team:
        found = read_page(lambda one: team.search(one, machine=machine, person=person), request, page)
    show_found(cli, found, request, page, search)
