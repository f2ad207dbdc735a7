"""`hansard related`: for people and for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from .conftest import OTHER, SESSION, Run, said, write_log

if TYPE_CHECKING:
    from pathlib import Path

FORK = "44444444-dddd-4ddd-8ddd-444444444444"
FILES = ("/src/tide/harbour_table_of_the_north.py", "/src/tide/gauges_with_a_long_name.ts", "/src/tide/a.md")


def reading(number: int, path: str, session: str = SESSION) -> dict[str, Any]:
    """An answer that reads a file."""
    line = said(number, "", role="assistant", session=session)
    line["message"]["content"] = [
        {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {"file_path": path}}
    ]
    return line


@pytest.fixture
def fork(root: Path) -> None:
    """A fork of the first session, after it has read some files."""
    lines = [said(1, "When is high tide in the \x1b[31m harbour?"), *(reading(n, p) for n, p in enumerate(FILES, 2))]
    write_log(root, SESSION, lines)
    write_log(root, FORK, [*({**line, "sessionId": FORK} for line in lines), said(9, "And low tide?", session=FORK)])


@pytest.mark.usefixtures("fork")
@pytest.mark.parametrize(
    ("columns", "lines"),
    [
        (
            60,
            [
                "WHEN              ID        TITLE",
                "2026-05-01 10:00  44444444  When is high tide in the harbou…",
                "    fork · 3 files: a.md, gauges_with_a_long_name.ts,",
                "    harbour_table_of_the_north.py · words: harbour high tide",
            ],
        ),
        (
            160,
            [
                "WHEN              ID        PROJECT  TITLE",
                "2026-05-01 10:00  44444444  tide     When is high tide in the harbour?",
                "    fork · 3 files: a.md, gauges_with_a_long_name.ts, harbour_table_of_the_north.py · words: harbour high tide",
            ],
        ),
    ],
)
def test_related(run: Run, monkeypatch: pytest.MonkeyPatch, columns: int, lines: list[str]) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("time.time", lambda: 1_800_000_000.0)
    assert run("related", SESSION[:8]).stdout.splitlines() == lines


@pytest.mark.usefixtures("fork")
def test_related_json_has_the_agreed_shape(run: Run) -> None:
    answer = json.loads(run("related", FORK, "--json").stdout)
    assert answer["session"]["session_id"] == FORK
    (one,) = answer["related"]
    assert set(one) == {"session", "score", "files", "words", "links", "same_project", "shared_files"}
    assert one["session"]["session_id"] == SESSION
    assert (one["links"], one["same_project"], one["shared_files"]) == (["fork"], True, 3)
    assert one["files"] == sorted(FILES)


def test_nothing_in_common(run: Run) -> None:
    nothing = run("related", OTHER, code=1)
    assert nothing.stdout == ""
    assert nothing.stderr == "hansard: no session is related to 'Wrap the sail [red]now[/red] !'\n"
    assert json.loads(run("related", OTHER, "--json", code=1).stdout)["related"] == []


def test_no_such_session(run: Run) -> None:
    assert "no session matches" in run("related", "nobody", code=1).stderr
