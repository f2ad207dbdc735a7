"""`hansard cat`, `hansard restore` and `hansard verify`: the bytes as they were."""

from __future__ import annotations

import sys
from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING

import click

from hansard.cli.front import SLOW_SECONDS, Command, Front, common, note, pass_front, reads
from hansard.cli.progress import BytesBar
from hansard.cli.terminal import fit_path, one_line, wrap
from hansard.cli.words import many, size
from hansard.errors import NotFound, UsageError, WouldOverwrite
from hansard.model import plain

if TYPE_CHECKING:
    from hansard.record.restore import RestoreItem


@click.command(cls=Command)
@click.argument("name", metavar="SESSION|TRANSCRIPT")
@click.option(
    "--generation",
    type=click.IntRange(min=1),
    metavar="N",
    help="An earlier state of a file that was rewritten; 1 is the first.",
)
@reads
@pass_front
def cat(front: Front, name: str, generation: int | None) -> None:
    """Write a transcript's verbatim bytes to stdout.

    A session's name means its main transcript; a subagent's id, a path or the end of one means that file.
    With --json the file is described (path, bytes, SHA-256, generation) instead of written.

    Examples:
      hansard cat @last | jq .type
      hansard cat 3f2a91c0 --generation 1 > before.jsonl
      hansard cat agent-a497335b28b4899ad --json
    """
    with front.reading() as h:
        _, transcript = h.find_transcript(name, generation=generation)
        pieces = h.cat(name, generation=generation)
        if not front.as_json:
            stream = sys.stdout.buffer
            for piece in pieces:
                stream.write(piece)
            stream.flush()
            return
        digest, length = sha256(), 0
        for piece in pieces:
            digest.update(piece)
            length += len(piece)
        facts = plain(transcript)
        facts.pop("size")
        front.emit({"transcript": facts.pop("path"), "bytes": length, "sha256": digest.hexdigest(), **facts})


@click.command(cls=Command)
@click.argument("names", metavar="SESSION...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Everything that is kept.")
@click.option(
    "--to", required=True, metavar="DIR", help="Where to write; a Claude config directory puts sessions back into it."
)
@click.option("--dry-run", is_flag=True, help="Only tell what would be written.")
@click.option("--overwrite", is_flag=True, help="Replace files that are there with other content.")
@click.option(
    "--all-generations",
    is_flag=True,
    help="Also the earlier states of rewritten files, with a number at the end of the name.",
)
@reads
@pass_front
def restore(
    front: Front,
    names: tuple[str, ...],
    everything: bool,
    to: str,
    dry_run: bool,
    overwrite: bool,
    all_generations: bool,
) -> None:
    """Write sessions back as files, byte for byte, with their subagents and side files.

    The files get the layout they had: DIR/projects/..., or DIR/<root name>/projects/... where the store knows several
    roots. Nothing is replaced unless --overwrite says so.

    Examples:
      hansard restore @last --to /tmp/session --dry-run
      hansard restore 3f2a91c0 --to ~/.claude      so that `claude --resume` finds it again
      hansard restore --all --to /backup/claude
    """
    if everything == bool(names):
        raise UsageError("name the sessions to restore, or say --all")
    with front.reading() as h:
        items = h.plan_restore(None if everything else names, to, all_generations=all_generations)
        if not items:
            raise NotFound("nothing is kept yet: there is nothing to restore")
        if dry_run:
            _tell_plan(front, to, items)
            return
        with BytesBar("Restoring", after=SLOW_SECONDS) as bar:
            try:
                done = h.restore(items, overwrite=overwrite, progress=bar)
            except WouldOverwrite as error:
                raise WouldOverwrite(f"{error} --dry-run lists such files, --overwrite replaces them.") from error
    if front.as_json:
        front.emit(
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
    front.say([f"{many(done.written, 'file')}, {size(done.bytes)}, written to {one_line(to)}{same}"])


def _described(items: list[RestoreItem]) -> list[dict[str, object]]:
    return [
        {
            "path": item.path,
            "target": item.target,
            "bytes": item.bytes,
            "action": item.action.value,
            "reason": item.reason or None,
        }
        for item in items
    ]


def _tell_plan(front: Front, to: str, items: list[RestoreItem]) -> None:
    counts = Counter(item.action.value for item in items)
    if front.as_json:
        writes = sum(item.bytes for item in items if item.action.value != "same")
        front.emit(
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
    columns = front.width() - 22
    front.say(
        f"{words[item.action.value]:<8} {size(item.bytes):>10}  {fit_path(one_line(item.target), columns)}"
        for item in items
    )
    note(
        f"{counts['write']:,} to write, {counts['same']:,} already there, {counts['differs']:,} there with other content;"
        " nothing was written"
    )


@click.command(cls=Command)
@click.option(
    "--deep", is_flag=True, help="Also check the database itself, and compare with the sources that still exist."
)
@click.option("--full", is_flag=True, help="Compare the indexes with the record in full, not by a sample.")
@click.option(
    "--since",
    metavar="REVISION",
    help="A revision noted earlier: prove that nothing kept by then was changed or removed.",
)
@click.option(
    "--repair",
    is_flag=True,
    help="Mend damaged chunks from sources that still have their bytes, read again what differs, rebuild wrong indexes.",
)
@common
@pass_front
def verify(front: Front, deep: bool, full: bool, since: str | None, repair: bool) -> None:
    """Check every kept byte against its hash, every write against the hash chain, and the indexes against the record.

    Exits with 1 when something does not match. Nothing is synced or changed without --repair. The revision that is printed stands for
    everything kept so far: note it elsewhere, and `--since` proves later that it is all still there.

    Examples:
      hansard verify
      hansard verify --deep --json
      hansard verify --since 412:9f3c0a
      hansard verify --repair
    """
    with front.engine() as h, BytesBar("Verifying", after=SLOW_SECONDS) as bar:
        report = h.verify(deep=deep, full=full, since=since, repair=repair, progress=bar)
    if front.as_json:
        front.emit(report)
    else:
        lines = [
            f"{many(report.transcripts, 'transcript')} and {many(report.files - report.transcripts, 'other file')},"
            f" {size(report.bytes)}: "
            + (
                "all as it was kept"
                if not report.mismatches
                else many(len(report.mismatches), "MISMATCH", "MISMATCHES")
            )
        ]
        if deep:
            changed = f"; {many(report.changed, 'file')} changed since the last sync" if report.changed else ""
            lines.append(f"{many(report.compared, 'file')} compared with the source{changed}")
        if report.rederived:
            lines.append(f"{many(report.rederived, 'transcript')} read again and compared with the indexes")
        if report.repaired:
            lines.append(f"{many(report.repaired, 'mismatch was', 'mismatches were')} repaired")
        lines.append(f"revision {report.revision}")
        for item in report.mismatches:
            place = f" at {item.offset:,}" if item.offset is not None else ""
            lines.append(f"  {one_line(item.path)}{place}: {one_line(item.reason)}")
        front.say(piece for line in lines for piece in wrap(line, front.width()))
    if report.mismatches:
        raise click.exceptions.Exit(1)
