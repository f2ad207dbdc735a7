"""Check the databases: small ones in full, large ones the next batch of pages and some words of the full text.

A batch passes on the checksums of its pages alone. If one does not match, SQLite's own check of everything decides.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from msgspec import Struct

from hansard.errors import StoreCorrupt
from hansard.query.reader import Reader
from hansard.storage.heartbeat import checked_up_to, note_checked
from hansard.storage.sqlite import PAGE_SIZE, pages_match

# FTS5's own check reads every word of every text, ten seconds per gigabyte: `verify` does that. `doctor` does so up to
# this many leaves that a word begins in, half a second's work.
_ALL_WORDS = 4000
_PROBES = 250
_WORDS = 4  # at each place
_AHEAD = 2 << 20
_ALL_PAGES = 16_384  # 128 MiB, a tenth of a second from memory; larger databases are checked this many pages at a time


class CheckedPages(Struct, frozen=True):
    """Which pages of a large database match their checksums."""

    first: int  # counted from 1
    last: int
    total: int

    @property
    def words(self) -> str:
        """Human-readable: pages 1 to 16,384 of 89,975."""
        return f"pages {self.first:,} to {self.last:,} of {self.total:,}"


def check_pages(home: str, name: str) -> CheckedPages | None:
    """Check the next pages of a large database; None if it is small or a page does not match: then check all of it."""
    path = os.path.join(home, name)
    try:
        total = os.path.getsize(path) // PAGE_SIZE
    except OSError:
        return None
    if total <= _ALL_PAGES:
        return None
    first = checked_up_to(home, name)
    first = first if first < total else 0
    last = min(first + _ALL_PAGES, total)
    if not pages_match(path, first, last - first):
        return None
    note_checked(home, name, last)
    return CheckedPages(first + 1, last, total)


def read_ahead(path: str) -> None:
    """Prefetch a file that will be read in random order: many times faster when it is not cached."""
    if not hasattr(os, "posix_fadvise"):
        return
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        for start in range(0, os.fstat(file).st_size, _AHEAD):
            os.posix_fadvise(file, start, _AHEAD, os.POSIX_FADV_WILLNEED)
    except OSError:
        pass  # it is then loaded as it is read
    finally:
        os.close(file)


def is_damaged(home: str, name: str, *, words_only: bool = False) -> bool:
    """Whether a rebuildable database is damaged; `words_only`: check only its full text, because its pages were checked."""
    path = os.path.join(home, name)
    if not os.path.exists(path) or not os.path.getsize(path):
        return False
    if not words_only:
        read_ahead(path)
    reader = Reader(home)
    reader.path = path
    try:
        return any(found != "ok" for found in _check(reader, words_only=words_only))
    except StoreCorrupt:
        return True
    finally:
        reader.close()


def _check(reader: Reader, *, words_only: bool) -> Iterator[str]:
    """SQLite's complaints, at most one per table."""
    tables = list(reader.rows("SELECT name, rootpage FROM sqlite_schema WHERE type = 'table'"))
    full_text = [name for name, root in tables if not root]
    if not full_text and not words_only:
        yield from (str(row[0]) for row in reader.rows("PRAGMA quick_check(1)"))
        return
    for name in () if words_only else ["sqlite_schema", *(name for name, root in tables if root)]:
        yield from (str(row[0]) for row in reader.rows(f"PRAGMA quick_check({_quoted(name)})"))
    for name in full_text:
        leaves = reader.one(f"SELECT count(*) FROM {_quoted(name + '_idx')}")[0]
        if leaves <= _ALL_WORDS:
            yield from (str(row[0]) for row in reader.rows(f"PRAGMA quick_check({_quoted(name)})"))
        else:
            _probe(reader, name, leaves)


def _probe(reader: Reader, name: str, leaves: int) -> None:
    """Read some words and their positions at points all over an FTS5 table; a corrupt leaf raises."""
    words = _quoted(f"{name}_words")
    reader.one(f"CREATE VIRTUAL TABLE temp.{words} USING fts5vocab('main', {_quoted(name)}, 'row')")
    firsts = reader.rows(
        f"SELECT coalesce(CAST(substr(term, 2) AS BLOB), x'') FROM (SELECT term, row_number() OVER () AS n FROM {_quoted(name + '_idx')}) WHERE n % ? = 0",
        (max(1, leaves // _PROBES),),
    )
    for (first,) in list(firsts):
        word = first.decode("utf-8", "ignore")
        list(reader.rows(f"SELECT cnt FROM temp.{words} WHERE term >= ? LIMIT ?", (word, _WORDS)))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
