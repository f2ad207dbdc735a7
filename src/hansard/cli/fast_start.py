"""How `statusline` and `hook` start: their options without click, and the client's JSON without `json`.

A client runs them many times a minute and waits. Python itself starts in 22 ms of CPU time; importing `json` adds 17, click or msgspec about 70 each.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # `typing` would be the largest import
if TYPE_CHECKING:
    from typing import Any

MOST = 4 << 20  # bytes of the client's JSON that are read; a status line's input has about two thousand


class FastOptions:
    """The options that both commands have; each adds its own."""

    FLAGS: tuple[str, ...] = ()
    IGNORED: tuple[str, ...] = ()  # flags that every command has and this one does not need
    VALUES: tuple[str, ...] = ("--home", "--root", "--follow-links", "--color")

    def __init__(self) -> None:
        self.home: str | None = None
        self.roots: list[str] = []
        self.follow_links: list[str] = []
        self.words: list[str] = []
        self.mistakes: list[str] = []

    def parse(self, arguments: list[str]) -> None:
        rest = iter(arguments)
        for argument in rest:
            name, given, value = argument.partition("=")
            if argument in self.FLAGS:
                setattr(self, argument[2:].replace("-", "_"), True)
            elif name in self.VALUES:
                text = value if given else next(rest, "")
                if not text or not self.take(name, text):
                    self.mistakes.append(f"invalid value {text!r} for {name}")
            elif not argument.startswith("-"):
                self.words.append(argument)
            elif argument not in self.IGNORED:
                self.mistakes.append(f"no such option: {name}")

    def take(self, name: str, text: str) -> bool:
        """Set an option and return whether its value is valid."""
        if name == "--root":
            self.roots.append(text)
        elif name == "--follow-links":
            self.follow_links.append(text)
        elif name == "--home":
            self.home = text
        return True

    def arguments(self, home: str) -> list[str]:
        """The same options as arguments, for a background process."""
        return [
            f"--home={home}",
            *(f"--root={os.path.abspath(os.path.expanduser(root))}" for root in self.roots),
            *(f"--follow-links={os.path.abspath(os.path.expanduser(folder))}" for folder in self.follow_links),
        ]


def leave() -> None:
    """Exit at once: shutting the interpreter down takes as long as everything else."""
    sys.stdout.flush()
    os._exit(0)


def read_input(stdin: Any) -> bytes:
    """Read the client's input up to MOST; drain the rest, or the client would write into a closed pipe."""
    try:
        if stdin.isatty():
            return b""
        text: bytes = stdin.buffer.read(MOST)
        while stdin.buffer.read(MOST):
            pass
    except (OSError, ValueError, AttributeError):  # closed
        return b""
    return text


def is_name(text: str) -> bool:
    """Whether a session id can be used as a file name."""
    return 0 < len(text) <= 64 and text.isascii() and text.replace("-", "").replace("_", "").isalnum()


class _ScannerOptions:
    """The settings that the scanner reads from its context."""

    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


def decode(text: bytes) -> Any:
    """Decode JSON with the C scanner that `json` itself uses; raises ValueError."""
    try:
        from _json import make_scanner
    except ImportError:  # not CPython
        from json import loads

        return loads(text)
    plain = text.decode("utf-8", "replace").lstrip("\ufeff").strip()
    try:
        value, end = make_scanner(_ScannerOptions())(plain, 0)  # type: ignore[arg-type]
    except Exception as error:  # SystemError too: the scanner's own exception is defined in `json`, which is not loaded
        raise ValueError("no JSON") from error
    if end < len(plain):
        raise ValueError("more than one JSON value")
    return value
