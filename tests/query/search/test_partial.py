"""What is found when no text has all words."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hansard.engine import Hansard
from hansard.query.language import parse
from hansard.query.search.hints import fewer_words


def test_as_many_words_as_occur_together_are_found(demo: Hansard) -> None:
    page = demo.search("xylophone zzyzx qqqqqqqq committed", group=True)
    assert not page.hits
    assert page.partial is None  # no text has two of these words
    hit = demo.search("kind:prompt harbour").hits[0]
    word = next(word for word in hit.snippet.lower().split() if word.isalpha() and len(word) > 4 and word != "harbour")
    page = demo.search(f"zzyzx harbour {word} session:{hit.session_id}", group=True)
    assert (page.hits, page.total) == ((), 0)
    assert page.partial is not None
    assert (page.partial.words, page.partial.of) == (2, 3)
    assert hit.offset in [found.offset for found in page.partial.hits]
    assert [session.session_id for session in page.partial.sessions] == [hit.session_id]
    assert page.partial.heading == "no message has all words; best matches for 2 of 3"


def test_one_of_two_words_is_enough_and_fields_must_match(demo: Hansard) -> None:
    found = demo.search("xylophone zzyzx").partial
    assert found is not None
    assert (found.words, found.of, found.total) == (1, 2, demo.count("xylophone"))
    assert demo.search("xylophone zzyzx tool:Bash").partial is None
    assert demo.search("xylophone zzyzx -xylophone").partial is None
    assert demo.search("xylophone").partial is None
    assert demo.search("zzyzx").partial is None


def test_nothing_is_offered_where_texts_are_screened(demo: Hansard) -> None:
    assert demo.search("xylophone zzyzx", prepare=str.upper).partial is None


@pytest.mark.parametrize(("count", "sizes"), [(0, []), (1, []), (2, [1]), (3, [2]), (4, [3, 2]), (12, [11, 10, 2])])
def test_how_many_words_are_left_out(count: int, sizes: list[int]) -> None:
    query = parse(" ".join([f"word{number}" for number in range(count)] + ["tool:Bash"]), now=datetime.now(UTC))
    assert [words for words, _, _ in fewer_words(query)] == sizes
