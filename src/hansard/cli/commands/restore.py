"""`hansard restore`, `recover` and `cat`: transcripts out of the record."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from hansard.cli.arguments import choose_session
from hansard.cli.context import SLOW_SECONDS, Command, Context, none_found, note, reads, warn
from hansard.cli.output.progress import BytesBar
from hansard.cli.request_options import note_rest, takes
from hansard.errors import NotFound, UsageError, WouldOverwrite
from hansard.model.serialize import plain
from hansard.model.store_requests import LostSessionsRequest, RestoreRequest
from hansard.render.format import many, size
from hansard.render.text import fit_path, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hansard.model.files import RestoreItem


@click.command(cls=Command)
@click.argument("names", metavar="SESSION...", nargs=-1)
@takes(
    RestoreRequest,
    click.option("--all", "everything", is_flag=True, help="Restore everything."),
    "to",
    click.option("--dry-run", is_flag=True, help="Only show what would be written."),
    click.option("--overwrite", is_flag=True, help="Replace existing files that differ."),
    "all_generations",
    click.option(
        "--touch", is_flag=True, help="Give the files today's date, so that the client does not clean them up."
    ),
)
@reads
def restore(
    cli: Context, request: RestoreRequest, everything: bool, dry_run: bool, overwrite: bool, touch: bool
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
    cli.must_not_redact("restore")
    if everything and request.names:
        raise UsageError("--all cannot be used with session names")
    names: Iterable[str] | None = None if everything else request.names
    if not everything and not request.names:
        names = (choose_session(cli, None, missing="name the sessions to restore, or use --all"),)
    to = request.to
    with cli.reading() as h:
        items = h.plan_restore(replace(request, names=names))
        if not items:
            raise NotFound("nothing to restore: the store is empty")
        if not touch:
            warn_of_cleanup(h.cleanup_days(items, to))
        for item in items:
            if item.unproven_from is not None:
                warn(f"{one_line(item.target)}: {_unproven(item.unproven_from)}")
        if dry_run:
            _tell_plan(cli, to, items)
            return
        with BytesBar("Restoring", after=SLOW_SECONDS) as bar:
            try:
                done = h.restore(items, overwrite=overwrite, touch=touch, progress=bar)
            except WouldOverwrite as error:
                raise WouldOverwrite(f"{error} --dry-run lists such files, --overwrite replaces them.") from error
    same = f"; {many(done.same, 'file was', 'files were')} already there" if done.same else ""
    cli.answer(
        _as_json(to, items, done.written, done.same, done.bytes),
        lambda: [f"{many(done.written, 'file')}, {size(done.bytes)}, written to {one_line(to)}{same}"],
    )


def _unproven(start: int) -> str:
    return (
        f"unproven from byte {start:,} on: the file was being written while it was read, and may never have held"
        " all of these bytes at once"
    )


def warn_of_cleanup(days: int | None) -> None:
    """Warn if restored files are older than the clean-up period."""
    if days:
        warn(
            f"some files are older than {days} days: the client's next clean-up will delete them unless you add --touch"
        )


def _as_json(
    to: str, items: list[RestoreItem], written: int, same: int, bytes_: int, would_write: int | None = None
) -> dict[str, object]:
    files = [
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
    planned = {} if would_write is None else {"would_write": would_write}
    said = {"to": to, "dry_run": would_write is not None, "written": written, "same": same, "bytes": bytes_}
    return {**said, **planned, "files": files}


def _tell_plan(cli: Context, to: str, items: list[RestoreItem]) -> None:
    counts = Counter(item.action.value for item in items)
    if cli.as_json:
        writes = sum(item.bytes for item in items if item.action.value != "same")
        cli.emit(_as_json(to, items, 0, counts["same"], 0, writes))
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
        note_rest(cli, found.sessions, found.total, "lost sessions")
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
    cli.must_not_redact("cat")
    name = choose_session(cli, name)
    with cli.reading() as h:
        id_, transcript = h.find_transcript(name, generation=generation)
        unproven_from = h.unproven_from(id_)
        if unproven_from is not None:
            warn(_unproven(unproven_from))
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
