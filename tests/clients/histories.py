"""A small invented history of each client that comes with Hansard, for the tests that all of them have to pass.

To add one: write `tests/clients/<client>/history.py` with a function `write(root)`, and an entry here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.clients.codex import history as codex


class History(NamedTuple):
    """A history, and what is in it."""

    write: Callable[[Path], None]
    """Fills an empty directory, which is the client's root then."""
    session: str
    word: str  # that only a prompt of that session has
    prompts: int  # of that session
    calls: int
    tokens: tuple[int, int, int, int]  # of all sessions: input, output, cache reads, cache writes
    is_log: bool = True  # its files grow: any beginning of them may be there at first
    is_files: bool = True  # its files are stored as they are, so `restore` gives them back


HISTORIES: dict[str, History] = {
    "codex": History(codex.write, codex.THREAD, "Emden", 3, 7, (1706, 192, 6490, 4)),
}
