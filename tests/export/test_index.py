"""The list of a folder in Markdown says what the one in HTML says."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from hansard.model.sessions import Session
from hansard.render.index import SessionLink, draw_index
from tests.render.html.stubs import session

START = datetime(2026, 5, 1, 10, tzinfo=UTC)


def rows(*sessions: Session, form: str = "markdown", zone: str = "UTC") -> list[str]:
    listed = [SessionLink(about, f"{number}.md") for number, about in enumerate(sessions)]
    text = b"".join(draw_index(form, listed, ZoneInfo(zone), {})).decode()
    return [line for line in text.splitlines() if "](" in line] if form == "markdown" else [text]


def test_the_newest_is_the_one_that_went_on_last() -> None:
    long = session(title="long", started_at=START, ended_at=START + timedelta(hours=9))
    short = session(title="short", started_at=START + timedelta(hours=1), ended_at=START + timedelta(hours=2))
    never = session(title="never")
    made = rows(short, never, long)
    assert [re.findall(r"\[(\w+)\]", row)[0] for row in made] == ["long", "short", "never"]
    assert [row.split(" | ")[0] for row in made] == ["| 2026-05-01 19:00", "| 2026-05-01 12:00", "| "]
    (page,) = rows(short, never, long, form="html")
    assert re.findall(r">(\w+)</a>", page)[-3:] == ["long", "short", "never"]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"cost_usd": Decimal("0.4")}, "\\$0.40"),
        ({"cost_usd": Decimal("0.4"), "lower_bound_messages": 1}, "\\$0.40+"),
        ({"unpriced_models": ("odd",)}, "?"),
        ({"api_messages": 0}, ""),
    ],
)
def test_a_cost_has_its_mark(values: dict[str, object], told: str) -> None:
    (row,) = rows(session(**{"api_messages": 2, **values}))
    assert row.split(" | ")[4] == told


def test_the_ends_of_the_calendar() -> None:
    early = session(ended_at=datetime.min.replace(tzinfo=UTC))
    late = session(ended_at=datetime.max.replace(tzinfo=UTC))
    assert [row.split(" | ")[0] for row in rows(early, zone="America/New_York")] == ["| 0001-01-01 00:00"]
    assert [row.split(" | ")[0] for row in rows(late, zone="Asia/Tokyo")] == ["| 9999-12-31 23:59"]


def test_a_hostile_title_stays_in_its_cell() -> None:
    (row,) = rows(session(title="a | b\n](javascript:x) <b> `c` $d$", pinned=True, tags=("e|f",)))
    assert row.count(" | ") == 5
    assert "[a \\| b \\](javascript:x) \\<b\\> \\`c\\` \\$d\\$](0.md) (pinned, e\\|f)" in row
