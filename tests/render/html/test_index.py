from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from hansard.render.index import SessionLink, index_page
from tests.render.html.reading import read
from tests.render.html.stubs import session
from tests.render.payloads import PAYLOADS


def listed(number: int, project: str, month: int, cost: str | None = "1.25") -> SessionLink:
    about = session(
        session_id=str(number),
        project=project,
        title=f"Session {number}",
        ended_at=datetime(2026, month, 1, tzinfo=UTC),
        cost_usd=None if cost is None else Decimal(cost),
        input_tokens=1000,
        prompts=2,
    )
    return SessionLink(about, f"{number}.html")


def test_sessions_stand_by_project_and_month_with_their_totals() -> None:
    html = "".join(
        index_page(
            [
                listed(1, "/src/tide", 1),
                listed(2, "/src/gauge", 3),
                listed(3, "/src/tide", 2),
                listed(4, "/src/tide", 2, None),
            ],
            names={},
        )
    )
    found = read(html)
    order = [
        "gauge",
        "March 2026",
        "Session 2",
        "tide",
        "February 2026",
        "Session 3",
        "Session 4",
        "January 2026",
        "Session 1",
    ]
    places = [found.text.index(word, found.text.index("January 2026 to March 2026") + 30) for word in order]
    assert places == sorted(places)
    for total in ("4 sessions", "2 projects", "8 prompts", "4.0k tokens", "$3.75"):
        assert total in found.text
    assert {"1.html", "2.html", "3.html", "4.html"} <= set(found.hrefs)


def test_what_the_user_marked_is_told() -> None:
    about = session(title="x", tags=("release", "<b>"), pinned=True)
    text = read("".join(index_page([SessionLink(about, "x.html")], names={}))).text
    assert "pinned" in text
    assert "release" in text
    assert "<b>" in text


def test_no_sessions_and_sessions_without_anything() -> None:
    assert "No sessions" in read("".join(index_page([], names={}))).text
    found = read("".join(index_page([SessionLink(session(title="", project="", cost_usd=None), "x.html")], names={})))
    assert "5e551011" in found.text
    assert "no price known" in found.text


@pytest.mark.parametrize("payload", PAYLOADS)
def test_payloads_are_only_text(payload: str) -> None:
    about = session(title=payload, project=payload, models=(payload,), tags=(payload,), session_id=payload)
    found = read("".join(index_page([SessionLink(about, "x.html")], title=payload, names={})))
    assert found.tags["script"] == found.tags["style"] == 1
