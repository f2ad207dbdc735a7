"""Overwriting stretches of a client's own files, in place and with as many bytes: lines that the client appends meanwhile stay.

1. Note in the record that the file must be compared with it in full. Killed from here on, the next sync keeps what is there.
2. Open it, if it is a plain file with one name that no other program has open, and compare it with the record.
3. Write each stretch; the date stays.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from hansard.files import CHANGE_FLAGS
from hansard.record.restore import is_as_kept
from hansard.record.store import Generation, Record, Snapshot
from hansard.sync.freeing import NOT_AS_STORED, OPEN, is_open_elsewhere, wait_and_change

if TYPE_CHECKING:
    from hansard.pricing.settle import Prices
    from hansard.record.erase import Patch


class ChangedError(Exception):
    """A file of the client is no longer what the record has."""


class SourceEdit(NamedTuple):
    """Stretches of a client's own file, and what they become."""

    file_id: int
    place: str
    patches: Sequence[Patch]


def overwrite_sources(
    home: str,
    choose: Callable[[Record], Sequence[SourceEdit]],
    *,
    prices: Prices | None = None,
) -> dict[str, str]:
    """Overwrite what `choose` names, which is asked while no other process can write; gives the files that stayed, and why."""
    left: dict[str, str] = {}
    done = False

    def change(record: Record) -> bool:
        nonlocal done
        if done:  # asked again where an index proved to be damaged
            return False
        edits = choose(record)
        for edit in edits:
            record.expect_change(edit.file_id)
        record.commit()
        done = True
        for edit in edits:
            try:
                overwrite(record, edit.file_id, edit.place, ((patch.start, patch.data) for patch in edit.patches))
            except ChangedError:
                left[edit.place] = NOT_AS_STORED
            except OSError as error:
                left[edit.place] = error.strerror or str(error)
        return False

    wait_and_change(home, change, "overwritten", prices=prices)
    return left


def overwrite(record: Record, file_id: int, place: str, stretches: Iterable[tuple[int, bytes]]) -> None:
    """Overwrite stretches of a file that is otherwise as the record has it; its length and its date stay."""
    version = current_version(record, file_id)
    if version is None:
        return
    with suppress(FileNotFoundError), _opened_alone(place) as file:
        before = os.fstat(file.fileno())
        if not is_as_kept(record, version, file) or _status(os.fstat(file.fileno())) != _status(before):
            raise ChangedError(place)
        for start, data in stretches:
            _write(file, start, data)
        os.fsync(file.fileno())
        os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))


def current_version(record: Record, file_id: int) -> Generation | Snapshot | None:
    """What the record has of a file as it is now."""
    versions: list[Generation | Snapshot] = [*record.generations_of(file_id), *record.snapshots_of(file_id)]
    return next((version for version in versions if version.current), None)


@contextmanager
def _opened_alone(place: str) -> Iterator[BinaryIO]:
    try:
        descriptor = os.open(place, CHANGE_FLAGS)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ChangedError(place) from error
        raise
    with open(descriptor, "r+b", buffering=0) as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            raise ChangedError(place)
        if is_open_elsewhere(file):
            raise OSError(errno.EBUSY, OPEN, place)
        yield file


def _status(found: os.stat_result) -> tuple[int, int]:
    return found.st_size, found.st_mtime_ns


def _write(file: BinaryIO, start: int, data: bytes) -> None:
    file.seek(start)
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]
