"""Beginnings of words and short words: each is answered, and one that fits half of the history costs no more than others."""

from __future__ import annotations

import itertools
import random
import string
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

import hansard
from hansard.engine import Hansard
from hansard.errors import UsageError
from hansard.index.text import TextIndex
from hansard.model.requests import SearchRequest
from hansard.query.language import parse
from hansard.query.search import candidates, vocabulary
from hansard.query.search.pages import Search
from hansard.query.search.plan import make_plan
from hansard.query.search.spellings import Spelling, as_typed, begun_spellings, inflections, spellings
from hansard.query.search.vocabulary import IndexedWords
from hansard.record.store import Record
from tests.sync.making import Tree, main_path, result, session

LETTERS = string.ascii_lowercase
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


class _Everything:
    """A vocabulary that has the given words, and rows of them."""

    def __init__(self, words: set[str]) -> None:
        self._words = words

    def has(self, row: Spelling, times: int = 1) -> bool:
        return times == 1 and all(token in self._words for token in row)

    def of(self, rows: Sequence[Spelling]) -> list[Spelling]:
        return [row for row in rows if self.has(row)]

    def begun(self, _beginning: str) -> list[str] | None:
        return None


def _terms(h: Hansard) -> set[str]:
    assert h.reader.has_text
    terms: set[str] = set()
    for table in ("talk", "work", "titles"):
        h.reader.one(f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{table}_all USING fts5vocab(full, {table}, row)")
        terms.update(row[0] for row in h.reader.rows(f"SELECT term FROM temp.{table}_all"))
    return terms


def test_every_word_of_two_and_three_letters_and_every_beginning_of_a_word_can_be_spelled(demo: Hansard) -> None:
    terms = _terms(demo)
    known = _Everything(terms)
    short = {"".join(word) for length in (1, 2, 3) for word in itertools.product(LETTERS, repeat=length)}
    beginnings = {term[:length] for term in terms for length in range(1, len(term) + 1)}
    for word in short | beginnings:
        typed = as_typed(word)
        assert spellings(word, known)[:1] == begun_spellings(word, known)[0][:1] == ([typed] if typed else [])
    assert all(form.isalpha() and len(form) > 1 for word in short for form in inflections(word))


def test_every_word_of_two_letters_endings_of_three_and_every_short_beginning_are_answered(demo: Hansard) -> None:
    # The forms of a word depend on its end: a vowel, a consonant and an s in front of it are enough.
    words = {"".join(word) for firsts in ((LETTERS,), ("abs", LETTERS)) for word in itertools.product(*firsts, LETTERS)}
    beginnings = {f"{term[:length]}*" for term in _terms(demo) for length in (1, 2, 3)}
    known = IndexedWords(demo.reader)
    for query in sorted(words | beginnings):
        assert make_plan(demo.reader, parse(query, now=NOW), known) is not None
    for word in ("ses", "zes", "s*", "se*"):
        assert demo.search(word).notes is not None


@pytest.mark.parametrize(
    "word", ["URLSearchParams", "HTTPServer2", "parseURLAgain", "ghp_4KPONu3OujCxyz9", "sha256sum", "v2Beta"]
)
def test_every_beginning_of_an_identifier_finds_it(tmp_path: Path, word: str) -> None:
    """Where capitals and digits divide it depends on what follows, which is not typed yet."""
    tree = Tree(tmp_path / "claude", tmp_path / "store")
    tree.write(main_path(session(1)), [result(session(1), "r1", "t1", f"look at {word} there", 0)])
    with hansard.open(tree.home, roots=[tree.config]) as h:
        h.sync()
        missing = [
            word[:end]
            for end in range(2, len(word) + 1)
            if word[end - 1] != "_" and not h.search(f"{word[:end]}*").hits
        ]
    assert missing == []


# -- how much is read


@contextmanager
def _wordy(folder: Path, lines: int) -> Iterator[Hansard]:
    """A store with many different words, all with the same beginning."""
    dice = random.Random(7)
    tree = Tree(folder / "claude", folder / "store")
    words = (f"common word{dice.randrange(1 << 40):x}" for _ in itertools.count())
    texts = (" ".join(itertools.islice(words, 100)) for _ in range(lines))
    talk = [result(session(1), f"r{number}", f"t{number}", text, number) for number, text in enumerate(texts)]
    tree.write(main_path(session(1)), talk)
    tree.sync()
    with Record.open(str(tree.home / "record.db"), readonly=True) as record:
        text = TextIndex(str(tree.home / "text.db"), record)
        text.merge_whole()  # how many segments a sync leaves is chance, and each is looked at
        text.close()
    with hansard.open(tree.home, roots=[tree.config]) as h:
        yield h


def _pages_read(h: Hansard, query: str) -> int:
    """How many pages SQLite looked at to answer."""
    db = h.reader.db
    h.search("nothing")  # opens what is opened once

    def looked() -> int:
        return sum(db.status(what)[0] for what in (apsw.SQLITE_DBSTATUS_CACHE_HIT, apsw.SQLITE_DBSTATUS_CACHE_MISS))

    before = looked()
    h.search(query)
    return looked() - before


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a history that is a hundred times as large."""
    monkeypatch.setattr(vocabulary, "_MOST_LEAVES", 10)
    monkeypatch.setattr(vocabulary, "_MOST_EXACT", 30)
    monkeypatch.setattr(candidates, "_SAMPLE", 10)
    small = {part.name: part._replace(weighed=20) for part in candidates.PARTS}
    monkeypatch.setattr(candidates, "PARTS", tuple(small.values()))
    for name in ("FILES", "TITLES", "REMINDERS"):
        monkeypatch.setattr(candidates, name, small[name.lower()])


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("query", ["w*", " OR ".join(f"{letter}*" for letter in "wordcmn"), "wor* -w*", '"common w"*'])
def test_a_beginning_costs_no_more_in_a_larger_text(tmp_path: Path, query: str) -> None:
    with _wordy(tmp_path / "small", 200) as small, _wordy(tmp_path / "large", 800) as large:
        less, more = _pages_read(small, query), _pages_read(large, query)
    assert more <= 1.5 * less + 100


@pytest.mark.usefixtures("few")
def test_many_alternatives_cost_as_many_times_as_much(tmp_path: Path) -> None:
    """And not as many times all of the text."""
    with _wordy(tmp_path, 600) as h:
        costs = [_pages_read(h, " OR ".join(f"word{n:x}*" for n in range(1, count + 1))) for count in (25, 50, 100)]
        leaves = h.reader.one("SELECT count(*) FROM full.work_idx")[0]
    assert costs[1] <= 2.6 * costs[0]
    assert costs[2] <= 2.6 * costs[1]
    assert costs[2] < 100 * leaves


@pytest.mark.usefixtures("few")
def test_what_was_left_out_is_said(tmp_path: Path) -> None:
    with _wordy(tmp_path, 400) as h:
        assert h.search("word1234*").notes == ()
        page = h.search("w*")
        assert page.truncated
        assert page.notes == (
            "w*: too many words start with this; only the most frequent were searched. Add letters to find the others",
        )
        assert h.facets("w*").truncated
        with pytest.raises(UsageError, match="too many words start with 'w'"):
            h.count("w*")
        with pytest.raises(UsageError, match="add letters"):
            h.sessions("w*")


def test_the_most_frequent_words_stand_for_a_beginning(demo: Hansard, monkeypatch: pytest.MonkeyPatch) -> None:
    assert demo.reader.has_text
    every = set(Search(demo.reader, SearchRequest("t*")).finder.ids())
    monkeypatch.setattr(vocabulary, "_MOST_LEAVES", IndexedWords(demo.reader)._leaves("talk", "t"))
    search = Search(demo.reader, SearchRequest("t*"))
    assert search.plan.is_cut
    found = set(search.finder.ids())
    assert found < every
    assert len(found) > 0.8 * len(every)
