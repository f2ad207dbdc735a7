"""`hansard prompts`: for people and for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from .conftest import OTHER, SESSION, Run

if TYPE_CHECKING:
    from pathlib import Path

LOST = "33333333-cccc-4ccc-8ccc-333333333333"


@pytest.fixture
def lost(root: Path) -> None:
    """A prompt of which only history.jsonl knows, long and with something in it that a terminal would obey."""
    text = "Bring the boat home\nbefore the storm, \x1b[31mquickly\x1b[0m. " + "And then rest. " * 8
    lines = [
        {"display": text, "timestamp": 1_770_000_000_000, "project": "/src/boat", "sessionId": LOST},
        {"display": "When is high tide?", "timestamp": 1_777_629_601_000, "project": "/src/tide", "sessionId": SESSION},
    ]
    (root / "history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


@pytest.mark.usefixtures("lost")
def test_prompts_json_has_the_agreed_shape(run: Run) -> None:
    answer = json.loads(run("prompts", "--json").stdout)
    assert set(answer) == {"prompts", "total", "sources", "next_cursor"}
    assert answer["total"] == 3
    _, first, last = answer["prompts"]
    assert first == {
        "text": "When is high tide?",
        "source": "prompt",
        "at": "2026-05-01T10:00:01.000Z",
        "session_id": SESSION,
        "project": "/src/tide",
        "session_kept": True,
        "copies": 0,
        "times": 1,
        "transcript": f"projects/-src-tide/{SESSION}.jsonl",
        "offset": 0,
    }
    assert (last["source"], last["session_kept"], last["session_id"]) == ("history", False, LOST)


@pytest.mark.usefixtures("lost")
@pytest.mark.parametrize(
    ("columns", "lines"),
    [
        (
            60,
            [
                "WHEN              ID        PROMPT",
                "2026-05-01 10:00  22222222  Wrap the sail [red]now[/red] !",
                "2026-05-01 10:00  11111111  When is high tide?",
                "2026-02-02 02:40  33333333  Bring the boat home before the…",
            ],
        ),
        (
            80,
            [
                "WHEN              ID        PROJECT  PROMPT",
                "2026-05-01 10:00  22222222  sail     Wrap the sail [red]now[/red] !",
                "2026-05-01 10:00  11111111  tide     When is high tide?",
                "2026-02-02 02:40  33333333  boat     Bring the boat home before the storm…  lost",
            ],
        ),
    ],
)
def test_prompts_fit_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch, columns: int, lines: list[str]) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("time.time", lambda: 1_800_000_000.0)
    assert run("prompts").stdout.splitlines() == lines


@pytest.mark.usefixtures("lost")
def test_whole_texts(run: Run) -> None:
    assert run("prompts", "storm", "--full").stdout.splitlines() == [
        "2026-02-02 02:40  boat  33333333  lost",
        "  Bring the boat home",
        "  before the storm, quickly. And then rest. And then rest. And then rest. And",
        "  then rest. And then rest. And then rest. And then rest. And then rest.",
    ]


def test_queries_and_options(run: Run) -> None:
    def found(*args: str) -> list[str]:
        return [item["session_id"] for item in json.loads(run("prompts", *args, "--json").stdout)["prompts"]]

    assert found("TIDES") == [SESSION]
    assert found("high", "tide") == [SESSION]
    assert found('"the sail" OR tide', "--reverse") == [OTHER, SESSION]  # of one moment by path
    assert found("--project", "sail", "--since", "2026-05-01", "--until", "2026-05-01") == [OTHER]
    assert found("project:sail", "--source", "prompt") == [OTHER]


def test_equal_texts_once(run: Run) -> None:
    text = run("prompts", "--unique").stdout
    assert text.splitlines()[0].split() == ["WHEN", "ID", "PROJECT", "PROMPT", "TIMES"]
    assert {item["times"] for item in json.loads(run("prompts", "--unique", "--json").stdout)["prompts"]} == {1}


def test_pages(run: Run) -> None:
    shown = run("prompts", "--limit", "1")
    assert "1 of 2 listed (2 prompts); --page 2 shows the next, --limit 0 shows all" in shown.stderr
    assert len(run("prompts", "--limit", "0").stdout.splitlines()) == 3
    first = json.loads(run("prompts", "--limit", "1", "--json").stdout)
    second = json.loads(run("prompts", "--limit", "1", "--cursor", first["next_cursor"], "--json").stdout)
    assert second["next_cursor"] is None
    assert [page["prompts"][0]["session_id"] for page in (first, second)] == [OTHER, SESSION]


def test_nothing_found(run: Run) -> None:
    nothing = run("prompts", "submarine", code=1)
    assert nothing.stdout == ""
    assert nothing.stderr == "hansard: no prompt matches\n"
    assert json.loads(run("prompts", "submarine", "--json", code=1).stdout) == {
        "prompts": [],
        "next_cursor": None,
        "total": 0,
        "sources": {},
    }


def test_a_query_that_makes_no_sense(run: Run) -> None:
    refused = run("prompts", "tide is:wet", code=2)
    first, *pointer = refused.stderr.splitlines()
    assert first.startswith("hansard: invalid value 'wet' for is:")
    assert pointer == ["  tide is:wet", "          ^"]
