"""What goes to stdout: long text through a pager, as git does it and only in a terminal; bytes as they are."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from itertools import islice

import click

from hansard.cli.output.terminal import is_on_path, terminal_size

_AT_ONCE = 200  # lines that are written together


def write(lines: Iterable[str], *, paged: bool, color: bool, find: str | None = None) -> None:
    """Write lines as they come, through the pager where they do not fit on the screen; `find` is where it begins."""
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
    """The pager that the user chose, else less; None where click may look for one."""
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
        click.echo("\n".join(some), color=True)  # the colours were decided before


def write_bytes(pieces: Iterable[bytes]) -> None:
    """Write an answer for programs to stdout, as it is."""
    sys.stdout.buffer.writelines(pieces)
    sys.stdout.buffer.flush()
