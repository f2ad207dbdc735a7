"""A reading connection to `index.db`, and what every question needs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import apsw

from hansard.errors import StoreBusy, StoreCorrupt, StoreUnusable


class Reader:
    """Reads `index.db`; a store that was never synced answers as an empty one."""

    def __init__(self, home: str) -> None:
        self.path = os.path.join(home, "index.db")
        self._db: apsw.Connection | None = None

    @property
    def db(self) -> apsw.Connection:
        """The connection, opened at the first question."""
        if self._db is None:
            if os.path.exists(self.path) and os.path.getsize(self.path):
                self._db = _connect(self.path)
            else:
                from hansard.index.schema import INDEXES, TABLES

                self._db = apsw.Connection(":memory:")
                self._db.execute(TABLES + INDEXES)
        return self._db

    def rows(self, sql: str, values: tuple[Any, ...] | dict[str, Any] = ()) -> Iterator[Any]:
        """Run a query."""
        try:
            yield from self.db.execute(sql, values)
        except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError) as error:
            raise StoreCorrupt(
                f"{self.path} cannot be read ({error}); it holds nothing that the record does not. Run `hansard rebuild`"
            ) from error
        except apsw.BusyError as error:
            raise StoreBusy(f"{self.path}: another process is writing and did not finish in time. Try again") from error
        except (apsw.CantOpenError, apsw.IOError, apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError) as error:
            raise StoreUnusable(f"{self.path} cannot be read: {error}. Check its permissions") from error

    def one(self, sql: str, values: tuple[Any, ...] | dict[str, Any] = ()) -> Any:
        """The first row, or None."""
        for row in self.rows(sql, values):
            return row
        return None

    def close(self) -> None:
        """Let go of the database."""
        if self._db is not None:
            self._db.close()
            self._db = None


def _connect(path: str) -> apsw.Connection:
    db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        db.set_busy_timeout(5000)
        db.pragma("user_version")
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        db.close()
        if os.path.exists(path + "-wal") and os.path.getsize(path + "-wal"):
            raise
        # In a read-only directory SQLite cannot make its -shm file; without a pending log none is needed.
        from urllib.parse import quote

        slashed = os.path.abspath(path).replace(os.sep, "/")
        address = "file:" + ("" if slashed.startswith("/") else "/") + quote(slashed, safe="/:") + "?immutable=1"
        return apsw.Connection(address, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    except BaseException:
        db.close()
        raise
    return db


def moment(milliseconds: int | None) -> datetime | None:
    """Milliseconds since 1970 as an aware time; None where there is none or no calendar has it."""
    if milliseconds is None:
        return None
    try:
        return datetime.fromtimestamp(milliseconds // 1000, UTC).replace(microsecond=milliseconds % 1000 * 1000)
    except (ValueError, OverflowError, OSError):
        return None


def like(text: str) -> str:
    """A LIKE pattern for text that contains the given one, whatever characters it has; a backslash escapes."""
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"
