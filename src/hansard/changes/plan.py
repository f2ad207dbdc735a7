"""A plan of changes: steps that can be shown before anything is done."""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct, field

from hansard.errors import UsageError

_DIFFED = 256 << 10  # bytes of a file whose differences are shown line by line
_PIECE = 1 << 20


class Write(Struct, frozen=True):
    """Give a file a content; `merge` says how our part is taken out again if others have changed the file since."""

    path: str
    pieces: Callable[[], Iterable[bytes]]
    merge: str = ""  # json: key by key; lines: line by line; else the file is left as it is
    mode: int = 0o600  # of a new file; others keep theirs
    keep_date: bool = False  # the file has the date it had
    summary: str = ""  # what is shown instead of the differences


class Rename(Struct, frozen=True):
    """Give a file or folder another name; there must be nothing at its new place."""

    path: str
    target: str


class Mode(Struct, frozen=True):
    """Give a file or folder other permissions."""

    path: str
    mode: int


Step = Write | Rename | Mode


class ChangeSet(Struct, frozen=True):
    """Steps that belong together, all inside of some folders."""

    purpose: str  # what did it, such as plugin; a journal is found by it
    title: str
    bases: tuple[str, ...]  # real paths; nothing outside of them is touched, and no link inside is followed
    steps: tuple[Step, ...]
    facts: dict[str, str] = field(default_factory=dict)  # what the caller wants to know again at the undo


def content(data: bytes) -> Callable[[], Iterable[bytes]]:
    """Bytes as the pieces of a file."""
    return lambda: (data,)


def read_file(path: str) -> bytes | None:
    """The content of a regular file, or None; links and anything else are refused."""
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(found.st_mode):
        raise UsageError(f"{path}: not a regular file, so it is not changed")
    with open(path, "rb") as file:
        return file.read()


def file_pieces(path: str) -> Iterator[bytes]:
    """What a file holds, piece by piece."""
    with open(path, "rb") as file:
        while piece := file.read(_PIECE):
            yield piece


def check_place(path: str, bases: Iterable[str]) -> None:
    """Refuse a path outside of the folders, or with a link on the way."""
    for base in bases:
        if not path.startswith(base.rstrip(os.sep) + os.sep):
            continue
        place = base
        for part in path[len(base.rstrip(os.sep)) + 1 :].split(os.sep):
            place = os.path.join(place, part)
            if part in ("", ".", ".."):
                break
            try:
                found = os.lstat(place)
            except FileNotFoundError:
                return
            if stat.S_ISLNK(found.st_mode):
                raise UsageError(f"{place}: a link, which is not followed when files are changed")
            if place != path and not stat.S_ISDIR(found.st_mode):
                raise UsageError(f"{place}: not a directory")
        else:
            return
    raise UsageError(f"{path}: outside {', '.join(bases)}")


def preview(changes: ChangeSet) -> list[str]:
    """Describe the change, as a diff if that is readable."""
    lines: list[str] = []
    for step in changes.steps:
        if isinstance(step, Rename):
            lines += [f"rename {step.path}", f"    to {step.target}"]
        elif isinstance(step, Mode):
            lines.append(f"chmod {step.mode:o} {step.path}")
        else:
            lines += _differences(step)
    return lines


def _differences(step: Write) -> list[str]:
    if step.summary:
        return [step.summary]
    before, after = read_file(step.path), b"".join(step.pieces())
    if before == after:
        return []
    name = step.path.lstrip("/")
    old = "/dev/null" if before is None else f"a/{name}"
    if max(len(before or b""), len(after)) > _DIFFED:
        return [f"--- {old}", f"+++ b/{name}", f"    {len(before or b'')} bytes become {len(after)}"]
    one, two = ((data or b"").decode("utf-8", "replace").splitlines() for data in (before, after))
    found = difflib.unified_diff(one, two, old, f"b/{name}", lineterm="")
    return list(found) or [f"create {step.path}"]
