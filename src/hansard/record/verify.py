"""Proof that the record still holds what it was given."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING

from hansard.record.schema import CHUNK

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import BinaryIO

    from hansard.record.store import Record
    from hansard.sources.claude_code import Root
    from hansard.sources.tail import Mark

SOURCE_DIFFERS = (
    "the source file differs from what was recorded of it, though its size and date say that it was not written since"
)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Something the record cannot give back, or gives back other than the source has it."""

    path: str
    """The source file, relative to its root; the database itself when the damage cannot be told from a file."""
    generation: int | None
    offset: int | None
    reason: str
    snapshot: int | None = None


@dataclass(slots=True)
class VerifyReport:
    """What was looked at and what was found."""

    transcripts: int = 0
    """Logs, each once however many generations it has."""
    files: int = 0
    """All files, logs and whole ones."""
    bytes: int = 0
    """Raw bytes that were checked, of all generations and snapshots."""
    compared: int = 0
    """Files that were also compared with the source."""
    changed: int = 0
    """Files that differ because the source has written to them since the last sync: no fault of the record."""
    mismatches: list[Mismatch] = field(default_factory=list)


def verify(
    record: Record,
    roots: Sequence[Root],
    deep: bool,
    progress: Callable[[int, int], None] | None = None,
) -> VerifyReport:
    """Check every stored byte against its hash; `deep` adds the database's own check and a comparison with the sources.

    `progress` is given the raw bytes done and to do.
    """
    report = VerifyReport()
    total = record.kept_bytes()
    if deep:
        report.mismatches += [Mismatch(record.path, None, None, reason) for reason in record.database_damage()]
    places = _places(record, roots) if deep else {}
    logs: set[int] = set()
    whole: set[int] = set()

    def done(size: int) -> None:
        report.bytes += size
        if progress is not None:
            progress(report.bytes, total)

    for generation in record.generations():
        logs.add(generation.file_id)
        for chunk in record.check(generation.id):
            if chunk.damage is not None:
                report.mismatches.append(Mismatch(generation.path, generation.id, chunk.start, chunk.damage))
            done(chunk.length)
        if generation.current and generation.file_id in places:
            mismatch = Mismatch(generation.path, generation.id, None, SOURCE_DIFFERS)
            difference = partial(record.first_difference, generation.id)
            _compare(*places[generation.file_id], mismatch, difference, report)
    for snapshot in record.snapshots():
        whole.add(snapshot.file_id)
        damage = record.check_snapshot(snapshot.id)
        if damage is not None:
            report.mismatches.append(Mismatch(snapshot.path, None, 0, damage, snapshot.id))
        done(snapshot.size)
        if snapshot.current and snapshot.file_id in places:
            mismatch = Mismatch(snapshot.path, None, None, SOURCE_DIFFERS, snapshot.id)
            difference = partial(_whole_difference, snapshot.hash)
            _compare(*places[snapshot.file_id], mismatch, difference, report)
    report.transcripts = len(logs)
    report.files = len(logs | whole)
    return report


def _places(record: Record, roots: Sequence[Root]) -> dict[int, tuple[str, Mark]]:
    """Where the source of each settled file should lie, by file id."""
    by_path = {root.path: root for root in roots}
    result: dict[int, tuple[str, Mark]] = {}
    for row in record.roots():
        root = by_path.get(row.path)
        if root is not None:
            for path, known in record.known(row.id).items():
                if known.mark is not None:
                    result[known.file_id] = (root.locate(path), known.mark)
    return result


def _compare(
    place: str, mark: Mark, mismatch: Mismatch, difference: Callable[[BinaryIO], int | None], report: VerifyReport
) -> None:
    """Compare a source file that is still there, and enter the outcome in the report."""
    try:
        with open(place, "rb") as file:
            offset = difference(file)
            status = os.fstat(file.fileno())
    except FileNotFoundError:
        return
    except OSError as error:
        reason = f"the source file could not be read for comparison ({error.strerror or error})"
        report.mismatches.append(replace(mismatch, offset=None, reason=reason))
        return
    # An inode of 0 is an unknown one.
    same_file = 0 in {status.st_ino, mark.inode} or status.st_ino == mark.inode
    if offset is None:
        report.compared += 1
    elif same_file and (status.st_size, status.st_mtime_ns) == (mark.offset, mark.mtime_ns):
        report.mismatches.append(replace(mismatch, offset=offset))
    else:
        report.changed += 1


def _whole_difference(expected: bytes, file: BinaryIO) -> int | None:
    digest = sha256()
    while piece := file.read(CHUNK):
        digest.update(piece)
    return None if digest.digest() == expected else 0
