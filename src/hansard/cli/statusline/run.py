"""The fast path of `hansard statusline`: its options without click, the client's JSON, one line on stdout."""

from __future__ import annotations

import os
import sys
import time

from hansard.cli.statusline.line import SEPARATOR, ClientInput, compose, is_sound
from hansard.cli.statusline.snapshot import HighWaterMark, Snapshot, find_state, load
from hansard.directories import data_directory

TYPE_CHECKING = False  # `typing` would be the largest import
if TYPE_CHECKING:
    from typing import Any, BinaryIO

EVERY = 5
MOST = 1 << 20  # bytes of the client's JSON; real ones have two thousand
NOTHING = "hansard: no data yet"


class Options:
    """What the options ask for."""

    def __init__(self) -> None:
        self.home: str | None = None
        self.roots: list[str] = []
        self.follow_links: list[str] = []
        self.form: str | None = None
        self.color = "auto"
        self.every = EVERY
        self.no_sync = False
        self.refresh = False

    @property
    def is_colored(self) -> bool:
        """Whether the line has colours: the client shows them, so `auto` means unless NO_COLOR is set."""
        return self.color == "always" or (self.color == "auto" and not os.environ.get("NO_COLOR"))

    def arguments(self, home: str) -> list[str]:
        """The options again, for another process."""
        given = [f"--home={home}", f"--color={self.color}", f"--every={self.every}"]
        given += [f"--root={os.path.abspath(os.path.expanduser(root))}" for root in self.roots]
        given += [f"--follow-links={os.path.abspath(os.path.expanduser(folder))}" for folder in self.follow_links]
        given += [f"--format={self.form}"] if self.form else []
        return [*given, "--no-sync"] if self.no_sync else given


def run_fast(arguments: list[str]) -> bool:
    """Do what the arguments say; gives False when that needs the whole command line, above all to explain a mistake."""
    options = _parse(arguments)
    if options is None:
        return False
    run(options, sys.stdin)
    sys.stdout.flush()
    os._exit(0)  # tidying the interpreter up takes as long as all of the above


def _parse(arguments: list[str]) -> Options | None:
    options = Options()
    rest = iter(arguments)
    for argument in rest:
        name, given, value = argument.partition("=")
        if argument in ("--no-sync", "--refresh"):
            setattr(options, argument[2:].replace("-", "_"), True)
            continue
        if name not in ("--home", "--root", "--follow-links", "--format", "--color", "--every"):
            return None
        text = value if given else next(rest, "")
        if not text or not _take(options, name[2:], text):
            return None
    return options


def _take(options: Options, name: str, text: str) -> bool:
    if name == "root":
        options.roots.append(text)
    elif name == "follow-links":
        options.follow_links.append(text)
    elif name == "every":
        if not (text.isascii() and text.isdigit() and len(text) < 5 and int(text) < 3600):
            return False
        options.every = int(text)
    elif name == "format":
        options.form = text
        return is_sound(text)
    elif name == "color":
        options.color = text
        return text in ("auto", "always", "never")
    else:
        options.home = text
    return True


def run(options: Options, stdin: Any) -> None:
    """Print the line, then see to it that the next one is fresher."""
    if options.refresh:
        from hansard.cli.statusline.refresh import refresh

        refresh(options)
        return
    said = b"" if stdin.isatty() else read_all(stdin.buffer)
    try:
        home = data_directory(options.home, os.environ)
    except Exception:  # noqa: BLE001 - the working directory is gone
        write(NOTHING)
        return
    snapshot, state = load(home), find_state(home)
    now = int(time.time() * 1000)
    given = ClientInput(said)
    mark = HighWaterMark(home, given.session_id)
    write(line_of(options, given, snapshot, state, now, mark) + trouble(home))
    if snapshot is None or snapshot.is_stale(state, now) or not (options.no_sync or now < snapshot.next_sync):
        from hansard.cli.statusline.background import start_refresh

        start_refresh(options, home)


def read_all(stream: BinaryIO) -> bytes:
    """What the client says, as far as it makes sense."""
    try:
        return stream.read(MOST)
    except (OSError, ValueError):  # closed
        return b""


def line_of(
    options: Options, given: ClientInput, snapshot: Snapshot | None, state: str, now: int, mark: HighWaterMark
) -> str:
    """The line for a session, whatever happens; what it shows is remembered before anybody sees it."""
    for known in (snapshot, None):  # one that is JSON, but not ours, is as good as none
        try:
            line = compose(options.form, given, known, state, now, mark, colored=options.is_colored) or NOTHING
        except Exception:  # noqa: BLE001, S112 - the user's prompt is no place for a traceback
            continue
        mark.save(create_home=not options.no_sync)
        return line
    return NOTHING


def trouble(home: str) -> str:
    """What the user must know of the store whatever the format says: that it does not keep everything.

    Read here and not from the snapshot: on a full disk there is a failure to tell, and no way to write a snapshot.
    """
    if os.path.exists(os.path.join(home, "last-failure.json")):
        return f"{SEPARATOR}⚠ sync fails: hansard status"
    try:
        with open(os.path.join(home, "last-sync.json"), "rb") as file:
            content = file.read(200)
    except OSError:
        return ""
    return "" if b'"problems": 0}' in content else f"{SEPARATOR}⚠ files not kept: hansard status"


def write(line: str) -> None:
    """Print the line as UTF-8, which is what the client reads."""
    try:
        sys.stdout.buffer.write(line.encode("utf-8", "replace") + b"\n")
        sys.stdout.flush()
    except (OSError, ValueError):  # nobody reads any more
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
