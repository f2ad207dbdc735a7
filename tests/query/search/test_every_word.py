"""No word is too short or too odd to be asked for."""

from __future__ import annotations

from itertools import product
from string import ascii_lowercase
from typing import Any

import pytest

from hansard.engine import Hansard
from hansard.query.search.spellings import inflections


def test_every_short_word_has_its_forms() -> None:
    for length in (1, 2, 3, 4):
        for letters in product(ascii_lowercase if length < 4 else "aeszyxhingd", repeat=length):
            word = "".join(letters)
            assert word not in inflections(word)


@pytest.mark.parametrize("word", ["ses", "zes", "xes", "ies", "ied", "ing", "eed", "ss", "es", "s"])
def test_words_that_are_endings(demo: Hansard, word: str) -> None:
    assert demo.search(word, limit=1).total >= 0
    assert demo.search(f"{word}*", limit=1).total >= 0


def test_the_beginning_of_every_word_of_the_history(demo: Hansard) -> None:
    """Each finds something, as people see it while they type."""
    assert demo.reader.has_text
    terms: set[str] = set()
    for table in ("talk", "titles"):
        demo.reader.one(f"CREATE VIRTUAL TABLE temp.every_{table} USING fts5vocab (full, {table}, col)")
        rows: list[Any] = list(demo.reader.rows(f"SELECT term FROM temp.every_{table} WHERE col = 'body'"))
        demo.reader.one(f"DROP TABLE temp.every_{table}")
        terms |= {row[0] for row in rows}
    prefixes = sorted({term[:length] for term in terms if term.isascii() and term.isalpha() for length in (2, 3)})
    assert len(prefixes) > 500
    for prefix in prefixes:
        assert demo.search(f"{prefix}*", limit=1).hits, prefix
