"""`hansard export`: sessions as files for people and programs."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from hansard.cli.arguments import QueryCommand, choose_session
from hansard.cli.context import SLOW_SECONDS, Context, note, reads, warn
from hansard.cli.output.progress import BytesBar, CountBar
from hansard.cli.request_options import SESSION_FILTERS, takes
from hansard.errors import HansardError, NotFound, UsageError
from hansard.model.requests import SessionsRequest
from hansard.model.store_requests import ExportRequest
from hansard.render.format import many, size
from hansard.render.text import one_line

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.export import Exported
    from hansard.model.sessions import Session


_NAMED_AT_ONCE = 20
_SCAN_SECONDS = 10.0  # for another scan to end
_MISSING = "name the sessions to export, select them with --project or another condition, or use --all"


@click.command(cls=QueryCommand)
@click.argument("sessions", metavar="SESSION...|QUERY", nargs=-1)
@takes(ExportRequest, "to format tables timezone force prune")
@takes(
    SessionsRequest,
    click.option("--all", "everything", is_flag=True, help="Every session, or every match of QUERY."),
    *SESSION_FILTERS,
    click.option("--empty", "debris", is_flag=True, help="Include empty sessions."),
)
@reads
def export(cli: Context, request: ExportRequest, filters: SessionsRequest, everything: bool) -> None:
    """Write sessions as pages, documents or tables; files that are up to date are left alone.

    Secrets are redacted unless --redact off says otherwise. Arguments are SESSIONs. With --all or any filter they are a QUERY instead, as for `hansard sessions`.

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
    if not request.to:
        raise UsageError("--to is empty; is a variable unset?")
    if request.to == "-":
        raise UsageError("export writes files; `hansard show SESSION --markdown|--html|--json` writes to stdout")
    words = [str(word) for word in request.sessions or ()]
    narrowed = bool(filters.given() or filters.text)
    if not words and not everything and not narrowed:
        words = [choose_session(cli, None, missing=_MISSING)]
    from hansard.export.formats import TABULAR, find_format

    form = find_format(request.format, str(request.to))
    whole = everything and not words and not narrowed and form in TABULAR and not (filters.debris and form == "csv")
    settings = cli.settings()
    with cli.reading(settings, outgoing=True) as h:
        chosen: list[Session] | None = None
        left_out = 0
        if not everything and not narrowed:
            chosen = _named(h, words)
        elif not whole:
            found = h.sessions(replace(filters, query=" ".join(words) or None, limit=None))
            chosen = list(found.sessions)
            if not filters.debris:
                filters = replace(filters, query=" ".join(words) or None, debris=True, limit=1)
                left_out = h.sessions(filters).total - found.total
            if not chosen:
                raise NotFound("no session matches")
        if settings.redact_outgoing != "off":
            # Passwords that only one place names are redacted everywhere once that place was searched.
            ids = None if chosen is None else [session.session_id for session in chosen]
            with suppress(HansardError, OSError), BytesBar("Searching for secrets", after=SLOW_SECONDS) as bar:
                h.scan_secrets(sessions=ids, progress=bar, wait_seconds=_SCAN_SECONDS)
        make_bar = CountBar if form in TABULAR else BytesBar
        with make_bar("Exporting", after=SLOW_SECONDS) as bar:
            redact = settings.redact_outgoing
            done = h.export(replace(request, sessions=chosen, format=form, redact=redact, progress=bar))
    _tell(cli, done, left_out)


def _named(h: Hansard, words: list[str]) -> list[Session]:
    try:
        found = [h.session(word) for word in words]
    except NotFound as error:
        raise NotFound(f"{error}. To export what a query finds, add --all") from error
    return list({session.session_id: session for session in found}.values())


def _tell(cli: Context, done: Exported, left_out: int) -> None:
    """Say what was done; exit code 3 when a session could not be exported."""
    if cli.as_json:
        cli.emit(done)
    else:
        counts = [f"{many(done.written, 'file')} written", f"{done.unchanged:,} unchanged"]
        if done.removed:
            counts.append(f"{done.removed:,} removed")
        cli.say([f"{', '.join(counts)}, {size(done.bytes)}, in {one_line(done.to)}"])
        if done.redacted:
            cli.say([f"{many(done.redacted, 'secret')} redacted; --redact off keeps them"])
        if done.not_included:
            note(f"not in files of this format: {'; '.join(done.not_included)}")
        if left_out:
            note(f"{many(left_out, 'empty session')} left out, which may have cost something: --empty includes them")
    if done.unscanned_bytes:
        cli.has_told_unsearched = True
        warn(
            f"{size(done.unscanned_bytes)} of the history were not searched for secrets yet: a password that only these name"
            " is not redacted elsewhere. Run `hansard secrets scan`, then export again"
        )
    for failure in done.failed[:_NAMED_AT_ONCE]:
        warn(f"session {one_line(failure.session_id)}: {one_line(failure.reason[:400])}")
    if len(done.failed) > _NAMED_AT_ONCE:
        note(f"and {len(done.failed) - _NAMED_AT_ONCE:,} more; --json names them all")
    if done.failed:
        note(f"{many(done.skipped, 'session')} could not be exported; the others were")
        raise click.exceptions.Exit(HansardError.exit_code)
