"""Erasing: from the record first, in one write, then from both indexes, from copies elsewhere, and from the bytes of the databases.

The write notes the remaining steps. After a crash the next sync goes on with them; before the write, nothing was erased.

1. Erase from the record, with tombstones, so that no sync stores it again, and with a list of copies to remove.
2. Drop it from both indexes, as every sync does that finds them behind.
3. Overwrite and remove the copies, and Hansard's caches.
4. Write the databases anew, so that no free page holds any of it, and empty their logs.
"""

from __future__ import annotations

import glob
import os
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import apsw
import msgspec
from msgspec import Struct

from hansard.errors import HansardError, StoreBusy, StoreUnusable
from hansard.files import overwrite_and_remove
from hansard.model.erasing import Erased, Receipt
from hansard.record.chain import LOG, SNAPSHOT
from hansard.record.erase import Patch
from hansard.record.store import Generation, Record, Snapshot
from hansard.record.tombstones import FILE, LINE, MASKED, MESSAGE, SECRET, SESSION
from hansard.storage import sqlite
from hansard.storage.sqlite import store_error
from hansard.sync.data_files import INDEX, RECORD, TEXT, place
from hansard.sync.overwriting import ChangedError, current_version, overwrite
from hansard.sync.report import Change, Listener, SyncRequest

if TYPE_CHECKING:
    from hansard.pricing.settle import Prices

FILE_STEP, FOLDER_STEP, EXPORT_STEP, SOURCE_STEP = "file", "folder", "export", "source"
"""Kinds of copies: a file or a folder to remove, an exported file, and a client's own file that gets the record's markers."""
VACANT_STEP = "vacant"
"""A client's folder that goes if nothing is left in it; steps are done in the order of their names, so its files are gone then."""
_EDITS = "edits.db"
_CACHES = (
    *("statusline.json", "last-failure.json", "last-verify.json", "hooks.log", "hooks.log.1", "guard.log"),
    *("tui-crash.log", "statusline/*", "hooks/budgets.json", "hooks/*.input"),
)
"""Files that may name sessions or quote what they say, and are made again."""
_WAIT = 60.0  # seconds for another sync
_SPACE = 2.2  # times the size of a database, to write it anew


class Order(Struct):
    """What to erase, in terms of the record."""

    reason: str
    """What the user named: session, project, match, secret, policy."""
    files: set[int] = msgspec.field(default_factory=set)
    logs: dict[int, list[Patch]] = msgspec.field(default_factory=dict)
    """Ranges of logs, by generation."""
    snapshots: dict[int, list[Patch]] = msgspec.field(default_factory=dict)
    """Ranges of small files, by snapshot."""
    remarks: set[int] = msgspec.field(default_factory=set)
    """Tags, titles and notes."""
    sessions: set[tuple[str, str]] = msgspec.field(default_factory=set)
    """Client and id of sessions that must not be stored again."""
    paths: set[tuple[str, str]] = msgspec.field(default_factory=set)
    """Root and path of files that must not be stored again."""
    lines: set[tuple[str, str]] = msgspec.field(default_factory=set)
    """Client and id of lines that must not be stored again unless their session is allowed to be."""
    messages: set[tuple[str, str]] = msgspec.field(default_factory=set)
    """Client and id of lines that must not be stored again even then."""
    masked: set[tuple[str, str]] = msgspec.field(default_factory=set)
    """Client and id of lines of which only the secrets are not to be kept again."""
    secrets: set[str] = msgspec.field(default_factory=set)
    """Those secrets, by their fingerprints."""
    copies: list[tuple[str, str]] = msgspec.field(default_factory=list)
    """Copies elsewhere to remove too: a kind of step, and a path."""
    left: int = 0
    """Known copies that stay."""


def erase(
    home: str,
    order: Callable[[Record], Order],
    *,
    prices: Prices | None = None,
    listener: Listener | None = None,
    wait_seconds: float = _WAIT,
) -> Receipt:
    """Erase what `order` returns, which is called while no other process can write; returns when no reachable copy is left.

    Raises after the erasure from the record and the indexes if a later step failed; the next sync tries that again.
    """
    number: int | None = None

    def change(record: Record) -> bool:
        nonlocal number
        if number is None:  # called again if an index turned out to be damaged
            number = _apply(record, order(record))
        return True

    from hansard.sync.run import sync

    request = SyncRequest(only=(), wait_seconds=wait_seconds, change=change, listener=listener)
    report = sync(home, (), request, prices=prices)
    if report.busy:
        raise StoreBusy(
            f"another process is syncing {home} and did not finish within {wait_seconds:g} s, so nothing was erased."
            " Wait for it to end, then run this again"
        )
    receipt = next(item for item in receipts(home) if item.number == number)
    if report.unfinished:
        again = "" if receipt.finished_at else " The next sync tries again"
        raise StoreUnusable(
            f"erased from the record and from the indexes (receipt {receipt.number}), but not everywhere: {report.unfinished}{again}"
        )
    return receipt


def erase_late(late: Mapping[int, Sequence[tuple[int, bytes]]]) -> Change:
    """Put markers where beginnings of lines were stored that turned out to be forgotten ones."""

    def change(record: Record) -> bool:
        logs = {generation: [Patch(*marked) for marked in found] for generation, found in late.items()}
        _apply(record, Order("line", logs=logs))
        return True

    return change


def receipts(home: str) -> list[Receipt]:
    """The receipts of erasures, oldest first."""
    with Record.open(place(home, RECORD), readonly=True) as record:
        return [
            Receipt(
                number=row.id,
                revision=row.revision,
                at=row.at,
                finished_at=row.finished_at,
                erased=msgspec.json.decode(row.receipt, type=Erased),
            )
            for row in record.erasures()
        ]


def _apply(record: Record, order: Order) -> int:
    """Erase from the record, all of it or, after any exception, nothing."""
    kinds: Counter[str] = Counter()
    size = 0
    sizes = {made.id: (made.file_id, made.size) for made in record.generations()}
    for generation, patches in order.logs.items():
        if patches and sizes[generation][0] not in order.files:
            record.erase_in_log(generation, patches)
            kinds["stretches"] += len(patches)
            size += sum(len(patch.data) for patch in patches)
    # Later snapshots of a file get new ids when an earlier one is changed, so the last comes first.
    for snapshot, patches in sorted(order.snapshots.items(), reverse=True):
        if not patches:
            continue
        record.erase_in_snapshot(snapshot, patches)
        kinds["stretches"] += len(patches)
        size += sum(len(patch.data) for patch in patches)
    logs = Counter(file_id for file_id, _ in sizes.values())
    for file_id in sorted(order.files):
        kinds["transcripts" if logs[file_id] else "files"] += 1
        size += record.erase_file(file_id)
    known = {remark.id for remark in record.all_remarks()}
    for remark in sorted(order.remarks & known):
        record.erase_remark(remark)
        kinds["remarks"] += 1
    record.bury(SESSION, sorted(order.sessions))
    record.bury(FILE, sorted(order.paths))
    record.bury(LINE, sorted(order.lines))
    record.bury(MESSAGE, sorted(order.messages))
    record.bury(MASKED, sorted(order.masked))
    record.bury(SECRET, [(secret_id,) for secret_id in sorted(order.secrets)])
    erased = Erased(
        reason=order.reason,
        sessions=len(order.sessions),
        transcripts=kinds["transcripts"],
        files=kinds["files"],
        stretches=kinds["stretches"],
        remarks=kinds["remarks"],
        bytes=size,
        copies=sum(kind != VACANT_STEP for kind, _ in order.copies),
        left=order.left,
    )
    return record.note_erasure(msgspec.json.encode(erased).decode(), order.copies)


def finish(home: str, record: Record) -> str:
    """Finish all erasures; the caller holds the sync lock, and both indexes are up to date with the record.

    Returns why something could not be done; empty if all was done.
    """
    changed: list[str] = []
    try:
        for number, kind, target in record.erasure_steps():
            try:
                _remove(home, record, kind, target)
            except ChangedError as error:
                changed.append(f"{error}: changed since it was stored, so nothing was overwritten there.")
            record.end_erasure_step(number, kind, target)
        for pattern in _CACHES:
            for path in glob.glob(os.path.join(glob.escape(home), *pattern.split("/"))):
                if not os.path.isdir(path):
                    overwrite_and_remove(path)
        _empty(place(home, _EDITS))
        _require_space(home)
        _compact_text(place(home, TEXT), record)
        _compact(place(home, INDEX))
        record.compact()
        record.end_erasures()
    except HansardError as error:
        return str(error)
    except OSError as error:
        return f"{error.filename}: {error.strerror or error}."
    return " ".join(changed)


def go_on_overwriting(record: Record) -> None:
    """Overwrite the client's own files before they are read: one in which only a part was overwritten would look rewritten.

    What cannot be overwritten now is left to `finish`, which says why.
    """
    for number, kind, target in record.erasure_steps():
        if kind == SOURCE_STEP:
            with suppress(ChangedError, HansardError, OSError):
                _remove("", record, kind, target)
                record.end_erasure_step(number, kind, target)


def source_step(file_id: int, place: str) -> tuple[str, str]:
    """Put the record's markers into the client's own file."""
    return SOURCE_STEP, f"{file_id}:{place}"


def vacant_step(folder: str, levels: int) -> tuple[str, str]:
    """Remove a folder and its parents up to a limit, as long as they are empty."""
    return VACANT_STEP, f"{levels}:{folder}"


def _remove_vacant(target: str) -> None:
    levels, _, folder = target.partition(":")
    for _ in range(int(levels)):
        try:
            os.rmdir(folder)
        except FileNotFoundError:
            pass
        except OSError:  # something is in it, or it is a link
            return
        folder = os.path.dirname(folder)


def _remove(home: str, record: Record, kind: str, target: str) -> None:
    if kind == SOURCE_STEP:
        file_id, _, path = target.partition(":")
        _mark_source(record, int(file_id), path)
    elif kind == EXPORT_STEP:
        from hansard.export.known import remove_export

        remove_export(home, target)
    elif kind == VACANT_STEP:
        _remove_vacant(target)
    elif kind == FOLDER_STEP:
        for folder, _, names in os.walk(target):
            for name in names:
                overwrite_and_remove(os.path.join(folder, name))
        with suppress(FileNotFoundError):
            shutil.rmtree(target)
    else:
        overwrite_and_remove(target)


def _mark_source(record: Record, file_id: int, path: str) -> None:
    """Put the record's markers into a file that is otherwise as the record has it."""
    current = current_version(record, file_id)
    if current is None:
        return
    blanks = record.blanks(LOG if isinstance(current, Generation) else SNAPSHOT, current.id)
    marked = ((start, _read(record, current, start, length)) for start, length in blanks)
    overwrite(record, file_id, path, marked)
    if isinstance(current, Generation):
        record.expect_source(current.id)


def _read(record: Record, version: Generation | Snapshot, start: int, length: int) -> bytes:
    if isinstance(version, Generation):
        return b"".join(record.read(version.id, start, start + length))
    return record.read_snapshot(version.id)[start : start + length]


def _require_space(home: str) -> None:
    largest = max(os.path.getsize(place(home, name)) for name in (RECORD, INDEX, TEXT))
    free = shutil.disk_usage(home).free
    if free < largest * _SPACE:
        raise StoreUnusable(
            f"{home}: {free >> 20:,} MB are free, and writing the largest database anew takes {int(largest * _SPACE) >> 20:,} MB."
            " Free some space."
        )


def _empty(path: str) -> None:
    """Empty a cache in place, because other processes may have it open; one that cannot be emptied is removed."""
    if not os.path.exists(path):
        return
    try:
        db = sqlite.connect(path)
        try:
            db.set_busy_timeout(10_000)
            tables = [row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
            with db:
                for table in tables:
                    db.execute(f"DELETE FROM {table}")
        finally:
            db.close()
        _compact(path)
    except (apsw.Error, HansardError):
        for suffix in ("", "-wal", "-shm"):
            overwrite_and_remove(path + suffix)


def _compact_text(path: str, record: Record) -> None:
    """Merge the whole full text first: FTS5 keeps the words of a deleted row until their segment is merged."""
    from hansard.index.text import TextIndex

    text = TextIndex(path, record)
    try:
        text.merge_whole()
    finally:
        text.close()
    _compact(path)


def _compact(path: str) -> None:
    """Write a database anew, and empty its log."""
    try:
        db = sqlite.connect(path)
        try:
            db.set_busy_timeout(10_000)
            db.execute("VACUUM")
            busy, _, _ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0]
        finally:
            db.close()
        if busy:
            raise apsw.BusyError("another connection reads its log")
    except apsw.Error as error:
        raise store_error(error, path, lambda reason: StoreUnusable(f"{path}: {reason}")) from error


def joined(stretches: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same ranges without overlaps."""
    result: list[tuple[int, int]] = []
    for start, end in sorted(stretches):
        if result and start <= result[-1][1]:
            result[-1] = result[-1][0], max(end, result[-1][1])
        else:
            result.append((start, end))
    return result
