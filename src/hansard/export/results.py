"""The answer to a SQL query as a file: CSV, JSON, JSON lines or Parquet by the file's extension."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hansard.errors import UsageError
from hansard.export.files import NotWritten, write_file, write_with
from hansard.model.serialize import encoded, plain
from hansard.render.text import one_line

if TYPE_CHECKING:
    from hansard.model.sql import SqlResult

ENDINGS = (".csv", ".json", ".jsonl", ".parquet")


def write_result(path: str, result: SqlResult) -> None:
    """Write an answer to a file, all of it or nothing."""
    ending = os.path.splitext(path)[1].lower()
    if ending not in ENDINGS:
        raise UsageError(f"{one_line(path)}: the file name must end in {', '.join(ENDINGS)}")
    try:
        if ending == ".parquet":
            _write_parquet(path, result)
        else:
            write_file(path, {".csv": csv_pieces, ".json": _json_pieces, ".jsonl": _line_pieces}[ending](result))
    except NotWritten as error:
        reason = getattr(error.__cause__, "strerror", None) or error.__cause__
        raise UsageError(f"{one_line(path)} cannot be written: {reason}; choose another file") from error


def csv_pieces(result: SqlResult) -> Iterator[bytes]:
    """An answer as CSV, while it is computed."""
    from hansard.export.sheets import sheet

    return sheet([column.name for column in result.columns], (list(row) for row in result))


def _json_pieces(result: SqlResult) -> Iterator[bytes]:
    yield encoded(result.as_plain())


def _line_pieces(result: SqlResult) -> Iterator[bytes]:
    names = [column.name for column in result.columns]
    for row in result:
        yield encoded(plain(dict(zip(names, row, strict=True))))


def _write_parquet(path: str, result: SqlResult) -> None:
    from hansard.sql.parquet import ParquetWriter

    writer = ParquetWriter()
    try:
        write_with(path, lambda made: writer.write(made, _ArrowRows(result)))
    finally:
        writer.close()


class _ArrowRows:
    """An answer as DuckDB reads it, once; its times have no zone, like those of the views in Parquet."""

    def __init__(self, result: SqlResult) -> None:
        from hansard.model.arrow import stream_of

        self.error: Exception | None = None
        self._stream = stream_of(result.columns, result, None, self._keep)

    def __arrow_c_schema__(self) -> object:
        return self._stream.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._stream.__arrow_c_stream__(requested_schema)

    def _keep(self, error: Exception) -> None:
        self.error = error
