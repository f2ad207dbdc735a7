"""`hansard mcp`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from hansard.cli.context import Command, Context, has_store, reads
from hansard.errors import NotFound, UsageError

if TYPE_CHECKING:
    from hansard.config import Settings


@click.command(cls=Command)
@click.option(
    "--http", is_flag=True, help="Serve over HTTP on the loopback instead, for clients that cannot start programs."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="With --http; 0 means any free port. [default: the first free port from 4567]",
)
@click.option(
    "--project",
    metavar="DIR",
    help="The repository that answers are about. [default: what the client names, CLAUDE_PROJECT_DIR, or the working directory]",
)
@reads
def mcp(cli: Context, http: bool, port: int | None, project: str | None) -> None:
    """Serve the history to coding agents over the Model Context Protocol.

    Agents get tools (search, read, recall, sessions, files, blame, usage), resources (hansard://session/ID) and prompts. Answers cover the
    current repository unless the agent asks for all, stay within a token budget, and hold no secrets. docs/mcp.md describes all of it.

    To add it to Claude Code, run `claude mcp add hansard -- hansard mcp`. Other clients take this in .mcp.json or their own settings:
    {"mcpServers": {"hansard": {"type": "stdio", "command": "hansard", "args": ["mcp"]}}}

    Examples:
      hansard mcp
      hansard mcp --project ~/code/webshop
      hansard mcp --http --port 8080
    """
    from hansard.mcp.server import Server
    from hansard.mcp.store import Repository, Store, start_folder

    if port is not None and not http:
        raise UsageError("--port needs --http")
    settings = cli.settings()
    store = Store(settings, syncing=not cli.no_sync)
    folder = os.path.expanduser(project) if project is not None else start_folder(os.environ)
    if project is not None and not os.path.isdir(folder) and not _is_recorded(settings, folder):
        raise NotFound(f"no such directory: {folder}; no session was recorded there either")
    server = Server(
        store, Repository(folder, is_chosen=project is not None), os.environ.get("CLAUDE_CODE_SESSION_ID", "")
    )
    if not http:
        from hansard.cli import mcp_start
        from hansard.mcp.stdio import serve

        if (said := mcp_start.done) is None:
            serve(server, store)
            return
        server.client, server.wants_roots = said.client, said.wants_roots
        if said.roots is not None:
            server.use_roots(said.roots)
        serve(server, store, said.read, has_resources=said.has_empty_list, subscription=said.subscription)
        return
    from hansard.web.rpc import serve_rpc

    def started(url: str, token: str) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        cli.emit({"mcpServers": {"hansard": {"type": "http", "url": url, "headers": headers}}})
        sys.stdout.flush()

    serve_rpc(server.handle, folder=settings.home, port=port, started=started)


def _is_recorded(settings: Settings, folder: str) -> bool:
    """Whether the store has sessions of a folder that is no longer there."""
    with settings.open() as h:
        return has_store(h) and bool(h.sessions(folder=os.path.abspath(folder), debris=True, limit=1).sessions)
