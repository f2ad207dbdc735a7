"""`hansard open`."""

from __future__ import annotations

import os

import click

from hansard.cli.commands.web import WEB_FOLDER, describe_server, run_server
from hansard.cli.context import Command, Context, note, pass_context, reads
from hansard.cli.session_argument import choose_session


@click.command(cls=Command)
@click.argument("session", required=False)
@click.option(
    "--at",
    type=click.IntRange(min=0),
    metavar="OFFSET",
    help="Open at this byte offset in the transcript, as printed by `hansard search`.",
)
@click.option("--agent", metavar="ID", help="A subagent's thread, by the beginning of its id.")
@click.option("--print", "print_only", is_flag=True, help="Print the address instead of opening a browser.")
@reads
@pass_context
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
        about = h.session(session)
        agent_id = ""
        if agent is not None or at is not None:
            thread = h.read(about, agent, pictures=False, subagents=False)
            agent_id = thread.agent.agent_id if thread.agent is not None else ""
            if at is not None:
                thread.locate(at)  # says when there is no such place
    path = session_place(about.session_id, at, agent_id)
    if at is None and agent_id:
        path = place(path, agent=agent_id)
    folder = os.path.join(settings.home, WEB_FOLDER)
    running = next((one for one in find(folder) if one.home == settings.home), None)
    if running is None:
        run_server(cli, settings, folder, path=path, no_open=print_only)
        return
    answer = running.new_link(path)
    if cli.as_json:
        cli.emit({**describe_server(running), **answer, "session_id": about.session_id})
    elif print_only:
        cli.say([answer["link"]])
    else:
        import webbrowser

        from hansard.web.redirect_file import RedirectFile

        webbrowser.open(RedirectFile(folder, answer["link"]).uri)
        note(f"opened in the browser, from the server on port {running.port}")
