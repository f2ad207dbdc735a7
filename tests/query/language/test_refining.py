"""Queries made narrower and wider by one field."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.query.language import QueryError, parse
from hansard.query.language.refine import Refining, written

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def of(query: str) -> Refining:
    return Refining(query, now=NOW, zone=UTC)


@pytest.mark.parametrize(
    ("query", "name", "value", "longer"),
    [
        ("", "tool", "Bash", "tool:Bash"),
        ("flaky login", "kind", "prompt", "flaky login kind:prompt"),
        ("a OR b", "tool", "Bash", "(a OR b) tool:Bash"),
        ('"never closed', "tool", "Bash", '"never closed" tool:Bash'),
        ('a OR "b c', "tool", "Bash", '(a OR "b c") tool:Bash'),
        ("a", "project", "/home/mira/my app", 'a project:"/home/mira/my app"'),
        ("a", "project", "/home/mira/app", "a project:/home/mira/app"),
        ("a", "tool", "odd(name)", 'a tool:"odd(name)"'),
        ("a", "on", "2026-05", "a on:2026-05"),
    ],
)
def test_narrower(query: str, name: str, value: str, longer: str) -> None:
    assert of(query).narrowed(name, value) == longer


def test_what_cannot_be_written() -> None:
    assert of("a").narrowed("project", 'with "quotes"') is None
    assert written("nofield", "x") is None
    assert written("tool", "  ") is None


def test_fields_can_be_taken_away() -> None:
    query = of("flaky kind:prompt,reply -tool:Bash login since:7d (a OR b)")
    parts = query.fields()
    assert [part.text for part in parts] == ["kind:prompt,reply", "-tool:Bash", "since:7d"]
    assert [part.rest for part in parts] == [
        "flaky -tool:Bash login since:7d (a OR b)",
        "flaky kind:prompt,reply login since:7d (a OR b)",
        "flaky kind:prompt,reply -tool:Bash login (a OR b)",
    ]
    assert of("a OR kind:prompt").fields() == []


def test_a_field_that_is_there_is_found() -> None:
    query = of("flaky tool:bash on:2026-05")
    part = query.has("on", "2026-05")
    assert part is not None
    assert part.rest == "flaky tool:bash"
    assert query.has("on", "2026-06") is None


@given(st.text(max_size=40), st.text(min_size=1, max_size=20))
def test_whatever_is_asked_gets_narrower_or_stays(query: str, value: str) -> None:
    try:
        refining = of(query)
        longer = refining.narrowed("project", value)
    except QueryError:
        return
    if longer is not None:
        parse(longer, now=NOW, zone=UTC)
        assert [part.text for part in of(longer).fields()][-1] == written("project", value)
