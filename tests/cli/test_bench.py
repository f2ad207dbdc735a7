"""`hansard bench relevance` on small histories."""

from __future__ import annotations

import json
from pathlib import Path

from hansard.query.known_items import CLASSES

from .conftest import Run, runner


def test_scores_for_programs(run_hard: Run) -> None:
    found = json.loads(run_hard("bench", "relevance", "--sample", "5", "--misses", "2", "--json").stdout)
    assert set(found) == {"seed", "sample", "sessions", "classes", "overall", "misses"}
    assert (found["seed"], found["sample"]) == (7, 5)
    assert {one["kind"] for one in found["classes"]} <= set(CLASSES)
    assert found["overall"]["queries"] == sum(one["queries"] for one in found["classes"]) > 10
    assert 0 < found["overall"]["hit_1"] <= found["overall"]["mrr"] <= found["overall"]["hit_10"] <= 1
    assert len(found["misses"]) <= 2


def test_the_same_seed_gives_the_same_scores(run_hard: Run) -> None:
    first, again = (run_hard("bench", "relevance", "--sample", "3", "--seed", "5", "--json").stdout for _ in range(2))
    assert first == again


def test_scores_for_people(run_hard: Run) -> None:
    told = run_hard("bench", "relevance", "--sample", "3").stdout.splitlines()
    assert told[0].split()[:3] == ["QUESTIONS", "HIT@1", "HIT@10"]
    assert told[-1].startswith("overall")
    assert all(len(line) <= 80 for line in told)


def test_misses_say_what_came_first(run: Run) -> None:
    told = run("bench", "relevance", "--misses", "5").stdout
    scores = json.loads(run("bench", "relevance", "--json").stdout)
    assert told.count("  expected  ") == min(5, round(scores["overall"]["queries"] * (1 - scores["overall"]["hit_10"])))


def test_an_empty_history_has_no_questions(tmp_path: Path) -> None:
    (tmp_path / "claude" / "projects").mkdir(parents=True)
    result = runner(tmp_path / "claude", tmp_path / "store")("bench", "relevance", code=1)
    assert "no text to make questions from" in result.stderr
