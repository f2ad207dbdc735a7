"""`hansard export`: sessions as files for people and programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from hansard.cli.arguments import QueryCommand, choose_session
from hansard.cli.context import SLOW_SECONDS, Context, note, reads, warn
from hansard.cli.output.progress import BytesBar, CountBar
from hansard.cli.request_options import SESSION_FILTERS, takes
from hansard.errors import HansardError, NotFound, UsageError
from hansard.model.requests import SessionsRequest
from hansard.render.format import many, size
from hansard.render.text import one_line

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.export import Exported
    from hansard.model.sessions import Session

_FORMATS = ("html", "markdown", "json", "jsonl", "csv", "parquet", "atif", "traces", "otlp")
_NAMED_AT_ONCE = 20
_MISSING = "name the sessions to export, select them with --project or another condition, or use --all"


@click.command(cls=QueryCommand)
@click.argument("words", metavar="SESSION...|QUERY", nargs=-1)
@takes(
    SessionsRequest,
    click.option("--to", required=True, metavar="PATH", help="The file or directory to write."),
    click.option(
        "--format", "form", type=click.Choice(_FORMATS), help="Output format; by default, from the extension of PATH."
    ),
    click.option("--all", "everything", is_flag=True, help="Every session, or every match of QUERY."),
    *SESSION_FILTERS,
    click.option("--empty", "debris", is_flag=True, help="Include empty sessions."),
    click.option(
        "--table", "tables", multiple=True, metavar="NAME", help="For csv and parquet: only this table; repeatable."
    ),
    click.option(
        "--timezone",
        "zone_name",
        metavar="ZONE",
        help="Time zone shown in pages, e.g. Europe/Berlin; your own by default.",
    ),
    click.option("--force", is_flag=True, help="Write everything again, and overwrite existing files."),
    click.option("--prune", is_flag=True, help="Remove files of earlier exports whose sessions are not selected now."),
    click.option(
        "--redact/--no-redact",
        default=None,
        help="Redact secrets; by default, in atif, traces and otlp only.",
    ),
)
@reads
def export(
    cli: Context,
    request: SessionsRequest,
    words: tuple[str, ...],
    to: str,
    form: str | None,
    everything: bool,
    tables: tuple[str, ...],
    zone_name: str | None,
    force: bool,
    prune: bool,
    redact: bool | None,
) -> None:
    """Write sessions as pages, documents or tables; files that are up to date are left alone.

    Arguments are SESSIONs. With --all or any filter they are a QUERY instead, as for `hansard sessions`.

    Examples:
      hansard export @last --to session.html
      hansard export --all --format html --to ~/history
      hansard export --project tidewater --since 30d --format markdown --to ~/notes/claude
      hansard export --all 'flaky login -tool:WebFetch' --format json --to /tmp/found
      hansard export --all --to items.jsonl
      hansard export --all --format parquet --to tables
      hansard export --all --table tool_calls --to calls.csv
      hansard export @last --to session.atif.json
    """
    if not to:
        raise UsageError("--to is empty; is a variable unset?")
    if to == "-":
        raise UsageError("export writes files; `hansard show SESSION --markdown|--html|--json` writes to stdout")
    narrowed = bool(request.given() or request.text)
    if not words and not everything and not narrowed:
        words = (choose_session(cli, None, missing=_MISSING),)
    from hansard.export.formats import TABULAR, find_format

    form = find_format(form, to)
    whole = everything and not words and not narrowed and form in TABULAR and not (request.debris and form == "csv")
    settings = cli.settings()
    with cli.reading(settings) as h:
        chosen: list[Session] | None = None
        if not everything and not narrowed:
            chosen = _named(h, words)
        elif not whole:
            chosen = list(h.sessions(replace(request, query=" ".join(words) or None, limit=None)).sessions)
            if not chosen:
                raise NotFound("no session matches")
        make_bar = CountBar if form in TABULAR else BytesBar
        with make_bar("Exporting", after=SLOW_SECONDS) as bar:
            done = h.export(
                chosen,
                to,
                format=form,
                tables=tables,
                timezone=zone_name or settings.timezone,
                force=force,
                prune=prune,
                redact=redact,
                progress=bar,
            )
    _tell(cli, done)


def _named(h: Hansard, words: tuple[str, ...]) -> list[Session]:
    try:
        found = [h.session(word) for word in words]
    except NotFound as error:
        raise NotFound(f"{error}. To export what a query finds, add --all") from error
    return list({session.session_id: session for session in found}.values())


def _tell(cli: Context, done: Exported) -> None:
    """Say what was done; exit code 3 when a session could not be exported."""
    if cli.as_json:
        cli.emit(done)
    else:
        counts = [f"{many(done.written, 'file')} written", f"{done.unchanged:,} unchanged"]
        if done.removed:
            counts.append(f"{done.removed:,} removed")
        cli.say([f"{', '.join(counts)}, {size(done.bytes)}, in {one_line(done.to)}"])
        if done.not_included:
            note(f"not in files of this format: {'; '.join(done.not_included)}")
    for failure in done.failed[:_NAMED_AT_ONCE]:
        warn(f"session {one_line(failure.session_id)}: {one_line(failure.reason[:400])}")
    if len(done.failed) > _NAMED_AT_ONCE:
        note(f"and {len(done.failed) - _NAMED_AT_ONCE:,} more; --json names them all")
    if done.failed:
        note(f"{many(done.skipped, 'session')} could not be exported; the others were")
        raise click.exceptions.Exit(HansardError.exit_code)
