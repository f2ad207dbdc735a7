"""Which of the things that were typed answer a query."""

from __future__ import annotations

import json
from datetime import datetime, tzinfo
from itertools import islice
from typing import TYPE_CHECKING

from hansard.query.language import And, Kind, Or, parse
from hansard.query.search.candidates import Finder
from hansard.query.search.plan import make_plan, without_empty
from hansard.query.search.vocabulary import IndexedWords

if TYPE_CHECKING:
    from hansard.query.reader import Reader

_AT_ONCE = 10_000
_TYPED = Or((Kind("prompt"), Kind("command")))


def find_typed(reader: Reader, query: str, *, now: datetime, zone: tzinfo | None = None) -> set[int]:
    """The ids of the prompts that a search for the query would find, lines of history.jsonl included."""
    node = without_empty(parse(query, now=now, zone=zone))
    if node is None or not reader.has_text:
        return set()
    finder = Finder(reader, make_plan(reader, And((node, _TYPED)), IndexedWords(reader)), all_typed=True)
    found: set[int] = set()
    ids = finder.ids()
    while some := list(islice(ids, _AT_ONCE)):
        found.update(
            row[0]
            for row in reader.rows(
                "SELECT p.id FROM json_each(?) v JOIN prompts p ON p.id = coalesce((SELECT r.id FROM records r"
                " WHERE r.id = (SELECT max(id) FROM records WHERE id <= v.value) AND r.id + r.length > v.value), v.value)",
                (json.dumps(some),),
            )
        )
    return found
