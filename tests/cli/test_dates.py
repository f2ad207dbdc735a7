"""Dates as people type them."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.cli.arguments import Moment, parse_moment
from hansard.errors import UsageError

from .conftest import Run

NOW = datetime(2026, 5, 10, 12, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("2026-05-01", datetime(2026, 5, 1, tzinfo=UTC)),
        ("2026-05", datetime(2026, 5, 1, tzinfo=UTC)),
        ("2026", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-05-01T14:30", datetime(2026, 5, 1, 14, 30, tzinfo=UTC)),
        ("2026-05-01 14:30", datetime(2026, 5, 1, 14, 30, tzinfo=UTC)),
        ("2026-05-01T14:30:00Z", datetime(2026, 5, 1, 14, 30, tzinfo=UTC)),
        ("2026-05-01T14:30:00+02:00", datetime(2026, 5, 1, 12, 30, tzinfo=UTC)),
        ("7d", NOW - timedelta(days=7)),
        ("24h", NOW - timedelta(hours=24)),
        ("2W", NOW - timedelta(weeks=2)),
        ("1m", datetime(2026, 4, 10, 12, 30, tzinfo=UTC)),
        ("1y", datetime(2025, 5, 10, 12, 30, tzinfo=UTC)),
        ("today", datetime(2026, 5, 10, tzinfo=UTC)),
        ("Yesterday", datetime(2026, 5, 9, tzinfo=UTC)),
        ("now", NOW),
    ],
)
def test_what_is_meant(text: str, meant: datetime) -> None:
    assert parse_moment(text, NOW, zone=UTC) == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("2026-05-01", datetime(2026, 5, 2, tzinfo=UTC)),
        ("2026-05", datetime(2026, 6, 1, tzinfo=UTC)),
        ("2026", datetime(2027, 1, 1, tzinfo=UTC)),
        ("today", datetime(2026, 5, 11, tzinfo=UTC)),
        ("2026-05-01T14:30", datetime(2026, 5, 1, 14, 30, tzinfo=UTC)),
    ],
)
def test_until_a_day_means_to_its_end(text: str, meant: datetime) -> None:
    assert parse_moment(text, NOW, end=True, zone=UTC) == meant


@pytest.mark.parametrize(
    "text", ["", "soon", "7", "7x", "2026-13", "2026-13-01", "20261301", "--1d", "\u0667d", "2026-W01-1"]
)
def test_no_date_is_told_with_examples(text: str) -> None:
    with pytest.raises(UsageError, match="2026-05-01, "):
        parse_moment(text, NOW)


def test_an_option_takes_a_date_and_says_what_is_none() -> None:
    assert Moment().convert(NOW, None, None) == NOW
    assert Moment(end=True).convert("2026-05-01T14:30Z", None, None) == datetime(2026, 5, 1, 14, 30, tzinfo=UTC)
    with pytest.raises(UsageError, match=r"^invalid date 'soon'; use for example 2026-05-01, "):
        Moment().convert("soon", None, None)


@pytest.mark.parametrize("command", ["sessions", "usage", "search", "files", "blocks"])
@pytest.mark.parametrize("option", ["--since", "--until"])
def test_every_command_words_a_bad_date_alike(run: Run, command: str, option: str) -> None:
    message = run(command, option, "soon", code=2).stderr
    assert message.startswith(f"hansard: {option}: invalid date 'soon'; use for example 2026-05-01, ")


@given(st.text(max_size=30))
def test_any_text_is_a_date_or_a_usage_error(text: str) -> None:
    with contextlib.suppress(UsageError):
        assert parse_moment(text, NOW).tzinfo is not None
