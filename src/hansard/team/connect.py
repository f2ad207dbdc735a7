"""Connections to a team's database, and its errors in our words."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

from hansard.errors import StoreBusy, StoreNewer, StoreUnusable, UsageError

if TYPE_CHECKING:
    from psycopg import Connection

SCHEMA = "hansard"
OLDEST = 150_000  # of the server: views that check the rights of their caller came with 15


class ServerUnusable(StoreUnusable):
    """A team's database cannot be reached, or refused what was asked."""


class Database:
    """A connection and the schema in it that has Hansard's tables."""

    def __init__(self, url: str, schema: str = SCHEMA) -> None:
        self.schema = schema
        self.connection = _connect(url)
        with self.errors():
            self.run("SET jit = off")  # compiling takes longer than any statement of ours
            self.run("SELECT set_config('search_path', quote_ident(%s) || ', pg_temp', false)", (schema,))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.connection.close()

    def run(self, sql: str, values: tuple[Any, ...] = ()) -> Any:
        """Run a statement, or several without values; returns its cursor."""
        return self.connection.execute(sql, values or None)

    def rows(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        return list(self.run(sql, values).fetchall())

    def one(self, sql: str, values: tuple[Any, ...] = ()) -> Any:
        return self.run(sql, values).fetchone()

    def only_read(self) -> None:
        """Refuse to write anything from now on; what is read in a transaction is of one moment."""
        with self.errors():
            self.run("SET default_transaction_read_only = on; SET default_transaction_isolation = 'repeatable read'")

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        with self.errors(), self.connection.transaction():
            yield

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Raise the server's errors as ours."""
        import psycopg

        try:
            yield
        except psycopg.Error as error:
            raise _told(error) from error


def _connect(url: str) -> Connection[tuple[Any, ...]]:
    if not re.match(r"(?i)postgres(ql)?://", url):
        raise UsageError(
            f"{hide_password(url)} is not the address of a PostgreSQL database: write postgresql://[USER@]HOST[:PORT]/DATABASE"
        )
    try:
        import psycopg
    except ImportError as error:
        raise UsageError(
            "a team's database needs psycopg, which is not installed; add it with: pip install 'hansard[team]'"
        ) from error
    try:
        connection = psycopg.connect(url, autocommit=True, application_name="hansard", client_encoding="UTF8")
    except psycopg.Error as error:
        raise ServerUnusable(f"{hide_password(url)}: {_reason(error)}") from error
    if connection.info.server_version < OLDEST:
        version = connection.info.server_version // 10_000
        connection.close()
        raise UsageError(f"{hide_password(url)} is PostgreSQL {version}; Hansard needs 15 or newer")
    return connection


def hide_password(url: str) -> str:
    """An address as it may be shown."""
    shown = re.sub(r"(?<=://)([^/@:]*):[^/]*@", r"\1@", url)
    return re.sub(r"(?i)(password=)[^&\s]*", r"\1...", shown)


def _told(error: Any) -> Exception:
    import psycopg

    if isinstance(error, psycopg.errors.UndefinedTable | psycopg.errors.InvalidSchemaName):
        return ServerUnusable("the database has no tables of Hansard: its owner runs `hansard team init`")
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return ServerUnusable(f"{_reason(error)}: the owner of the tables gives rights with `hansard team grant`")
    if isinstance(error, psycopg.errors.QueryCanceled):
        return UsageError(
            "this takes the team's database too long: add a rarer word, or a field such as project:webshop"
        )
    if isinstance(error, psycopg.errors.LockNotAvailable | psycopg.errors.DeadlockDetected):
        return StoreBusy(_reason(error))
    return ServerUnusable(f"the team's database: {_reason(error)}")


def _reason(error: Any) -> str:
    """The server's message in one line, without what it echoes of rows."""
    diagnosed = getattr(error, "diag", None)
    message = diagnosed.message_primary if diagnosed is not None else None
    lines = (message or str(error)).strip().splitlines()
    return lines[-1].strip() if lines else type(error).__name__


def newer(made_by: int, known: int) -> StoreNewer:
    return StoreNewer(
        f"the team's database has schema {made_by}, and this Hansard knows {known}: update Hansard (pip install -U hansard)"
    )
