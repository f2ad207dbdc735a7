"""`hansard resume --slim` and `--repair`: a new file beside the original, shown first, resumed, and removed again."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.changes.trees import tree

from .conftest import SESSION, Run, runner, said, write_log
from .test_resume import needs_posix, start


def history(cwd: str) -> list[dict[str, Any]]:
    """Forty large results, and a prompt without a parent behind them."""
    records = [said(1, "Count the tides.", cwd=cwd)]
    for number in range(2, 42):
        record = said(number, "", cwd=cwd)
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": f"tide {number} " * 2_000}
        records.append({**record, "message": {"role": "user", "content": [result]}})
    return [*records, {**said(42, "Go on.", cwd=cwd), "parentUuid": None}, said(43, "Done.", role="assistant", cwd=cwd)]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    write_log(tmp_path / "claude", SESSION, history(str(work)))
    return tmp_path / "claude"


@pytest.fixture
def run(source: Path, tmp_path: Path) -> Run:
    return runner(source, tmp_path / "store")


def transcripts(source: Path) -> set[str]:
    return {path.stem for path in source.glob("projects/-src-tide/*.jsonl")}


@pytest.mark.parametrize("options", [["--dry-run"], ["--print"], ["--json"]])
def test_a_preview_writes_nothing(run: Run, source: Path, tmp_path: Path, options: list[str]) -> None:
    before = tree(source)
    shown = run("resume", SESSION, "--slim", *options).stdout
    assert tree(source) == before
    assert not (tmp_path / "store" / "changes").exists()
    if "--json" in options:
        answer = json.loads(shown)
        assert answer["applied"] is False
        assert answer["copy"]["results"] > 0
    else:
        assert "would write" in shown
        assert "tool results replaced by a note" in shown
        assert "% less" in shown


def test_a_copy_is_a_new_file_and_can_be_removed(run: Run, source: Path) -> None:
    before = tree(source)
    answer = json.loads(run("resume", SESSION, "--slim", "--repair", "--no-run", "--json").stdout)
    made = answer["copy"]["session_id"]
    assert answer["applied"] is True
    assert answer["command"] == ["claude", "--resume", made]
    assert answer["copy"]["joined"] == 1
    assert transcripts(source) == {SESSION, made}
    path = Path(answer["path"])
    if os.name != "nt":
        assert path.stat().st_mode & 0o777 == 0o600
    assert path.stat().st_size == answer["copy"]["bytes"] < answer["copy"]["bytes_before"] // 2
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert {line["sessionId"] for line in lines} == {made}
    assert json.loads(run("related", SESSION, "--json").stdout)["related"][0]["session"]["session_id"] == made
    removed = json.loads(run("resume", "--undo", "--json").stdout)
    assert removed["removed"] == [str(path)]
    assert tree(source) == before
    assert "removed already" in run("resume", "--undo", code=1).stderr


def test_a_copy_costs_nothing(run: Run) -> None:
    before = json.loads(run("usage", "--json").stdout)["rows"]
    run("resume", SESSION, "--slim", "--no-run")
    assert json.loads(run("usage", "--json").stdout)["rows"] == before


def test_a_copy_that_was_continued_is_left_alone(run: Run) -> None:
    path = Path(json.loads(run("resume", SESSION, "--slim", "--no-run", "--json").stdout)["path"])
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(said(44, "More.")) + "\n")
    result = run("resume", SESSION, "--undo")
    assert "left as it is" in result.stderr
    assert path.exists()


def test_a_deleted_session_is_copied_from_the_record(run: Run, source: Path) -> None:
    run("sync")
    (source / "projects" / "-src-tide" / f"{SESSION}.jsonl").unlink()
    made = json.loads(run("resume", SESSION, "--repair", "--no-run", "--json").stdout)["copy"]["session_id"]
    assert transcripts(source) == {made}


def test_a_repair_takes_the_generation_with_the_most_of_the_session(run: Run, source: Path) -> None:
    run("sync")
    path = source / "projects" / "-src-tide" / f"{SESSION}.jsonl"
    path.write_text(json.dumps({**said(1, "Count the tides."), "timestamp": "soon"}) + "\n", encoding="utf-8")
    answer = json.loads(run("resume", SESSION, "--repair", "--json").stdout)
    assert answer["copy"]["records"] == 43


def test_a_sound_session_needs_no_copy(tmp_path: Path) -> None:
    write_log(tmp_path / "sound", SESSION, [said(1, "When is high tide?"), said(2, "At noon.", role="assistant")])
    run = runner(tmp_path / "sound", tmp_path / "other")
    assert "no damage" in run("resume", SESSION, "--repair", "--no-run").stdout
    assert json.loads(run("resume", SESSION, "--slim", "--json").stdout) == {"applied": False, "copy": None}
    assert transcripts(tmp_path / "sound") == {SESSION}


def test_a_folder_that_is_a_link_is_refused(run: Run, source: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    run("sync")
    folder = source / "projects" / "-src-tide"
    folder.rename(tmp_path / "elsewhere" / "-src-tide")
    folder.symlink_to(tmp_path / "elsewhere" / "-src-tide")
    assert "a link" in run("resume", SESSION, "--slim", "--no-run", "--no-sync", code=2).stderr
    assert transcripts(source) == {SESSION}


def test_options_that_need_a_copy(run: Run) -> None:
    assert "--slim or --repair" in run("resume", SESSION, "--dry-run", code=2).stderr


@needs_posix
def test_the_client_resumes_the_copy(tmp_path: Path, source: Path) -> None:
    code, written, seen = start(tmp_path, source, SESSION[:8], "--repair", "--", "--model", "opus")
    (made,) = transcripts(source) - {SESSION}
    assert code == 7
    assert seen[0] == str(tmp_path / "work")
    assert seen[4:8] == ["--resume", made, "--model", "opus"]
    assert "joined to the conversation before it" in written


@needs_posix
def test_without_a_client_no_copy_is_written(tmp_path: Path, source: Path) -> None:
    code, _, _ = start(tmp_path, source, "@last", "--repair", client=False)
    assert code == 1
    assert transcripts(source) == {SESSION}
