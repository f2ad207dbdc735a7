"""Writing files atomically and privately, never into a source root."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from hashlib import sha256

from hansard.errors import HansardError, UsageError
from hansard.files import CREATE_FLAGS, FILE_MODE, make_private_folder
from hansard.sources.names import printable

_BUFFER = 1 << 18
_TEMPORARY = re.compile(r"\.hansard-[0-9a-f]{16}\.tmp")
_STALE = 3600  # seconds


class NotWritten(HansardError):
    """A file cannot be written; so neither can the next one, and the export ends."""


def refuse_roots(to: str, roots: Iterable[str]) -> None:
    """Raise if a path is a source root or inside one, also through links."""
    known: dict[tuple[int, int], str] = {}
    for root in roots:
        with suppress(OSError, ValueError):
            status = os.stat(root)
            known[status.st_dev, status.st_ino] = root
    place = os.path.realpath(to)
    while True:
        with suppress(OSError, ValueError):
            status = os.stat(place)
            if inside := known.get((status.st_dev, status.st_ino)):
                raise UsageError(
                    f"{printable(to)} is in the source root {printable(inside)}, where nothing is ever written."
                    " Export to another place"
                )
        above = os.path.dirname(place)
        if above == place:
            return
        place = above


def make_folder(path: str) -> None:
    """Make a folder and what is missing above it, private."""
    try:
        make_private_folder(path)
    except OSError as error:
        raise NotWritten(
            f"{printable(path)}: the directory cannot be created ({error.strerror or error}). Name another with --to"
        ) from error


def remove_remains(folder: str, *, whole: bool = False) -> None:
    """Remove temporary files of killed exports, but not of one that may still be running.

    `whole`: of any age, and in image folders too.
    """
    latest = time.time() - _STALE
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                if _TEMPORARY.fullmatch(entry.name):
                    if whole or entry.stat(follow_symlinks=False).st_mtime < latest:
                        os.unlink(entry.path)
                elif whole and entry.name.endswith(".assets") and entry.is_dir(follow_symlinks=False):
                    remove_remains(entry.path, whole=True)


def temporary_beside(path: str) -> str:
    """A name for a file that is still being written."""
    return os.path.join(os.path.dirname(path), f".hansard-{os.urandom(8).hex()}.tmp")


def write_file(path: str, pieces: Iterable[bytes]) -> tuple[int, int, str]:
    """Write a file atomically; returns size, mtime and SHA-256."""
    temporary = temporary_beside(path)
    digest = sha256()
    try:
        try:
            handle = os.open(temporary, CREATE_FLAGS, FILE_MODE)
        except OSError as error:
            raise not_written(path, error) from error
        with open(handle, "wb", buffering=0) as file:
            for piece in _buffered(pieces):
                digest.update(piece)
                rest = memoryview(piece)
                try:
                    while rest:
                        rest = rest[file.write(rest) :]
                except OSError as error:
                    raise not_written(path, error) from error
        return move_into_place(temporary, path, digest.hexdigest())
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def write_with(path: str, fill: Callable[[str], object]) -> tuple[int, int, str]:
    """Let another library write a file, which replaces an earlier one as a whole; returns size, mtime and SHA-256."""
    made = temporary_beside(path)
    try:
        try:
            os.close(os.open(made, CREATE_FLAGS, FILE_MODE))  # private from its first moment
        except OSError as error:
            raise not_written(path, error) from error
        fill(made)
        with suppress(OSError):
            os.chmod(made, FILE_MODE)
        return move_into_place(made, path, digest_of(made))
    finally:
        with suppress(OSError):
            os.unlink(made)


def move_into_place(temporary: str, path: str, digest: str) -> tuple[int, int, str]:
    """Rename a finished file into place; returns size, mtime and SHA-256."""
    try:
        os.replace(temporary, path)
        status = os.stat(path)
    except OSError as error:
        raise not_written(path, error) from error
    return status.st_size, status.st_mtime_ns, digest


def digest_of(path: str) -> str:
    digest = sha256()
    with open(path, "rb") as file:
        while piece := file.read(_BUFFER):
            digest.update(piece)
    return digest.hexdigest()


def _buffered(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in fewer, larger pieces."""
    waiting: list[bytes] = []
    size = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= _BUFFER:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)


def not_written(path: str, error: OSError) -> NotWritten:
    return NotWritten(
        f"{printable(path)}: it cannot be written ({error.strerror or error}). What was written before is complete;"
        " the same export continues where it stopped"
    )
