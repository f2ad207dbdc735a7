"""A lake's figures in real Spark, on a cluster with two workers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hansard.engine import Hansard
from hansard.lake.storage import LakeUnusable
from hansard.lake.store import Lake
from hansard.lake.usage import LakeLedger
from hansard.model.store_requests import LakeUsageRequest
from tests.lake.conftest import PushedTwice, push
from tests.lake.test_usage import check_figures, check_question, report_of

pytest.importorskip("duckdb")
pytestmark = pytest.mark.usefixtures("spark")


def test_figures_are_those_of_the_reports(pushed_twice: PushedTwice) -> None:
    """Although the same history is pushed twice, under two names."""
    h, target = pushed_twice("hard")
    check_figures(h, target, ["day,session,project,model,client,agent,branch"], "spark")


def test_the_report_of_what_people_published(pushed_twice: PushedTwice) -> None:
    """Sums of many messages are exact; the other figures of this history are compared in DuckDB, which gets the same SQL."""
    h, target = pushed_twice("public")
    asked: dict[str, Any] = {"by": "day,session,project,model", "timezone": "Europe/Berlin"}
    with Lake(str(target)) as lake:
        assert report_of(lake.usage(engine="spark", **asked)) == report_of(h.usage(**asked))


def test_places_with_hostile_names(hard: tuple[Hansard, str], tmp_path: Path) -> None:
    """Hadoop takes paths for patterns."""
    lake = tmp_path / "a[b]*{c},d ü%20?\\e"
    push(hard[0], lake)
    with Lake(str(lake)) as opened:
        engine = opened.engine("spark", relations=["machines"])
        assert engine.rows("SELECT machine FROM pushed_machines WHERE person = ?", ["ann"]) == [("laptop",)]
        with pytest.raises(LakeUnusable, match=r"Spark: .*nothing"):
            engine.rows("SELECT nothing FROM pushed_machines")


def test_named_questions(pushed_twice: PushedTwice) -> None:
    """The same SQL, with the same parameters."""
    h, target = pushed_twice("hard")
    with Lake(str(target)) as lake:
        engine = lake.engine("spark")
        for name in ("cost-by-day", "churned-files", "compactions-by-project", "sessions-of-file"):
            check_question(name, h, engine)
        assert engine.rows("SELECT '$x', $x + 1", {"x": 1}) == [("$x", 2)]


def test_sessions_without_recorded_usage_are_counted(pushed_twice: PushedTwice) -> None:
    """In a period within which some of them begin and end, and which others span."""
    h, target = pushed_twice("all clients")
    times = sorted(one.started_at for one in h.sessions(limit=None).sessions if one.started_at)
    request = LakeUsageRequest(by="total", since=times[len(times) // 4], until=times[-len(times) // 4])
    with Lake(str(target)) as lake:
        engine = lake.engine(
            "spark", relations=("usage_lines", "sessions", "transcripts", "messages", "rates", "machines")
        )
        found = LakeLedger(engine, request).unrecorded()
    assert found is not None
    assert found == h.usage(by="total", since=request.since, until=request.until).unrecorded
