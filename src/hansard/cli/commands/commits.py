"""`hansard commits`."""

from __future__ import annotations

import os

import click

from hansard.cli.context import SLOW_SECONDS, Command, Context, note, now, pass_context, reads
from hansard.cli.request_options import limit_option
from hansard.render.text import one_line


@click.command(cls=Command)
@click.argument("session", required=False)
@click.option(
    "--repository",
    metavar="DIR",
    help="A folder in the repository; default: the current directory, or the session's project.",
)
@limit_option(50)
@reads
@pass_context
def commits(cli: Context, session: str | None, repository: str | None, limit: int) -> None:
    """List the commits that sessions made or had a part in, newest first, with their cost; with SESSION, its commits.

    LINES is how many of the lines that a commit adds were written by recorded edits. A star marks a session that ran
    `git commit` itself. A message counts for the commit that the next edit of its turn went into.

    Examples:
      hansard commits
      hansard commits @last
      hansard commits 3f2a91c0 --repository ~/src/tidewater
      hansard commits --json
    """
    from hansard.cli.output.progress import CountBar
    from hansard.render.terminal.blame import commit_table

    if session is None and repository is None:
        repository = os.getcwd()
    with cli.reading() as h, CountBar("Reading commits", after=SLOW_SECONDS) as bar:
        found = h.commits(session, repository=repository, limit=limit or None, progress=bar)
    if cli.as_json:
        cli.emit(found)
    elif found.commits:
        cli.say(commit_table(found.commits, cli.width(), cli.paint(), now()))
        if found.total > len(found.commits):
            note(f"{len(found.commits):,} of {found.total:,} commits; -n 0 lists all")
    if not cli.as_json:
        for address in found.pull_requests:
            cli.say([f"pull request  {one_line(address)}"])
    if not found.repositories:
        note(
            f"hansard: {', '.join(map(one_line, found.missing)) or 'the project'} is not a git repository on this machine"
        )
    if not found.commits:
        if found.repositories:
            note("hansard: no commit matches")
        raise click.exceptions.Exit(1)
