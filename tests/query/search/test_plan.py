"""Queries of any size are answered, or refused in clear words."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hansard.engine import Hansard
from hansard.errors import UsageError
from hansard.query import language
from hansard.query.search.plan import MOST_TOKENS, Plan, make_plan
from hansard.query.search.vocabulary import IndexedWords


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


def _plan(h: Hansard, query: str) -> Plan:
    node = language.parse(query, now=datetime(2026, 1, 1, tzinfo=UTC), zone=UTC)
    assert h.reader.has_text
    return make_plan(h.reader, node, IndexedWords(h.reader))


@pytest.mark.parametrize(
    ("query", "simple"),
    [
        (" OR ".join(["the"] * 200), "the"),
        (" ".join(["the"] * 200), "the"),
        ('"the" OR "The" OR "THE"', '"the"'),
        ("(the OR the) OR ((the the) OR the)", "the"),
        ("the -(a OR a) -a", "the -a"),
        ("near(the the the a)", "near(the a)"),
        (" OR ".join(["the project:x"] * 90), "the project:x"),
        ("(tag:a OR tag:a) the", "tag:a the"),
    ],
)
def test_equal_alternatives_are_one(demo: Hansard, query: str, simple: str) -> None:
    assert _plan(demo, query) == _plan(demo, simple)
    assert sum(len(leg.terms) for leg in _plan(demo, query).legs) <= 2


def test_different_alternatives_stay(demo: Hansard) -> None:
    (leg,) = _plan(demo, "zebra OR yak OR zebras OR zebra*").legs
    assert [term.typed for term in leg.terms] == ["zebra", "yak", "zebras", "zebra"]
