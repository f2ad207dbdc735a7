"""Queries of reports: bare dates are periods, and no words."""

from __future__ import annotations

import pytest

from hansard.query.language import And, Model, Node, Not, On, Or, QueryError, parse
from hansard.query.language.periods import parse_report_query

from .reading import NOW, UTC


def read(text: str) -> Node:
    return parse_report_query(text, now=NOW, zone=UTC)


@pytest.mark.parametrize(
    "period",
    "2026 2026-04 2026-04-03 20260403 2026-W14 yesterday today monday last-monday last-week this-month".split(),
)
def test_a_bare_date_is_that_period(period: str) -> None:
    assert read(period) == parse(f"on:{period}", now=NOW, zone=UTC)
    assert isinstance(read(period), On)


@pytest.mark.parametrize("period", ["last week", "this month", "last monday"])
def test_a_period_may_have_several_words(period: str) -> None:
    wanted = parse(f'on:"{period}"', now=NOW, zone=UTC)
    assert read(period) == wanted
    assert read(f"model:opus {period} -model:haiku") == And((Model("opus"), wanted, Not(Model("haiku"))))


def test_periods_combine_like_fields() -> None:
    either = read("2026-04 OR -2026-05")
    assert isinstance(either, Or)
    assert either == parse("on:2026-04 OR -on:2026-05", now=NOW, zone=UTC)
    assert read("model:opus is:subagent") == parse("model:opus is:subagent", now=NOW, zone=UTC)


@pytest.mark.parametrize(
    ("query", "column", "words"),
    [
        ("opus", 0, "model:opus, project:opus, branch:opus or tool:opus"),
        ("since:7d opus", 9, "--match"),
        ('"last week"', 0, "model:, project:"),
        ("-(near(a b) OR 2026)", 2, "--match"),
        ("last", 0, "project:last"),
        ("7d", 0, "since:7d or on:7d"),
        ("model:opus 3 days ago", 11, 'since:"3 days ago"'),
        ("2026-13", 0, "invalid date '2026-13'"),
    ],
)
def test_other_bare_words_are_refused(query: str, column: int, words: str) -> None:
    with pytest.raises(QueryError) as caught:
        read(query)
    assert words in caught.value.problem
    assert caught.value.column == column
