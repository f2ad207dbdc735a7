"""The files that a push writes: each is named from its content, so that writing it again changes nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from hansard.lake.manifest import File
from hansard.lake.relations import RELATIONS, columns_in_lake
from hansard.sql.arrow import Stream
from hansard.sql.parquet import ParquetWriter

if TYPE_CHECKING:
    from hansard.lake.storage import Storage

GRACE = timedelta(hours=1)
"""How long files that were replaced stay: a reader may have read the former manifest."""
STRAY = timedelta(days=1)
"""After this, a file that no manifest names was left by a push that was killed."""
Rows = Callable[[], Iterable[Sequence[Any]]]


class Files:
    """Parquet files below `view/machine/month/`."""

    def __init__(self, storage: Storage, machine: str, scratch: str) -> None:
        self._storage = storage
        self._machine = machine
        self._scratch = scratch
        self._writer = ParquetWriter()

    def close(self) -> None:
        self._writer.close()

    def write(self, view: str, part: str, month: str, rows: Rows) -> File | None:
        """Write the rows of a part; None if there are none."""
        del part
        count = 0

        def counted() -> Iterator[Sequence[Any]]:
            nonlocal count
            for row in rows():
                count += 1
                yield row

        made = os.path.join(self._scratch, "rows.parquet")
        self._writer.write(made, Stream(columns_in_lake(view), counted))
        try:
            if not count:
                return None
            with open(made, "rb") as file:
                digest = sha256()
                while chunk := file.read(1 << 20):
                    digest.update(chunk)
            path = f"{view}/{self._machine}/{month}/{digest.hexdigest()[:32]}.parquet"
            self._storage.upload(path, made)
            return File(view, path, count, os.path.getsize(made))
        finally:
            os.unlink(made)

    def drop(self, view: str, part: str) -> None:
        """Nothing to do: a manifest does not name the files of a part that is gone."""


def clean(
    storage: Storage, machine: str, current: set[str], replaced: dict[str, datetime], now: datetime
) -> dict[str, datetime]:
    """Remove what no reader can need any more; gives the replaced files that stay."""
    for path, since in list(replaced.items()):
        if path in current:
            del replaced[path]
        elif now - since > GRACE:
            storage.remove(path)
            del replaced[path]
    for view in RELATIONS:
        for listed in list(storage.files(f"{view}/{machine}")):
            if listed.path not in current and listed.path not in replaced and now - listed.modified > STRAY:
                storage.remove(listed.path)
    return replaced
