"""`hansard recover`."""

from __future__ import annotations

import click

from hansard.cli.context import Command, Context, note, pass_context, reads
from hansard.cli.request_options import takes
from hansard.errors import UsageError
from hansard.model.requests import LostSessionsRequest


@click.command(cls=Command)
@click.argument("lost", required=False, metavar="[SESSION]")  # not `session`: completion offers those that are kept
@takes(
    LostSessionsRequest,
    click.option("--markdown", is_flag=True, help="Write SESSION as Markdown."),
    "project since until limit",
)
@reads
@pass_context
def recover(cli: Context, request: LostSessionsRequest, lost: str | None, markdown: bool) -> None:
    """List sessions whose transcripts are gone everywhere; with SESSION, show what can be reconstructed of one.

    Prompts come from history.jsonl, pastes from there and from the paste cache; todos, titles and former contents of
    files from what the client saved beside transcripts. Commits are those of the project's repository at that time.
    Replies and tool calls cannot be recovered.

    Examples:
      hansard recover
      hansard recover --project tidewater --since 2026-01-01
      hansard recover 3f2a91c0
      hansard recover @last --markdown > session.md
    """
    if lost is None:
        if markdown:
            raise UsageError("--markdown needs a SESSION; `hansard recover` lists them")
        _list(cli, request)
        return
    if request != LostSessionsRequest(limit=request.limit):
        raise UsageError("--project, --since and --until choose from the list; they cannot be used with a SESSION")
    if markdown and cli.as_json:
        raise UsageError("use either --json or --markdown")
    with cli.reading() as h:
        found = h.reconstruct(lost)
    if cli.as_json:
        cli.emit(found)
    elif markdown:
        from hansard.render.recovery import markdown_lines

        cli.say(markdown_lines(found))
    else:
        from hansard.render.recovery import draw_reconstruction

        cli.say(draw_reconstruction(found, cli.width(), cli.paint()))


def _list(cli: Context, request: LostSessionsRequest) -> None:
    from hansard.render.recovery import lost_table

    with cli.reading() as h:
        found = h.lost_sessions(request)
    if cli.as_json:
        cli.emit(found)
    elif found.sessions:
        cli.say(lost_table(found.sessions, cli.width(), cli.paint(), cli.cells()))
        if found.total > len(found.sessions):
            note(f"{len(found.sessions):,} of {found.total:,} lost sessions; -n 0 lists all")
        note("These sessions have no transcript; `hansard recover SESSION` shows a reconstruction.")
    if not found.sessions:
        note("hansard: no lost session matches")
        raise click.exceptions.Exit(1)
