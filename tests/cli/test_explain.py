"""`hansard explain` on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hansard.render.text import width
from tests.cli.conftest import SESSION, Run, runner, said, write_log

MODEL = "claude-opus-4-5-20251101"


def answered(number: int, message_id: str, output: int, **more: Any) -> dict[str, Any]:
    line = said(number, "Aye.", role="assistant")
    usage = {"input_tokens": 3, "output_tokens": output, "cache_creation_input_tokens": 200_000}
    stop = more.pop("stop", "end_turn")
    model = more.pop("model", MODEL)
    line["message"] |= {"id": message_id, "model": model, "usage": usage, "stop_reason": stop}
    return {**line, **more}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A session with an answer of several lines, one that has no end, one without a price, and one with a written cost."""
    write_log(
        tmp_path / "claude",
        SESSION,
        [
            said(1, "When is high \x1b[31mtide?"),
            answered(2, "msg_01noon", 1, stop=None),
            answered(3, "msg_01noon", 900),
            answered(4, "msg_01open", 1, stop=None, gitBranch=""),
            answered(5, "msg_01\x1b[2Jroo", 5, model="quokka-1"),
            answered(6, "msg_01paid", 5, costUSD=0.25),
        ],
    )
    return runner(tmp_path / "claude", tmp_path / "store")


def test_a_session(run: Run) -> None:
    lines = run("explain", "@last").stdout.splitlines()
    assert lines[0].startswith(f"session {SESSION}")
    assert lines[1] == "$2.77+?  4 messages"
    assert any(line.startswith("exactly $2.772555; mode auto") for line in lines)
    assert "together $2.772555" in lines
    assert any("x $6.25/M  = $2.5" in line for line in lines)
    assert any(line.split() == ["recorded", "by", "the", "client", "=", "$0.25"] for line in lines)
    assert any("no price is known" in line for line in lines)
    assert any("the rest of the flat cache write, counted as 5 minutes" in line for line in lines)


def test_a_message_says_which_line_won(run: Run) -> None:
    text = run("explain", "msg_01noon").stdout
    assert "2 lines in 1 transcript, counted once; line 1 owns it: earliest of 2 lines" in text
    assert "line 2, max of 2 lines" in text
    assert "line 1, all agree" in text
    assert text.count("x $25/M") == 1
    assert ["sum", "=", "$1.272515"] in [line.split() for line in text.splitlines()]


def test_a_lower_bound_is_told(run: Run) -> None:
    assert "output is a lower bound: no line has a stop_reason" in run("explain", "msg_01open").stdout


def test_a_row_of_a_report(run: Run) -> None:
    found = json.loads(run("explain", "--by", "day,model", "2026-05-01", "quokka", "--json").stdout)
    assert found["key"] == {"day": "2026-05-01", "model": "quokka-1"}
    assert found["figure"]["cost_usd"] is None
    for unknown in ("-", ""):
        found = json.loads(run("explain", "--by", "branch", unknown, "--json").stdout)
        assert [message["key"] for message in found["messages"]] == ["msg_01open"]


def test_everything_that_is_selected(run: Run) -> None:
    every = json.loads(run("explain", "--json").stdout)
    assert every["by"] == ["total"]
    assert len(every["messages"]) == 4
    some = json.loads(run("explain", "--json", "--model", "opus", "--limit", "1", "--mode", "calculate").stdout)
    assert some["figure"]["api_messages"] == 3
    assert (len(some["messages"]), some["rest"]["api_messages"]) == (1, 2)
    assert run("explain", "--query", "model:sonnet", code=1).stderr.startswith("hansard: no usage in the selection")


def test_a_cut_list_says_so(run: Run) -> None:
    result = run("explain", "--limit", "1")
    assert "The most expensive message" in result.stdout
    assert "not shown: 3 messages" in result.stdout
    assert "1 of 4 messages; --limit 0 shows all" in result.stderr
    assert "not shown" not in run("explain", "--limit", "0").stdout


def test_dates_and_days_are_those_of_the_zone(run: Run) -> None:
    report = json.loads(run("explain", "--timezone", "Pacific/Kiritimati", "2026-05-02", "--json").stdout)
    assert report["figure"]["api_messages"] == 4
    run("explain", "--timezone", "Pacific/Kiritimati", "2026-05-01", code=1)
    assert "2026-05-02 00:00:0" in run("explain", "--timezone", "Pacific/Kiritimati").stdout


@pytest.mark.parametrize("columns", ["40", "60", "80", "200"])
def test_it_fits_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    lines = run("explain").stdout.splitlines()
    assert max(map(width, lines)) <= max(int(columns), 52)  # exact digits are not cut


def test_nothing_of_a_transcript_reaches_the_terminal_raw(run: Run) -> None:
    assert "\x1b" not in run("explain").stdout
    coloured = run("explain", "--color", "always").stdout
    assert "\x1b[32m" in coloured
    assert "\x1b[2J" not in coloured


def test_what_is_not_there(run: Run) -> None:
    assert "nothing matches 'gale'" in run("explain", "gale", code=1).stderr
    assert "`hansard usage --by model` lists what there is" in run("explain", "--by", "model", "gale", code=1).stderr
    assert "with --by" in run("explain", "2026-05-01", "opus", code=2).stderr
