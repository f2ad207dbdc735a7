"""What goes to stdout: long text through a pager, as git does it and only in a terminal; bytes as they are."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from itertools import islice

import click

_AT_ONCE = 200  # lines that are written together


def terminal_size() -> os.terminal_size:
    """Columns and lines from COLUMNS and LINES, else the terminal's, else 80 by 24.

    `shutil.get_terminal_size` does the same, but importing `shutil` takes 3 ms of the 95 of a command.
    """
    columns, lines = _stated("COLUMNS"), _stated("LINES")
    if columns and lines:
        return os.terminal_size((columns, lines))
    try:
        size = os.get_terminal_size(sys.__stdout__.fileno())  # type: ignore[union-attr]  # None is caught below
    except (AttributeError, ValueError, OSError):
        size = os.terminal_size((80, 24))
    return os.terminal_size((columns or size.columns or 80, lines or size.lines or 24))


def _stated(name: str) -> int:
    try:
        return max(0, int(os.environ[name]))
    except (KeyError, ValueError):
        return 0


def is_on_path(program: str) -> bool:
    """Whether a shell would find a program by its name."""
    path = os.environ.get("PATH")
    if os.name == "nt" or path is None:
        import shutil

        return shutil.which(program) is not None
    places = (os.path.join(folder, program) for folder in path.split(os.pathsep)) if path else ()
    return any(os.access(place, os.F_OK | os.X_OK) and not os.path.isdir(place) for place in places)


def write(lines: Iterable[str], *, paged: bool, color: bool, find: str | None = None) -> None:
    """Write lines as they come, through the pager if they do not fit on the screen; it opens at `find`."""
    waiting = iter(lines)
    if not paged or not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        _write(waiting)
        return
    height = terminal_size().lines
    first = list(islice(waiting, height))
    if len(first) < height or (command := _command()) in ("", "cat"):
        _write(iter(first))
        _write(waiting)
        return
    if command is not None:
        os.environ["PAGER"] = command + (f" +/{find}" if find and command.startswith("less") else "")
        os.environ.setdefault("LESS", "-R")

    def everything() -> Iterator[str]:
        for line in first:
            yield line + "\n"
        for line in waiting:
            yield line + "\n"

    click.echo_via_pager(everything(), color=color)


def _command() -> str | None:
    """The user's pager, else less; None lets click choose one."""
    for name in ("HANSARD_PAGER", "PAGER"):
        if (chosen := os.environ.get(name)) is not None:
            import shlex

            try:
                shlex.split(chosen)
            except ValueError:  # an open quote
                return "cat"
            return chosen.strip()
    return "less -FRX" if is_on_path("less") else None


def _write(lines: Iterator[str]) -> None:
    while some := list(islice(lines, _AT_ONCE)):
        click.echo("\n".join(some), color=True)  # `paint` has decided about colours


def write_bytes(pieces: Iterable[bytes]) -> None:
    sys.stdout.buffer.writelines(pieces)
    sys.stdout.buffer.flush()
