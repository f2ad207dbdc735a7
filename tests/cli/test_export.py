"""`hansard export` on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from hansard.cli.app import hansard
from hansard.export import formats
from tests.cli.conftest import OTHER, SESSION, Run, said, write_log


def written(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def test_the_conditions_are_those_of_the_list() -> None:
    def options(name: str) -> set[str]:
        command = hansard.get_command(click.Context(hansard), name)
        assert command is not None
        return {option for param in command.params if isinstance(param, click.Option) for option in param.opts}

    assert options("sessions") - options("export") == {"--sort", "--reverse", "-n", "--limit", "--page", "--cursor"}


def test_one_session_to_a_file(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "tide.html"
    result = run("export", SESSION[:8], "--to", str(target))
    assert "1 file written, 0 unchanged" in result.stdout
    assert "At noon." in target.read_text(encoding="utf-8")
    assert "0 files written, 1 unchanged" in run("export", SESSION[:8], "--to", str(target)).stdout


def test_all_sessions_to_a_folder_with_an_index(run: Run, tmp_path: Path) -> None:
    run("export", "--all", "--format", "html", "--to", str(tmp_path / "out"))
    assert written(tmp_path / "out") == [
        "2026-05-01-when-is-high-tide-11111111.html",
        "2026-05-01-wrap-the-sail-red-now-red-22222222.html",
        "index.html",
    ]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (["--project", "sail"], {OTHER}),
        (["--all", "tide"], {SESSION}),
        (["--all", '-"tide"'], {OTHER}),
        (["--text", "tide"], {SESSION}),
        (["--since", "2026-05-01", "--until", "2026-05-01"], {SESSION, OTHER}),
        (["--model", "opus", "--branch", "main", "--client-version", "2.1.0"], {SESSION, OTHER}),
        ([SESSION, OTHER[:6], "@last"], {SESSION, OTHER}),
        (["--all", "--empty"], {SESSION, OTHER}),
    ],
)
def test_sessions_are_selected_as_they_are_listed(run: Run, tmp_path: Path, asked: list[str], found: set[str]) -> None:
    result = run("export", "--format", "json", "--to", str(tmp_path / "out"), "--json", *asked)
    answer = json.loads(result.stdout)
    assert {file["session_id"] for file in answer["files"]} == found
    assert set(answer) >= {"to", "format", "written", "unchanged", "skipped", "removed", "bytes", "files", "failed"}
    assert set(answer["files"][0]) == {"path", "session_id", "action", "bytes", "redacted"}


@pytest.mark.parametrize(
    "asked", [["--errors"], ["--gone"], ["--tool", "Bash"], ["--all", "cormorant"], ["--since", "2027-01"]]
)
def test_nothing_that_fits_is_told(run: Run, tmp_path: Path, asked: list[str]) -> None:
    result = run("export", *asked, "--format", "json", "--to", str(tmp_path / "out"), code=1)
    assert "no session matches" in result.stderr
    assert result.stdout == ""
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("args", "code", "told"),
    [
        (["--to", "x.html"], 2, "--all"),
        (["--all", "--to", "x"], 2, "--format"),
        (["--all", "--to", ""], 2, "empty"),
        (["--all", "--format", "jsonl", "--to", "-"], 2, "writes to stdout"),
        (["--all"], 2, "--to"),
        (["cormorant", "--to", "x.html"], 1, "add --all"),
        (["--all", "--to", "x.html"], 2, "need a directory"),
        (["--all", "--table", "nope", "--to", "x.csv"], 2, "unknown table 'nope'"),
        (["--all", "--to", "x", "--format", "json", "--timezone", "Nowhere/Else"], 2, "time zone"),
    ],
)
def test_calls_that_make_no_sense(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: list[str], code: int, told: str
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert told in run("export", *args, code=code).stderr
    assert not list((tmp_path / "here").iterdir())


def test_a_source_root_is_refused(run: Run, root: Path) -> None:
    assert "source root" in run("export", "--all", "--format", "html", "--to", str(root / "out"), code=2).stderr


def test_a_file_in_the_way_is_refused_and_forced(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text("mine")
    assert "--force" in run("export", "@last", "--to", str(tmp_path / "mine.json"), code=8).stderr
    run("export", "@last", "--to", str(tmp_path / "mine.json"), "--force")
    assert (tmp_path / "mine.json").read_text() != "mine"


def test_pruning(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run("export", "--all", "--format", "json", "--to", str(out))
    result = run("export", SESSION, "--format", "json", "--to", str(out), "--prune")
    assert "1 removed" in result.stdout
    assert written(out) == ["2026-05-01-when-is-high-tide-11111111.json"]


def test_a_session_that_cannot_be_drawn_is_told_and_the_exit_code_says_so(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = formats.draw

    def draw(form: str, tree: Any, *rest: Any, **more: Any) -> Iterator[bytes]:
        if tree.session.session_id == SESSION:
            raise ValueError("\x1b[31modd")
        return real(form, tree, *rest, **more)

    monkeypatch.setattr(formats, "draw", draw)
    result = run("export", "--all", "--format", "json", "--to", str(tmp_path / "out"), code=3)
    assert f"session {SESSION}: ValueError: odd" in result.stderr
    assert "\x1b" not in result.output
    assert len(written(tmp_path / "out")) == 1


def test_empty_sessions_that_are_left_out_are_counted(run: Run, root: Path, tmp_path: Path) -> None:
    empty = "33333333-cccc-4ccc-8ccc-333333333333"
    write_log(root, empty, [said(1, "Warmup", session=empty) | {"type": "system", "message": None}])
    done = run("export", "--all", "--format", "markdown", "--to", str(tmp_path / "out"))
    assert "1 empty session left out, which may have cost something: --empty includes them" in done.stderr
    done = run("export", "--all", "--empty", "--format", "markdown", "--to", str(tmp_path / "out"))
    assert "2 files written, 2 unchanged" in done.stdout
    assert "left out" not in done.stderr


def test_lines_and_tables(run: Run, tmp_path: Path) -> None:
    run("export", "--all", "--to", str(tmp_path / "items.jsonl"))
    kinds = [json.loads(line)["kind"] for line in (tmp_path / "items.jsonl").read_bytes().splitlines()]
    assert kinds == ["session", "prompt", "reply"] * 2
    run("export", "--project", "sail", "--table", "usage", "--to", str(tmp_path / "usage.csv"))
    assert len((tmp_path / "usage.csv").read_text(encoding="utf-8").splitlines()) == 2
    pytest.importorskip("duckdb")
    run("export", "--all", "--format", "parquet", "--to", str(tmp_path / "tables"))
    assert "usage.parquet" in written(tmp_path / "tables")


def test_a_process_that_used_duckdb_ends_quietly(root: Path, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    places = ["--home", str(tmp_path / "store"), "--root", str(root)]
    command = [sys.executable, "-m", "hansard", "export", "--all", "--table", "usage", *places]
    done = subprocess.run(
        [*command, "--to", str(tmp_path / "usage.parquet")], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""


@pytest.mark.parametrize("form", ["html", "markdown", "json", "jsonl", "csv", "parquet"])
def test_the_hard_session_in_every_format(run_hard: Run, tmp_path: Path, form: str) -> None:
    if form == "parquet":
        pytest.importorskip("duckdb")
    answer = json.loads(run_hard("export", "--all", "--format", form, "--to", str(tmp_path / "out"), "--json").stdout)
    assert answer["written"] == len(answer["files"]) > 0
    assert not answer["failed"]
    again = json.loads(run_hard("export", "--all", "--format", form, "--to", str(tmp_path / "out"), "--json").stdout)
    assert again["written"] == 0
