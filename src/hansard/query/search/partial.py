"""What to show when no text has all words of a query: the best matches for as many of them as occur together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hansard.model.search import PartialMatches
from hansard.query.language import And, Node, Or, Word
from hansard.query.language.nodes import several

if TYPE_CHECKING:
    from hansard.model.gate import Redact
    from hansard.model.requests import SearchRequest
    from hansard.query.reader import Reader
    from hansard.record.store import Record

_MOST_CHOICES = 70  # ways to leave words out


def partial_matches(
    reader: Reader, request: SearchRequest, node: Node, record: Record | None, redact: Redact | None = None
) -> PartialMatches | None:
    """The best matches for the most words that some text has, two of them or more if the query has three; None if there are none."""
    from hansard.query.search.pages import Search

    for words, of, fewer in fewer_words(node):
        page = Search(reader, replace(request, facets=False), node=fewer, redact=redact).page(record)
        if page.hits:
            truncated = page.truncated or page.next_cursor is not None
            return PartialMatches(words, of, page.hits, page.sessions, page.total, truncated)
    return None


def fewer_words(node: Node) -> Iterator[tuple[int, int, Node]]:
    """How many words must match, of how many, and the query for it; everything that is not a word stays required."""
    parts = node.nodes if isinstance(node, And) else (node,)
    words = [part for part in parts if isinstance(part, Word)]
    rest = [part for part in parts if not isinstance(part, Word)]
    of = len(words)
    least = 2 if of > 2 else 1
    for size in range(of - 1, least - 1, -1):
        if comb(of, size) > _MOST_CHOICES:
            continue
        choices = [several(And, chosen) for chosen in combinations(words, size)]
        yield size, of, several(And, [*rest, several(Or, choices)])
