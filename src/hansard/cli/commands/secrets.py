"""`hansard secrets`: what the history holds that should not be there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from hansard.cli.context import SLOW_SECONDS, Command, Context, Group, none_found, note, reads, warn
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
    from hansard.model.secrets import Scrubbed, SecretReport

_USUAL = "list"
_AT_ONCE = 32 << 20  # bytes that a list searches first by itself
_EXTRA = "Without the extra, only a few dozen kinds are known: pip install 'hansard[secrets]' adds 488"


class SecretsGroup(Group):
    """A group whose command may be left out, and may follow its options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the command's name first."""
        if ctx.resilient_parsing and not args:  # a shell completes the name
            return super().parse_args(ctx, args)
        options = [param for command in self.commands.values() for param in command.params]
        valued = {name for option in options for name in option.opts if not getattr(option, "is_flag", False)}
        name, rest = _USUAL, args
        waiting = iter(range(len(args)))
        for at in waiting:
            if args[at] in ctx.help_option_names:
                return super().parse_args(ctx, [args[at]])
            if args[at] in self.commands:
                name, rest = args[at], args[:at] + args[at + 1 :]
                break
            if args[at] in valued:
                next(waiting, None)
        return super().parse_args(ctx, [name, *rest])


@click.group(cls=SecretsGroup)
def secrets() -> None:
    """Find keys, tokens and passwords in the history, and decide about them.

    Without a command: `list`, with its options. Secrets are never stored a second time, and only `show --reveal` prints one. SECRET is
    the beginning of an id, or a placeholder such as [github-pat:3f2a]. Every command takes --json.

    Examples:
      hansard secrets
      hansard secrets scan
      hansard secrets show 3f2a91c0
      hansard secrets resolve 3f2a91c0 rotated --note 'new key since Monday'
      hansard secrets --state all --session @last
      hansard secrets scrub @last
    """


@secrets.command("list", cls=Command)
@click.argument("words", nargs=-1, metavar="")
@takes(SecretsRequest, "state confidence rule session project limit page cursor")
@reads
def list_(cli: Context, request: SecretsRequest, words: tuple[str, ...], page: int) -> None:
    """List the secrets that were found, open ones by default.

    Examples:
      hansard secrets list
      hansard secrets list --state all --session @last
      hansard secrets list --rule github --json
    """
    if words:
        raise UsageError("`list` takes options only; `hansard secrets show SECRET` shows one secret")
    with cli.reading() as h:
        found = read_page(h.secrets, request, page)
        if 0 < found.unscanned_bytes <= _AT_ONCE and not cli.no_sync:
            h.scan_secrets()
            found = read_page(h.secrets, request, page)
    show_page(cli, found, found.secrets, lambda: cli.draw(secret_table(found.secrets)), "secrets", page)
    if found.unscanned_bytes:
        warn(f"{size(found.unscanned_bytes)} were not searched yet: run `hansard secrets scan`")
    if not found.has_kept_rules:
        note(_EXTRA)
    if not found.secrets:
        none_found("no open secret" if request.state == "open" else "no secret matches")


@secrets.command(cls=Command)
@click.option("--full", is_flag=True, help="Search everything again.")
@reads
def scan(cli: Context, full: bool) -> None:
    """Search what is new in the record.

    `hansard web`, `tui` and `watch` also do that.

    Examples:
      hansard secrets scan
      hansard secrets scan --full
    """
    with cli.reading() as h, BytesBar("Searching", after=SLOW_SECONDS) as bar:
        report = h.scan_secrets(full=full, progress=bar, wait_seconds=10)
    if report.busy:
        raise StoreBusy("another process is searching this store for secrets: try again")
    found = f"{many(report.secrets, 'secret')} known, {report.new:,} new"
    cli.answer(report, lambda: [f"{size(report.bytes_read)} searched in {report.seconds:.1f} s: {found}"])


@secrets.command(cls=Command)
@click.argument("secret")
@takes(
    SecretRequest,
    click.option("--reveal", is_flag=True, help="Print the secret itself, in a terminal only."),
    "elsewhere",
)
@reads
def show(cli: Context, request: SecretRequest, reveal: bool) -> None:
    """Show every place of a secret, and how to replace it.

    Places are sessions, subagents, results, pastes and files.

    Examples:
      hansard secrets show 3f2a91c0
      hansard secrets show '[github-pat:3f2a]' --elsewhere
      hansard secrets show 3f2a91c0 --reveal
    """
    if reveal and not (sys.stdout.isatty() and not cli.as_json):
        raise UsageError("--reveal prints to a terminal only")
    with cli.reading() as h:
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


@secrets.command(cls=Command)
@click.argument("secret")
@click.argument("state", type=click.Choice(STATES))
@click.option("--note", "why", default="", metavar="TEXT", help="Why.")
@reads
def resolve(cli: Context, secret: str, state: str, why: str) -> None:
    """Record a decision about a secret. False alarms are not redacted.

    Examples:
      hansard secrets resolve 3f2a91c0 rotated --note 'new key since Monday'
      hansard secrets resolve 3f2a91c0 false-alarm
    """
    with cli.reading() as h:
        answer = h.resolve_secret(secret, state, note=why)
    cli.answer(answer, lambda: [f"{answer.secret_id[:ID_LENGTH]} {answer.title}: {answer.state}"])


@secrets.command(cls=Command)
@click.argument("names", nargs=-1, required=True, metavar="SESSION...")
@takes(
    ScrubRequest,
    "backup",
    click.option("--yes", "-y", is_flag=True, help="Do it; otherwise it is only shown."),
)
@reads
def scrub(cli: Context, request: ScrubRequest, yes: bool) -> None:
    """Put placeholders in place of secrets in the client's own files.

    They have the same length. The files are transcript, subagents, tool results, pastes, prompts, todos, plans and file history of the session, which can be resumed
    as before. Without --yes it is only shown. The record keeps the former content unless you add --no-backup.

    Examples:
      hansard secrets scrub @last
      hansard secrets scrub 5b2c77e1 --no-backup --yes
    """
    with cli.reading() as h:
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
