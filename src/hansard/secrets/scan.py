"""Search the record for secrets: what it has and `secrets.db` has not.

The scan trails the record as the indexes do: each log has a cursor of its own, and only new bytes are read. It holds no lock of the
sync, so a sync never waits for it. Every line is searched as it was recorded, JSON and all, which covers texts, inputs, results and fields
that no client is known to have. Texts that follow each other are searched again as chains, since a secret may be split over them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

import apsw

from hansard.clients import client_of
from hansard.clients.lines import LongLine, length_of
from hansard.errors import HansardError, StoreCorrupt
from hansard.files import FileLock
from hansard.guard.detection import detector, rules_version
from hansard.model.secrets import ScanReport
from hansard.record.store import Record
from hansard.secrets.chains import Chains
from hansard.secrets.counts import unscanned
from hansard.secrets.masking import is_text
from hansard.secrets.search import Search
from hansard.secrets.store import FILE, LOG, NAME, NAMED, REMARK, FindingStore, Scanned

if TYPE_CHECKING:
    from hansard.clients.protocol import Client
    from hansard.record.store import Generation
    from hansard.secrets.chains import Chain

Progress = Callable[[int, int], None]
"""Called with the bytes read so far and the bytes to read in all."""

_COMMIT_BYTES = 8 << 20  # between commits; an interrupted scan loses at most this much


def scan(
    home: str,
    *,
    progress: Progress | None = None,
    is_stopped: Callable[[], bool] = lambda: False,
    wait_seconds: float = 0.0,
    full: bool = False,
    logs: Collection[int] | None = None,
) -> ScanReport:
    """Search what is new in the record, or only in some logs; with `full` everything again. Another scan of this store may be running: `busy`."""
    started = time.perf_counter()
    with FileLock(os.path.join(home, "secrets.lock"), wait_seconds) as held:
        if not held:
            return ScanReport(busy=True)
        record = Record.open(os.path.join(home, "record.db"), readonly=True)
        try:
            store = FindingStore(home, record, "" if full else rules_version())
            try:
                if full:
                    store.close()
                    store = FindingStore(home, record, rules_version())
                return _Scan(record, store, progress, is_stopped, logs).go(started)
            finally:
                store.close()
        finally:
            record.close()


def drop_erased(home: str) -> None:
    """Drop what was found in files that the record has no more, without searching anything; a scan that runs does so itself."""
    if os.path.exists(os.path.join(home, NAME)):
        with suppress(HansardError, apsw.Error):
            scan(home, is_stopped=lambda: True)


class _Scan:
    def __init__(
        self,
        record: Record,
        store: FindingStore,
        progress: Progress | None,
        is_stopped: Callable[[], bool],
        logs: Collection[int] | None,
    ) -> None:
        self.record = record
        self._logs = logs
        self.store = store
        self._progress = progress
        self._is_stopped = is_stopped
        self._read = 0

    @cached_property
    def _search(self) -> Search:
        """Made when there is something to search: loading the rules takes longer than a look that finds nothing new."""
        return Search(detector().find, self.record.secret_key())

    def go(self, started: float) -> ScanReport:
        record, store = self.record, self.store
        known = self._count()
        scanned = store.scanned_sizes()
        sizes = record.sizes()
        waiting = [
            transcript
            for transcript, size in sizes.items()
            if (self._logs is None or transcript in self._logs)
            and size
            and scanned.get(transcript) != size
            and not store.is_quarantined("log", str(transcript), size)
        ]
        waiting.sort()  # the newest are taken first, from the end
        total = self._left() if self._logs is None else sum(sizes[one] - scanned.get(one, 0) for one in waiting)
        with store.transaction():
            self._names_and_remarks()
            store.forget(LOG, scanned.keys() - sizes.keys())
        clients = {root.id: root.client for root in record.roots()}
        while waiting and not self._is_stopped():
            with store.transaction():
                done = self._read
                while waiting and self._read - done < _COMMIT_BYTES and not self._is_stopped():
                    generation = record.generation(waiting.pop())
                    former = store.scanned(generation.id)
                    with store.isolated("log", str(generation.id), generation.size):
                        if not self._log(generation, client_of(clients[generation.root_id]), former, total):
                            waiting.append(generation.id)
        if self._logs is None:
            self._files(total)
        count = self._count()
        return ScanReport(
            bytes_read=self._read,
            secrets=count,
            new=max(0, count - known),
            unscanned_bytes=self._left(),
            seconds=time.perf_counter() - started,
        )

    def _left(self) -> int:
        return unscanned(self.record, self.store.scanned_bytes(), self.store.snapshot())

    def _count(self) -> int:
        return int(self.store.db.execute("SELECT count(DISTINCT fingerprint) FROM findings").get)

    def _tell(self, size: int, total: int) -> None:
        self._read += size
        if self._progress is not None:
            self._progress(min(self._read, total), total)

    def _log(self, generation: Generation, client: Client, former: Scanned, total: int) -> bool:
        """Search what is new in a log; False if it was left for another transaction, since there is much of it."""
        store, record = self.store, self.record
        store.drop(LOG, generation.id, former.offset)
        store.drop_split(generation.id, former.before)
        lines = client.lines(record.read(generation.id, former.before, generation.size, mend=True), former.before)
        chains = Chains(client, is_aside=generation.kind == "agent")
        read = former.size
        for offset, line in lines:
            if offset >= former.offset:
                self._line(generation.id, offset, line)
            if not isinstance(line, LongLine):
                self._split(generation.id, chains.add(line, offset))
            end = lines.offset
            if end - read >= _COMMIT_BYTES or self._is_stopped():
                self._tell(end - read, total)
                store.set_scanned(generation.id, Scanned(end, end, min(chains.offset, end)))
                return self._is_stopped()
        before = min(chains.offset, lines.offset)
        if lines.rest.strip():
            self._line(generation.id, lines.offset, lines.rest, is_whole=False)
            self._split(generation.id, chains.add(lines.rest, lines.offset))
        self._split(generation.id, chains.rest())
        self._tell(max(0, generation.size - read), total)
        store.set_scanned(generation.id, Scanned(generation.size, lines.offset, before))
        return True

    def _line(self, transcript: int, offset: int, line: bytes, *, is_whole: bool = True) -> None:
        if isinstance(line, LongLine):
            pieces = self.record.read(transcript, offset, offset + length_of(line), mend=True)
            found = self._search.pieces(pieces)
        else:
            found = self._search.data(line)
        if found:
            self.store.put(LOG, transcript, offset, found, is_whole=is_whole)

    def _split(self, transcript: int, chains: list[Chain]) -> None:
        for offset, found, wrong in self._search.split(chains):
            for place, fingerprint in wrong:
                self.store.drop_one(fingerprint, transcript, place)
            if not self.store.has(found.fingerprint, transcript, offset):
                self.store.put(LOG, transcript, offset, [found], is_whole=False)

    def _files(self, total: int) -> None:
        """Search small files, each content once."""
        store, record = self.store, self.record
        store_snapshot = store.snapshot()
        waiting = record.snapshots(after=store_snapshot)
        is_done = False
        while not is_done and not self._is_stopped():
            with store.transaction():
                done = self._read
                while self._read - done < _COMMIT_BYTES and not self._is_stopped():
                    if (snapshot := next(waiting, None)) is None:
                        is_done = True
                        break
                    with store.isolated("file", str(snapshot.id), snapshot.size):
                        try:
                            data = record.read_snapshot(snapshot.id)
                        except StoreCorrupt:  # `verify` reports it
                            data = b""
                        if is_text(data):
                            store.put(FILE, snapshot.id, 0, self._search.data(data))
                    store.set_meta("snapshot", snapshot.id)
                    self._tell(snapshot.size, total)

    def _names_and_remarks(self) -> None:
        """Search new names of files and remarks, and forget what is no longer in the record."""
        store, record = self.store, self.record
        for source, table in ((FILE, "snapshot"), (NAMED, "file"), (REMARK, "remark")):
            if refs := store.refs(source):
                store.forget(source, refs - record.present(table, refs))
        names, remarks = record.file_names(store.last(NAMED)), record.remarks()
        last = store.last(REMARK)
        texts = {NAMED: names, REMARK: [(one.id, one.value) for one in remarks if one.id > last]}
        for source, pairs in texts.items():
            for ref, text in pairs:
                if found := self._search.data(text.encode("utf-8", "surrogateescape")):
                    store.put(source, ref, 0, found)
            if pairs:
                store.set_meta(source, pairs[-1][0])
