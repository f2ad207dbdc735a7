"""What every command shares: common options, an engine that is up to date, output to stdout and stderr."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from hansard.errors import HansardError, NotFound, StoreBusy, StoreUnusable, UsageError
from hansard.render.text import PIPED, Paint, clean

if TYPE_CHECKING:
    import threading
    from types import FrameType

    from hansard.config import Settings
    from hansard.engine import Hansard
    from hansard.guard.redaction import Mode
    from hansard.model.files import Coverage
    from hansard.model.table import Table
    from hansard.render.format import ProjectNames
    from hansard.sync.report import SyncReport

SLOW_SECONDS = 1.0  # show progress of what takes longer
LOCK_SECONDS = 2.0  # how long to wait for another process's sync before answering without it
MUCH_BYTES = 16 << 20  # do not report smaller syncs, even slow ones
NOT_CHANGED = "Nothing was changed. Run this again with --yes to make these changes."
_LOOK_SECONDS = 0.5
_NARROW = 40
_CHART = 100
_Command = TypeVar("_Command", bound=Callable[..., Any])


class Context:
    """The common options, given before or after the command's name."""

    def __init__(self) -> None:
        self.home: str | None = None
        self.roots: list[str] = []
        self.follow_links: list[str] = []
        self.as_json = False
        self.no_sync = False
        self.color = "auto"
        self.no_pager = False
        self.redact: Mode | None = None
        self.wait: bool | None = None
        self.coverage: Coverage | None = None  # set while the first sync is incomplete
        self.names: ProjectNames = {}  # of the projects of the store
        self.syncing = False  # in the background or another process
        self._is_told = False
        self.has_told_unsearched = False
        self._settings: Settings | None = None

    # -- output

    def emit(self, value: Any) -> None:
        """Write the answer as one JSON document."""
        from hansard.model.serialize import encoded, plain

        if self.coverage is not None:
            value = {**plain(value), "incomplete": {**plain(self.coverage), "syncing": self.syncing}}
        stream = sys.stdout.buffer
        stream.write(encoded(value))
        stream.flush()
        self.tell_coverage()

    def answer(self, value: Any, lines: Callable[[], Iterable[str]]) -> None:
        """Write the answer as JSON if that was asked for, else as lines for people, which are only made then."""
        if self.as_json:
            self.emit(value)
        else:
            self.say(lines())

    def draw(self, table: Table, *, cut: bool = False) -> list[str]:
        """The lines of a table for this terminal."""
        from hansard.render.terminal.tables import draw_table

        return draw_table(table, self.width(), self.paint(), self.names, cut=cut)

    def preview(self, lines: list[str]) -> None:
        """Show changes that only --yes makes."""
        self.answer({"applied": False, "changes": lines}, lambda: lines)
        note(NOT_CHANGED)

    def say(self, lines: Iterable[str]) -> None:
        """Write lines for people; text from transcripts must be cleaned already."""
        from hansard.cli.output.pager import write

        write(lines, paged=not self.no_pager, color=self.paint().enabled)
        self.tell_coverage()

    def tell_coverage(self) -> None:
        """Warn once if the answer does not cover the whole history yet."""
        if self.coverage is not None and not self._is_told:
            self._is_told = True
            warn(_describe(self.coverage, syncing=self.syncing))

    def tell_unsearched(self, h: Hansard) -> None:
        """Warn once if redaction is on and much of the history was never searched for secrets."""
        if h.redact is None or self.has_told_unsearched:
            return
        with contextlib.suppress(HansardError):  # the command reports it
            if count := h.unsearched_bytes():
                from hansard.render.secrets import unsearched_words

                self.has_told_unsearched = True
                warn(unsearched_words(count))

    def paint(self) -> Paint:
        """Whether stdout gets colours, and how."""
        if self.color != "auto":
            return Paint(self.color == "always")
        plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        return Paint(not plain and _is_terminal(sys.stdout))

    def width(self) -> int:
        """The terminal's columns, or COLUMNS; output to a pipe is not cut."""
        if not _is_terminal(sys.stdout) and not os.environ.get("COLUMNS"):
            return PIPED
        from hansard.cli.output.pager import terminal_size

        return max(_NARROW, terminal_size().columns)

    def chart_width(self) -> int:
        """The columns of what is drawn across the whole width."""
        return min(self.width(), _CHART)

    # -- the engine

    def settings(self) -> Settings:
        """Options, environment and configuration file combined; read once."""
        if self._settings is None:
            from hansard import config

            self._settings = config.load(
                os.environ, home=self.home, roots=self.roots, follow_links=self.follow_links, redact=self.redact
            )
            for warning in self._settings.warnings:
                warn(warning)
        return self._settings

    def engine(self, settings: Settings | None = None) -> Hansard:
        """The engine on the user's store, as it is."""
        return (settings or self.settings()).open()

    @contextlib.contextmanager
    def reading(
        self, settings: Settings | None = None, *, early: bool = False, waits: bool = True, outgoing: bool = False
    ) -> Iterator[Hansard]:
        """The engine, after a sync unless the user said --no-sync.

        With `early`, in a terminal, the newest part of a large history is enough until its first sync is complete. Without `waits`, do
        not wait for a first sync in another process, even in a script. What is `outgoing` is redacted by default.
        """
        with (settings or self.settings()).open_outgoing() if outgoing else self.engine(settings) as h:
            if not h.roots and not has_store(h):
                warn(str(no_roots()))
            elif not self.no_sync:
                self.bring_up_to_date(h, early=early, waits=waits)
            if has_store(h):
                with contextlib.suppress(HansardError):  # the command reports it
                    self.coverage = h.coverage()
                    self.names = h.project_names()
            progress = h.sync_progress() if self.no_sync or self.coverage is not None else None
            self.syncing = self.syncing or progress is not None
            if not early:
                self.tell_coverage()  # commands with `early` warn below their answers
            if progress is not None and self.coverage is None:
                warn(f"a sync is running, {progress.words}: results cover what is indexed so far")
            try:
                yield h
                self.tell_unsearched(h)
            except NotFound as error:
                if progress := h.sync_progress():
                    raise type(error)(
                        f"{error}\nA sync is running, {progress.words}: it may not be indexed yet"
                    ) from None
                raise

    def bring_up_to_date(self, h: Hansard, *, early: bool = False, waits: bool = True) -> SyncReport | None:
        """Sync before an answer; on failure warn, and answer from what is indexed."""
        try:
            report = self._sync(h, early=early, waits=waits)
        except (StoreUnusable, StoreBusy) as error:
            if not has_store(h):
                raise
            warn(f"{error}\nResults cover what is indexed so far.")
            return None
        if closed := closed_roots(h, report):
            warn(f"nothing could be read from {', '.join(closed)}: check the permissions")
        if report.busy and h.coverage() is None:
            progress = h.sync_progress()
            told = f", {progress.words}" if progress else ""
            warn(f"another process is syncing{told}: results cover what is indexed so far")
        elif report.seconds > SLOW_SECONDS and report.bytes_read > MUCH_BYTES and not report.partial:
            from hansard.render.format import many, size

            note(f"synced {many(report.changed, 'file')}, {size(report.bytes_read)}, in {report.seconds:.1f} s")
        return report

    def _sync(self, h: Hansard, *, early: bool, waits: bool) -> SyncReport:
        from hansard.cli.output.progress import SyncBar

        complete = self.wait if self.wait is not None else self.as_json or not _is_terminal(sys.stdout)
        newest_only = not complete and (early or self.wait is False)
        patience = 0.0 if newest_only and h.sync_progress() else LOCK_SECONDS
        with SyncBar(after=3 * SLOW_SECONDS if newest_only else SLOW_SECONDS) as bar:
            report = h.sync(listener=bar, newest_only=newest_only, wait_seconds=patience)
            if report.partial:
                self.syncing = _sync_in_background(h)
                if not self.syncing:
                    return h.sync(listener=bar)
        if report.busy:
            self.syncing = True
            if complete and waits and h.revision() <= 0:
                self.syncing = False
                return _wait_until_complete(h)
        return report

    def must_not_redact(self, command: str) -> None:
        """Refuse --redact for what is verbatim by purpose."""
        if self.redact not in (None, "off"):
            raise UsageError(
                f"{command} gives bytes as they were recorded, without redaction: use `hansard show` or `export`"
            )

    def must_sync(self, command: str) -> None:
        if self.no_sync:
            raise UsageError(f"{command} cannot be used with --no-sync")


pass_context = click.make_pass_decorator(Context, ensure=True)


class Command(click.Command):
    """A command whose help shows its examples line by line."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        import inspect

        self.help = inspect.cleandoc(self.help or "").replace("\n\nExamples:", "\n\n\b\nExamples:")
        super().format_help_text(ctx, formatter)


class Group(Command, click.Group):
    """A command with commands of its own."""


def has_store(h: Hansard | Settings) -> bool:
    """Whether this data directory has a record."""
    return os.path.exists(os.path.join(h.home, "record.db"))


def closed_roots(h: Hansard, report: SyncReport) -> list[str]:
    """The projects directories that could not be read at all."""
    closed = {line.rpartition(": ")[0] for line in report.unreadable}
    return [root.transcripts for root in h.roots if root.transcripts in closed]


def program() -> str:
    """How to run this program again: its name, or its path if it is not on PATH."""
    from hansard.cli.output.pager import is_on_path

    path = sys.argv[0] if sys.argv else ""
    if os.path.basename(path) != "hansard" or is_on_path("hansard"):
        return "hansard"
    from shlex import quote

    with contextlib.suppress(OSError, ValueError):  # no working directory, or one on another drive
        near = os.path.relpath(path)
        path = path if near.startswith(os.pardir) else near
    return quote(path)


def now() -> datetime:
    return datetime.fromtimestamp(time.time(), UTC)


def note(text: str) -> None:
    click.echo(clean(text), err=True)


def warn(text: str) -> None:
    note(f"hansard: {text}")


def none_found(text: str) -> NoReturn:
    """Say that nothing matches, and exit with 1 as grep does."""
    warn(text)
    raise click.exceptions.Exit(1)


@contextlib.contextmanager
def interrupted_by_sigterm(stop: threading.Event | None = None) -> Iterator[None]:
    """Treat SIGTERM as Ctrl-C, and set `stop`."""
    import signal
    import threading

    def end(_number: int, _frame: FrameType | None) -> None:
        if stop is not None:
            stop.set()
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


def no_roots() -> NotFound:
    """The error for a user without a history in the usual places."""
    from hansard.config import usual_places

    looked = os.environ.get("CLAUDE_CONFIG_DIR") or " and ".join(usual_places(os.environ))
    return NotFound(
        f"no Claude Code history found (looked in {looked}). Set one with --root DIR or CLAUDE_CONFIG_DIR,"
        " or try `hansard demo`"
    )


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


# -- the first sync of a large history


def _sync_in_background(h: Hansard) -> bool:
    """Start `hansard sync` in the background; False if that is impossible."""
    from hansard.cli.background import START, spawn

    if not sys.executable:
        return False
    command = [sys.executable, "-P", "-c", START, "sync", "--home", h.home]
    for root in h.roots:
        command += ["--root", root.path]
    for folder in h.roots[0].follow_links if h.roots else ():
        command += ["--follow-links", folder]
    try:
        spawn(command)
    except OSError:
        return False
    return True


def _wait_until_complete(h: Hansard) -> SyncReport:
    """Wait for another process's sync, however long it takes, then sync."""
    from hansard.cli.output.progress import CountBar, SyncBar

    with CountBar("Waiting for another sync", after=0) as waiting, SyncBar(after=1.0) as bar:
        while (report := h.sync(listener=bar)).busy:
            while progress := h.sync_progress():
                waiting(progress.files, progress.files_total)
                time.sleep(_LOOK_SECONDS)
    return report


def _describe(coverage: Coverage, *, syncing: bool) -> str:
    """Describe what an answer covers."""
    from hansard.render.format import size

    part = f"{coverage.transcripts:,} of {coverage.transcripts_total:,} transcripts"
    sizes = f"{size(coverage.bytes)} of {size(coverage.bytes_total)}"
    rest = "the rest is being indexed in the background" if syncing else "`hansard sync` indexes the rest"
    return f"results cover the newest {part} ({sizes}); {rest}"


# -- options


def _keep(name: str) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """Store an option's value in the context, whether it was given before or after the command."""

    def callback(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
        cli = ctx.ensure_object(Context)
        if name in ("roots", "follow_links"):
            if "" in value:
                raise click.BadParameter("the path is empty; is a variable unset?", ctx, param)
            getattr(cli, name).extend(value)
        elif value or (name == "wait" and value is not None):
            setattr(cli, name, value)
        return value

    return callback


def _option(*names: str, keep: str, **more: Any) -> Callable[[_Command], _Command]:
    return click.option(*names, expose_value=False, callback=_keep(keep), **more)


def common(command: Callable[..., Any]) -> Callable[..., Any]:
    """Pass a command its context, and add the options that every command has."""
    command = pass_context(command)
    for add in (
        _option(
            "--color",
            keep="color",
            type=click.Choice(["auto", "always", "never"]),
            help="When to use colors; auto means in a terminal.",
        ),
        _option("--json", keep="as_json", is_flag=True, help="Write one JSON document to stdout."),
        _option(
            "--follow-links",
            keep="follow_links",
            multiple=True,
            metavar="DIR",
            help="Follow links in the roots that point into this directory; repeatable.",
        ),
        _option(
            "--root",
            keep="roots",
            multiple=True,
            metavar="DIR",
            help="A source root, instead of the default ones; repeatable.",
        ),
        _option("--home", keep="home", metavar="DIR", help="Where Hansard keeps its own files."),
    ):
        command = add(command)
    return command


def reads(command: Callable[..., Any]) -> Callable[..., Any]:
    """`common`, and the options of every command that answers from the store."""
    for add in (
        _option("--no-pager", keep="no_pager", is_flag=True, help="Write to the terminal directly."),
        _option(
            "--wait/--no-wait",
            keep="wait",
            default=None,
            help="Wait for the first sync of a large history, or answer from its newest part at once. By default only the overview,"
            " sessions, usage and status answer at once, and only in a terminal.",
        ),
        _option(
            "--redact",
            keep="redact",
            is_flag=False,
            flag_value="on",
            type=click.Choice(["off", "on", "strict"]),
            help="Redact secrets. By default on for what leaves this machine, and off for what you see.",
        ),
        _option("--no-redact", keep="redact", flag_value="off", hidden=True),
        _option("--no-sync", keep="no_sync", is_flag=True, help="Do not sync first; use what is already indexed."),
    ):
        command = add(command)
    return common(command)
