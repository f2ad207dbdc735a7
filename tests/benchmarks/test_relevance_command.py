"""`python -m benchmarks.relevance` on small histories."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import hansard
from benchmarks.relevance.__main__ import main
from benchmarks.relevance.known_items import CLASSES

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from hansard import Hansard


def test_scores_for_programs(hard: tuple[Hansard, str], capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--home", hard[0].home, "--sample", "5", "--misses", "2", "--json"]
    printed = []
    for _ in range(2):
        assert main(arguments) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    found = json.loads(printed[0])
    assert set(found) == {"seed", "sample", "sessions", "classes", "overall", "misses"}
    assert (found["seed"], found["sample"]) == (7, 5)
    assert {one["kind"] for one in found["classes"]} <= set(CLASSES)
    assert found["overall"]["queries"] == sum(one["queries"] for one in found["classes"]) > 10
    assert 0 < found["overall"]["hit_1"] <= found["overall"]["mrr"] <= found["overall"]["hit_10"] <= 1
    assert len(found["misses"]) <= 2


def test_scores_for_people(hard: tuple[Hansard, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--home", hard[0].home, "--sample", "3", "--misses", "5"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["QUESTIONS", "HIT@1", "HIT@10"]
    assert any(line.startswith("overall") for line in lines)
    assert sum(line.startswith("  expected  ") for line in lines) <= 5


def test_an_empty_history_has_no_questions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "claude" / "projects").mkdir(parents=True)
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as h:
        h.sync()
    assert main(["--home", str(tmp_path / "store")]) == 1
    assert "no text to make questions from" in capsys.readouterr().err
