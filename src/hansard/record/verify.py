"""Proof that the record still holds what it was given, and repair from the sources where it does not."""

from __future__ import annotations

import os
from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from hansard.record.chain import (
    BLANKS,
    ERASED,
    LOG,
    REMARK,
    REMOVED,
    LogProof,
    erased_hash,
    first_hash,
    follows,
)
from hansard.record.schema import CHUNK
from hansard.sources.tail import file_status, settled
from hansard.storage.sqlite import PAGE_SIZE, pages_match

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import BinaryIO

    from hansard.record.chain import Entry
    from hansard.record.store import Record, Snapshot
    from hansard.sources.roots import Root
    from hansard.sources.tail import Mark


_WHOLE = {REMOVED: REMARK} | {entry: kind for kind, entry in BLANKS.items()}
"""What an entry is about, where that has entries of its own."""
SOURCE_DIFFERS = "the source file differs from what was recorded of it, although its size and date are unchanged"


class Mismatch(Struct, frozen=True):
    """Something the record cannot give back, or gives back other than the source has it."""

    path: str
    """The source file, relative to its root; the database itself when the damage cannot be assigned to a file."""
    generation: int | None
    offset: int | None
    reason: str
    snapshot: int | None = None


class UnprovenContent(Struct, frozen=True):
    """A content that may never have been in the file as a whole: no comparison has shown it."""

    path: str
    """The source file, relative to its root."""
    generation: int | None
    snapshot: int | None
    proven: int
    """Bytes from the start that are proven; a snapshot is proven as a whole or not at all."""
    size: int


class VerifyReport(Struct):
    """What was checked and what was found."""

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
    revision: str = ""
    """The last revision, `number:hash`: noted elsewhere, it proves later that nothing was changed or removed since."""
    erased: int = 0
    """Contents and remarks that were erased on the user's order; the chain of revisions says so without their bytes."""
    erased_bytes: int = 0
    rederived: int = 0
    """Transcripts whose rows and text in the indexes were compared with a fresh reading."""
    repaired: int = 0
    """Mismatches that were repaired."""
    damaged_copy: str | None = None
    """Where a repair kept the damaged record that it replaced."""
    mismatches: list[Mismatch] = field(default_factory=list)
    unproven: list[UnprovenContent] = field(default_factory=list)
    """Contents that are intact but may never have been in the file at one moment: it was being written when it was read."""


def verify(
    record: Record,
    roots: Sequence[Root],
    deep: bool,
    progress: Callable[[int, int], None] | None = None,
    since: str | None = None,
) -> VerifyReport:
    """Check every stored byte against its hash and every revision against the chain of hashes.

    `deep` adds the database's own check and a comparison with the sources; `since` is a revision that somebody noted, which must be
    part of the chain. `progress` is given the raw bytes done and to do.
    """
    report = VerifyReport(revision=str(record.head()), unproven=[UnprovenContent(*row) for row in record.unproven()])
    total = record.kept_bytes()
    if deep or not pages_match(record.path, 0, os.path.getsize(record.path) // PAGE_SIZE):
        report.mismatches += [Mismatch(record.path, None, None, reason) for reason in record.database_damage()]
    if since is not None and record.find_revision(since) is None:
        reason = f"there is no revision {since}: this is an older copy, or was never in that state"
        report.mismatches.append(Mismatch(record.path, None, None, reason))
    entries = record.entries()
    erased = {(entry.kind, entry.ref): entry for entry in entries if entry.kind in ERASED.values()}
    report.erased, report.erased_bytes = len(erased), sum(entry.size for entry in erased.values())
    report.mismatches += _chain(record, entries, erased)
    report.mismatches += [
        Mismatch(path or record.path, generation, None, f"{reason}: it was not written by Hansard")
        for path, generation, reason in record.unchained()
    ]
    of_log: defaultdict[int, list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.kind == LOG and (ERASED[LOG], entry.ref) not in erased:
            of_log[entry.ref].append(entry)
    places = _places(record, roots) if deep else {}
    logs: set[int] = set()
    whole: set[int] = set()

    def done(size: int) -> None:
        report.bytes += size
        if progress is not None:
            progress(report.bytes, total)

    for generation in record.generations():
        logs.add(generation.file_id)
        if (ERASED[LOG], generation.id) in erased:
            revision = erased[ERASED[LOG], generation.id].revision
            reason = f"it is there although it was erased in revision {revision}"
            report.mismatches.append(Mismatch(generation.path, generation.id, None, reason))
        seed = record.seed(LOG, generation.id)
        proof = LogProof(generation.path, generation.seq, seed, of_log.pop(generation.id, ()))
        before = len(report.mismatches)
        for chunk in record.check(generation.id, proof):
            if chunk.damage is not None:
                report.mismatches.append(Mismatch(generation.path, generation.id, chunk.start, chunk.damage))
            done(chunk.length)
        if proof.broken and len(report.mismatches) == before:
            reason = f"it was changed after revision {proof.broken[0].revision}, not by Hansard"
            report.mismatches.append(Mismatch(generation.path, generation.id, None, reason))
        if generation.current and generation.file_id in places:
            mismatch = Mismatch(generation.path, generation.id, None, SOURCE_DIFFERS)
            difference = partial(record.first_difference, generation.id)
            _compare(*places[generation.file_id], mismatch, difference, report)
    report.mismatches += [
        Mismatch(record.path, ref, None, f"generation {ref} was removed after revision {kept[0].revision}")
        for ref, kept in of_log.items()
    ]
    for snapshot in record.snapshots():
        whole.add(snapshot.file_id)
        damage = record.check_snapshot(snapshot.id)
        if damage is not None:
            report.mismatches.append(Mismatch(snapshot.path, None, 0, damage, snapshot.id))
        done(snapshot.size)
        if snapshot.current and snapshot.file_id in places:
            mismatch = Mismatch(snapshot.path, None, None, SOURCE_DIFFERS, snapshot.id)
            difference = partial(_whole_difference, record, snapshot)
            _compare(*places[snapshot.file_id], mismatch, difference, report)
    report.transcripts = len(logs)
    report.files = len(logs | whole)
    return report


def _chain(record: Record, entries: list[Entry], erased: Mapping[tuple[str, int], Entry]) -> list[Mismatch]:
    """Where the chain of revisions is broken, and what but logs is no longer as it was entered.

    Entries of what was erased on the user's order are links of the chain, and no more is known of them.
    """
    found: list[str] = []
    by_revision: defaultdict[int, list[Entry]] = defaultdict(list)
    last_entries: dict[tuple[str, int], Entry] = {}
    for entry in entries:
        by_revision[entry.revision].append(entry)
        if (entry.kind, entry.ref) in erased:
            if entry.hash != erased_hash(entry.kind, entry.ref, entry.size):
                found.append(f"{entry.kind} {entry.ref} does not have the hash of an erasure")
            continue
        what = _WHOLE.get(entry.kind, entry.kind)
        if entry.kind == LOG or (ERASED.get(what), entry.ref) in erased:
            continue
        last_entries[entry.kind, entry.ref] = entry
    for (kind, ref), entry in last_entries.items():
        if not _is_as_entered(record, entry):
            found.append(f"{kind} {ref} was changed or removed after revision {entry.revision}")
    former, last = first_hash(record.store_id), None
    for number, hash_, at in record.revisions():
        if last is not None and number != last + 1:
            found.append(f"revision {last + 1} is missing")
        elif not follows(former, by_revision[number], at, hash_):
            found.append(f"revision {number} does not match the hash of its time and of what it added")
        former, last = hash_, number
    return [Mismatch(record.path, None, None, reason) for reason in found]


def _is_as_entered(record: Record, entry: Entry) -> bool:
    """Whether something is as its last entry says, or as one says that a sync has added meanwhile."""
    current = record.current_hash(entry.kind, entry.ref)
    return current == entry.hash or any(
        later.hash == current and later.revision > entry.revision for later in record.entries(entry.kind, entry.ref)
    )


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
            status = file_status(os.fstat(file.fileno()))
    except FileNotFoundError:
        return
    except OSError as error:
        reason = f"the source file could not be read for comparison ({error.strerror or error})"
        report.mismatches.append(replace(mismatch, offset=None, reason=reason))
        return
    if offset is None:
        report.compared += 1
    elif settled(mark, status.size, status.mtime_ns, status.ctime_ns, status.inode):
        report.mismatches.append(replace(mismatch, offset=offset))
    else:
        report.changed += 1


def _whole_difference(record: Record, snapshot: Snapshot, file: BinaryIO) -> int | None:
    return None if record.has_content(snapshot, file) else 0


def repair(record: Record, roots: Sequence[Root], mismatches: Sequence[Mismatch]) -> list[Mismatch]:
    """Mend damaged chunks and snapshots from the source files that still have their bytes; returns what was mended.

    Nothing but the very bytes that were kept is ever written: their hash decides.
    """
    by_path = {root.path: root for root in roots}
    rows = {row.id: by_path[row.path] for row in record.roots() if row.path in by_path}
    mended = []
    for mismatch in mismatches:
        if mismatch.offset is None:
            continue
        root_id = _root_of(record, mismatch)
        if root_id not in rows:
            continue
        place = rows[root_id].locate(mismatch.path)
        with record.writing():
            if mismatch.snapshot is not None:
                done = record.mend_snapshot(mismatch.snapshot, _read(place, 0, None))
            elif mismatch.generation is not None:
                done = record.mend_chunk(
                    mismatch.generation,
                    mismatch.offset,
                    _read(place, mismatch.offset, record.size(mismatch.generation)),
                )
            else:
                done = False
        if done:
            mended.append(mismatch)
    # A chunk whose row is gone has no hash of its own.
    lost = [
        item for item in mismatches if item.generation is not None and item.offset is not None and item not in mended
    ]
    for generation in {item.generation for item in lost if item.generation is not None}:
        with record.writing():
            if record.refill(generation, roots):
                mended += [item for item in lost if item.generation == generation]
    return mended


def _root_of(record: Record, mismatch: Mismatch) -> int:
    if mismatch.generation is not None:
        return record.generation(mismatch.generation).root_id
    return next((item.root_id for item in record.snapshots() if item.id == mismatch.snapshot), 0)


def _read(place: str, start: int, end: int | None) -> bytes:
    """A chunk of a source file, or all of it; empty when it cannot be read."""
    try:
        with open(place, "rb") as file:
            file.seek(start)
            return file.read() if end is None else file.read(min(CHUNK, end - start))
    except OSError:
        return b""
