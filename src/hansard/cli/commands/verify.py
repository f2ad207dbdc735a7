"""`hansard verify`."""

from __future__ import annotations

import click
from msgspec.structs import replace

from hansard.cli.context import SLOW_SECONDS, Command, Context, common, program
from hansard.cli.output.progress import BytesBar
from hansard.cli.request_options import takes
from hansard.errors import UsageError
from hansard.model.store_requests import VerifyRequest
from hansard.render.format import many, size
from hansard.render.text import one_line, wrap


@click.command(cls=Command)
@takes(
    VerifyRequest,
    "deep full since repair",
    click.option(
        "--salvage",
        metavar="DIR",
        help="Copy everything still readable in a damaged record to a new data directory, and check nothing else.",
    ),
)
@common
def verify(cli: Context, request: VerifyRequest, salvage: str | None) -> None:
    """Check every stored byte against its hash, every write against the hash chain, and the indexes against the record.

    Exits with 1 when something does not match. Contents that are intact but unproven are listed and do not change the
    exit code. Without --repair, nothing is synced or changed. The printed revision identifies everything
    stored so far: save it elsewhere, and --since proves later that all of it is still there.

    Examples:
      hansard verify
      hansard verify --deep --json
      hansard verify --since 412:9f3c0a
      hansard verify --repair
      hansard verify --salvage ~/hansard-salvaged
    """
    if salvage is not None:
        if request != VerifyRequest():
            raise UsageError("--salvage cannot be used with other options")
        _salvage(cli, salvage)
        return
    with cli.engine() as h, BytesBar("Verifying", after=SLOW_SECONDS) as bar:
        report = h.verify(replace(request, progress=bar))
    if cli.as_json:
        cli.emit(report)
    else:
        lines = [
            f"{many(report.transcripts, 'transcript')} and {many(report.files - report.transcripts, 'other file')},"
            f" {size(report.bytes)}: "
            + ("all intact" if not report.mismatches else many(len(report.mismatches), "MISMATCH", "MISMATCHES"))
        ]
        if request.deep:
            changed = f"; {many(report.changed, 'file')} changed since the last sync" if report.changed else ""
            lines.append(f"{many(report.compared, 'file')} compared with the source{changed}")
        if report.rederived:
            lines.append(f"{many(report.rederived, 'transcript')} read again and compared with the indexes")
        if report.repaired:
            lines.append(f"{many(report.repaired, 'mismatch was', 'mismatches were')} repaired")
        if report.damaged_copy is not None:
            lines.append(
                f"the damaged record is kept as {one_line(report.damaged_copy)}; remove it when nothing is missing"
            )
        lines.append(f"revision {report.revision}")
        if report.unproven:
            lines.append(
                f"{many(len(report.unproven), 'content is', 'contents are')} UNPROVEN: read while the file was being rewritten, and"
                " not found again in it"
            )
        lines += [
            f"  {one_line(item.path)} from {item.proven:,} to {item.size:,}: the file may never have held all of these bytes at once"
            for item in report.unproven
        ]
        for item in report.mismatches:
            place = f" at {item.offset:,}" if item.offset is not None else ""
            lines.append(f"  {one_line(item.path)}{place}: {one_line(item.reason)}")
        cli.say(piece for line in lines for piece in wrap(line, cli.width()))
    if report.mismatches:
        raise click.exceptions.Exit(1)


def _salvage(cli: Context, to: str) -> None:
    with cli.engine() as h:
        report = h.salvage(to)
    if cli.as_json:
        cli.emit(report)
        return
    lost = sum(loss.length for loss in report.losses)
    lines = [
        f"{many(report.files, 'file')}, {size(report.bytes)} and {many(report.remarks, 'remark')} salvaged to {one_line(to)}: "
        + (f"{size(lost)} LOST in {many(len(report.losses), 'place')}" if report.losses else "nothing was lost")
    ]
    lines += [f"  {one_line(loss.path)} at {loss.offset:,}: {size(loss.length)}" for loss in report.losses]
    if report.unnamed:
        lines.append(f"{many(report.unnamed, 'file')} without a name: see projects/salvaged")
    lines.append(
        f"Next: {program()} verify --repair --home {one_line(to)}, which repairs from the sources, then {program()} sync --home {one_line(to)}"
    )
    cli.say(piece for line in lines for piece in wrap(line, cli.width()))
