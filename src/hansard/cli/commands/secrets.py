"""`hansard secrets`: what the history holds that should not be there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from hansard.cli.context import SLOW_SECONDS, Command, Context, none_found, note, reads, warn
from hansard.cli.output.progress import BytesBar
from hansard.cli.request_options import read_page, show_page, takes
from hansard.errors import StoreBusy, UsageError
from hansard.model.secrets import STATES
from hansard.model.store_requests import ScrubRequest, SecretRequest, SecretsRequest
from hansard.render.erasing import plan_lines, receipt_words
from hansard.render.format import many, size
from hansard.render.secrets import ID_LENGTH, elsewhere_words, place_table, secret_table
from hansard.render.text import one_line

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.model.secrets import Scrubbed, SecretPage, SecretReport

ACTIONS = ("list", "scan", "show", "resolve", "scrub")
_AT_ONCE = 32 << 20  # bytes that a list searches first by itself
_EXTRA = "Without the extra, only a few dozen kinds are known: pip install 'hansard[secrets]' adds 488"


@click.command(cls=Command)
@click.argument("action", type=click.Choice(ACTIONS), default="list")
@click.argument("words", nargs=-1, metavar="[SECRET|SESSION] [STATE]")
@takes(
    SecretsRequest,
    "state confidence rule session project",
    click.option("--reveal", is_flag=True, help="With show: print the secret itself, in a terminal only."),
    click.option(
        "--elsewhere",
        is_flag=True,
        help="With show: also search the projects' working trees and git histories, and Hansard's exports, in full.",
    ),
    click.option("--full", is_flag=True, help="With scan: search everything again."),
    click.option("--note", "why", default="", metavar="TEXT", help="With resolve: why."),
    click.option(
        "--backup/--no-backup",
        default=True,
        help="With scrub: keep what was there in the record; without it, it is erased there too.",
    ),
    click.option("--yes", "-y", is_flag=True, help="With scrub: do it; otherwise it is only shown."),
    "limit page cursor",
)
@reads
def secrets(
    cli: Context,
    request: SecretsRequest,
    action: str,
    words: tuple[str, ...],
    reveal: bool,
    elsewhere: bool,
    full: bool,
    why: str,
    backup: bool,
    yes: bool,
    page: int,
) -> None:
    """Find keys, tokens and passwords in the history, and decide about them.

    `list` shows the secrets that were found, open ones by default; `scan` searches what is new, which `hansard web`, `tui` and
    `watch` also do; `show SECRET` lists every session, subagent, result, paste and file that holds one, and how to replace it;
    `resolve SECRET rotated|false-alarm|accepted|open` notes a decision. A false alarm is no longer redacted. SECRET is
    the beginning of an id, or a placeholder such as [github-pat:3f2a]. Secrets are never stored a second time, and only
    --reveal prints one.

    `scrub SESSION` puts placeholders of the same length in place of the secrets in the client's own files: transcript, subagents, tool
    results, pastes, prompts, todos, plans and file history of the session, which can be resumed as before. Without --yes it is only
    shown. The record keeps the former content unless you add --no-backup.

    Examples:
      hansard secrets
      hansard secrets scan
      hansard secrets show 3f2a91c0
      hansard secrets show 3f2a91c0 --elsewhere
      hansard secrets resolve 3f2a91c0 rotated --note 'new key since Monday'
      hansard secrets --state all --session @last
      hansard secrets scrub @last
      hansard secrets scrub 5b2c77e1 --no-backup --yes
    """
    with cli.reading() as h:
        if action == "scan":
            _scan(cli, h, full=full)
        elif action == "list":
            if words:
                raise UsageError("`list` takes options only; `hansard secrets show SECRET` shows one secret")
            _list(cli, h, request, page)
        elif action == "show":
            if len(words) != 1:
                raise UsageError("`show` takes one SECRET: the beginning of its id")
            _show(cli, h, SecretRequest(words[0], elsewhere=elsewhere), reveal=reveal)
        elif action == "scrub":
            if not words:
                raise UsageError("`scrub` takes sessions: the beginnings of their ids")
            _scrub(cli, h, ScrubRequest(names=words, backup=backup), yes=yes)
        else:
            if len(words) != 2:
                raise UsageError(f"`resolve` takes a SECRET and one of {', '.join(STATES)}")
            answer = h.resolve_secret(*words, note=why)
            cli.answer(answer, lambda: [f"{answer.secret_id[:ID_LENGTH]} {answer.title}: {answer.state}"])


def _scan(cli: Context, h: Hansard, *, full: bool) -> None:
    with BytesBar("Searching", after=SLOW_SECONDS) as bar:
        report = h.scan_secrets(full=full, progress=bar, wait_seconds=10)
    if report.busy:
        raise StoreBusy("another process is searching this store for secrets: try again")
    if cli.as_json:
        cli.emit(report)
        return
    found = f"{many(report.secrets, 'secret')} known, {report.new:,} new"
    cli.say([f"{size(report.bytes_read)} searched in {report.seconds:.1f} s: {found}"])


def _list(cli: Context, h: Hansard, request: SecretsRequest, number: int) -> None:
    page = read_page(h.secrets, request, number)
    if 0 < page.unscanned_bytes <= _AT_ONCE and not cli.no_sync:
        h.scan_secrets()
        page = read_page(h.secrets, request, number)
    show_page(cli, page, page.secrets, lambda: cli.draw(secret_table(page.secrets)), "secrets", number)
    _tell(page)
    if not page.secrets:
        none_found("no open secret" if request.state == "open" else "no secret matches")


def _tell(page: SecretPage) -> None:
    if page.unscanned_bytes:
        warn(f"{size(page.unscanned_bytes)} were not searched yet: run `hansard secrets scan`")
    if not page.has_kept_rules:
        note(_EXTRA)


def _show(cli: Context, h: Hansard, request: SecretRequest, *, reveal: bool) -> None:
    if reveal and not (sys.stdout.isatty() and not cli.as_json):
        raise UsageError("--reveal prints to a terminal only")
    report = h.secret(request)
    value = h.reveal_secret(request.secret) if reveal else ""
    cli.answer(report, lambda: _lines(cli, report, value))


def _lines(cli: Context, report: SecretReport, value: str) -> Iterator[str]:
    paint = cli.paint()
    one = report.secret
    yield f"{paint(one.title, 'bold')}, {one.state}" + (f": {one_line(one.note)}" if one.note else "")
    yield f"id {one.secret_id}, rule {one.rule}, {one.confidence} confidence"
    if value:
        yield f"value {value}" if value.isprintable() else repr(value)
    yield ""
    yield report.advice
    if report.page:
        yield report.page
    yield ""
    yield f"{many(one.places, 'place')} in {many(one.sessions, 'session')}:"
    yield from cli.draw(place_table(report.places))
    if report.elsewhere is not None:
        yield ""
        yield f"{many(len(report.elsewhere), 'place')} outside of the record:"
        for place in report.elsewhere:
            yield f"  {one_line(elsewhere_words(place))}"
        yield f"Searched: {', '.join(map(one_line, report.searched)) or 'nothing, no such folder is there'}"


def _scrub(cli: Context, h: Hansard, request: ScrubRequest, *, yes: bool) -> None:
    plan = h.plan_scrub(request)
    # `@last` may be another session a moment later.
    names = [session.session_id for session in plan.sessions]
    done = h.scrub(replace(request, names=names)) if yes else None
    if cli.as_json:
        cli.emit({"applied": yes, "items": plan.items, "warnings": plan.warnings, "scrubbed": done})
        return
    for warning in plan.warnings:
        warn(warning)
    if done is None:
        cli.say(plan_lines(plan, cli.draw))
        note("Nothing was changed. Run this again with --yes to put placeholders there.")
        return
    cli.say(_scrubbed_lines(done))


def _scrubbed_lines(done: Scrubbed) -> Iterator[str]:
    yield f"{many(done.secrets, 'secret')} replaced by placeholders in {many(done.files, 'file')} of the client"
    if done.left:
        yield f"{many(len(done.left), 'file')} left as {'it is' if len(done.left) == 1 else 'they are'}:"
        yield from (f"  {one_line(place)} ({reason})" for place, reason in done.left)
    if done.receipt is not None:
        yield receipt_words(done.receipt)
