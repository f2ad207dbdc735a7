"""`hansard restore`, `recover` and `cat`: transcripts out of the record."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

import click

from hansard.cli.arguments import choose_session
from hansard.cli.context import SLOW_SECONDS, Command, Context, none_found, note, reads, warn
from hansard.cli.output.progress import BytesBar
from hansard.cli.request_options import takes
from hansard.errors import NotFound, UsageError, WouldOverwrite
from hansard.model.serialize import plain
from hansard.model.store_requests import LostSessionsRequest
from hansard.render.format import many, size
from hansard.render.text import fit_path, one_line

if TYPE_CHECKING:
    from hansard.model.files import RestoreItem


@click.command(cls=Command)
@click.argument("names", metavar="SESSION...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Restore everything.")
@click.option(
    "--to",
    required=True,
    metavar="DIR",
    help="Target directory; with a Claude config directory, sessions go back in place.",
)
@click.option("--dry-run", is_flag=True, help="Only show what would be written.")
@click.option("--overwrite", is_flag=True, help="Replace existing files that differ.")
@click.option(
    "--all-generations",
    is_flag=True,
    help="Include other generations of rewritten files, with a number appended to the name.",
)
@click.option("--touch", is_flag=True, help="Give the files today's date, so that the client does not clean them up.")
@reads
def restore(
    cli: Context,
    names: tuple[str, ...],
    everything: bool,
    to: str,
    dry_run: bool,
    overwrite: bool,
    all_generations: bool,
    touch: bool,
) -> None:
    """Write sessions back as files, byte for byte, with their subagents and side files.

    The files get the layout they had: DIR/projects/..., or DIR/<root name>/projects/... where the store knows several
    roots. Existing files are kept unless --overwrite is given. Files keep their dates; the client deletes transcripts that are
    older than its clean-up period (30 days) the next time it runs, unless --touch gives them today's date.

    Examples:
      hansard restore @last --to /tmp/session --dry-run
      hansard restore 3f2a91c0 --to ~/.claude --touch      so that `claude --resume` finds it again
      hansard restore --all --to /backup/claude
    """
    if everything and names:
        raise UsageError("--all cannot be used with session names")
    if not everything and not names:
        names = (choose_session(cli, None, missing="name the sessions to restore, or use --all"),)
    with cli.reading() as h:
        items = h.plan_restore(None if everything else names, to, all_generations=all_generations)
        if not items:
            raise NotFound("nothing to restore: the store is empty")
        days = None if touch else h.cleanup_days(items, to)
        if days is not None:
            warn(
                f"some files are older than {days} days: the client's next clean-up will delete them unless you add --touch"
            )
        for item in items:
            if item.unproven_from is not None:
                warn(
                    f"{one_line(item.target)}: unproven from byte {item.unproven_from:,} on: the file was being written while it was"
                    " read, and may never have held all of these bytes at once"
                )
        if dry_run:
            _tell_plan(cli, to, items)
            return
        with BytesBar("Restoring", after=SLOW_SECONDS) as bar:
            try:
                done = h.restore(items, overwrite=overwrite, touch=touch, progress=bar)
            except WouldOverwrite as error:
                raise WouldOverwrite(f"{error} --dry-run lists such files, --overwrite replaces them.") from error
    if cli.as_json:
        cli.emit(
            {
                "to": to,
                "dry_run": False,
                "written": done.written,
                "same": done.same,
                "bytes": done.bytes,
                "files": _described(items),
            }
        )
        return
    same = f"; {many(done.same, 'file was', 'files were')} already there" if done.same else ""
    cli.say([f"{many(done.written, 'file')}, {size(done.bytes)}, written to {one_line(to)}{same}"])


def _described(items: list[RestoreItem]) -> list[dict[str, object]]:
    return [
        {
            "path": item.path,
            "target": item.target,
            "bytes": item.bytes,
            "action": item.action.value,
            "reason": item.reason or None,
            "unproven_from": item.unproven_from,
        }
        for item in items
    ]


def _tell_plan(cli: Context, to: str, items: list[RestoreItem]) -> None:
    counts = Counter(item.action.value for item in items)
    if cli.as_json:
        writes = sum(item.bytes for item in items if item.action.value != "same")
        cli.emit(
            {
                "to": to,
                "dry_run": True,
                "written": 0,
                "same": counts["same"],
                "bytes": 0,
                "would_write": writes,
                "files": _described(items),
            }
        )
        return
    words = {"write": "write", "same": "there", "differs": "DIFFERS", "impossible": "CANNOT"}
    columns = cli.width() - 22
    cli.say(
        f"{words[item.action.value]:<8} {size(item.bytes):>10}  {fit_path(one_line(item.target), columns)}"
        for item in items
    )
    note(
        f"{counts['write']:,} to write, {counts['same']:,} already there, {counts['differs']:,} exist with different content;"
        " nothing was written"
    )


@click.command(cls=Command)
@click.argument("lost", required=False, metavar="[SESSION]")  # not `session`: completion would offer stored ones
@takes(
    LostSessionsRequest,
    click.option("--markdown", is_flag=True, help="Write SESSION as Markdown."),
    "project since until limit",
)
@reads
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
        raise UsageError("--project, --since and --until filter the list and cannot be used with a SESSION")
    if markdown and cli.as_json:
        raise UsageError("--json and --markdown cannot be used together")
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
        cli.say(lost_table(found.sessions, cli.width(), cli.paint(), cli.names))
        if found.total > len(found.sessions):
            note(f"{len(found.sessions):,} of {found.total:,} lost sessions; --limit 0 shows all")
        note("These sessions have no transcript; `hansard recover SESSION` shows a reconstruction.")
    if not found.sessions:
        none_found("no lost session matches")


@click.command(cls=Command)
@click.argument("name", metavar="SESSION|TRANSCRIPT", required=False)
@click.option(
    "--generation",
    type=click.IntRange(min=1),
    metavar="N",
    help="Another generation of a rewritten file; 1 is the first.",
)
@reads
def cat(cli: Context, name: str | None, generation: int | None) -> None:
    """Write a transcript's verbatim bytes to stdout.

    A session's name means its main transcript; a subagent's id, a path or the end of one means that file.
    With --json the file is described (path, bytes, SHA-256, generation) instead of written.

    Examples:
      hansard cat @last | jq .type
      hansard cat 3f2a91c0 --generation 1 > before.jsonl
      hansard cat agent-a497335b28b4899ad --json
    """
    name = choose_session(cli, name)
    with cli.reading() as h:
        id_, transcript = h.find_transcript(name, generation=generation)
        unproven_from = h.unproven_from(id_)
        if unproven_from is not None:
            warn(
                f"unproven from byte {unproven_from:,} on: the file was being written while it was read, and may never have held"
                " all of these bytes at once"
            )
        pieces = h.cat(name, generation=generation)
        if not cli.as_json:
            stream = sys.stdout.buffer
            for piece in pieces:
                stream.write(piece)
            stream.flush()
            return
        from hashlib import sha256

        digest, length = sha256(), 0
        for piece in pieces:
            digest.update(piece)
            length += len(piece)
        facts = plain(transcript)
        facts.pop("size")
        cli.emit(
            {
                "transcript": facts.pop("path"),
                "bytes": length,
                "sha256": digest.hexdigest(),
                **facts,
                "unproven_from": unproven_from,
            }
        )
