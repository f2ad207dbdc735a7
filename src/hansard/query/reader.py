"""A read connection to `index.db`, with what every query needs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar, cast

import apsw

from hansard.errors import HansardError, StoreUnusable
from hansard.storage.sqlite import RESERVED, checksum_vfs, connect_readonly, store_error, try_uris

if TYPE_CHECKING:
    from hansard.model.files import Coverage

_CACHE = -16_000  # KiB, used as needed
_MAKING = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI

_T = TypeVar("_T")


class Reader:
    """Reads `index.db` and the `text.db` beside it; a store that was never synced reads as empty."""

    def __init__(self, home: str) -> None:
        self.path = os.path.join(home, "index.db")
        self.text_path = os.path.join(home, "text.db")
        self._db: apsw.Connection | None = None
        self._has_text: bool | HansardError | None = None  # an error says why it cannot be attached
        self._taught: set[str] = set()
        self._text_functions: dict[str, Callable[..., Any]] = {}
        self._found: dict[str, tuple[int, Any]] = {}  # each with its revision of the index

    @property
    def db(self) -> apsw.Connection:
        if self._db is None:
            from hansard.index.schema import INDEXES, VERSION, tables

            if os.path.exists(self.path) and os.path.getsize(self.path):
                try:
                    self._db = _connect(self.path)
                    made_by = self._db.pragma("user_version")
                except apsw.Error as error:
                    raise self._told(error) from error
                if made_by == VERSION:
                    self._must_check_pages("main", self.path)
                else:
                    self._db.close()
                    self._db = None
                    if made_by:
                        raise StoreUnusable(f"{self.path} was made by another version of Hansard. Run `hansard sync`")
                    # otherwise a sync is creating it right now
            if self._db is None:
                self._db = apsw.Connection(":memory:", flags=_MAKING)
                self._db.execute(tables() + INDEXES)
        return self._db

    def _must_check_pages(self, schema: str, path: str) -> None:
        """Reject an index whose header says that its pages have no checksums: a single flipped bit can turn them off."""
        if checksum_vfs() is not None and self.db.reserve_bytes(schema) != RESERVED:
            from hansard.index.store import IndexDamaged

            raise IndexDamaged(path, "its pages have no checksums")

    def revision(self) -> int:
        """The revision of the record that the index fully covers; below 0 while a first sync has indexed only some sessions."""
        row = self.one(
            "SELECT iif(value <> 0, value, -(SELECT count(*) FROM sessions)) FROM meta WHERE name = 'revision'"
        )
        return int(row[0]) if row is not None else 0

    def state(self) -> str:
        """A cache key for every answer: it changes when a sync brings something new, and with prices."""
        row = self.one("SELECT json_group_array(value) FROM meta WHERE name IN ('store_id', 'synced_at', 'prices')")
        return f"{self.revision()} {row[0]}"

    def coverage(self) -> Coverage | None:
        """How much of a large history is indexed while its first sync is incomplete; None otherwise."""
        if self.revision() > 0:
            return None
        expected = dict(
            self.rows("SELECT name, value FROM meta WHERE name IN ('transcripts_expected', 'bytes_expected')")
        )
        if not expected:
            return None
        from hansard.model.files import Coverage

        # Rows come before what is derived from them, and a sync may end in between.
        count, size = self.one(
            "SELECT count(*), coalesce(sum(size), 0) FROM transcripts WHERE size > 0 AND derived >= size"
        )
        total, total_size = expected["transcripts_expected"], expected["bytes_expected"]
        return Coverage(count, max(count, total), size, max(size, total_size))

    def project_names(self) -> dict[str, str]:
        """The display name of each project: its shortest unique suffix."""
        from hansard.model.names import shortest_names

        projects = "SELECT DISTINCT project FROM sessions"
        return self.per_revision("projects", lambda reader: shortest_names(row[0] for row in reader.rows(projects)))

    def per_revision(self, name: str, find: Callable[[Reader], _T]) -> _T:
        """The result of `find`, cached until the index changes."""
        revision = self.revision()
        if name not in self._found or self._found[name][0] != revision:
            self._found[name] = (revision, find(self))
        return cast("_T", self._found[name][1])

    def rows(self, sql: str, values: tuple[Any, ...] | dict[str, Any] = ()) -> Iterator[Any]:
        try:
            yield from self.db.execute(sql, values)
        except apsw.Error as error:
            told = self._told(error)
            if told is error:
                raise
            raise told from error

    def _told(self, error: apsw.Error, path: str = "") -> Exception:
        from hansard.index.store import IndexDamaged, is_index_damage

        path = path or (self.text_path if "full." in str(error) else self.path)
        if is_index_damage(error):
            return IndexDamaged(path, error)
        return store_error(error, path, lambda reason: IndexDamaged(path, reason))

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """Run all queries inside on one snapshot of the index, even while a sync writes."""
        if not self.db.get_autocommit():
            yield
            return
        with contextlib.suppress(HansardError):  # raised again by queries that need the full text
            _ = self.has_text  # attached first: DETACH fails inside a transaction
        self.one("BEGIN")
        try:
            yield
        finally:
            if not self.db.get_autocommit():  # a damaged page aborts the transaction
                self.db.execute("ROLLBACK")
            if self._has_text is not True:
                self._has_text = None  # check again next time: a sync may have created it by then

    def one(self, sql: str, values: tuple[Any, ...] | dict[str, Any] = ()) -> Any:
        for row in self.rows(sql, values):
            return row
        return None

    def teach(self, name: str, function: Callable[..., Any]) -> None:
        """Register a deterministic SQL function."""
        if name not in self._taught:
            self.db.create_scalar_function(name, function, deterministic=True)
            self._taught.add(name)

    def teach_text(self, name: str, function: Callable[..., Any]) -> None:
        """Register a full-text function over the current row, replacing any earlier one of that name."""

        def call(api: apsw.FTS5ExtensionApi, /, *_: Any) -> Any:
            return self._text_functions[name](api)

        if name not in self._text_functions:  # FTS5 never drops a registered function
            self.db.register_fts5_function(name, call)
        self._text_functions[name] = function

    @property
    def has_text(self) -> bool:
        """Whether the full text can be queried, as `full.titles`, `full.talk` and `full.work`; attached on first use."""
        if isinstance(self._has_text, HansardError):
            if not self.db.get_autocommit():
                raise self._has_text
            self._has_text = None
        if self._has_text is None:
            try:
                self._has_text = self._attach_text()
            except HansardError as error:
                self._has_text = error
                raise
        return self._has_text

    def _attach_text(self) -> bool:
        from hansard.index.schema import VERSION

        if not os.path.exists(self.text_path) or not os.path.getsize(self.text_path):
            return False
        made_by = self._attached_version()
        if made_by == VERSION:
            self._must_check_pages("full", self.text_path)
            return True
        self.one("DETACH full")
        if made_by:
            raise StoreUnusable(f"{self.text_path} was made by another version of Hansard. Run `hansard sync`")
        return False  # a sync is creating it right now

    def _attached_version(self) -> int:
        """Attach the full text; on failure nothing stays attached."""

        def attach(uri: str) -> int:
            self.db.execute("ATTACH ? AS full", (uri,))
            try:
                version = int(self.db.pragma("user_version", schema="full"))
                self.db.pragma("cache_size", _CACHE, schema="full")
            except BaseException:
                with contextlib.suppress(apsw.Error):
                    self.db.execute("DETACH full")
                raise
            return version

        try:
            return try_uris(self.text_path, attach)
        except apsw.Error as error:
            raise self._told(error, self.text_path) from error

    @property
    def is_open(self) -> bool:
        return self._db is not None and bool(self._db.filename)

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None
            self._has_text = None
            self._taught = set()
            self._text_functions = {}


def _connect(path: str) -> apsw.Connection:
    def prepare(db: apsw.Connection) -> None:
        db.set_busy_timeout(5000)
        db.pragma("cache_size", _CACHE)

    return connect_readonly(path, prepare)


def like(text: str) -> str:
    """A LIKE pattern that matches text containing the given one literally; the escape character is a backslash."""
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"
