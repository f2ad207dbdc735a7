"""Days, months, years and distances, in the zone of whoever asks."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.errors import UsageError
from hansard.query.language.dates import Span, parse_span
from tests.query.language.reading import NOW

EAST = timezone(timedelta(hours=9))


def zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except ZoneInfoNotFoundError:
        pytest.skip(f"this system knows no {name}")


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc] # year, month, day, hour, minute


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2026-05-01", (2026, 5, 1), (2026, 5, 2)),
        ("2026-05-31", (2026, 5, 31), (2026, 6, 1)),
        ("2026-05", (2026, 5, 1), (2026, 6, 1)),
        ("2025-12", (2025, 12, 1), (2026, 1, 1)),
        ("2025", (2025, 1, 1), (2026, 1, 1)),
        ("today", (2026, 5, 10), (2026, 5, 11)),
        ("YESTERDAY ", (2026, 5, 9), (2026, 5, 10)),
    ],
)
def test_a_span_goes_from_its_first_moment_to_the_one_after_its_last(
    text: str, first: tuple[int, ...], last: tuple[int, ...]
) -> None:
    assert parse_span(text, NOW, UTC) == Span(utc(*first), utc(*last))


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("now", NOW),
        ("1h", NOW - timedelta(hours=1)),
        ("24 hours", NOW - timedelta(hours=24)),
        ("7d", NOW - timedelta(days=7)),
        ("2w", NOW - timedelta(weeks=2)),
        ("3m", utc(2026, 2, 10, 12, 30)),
        ("5 months", utc(2025, 12, 10, 12, 30)),
        ("1Y", utc(2025, 5, 10, 12, 30)),
        ("2026-05-01T14:30", utc(2026, 5, 1, 14, 30)),
        ("2026-05-01t14:30z", utc(2026, 5, 1, 14, 30)),
        ("2026-05-01 14:30+0200", utc(2026, 5, 1, 12, 30)),
        ("2026-05-01T14", utc(2026, 5, 1, 14)),
    ],
)
def test_a_moment_begins_and_ends_at_once(text: str, moment: datetime) -> None:
    assert parse_span(text, NOW, UTC) == Span(moment, moment)


def test_a_month_back_from_its_last_day_is_a_last_day() -> None:
    assert parse_span("1m", utc(2026, 3, 31, 8), UTC).start == utc(2026, 2, 28, 8)
    assert parse_span("1m", utc(2026, 5, 31, 8), UTC).start == utc(2026, 4, 30, 8)
    assert parse_span("2y", utc(2028, 2, 29, 8), UTC).start == utc(2026, 2, 28, 8)


def test_a_distance_may_mean_the_day_it_leads_to() -> None:
    assert parse_span("7d", NOW, UTC, whole=True) == parse_span("2026-05-03", NOW, UTC)
    assert parse_span("1m", NOW, UTC, whole=True) == parse_span("2026-04-10", NOW, UTC)
    assert parse_span("1h", NOW, UTC, whole=True) == parse_span("1h", NOW, UTC)


def test_days_are_those_of_the_zone() -> None:
    late = utc(2026, 5, 10, 20)  # already the eleventh in the east
    assert parse_span("today", late, EAST) == Span(utc(2026, 5, 10, 15), utc(2026, 5, 11, 15))
    assert parse_span("2026-05", late, EAST) == Span(utc(2026, 4, 30, 15), utc(2026, 5, 31, 15))
    assert parse_span("2026-05-01T14:30", late, EAST).start == utc(2026, 5, 1, 5, 30)
    assert parse_span("2026-05-01T14:30Z", late, EAST).start == utc(2026, 5, 1, 14, 30)
    assert parse_span("1d", late, EAST, whole=True) == parse_span("2026-05-10", late, EAST)


def test_a_day_is_as_long_as_the_clock_makes_it() -> None:
    berlin = zone("Europe/Berlin")
    spring = parse_span("2026-03-29", NOW, berlin)
    autumn = parse_span("2026-10-25", NOW, berlin)
    assert spring.end - spring.start == timedelta(hours=23)
    assert autumn.end - autumn.start == timedelta(hours=25)


def test_a_day_without_a_midnight_begins_where_the_clock_jumps() -> None:
    span = parse_span("2018-11-04", NOW, zone("America/Sao_Paulo"))
    assert span == Span(utc(2018, 11, 4, 3), utc(2018, 11, 5, 2))


def test_a_day_with_two_midnights_begins_at_the_first() -> None:
    span = parse_span("2026-11-01", NOW, zone("America/Havana"))
    assert span == Span(utc(2026, 11, 1, 4), utc(2026, 11, 2, 5))


@pytest.fixture
def in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if sys.platform == "win32":
        pytest.skip("the zone of a process cannot be set here")
    monkeypatch.setenv("TZ", "XXX-9")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("text", "first", "days"),
    [
        ("20260501", (2026, 5, 1), 1),
        ("monday", (2026, 5, 4), 1),
        ("Sunday", (2026, 5, 10), 1),
        ("last sunday", (2026, 5, 3), 1),
        ("last-monday", (2026, 5, 4), 1),
        ("wed", (2026, 5, 6), 1),
        ("thurs", (2026, 5, 7), 1),
        ("this week", (2026, 5, 4), 7),
        ("last  week", (2026, 4, 27), 7),
        ("this month", (2026, 5, 1), 31),
        ("last month", (2026, 4, 1), 30),
        ("this-year", (2026, 1, 1), 365),
        ("last year", (2025, 1, 1), 365),
    ],
)
def test_weekdays_weeks_and_months_by_name(text: str, first: tuple[int, int, int], days: int) -> None:
    start = utc(*first)  # NOW is a Sunday
    assert parse_span(text, NOW, UTC) == Span(start, start + timedelta(days=days))


def test_last_month_in_january_is_december() -> None:
    assert parse_span("last month", utc(2026, 1, 3), UTC) == parse_span("2025-12", NOW, UTC)


@pytest.mark.parametrize("text", ["3d", "-3d", "3 days", "3 days ago", "3-days-ago", "-3 days", "3d ago"])
def test_a_distance_back_has_many_spellings(text: str) -> None:
    assert parse_span(text, NOW, UTC) == parse_span("72h", NOW, UTC)


def test_no_zone_is_that_of_the_system(in_tokyo: None) -> None:
    for text in ("today", "2026-05-01", "2026-05", "2026", "2026-05-01T14:30", "1m"):
        assert parse_span(text, NOW) == parse_span(text, NOW, EAST)


@pytest.mark.parametrize("text", "0000 0001-01-01 9999 9999-12-31 999999w 999999m 99999y".split())
def test_a_date_that_no_clock_reaches_is_out_of_range(text: str) -> None:
    with pytest.raises(UsageError, match=rf"^date '{text}' is out of range: use one of the years 2 to 9998$"):
        parse_span(text, NOW, EAST)


@pytest.mark.parametrize(
    "text",
    [
        *("soon 7 2026-1 2026-13 2026-02-30 20261301 week thisweek this-monday mont 2026-W01-1").split(),
        *("2026-05-01T25:00 2026-05-01x10:00 --1d 3-ago \u0667d 1min").split(),
        *("", "1" * 50, "this fri", "last wednes"),
    ],
)
def test_no_date_is_told_with_examples(text: str) -> None:
    with pytest.raises(UsageError, match=r"^invalid date '.*'; use for example 2026-05-01, "):
        parse_span(text, NOW, UTC)


@given(
    st.text(max_size=30)
    | st.from_regex(r"\d{1,4}[-Tt:dwmyh ]{0,2}\d{0,4}-?\d{0,4}[T ]?[\d:.+-]{0,9}[zZ]?", fullmatch=True),
    st.sampled_from([UTC, EAST, timezone(-timedelta(hours=11, minutes=30)), None]),
)
def test_any_text_is_a_span_in_utc_or_a_usage_error(text: str, where: timezone | None) -> None:
    with contextlib.suppress(UsageError):
        span = parse_span(text, NOW, where)
        assert span.start <= span.end
        assert span.start.tzinfo is span.end.tzinfo is UTC
