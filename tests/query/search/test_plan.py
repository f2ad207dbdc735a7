"""Queries of any size are answered, or refused in clear words."""

from __future__ import annotations

import pytest

from hansard.engine import Hansard
from hansard.errors import UsageError
from hansard.query.search.plan import MOST_TOKENS


@pytest.mark.parametrize(
    "query",
    [
        "-(error OR " * 48 + "the" + ")" * 48,
        "a -(" * 48 + "the" + ")" * 48,
        "a OR (b " * 48 + "the" + ")" * 48,
        "-(a b OR -(" * 24 + "the" + ")" * 48,
        "-(project:a " * 40 + "the" + ")" * 40,
    ],
)
def test_deep_nesting(demo: Hansard, query: str) -> None:
    refused = ""
    try:
        demo.search(query)
        demo.sessions(query)
    except UsageError as error:
        refused = str(error)
    assert not refused or "too deeply nested" in refused


def test_ten_levels_are_no_problem(demo: Hansard) -> None:
    assert demo.count("-(zzyzx OR -(" * 5 + "the" + "))" * 5)


def test_a_text_of_many_words_is_refused(demo: Hansard) -> None:
    phrase = '"' + "the " * MOST_TOKENS + '"'
    assert demo.count(phrase) == 0
    with pytest.raises(UsageError, match="too long"):
        demo.count(phrase + " more")
    with pytest.raises(UsageError, match="too long"):
        demo.sessions("a-" * (MOST_TOKENS + 1))


def test_a_title_of_many_words(demo: Hansard) -> None:
    assert demo.count('title:"' + "hard " * 5000 + '"') == demo.count("title:hard") > 0
