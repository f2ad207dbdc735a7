"""Rows of other programs' databases become logs of the record, one for each session.

A session's log grows by the new units of its database, in the order of the conversation. What is in the log already is
found by reading it, so there is no second state that could disagree. A unit that the client is still writing waits
until it is complete, or has not changed for a while. If a logged one changed so that its records differ, or new ones come
before it, the session begins its next generation, like a rewritten transcript. A unit that the client deleted stays, with
a note that it was deleted; a deleted session is marked gone.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING

import apsw
import msgspec
from msgspec import Struct

from hansard.clients.row_logs import DELETED, FACT, ID, UPDATE, RowClient, head
from hansard.errors import HansardError, StoreCorrupt
from hansard.record.chain import LOG
from hansard.record.store import GONE, LIVE, Known, Record
from hansard.sources.databases import database_status
from hansard.sources.foreign import has_journals, open_foreign
from hansard.sources.roots import FileKind
from hansard.sources.tail import Mark
from hansard.sync.survey import is_forgotten

if TYPE_CHECKING:
    from hansard.clients.row_logs import Content, RowLog, Unit
    from hansard.sources.discover import Found
    from hansard.sources.foreign import ForeignDatabase
    from hansard.sources.roots import Root
    from hansard.sync.record_writer import WriteResult

WAIT_MS = 5 * 60 * 1000
"""How long after its last change an incomplete unit is stored as it is."""

_HEAD = 4096  # bytes at the beginning of a line that have its first key and id
_COMPARED = 8 << 20  # bytes; a longer unit that changed counts as another one
_SMALL = 64 << 20  # bytes; a smaller database is copied whenever it changes
_REST_NS = 30  # nanoseconds between two copies for each byte: a minute for 2 GB
_TRIES = 3
_HASH = 16
_MODE = 0o600
_first_key = msgspec.json.Decoder(dict[str, str]).decode


class _RewriteError(Exception):
    """The conversation in the database is no longer a continuation of the log."""


class _Logged(Struct):
    """What a log has of a unit or a fact."""

    digest: bytes  # of its last state
    start: int  # of its line
    length: int
    number: int  # of the unit in the log
    is_deleted: bool = False
    is_erased: bool = False  # the database's version is neither compared nor stored


class _Log(Struct):
    """What a log has."""

    units: dict[str, _Logged] = {}
    facts: dict[str, bytes] = {}
    erased_facts: dict[str, tuple[int, int]] = {}  # start and length of their lines
    is_damaged: bool = False


class RowCapture:
    """Stores the sessions of databases."""

    def __init__(
        self,
        record: Record,
        kept: WriteResult,
        count: Callable[[int], None],
        settle: Callable[[], None],
        *,
        reread: bool,
    ) -> None:
        """`count` gets numbers of stored bytes; `settle` may commit."""
        self._record = record
        self._kept = kept
        self._count = count
        self._settle = settle
        self._reread = reread
        self._folder = os.path.dirname(record.path)

    def take(
        self, root: Root, root_id: int, client: RowClient, file: Found, known: Known | None
    ) -> dict[str, int] | None:
        """Keep what is new in a database; returns the rows of tables that the client does not know, None if it was not read."""
        place = root.locate(file.path)
        if known is not None and not self._reread and _is_early(known, place):
            return None
        tries, is_waiting = 1, False
        unread: dict[str, int] = {}
        while True:
            seen_ns = time.time_ns()
            status = database_status(place)
            try:
                with _opened(place, self._folder) as database:
                    is_waiting = self._sessions(root, root_id, client, file.path, place, database)
                    unread = client.unread(database) if database is not None else {}
            except OSError:  # a file that is written while it is read may look damaged
                if tries == _TRIES or database_status(place) == status:
                    raise
                tries += 1
            else:
                break
        since_ns = seen_ns
        if known is not None and known.settled(*status[:4]) and known.since_ns is not None:
            since_ns = min(since_ns, known.since_ns)
        mark = Mark(status.size, status.mtime_ns, status.ctime_ns, status.inode, b"", b"", seen_ns, since_ns)
        if is_waiting:  # there may be something new although the status is the same
            mark = mark._replace(seen_ns=0, since_ns=seen_ns)
        self._record.note_database(root_id, file.path, FileKind.DATABASE, mark)
        return unread

    def _sessions(
        self, root: Root, root_id: int, client: RowClient, path: str, place: str, database: ForeignDatabase | None
    ) -> bool:
        """Store what is new in all sessions; whether an incomplete unit is waiting."""
        record = self._record
        owner = _owner(path)
        ranks = self._ranks(root.client, client)
        rank = client.database_rank(path)
        tombstones = record.tombstones()
        listed: set[str] = set()
        is_waiting, failures = False, list[str]()
        for log in client.row_logs(path, place, database):
            log_path = f"{root.layout.rows}/{log.path}.jsonl"
            if log_path in listed:
                continue
            listed.add(log_path)
            known = record.known_file(root_id, log_path)
            if known is None and is_forgotten(tombstones, root, log_path):
                continue
            if self._is_elsewhere(log_path, rank, ranks):
                continue
            if known is not None and known.state == LIVE and known.head != owner:
                if ranks[root_id].get(known.head) == rank:
                    continue  # another database had it first
            elif known is not None and known.state == LIVE and known.last == _stamp(log) and not self._reread:
                continue
            try:
                is_waiting |= self._session(root_id, log_path, log, owner, known, client, database)
            except (OSError, HansardError, apsw.Error):
                raise
            except Exception as error:  # noqa: BLE001 - any failure stays with its session, and the others are kept
                failures.append(f"{log_path}: {type(error).__name__}: {error}")
            self._settle()
        if database is not None:
            database.check()
        self._mark_gone(root_id, path, listed)
        if failures:
            more = f" ({len(failures)} sessions in all)" if len(failures) > 1 else ""
            raise OSError(errno.EINVAL, f"a session cannot be read: {failures[0]}{more}", place)
        return is_waiting

    def _is_elsewhere(self, log_path: str, rank: int, ranks: dict[int, dict[bytes, int]]) -> bool:
        """Whether a database of higher rank has a session."""
        for root_id, of_root in ranks.items():
            other = self._record.known_file(root_id, log_path)
            if other is not None and other.state == LIVE and of_root.get(other.head, rank) < rank:
                return True
        return False

    def _ranks(self, name: str, client: RowClient) -> dict[int, dict[bytes, int]]:
        """The ranks of the databases that still exist, in each root of the client."""
        return {
            row.id: {
                _owner(path): client.database_rank(path)
                for path, known in self._record.known(row.id).items()
                if known.kind == FileKind.DATABASE and known.state == LIVE
            }
            for row in self._record.roots()
            if row.client == name
        }

    def _mark_gone(self, root_id: int, path: str, listed: set[str]) -> None:
        lost = [known for known in sessions_of(self._record, root_id, path) if known.path not in listed]
        if lost:
            self._record.set_state(
                [known.file_id for known in lost], GONE, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            )
            self._kept.touched.update(known.generation for known in lost)
            self._kept.gone += len(lost)

    def _session(
        self,
        root_id: int,
        path: str,
        log: RowLog,
        owner: bytes,
        known: Known | None,
        client: RowClient,
        database: ForeignDatabase | None,
    ) -> bool:
        """Store what is new in a session, all or nothing; whether an incomplete unit is waiting."""
        record, kind = self._record, FileKind.AGENT if log.is_agent else FileKind.MAIN
        generation = known.generation if known is not None and FileKind(known.kind).is_log else None
        before = self._kept.bytes_read
        is_waiting = False
        try:
            with record.isolated():
                if generation is None:
                    generation = record.start_generation(root_id, path, kind, "new")
                is_same_owner = known is not None and known.head == owner and not self._reread
                since = known.mtime_ns // 1_000_000 if known is not None and is_same_owner else 0
                is_waiting = self._append(generation, log, client, since)
                self._end(generation, log, owner, database, waiting_since=since if is_waiting else None)
        except _RewriteError:
            if generation is None:
                raise
            former = generation
            with record.isolated():
                generation = record.start_generation(root_id, path, kind, "rewritten")
                self._rewrite(former, generation, log)
                self._end(generation, log, owner, database)
            self._kept.touched.add(former)
        self._kept.touched.add(generation)
        self._kept.changed += self._kept.bytes_read != before
        return is_waiting

    def _end(
        self,
        generation: int,
        log: RowLog,
        owner: bytes,
        database: ForeignDatabase | None,
        *,
        waiting_since: int | None = None,
    ) -> None:
        """Note what was stored; units after one that waits are compared next time, from the same moment."""
        if database is not None:
            database.check()
        now = time.time_ns()
        until, stamp = (log.time, _stamp(log)) if waiting_since is None else (waiting_since, b"")
        mark = Mark(self._record.size(generation), until * 1_000_000, 0, 0, owner, stamp, now, now)
        self._record.settle(generation, mark, _MODE)

    def _append(self, generation: int, log: RowLog, client: RowClient, since: int) -> bool:
        """Append what is new; `_RewriteError` if it is not a continuation."""
        logged = self._read(generation)
        if logged.is_damaged or not self._record.can_append(generation):
            raise _RewriteError
        seen: set[str] = set()
        last, has_new, is_waiting = -1, False, False
        for unit in log.units():
            if unit.is_fact:
                content = unit.read()
                if _must_wait(unit, content, log):
                    is_waiting = True
                elif unit.id not in logged.erased_facts and logged.facts.get(unit.id) != _digest(content.body):
                    self._write(generation, FACT, unit.id, content.body)
                continue
            if unit.id in seen:
                continue
            seen.add(unit.id)
            had = logged.units.get(unit.id)
            if had is None:
                content = unit.read()
                if _must_wait(unit, content, log):
                    return True
                self._write(generation, ID, unit.id, content.body)
                has_new = True
                continue
            if had.is_deleted or has_new or had.number < last:
                raise _RewriteError
            last = had.number
            if had.is_erased:
                continue
            if unit.updated is not None and unit.updated < since:
                continue
            content = unit.read()
            if _digest(content.body) == had.digest:
                continue
            if _must_wait(unit, content, log):
                return True
            if not self._is_same(generation, had, unit, content, client):
                raise _RewriteError
            self._write(generation, UPDATE, unit.id, content.body)
        for id_, had in logged.units.items():
            if id_ not in seen and not had.is_deleted:
                self._piece(generation, head(DELETED, id_) + b"}\n")
        return is_waiting

    def _rewrite(self, former: int, generation: int, log: RowLog) -> None:
        """Write the session as it is now, with deleted units in their places."""
        logged = self._read(former)
        present = {unit.id for unit in log.units() if not unit.is_fact}
        after: dict[str, list[str]] = {}
        place = ""
        for id_ in logged.units:
            if id_ in present:
                place = id_
            else:
                after.setdefault(place, []).append(id_)

        def copy(start: int, length: int, *, is_erased: bool) -> None:
            if is_erased:
                self._record.note_blanks(LOG, generation, [(self._record.size(generation), length)])
            for piece in self._record.read(former, start, start + length):
                self._piece(generation, piece)
            self._piece(generation, b"\n")

        def write_deleted(place: str) -> None:
            for id_ in after.get(place, ()):
                had = logged.units[id_]
                copy(had.start, had.length, is_erased=had.is_erased)
                self._piece(generation, head(DELETED, id_) + b"}\n")

        seen: set[str] = set()
        is_begun = False
        for unit in log.units():
            if unit.is_fact and unit.id in logged.erased_facts:
                copy(*logged.erased_facts[unit.id], is_erased=True)
            elif unit.is_fact:
                self._write(generation, FACT, unit.id, unit.read().body)
            elif unit.id not in seen:
                if not is_begun:
                    write_deleted("")
                    is_begun = True
                seen.add(unit.id)
                known = logged.units.get(unit.id)
                if known is not None and known.is_erased:
                    copy(known.start, known.length, is_erased=True)
                else:
                    self._write(generation, ID, unit.id, unit.read().body)
                write_deleted(unit.id)
        if not is_begun:
            write_deleted("")

    def _is_same(self, generation: int, had: _Logged, unit: Unit, content: Content, client: RowClient) -> bool:
        """Whether the unit gives the same records as before."""
        if had.length > _COMPARED:
            return False
        former = b"".join(self._record.read(generation, had.start, had.start + had.length))
        pieces = [head(ID, unit.id), b","]
        size = 0
        for piece in content.body:
            pieces.append(piece)
            size += len(piece)
            if size > _COMPARED:
                return False
        try:
            return list(client.decode(former)) == list(client.decode(b"".join((*pieces, b"}"))))
        except Exception:  # noqa: BLE001 - unreadable means different
            return False

    def _write(self, generation: int, kind: str, id_: str, body: Iterable[bytes]) -> None:
        self._piece(generation, head(kind, id_) + b",")
        for piece in body:
            self._piece(generation, piece)
        self._piece(generation, b"}\n")

    def _piece(self, generation: int, piece: bytes) -> None:
        self._record.append(generation, piece)
        self._count(len(piece))

    def _read(self, generation: int) -> _Log:
        """The units and facts of a log, by reading it."""
        log = _Log()
        blanks = self._record.blanks(LOG, generation)
        try:
            for start, length, beginning, digest in _lines(self._record.read(generation)):
                kind, id_ = _key(beginning)
                is_erased = any(blank < start + length and start < blank + size for blank, size in blanks)
                if kind == FACT:
                    log.facts[id_] = digest
                    if is_erased:
                        log.erased_facts[id_] = start, length
                elif kind == ID:
                    log.units[id_] = _Logged(digest, start, length, len(log.units), is_erased=is_erased)
                elif kind == UPDATE and id_ in log.units:
                    log.units[id_].digest = digest
                    log.units[id_].is_erased |= is_erased
                elif kind == DELETED and id_ in log.units:
                    log.units[id_].is_deleted = True
        except StoreCorrupt:
            return _Log(is_damaged=True)
        return log


def _is_early(known: Known, place: str) -> bool:
    """Whether a database that has to be copied was read so recently that another copy would cost too much."""
    size = os.path.getsize(place) if has_journals(place) else 0
    return size > _SMALL and 0 <= time.time_ns() - max(known.seen_ns, known.since_ns or 0) < size * _REST_NS


def sessions_of(record: Record, root_id: int, path: str) -> list[Known]:
    """The logs of the known sessions of a database."""
    owner = _owner(path)
    return [
        known
        for known in record.known(root_id).values()
        if known.head == owner and known.state == LIVE and FileKind(known.kind).is_log
    ]


@contextmanager
def _opened(place: str, folder: str) -> Iterator[ForeignDatabase | None]:
    """A database, or None for a folder or a file of lines that a client reads like one."""
    if stat.S_ISDIR(os.stat(place).st_mode) or place.endswith(".jsonl"):
        yield None
    else:
        with open_foreign(place, folder) as database:
            yield database


def _must_wait(unit: Unit, content: Content, log: RowLog) -> bool:
    """Whether a unit may change at any moment."""
    return not content.is_complete and (unit.updated or log.time) > time.time() * 1000 - WAIT_MS


def _lines(pieces: Iterable[bytes]) -> Iterator[tuple[int, int, bytes, bytes]]:
    """Start, length, beginning and digest of each line; the digest is of what follows the first key and its value."""
    start = length = 0
    beginning = b""
    digest = None
    for piece in pieces:
        place = 0
        while place < len(piece):
            end = piece.find(b"\n", place)
            part = piece[place : end if end >= 0 else len(piece)]
            length += len(part)
            if digest is None:
                beginning += part
                if end >= 0 or len(beginning) >= _HEAD:
                    digest = blake2b(beginning[_after_key(beginning) :], digest_size=_HASH)
            else:
                digest.update(part)
            if end < 0:
                break
            if digest is not None:
                yield start, length, beginning, digest.digest()
            start += length + 1
            length, beginning, digest = 0, b"", None
            place = end + 1


def _after_key(beginning: bytes) -> int:
    """Where the body of a line begins."""
    comma = _end_of_id(beginning)
    return comma + 1 if beginning[comma : comma + 1] == b"," else comma


def _end_of_id(beginning: bytes) -> int:
    place = beginning.find(b'":"') + 3
    while place < len(beginning) and beginning[place] != 0x22:
        place += 2 if beginning[place] == 0x5C else 1
    return place + 1


def _key(beginning: bytes) -> tuple[str, str]:
    """The first key of a line and its value."""
    try:
        return next(iter(_first_key(beginning[: _end_of_id(beginning)] + b"}").items()), ("", ""))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return "", ""


def _digest(body: Iterable[bytes]) -> bytes:
    digest = blake2b(digest_size=_HASH)
    for piece in body:
        digest.update(piece)
    digest.update(b"}")
    return digest.digest()


def _owner(path: str) -> bytes:
    return blake2b(path.encode("utf-8", "surrogatepass"), digest_size=_HASH).digest()


def _stamp(log: RowLog) -> bytes:
    return blake2b(log.stamp.encode("utf-8", "surrogatepass"), digest_size=_HASH).digest()
