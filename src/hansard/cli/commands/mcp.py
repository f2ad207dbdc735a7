"""`hansard mcp`."""

from __future__ import annotations

import os
import sys

import click

from hansard.cli.context import Command, Context, reads
from hansard.errors import UsageError


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
    help="The repository that answers are about. [default: CLAUDE_PROJECT_DIR, what the client names, or the working directory]",
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
    folder = os.path.expanduser(project) if project else start_folder(os.environ)
    server = Server(store, Repository(folder), os.environ.get("CLAUDE_CODE_SESSION_ID", ""))
    if not http:
        from hansard.mcp.stdio import serve

        serve(server, store)
        return
    from hansard.web.rpc import serve_rpc

    def started(url: str, token: str) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        cli.emit({"mcpServers": {"hansard": {"type": "http", "url": url, "headers": headers}}})
        sys.stdout.flush()

    serve_rpc(server.handle, folder=settings.home, port=port, started=started)
