"""`hansard audit`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from hansard.cli.context import SLOW_SECONDS, Command, Context, note, reads
from hansard.cli.output.pager import write_bytes
from hansard.cli.output.progress import CountBar
from hansard.cli.request_options import takes
from hansard.errors import UsageError
from hansard.model.audit import AUDIT_FORMATS
from hansard.model.store_requests import AuditRequest
from hansard.render.format import many
from hansard.render.text import one_line, wrap

if TYPE_CHECKING:
    from hansard.model.audit import AuditReport

_ROWS = 15  # of each list in a terminal
_LISTED = 50  # programs, files and addresses in a report


@click.command(cls=Command)
@click.argument("session", required=False)
@takes(
    AuditRequest,
    "since until timezone project match min_severity rules",
    click.option(
        "-n",
        "--limit",
        "longest",
        type=click.IntRange(min=0),
        metavar="N",
        help=f"Longest list; 0 shows everything. By default {_ROWS}, and in reports {_LISTED}, but every operation.",
    ),
    click.option("--format", "form", type=click.Choice(AUDIT_FORMATS), help="Write a report in this format."),
    click.option("--to", metavar="FILE", help="Write the report to a .md, .html, .json or .csv file."),
    click.option("--force", is_flag=True, help="Overwrite FILE."),
    click.option("--csv", "as_csv", is_flag=True, help="Write the risky operations as CSV to stdout."),
    click.option("--sign", metavar="KEY", help="Sign FILE with this SSH key, into FILE.sig."),
    click.option(
        "--verify",
        metavar="REPORT",
        help="Prove that the record still has all that REPORT was made from; check its signature if it has one.",
    ),
)
@reads
def audit(
    cli: Context,
    request: AuditRequest,
    longest: int | None,
    form: str | None,
    to: str | None,
    force: bool,
    as_csv: bool,
    sign: str | None,
    verify: str | None,
) -> None:
    """Report what sessions did, and which operations were risky.

    For a period, a project or a SESSION: tools, commands, files, network addresses, permission modes, approvals and denials, subagents,
    models, and the operations that the rules of docs/audit-rules.md find, with the evidence. A report also states scope, method, what the
    record does not know, and the record's revision, which --verify checks later. Secrets are redacted.

    Examples:
      hansard audit --since 7d
      hansard audit @last --min-severity medium
      hansard audit --project shop --rule force-push --rule delete-outside
      hansard audit --since 2026-05-01 --until 2026-05-31 --to may.html --sign ~/.ssh/id_ed25519
      hansard audit --verify may.html
      hansard audit --since 30d --csv
    """
    if verify is not None:
        _verify(cli, verify)
        return
    form = "csv" if as_csv and form is None else "json" if cli.as_json and form is None else form
    if sign is not None and to is None:
        raise UsageError("--sign needs --to FILE")
    if to is not None:
        from hansard.export.audit import format_of

        form = format_of(to, form)
    limit = _LISTED if longest is None else longest or None
    with cli.reading() as h, CountBar("Reading calls", after=SLOW_SECONDS) as bar:
        report = h.audit(replace(request, limit=limit, progress=bar))
    if to is not None:
        _write(cli, report, to, form or "", sign, force=force)
    elif form is not None:
        from hansard.export.audit import draw

        write_bytes(draw(report, form))
    else:
        cli.say(_lines(cli, report, _ROWS if longest is None else longest or None))


def _lines(cli: Context, report: AuditReport, rows: int | None) -> Iterator[str]:
    from hansard.render.audit import sections, summary

    paint, columns = cli.paint(), cli.width()
    yield from wrap(summary(report), columns)
    for section in sections(report, rows, is_document=False):
        yield ""
        yield paint(section.title, "bold")
        for text in section.prose:
            yield from wrap(one_line(text), columns)
        if section.table is not None:
            yield from cli.draw(section.table)
        if section.left_out:
            yield paint(f"{section.left_out:,} more; -n 0 shows all", "dim")
    yield ""
    yield f"revision {report.revision}"


def _write(cli: Context, report: AuditReport, to: str, form: str, key: str | None, *, force: bool) -> None:
    from hansard.export.audit import sign, write

    write(report, to, form, force=force)
    note(
        f"{many(len(report.operations), 'risky operation')} of {many(report.totals.sessions, 'session')} in {one_line(to)}"
    )
    if key is not None:
        note(f"signature in {one_line(sign(to, key))}")
    if cli.as_json:
        cli.emit({"path": to, "format": form, "revision": report.revision, "operations": len(report.operations)})


def _verify(cli: Context, path: str) -> None:
    """Check the record against the revision of a report."""
    from hansard.cli.output.progress import BytesBar
    from hansard.export.audit import check_signature, revision_in

    revision = revision_in(path)
    signed = check_signature(path)
    with cli.engine() as h, BytesBar("Verifying", after=SLOW_SECONDS) as bar:
        found = h.verify(since=revision, progress=bar)
    is_proven = not found.mismatches
    if cli.as_json:
        cli.emit({"revision": revision, "is_proven": is_proven, "signature": signed, "verified": found})
    else:
        yes = (
            f"revision {revision} is part of this record, and everything that it had then is still there, byte for byte"
        )
        lines = [yes] if is_proven else [f"NOT PROVEN: revision {revision}"]
        lines += [f"  {one_line(item.path)}: {one_line(item.reason)}" for item in found.mismatches]
        if found.erased:
            lines.append(
                f"{many(found.erased, 'content was', 'contents were')} erased since the record began, on its owner's order"
            )
        lines.append(
            one_line(signed)
            if signed
            else "the report is not signed: the revision proves the record, not the report's text"
        )
        cli.say(piece for line in lines for piece in wrap(line, cli.width()))
    if not is_proven:
        raise click.exceptions.Exit(1)
