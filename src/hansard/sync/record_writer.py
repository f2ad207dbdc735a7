"""From the sources to the record: every new byte is stored and committed before it is parsed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import apsw
from msgspec import Struct, field

from hansard.clients import client_of
from hansard.errors import HansardError
from hansard.record.chain import LOG
from hansard.record.store import GONE, LIVE, Known, Record
from hansard.sources.databases import IN_DATABASE, is_table_of
from hansard.sources.discover import Found, LeftOut
from hansard.sources.roots import FileKind
from hansard.sources.tail import PACKED, Mark, Tail, Verdict, open_tail
from hansard.sync import newest
from hansard.sync.report import COMPARE_BYTES, ProgressReporter
from hansard.sync.survey import RootSurvey, coming

if TYPE_CHECKING:
    from hansard.sync.forgotten_lines import ForgottenLines

# A commit waits for the disk. The first ones are early, so that the second process has something to do.
_FIRST_COMMIT, _LAST_COMMIT = 4 << 20, 32 << 20
_PIECE = 1 << 18  # one chunk of the record; larger pieces only leave the cache
COMPARED_AT_ONCE = 4 << 20
"""How many bytes of a large log that is being written are compared at each sync."""
_BEGUN = 1 << 20  # bytes before the new ones in which the beginning of a line is searched
_TRIES = 3  # for a file that is written while it is read
_Item = tuple[Found, Known | None, int, RootSurvey]


class WriteResult(Struct):
    """What was stored in the record."""

    touched: set[int] = field(default_factory=set)  # generations with something new
    retouched: dict[int, int] = field(default_factory=dict)  # snapshots with a new date
    changed: int = 0
    gone: int = 0
    bytes_read: int = 0
    late: dict[int, list[tuple[int, bytes]]] = field(default_factory=dict)
    """Markers for ranges that should not have been stored: beginnings of lines that turned out to be forgotten ones."""


class RecordWriter:
    """Stores what surveys found, file by file; a file that fails is quarantined, and the others go on.

    New logs get their ids first, the oldest log the lowest, so that ids follow time and a search that must stop early stops among
    the old ones. They are read in reverse, since users wait for the newest.
    """

    def __init__(
        self,
        record: Record,
        reporter: ProgressReporter,
        *,
        committed: Callable[[], None],
        reread: bool = False,
        compare_bytes: int | None = COMPARE_BYTES,
        scratch: str | None = None,
    ) -> None:
        """`committed` is called after each commit; a `compare_bytes` of None means no limit; logs are unpacked in `scratch`."""
        self.record = record
        self.kept = WriteResult()
        self._progress = reporter
        self._committed = committed
        self._reread = reread
        self._compare_left = compare_bytes
        self._scratch = scratch
        self._tombstones = record.tombstones()
        self._mask: Callable[[bytes], bytes] | None = None
        self._waiting: list[_Item] | None = None
        self._uncommitted = 0
        self._enough = _FIRST_COMMIT

    def keep(self, surveys: Sequence[RootSurvey]) -> WriteResult:
        """Store what the surveys found; an exception affects only its file, unless it is the store's own."""
        with self.record.writing():
            waiting = self._begin(surveys)
            self._enough = _FIRST_COMMIT
            while waiting:
                self._take(waiting.pop())
        self._committed()
        self._progress.end()
        return self.kept

    def keep_newest(self, surveys: Sequence[RootSurvey], limit: int) -> WriteResult:
        """Store the newest logs, up to about `limit` bytes in all; `keep` goes on with the rest."""
        with self.record.writing():
            waiting = self._begin(surveys)
            logs = [item for item in reversed(waiting) if item[0].kind.is_log]
            chosen = {id(item) for item in newest.choose(logs, limit, lambda item: coming(item[0], item[1]))}
            self._waiting = [item for item in waiting if id(item) not in chosen]
            for item in logs:
                if id(item) in chosen:
                    self._take(item)
        return self.kept

    def _begin(self, surveys: Sequence[RootSurvey]) -> list[_Item]:
        """The files to store, newest last; on the first call, record deleted files and assign ids to new ones."""
        if self._waiting is not None:
            return self._waiting
        total = sum(result.bytes for result in surveys)
        self._progress.begin("reading", files=sum(len(result.changed) for result in surveys), size=total)
        self._waiting = []
        for result in surveys:
            root_id = self.record.root_id(result.root.path, result.root.name, result.root.client)
            self._note_rest(root_id, result)
            self._reserve(root_id, result)
            self._waiting += [(file, known, root_id, result) for file, known in result.changed]
        self._waiting.sort(key=lambda item: (-item[0].mtime_ns, item[0].path), reverse=True)
        # Databases come last, those of the highest rank first.
        databases = [item for item in self._waiting if item[0].kind is FileKind.DATABASE]
        if databases:
            databases.sort(key=_rank, reverse=True)
            self._waiting = [*databases, *(item for item in self._waiting if item[0].kind is not FileKind.DATABASE)]
        return self._waiting

    def _take(self, item: _Item) -> None:
        self._file(*item)
        self._progress.step(files=1)
        self._commit_enough()

    def _reserve(self, root_id: int, result: RootSurvey) -> None:
        """Give ids to logs that are new."""
        new = [item for item in result.changed if item[0].kind.is_log and (item[1] is None or not _is_log(item[1]))]
        new.sort(key=lambda item: (item[0].mtime_ns, item[0].path))
        if all(known is None for _, known in new):
            self.record.start_logs(root_id, [(file.path, file.kind.value) for file, _ in new])
            return
        for file, _ in new:
            self.record.start_generation(root_id, file.path, file.kind.value, Verdict.NEW.value)

    def _note_rest(self, root_id: int, result: RootSurvey) -> None:
        """Note files that are gone, left out, or no longer failing."""
        record = self.record
        if result.gone:
            self._mark_lost(root_id, result.gone)
        for path in result.released:
            record.release(root_id, path)
        if result.complete:
            record.forget_left_out(root_id, {item.path for item in result.left_out})
            for item in result.left_out:
                record.leave_out(root_id, item.path, item.size, item.reason)

    def _mark_lost(self, root_id: int, lost: Sequence[Known]) -> None:
        databases = [known.path for known in lost if known.kind == FileKind.DATABASE]
        if databases:
            from hansard.sync.row_capture import sessions_of

            known_lost = {known.file_id for known in lost}
            rows = [known for path in databases for known in sessions_of(self.record, root_id, path)]
            lost = [*lost, *(known for known in rows if known.file_id not in known_lost)]
        self.record.set_state([known.file_id for known in lost], GONE, _now())
        self.kept.touched.update(known.generation for known in lost if _is_log(known))
        self.kept.gone += len(lost)

    def _file(self, file: Found, known: Known | None, root_id: int, result: RootSurvey) -> None:
        """Store what is new in one file; a failure is noted with its reason."""
        place = result.root.locate(file.path) + (PACKED if file.is_packed else "")
        before = self.kept.bytes_read
        reason = ""
        try:
            if file.kind is FileKind.DATABASE:
                self._rows(root_id, file, known, result)
            elif file.kind.is_log:
                self._log(place, root_id, result.root.client, file)
            else:
                self._whole(place, root_id, result.root.client, file, known)
        except FileNotFoundError:
            if known is not None and known.state == LIVE:
                self._mark_lost(root_id, [known])
        except (HansardError, apsw.Error):
            raise  # of the store itself, not of this file
        except Exception as error:  # noqa: BLE001 - a failure affects only its file; the others are stored
            reason = error.strerror or str(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
        if reason:
            # A file that gave something this time may give more next time; others wait until they change.
            tried_ns = time.time_ns() if self.kept.bytes_read == before else 0
            self.record.quarantine(root_id, file.path, reason[:300], file.status, tried_ns)
            result.unreadable.append(f"{place}: {reason}")
        elif file.path in result.quarantined:
            self.record.release(root_id, file.path)

    def _log(self, place: str, root_id: int, client: str, file: Found) -> None:
        """Store what is new in a log; it is read again if it was written meanwhile."""
        record = self.record
        before = self.kept.bytes_read
        is_new = False
        reread = self._reread
        for _ in range(_TRIES):
            known = record.known_file(root_id, file.path)
            if known is None or self._can_wait(known, file):
                return
            mark = known.mark
            is_new = is_new or mark is None
            same = record.same_prefix(known.generation) if mark is not None else None
            with open_tail(place, mark, same, reread=reread, scratch=self._scratch) as tail:
                if known.state == GONE:
                    record.set_state([known.file_id], LIVE, _now())
                    self.kept.touched.add(known.generation)
                if tail.verdict is Verdict.SAME:
                    fresh = tail.mark()
                    record.settle(known.generation, fresh, tail.status.mode)
                    if fresh.mtime_ns != known.mtime_ns:
                        self.kept.touched.add(known.generation)
                    agrees = self._prove(known.generation, tail, known.size)
                else:
                    agrees = self._read(place, (root_id, client), file, known, tail)
                if agrees and not tail.has_moved():
                    break
                reread = reread or not agrees
        self.kept.changed += self.kept.bytes_read != before or is_new

    def _rows(self, root_id: int, file: Found, known: Known | None, result: RootSurvey) -> None:
        """Store what is new in a database."""
        from hansard.clients.row_logs import RowClient
        from hansard.sync.row_capture import RowCapture

        client = client_of(result.root.client)
        if isinstance(client, RowClient):
            capture = RowCapture(self.record, self.kept, self._count, self._commit_enough, reread=self._reread)
            unread = capture.take(result.root, root_id, client, file, known)
            if unread is not None:
                self._note_tables(root_id, file, unread, result)

    def _note_tables(self, root_id: int, file: Found, unread: dict[str, int], result: RootSurvey) -> None:
        """Note the tables of a database that have rows and are not read."""
        others = [item for item in result.left_out if not is_table_of(item.path, file.path)]
        found = [
            LeftOut(f"{file.path}{IN_DATABASE}{table}", 0, f"a table that is not read: {count:,} rows")
            for table, count in unread.items()
        ]
        if others + found != result.left_out:
            result.left_out = others + found
            self.record.forget_left_out(root_id, {item.path for item in result.left_out})
            for item in found:
                self.record.leave_out(root_id, item.path, item.size, item.reason)

    def _can_wait(self, known: Known, file: Found) -> bool:
        """Whether a log whose ctime alone changed can wait for the next sync, because this one has compared enough."""
        if self._compare_left is None or self._reread or known.state == GONE:
            return False
        if (file.size, file.mtime_ns) != (known.offset, known.mtime_ns) or known.ctime_ns == file.ctime_ns:
            return False
        self._compare_left -= file.size
        return self._compare_left + file.size <= 0

    def _read(self, place: str, root: tuple[int, str], file: Found, known: Known, tail: Tail) -> bool:
        """Append what is new to the log, or read all of it into its next generation; False if the file changed meanwhile."""
        root_id, client = root
        if tail.verdict is Verdict.GREW or (known.mark is None and known.size == 0):
            if self.record.can_append(known.generation):
                return self._append(tail, client, lambda: known.generation, known.size)
            with open_tail(place, None, scratch=self._scratch) as whole:
                return self._append(whole, client, lambda: self._next_generation(root_id, file, known, "damaged"))
        return self._append(tail, client, lambda: self._next_generation(root_id, file, known, tail.verdict.value))

    def _next_generation(self, root_id: int, file: Found, known: Known, reason: str) -> int:
        self.kept.touched.add(known.generation)
        return self.record.start_generation(root_id, file.path, file.kind.value, reason)

    def _forgotten_lines(self, generation: int, client: str, before: int) -> ForgottenLines:
        from hansard.sync.forgotten_lines import ForgottenLines, secret_mask

        if self._mask is None:
            self._mask = secret_mask(self.record, self._tombstones)
        kept = b"".join(self.record.read(generation, max(0, before - _BEGUN), before))
        begun = kept[kept.rfind(b"\n") + 1 :]

        def former(size: int) -> bytes:
            return b"".join(self.record.read(generation, 0, min(before, size)))

        begun = begun if len(begun) < _BEGUN else b""
        return ForgottenLines(client, self._tombstones, begun, before, self._mask, former)

    def _end_lines(self, generation: int, lines: ForgottenLines) -> None:
        """Store the rest of a batch of lines, and note the markers in it."""
        self.record.append(generation, lines.rest())
        self.record.note_blanks(LOG, generation, ((start, len(marked)) for start, marked in lines.blanks))
        lines.blanks.clear()
        if lines.late:
            self.kept.late.setdefault(generation, []).extend(lines.late)
            lines.late = []

    def _append(self, tail: Tail, client: str, begin: Callable[[], int], before: int = 0) -> bool:
        """Store the rest of a log in batches, each in full or not at all; a new generation begins with its first one.

        `before` is the size of the log so far. False if the file turned out to differ from what was read.
        """
        record = self.record
        agrees = True
        generation: int | None = None
        lines: ForgottenLines | None = None
        failure: OSError | None = None
        more = True
        while more and failure is None:
            more = False
            with record.isolated():
                if generation is None:
                    generation = begin()
                    lines = self._forgotten_lines(generation, client, before) if self._tombstones.key else None
                try:
                    for piece in tail.pieces(_PIECE):
                        if lines is None:
                            record.append(generation, piece)
                        else:
                            for whole in lines.feed(piece):
                                record.append(generation, whole)
                        self._count(len(piece))
                        if self._uncommitted >= self._enough and not (lines is not None and lines.waits):
                            more = True
                            break
                except OSError as error:
                    failure = error  # what was read so far stays
                if lines is not None:
                    self._end_lines(generation, lines)
                record.settle(generation, tail.mark(), tail.status.mode)
                agrees = self._prove(generation, tail, before, is_complete=not more and failure is None)
            self.kept.touched.add(generation)
            self._commit_enough()
        if failure is not None:
            raise failure
        return agrees

    def _prove(self, generation: int, tail: Tail, before: int, *, is_complete: bool = True) -> bool:
        """Note whether the file held the whole log at one moment; False if it differs now. `before` is the former size of the log.

        For that a live log is read once more, unless it is large and most of it was stored before: then only a part is compared
        at each sync, since an append must not cost more than its own bytes.
        """
        record = self.record
        if tail.proves():
            record.vouch(LOG, generation)
            return True
        if tail.verdict is not Verdict.SAME:
            record.doubt(LOG, generation, before)
        if not is_complete:
            return True
        if tail.is_large() and before > tail.size // 2:
            return tail.compare(lambda file: record.prove_next(generation, file, COMPARED_AT_ONCE))
        if record.unproven_from(LOG, generation) is not None:
            if not tail.compare(record.same_prefix(generation)):
                return False
            record.vouch(LOG, generation)
        return True

    def _commit_enough(self) -> None:
        if self._uncommitted >= self._enough:
            self._uncommitted = 0
            self._enough = min(2 * self._enough, _LAST_COMMIT)
            self.record.commit()
            self._committed()

    def _whole(self, place: str, root_id: int, client: str, file: Found, known: Known | None) -> None:
        """Store a small file as it is; it is read again if it was written meanwhile."""
        record = self.record
        data, mark, mode, proven = _read_whole(place)
        for _ in range(_TRIES - 1):
            if not proven:
                data, mark, mode, proven = _read_whole(place)
        self._count(len(data))
        blanks: list[tuple[int, int]] = []
        if self._tombstones.key and file.kind is FileKind.SESSIONS_INDEX:
            from hansard.sync.forgotten_lines import without_forgotten

            data, blanks = without_forgotten(client, data, self._tombstones)
        with record.isolated():
            new = record.snapshot(root_id, file.path, file.kind.value, data, mark, mode, proven=proven, blanks=blanks)
        if new:
            self.kept.changed += 1
        elif known is not None and not _is_log(known):
            self.kept.retouched[known.generation] = mark.mtime_ns

    def _count(self, size: int) -> None:
        self.kept.bytes_read += size
        self._uncommitted += size
        self._progress.step(size)


def _read_whole(place: str) -> tuple[bytes, Mark, int, bool]:
    """The bytes, mark and mode of a file, and whether it held all of these bytes at one moment."""
    with open_tail(place, None) as tail:
        data = b"".join(tail.pieces(_PIECE))
        # To its end: a file that grew meanwhile may never have been these bytes alone.
        return data, tail.mark(), tail.status.mode, tail.proves() or tail.compare(lambda file: file.read() == data)


def _rank(item: _Item) -> int:
    from hansard.clients.row_logs import RowClient

    client = client_of(item[3].root.client)
    return client.database_rank(item[0].path) if isinstance(client, RowClient) else 0


def _is_log(known: Known) -> bool:
    return FileKind(known.kind).is_log


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
