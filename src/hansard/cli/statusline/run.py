"""The fast path of `hansard statusline`: its options without click, the client's JSON, one line on stdout."""

from __future__ import annotations

import os
import sys
import time

from hansard.cli.fast_start import FastOptions, decode, leave, read_input
from hansard.cli.statusline.line import SEPARATOR, ClientInput, compose, is_sound, unkept_words
from hansard.cli.statusline.snapshot import HighWaterMark, Snapshot, find_state, load
from hansard.directories import data_directory

TYPE_CHECKING = False  # `typing` would be the largest import
if TYPE_CHECKING:
    from typing import Any

    from hansard.cli.background import ProcessLock

EVERY = 5
LOCK = "statusline.lock"
NOTHING = "hansard: no data yet"


class Options(FastOptions):
    """The options of `hansard statusline`."""

    FLAGS = ("--no-sync", "--refresh")
    VALUES = (*FastOptions.VALUES, "--format", "--every")

    def __init__(self) -> None:
        super().__init__()
        self.form: str | None = None
        self.color = "auto"
        self.every = EVERY
        self.no_sync = False
        self.refresh = False

    @property
    def is_colored(self) -> bool:
        """Whether the line has colours: the client shows them, so `auto` means unless NO_COLOR is set."""
        return self.color == "always" or (self.color == "auto" and not os.environ.get("NO_COLOR"))

    def take(self, name: str, text: str) -> bool:
        """Set an option and return whether its value is valid."""
        if name == "--every":
            if not (text.isascii() and text.isdigit() and len(text) < 5 and int(text) < 3600):
                return False
            self.every = int(text)
        elif name == "--format":
            self.form = text
            return is_sound(text)
        elif name == "--color":
            self.color = text
            return text in ("auto", "always", "never")
        return super().take(name, text)

    def arguments(self, home: str) -> list[str]:
        given = [*super().arguments(home), f"--color={self.color}", f"--every={self.every}"]
        given += [f"--format={self.form}"] if self.form else []
        return [*given, "--no-sync"] if self.no_sync else given


def run_fast(arguments: list[str]) -> None:
    """Run and exit; returns if the arguments are invalid, so that click reports it."""
    options = Options()
    options.parse(arguments)
    if not options.mistakes and not options.words:
        run(options, sys.stdin)
        leave()


def run(options: Options, stdin: Any) -> None:
    """Print the line, then start a refresh if the snapshot is stale."""
    if options.refresh:
        from hansard.cli.statusline.refresh import refresh

        refresh(options)
        return
    said = read_input(stdin)
    try:
        home = data_directory(options.home, os.environ)
    except Exception:  # noqa: BLE001 - the working directory is gone
        write(NOTHING)
        return
    snapshot, state = load(home), find_state(home)
    now = int(time.time() * 1000)
    given = ClientInput(said)
    mark = HighWaterMark(home, given.session_id)
    write(line_of(options, given, snapshot, state, now, mark) + trouble(home, snapshot))
    if snapshot is None or snapshot.is_stale(state, now) or not (options.no_sync or now < snapshot.next_sync):
        start_refresh(options, home)


def start_refresh(options: Options, home: str) -> None:
    """Start a refresh that outlives this process, unless one is running or was started just now."""
    from hansard.cli.background import start_once

    try:
        if not options.no_sync:
            os.makedirs(home, mode=0o700, exist_ok=True)
        start_once(refresh_lock(home), ["statusline", "--refresh", *options.arguments(home)], options.every)
    except OSError:  # no home, a read-only one, too many processes: the line is printed anyway
        return


def refresh_lock(home: str) -> ProcessLock:
    from hansard.cli.background import ProcessLock

    return ProcessLock(os.path.join(home, LOCK))


def line_of(
    options: Options, given: ClientInput, snapshot: Snapshot | None, state: str, now: int, mark: HighWaterMark
) -> str:
    """The line of a session; never raises. High-water marks are saved before it is printed."""
    for known in (snapshot, None):  # ignore a snapshot that is JSON but not ours
        try:
            line = compose(options.form, given, known, state, now, mark, colored=options.is_colored) or NOTHING
        except Exception:  # noqa: BLE001, S112 - no traceback in the user's prompt
            continue
        mark.save(create_home=not options.no_sync)
        return line
    return NOTHING


def trouble(home: str, snapshot: Snapshot | None = None) -> str:
    """A warning that the store does not keep everything, which any format shows.

    Only what the client deletes soon is read from the snapshot, which cannot be written on a full disk.
    """
    if os.path.exists(os.path.join(home, "last-failure.json")):
        return f"{SEPARATOR}⚠ sync fails: hansard status"
    try:
        with open(os.path.join(home, "last-sync.json"), "rb") as file:
            is_complete = decode(file.read(200))["problems"] == 0
    except OSError:
        is_complete = True
    except (ValueError, LookupError, TypeError):  # truncated, or not ours
        is_complete = False
    if not is_complete:
        return f"{SEPARATOR}⚠ files not kept: hansard status"
    words = unkept_words(snapshot)
    return f"{SEPARATOR}⚠ {words}: hansard sync" if words else ""


def write(line: str) -> None:
    """Print the line as UTF-8, which is what the client reads."""
    try:
        sys.stdout.buffer.write(line.encode("utf-8", "replace") + b"\n")
        sys.stdout.flush()
    except (OSError, ValueError):  # the reader is gone
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
