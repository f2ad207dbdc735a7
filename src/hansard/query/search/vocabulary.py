"""Which words occur in the full text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hansard.errors import UsageError

if TYPE_CHECKING:
    from hansard.query.reader import Reader
    from hansard.query.search.spellings import Spelling

_TABLES = ("work", "talk", "titles", "reminders")
_EXISTS = " OR ".join(f"EXISTS (SELECT 1 FROM full.{table} WHERE {table} MATCH {{0}})" for table in _TABLES)
_OCCURS = f"SELECT {_EXISTS.format('?1')}"
# UNION ALL reads one table after the other, and stops when there are enough.
_EACH = " UNION ALL ".join(f"SELECT 1 FROM full.{table} WHERE {table} MATCH ?1" for table in _TABLES)
_OFTEN = f"SELECT count(*) FROM ({_EACH} LIMIT ?2)"
_NEXT_SEGMENT = "SELECT min(segid) FROM full.{}_idx WHERE segid > ?"
_PAGES = (
    "SELECT (SELECT pgno >> 1 FROM full.{0}_idx WHERE segid = ? AND term <= ? ORDER BY term DESC LIMIT 1),"
    " (SELECT pgno >> 1 FROM full.{0}_idx WHERE segid = ? AND term < ? ORDER BY term DESC LIMIT 1)"
)


# FTS5 merges the positions of all words with a prefix before it returns the first match: 0.1 ms per 4 KB index leaf.
_MOST_LEAVES = 1000  # for a search, which may say that it left something out
_MOST_EXACT = 30_000  # for results that must be complete
_FREQUENT, _FEWEST, _MOST_WORDS = 40, 4, 400  # words for a prefix, for one of many, and for a whole query
_MAIN_INDEX = b"0"  # before every term


class IndexedWords:
    """The words of a store; each is looked up once."""

    def __init__(self, reader: Reader, *, may_cut: bool = False) -> None:
        """`may_cut`: for a prefix of too many words, use the most frequent; otherwise reject it."""
        self._reader = reader
        self._known: dict[tuple[Spelling, int], bool] = {}
        self._may_cut = may_cut
        self._left = _MOST_LEAVES if may_cut else _MOST_EXACT
        self._words = _MOST_WORDS
        self._segments: dict[str, list[int]] = {}

    def has(self, row: Spelling, times: int = 1) -> bool:
        """Whether these tokens occur in sequence in at least `times` texts."""
        key = row, times
        if key not in self._known:
            if times == 1:
                self._known[key] = bool(self._reader.one(_OCCURS, (_match(row),))[0])
            else:
                self._known[key] = self._reader.one(_OFTEN, (_match(row), times))[0] >= times
        return self._known[key]

    def of(self, rows: Sequence[Spelling]) -> list[Spelling]:
        """Those of several spellings that occur at all, in one query."""
        unknown = [row for row in rows if (row, 1) not in self._known]
        found = {
            found[0]
            for found in self._reader.rows(
                f"SELECT v.key FROM json_each(?) v WHERE {_EXISTS.format('v.value')}",
                (json.dumps([_match(row) for row in unknown]),),
            )
        }
        self._known.update({(row, 1): number in found for number, row in enumerate(unknown)})
        return [row for row in rows if self._known[row, 1]]

    def begun(self, beginning: str) -> list[str] | None:
        """The most frequent words with this prefix, if there are too many to search for all of them; else None.

        All prefixes of a query share one allowance, in the order of the calls.
        """
        if self._affordable(beginning, _TABLES):
            return None
        if not self._may_cut:
            raise UsageError(f"too many words start with {beginning!r}: add letters")
        for table in ("talk", "titles"):
            if self._affordable(beginning, (table,)):
                name = f"{table}_terms"
                self._reader.one(f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{name} USING fts5vocab(full, {table}, col)")
                rows = self._reader.rows(
                    f"SELECT term FROM temp.{name} WHERE term >= ? AND term < ? AND col = 'body' ORDER BY doc DESC, term LIMIT ?",
                    (beginning, _after(beginning), min(_FREQUENT, max(_FEWEST, self._words // 4))),
                )
                words = [row[0] for row in rows]
                self._words -= len(words)
                return words
        return []

    def _affordable(self, beginning: str, tables: Sequence[str]) -> bool:
        """Whether the allowance covers all words with this prefix; if so, deduct the cost."""
        cost = 0
        for table in tables:
            cost += self._leaves(table, beginning)
            if cost > self._left:
                return False
        self._left -= cost
        return True

    def _leaves(self, table: str, beginning: str) -> int:
        """How many leaves of a table's index have words with this prefix."""
        if table not in self._segments:
            numbers: list[int] = []
            while (row := self._reader.one(_NEXT_SEGMENT.format(table), (numbers[-1] if numbers else 0,)))[0]:
                numbers.append(row[0])
            self._segments[table] = numbers
        first = _MAIN_INDEX + beginning.encode()
        after = _MAIN_INDEX + _after(beginning).encode()
        found = 0
        for number in self._segments[table]:
            low, high = self._reader.one(_PAGES.format(table), (number, first, number, after))
            found += (high or 1) - (low or 1)
        return found


def _after(beginning: str) -> str:
    """The upper bound of all words with this prefix."""
    return beginning[:-1] + chr(ord(beginning[-1]) + 1)


def _match(row: Spelling) -> str:
    return 'body : "' + " ".join(row) + '"'
