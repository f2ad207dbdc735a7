"""Parquet files, written by DuckDB, which reads the rows as Arrow batches, so that memory stays bounded."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from hansard.errors import UsageError

if TYPE_CHECKING:
    from hansard.sql.arrow import Stream

_SETTINGS: dict[str, Any] = {
    "autoinstall_known_extensions": "false",  # nothing is fetched
    "autoload_known_extensions": "false",
    "memory_limit": "256MB",
    "temp_directory": "",
    "threads": "1",  # the same rows give the same bytes
}


class ParquetWriter:
    """Writes files; DuckDB is started at the first one, and must be installed."""

    def __init__(self) -> None:
        if find_spec("duckdb") is None or find_spec("arro3") is None:
            raise UsageError(
                "parquet needs DuckDB and arro3, which are not installed; add them with: pip install 'hansard[parquet]'"
            )
        self._db: Any = None

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def write(self, path: str, rows: Stream, redaction: str = "") -> None:
        """Write rows to a file, whose permissions stay as they are if it exists; it says how they were redacted."""
        if self._db is None:
            import duckdb

            self._db = duckdb.connect(":memory:", config=_SETTINGS)
        self._db.register("rows", rows)
        about = f", KV_METADATA {{'hansard.redaction': '{redaction}'}}" if redaction else ""
        quoted = path.replace("'", "''")
        try:
            self._db.execute(f"COPY \"rows\" TO '{quoted}' (FORMAT parquet, COMPRESSION zstd{about})").fetchall()
        except Exception as error:  # noqa: BLE001 - DuckDB's, about one of ours
            raise rows.error or error from None
