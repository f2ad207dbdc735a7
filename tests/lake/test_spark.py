"""A lake's figures in real Spark, on a cluster with two workers."""

from __future__ import annotations

from pathlib import Path

import pytest

import hansard
from hansard.engine import Hansard
from hansard.lake.storage import LakeUnusable
from hansard.lake.store import Lake
from tests.lake.test_push import push
from tests.lake.test_usage import check_figures, check_question, push_twice
from tests.recordings import History

pytest.importorskip("duckdb")
pytestmark = pytest.mark.usefixtures("spark")


@pytest.mark.parametrize(
    ("name", "by"),
    [("hard", "day,session,project,model,client,agent,branch"), ("public", "day,session,project,model")],
)
def test_figures_are_those_of_the_reports(name: str, by: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Although the same history is pushed twice, under two names."""
    if name == "hard":
        h = request.getfixturevalue("hard")[0]
        push_twice(h, tmp_path)
        check_figures(h, tmp_path, [by], "spark")
        return
    histories: dict[str, History] = request.getfixturevalue("histories")
    with hansard.open(histories[name].store, histories[name].roots) as h:
        push_twice(h, tmp_path)
        check_figures(h, tmp_path, [by], "spark")


def test_places_with_hostile_names(hard: tuple[Hansard, str], tmp_path: Path) -> None:
    """Hadoop takes paths for patterns."""
    lake = tmp_path / "a[b]*{c},d ü%20?\\e"
    push(hard[0], lake)
    with Lake(str(lake)) as opened:
        engine = opened.engine("spark", relations=["machines"])
        assert engine.rows("SELECT machine FROM pushed_machines WHERE person = ?", ["ann"]) == [("laptop",)]
        with pytest.raises(LakeUnusable, match=r"Spark: .*nothing"):
            engine.rows("SELECT nothing FROM pushed_machines")


def test_named_questions(hard: tuple[Hansard, str], tmp_path: Path) -> None:
    """The same SQL, with the same parameters."""
    projects = tuple({one.project for one in hard[0].sessions(limit=None, debris=True).sessions})
    push(hard[0], tmp_path, opened=projects, redact="off")
    with Lake(str(tmp_path)) as lake:
        engine = lake.engine("spark")
        for name in ("cost-by-day", "churned-files", "compactions-by-project", "sessions-of-file"):
            check_question(name, hard[0], engine)
        assert engine.rows("SELECT '$x', $x + 1", {"x": 1}) == [("$x", 2)]
