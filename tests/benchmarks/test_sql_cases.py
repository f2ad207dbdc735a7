"""The questions that are measured: every engine has the same answers."""

from __future__ import annotations

from pathlib import Path

import pytest

import hansard
from benchmarks.load.metered import write_metered
from benchmarks.sql_cases import ENGINES, QUESTIONS, ask_raw_lines, ask_sql


def test_engines_have_the_same_answers(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    write_metered(tmp_path / "claude", messages=400)
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as h:
        h.sync()
    ours, lines = ask_sql(str(tmp_path / "store"), "1"), ask_raw_lines(str(tmp_path / "claude"), "1")
    for name in QUESTIONS:
        found = [ours[engine][name]["rows"] for engine in ENGINES]  # type: ignore[index]
        assert found == [lines[name]["rows"]] * 2, name  # type: ignore[index]
        assert found[0]
