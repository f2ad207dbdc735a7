"""A store that planning and erasing open for themselves, and its files: where they are, whose they are, and whether they are under a hold."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from hansard.clients import client_of
from hansard.clients.roots import open_root
from hansard.errors import HansardError
from hansard.model.retention import Retention
from hansard.query import forgetting
from hansard.query.reader import Reader
from hansard.sources.names import unescape
from hansard.sources.roots import FileKind, path_inside
from hansard.sources.tail import PACKED

if TYPE_CHECKING:
    from datetime import datetime

    from hansard.pricing.settle import Prices
    from hansard.record.store import Generation, Known, Record, RootRow
    from hansard.sources.roots import Root

HELD = "it is under a hold"
RUNNING = "a client is running in its session"
LINKED = "it lies behind a link"
_LIVE_SECONDS = 300.0
_OTHER_ROOT = "in a root that was not given"
_NO_ROOT = "in a root that cannot be read now"
_COMPRESSED = "it is compressed"
_OTHER_NAME = "it has another name: a hard link"


class StoreLocation(NamedTuple):
    """A store that planning and erasing open for themselves."""

    home: str
    roots: tuple[Root, ...]
    prices: Prices
    rules: Retention
    """Holds, and how long things are kept."""

    def open_index(self) -> Reader:
        """The index, opened anew."""
        return Reader(self.home)


class StoredFile(NamedTuple):
    """A file in the record."""

    root: RootRow
    path: str
    known: Known


class RunningClients:
    """The sessions that running clients say they work in."""

    def __init__(self, roots: Collection[Root]) -> None:
        found = [process for root in roots for process in client_of(root.client).running(root)]
        self._sessions = frozenset(process.session_id for process in found if process.is_alive())
        self._silent = frozenset(root.path for root in roots if not client_of(root.client).tells_running(root))

    def has(self, session_id: str) -> bool:
        """Whether a client works in a session; one that does not say in which may work in any."""
        return None in self._sessions or session_id in self._sessions

    def is_live(self, session_id: str, roots: Iterable[str], ended_at: datetime | None) -> bool:
        """Whether a client may be writing to a session: it says so, or it wrote lately where clients say nothing."""
        is_recent = ended_at is not None and ended_at.timestamp() > time.time() - _LIVE_SECONDS
        return self.has(session_id) or (is_recent and not self._silent.isdisjoint(roots))


def is_behind_link(root: Root, path: str) -> bool:
    """Whether a file lies outside of its root, where only a link leads."""
    base = root.config or os.path.dirname(root.transcripts)
    return path_inside(os.path.realpath(base), os.path.realpath(os.path.dirname(root.locate(path)))) is None


class StoreFiles:
    """All files and logs of a store."""

    def __init__(self, reader: Reader, record: Record, roots: Sequence[Root], hold: Retention) -> None:
        self.reader = reader
        self.record = record
        self._roots = {root.path: root for root in roots}
        self._others: dict[str, Root | None] = {}
        self._hold = hold
        self.files = {
            known.file_id: StoredFile(root, path, known)
            for root in record.roots()
            for path, known in record.known(root.id).items()
        }
        self.generations = {made.id: made for made in record.generations()}

    def session_of(self, file: StoredFile) -> str:
        """The session that a file's path names; of a saved stream its name."""
        info = client_of(file.root.client).path_info(file.path)
        return info.session_id or info.stem

    def place_of(self, file: StoredFile) -> str | None:
        """The path of the client's own file, if it exists, or if its root cannot be read."""
        row = file.root
        root = self._root_at(row)
        if (root.layout if root is not None else client_of(row.client).layout).holds_rows(file.path):
            return None
        if root is None:
            top, _, inside = file.path.partition("/")
            path = inside if inside and top == os.path.basename(row.path) else file.path
            return os.path.join(row.path, unescape(path).replace("/", os.sep))
        place = root.locate(file.path)
        return next((path for path in (place, place + PACKED) if os.path.isfile(path)), None)

    def beyond_reach(self, file: StoredFile) -> str:
        """Why a client's own file is only listed; empty if its root is one of those that were given."""
        if file.root.path in self._roots:
            return ""
        return _NO_ROOT if self._root_at(file.root) is None else _OTHER_ROOT

    def _root_at(self, row: RootRow) -> Root | None:
        """A root that the store knows, whether it was given or not; None if it cannot be read."""
        if row.path in self._roots:
            return self._roots[row.path]
        if row.path not in self._others:
            try:
                self._others[row.path] = open_root(row.path)
            except HansardError:
                self._others[row.path] = None
        return self._others[row.path]

    def stays(self, file: StoredFile, place: str) -> str:
        """Why a client's own file cannot be overwritten; empty if it can."""
        if reason := self.beyond_reach(file):
            return reason
        session_id = self.session_of(file)
        if place.endswith(PACKED):
            return _COMPRESSED
        if session_id and self.running.has(session_id):
            return RUNNING
        if os.path.islink(place) or is_behind_link(self._roots[file.root.path], file.path):
            return LINKED
        return _OTHER_NAME if os.lstat(place).st_nlink > 1 else ""

    @cached_property
    def running(self) -> RunningClients:
        return RunningClients(list(self._roots.values()))

    @cached_property
    def held(self) -> frozenset[str]:
        """The sessions under a hold."""
        if not self._hold.hold:
            return frozenset()
        rows = self.reader.rows("SELECT session_id, project FROM sessions")
        return frozenset(session_id for session_id, project in rows if self._hold.holds(session_id, project))

    def log_session(self, made: Generation) -> str:
        """The session that a log is of."""
        return self._log_sessions.get(made.id, "")

    def is_held(self, made: Generation) -> bool:
        """Whether a log is of a session under a hold."""
        return bool(self.held) and self.log_session(made) in self.held

    @cached_property
    def _log_sessions(self) -> dict[int, str]:
        return forgetting.sessions_at(self.reader, self.generations)


def kind_of(kind: str) -> str:
    """The kind of a file in plans of erasures."""
    names = {
        FileKind.MAIN: "transcript",
        FileKind.LOG: "transcript",
        FileKind.AGENT: "subagent",
        FileKind.TOOL_RESULT: "tool_result",
    }
    return names.get(FileKind(kind), "file")
