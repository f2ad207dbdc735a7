"""What to show when nothing matches: hints about words and spellings, and the best matches for as many words as occur together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from itertools import combinations, islice
from math import comb
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hansard.model.search import PartialMatches
from hansard.query.compile import folder_of
from hansard.query.language import And, Branch, Model, Node, Or, Project, Tag, Tool, Word
from hansard.query.language.nodes import several
from hansard.query.reader import Reader
from hansard.query.search.candidates import Finder
from hansard.query.search.plan import make_plan
from hansard.query.search.spellings import as_typed, spellings
from hansard.query.search.vocabulary import IndexedWords
from hansard.query.suggestions import list_values

if TYPE_CHECKING:
    from hansard.model.gate import Redact
    from hansard.model.requests import SearchRequest
    from hansard.record.store import Record

_MOST_WORDS = 12
_MOST_TERMS = 30_000  # of the vocabulary compared with one word
_SHORTEST = 4
_MOST_MATCHES = 1000
_MOST_VALUES = 2000


def hints(reader: Reader, node: Node) -> Iterator[str]:
    """One line per hint.

    If the query is restricted to a folder, hints use only its own texts: values and words of the whole history would
    reveal other projects.
    """
    parts = node.nodes if isinstance(node, And) else (node,)
    is_restricted = folder_of(parts) is not None
    unknown_values = [] if is_restricted else list(_unknown_values(reader, parts))
    yield from unknown_values
    if unknown_values:
        return
    words = [part for part in parts if isinstance(part, Word) and as_typed(part.text)]
    if not words or len(words) > _MOST_WORDS:
        return
    vocabulary = IndexedWords(reader, may_cut=True)
    unknown = [
        word
        for word in words
        if not is_restricted and not word.prefix and not vocabulary.of(spellings(word.text, vocabulary))
    ]
    for word in unknown:
        near = _spelled_nearly(reader, as_typed(word.text))
        yield f"{word.text!r} does not occur" + (f"; did you mean {near}?" if near else "")
    if unknown or len(parts) < 2 or len(words) > 1:  # with several words, partial matches are shown
        return
    rest = tuple(part for part in parts if part is not words[0])
    finder = Finder(reader, make_plan(reader, And(rest) if len(rest) > 1 else rest[0], vocabulary))
    if found := sum(1 for _ in islice(finder.docs(), _MOST_MATCHES)):
        over = found == _MOST_MATCHES
        count = f"are over {found - 1:,} matches" if over else f"are {found:,} matches" if found > 1 else "is 1 match"
        yield f"without {words[0].text!r} there {count}"


def _unknown_values(reader: Reader, parts: Iterable[Node]) -> Iterator[str]:
    """Fields whose value does not occur in the history, with the most similar one."""
    for part in parts:
        if not isinstance(part, Tool | Project | Model | Branch | Tag):
            continue
        known = list_values(reader, part.name, _MOST_VALUES)
        wanted = part.value.casefold()
        if any(wanted in value.casefold() for value in known):
            continue
        names = {value.replace("\\", "/").rsplit("/", 1)[-1].casefold(): value for value in known}
        near = get_close_matches(wanted, names, n=1, cutoff=0.7)
        meant = names[near[0]] if near else ""
        if isinstance(part, Project):
            meant = meant.replace("\\", "/").rsplit("/", 1)[-1]
        yield f"no {part.name} named {part.value!r}" + (f"; did you mean {meant}?" if meant else "")


def _spelled_nearly(reader: Reader, tokens: tuple[str, ...]) -> str:
    """The word in the history most similar to a misspelled one."""
    word = "".join(tokens)
    if len(word) < _SHORTEST or not word.isalpha():
        return ""
    terms: set[str] = set()
    for table in ("talk", "work"):
        reader.one(f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{table}_terms USING fts5vocab(full, {table}, col)")
        terms.update(
            row[0]
            for row in reader.rows(
                f"SELECT term FROM temp.{table}_terms WHERE term >= ? AND term < ? AND col = 'body'"
                " AND length(term) BETWEEN ? AND ? LIMIT ?",
                (word[:2], word[0] + chr(ord(word[1]) + 1), len(word) - 2, len(word) + 2, _MOST_TERMS),
            )
        )
    near = get_close_matches(word, sorted(terms - {word}), n=1, cutoff=0.8)
    return near[0] if near else ""


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
