"""Reports against the slow way: every dimension, on invented and on real histories."""

from __future__ import annotations

from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo

import pytest

from hansard.model.requests import DIMENSIONS
from tests.ledger.conftest import Kept
from tests.ledger.slowly import Keys, grouped, said, summed

# Groups and pull requests have their own tests: they need settings, and one session may have several.
SPLITS = [
    *(name for name in DIMENSIONS if name not in ("group", "pr")),
    "day,model",
    "project,agent,branch",
    "tool,hour",
    "session,subagent,tool,model",
    "block,project",
]


def assert_slowly(kept: Kept, by: str, zone: str = "UTC", mode: str = "auto") -> None:
    """Each row is what the slow way finds, and so are the totals."""
    report = kept.h.usage(by=by, timezone=zone, mode=mode)
    names = [name for name in by.split(",") if name != "total"]
    info: tzinfo = UTC if zone == "UTC" else ZoneInfo(zone)
    keys = Keys(kept.h, kept.messages, info)
    expected = grouped(kept.messages, lambda message: tuple(keys(name, message) for name in names), kept.book, mode)
    found = {tuple(row.key.values()): said(row) for row in report.rows}
    assert len(found) == len(report.rows)
    assert found.keys() == expected.keys()
    for key, row in expected.items():
        assert found[key] == row, key
    assert said(report.totals) == summed(kept.messages, kept.book, mode)


@pytest.mark.parametrize("by", SPLITS)
def test_the_demo_history(demo: Kept, by: str) -> None:
    assert_slowly(demo, by, "America/St_Johns")


@pytest.mark.parametrize("by", SPLITS)
def test_the_hard_session(hard: Kept, by: str) -> None:
    assert_slowly(hard, by)
