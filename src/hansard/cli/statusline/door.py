"""The short way to the line: arguments that need no parser, the client's JSON, one line on stdout."""

from __future__ import annotations

import os
import sys
import time

from hansard.cli.statusline.known import Known, find_home
from hansard.cli.statusline.words import DEFAULT, SEPARATOR, ClientInput, compose, is_sound

TYPE_CHECKING = False  # `typing` would be the largest import
if TYPE_CHECKING:
    from typing import Any, BinaryIO

EVERY = 5
MOST = 1 << 20  # bytes of the client's JSON; real ones have two thousand
SECONDS = 0.08  # for reading the store
_NOTHING = "hansard: nothing known yet"


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
        given = [f"--home={home}", f"--color={self.color}"]
        given += [f"--root={os.path.abspath(os.path.expanduser(root))}" for root in self.roots]
        given += [f"--follow-links={os.path.abspath(os.path.expanduser(folder))}" for folder in self.follow_links]
        given += [f"--format={self.form}"] if self.form else []
        return [*given, "--no-sync"] if self.no_sync else given


def enter(arguments: list[str]) -> bool:
    """Do what the arguments say; gives False when that needs the whole command line, above all to explain a mistake."""
    wish = _parse(arguments)
    if wish is None:
        return False
    run(wish, sys.stdin)
    sys.stdout.flush()
    os._exit(0)  # tidying the interpreter up takes as long as all of the above


def _parse(arguments: list[str]) -> Options | None:
    wish = Options()
    rest = iter(arguments)
    for argument in rest:
        name, given, value = argument.partition("=")
        if argument in ("--no-sync", "--refresh"):
            setattr(wish, argument[2:].replace("-", "_"), True)
            continue
        if name not in ("--home", "--root", "--follow-links", "--format", "--color", "--every"):
            return None
        text = value if given else next(rest, "")
        if not text or not _take(wish, name[2:], text):
            return None
    return wish


def _take(wish: Options, name: str, text: str) -> bool:
    if name == "root":
        wish.roots.append(text)
    elif name == "follow-links":
        wish.follow_links.append(text)
    elif name == "every":
        if not (text.isascii() and text.isdigit() and len(text) < 5 and int(text) < 3600):
            return False
        wish.every = int(text)
    elif name == "format":
        wish.form = text
        return is_sound(text)
    elif name == "color":
        wish.color = text
        return text in ("auto", "always", "never")
    else:
        wish.home = text
    return True


def run(wish: Options, stdin: Any) -> None:
    """Print the line, then see to it that the next one is fresher."""
    if wish.refresh:
        from hansard.cli.statusline.refresh import refresh

        refresh(wish)
        return
    said = b"" if stdin.isatty() else read_all(stdin.buffer)
    try:
        home = find_home(wish.home)
    except Exception:  # noqa: BLE001 - the configuration makes no sense, the working directory is gone
        write(_NOTHING)
        return
    write(line_of(wish, home, said))
    if not wish.no_sync:
        from hansard.cli.statusline.behind import leave_refresh

        leave_refresh(wish, home)


def read_all(stream: BinaryIO) -> bytes:
    """What the client says, as far as it makes sense."""
    try:
        return stream.read(MOST)
    except (OSError, ValueError):  # closed
        return b""


def line_of(wish: Options, home: str, said: bytes) -> str:
    """The line for a session, whatever happens."""
    now = int(time.time() * 1000)
    try:
        given = ClientInput(said)
        return phrase(wish, given, Known.find(home, given.session_id, now, SECONDS), now) + _trouble(home)
    except Exception:  # noqa: BLE001 - the user's prompt is no place for a traceback
        return _NOTHING


def _trouble(home: str) -> str:
    """What the user must know of the store whatever the format says: that it does not keep everything."""
    if os.path.exists(os.path.join(home, "last-failure.json")):
        return f"{SEPARATOR}⚠ sync fails: hansard status"
    try:
        with open(os.path.join(home, "last-sync.json"), "rb") as file:
            content = file.read(200)
    except OSError:
        return ""
    return "" if b'"problems": 0}' in content else f"{SEPARATOR}⚠ files not kept: hansard status"


def phrase(wish: Options, given: ClientInput, known: Known, now: int) -> str:
    """The line for what is given and known."""
    form = wish.form or known.form or DEFAULT
    return compose(form, given, known, now, colored=wish.is_colored) or _NOTHING


def write(line: str) -> None:
    """Print the line as UTF-8, which is what the client reads."""
    try:
        sys.stdout.buffer.write(line.encode("utf-8", "replace") + b"\n")
        sys.stdout.flush()
    except (OSError, ValueError):  # nobody reads any more
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
