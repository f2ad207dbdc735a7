"""Exporting tables: each to its file, and only if something changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from hansard.errors import UsageError
from hansard.export.files import write_file, write_with
from hansard.export.formats import ENDINGS
from hansard.model.gate import count_anew, replaced
from hansard.sql.arrow import Stream
from hansard.sql.parquet import ParquetWriter
from hansard.sql.table import Table, choose
from hansard.sql.views import VIEWS

if TYPE_CHECKING:
    from hansard.export import Exported
    from hansard.export.run import Export, Progress
    from hansard.model.sessions import Session


def export_tables(
    export: Export,
    sessions: Sequence[Session],
    names: Sequence[str] = (),
    *,
    whole: bool = False,
    progress: Progress | None = None,
) -> Exported:
    """Export tables with the rows of these sessions; `whole`: with all rows there are."""
    usual = ["sessions"] if export.form == "csv" or export.single else list(VIEWS)
    tables = choose(names) or usual
    if export.single and len(tables) > 1:
        raise UsageError(f"{len(tables)} tables need a directory: set one with --to, without an extension")
    state = export.fingerprints.of_tables(None if whole else sessions)
    paths = {name: export.to if export.single else name + ENDINGS[export.form][0] for name in tables}
    export.refuse_foreign_files(list(paths.values()))
    parquet = ParquetWriter() if export.form == "parquet" else None
    try:
        for number, (name, path) in enumerate(paths.items()):
            fingerprint = f"{export.form} {name} {state}"
            _export_table(export, parquet, name, path, fingerprint, sessions, whole=whole)
            if progress is not None:
                progress(number + 1, len(paths))
    finally:
        if parquet is not None:
            parquet.close()
        export.save()
    return export.result()


def _export_table(
    export: Export,
    parquet: ParquetWriter | None,
    name: str,
    path: str,
    fingerprint: str,
    sessions: Sequence[Session],
    *,
    whole: bool,
) -> None:
    def write() -> None:
        place = export.manifest.where(path)
        redact = export.store.redact
        if export.form == "csv" and name == "sessions":
            written, redacted = write_file(place, _listing(sessions)), export.listed
        else:
            ids = None if whole else [session.session_id for session in sessions]
            count_anew(redact)
            table = Table(export.store.reader, name, ids, redact)
            if parquet is None:
                from hansard.export.sheets import sheet

                written = write_file(place, sheet([column.name for column in table.columns], table.rows()))
            else:
                rows = Stream(table.columns, table.raw)
                mode = getattr(redact, "mode", "")
                written = write_with(place, lambda made: parquet.write(made, rows, redaction=mode))
            redacted = replaced(redact)
        export.note_written(path, "", fingerprint, written, redacted)

    export.write_one(path, fingerprint, write)


def _listing(sessions: Sequence[Session]) -> Iterator[bytes]:
    """Sessions with all fields of `hansard sessions --json`."""
    from hansard.export.sheets import sheet
    from hansard.model.sessions import Session

    names = list(Session.__struct_fields__)
    rows: Iterator[list[Any]] = ([getattr(session, name) for name in names] for session in sessions)
    return sheet(names, rows)
