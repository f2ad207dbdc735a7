"""A lake's relations as Delta tables, which Spark, Databricks, Trino and DuckDB read by name; written without Java.

A part is a partition, replaced in one commit. Machines write different parts, so their commits do not conflict.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from hansard.errors import StoreBusy, UsageError
from hansard.lake.manifest import File
from hansard.lake.relations import columns_in_lake
from hansard.lake.storage import LakeUnusable
from hansard.sql.arrow import Stream
from hansard.sql.view import columns_of

if TYPE_CHECKING:
    from hansard.lake.files import Rows
    from hansard.lake.storage import Storage

FOLDER = "delta"
PARTITIONS = columns_of(
    ("month", "text", "", "in which the first session of the part began"),
    ("part", "text", "", "what a push replaces at a time"),
)
_ATTEMPTS = 20


class Delta:
    """Writes parts of Delta tables below `delta/`."""

    def __init__(self, storage: Storage, machine: str) -> None:
        self._folder = f"{storage.shown}/{FOLDER}"
        self._machine = machine
        self._delta = _deltalake()

    def close(self) -> None:
        """Nothing is open between commits."""

    def write(self, view: str, part: str, month: str, rows: Rows) -> File | None:
        """Replace the rows of a part; None if there are none."""
        name = f"{self._machine}-{part}"
        first = next(iter(rows()), None)
        if first is None:
            return None
        count = 0

        def placed() -> Iterator[Sequence[Any]]:
            nonlocal count
            count = 0
            for row in rows():
                count += 1
                yield (*row, month, name)

        stream = Stream((*columns_in_lake(view), *PARTITIONS), placed)
        self._commit(
            lambda: self._delta.write_deltalake(
                f"{self._folder}/{view}",
                stream,
                mode="overwrite",
                predicate=f"part = '{name}'",
                partition_by=[column.name for column in PARTITIONS],
                schema_mode="merge",
            ),
            stream,
        )
        return File(view, f"{FOLDER}/{view}", count, 0)

    def sizes(self, view: str) -> dict[str, int]:
        """The bytes of this machine's parts: the writer does not say how much it wrote."""
        actions = self._delta.DeltaTable(f"{self._folder}/{view}").get_add_actions(flatten=True)
        found: dict[str, int] = {}
        for name, size in zip(actions.column("partition.part"), actions.column("size_bytes"), strict=True):
            machine, part = name.as_py()[: len(self._machine) + 1], name.as_py()[len(self._machine) + 1 :]
            if machine == f"{self._machine}-":
                found[part] = found.get(part, 0) + size.as_py()
        return found

    def drop(self, view: str, part: str) -> None:
        """Remove the rows of a part."""
        table = f"{self._folder}/{view}"
        if self._delta.DeltaTable.is_deltatable(table):
            self._commit(lambda: self._delta.DeltaTable(table).delete(f"part = '{self._machine}-{part}'"))

    def _commit(self, write: Any, stream: Stream | None = None) -> None:
        """Commit; another machine may have created the table, or added a column, at the same moment."""
        for attempt in range(_ATTEMPTS):
            try:
                write()
                return
            except self._delta.exceptions.CommitFailedError as error:
                if attempt == _ATTEMPTS - 1:
                    raise StoreBusy(f"{self._folder}: other machines commit all the time: {error}") from error
                time.sleep(0.05 * (attempt + 1))
            except (self._delta.exceptions.DeltaError, OSError) as error:
                if stream is not None and stream.error is not None:
                    raise stream.error from error
                raise LakeUnusable(f"{self._folder}: {str(error).splitlines()[0]}") from error


def delta_files(storage: Storage, view: str) -> list[str]:
    """The current files of a table, relative to the lake."""
    delta = _deltalake()
    table = f"{storage.shown}/{FOLDER}/{view}"
    if not delta.DeltaTable.is_deltatable(table):
        return []
    from urllib.parse import unquote

    actions = delta.DeltaTable(table).get_add_actions(flatten=True)
    return [f"{FOLDER}/{view}/{unquote(path.as_py())}" for path in actions.column("path")]


def _deltalake() -> Any:
    try:
        import deltalake
        import deltalake.exceptions
    except ImportError as error:
        raise UsageError(
            "Delta tables need deltalake, which is not installed; add it with: pip install 'hansard[delta]'"
        ) from error
    return deltalake
