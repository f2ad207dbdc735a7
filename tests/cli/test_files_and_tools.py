"""`hansard files` and `hansard tools` show the figures that the library and the web app have; names of reports in other tools."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hansard.cli.app import USAGE_BY
from hansard.demo import write_history
from hansard.engine import open as open_engine

from .conftest import Run, runner


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("demo")
    write_history(place / "claude", now=datetime.now(UTC))
    return place


@pytest.fixture
def run_demo(place: Path) -> Run:
    return runner(place / "claude", place / "store")


def test_files_are_those_of_the_library(run_demo: Run, place: Path) -> None:
    answer = json.loads(run_demo("files", "--sort", "changes", "-n", "3", "--json").stdout)
    with open_engine(place / "store", [place / "claude"]) as h:
        assert [item["path"] for item in answer["files"]] == [
            item.path for item in h.files(sort="changes", limit=3).files
        ]
    shown = run_demo("files", "-n", "3", "--sort", "changes")
    assert len(shown.stdout.splitlines()) == 4
    assert "--page 2 shows the next" in shown.stderr
    second = json.loads(run_demo("files", "--sort", "changes", "-n", "3", "--page", "2", "--json").stdout)
    assert not {item["path"] for item in second["files"]} & {item["path"] for item in answer["files"]}
    backwards = json.loads(run_demo("files", "--sort", "changes", "--reverse", "-n", "0", "--json").stdout)
    assert backwards["files"][-1]["changes"] == answer["files"][0]["changes"]


def test_the_history_of_a_file(run_demo: Run) -> None:
    path = json.loads(run_demo("files", "--sort", "changes", "-n", "1", "--json").stdout)["files"][0]["path"]
    history = json.loads(run_demo("files", path, "--json").stdout)
    assert history["path"] == path
    shown = run_demo("files", path, "--color", "never").stdout.splitlines()
    assert shown[0] == path
    assert "TURN" in shown[3]
    assert len(shown) == 4 + len(history["page"]["calls"])
    drawn = run_demo("files", path, "--diff").stdout
    assert any(line.strip().startswith("+") for line in drawn.splitlines())
    assert len(run_demo("files", path, "--reads").stdout.splitlines()) >= len(shown)


def test_no_file(run_demo: Run) -> None:
    assert run_demo("files", "nowhere-at-all", code=1).stderr == "hansard: no file matches\n"
    assert "no tool call names the file" in run_demo("files", "/no/such/file", "--diff", code=1).stderr
    assert "need the PATH of a file" in run_demo("files", "--diff", code=2).stderr


def test_tools_are_those_of_the_library(run_demo: Run, place: Path) -> None:
    answer = json.loads(run_demo("tools", "--json").stdout)
    with open_engine(place / "store", [place / "claude"]) as h:
        report = h.tools()
    assert answer["totals"]["calls"] == report.totals.calls
    assert [(item["tool"], item["calls"], item["errors"]) for item in answer["tools"]] == [
        (item.tool, item.calls, item.errors) for item in report.tools
    ]
    lines = run_demo("tools", "--sort", "tool", "-n", "2").stdout.splitlines()
    assert len(lines) == 4
    assert lines[-1].startswith("Total")
    assert f" {report.totals.calls:,} " in lines[-1]


def test_the_calls_of_a_tool(run_demo: Run) -> None:
    answer = json.loads(run_demo("tools", "bash", "--failed", "--json").stdout)
    assert answer["tool"]["errors"] == answer["calls"]["total"] == len(answer["calls"]["calls"]) > 0
    assert all(call["is_error"] and call["tool"] == "Bash" for call in answer["calls"]["calls"])
    slowest = json.loads(run_demo("tools", "Bash", "--slowest", "-n", "3", "--json").stdout)["calls"]["calls"]
    took = [call["duration_ms"] for call in slowest]
    assert took == sorted(took, reverse=True)
    assert "CALL" in run_demo("tools", "Bash").stdout


def test_no_such_tool(run_demo: Run) -> None:
    assert "did you mean Bash?" in run_demo("tools", "Bush", code=1).stderr
    assert "need a TOOL" in run_demo("tools", "--failed", code=2).stderr


@pytest.mark.parametrize(("name", "by"), USAGE_BY.items())
def test_names_of_reports_in_other_tools(run_demo: Run, name: str, by: str) -> None:
    options = ("--breakdown", "--since", "20200101", "--order", "desc")
    assert run_demo(name, *options, "--json").stdout == run_demo("usage", "--by", by, *options, "--json").stdout
    assert run_demo(name, *options).stdout == run_demo("usage", "--by", by, *options).stdout
    assert f"hansard usage --by {by}" in run_demo(name, "--help").stdout
    assert json.loads(run_demo(name, "--by", "model", "--json").stdout)["by"] == ["model"]


def test_one_way_to_say_order_and_limit(run_demo: Run) -> None:
    rows = json.loads(run_demo("usage", "--json").stdout)["rows"]
    assert json.loads(run_demo("usage", "--reverse", "-n", "2", "--json").stdout)["rows"] == rows[::-1][:2]
    blocks = json.loads(run_demo("blocks", "--no-gaps", "--json").stdout)["blocks"]
    latest = json.loads(run_demo("blocks", "--no-gaps", "-n", "2", "--order", "desc", "--json").stdout)["blocks"]
    assert [item["start"] for item in latest] == [item["start"] for item in blocks[::-1][:2]]
    listed = run_demo("blocks", "-n", "3").stdout.splitlines()
    turned = run_demo("blocks", "-n", "3", "--reverse").stdout.splitlines()
    end = listed.index("")
    assert turned[1:end] == listed[1:end][::-1]
    costs = json.loads(run_demo("projects", "--sort", "sessions", "-n", "2", "--json").stdout)["projects"]
    assert len(costs) == 2
    assert costs[0]["sessions"] >= costs[1]["sessions"]
    assert "there is no page 99" in run_demo("sessions", "--page", "99", code=1).stderr


@pytest.mark.parametrize("name", [*USAGE_BY, "usage", "blocks", "tools"])
def test_a_date_is_a_period_and_a_word_is_refused(run_demo: Run, name: str) -> None:
    days = json.loads(run_demo("daily", "--json").stdout)["rows"]
    month = days[len(days) // 2]["day"][:7]
    given = json.loads(run_demo(name, month, "--json").stdout)
    assert given == json.loads(run_demo(name, f"on:{month}", "--json").stdout)
    assert given != json.loads(run_demo(name, "--json").stdout)
    refused = run_demo(name, *(["Bash"] if name == "tools" else []), "opus", code=2)
    assert refused.stdout == ""
    assert "model:opus" in refused.stderr
    run_demo(name, "--match", "list", "--json")


def test_sessions_that_changed_a_file_are_found(run_hard: Run) -> None:
    def found(query: str) -> set[str]:
        return {one["session_id"] for one in json.loads(run_hard("sessions", query, "--json").stdout)["sessions"]}

    files = json.loads(run_hard("files", "--json", "-n", "0").stdout)["files"]
    path = f'"{files[0]["path"]}"'
    assert files[0]["last_session_id"] in found(f"changed:{path}")
    assert found(f"file:{path} changed") == found(f"changed:{path}") <= found(f"file:{path}")
    hits = json.loads(run_hard("search", f"file:{path} changed", "--json").stdout)["hits"]
    assert {hit["kind"] for hit in hits} <= {"call", "result"}
