"""`hansard web` and `open`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import click
from msgspec import Struct
from msgspec.structs import replace

from hansard.cli.arguments import choose_session
from hansard.cli.context import Command, Context, has_store, no_roots, note, program, reads, warn
from hansard.cli.request_options import takes
from hansard.cli.team_address import DATABASE, SCHEMA, place_of
from hansard.errors import NotFound, UsageError
from hansard.model.requests import about

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.applications import Starlette

    from hansard.cli.team_address import Place
    from hansard.config import Settings
    from hansard.web.auth import Auth
    from hansard.web.running_servers import Running
    from hansard.web.server import Started


LOCAL = "127.0.0.1"
WEB_FOLDER, TEAM_FOLDER = "web", "web-team"  # in the data directory: files of running servers
_UNSEEN = "No browser has connected yet: open the link above yourself."
_UNKNOWN_NAME = " If the name cannot be resolved (Safari does not support names under .localhost), restart with: {} web --host-name 127.0.0.1"


class ServerRequest(Struct, frozen=True, kw_only=True):
    """A server to start, and the page to open."""

    host: Annotated[
        str | None,
        about(
            "Address to listen on; other machines can reach it unless it is loopback. [default: 127.0.0.1]",
            metavar="ADDRESS",
        ),
    ] = None
    port: int | None = None
    host_name: Annotated[
        str | None,
        about(
            "The name in links, and the only one that pages answer to; 127.0.0.1 for Safari, which does not know names under"
            " .localhost. [default: a random one under .localhost, so that no other program's page gets the cookie]",
            metavar="NAME",
        ),
    ] = None
    read_only: Annotated[bool, about("Do not let the browser change pins, tags, titles or notes.")] = False
    no_open: Annotated[bool, about("Print the link instead of opening a browser.")] = False
    demo: Annotated[bool, about("Show the invented demo history.")] = False
    team: Annotated[bool, about("Show a team's database, read-only: what its row-level security lets you read.")] = (
        False
    )
    path: str = "/"


@click.command(cls=Command)
@takes(
    ServerRequest,
    "host",
    click.option(
        "--port", type=click.IntRange(0, 65535), help="0 means any free port. [default: the first free port from 4567]"
    ),
    "host_name read_only no_open",
    click.option("--link", is_flag=True, help="Print a new link to the running server, for another browser."),
    "demo team",
    DATABASE,
    SCHEMA,
)
@reads
def web(cli: Context, request: ServerRequest, link: bool, address: str | None, schema: str | None) -> None:
    """Show the whole history in the browser, live, until Ctrl-C.

    A link works once, within five minutes: it gives the browser a cookie. `hansard web --link` prints another one.

    With --team, the pages that a team's database can answer: overview, sessions, search and usage of all machines.

    Examples:
      hansard web
      hansard web --demo
      hansard web --link
      hansard web --no-open --port 8080
      hansard web --host-name 127.0.0.1
      hansard web --read-only --no-sync
      hansard web --team --database postgresql://ann@db.example.com/team
    """
    from hansard.web.server import is_loopback

    own = cli.settings()
    folder = os.path.join(own.home, TEAM_FOLDER if request.team else WEB_FOLDER)
    if (address or schema) and not request.team:
        raise UsageError("--database and --schema need --team")
    if link:
        if request != ServerRequest(port=request.port, team=request.team):
            raise UsageError(
                "--link cannot be used with options of a new server, except --port to choose a running one"
            )
        _print_link(cli, folder, request.port)
        return
    host = LOCAL if request.host is None else request.host.strip().strip("[]")
    if not host:
        raise UsageError("--host is empty: name an address, 127.0.0.1 for example")
    make: Callable[[Auth], Starlette] | None = None
    if request.team:
        if request.demo or cli.roots:
            raise UsageError("--team cannot be used with --demo or --root")
        settings, demo, make = own, False, _team_app(own, place_of(cli, address, schema))
    else:
        settings, demo = _settings(cli, own, demo=request.demo)
    if request.port is None:
        _refuse_second(cli, folder, settings, team=request.team)
    if not is_loopback(host):
        warn(
            f"{host} is not loopback: anyone who can reach it and has a link can read every session; nothing is encrypted"
        )
    name = None if request.host_name is None else _checked(request.host_name)
    run_server(cli, settings, folder, replace(request, host=host, host_name=name, demo=demo), make)


def _team_app(settings: Settings, place: Place) -> Callable[[Auth], Starlette]:
    """What makes the app on a team's database; raises if that cannot be read."""
    from hansard.team import hide_password
    from hansard.web.team.app import make_team_app
    from hansard.web.team.engine import TeamAddress

    with place.open() as team:
        team.status()
    return lambda auth: make_team_app(settings, auth, TeamAddress(*place), hide_password(place.url))


def run_server(
    cli: Context,
    settings: Settings,
    folder: str,
    request: ServerRequest,
    make: Callable[[Auth], Starlette] | None = None,
) -> None:
    """Serve until Ctrl-C, and open the browser unless --no-open; `make` makes another app than the usual one."""
    from hansard.web.redirect_file import open_in_browser
    from hansard.web.server import ServeCallbacks, serve

    host = request.host or LOCAL

    def started(server: Started) -> None:
        described = describe_server(server.running) | {"link": server.link, "host": host, "file": server.file}
        cli.answer(described, lambda: [f"Hansard is at {server.link}"])
        if not cli.as_json:
            note("The link works once, within five minutes. Ctrl-C stops the server.")
        sys.stdout.flush()

    serve(
        settings,
        ServeCallbacks(
            started=started,
            logged_in=lambda: note(f"A browser is logged in. For another one: {_link_command(cli, team=request.team)}"),
            unseen=lambda: note(_UNSEEN + ("" if request.host_name else _UNKNOWN_NAME.format(program()))),
            unwritten=lambda reason: warn(
                f"{folder} cannot be written ({reason}): no browser is opened, and `--link` will not find this server"
            ),
        ),
        folder=folder,
        host=host,
        host_name=request.host_name,
        port=request.port,
        read_only=request.read_only,
        syncing=request.demo or not cli.no_sync,
        demo=request.demo,
        path=request.path,
        browser=None if request.no_open or cli.as_json else open_in_browser,
        make=make,
    )


def _print_link(cli: Context, folder: str, port: int | None) -> None:
    """A new link to the server that runs."""
    from hansard.web.running_servers import find

    found = [one for one in find(folder) if port in (None, one.port)]
    if not found:
        where = "" if port is None else f" on port {port}"
        raise NotFound(f"no server is running{where} for this data directory; start one with `{program()} web`")
    if len(found) > 1:
        ports = ", ".join(str(one.port) for one in found)
        raise UsageError(f"several servers are running, on ports {ports}: choose one with --port")
    answer = found[0].new_link()
    cli.answer(describe_server(found[0]) | answer, lambda: [answer["link"]])
    if not cli.as_json:
        note("It works once, within five minutes.")


def _refuse_second(cli: Context, folder: str, settings: Settings, *, team: bool) -> None:
    """Raise if a server for this store is running; a second one needs --port."""
    from hansard.web.running_servers import find

    for one in find(folder):
        if one.home == settings.home:
            raise UsageError(
                f"a server on port {one.port} already serves this history. For a link to it: {_link_command(cli, team=team)}."
                " For a second server: --port 0"
            )


def describe_server(running: Running) -> dict[str, object]:
    return {"url": running.url, "port": running.port, "home": running.home, "demo": running.demo}


def _link_command(cli: Context, *, team: bool) -> str:
    from shlex import join

    options = [*(["--team"] if team else []), *(["--home", cli.home] if cli.home else [])]
    return f"{program()} " + join(["web", "--link", *options])


def _checked(name: str) -> str:
    """A host name or an address, without the brackets of IPv6."""
    import ipaddress
    import re

    name = name.strip().strip("[]")
    if not re.fullmatch(r"[\w-]+(\.[\w-]+)*+\.?", name, re.ASCII):
        try:
            ipaddress.ip_address(name)
        except ValueError as error:
            raise UsageError(f"--host-name: {name!r} is neither a host name nor an address") from error
    return name


def _settings(cli: Context, settings: Settings, *, demo: bool) -> tuple[Settings, bool]:
    """The user's settings, or those of the demo if it is asked for or there is no history."""
    from hansard.cli.commands.demo import scratch_demo

    if demo and (cli.roots or cli.no_sync):
        raise UsageError("--demo cannot be used with --root or --no-sync")
    if demo:
        return scratch_demo(settings), True
    if not settings.roots and not has_store(settings):
        warn(str(no_roots()).partition(" Name one")[0])
        note("This is an invented demo history. Name your own with --root DIR or CLAUDE_CONFIG_DIR.\n")
        return scratch_demo(settings), True
    return settings, False


@click.command(cls=Command)
@click.argument("session", required=False)
@click.option(
    "--at",
    type=click.IntRange(min=0),
    metavar="OFFSET",
    help="Open at this byte offset in the transcript, as printed by `hansard search`.",
)
@click.option(
    "--agent", metavar="NAME", help="A subagent's thread, by its number, words of its description, or its id."
)
@click.option("--print", "print_only", is_flag=True, help="Print the address instead of opening a browser.")
@reads
def open(cli: Context, session: str | None, at: int | None, agent: str | None, print_only: bool) -> None:  # noqa: A001 - a command's function has its name
    """Open a session in the browser.

    Uses the server that is running; without one, starts it as `hansard web` does, until Ctrl-C. The address works once, within five
    minutes.

    Examples:
      hansard open @last
      hansard open 3f2a91c0 --at 20480
      hansard open @last --print
    """
    from hansard.web.running_servers import find
    from hansard.web.urls import place, session_place

    session = choose_session(cli, session)
    settings = cli.settings()
    with cli.reading(settings) as h:
        found = h.session(session)
        agent_id = ""
        if agent is not None or at is not None:
            thread = h.read(found, agent, pictures=False, subagents=False)
            agent_id = thread.agent.agent_id if thread.agent is not None else ""
            if at is not None:
                thread.locate(at)  # raises if there is no such place
    path = session_place(found.session_id, at, agent_id)
    if at is None and agent_id:
        path = place(path, agent=agent_id)
    folder = os.path.join(settings.home, WEB_FOLDER)
    running = next((one for one in find(folder) if one.home == settings.home), None)
    if running is None:
        run_server(cli, settings, folder, ServerRequest(path=path, no_open=print_only))
        return
    answer = running.new_link(path)
    if cli.as_json:
        cli.emit({**describe_server(running), **answer, "session_id": found.session_id})
    elif print_only:
        cli.say([answer["link"]])
    else:
        import webbrowser

        from hansard.web.redirect_file import RedirectFile

        webbrowser.open(RedirectFile(folder, answer["link"]).uri)
        note(f"opened in the browser, from the server on port {running.port}")
