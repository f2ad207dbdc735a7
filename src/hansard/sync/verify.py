"""Verifying a whole store: the record, and both indexes against the record; repairing what can be repaired."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import apsw
from msgspec.structs import replace

from hansard.errors import StoreBusy, StoreCorrupt, UsageError
from hansard.index.store import IndexDamaged, discard, signature
from hansard.record.chain import is_revision
from hansard.record.store import Generation, Record
from hansard.record.verify import SOURCE_DIFFERS, Mismatch, VerifyReport
from hansard.record.verify import repair as mend
from hansard.record.verify import verify as verify_record
from hansard.sources.roots import Root
from hansard.storage import OFFSET_BITS, OFFSET_MASK, sqlite
from hansard.storage.heartbeat import note_verify
from hansard.storage.sqlite import connect_readonly
from hansard.sync.data_files import CHECK, INDEX, RECORD, SAMPLE_PREFIX, TEXT, place, remove_leftovers, sync_lock
from hansard.sync.report import ProgressReporter, SyncRequest
from hansard.sync.run import is_signed, sync

if TYPE_CHECKING:
    from hansard.model.store_requests import VerifyRequest
    from hansard.pricing.settle import Prices

SAMPLE = 20
"""How many transcripts are read again and compared with the indexes in a sample."""

_SAMPLE_BYTES = 4 << 20
_SAMPLE_TEXTS = 50
_PHRASE = 8
_WAIT = 10.0
_AHEAD = "its last writes are lost, or it is an older copy"
_TEXTS = ("titles", "talk", "work", "reminders")
# What a fresh index has otherwise: when it was made, what it has still to do, what went wrong.
_NOT_COMPARED = frozenset({"meta", "quarantine", "dirty", "unsettled"})


def verify(home: str, roots: Sequence[Root], request: VerifyRequest, *, prices: Prices | None = None) -> VerifyReport:
    """Check the record, then the indexes: SQLite's own check, and a sample of transcripts (`full`: all) indexed again.

    With `repair`, damaged chunks are repaired from sources that still have their bytes, a record with damaged pages is made again, sources
    that differ are read again, and a wrong index is made again; the report describes the state after that.
    """
    if request.since is not None and not is_revision(request.since):
        raise UsageError(f"invalid revision {request.since!r}; use one that `hansard verify` printed, as 412:9f3c0a")

    def look() -> VerifyReport:
        return _verify(home, roots, request, prices)

    report = _repaired(home, roots, look, prices) if request.repair else look()
    first = f"{report.mismatches[0].path}: {report.mismatches[0].reason}" if report.mismatches else ""
    note_verify(home, len(report.mismatches), first)
    return report


def _verify(home: str, roots: Sequence[Root], request: VerifyRequest, prices: Prices | None) -> VerifyReport:
    record = Record.open(place(home, RECORD), readonly=True)
    try:
        report = verify_record(record, roots, request.deep or request.repair, request.progress, request.since)
        damaged = [
            Mismatch(path, None, None, reason)
            for path in (place(home, INDEX), place(home, TEXT))
            for reason in _database_damage(path)
        ]
        report.mismatches += damaged
    finally:
        record.close()
    if not damaged:
        with sync_lock(home, _WAIT) as held:
            if held:  # else a sync is running and the indexes are behind
                _check_indexes(home, report, prices, full=request.full)
    return report


def _check_indexes(home: str, report: VerifyReport, prices: Prices | None, *, full: bool) -> None:
    record = Record.open(place(home, RECORD), readonly=True)
    try:
        if not is_signed(home, record):
            report.mismatches += _lost_revisions(home, record)
            return
        if full:
            _compare_all(home, record, report, prices)
        else:
            _compare_sample(home, record, report)
    finally:
        record.close()


def _lost_revisions(home: str, record: Record) -> list[Mismatch]:
    """Whether an index knows of later writes than the record has: damage to its write-ahead log loses them silently."""
    from hansard.index.schema import VERSION

    signed = signature(place(home, INDEX), VERSION)
    last = record.head().number
    if signed is None or signed[0] != record.store_id or not isinstance(signed[1], int) or signed[1] <= last:
        return []
    reason = f"it ends at revision {last}, but {INDEX} was made from revision {signed[1]}: {_AHEAD}"
    return [Mismatch(record.path, None, None, reason)]


def _database_damage(path: str) -> list[str]:
    """What SQLite finds wrong with an index; the full text's own check is part of it."""
    if not os.path.exists(path):
        return []
    try:
        db = connect_readonly(path)
        try:
            rows: list[Any] = db.execute("PRAGMA integrity_check(10)").fetchall()
        finally:
            db.close()
    except apsw.Error as error:
        return [f"it cannot be read ({error})"]
    return [str(row[0]) for row in rows if row[0] != "ok"]


# -- a sample


def _compare_sample(home: str, record: Record, report: VerifyReport) -> None:
    """Index some transcripts again, each alone, and compare what depends on their own bytes only."""
    from hansard.index.rows import RowIndex
    from hansard.index.text import TextIndex
    from hansard.sync.indexing import transcript_of

    roots = {row.id: row for row in record.roots()}
    with tempfile.TemporaryDirectory(prefix=SAMPLE_PREFIX, dir=home) as folder:
        rows = RowIndex(os.path.join(folder, INDEX), record)
        text = TextIndex(os.path.join(folder, TEXT), record)
        with _attached(rows.db, place(home, INDEX)), _attached(text.db, place(home, TEXT)):
            damaged = {item.generation for item in report.mismatches}
            for generation in _sampled(home, record, damaged):
                read = partial(record.read, end=_indexed(rows.db, generation.id), mend=True)
                with rows.transaction():
                    rows.feed(transcript_of(generation, roots[generation.root_id]), read(generation.id))
                with text.transaction():
                    text.feed(generation.id, generation.kind, roots[generation.root_id].client, read)
                report.rederived += 1
                differing = [*_other_rows(rows.db, generation.id), *_other_texts(text.db, generation.id)]
                report.mismatches += [
                    Mismatch(generation.path, generation.id, None, f"{name} differs from a fresh reading of the record")
                    for name in differing
                ]
        rows.close()
        text.close()


def _sampled(home: str, record: Record, damaged: set[int | None]) -> list[Generation]:
    indexed = {row[0] for row in _query(place(home, INDEX), "SELECT id FROM transcripts WHERE size > 0")}
    usable = [item for item in record.generations() if item.id in indexed - damaged and item.size <= _SAMPLE_BYTES]
    chance = random.Random(os.urandom(8))  # noqa: S311 - a sample, no secret
    return sorted(chance.sample(usable, min(SAMPLE, len(usable))), key=lambda item: item.id)


def _indexed(db: apsw.Connection, transcript: int) -> int:
    """How much of a transcript both indexes have read: a sync may be running."""
    return int(db.execute("SELECT size FROM was.transcripts WHERE id = ?", (transcript,)).get)


def _other_rows(db: apsw.Connection, transcript: int) -> list[str]:
    """The tables whose rows of a transcript differ from a fresh reading."""
    from hansard.index.rows import RANGED

    low = transcript << OFFSET_BITS
    span = f"WHERE id BETWEEN {low} AND {low + OFFSET_MASK}"
    found = []
    for table in RANGED:
        here, there = f"SELECT * FROM main.{table} {span}", f"SELECT * FROM was.{table} {span}"
        if any(db.execute(f"{one} EXCEPT {other} LIMIT 1").get for one, other in ((here, there), (there, here))):
            found.append(f"table {table} of {INDEX}")
    return found


def _other_texts(db: apsw.Connection, transcript: int) -> list[str]:
    """The full-text tables that do not find a text of a transcript by its first words."""
    from hansard.index.schema import TEXT_BITS, TEXT_MASK

    low = transcript << TEXT_BITS
    places = f"(SELECT * FROM {{}}.places WHERE doc BETWEEN {low} AND {low | TEXT_MASK})"
    ours, theirs = places.format("main"), places.format("was")
    differing = f"SELECT 1 FROM {ours} a FULL JOIN {theirs} b USING (doc) WHERE a.id IS NOT b.id LIMIT 1"
    found = [f"table places of {TEXT}"] if db.execute(differing).get else []
    for table in _TEXTS:
        db.execute(f"CREATE VIRTUAL TABLE temp.words USING fts5vocab (main, {table}, instance)")
        try:
            rows: list[Any] = db.execute(
                "SELECT doc, term FROM temp.words WHERE col = 'body' AND offset < ? AND doc BETWEEN ? AND ? ORDER BY doc, offset",
                (_PHRASE, low, low | TEXT_MASK),
            ).fetchall()
        finally:
            db.execute("DROP TABLE temp.words")
        phrases: dict[int, list[str]] = {}
        for doc, term in rows:
            phrases.setdefault(doc, []).append(term)
        for doc, terms in list(phrases.items())[:_SAMPLE_TEXTS]:
            phrase = " ".join(terms).replace('"', "")
            hit = db.execute(f"SELECT 1 FROM was.{table} WHERE {table} MATCH ? AND rowid = ?", (f'"{phrase}"', doc)).get
            if hit is None:
                found.append(f"{table} of {TEXT}")
                break
    return found


# -- all of it


def _compare_all(home: str, record: Record, report: VerifyReport, prices: Prices | None) -> None:
    """Make both indexes again beside the present ones, and compare every row and every word."""
    from hansard.pricing.settle import Prices
    from hansard.sync.rebuild import make

    try:
        make(home, record, ProgressReporter(None), prices or Prices(home), workers=True, suffix=CHECK)
        report.rederived = sum(1 for _ in record.generations())
        for name in (INDEX, TEXT):
            differing = _other_tables(place(home, name), place(home, name + CHECK))
            report.mismatches += [
                Mismatch(place(home, name), None, None, f"table {table} differs from a fresh reading of the record")
                for table in differing
            ]
    finally:
        for name in (INDEX, TEXT):
            discard(place(home, name + CHECK))


def _other_tables(path: str, fresh: str) -> list[str]:
    db = sqlite.connect(fresh)
    try:
        with _attached(db, path):
            if os.path.basename(path) == TEXT:
                return [table for table in _TEXTS if _words(db, "main", table) != _words(db, "was", table)]
            tables: list[Any] = db.execute(
                "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
            ).fetchall()
            return [name for (name,) in tables if name not in _NOT_COMPARED and _differs(db, name)]
    finally:
        db.close()


def _differs(db: apsw.Connection, table: str) -> bool:
    here, there = _meaning(db, "main", table), _meaning(db, "was", table)
    return any(db.execute(f"{one} EXCEPT {other} LIMIT 1").get for one, other in ((here, there), (there, here)))


def _meaning(db: apsw.Connection, schema: str, table: str) -> str:
    """A query for the rows of a table without values that depend on the number of syncs that wrote them.

    Rates are numbered in the order in which syncs met them, so `spending` is compared by the rates it refers to. A rate that no
    message needs any more, because a later line of that message named another model, stays in the table unused.
    """
    columns = [row[1] for row in db.execute(f"PRAGMA main.table_info({table})")]
    if table == "spending":
        rate = [row[1] for row in db.execute("PRAGMA main.table_info(rates)")]
        sums = [f"s.{name}" for name in columns if name != "rate"] + [f"r.{name}" for name in rate if name != "id"]
        return f"SELECT {', '.join(sums)} FROM {schema}.spending s LEFT JOIN {schema}.rates r ON r.id = s.rate"
    if table == "rates":
        selected = ", ".join(name for name in columns if name != "id")
        key = "model, service_tier, speed, inference_geo"
        # Counted: two equal rates would charge each message twice.
        return (
            f"SELECT {selected}, count(*) FROM {schema}.rates"
            f" WHERE ({key}) IN (SELECT {key} FROM {schema}.usage) GROUP BY {selected}"
        )
    return f"SELECT {', '.join(name for name in columns if name != 'derived')} FROM {schema}.{table}"


def _words(db: apsw.Connection, schema: str, table: str) -> bytes:
    """A hash of every word of a full-text table with its numbers of texts and of occurrences."""
    db.execute(f"CREATE VIRTUAL TABLE temp.words USING fts5vocab ({schema}, {table}, row)")
    try:
        digest = sha256()
        for row in db.execute("SELECT term, doc, cnt FROM temp.words"):
            digest.update(repr(row).encode())
        return digest.digest()
    finally:
        db.execute("DROP TABLE temp.words")


# -- repair


def _repaired(
    home: str, roots: Sequence[Root], look: Callable[[], VerifyReport], prices: Prices | None
) -> VerifyReport:
    """Repair what can be repaired; the report of what remains."""
    from hansard.sync.repair import finish_repair

    with _locked(home):
        remove_leftovers(home)
        finish_repair(home)
    try:
        report = look()
    except StoreCorrupt as error:  # so damaged that it cannot even be verified
        path = error.path if isinstance(error, IndexDamaged) else place(home, RECORD)
        report = VerifyReport(mismatches=[Mismatch(path, None, None, str(error))])
    before = report.mismatches
    if not before:
        return report
    lost, copy = _repair(home, roots, before, prices)
    after = look()
    remaining = [*after.mismatches, *(Mismatch(place(home, RECORD), None, None, reason) for reason in lost)]
    return replace(after, repaired=len(set(before) - set(remaining)), mismatches=remaining, damaged_copy=copy)


def _repair(
    home: str, roots: Sequence[Root], mismatches: Sequence[Mismatch], prices: Prices | None
) -> tuple[list[str], str | None]:
    """Descriptions of losses that a verification does not find, and the path of a damaged record that was kept."""
    from hansard.sync.rebuild import rebuild
    from hansard.sync.repair import damaged_copies, has_damaged_pages, replace_record

    salvaged = None
    with _locked(home):
        if has_damaged_pages(home):
            salvaged = replace_record(home, roots)
        else:
            with Record.open(place(home, RECORD)) as record:
                mend(record, roots, mismatches)
    indexes = {place(home, INDEX), place(home, TEXT)}
    if salvaged is not None or any(
        item.reason == SOURCE_DIFFERS or item.reason.endswith(_AHEAD) for item in mismatches
    ):
        sync(home, roots, SyncRequest(reread=True), prices=prices)
    if salvaged is not None:
        return salvaged.doubtful, damaged_copies(home)[-1]
    if any(item.path in indexes or "fresh reading" in item.reason for item in mismatches):
        rebuild(home, prices=prices)
    return [], None


@contextmanager
def _locked(home: str) -> Iterator[None]:
    with sync_lock(home, _WAIT) as held:
        if not held:
            raise StoreBusy("another process is syncing this store and did not finish in time: try again")
        yield


@contextmanager
def _attached(db: apsw.Connection, path: str) -> Iterator[None]:
    """Attach an existing database as `was`."""
    db.execute("ATTACH ? AS was", (path,))
    try:
        yield
    finally:
        db.execute("DETACH was")


def _query(path: str, sql: str) -> list[Any]:
    try:
        db = connect_readonly(path)
        try:
            return db.execute(sql).fetchall()
        finally:
            db.close()
    except apsw.Error as error:
        raise IndexDamaged(path, error) from error
