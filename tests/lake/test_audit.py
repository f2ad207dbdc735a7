"""Risky operations of a lake are those that `hansard audit` finds on the machines, each counted once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.engine import Hansard
from hansard.errors import UsageError
from hansard.lake.store import Lake
from tests.audit.conftest import FREE, write_risky
from tests.lake.conftest import push
from tests.lake.test_push import everything
from tests.sync.making import Tree, main_path

pytest.importorskip("duckdb")


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Hansard, Path]]:
    """A risky history, pushed under two names, and once more without the session that a fork repeats."""
    place = tmp_path_factory.mktemp("audited")
    tree = Tree(place / "claude", place / "store")
    write_risky(tree)
    with hansard.open(tree.home, [tree.config]) as h, hansard.open(place / "other", [tree.config]) as other:
        h.sync()
        push(h, place / "lake")
        push(h, place / "lake", "desktop", person="bob")
        (tree.config / main_path(FREE)).rename(place / "elsewhere")
        other.sync()
        push(other, place / "lake", "notebook", person="cia")
        yield h, place / "lake"


def test_counts_are_those_of_the_audit(pushed: tuple[Hansard, Path]) -> None:
    h, target = pushed
    report = h.audit()
    assert report.operations
    with Lake(str(target)) as lake:
        found = lake.audit()
        assert found.operations == report.totals.operations
        assert {(row["severity"], row["rule"]): row["operations"] for row in found.rows} == {
            (row.severity, row.rule): row.operations for row in report.by_rule
        }
        by_day = Counter(one.at.date().isoformat() if one.at else None for one in report.operations)
        found = lake.audit(by="day", timezone="UTC")
        assert {row["day"]: row["operations"] for row in found.rows} == by_day
        by_project = Counter(one.project for one in report.operations if one.severity == "high")
        found = lake.audit(by="project", min_severity="high")
        assert {row["project"]: row["operations"] for row in found.rows} == by_project
        (rule, *_) = (row.rule for row in report.by_rule)
        since = max(one.at for one in report.operations if one.at and one.rule == rule)
        found = lake.audit(by="outcome", rule=rule, since=since)
        assert {row["outcome"] for row in found.rows} == {
            one.outcome for one in report.operations if one.rule == rule and one.at and one.at >= since
        }
        assert sum(row["operations"] for row in lake.audit(by="person").rows) == len(report.operations)


def test_figures_leave_the_machine_and_evidence_does_not(pushed: tuple[Hansard, Path]) -> None:
    h, target = pushed
    written = everything(target)
    evidence = {one.evidence for one in h.audit().operations if one.evidence}
    assert evidence
    assert not [one for one in evidence if one in written]


def test_what_cannot_be_counted_is_said(pushed: tuple[Hansard, Path]) -> None:
    with Lake(str(pushed[1])) as lake:
        wrong: list[tuple[dict[str, Any], str]] = [
            ({"by": "model"}, "cannot group operations by 'model'"),
            ({"min_severity": "fatal"}, "'fatal' is not a severity"),
        ]
        for asked, words in wrong:
            with pytest.raises(UsageError, match=words):
                lake.audit(**asked)
