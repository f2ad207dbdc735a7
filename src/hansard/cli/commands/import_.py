"""`hansard import`: conversations of other agents and of chat services, from files."""

from __future__ import annotations

import click

from hansard.cli.context import Command, Context, common, note
from hansard.render.format import many


@click.command("import", cls=Command)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--client", default="", metavar="NAME", help="Whose file it is, e.g. chatgpt; recognized otherwise.")
@common
def import_(cli: Context, files: tuple[str, ...], client: str) -> None:
    """Store conversations from files: exports of ChatGPT and Claude.ai, histories of Aider, Amp, Continue and droid, trajectories (ATIF).

    FILE is a file, a zip archive as it was downloaded, or a folder. Each conversation is stored byte for byte, and is in
    every list, search and report from then on. Importing a newer export adds what is new, and keeps what it no longer has.

    Examples:
      hansard import ~/Downloads/chatgpt-export.zip
      hansard import conversations.json --client claude-ai
      hansard import ~/src/calculator/.aider.chat.history.md
      hansard import runs/trajectory.json
    """
    cli.must_sync("import")
    with cli.engine() as h:
        found = [h.import_file(file, client) for file in files]
    reports = [report for given in found for report in given]
    skipped = sum(given[0].skipped for given in found)
    with cli.engine() as h:
        h.sync(wait_seconds=10)
    told = [
        f"{report.client}: {many(report.conversations, 'conversation')}, {report.written} of them new or changed"
        for report in reports
    ]
    cli.answer({"imports": reports}, lambda: told)
    if skipped and not cli.as_json:
        note(f"{many(skipped, 'file')} skipped: too large, too many, not regular, or unreadable")
