"""The status of a database that another program writes: of its file and the journals beside it, combined.

A folder of many small files that is read like a database has the status of all its files.
"""

import os
import stat
from collections.abc import Iterator

from hansard.sources.tail import FileStatus, file_status

JOURNALS = ("-wal", "-journal")
"""What SQLite adds to the name of a database for the files that hold a part of its content."""

COPY_PREFIX = "reading-"
"""The prefix of folders in the data directory that hold a copy of another program's database."""


IN_DATABASE = "#"
"""Between the path of a database and the name of one of its tables, in notes on what is not stored."""


def is_table_of(note: str, database: str) -> bool:
    """Whether a note is about a table of a database."""
    return note.startswith(database + IN_DATABASE)


def database_status(path: str) -> FileStatus:
    """The sum of sizes and the latest times: every write to the file, to its journals or below the folder changes one of them."""
    first = os.stat(path)
    others = _below(path) if stat.S_ISDIR(first.st_mode) else _journals(path)
    whole = file_status(first)
    if stat.S_ISDIR(first.st_mode):
        whole = whole._replace(size=0)
    for other in others:
        found = file_status(other)
        whole = whole._replace(
            size=whole.size + found.size,
            mtime_ns=max(whole.mtime_ns, found.mtime_ns),
            ctime_ns=max(whole.ctime_ns, found.ctime_ns),
        )
    return whole


def journal_owner(path: str) -> str:
    """The database that a path is a journal of, by its name; empty if it is not one."""
    return next((path.removesuffix(ending) for ending in JOURNALS if path.endswith(ending)), "")


def _journals(path: str) -> Iterator[os.stat_result]:
    for ending in JOURNALS:
        try:
            yield os.stat(path + ending)
        except FileNotFoundError:
            continue


def _below(folder: str) -> Iterator[os.stat_result]:
    waiting = [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                        yield entry.stat(follow_symlinks=False)
                    elif entry.is_file(follow_symlinks=False):
                        yield entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue  # removed meanwhile
