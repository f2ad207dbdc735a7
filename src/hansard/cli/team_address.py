"""Which database a command of `hansard team` talks to."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from hansard.errors import UsageError

if TYPE_CHECKING:
    from hansard.cli.context import Context
    from hansard.team import Team

_Command = TypeVar("_Command", bound=Callable[..., Any])
DATABASE = click.option(
    "--database", "address", metavar="ADDRESS", help="The team's database; by default the configured one."
)
SCHEMA = click.option("--schema", metavar="NAME", help="The PostgreSQL schema of the team's tables. [hansard]")


class Place(NamedTuple):
    """A database and the schema in it."""

    url: str
    schema: str

    def open(self) -> Team:
        from hansard.team import Team

        return Team(self.url, schema=self.schema)


def in_database(command: _Command) -> Callable[..., Any]:
    """Add ADDRESS and --schema; the command gets them as a place."""

    @click.argument("address", required=False)
    @SCHEMA
    @wraps(command)
    def run(cli: Context, /, address: str | None, schema: str | None, **given: Any) -> Any:
        return command(cli, place=place_of(cli, address, schema), **given)

    return run


def asks_database(command: _Command) -> Callable[..., Any]:
    """Add --database, --schema, --machine and --person to a command whose arguments are a query."""

    @DATABASE
    @SCHEMA
    @click.option("--machine", metavar="TEXT", help="Only machines whose name contains this.")
    @click.option("--person", metavar="TEXT", help="Only people whose login contains this.")
    @wraps(command)
    def run(cli: Context, /, *others: Any, address: str | None, schema: str | None, **given: Any) -> Any:
        return command(cli, *others, place=place_of(cli, address, schema), **given)

    return run


def place_of(cli: Context, address: str | None, schema: str | None) -> Place:
    """The database at an address, or the configured one."""
    known = cli.settings().team
    url = address or known.get("database")
    if url is None:
        from hansard.directories import config_path

        raise UsageError(
            "no database is named: give its address, postgresql://HOST/DATABASE, or add for example [team] and below it"
            f' database = "postgresql://db.example.com/team" to {config_path()}'
        )
    return Place(url, schema or known.get("schema", "hansard"))
