"""`hansard team`: a PostgreSQL database for many machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hansard.cli.commands.team_agent import agent
from hansard.cli.commands.team_reports import search, sessions, usage
from hansard.cli.context import SLOW_SECONDS, Command, Context, Group, common, none_found, reads
from hansard.cli.output.progress import BytesBar
from hansard.cli.push import push_team, pushed_line
from hansard.cli.team_address import SCHEMA, Place, in_database, place_of
from hansard.model.table import Column, Kind, Table
from hansard.render.text import one_line

if TYPE_CHECKING:
    from hansard.team import Member

_MACHINES = (
    Column("MACHINE", Kind.TEXT),
    Column("PUSHED", Kind.TIME),
    Column("SESSIONS", Kind.COUNT),
    Column("OPENED", Kind.TEXT, rank=1, least=10),
)
_MEMBERS = (
    Column("LOGIN", Kind.TEXT),
    Column("ROLE", Kind.TEXT),
    Column("PROJECTS", Kind.TEXT, rank=1, least=10),
    Column("MACHINES", Kind.TEXT, rank=2, least=10),
)


@click.group(cls=Group)
@common
def team(_: Context) -> None:
    """A PostgreSQL database in which a team finds the figures of all its machines, and the texts of opened projects.

    ADDRESS is postgresql://[USER@]HOST[:PORT]/DATABASE; the configuration file can name it instead. Every person has a login
    of their own on the server, whose row-level security decides what each reads. Every command takes --json.

    Examples:
      hansard team init postgresql://owner@db.example.com/team
      hansard team grant ann --role lead --project webshop
      hansard team push
      hansard team usage --by person
      hansard team sessions project:webshop
      hansard team search flaky login
    """


for _command in (usage, sessions, search, agent):
    team.add_command(_command)


@team.command(cls=Command)
@common
@in_database
def init(cli: Context, place: Place) -> None:
    """Create the tables in a database, or upgrade them; the login that does is their owner and reads everything.

    Examples:
      hansard team init postgresql://owner@db.example.com/team
    """
    with place.open() as opened:
        before, after = opened.init()
    done = "created" if not before else "unchanged" if before == after else "upgraded"
    cli.answer({"schema_version": after, "former_version": before or None}, lambda: [f"schema {after}: {done}"])


@team.command(cls=Command)
@click.option("--machine", metavar="NAME", help="The name of this machine there; by default its host name.")
@reads
@in_database
def push(cli: Context, place: Place, machine: str | None) -> None:
    """Push what changed since the last push: figures of every project, texts only of the projects in open_projects.

    Nothing is noted on this machine: the server notes what it has, in the same transaction, so an interrupted push goes on
    where it was confirmed last.

    Examples:
      hansard team push
      hansard team push postgresql://ann@db.example.com/team --machine laptop
      hansard team push --json
    """
    with cli.reading() as h, BytesBar("Pushing", after=SLOW_SECONDS) as bar:
        report = push_team(cli, h, place, machine=machine, progress=bar)
    cli.answer(report, lambda: [pushed_line(report)])


@team.command(cls=Command)
@common
@in_database
def status(cli: Context, place: Place) -> None:
    """Show who you are there, and the machines that have pushed.

    Examples:
      hansard team status
      hansard team status --json
    """
    with place.open() as opened:
        found = opened.status()
    rows = [(one.machine, one.pushed_at, one.sessions, ", ".join(one.opened)) for one in found.machines]
    head = f"{one_line(found.login)} ({found.role}), schema {found.schema_version}"
    cli.answer(found, lambda: [head, *cli.draw(Table(_MACHINES, rows))])


@team.command(cls=Command)
@click.argument("login")
@click.argument("address", required=False)
@click.option(
    "--role", type=click.Choice(["admin", "lead", "member"]), default="member", show_default=True, help="What it reads."
)
@click.option(
    "--project",
    "projects",
    multiple=True,
    metavar="PROJECT",
    help="A project that it leads or belongs to: a path or its last parts; repeatable.",
)
@SCHEMA
@common
def grant(
    cli: Context, login: str, address: str | None, role: str, projects: tuple[str, ...], schema: str | None
) -> None:
    """Make a login of the server a member of the team.

    A member reads its own machines and the opened sessions of its projects; a lead reads all figures of its projects too; an
    admin reads everything. Only the owner of the tables gives rights.

    Examples:
      hansard team grant ann --role lead --project webshop
      hansard team grant bob --project webshop --project /src/api
    """
    with place_of(cli, address, schema).open() as opened:
        member = opened.grant(login, role, projects)
    cli.answer(member, lambda: _member_lines(cli, [member]))


@team.command(cls=Command)
@click.argument("login")
@click.argument("address", required=False)
@click.option("--project", "projects", multiple=True, metavar="PROJECT", help="Only this project; repeatable.")
@SCHEMA
@common
def revoke(cli: Context, login: str, address: str | None, projects: tuple[str, ...], schema: str | None) -> None:
    """Take all rights from a login, or some projects. What its machines pushed stays.

    Examples:
      hansard team revoke bob
      hansard team revoke ann --project webshop
    """
    with place_of(cli, address, schema).open() as opened:
        opened.revoke(login, projects)
        left = opened.members()
    cli.answer({"members": left}, lambda: _member_lines(cli, left))


@team.command(cls=Command)
@common
@in_database
def members(cli: Context, place: Place) -> None:
    """List the members: all of them for an admin, otherwise yourself.

    Examples:
      hansard team members
    """
    with place.open() as opened:
        found = opened.members()
    cli.answer({"members": found}, lambda: _member_lines(cli, found))
    if not found:
        none_found("no members")


def _member_lines(cli: Context, found: list[Member]) -> list[str]:
    rows = [(one.login, one.role, ", ".join(one.projects), ", ".join(one.machines)) for one in found]
    return cli.draw(Table(_MEMBERS, rows))
