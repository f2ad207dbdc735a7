"""An open store: its databases, its source roots, the sync that keeps it current, and the gate that its answers pass."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from hansard.errors import NotFound
from hansard.model.gate import Redact, put_behind_gate, release
from hansard.model.questions import takes
from hansard.query.reader import Reader
from hansard.quick_imports import LazyPackage
from hansard.sources.roots import Root
from hansard.sync.report import DEFAULT_MAX_FILE, Change, Listener, Progress, SyncReport, SyncRequest

if TYPE_CHECKING:
    import threading

    import hansard.git.cache
    import hansard.pricing.settle
    import hansard.record.store
    import hansard.secrets.redactor
    import hansard.sources.discover
    import hansard.sources.watch
    import hansard.storage.heartbeat
    import hansard.storage.sqlite
    import hansard.sync.importing
    import hansard.sync.rebuild
    import hansard.sync.remarking
    import hansard.sync.run
    import hansard.thread.store
    from hansard.lru import LruCache
    from hansard.model.files import Coverage
    from hansard.model.health import SyncProgress
    from hansard.model.ledger import PriceOverride
    from hansard.pricing.settle import Prices
    from hansard.record.store import Record
    from hansard.thread.store import ThreadStore
    from hansard.thread.thread import OpenedThread
else:
    hansard = LazyPackage("hansard")

_Value = TypeVar("_Value")


class _WatchStoppedError(Exception):
    """A watch was stopped in the middle of a sync."""


class Store:
    """A store and its sources. Use it in a `with`, or call `close()`; one per thread."""

    def __init__(
        self,
        home: str,
        roots: Sequence[Root],
        *,
        max_file: int = DEFAULT_MAX_FILE,
        prices: Sequence[PriceOverride] = (),
        groups: Mapping[str, Sequence[str]] | None = None,
        redact: bool | str = False,
        hold: Sequence[str] = (),
    ) -> None:
        self.home = os.path.abspath(os.path.expanduser(home))
        self.redact: Redact | None = self._redactor(redact)
        if self.redact is not None:
            put_behind_gate(self)
        self.roots = tuple(roots)
        self.max_file = max_file
        self.overrides = tuple(prices)
        self.groups = dict(groups or {})
        self.hold = tuple(hold)
        # For servers: opened threads, shared by the engines of one store.
        self.thread_cache: LruCache[OpenedThread] | None = None
        self._reader: Reader | None = None
        self._record: Record | None = None
        self._edits: hansard.git.cache.EditCache | None = None
        self._walks: dict[str, hansard.sources.discover.Walk] = {}  # of the last sync, if it found nothing new

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the databases."""
        for opened in (self._reader, self._record, self._edits):
            if opened is not None:
                opened.close()
        self._reader = self._record = self._edits = None

    def close_unshared(self) -> None:
        """Close the databases if they had to be opened without shared memory, as on a full disk.

        Such a connection keeps this process from writing. A program that keeps an engine open calls this after each question, so
        that it can write as soon as there is space.
        """
        opened = {"index.db": self._reader is not None and self._reader.is_open, "record.db": self._record is not None}
        for name, is_open in opened.items():
            if is_open and not hansard.storage.sqlite.has_shared_memory(os.path.join(self.home, name)):
                self.close()
                return

    # -- the gate

    def _redactor(self, mode: bool | str) -> Redact | None:
        mode = mode if isinstance(mode, str) else "on" if mode else "off"
        return None if mode == "off" else hansard.secrets.redactor.store_redactor(self.home, mode)

    def _at_least(self, mode: bool | str) -> Redact | None:
        """The redactor of this mode, or the store's own if that is as strict."""
        is_enough = self.redact is not None and (mode != "strict" or getattr(self.redact, "mode", "") == mode)
        return self.redact if is_enough else self._redactor(mode)

    def _safe(self, value: _Value) -> _Value:
        """An answer that is redacted in any case: paths and names in it may hold secrets."""
        redact = self._at_least("on")
        return value if redact is None else release(value, redact)

    # -- the databases

    @property
    def reader(self) -> Reader:
        """The index, for packages that ask their own questions."""
        if self._reader is None:
            self._reader = Reader(self.home)
        return self._reader

    @property
    def record(self) -> Record:
        """The verbatim record, for reading."""
        if self._record is None:
            path = os.path.join(self.home, "record.db")
            if not os.path.exists(path):
                raise NotFound(f"nothing has been synced to {self.home} yet: run `hansard sync` first")
            self._record = hansard.record.store.Record.open(path, readonly=True)
        return self._record

    def _record_or_none(self) -> Record | None:
        return self.record if os.path.exists(os.path.join(self.home, "record.db")) else None

    def _threads(self, redact: Redact | None = None) -> ThreadStore:
        return hansard.thread.store.ThreadStore(self.reader, self.record, self.thread_cache, redact)

    def _edit_cache(self) -> hansard.git.cache.EditCache:
        if self._edits is None:
            self._edits = hansard.git.cache.EditCache(self.home)
        return self._edits

    def _prices(self) -> Prices:
        return hansard.pricing.settle.Prices(self.home, self.overrides)

    def _write(self, *changes: Change) -> None:
        """Write to the record, and bring the indexes up to date."""

        def change(record: Record) -> None:
            for one in changes:
                one(record)

        hansard.sync.remarking.remark(self.home, change, prices=self._prices())
        self.close()  # an index may have been rebuilt in another file of the same name

    def at_once(self) -> contextlib.AbstractContextManager[object]:
        """One state of the index for all questions inside, even if another process syncs."""
        return self.reader.at_once()

    def project_names(self) -> dict[str, str]:
        """The display name of each project by its path: the shortest unique suffix."""
        return self.reader.project_names()

    def has_text(self) -> bool:
        """Whether the full text can be searched."""
        return self.reader.has_text

    def revision(self) -> int:
        """The revision of the record that the index was built from: it grows with every sync that finds something new."""
        return self.reader.revision()

    def state(self) -> str:
        """A fingerprint of everything that answers depend on: it changes when a sync finds something new or prices change."""
        return self.reader.state()

    # -- keeping current

    @takes(lambda: SyncRequest)
    def sync(self, request: SyncRequest) -> SyncReport:
        """Store and index what is new in the source roots."""
        self._walks = {}
        report = hansard.sync.run.sync(
            self.home, self.roots, request, max_file=self.max_file, prices=self._prices(), walks=self._walks
        )
        if not report.busy:
            self.close()  # an index may have been rebuilt in another file of the same name
        return report

    def import_file(self, path: str | os.PathLike[str], client: str = "") -> list[hansard.sync.importing.ImportReport]:
        """Keep the conversations of an exported file; open the store again and sync to have them in the indexes."""
        return hansard.sync.importing.import_file(self.home, os.fspath(path), client)

    def sync_progress(self) -> SyncProgress | None:
        """Progress of the sync that runs on this store, in any process; None if there is none, or it has only begun."""
        return hansard.storage.heartbeat.sync_progress(self.home)

    def coverage(self) -> Coverage | None:
        """How much of a large history is indexed during its first sync; None once it is complete."""
        return self.reader.coverage()

    def rebuild(self, *, listener: Listener | None = None) -> SyncReport:
        """Rebuild both indexes from the record alone."""
        self.close()
        return hansard.sync.rebuild.rebuild(self.home, listener=listener, prices=self._prices())

    def watch(
        self,
        stop: threading.Event,
        *,
        poll: bool = False,
        early: bool = False,
        listener: Listener | None = None,
        wait_seconds: float = 60.0,
    ) -> Iterator[SyncReport]:
        """Stay current: sync whenever something changes, and yield each report, until `stop` is set, even during a sync.

        With `early` the newest part of a large first sync has a report of its own, which is `partial`.
        """

        def notify(progress: Progress) -> None:
            if stop.is_set():
                raise _WatchStoppedError
            if listener is not None:
                listener(progress)

        with contextlib.suppress(_WatchStoppedError):
            if early and (report := self.sync(newest_only=True, listener=notify)).partial:
                yield report
            changes = hansard.sources.watch.watch(self.roots, stop, poll=poll)
            report = self.sync(listener=notify, wait_seconds=wait_seconds)
            yield report
            for paths in changes:
                # A sync that found the store busy did not look at its paths, so look at everything.
                only = None if report.busy else paths
                report = self.sync(listener=notify, only=only, wait_seconds=wait_seconds)
                if report.changed or report.gone or report.busy:
                    yield report
