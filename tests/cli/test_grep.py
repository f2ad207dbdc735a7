"""`hansard grep`: what it writes, for people, for pipes and for programs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from .conftest import OTHER, SESSION, Run, said, write_log

TIDE = f"projects/-src-tide/{SESSION}.jsonl"
SAIL = f"projects/-src-sail/{OTHER}.jsonl"


@pytest.fixture(autouse=True)
def piped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS")


def test_a_line_says_where_it_is_and_what_is_around_the_match(run: Run) -> None:
    line = run("grep", "high tide").stdout
    assert line.startswith(f"{TIDE}:1: …")
    assert line.endswith('"content": "When is high tide?"}}\n')
    assert len(line) - len(f"{TIDE}:1: ") <= 201


def test_a_long_line_is_cut_on_both_sides(root: Path, run: Run) -> None:
    write_log(root, SESSION, [said(1, "ebb " * 9000 + "needle" + " flow" * 9000)])
    excerpt = run("grep", "needle").stdout.removeprefix(f"{TIDE}:1: ").rstrip("\n")
    assert re.fullmatch(r"…[eb ]+needle[flow ]+…", excerpt)
    assert 190 < len(excerpt) <= 200


def test_the_width_is_the_terminals(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    assert len(run("grep", "high tide").stdout.rstrip("\n")) == 140
    monkeypatch.setenv("COLUMNS", "20")
    line = run("grep", "high tide").stdout
    assert "high tide" in line
    assert len(line) <= len(f"{TIDE}:1: ") + 41


def test_nothing_found_is_exit_code_1(run: Run) -> None:
    assert run("grep", "no such words", code=1).stdout == ""
    answer = json.loads(run("grep", "no such words", "--json", code=1).stdout)
    assert (answer["matches"], answer["files"], answer["matched_lines"]) == ([], 0, 0)
    assert answer["bytes_searched"] > 0


def test_a_wrong_pattern_is_exit_code_2_and_is_pointed_at(run: Run) -> None:
    result = run("grep", "tide[", code=2)
    assert result.stdout == ""
    assert result.stderr.endswith("\n  tide[\n      ^\n")


def test_json_has_the_agreed_shape(run: Run) -> None:
    answer = json.loads(run("grep", "tide|noon", "--json").stdout)
    assert list(answer) == "matches files matched_lines bytes_searched damaged truncated took_ms".split()
    assert (answer["files"], answer["matched_lines"], answer["truncated"]) == (1, 2, False)
    first, second = answer["matches"]
    assert (first["session_id"], first["agent_id"], first["transcript"], first["line"]) == (SESSION, "", TIDE, 1)
    assert (first["kind"], first["generation"], first["current"], first["offset"]) == ("main", 1, True, 0)
    assert second["offset"] > first["end"] > first["start"]
    assert "tide" in first["text"]


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (["TIDE"], 0),
        (["-i", "TIDE"], 2),
        (["--ignore-case", "HIGH TIDE"], 1),
        (["-F", "now[/red]"], 1),
        (["--fixed-strings", "now.*"], 0),
        (["-w", "sai"], 0),
        (["--word-regexp", "sail"], 2),
        (["-m", "1", "sessionId"], 2),
        (["--max-count", "1", "sessionId"], 2),
        (["--session", SESSION, "sessionId"], 2),
        (["--session", SESSION, "--session", OTHER[:8], "sessionId"], 4),
        (["--project", "sail", "sessionId"], 2),
        (["--project", "sail", "--session", SESSION, "sessionId"], 0),
        (["--kind", "main", "sessionId"], 4),
        (["--kind", "agent", "sessionId"], 0),
        (["--limit", "3", "sessionId"], 3),
    ],
)
def test_options_choose_lines(run: Run, options: list[str], count: int) -> None:
    answer = json.loads(run("grep", "--json", *options, code=None if count else 1).stdout)
    assert len(answer["matches"]) == count
    assert len(run("grep", *options, code=None).stdout.splitlines()) == count


def test_only_what_matches(run: Run) -> None:
    lines = run("grep", "-o", r'"cwd": "[^"]*"', "--session", SESSION).stdout.splitlines()
    assert lines == [f'{TIDE}:{number}: "cwd": "/src/tide"' for number in (1, 2)]
    bare = run("grep", "--only-matching", "--no-filename", "[hn]igh|noon").stdout
    assert bare.splitlines() == ["high", "noon"]
    assert "cannot be used together" in run("grep", "--whole-lines", "-o", "a", code=2).stderr


def test_paths_and_counts(run: Run) -> None:
    assert run("grep", "-l", "tide").stdout == f"{TIDE}\n"
    assert sorted(run("grep", "--files-with-matches", "sessionId").stdout.splitlines()) == sorted([TIDE, SAIL])
    assert run("grep", "-c", "tide").stdout == f"{TIDE}:2\n"
    assert run("grep", "--count", "--no-filename", "tide").stdout == "2\n"
    assert run("grep", "-c", "no such words", code=1).stdout == ""
    answer = json.loads(run("grep", "-c", "tide", "--json").stdout)
    assert [(item["transcript"], item["matched_lines"]) for item in answer["transcripts"]] == [(TIDE, 2)]
    answer = json.loads(run("grep", "-l", "tide", "--json").stdout)
    assert (answer["transcripts"][0]["matched_lines"], answer["matched_lines"], answer["files"]) == (None, None, 1)


def test_lines_around_matches(root: Path, run: Run) -> None:
    write_log(root, SESSION, [said(n, f"word{n}") for n in range(1, 10)])

    def told(*options: str) -> list[str]:
        lines = run("grep", *options, "--session", SESSION).stdout.splitlines()
        return [line if line == "--" else line.removeprefix(TIDE).partition(" ")[0] for line in lines]

    assert told("word[27]", "-A", "1") == [":2:", "-3-", "--", ":7:", "-8-"]
    assert told("word[27]", "--before-context", "2") == ["-1-", ":2:", "--", "-5-", "-6-", ":7:"]
    assert told("word[24]", "-C", "1") == ["-1-", ":2:", "-3-", ":4:", "-5-"]
    assert told("word[24]", "--context", "1", "--after-context", "2") == ["-1-", ":2:", "-3-", ":4:", "-5-", "-6-"]
    answer = json.loads(run("grep", "word4", "-B", "1", "--json").stdout)
    assert [(item["line"], item["start"] is None) for item in answer["matches"]] == [(3, True), (4, False)]
    assert answer["matched_lines"] == 1


def test_whole_lines_are_the_bytes_of_the_record(root: Path, run: Run) -> None:
    lines = [b'{"a": "needle \xff \x1b[31m"}', b"\r", b"needle" + b"x" * 300_000]
    (root / TIDE).write_bytes(b"\n".join(lines))
    result = run("grep", "--whole-lines", "needle")
    assert result.stdout_bytes == lines[0] + b"\n" + lines[2] + b"\n"


def test_transcripts_cannot_command_the_terminal(root: Path, run: Run) -> None:
    hostile = b"before \x1b]0;title\x07\x1b[31m\r\xc2\x9b2J needle \x1b[0m\0\x08\xe2\x80\xae\tafter\n"
    (root / TIDE).write_bytes(hostile)
    for options in ([], ["-o", "^.*$"], ["-A", "1"]):
        text = run("grep", *(options or ["needle"]), *(["needle"] if options == ["-A", "1"] else [])).stdout
        assert re.fullmatch(r"[\x20-\x7e…\n\ufffd]*", text.split(": ", 1)[1])
        assert "needle" in text
        assert text.count("\n") == 1 or "-o" in options


def test_colours_only_where_wanted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run("grep", "high").stdout
    assert "\x1b" not in plain
    coloured = run("grep", "high", "--color", "always").stdout
    assert "\x1b[31mhigh\x1b[0m" in coloured
    assert re.sub("\x1b\\[[0-9;]*m", "", coloured) == plain
    monkeypatch.setenv("NO_COLOR", "1")
    assert run("grep", "high").stdout == plain


def test_former_states_have_a_number(root: Path, run: Run) -> None:
    run("sync")
    other = [said(number, "Something else altogether, and longer than before.") for number in range(1, 5)]
    write_log(root, SESSION, other)
    assert run("grep", "high tide", code=1).stdout == ""
    assert run("grep", "-l", "--all-generations", "high tide").stdout == f"{TIDE}.generation-1\n"


def test_what_the_limit_leaves_out_is_told(run: Run) -> None:
    result = run("grep", "--limit", "1", "sessionId")
    assert len(result.stdout.splitlines()) == 1
    assert "--limit" in result.stderr
    assert json.loads(run("grep", "--limit", "1", "sessionId", "--json").stdout)["truncated"] is True


def test_damage_is_told(run: Run, tmp_path: Path) -> None:
    from tests.record.making import flip

    run("sync")
    flip(tmp_path / "store" / "record.db", "chunk", 1)
    result = run("grep", "--no-sync", "sessionId")
    assert len(result.stdout.splitlines()) == 2
    assert "1 damaged place was left out" in result.stderr


def test_without_a_store_there_is_nothing_to_search(run: Run, root: Path, tmp_path: Path) -> None:
    assert "nothing has been synced" in run("grep", "a", "--no-sync", code=1).stderr
