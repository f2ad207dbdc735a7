"""One export to a folder at a time, whoever started it: two would each write a manifest without the other's files."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import apsw

from hansard.errors import StoreBusy
from hansard.export.files import make_folder
from hansard.files import FileLock
from hansard.sources.names import printable

NAME = ".hansard-export.lock"
_BRIEFLY = 10.0  # seconds that the list of single files may be held by others


@contextlib.contextmanager
def locked(folder: str, manifest: str, wait_seconds: float) -> Iterator[None]:
    """Hold a folder, which is made if it has to be; where no manifest came into it, it is left as it was found."""
    made = _missing(folder)
    make_folder(folder)
    path = os.path.join(folder, NAME)
    try:
        with held(path, folder, wait_seconds):
            try:
                yield
            finally:
                if not os.path.lexists(manifest):
                    _remove(path)
    finally:
        with contextlib.suppress(OSError):
            for place in made:
                os.rmdir(place)


@contextlib.contextmanager
def held(path: str, what: str, wait_seconds: float = _BRIEFLY) -> Iterator[None]:
    """Hold a lock; raises StoreBusy when another process holds it and does not let go in time."""
    with contextlib.ExitStack() as stack:
        try:
            is_held = stack.enter_context(FileLock(path, wait_seconds))
        except apsw.Error:
            is_held = True  # no lock can be had here: if nothing can be written either, that is told where it is tried
        if not is_held:
            raise StoreBusy(
                f"another export is writing to {printable(what)} and did not finish within {wait_seconds:g} s."
                " Wait for it to end, then run this again"
            )
        yield


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        if os.path.isfile(path) and not os.path.islink(path) and not os.path.getsize(path):
            os.unlink(path)


def _missing(folder: str) -> list[str]:
    """The folders that have to be made, the innermost first."""
    missing = []
    while not os.path.lexists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return missing
