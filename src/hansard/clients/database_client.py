"""What clients with databases share: a root is a directory with a database in it, and each of its sessions becomes a log."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, ClassVar

from hansard.clients.generic import GenericClient
from hansard.clients.row_logs import rows_info
from hansard.sources.roots import FileKind, Layout, Root

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from hansard.clients.protocol import PathInfo
    from hansard.sources.foreign import ForeignDatabase

ROWS = "rows"
"""The folder of the logs, which is in the record only."""


class DatabaseClient(GenericClient):
    """A client that keeps its sessions in a database; it says which tables it knows, and has `row_logs` beside this."""

    database: str
    """The name of the file."""
    tables: ClassVar[Collection[str]] = ()
    """The tables that are read."""
    other_tables: ClassVar[Collection[str]] = ()
    """Tables without conversations, and those that must not be read."""

    def __init__(self) -> None:
        self.layout = self.layout_of([self.database])

    def layout_of(self, files: Iterable[str]) -> Layout:
        """A root with these databases."""
        return Layout(main=ROWS, folders={}, files=dict.fromkeys(files, FileKind.DATABASE), rows=ROWS)

    def open_root(self, path: str) -> Root | None:
        """A directory with the database."""
        real = os.path.realpath(os.path.expanduser(path))
        return self.root_of(real, self.layout) if os.path.isfile(os.path.join(real, self.database)) else None

    def root_of(self, path: str, layout: Layout) -> Root:
        """A directory whose sessions are in databases."""
        return Root(path, self.root_name(path), self.name, layout, os.path.join(path, layout.main), path)

    def root_name(self, path: str) -> str:  # noqa: ARG002
        """What a root is called: after the client, because its directory is usually named after what it holds."""
        return self.name

    def path_info(self, path: str) -> PathInfo:
        """What the path of a log says."""
        return rows_info(path)

    def database_rank(self, path: str) -> int:  # noqa: ARG002
        """There is one database."""
        return 0

    def unread(self, database: ForeignDatabase) -> dict[str, int]:
        """Tables of newer versions, and how many rows each has."""
        return database.count_rows({*self.tables, *self.other_tables})
