"""Files that other users of the machine can read: found, and closed to them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator

from msgspec import Struct

from hansard.changes.journal import Undone, journals, list_journals
from hansard.changes.plan import ChangeSet, Mode

PURPOSE = "modes"
OTHERS = 0o077
"""What group and others may do."""


class ModeChange(Struct, frozen=True):
    """A file or folder that is open to others."""

    path: str
    mode: str
    """As `chmod` takes it."""
    new_mode: str
    is_own: bool
    """Whether it is Hansard's; others are undone by `undo_modes`."""


def plan_modes(home: str, sources: Iterable[str] = ()) -> list[ModeChange]:
    """Everything in the data directory that is open to others, and which of these source directories are.

    Of a source only the directory itself is closed: nobody else gets to what is in it then.
    """
    home = os.path.realpath(home)
    return [
        *(change for path in _everything(home) if (change := _closed(path, is_own=True)) is not None),
        *(change for path in sorted(set(map(os.path.realpath, sources))) if (change := _closed(path)) is not None),
    ]


def _everything(folder: str) -> Iterator[str]:
    yield folder
    for place, folders, files in os.walk(folder):
        for name in sorted((*folders, *files)):
            yield os.path.join(place, name)


def _closed(path: str, *, is_own: bool = False) -> ModeChange | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    mode = stat.S_IMODE(found.st_mode)
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)) or not mode & OTHERS:
        return None
    return ModeChange(path, f"{mode:o}", f"{mode & ~OTHERS:o}", is_own)


def close_to_others(home: str, plan: Iterable[ModeChange]) -> None:
    """Change what was planned; source directories with a journal."""
    plan = list(plan)
    for change in plan:
        if change.is_own:
            os.chmod(change.path, int(change.new_mode, 8))
    sources = [change for change in plan if not change.is_own]
    if sources:
        steps = tuple(Mode(change.path, int(change.new_mode, 8)) for change in sources)
        bases = tuple(sorted({os.path.dirname(step.path) for step in steps}))
        with journals(os.path.realpath(home)) as opened:
            opened.apply(ChangeSet(PURPOSE, "modes of source directories", bases, steps))


def undo_modes(home: str) -> list[Undone]:
    """Give source directories the modes that they had."""
    home = os.path.realpath(home)
    if not list_journals(home, PURPOSE):
        return []
    with journals(home) as opened:
        return [opened.undo(journal) for journal in reversed(opened.find(PURPOSE))]
