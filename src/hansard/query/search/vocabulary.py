"""What occurs in the full text at all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hansard.query.reader import Reader
    from hansard.query.search.words import Spelling

_TABLES = ("work", "talk", "titles")


class IndexedWords:
    """The words of a store; each is looked up once."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._known: dict[tuple[Spelling, int], bool] = {}

    def has(self, row: Spelling, times: int = 1) -> bool:
        """Whether tokens stand in a row in so many texts at least."""
        key = row, times
        if key not in self._known:
            left = times
            for table in _TABLES:
                if left > 0:
                    rows = self._reader.rows(
                        f"SELECT 1 FROM full.{table} WHERE {table} MATCH ? LIMIT ?", (_match(row), left)
                    )
                    left -= sum(1 for _ in rows)
            self._known[key] = left <= 0
        return self._known[key]

    def of(self, rows: Sequence[Spelling]) -> list[Spelling]:
        """Those of several rows that occur at all, asked for in one go."""
        unknown = [row for row in rows if (row, 1) not in self._known]
        found = {
            found[0]
            for found in self._reader.rows(
                "SELECT v.key FROM json_each(?) v WHERE EXISTS (SELECT 1 FROM full.work WHERE work MATCH v.value)"
                " OR EXISTS (SELECT 1 FROM full.talk WHERE talk MATCH v.value)"
                " OR EXISTS (SELECT 1 FROM full.titles WHERE titles MATCH v.value)",
                (json.dumps([_match(row) for row in unknown]),),
            )
        }
        self._known.update({(row, 1): number in found for number, row in enumerate(unknown)})
        return [row for row in rows if self._known[row, 1]]


def _match(row: Spelling) -> str:
    return 'body : "' + " ".join(row) + '"'
