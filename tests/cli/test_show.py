"""`hansard show`: which turns, how deep, in which form, and a session that goes on."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hansard import background_sync
from hansard.background_sync import StoreState
from hansard.engine import Hansard
from hansard.sync.report import SyncReport

from .conftest import OTHER, SESSION, Run, said, write_log


def called(number: int, name: str, command: str = "make tides") -> dict[str, Any]:
    record = said(number, "", role="assistant")
    record["message"]["content"] = [{"type": "tool_use", "id": name, "name": "Bash", "input": {"command": command}}]
    return record


def answered(number: int, name: str, text: str) -> dict[str, Any]:
    record = said(number, "")
    record["message"]["content"] = [{"type": "tool_result", "tool_use_id": name, "content": text}]
    return record


def day(turns: int) -> list[dict[str, Any]]:
    """A question, a call, its result and an answer, so many times."""
    records: list[dict[str, Any]] = []
    for turn in range(1, turns + 1):
        first = len(records) + 1
        records += [
            said(first, f"question {turn}"),
            called(first + 1, f"toolu_{turn}"),
            answered(first + 2, f"toolu_{turn}", f"result {turn}"),
            said(first + 3, f"answer {turn}", role="assistant"),
        ]
    return records


@pytest.fixture
def long(root: Path) -> Path:
    """Seven turns."""
    return write_log(root, SESSION, day(7))


def asked(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"^  question (\d)$", text, re.MULTILINE)]


def numbered(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"^── Turn (\d+) ", text, re.MULTILINE)]


@pytest.mark.parametrize(
    ("options", "turns"),
    [
        ([], [1, 2, 3, 4, 5, 6, 7]),
        (["--turn", "3"], [3]),
        (["--turn", "3-5"], [3, 4, 5]),
        (["--turn", "6-"], [6, 7]),
        (["--turn", "6-99"], [6, 7]),
        (["--last", "1"], [7]),
        (["--last", "3"], [5, 6, 7]),
        (["--last", "99"], [1, 2, 3, 4, 5, 6, 7]),
    ],
)
@pytest.mark.usefixtures("long")
def test_some_turns(run: Run, options: list[str], turns: list[int]) -> None:
    output = run("show", SESSION, *options).stdout
    assert asked(output) == turns
    assert numbered(output) == turns
    for turn in range(1, 8):
        assert (f"answer {turn}" in output) == (f"result {turn}" in output) == (turn in turns)
    markdown = run("show", SESSION, "--markdown", *options).stdout
    assert [int(number) for number in re.findall(r"^## (\d+)\. question", markdown, re.MULTILINE)] == turns
    entries = json.loads(run("show", SESSION, "--json", *options).stdout)["entries"]
    assert [entry["text"] for entry in entries if entry["kind"] == "prompt"] == [f"question {turn}" for turn in turns]
    assert len(entries) == 3 * len(turns)


@pytest.mark.usefixtures("long")
def test_what_is_left_out_is_told(run: Run) -> None:
    output = run("show", SESSION, "--turn", "3-5").stdout
    assert "── … 2 earlier turns: --turn 1-2 ──" in output
    assert "── … 2 later turns: --turn 6-7 ──" in output
    assert "── … 1 later turn: --turn 7 ──" in run("show", SESSION, "--turn", "6").stdout


@pytest.mark.parametrize(
    ("options", "there", "gone"),
    [
        (["--depth", "prompts"], ["question 1"], ["answer 1", "make tides"]),
        (["--depth", "replies"], ["question 1", "answer 1"], ["make tides"]),
        ([], ["question 1", "answer 1", "• Bash make tides", "result 1"], ["thinking"]),
        (["--tools", "none"], ["answer 1"], ["make tides"]),
        (["--depth", "replies", "--tools", "full"], ["answer 1", "• Bash make tides  1.0 s"], []),
    ],
)
@pytest.mark.usefixtures("long")
def test_depths(run: Run, options: list[str], there: list[str], gone: list[str]) -> None:
    output = run("show", SESSION, *options).stdout
    assert [text for text in there if text not in output] == []
    assert [text for text in gone if text in output] == []


def test_thoughts_are_shown_where_they_are_wanted(run: Run, root: Path) -> None:
    thought = said(2, "", role="assistant")
    thought["message"]["content"] = [{"type": "thinking", "thinking": "Count them.", "signature": "s"}]
    write_log(root, SESSION, [said(1, "How many?"), thought])
    assert "Not shown: 1 thought." in run("show", SESSION).stdout
    for options in (["--thinking"], ["--depth", "all"], ["--markdown", "--thinking"]):
        assert "Count them." in run("show", SESSION, *options).stdout


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--turn", "9"], 1, "there is no turn 9; the last one is 7"),
        (["--turn", "0"], 2, "'0' is not a turn"),
        (["--turn", "-1"], 2, "or --last N"),
        (["--turn", "5-3"], 2, "write 3-5"),
        (["--turn", "x"], 2, "'x' is not a turn"),
        (["--turn", "1", "--last", "1"], 2, "cannot be used together"),
        (["--last", "0"], 2, "0"),
        (["--last", "1", "--at", "0"], 2, "--at cannot be used with --last"),
        (["--html", "--markdown"], 2, "cannot be used together"),
        (["--html", "--markdown", "--json"], 2, "cannot be used together"),
        (["--html", "--turn", "1"], 2, "--html writes the whole session"),
        (["--html", "--at", "1"], 2, "--at cannot be used with --html"),
        (["--follow", "--json"], 2, "combined with --last, --agent and"),
        (["--follow", "--turn", "2"], 2, "combined with --last, --agent and"),
        (["--depth", "deep"], 2, "deep"),
    ],
)
@pytest.mark.usefixtures("long")
def test_what_does_not_go_together(run: Run, options: list[str], code: int, message: str) -> None:
    result = run("show", SESSION, *options, code=code)
    assert result.stdout == ""
    assert message in result.stderr


@pytest.mark.usefixtures("long")
def test_html_is_a_page(run: Run) -> None:
    page = run("show", SESSION, "--html").stdout
    assert page.lower().startswith("<!doctype html>")
    assert "question 7" in page


def test_a_replaced_turn_is_shown_when_it_is_asked_for(run: Run, root: Path) -> None:
    records = [said(1, "first"), said(2, "one", role="assistant"), said(3, "second"), said(4, "two", role="assistant")]
    again = said(5, "third")
    again["parentUuid"] = records[1]["uuid"]
    write_log(root, SESSION, [*records, again, said(6, "three", role="assistant")])
    output = run("show", SESSION).stdout
    assert numbered(output) == [1, 3]
    assert "── replaced here: hansard show 11111111 --branch 1 (second) ──" in output
    assert "Not shown: 2 entries on other branches." in output
    assert numbered(run("show", SESSION, "--last", "2").stdout) == [1, 3]
    for options in (["--turn", "2"], ["--branch", "1"], ["--branch", "1", "--last", "1"]):
        output = run("show", SESSION, *options).stdout
        assert numbered(output) == [2]
        assert "── branch 1, which the session did not continue on ──" in output
        assert "two" in output


def test_a_late_result_belongs_to_its_call(run: Run, root: Path) -> None:
    records = [said(1, "start"), called(2, "toolu_a"), said(3, "meanwhile"), answered(4, "toolu_a", "late")]
    write_log(root, SESSION, [*records, said(5, "fine", role="assistant")])
    assert "late" not in run("show", SESSION, "--last", "1").stdout
    assert "└ late" in run("show", SESSION, "--turn", "1").stdout


def test_a_fork_names_its_parent(run: Run, root: Path) -> None:
    records = day(2)
    write_log(root, SESSION, records)
    copied = [{**record, "sessionId": OTHER} for record in records[:4]]
    write_log(root, OTHER, [*copied, said(99, "another way", session=OTHER)])
    head = run("show", OTHER).stdout.partition("──")[0]
    assert f"Forked from {SESSION[:8]}  question 1" in head
    assert "Forked" not in run("show", SESSION).stdout


# -- following


def taking(*steps: Callable[[], object]) -> Callable[..., Iterator[StoreState]]:
    """The states of a store that another process syncs after each step, and at the end ctrl-c."""

    def follow(open_engine: Callable[[], Hansard], *, syncing: bool) -> Iterator[StoreState]:
        assert syncing
        with open_engine() as h:
            for step in steps:
                yield StoreState(h.revision())
                step()
                h.sync()
            yield StoreState(h.revision())
        raise KeyboardInterrupt

    return follow


def followed(run: Run, monkeypatch: pytest.MonkeyPatch, path: Path, *batches: list[dict[str, Any]], **more: Any) -> str:
    def add(records: list[dict[str, Any]]) -> None:
        with path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)

    monkeypatch.setattr(background_sync, "follow", taking(*(partial(add, batch) for batch in batches)))
    result = run("show", SESSION, "--follow", *more.get("options", ()))
    assert result.stderr == "stopped\n"
    return result.stdout


def test_following_begins_at_the_last_turn_and_goes_on(run: Run, long: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = day(9)[28:]
    output = followed(run, monkeypatch, long, records[:1], records[1:2], records[2:4], records[4:6], [], records[6:8])
    assert numbered(output) == [7, 8, 9]
    assert asked(output) == [7, 8, 9]
    lines = output.splitlines()
    start = lines.index("  • Bash make tides  running")
    assert lines[start + 1] == "    └ result 8"
    assert [output.count(f"answer {turn}") for turn in (7, 8, 9)] == [1, 1, 1]
    assert re.search(r"answer 8\n\n  3.0 s · 6 in, 10 out · <?\$0.0\d\n\n── Turn 9 · 10:00 ─", output)


def test_results_that_come_later_name_their_calls(run: Run, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_log(root, SESSION, [said(1, "both")])
    output = followed(
        run,
        monkeypatch,
        path,
        [called(2, "toolu_a", "make a"), called(3, "toolu_b", "make b")],
        [answered(4, "toolu_a", "done a")],
        [answered(5, "toolu_b", "done b")],
    )
    assert re.sub(r"  \d\.\d s", "", output.partition("Claude")[2]).splitlines()[1:] == [
        "  • Bash make a  running",
        "  • Bash make b  running",
        "  • Bash make a",
        "    └ done a",
        "  • Bash make b",
        "    └ done b",
    ]


def test_a_call_whose_result_says_nothing_is_told_to_have_ended(
    run: Run, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_log(root, SESSION, [said(1, "both")])
    task, read = called(2, "toolu_a"), called(4, "toolu_b")
    task["message"]["content"][0] |= {"name": "TaskCreate", "input": {"subject": "Look", "description": "Look it up"}}
    read["message"]["content"][0] |= {"name": "Read", "input": {"file_path": "tides.py"}}
    answers = (
        answered(3, "toolu_a", "Task #1 created successfully: Look"),
        answered(5, "toolu_b", "     1→high\n     2→low"),
    )
    output = followed(run, monkeypatch, path, [task], [answers[0]], [read], [answers[1]])
    assert re.sub(r"  \d\.\d s", "", output.partition("Claude")[2]).splitlines()[1:] == [
        "  • TaskCreate Look  running",
        "  • TaskCreate #1 Look",
        "  • Read tides.py  running",
        "  • Read tides.py  2 lines",
    ]


def test_more_than_the_last_turn(run: Run, long: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert numbered(followed(run, monkeypatch, long, options=["--last", "3"])) == [5, 6, 7]


def test_a_file_that_was_written_anew_is_begun_anew(run: Run, long: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = [said(1, "something else"), *(said(number, f"line {number}", role="assistant") for number in range(2, 40))]
    anew = partial(write_log, long.parents[2], SESSION, other)
    monkeypatch.setattr(background_sync, "follow", taking(anew))
    output = run("show", SESSION, "--follow").stdout
    assert numbered(output) == [7, 1]
    assert "  something else" in output


@pytest.mark.parametrize("options", [[], ["--no-sync"]])
def test_following_shows_what_another_process_syncs(
    run: Run, long: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    """Its own sync then finds nothing new: what counts is the revision of the store."""
    home, given = json.loads(run("status", "--json").stdout)["home"], background_sync.follow

    def follow(open_engine: Callable[[], Hansard], *, syncing: bool) -> Iterator[StoreState]:
        assert syncing is not bool(options)
        with closing(given(open_engine, syncing=syncing)) as states:
            first = next(state for state in states if not state.syncing)
            yield first
            monkeypatch.setattr(Hansard, "sync", lambda *_, **__: SyncReport())  # ours finds nothing
            with long.open("a", encoding="utf-8") as file:
                file.write(json.dumps(day(8)[28]) + "\n")
            command = [sys.executable, "-m", "hansard", "sync", "--home", home, "--root", str(long.parents[2])]
            subprocess.run(command, check=True, capture_output=True)
            yield next(state for state in states if state.revision != first.revision)
        raise KeyboardInterrupt

    monkeypatch.setattr(background_sync, "follow", follow)
    assert asked(run("show", SESSION, "--follow", *options).stdout) == [7, 8]


def test_what_the_user_said_about_it_stands_above(run: Run) -> None:
    run("tag", SESSION, "sea")
    run("pin", SESSION)
    run("note", SESSION, "Look at \x1b[2Jthis <b>again</b>")
    head = run("show", SESSION).stdout.partition("──")[0].splitlines()
    assert head[0] == "◆ When is high tide?"
    assert head[-3:-1] == ["Tags: sea", "Note: Look at this <b>again</b>"]
    page = run("show", SESSION, "--markdown").stdout
    assert '\ntags: ["sea"]\n' in page
    assert "\n> Look at this &lt;b>again&lt;/b>\n" in page
