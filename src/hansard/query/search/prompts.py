"""Which of the things that were typed answer a query."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING

from hansard.query.language import And, Kind, Node, Or
from hansard.query.search.candidates import Finder
from hansard.query.search.plan import make_plan
from hansard.query.search.vocabulary import IndexedWords

if TYPE_CHECKING:
    from hansard.query.reader import Reader

_AT_ONCE = 10_000
_TYPED = Or((Kind("prompt"), Kind("command")))


def find_typed(reader: Reader, node: Node) -> list[int]:
    """The ids of the prompts that a search would find, lines of history.jsonl included."""
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
    return sorted(found)
