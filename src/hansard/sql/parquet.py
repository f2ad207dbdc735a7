"""Parquet files, written by DuckDB, which reads the rows as Arrow batches, so that memory stays bounded."""

from __future__ import annotations

from typing import Any, Protocol

from hansard.model.arrow import NO_DOWNLOADS, duckdb, must_have_duckdb

_SETTINGS: dict[str, Any] = {
    **NO_DOWNLOADS,
    "memory_limit": "256MB",
    "temp_directory": "",
    "threads": "1",  # the same rows give the same bytes
}


class ArrowRows(Protocol):
    """Rows that DuckDB reads, and the error that ended this; a library reports it in its own words."""

    error: Exception | None

    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


class ParquetWriter:
    """Writes files; DuckDB is started at the first one, and must be installed."""

    def __init__(self) -> None:
        must_have_duckdb()
        self._db: Any = None

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def write(self, path: str, rows: ArrowRows, redaction: str = "") -> None:
        """Write rows to a file, whose permissions stay as they are if it exists; it says how they were redacted."""
        if self._db is None:
            self._db = duckdb().connect(":memory:", config=_SETTINGS)
        self._db.register("rows", rows)
        about = f", KV_METADATA {{'hansard.redaction': '{redaction}'}}" if redaction else ""
        quoted = path.replace("'", "''")
        try:
            self._db.execute(f"COPY \"rows\" TO '{quoted}' (FORMAT parquet, COMPRESSION zstd{about})").fetchall()
        except Exception as error:  # noqa: BLE001 - DuckDB's, about one of ours
            raise rows.error or error from None
