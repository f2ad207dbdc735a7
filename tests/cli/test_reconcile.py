"""`hansard reconcile`: what it writes, for people and for programs."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from hansard.cli.app import hansard

from .conftest import OTHER, SESSION, Run, runner, said, write_log

OPUS = "claude-opus-4-1"


def answered(number: int, output: int, *, session: str = SESSION, **usage: int) -> dict[str, Any]:
    line = said(number, "Yes.", role="assistant", session=session)
    line["message"] |= {
        "id": "msg_01A",
        "model": OPUS,
        "usage": {"input_tokens": 100, "output_tokens": output, **usage},
    }
    line["requestId"] = "req_1"
    return line


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """One answer on three lines, and a copy of it in another session; the client says it used more."""
    place = tmp_path / "claude"
    state = {
        "type": "cost-state",
        "sessionId": SESSION,
        "modelUsage": {OPUS: {"inputTokens": 150, "outputTokens": 4000, "costUSD": 0.3}},
    }
    write_log(place, SESSION, [said(1, "Go."), answered(2, 1000), answered(3, 4000), answered(4, 4000), state])
    write_log(place, OTHER, [answered(5, 4000, session=OTHER)])
    return place


@pytest.fixture
def run(root: Path, tmp_path: Path) -> Run:
    return runner(root, tmp_path / "store")


def peer(tmp_path: Path, tokens: int, cost: float) -> str:
    sums = {"inputTokens": 100, "outputTokens": tokens, "cacheReadTokens": 0, "cacheCreationTokens": 0}
    rows = [{"period": "2026-05-01", "modelBreakdowns": [{**sums, "modelName": OPUS, "cost": cost}]}]
    path = tmp_path / "peer.json"
    path.write_text(json.dumps({"daily": rows, "totals": {**sums, "totalTokens": tokens + 100, "totalCost": cost}}))
    return str(path)


def test_a_line_for_each_way_of_counting_and_the_causes_below(run: Run) -> None:
    out = run("reconcile").stdout
    head, ours, lines, *_ = out.splitlines()
    assert head.split() == ["INPUT", "OUTPUT", "CACHE", "READ", "WRITTEN", "COST", "DIFFERENCE"]
    assert ours.split() == ["Hansard", "100", "4.0k", "0", "0", "$0.30"]
    assert lines.split() == ["sum", "of", "all", "lines", "400", "13.0k", "0", "0", "$0.98", "+225.4", "%"]
    assert "messages in several transcripts" in out
    assert "  repeated lines of one message (+2 messages)                 +5.2k       +$0.38" in out
    assert "0 of 1 sessions agree in every token" in out
    assert f"  {SESSION[:8]}  opus-4-1" in out
    assert all(len(line) <= 80 for line in out.splitlines())


@pytest.mark.parametrize("columns", [40, 60, 80, 120, 200])
def test_it_fits_the_terminal(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    out = run("reconcile", "--peer-json", peer(tmp_path, 5000, 0.9)).stdout
    assert all(len(line) <= max(columns, 60) for line in out.splitlines())
    assert ("4,000" in out) == (columns >= 100)


def test_json_has_everything(run: Run, tmp_path: Path) -> None:
    answer = json.loads(run("reconcile", "--json", "--peer-json", peer(tmp_path, 4000, 0.3015)).stdout)
    assert (
        list(answer)
        == (
            "ours lower_bound_messages lower_bound_output_tokens progress_only_messages unpriced_models lines transcripts bytes_read damaged ways client"
            " peer pricing clients not_compared"
        ).split()
    )
    assert answer["ours"] == {
        "messages": 1,
        "input_tokens": 100,
        "output_tokens": 4000,
        "cache_read_tokens": 0,
        "cache_write_tokens": 0,
        "cache_write_1h_tokens": 0,
        "web_searches": 0,
        "cost_usd": "0.3015",
        "unpriced_messages": 0,
    }
    assert [way["name"] for way in answer["ways"]] == ["lines", "ccusage", "agentsview", "tokscale", "cost-state"]
    for way in answer["ways"]:
        assert list(way) == ["name", "title", "rule", "compared", "total", "difference", "steps", "notes"]
        steps = sum(Decimal(step["amount"]["cost_usd"]) for step in way["steps"])
        assert steps == Decimal(way["difference"]["cost_usd"])
    assert answer["client"]["sessions"] == 1
    assert answer["client"]["differing"][0]["difference"]["input_tokens"] == 50
    assert answer["peer"]["unexplained"]["cost_usd"] == "0"
    assert (answer["peer"]["tool"], answer["peer"]["models"]) == ("ccusage", [])


def test_the_output_of_a_tool_is_explained_instead(run: Run, tmp_path: Path) -> None:
    out = run("reconcile", "--peer-json", peer(tmp_path, 4000, 0.3015)).stdout
    assert "ccusage's own output" in out
    assert "nothing is left unexplained" in out
    out = run("reconcile", "--peer-json", peer(tmp_path, 5000, 0.9)).stdout
    assert "left unexplained: +1,000 output, +$0.60" in out
    assert "    opus-4-1: +1.0k tokens +$0.60" in out


def test_the_output_of_a_tool_may_come_through_a_pipe(root: Path, tmp_path: Path) -> None:
    given = Path(peer(tmp_path, 4000, 0.3015)).read_bytes()
    command = ["reconcile", "--peer-json", "-", "--home", str(tmp_path / "store"), "--root", str(root)]
    result = CliRunner().invoke(hansard, command, input=given)
    assert result.exit_code == 0
    assert "nothing is left unexplained" in result.stdout


def test_what_is_no_report_says_what_to_give(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text('{"sessions": 3}')
    result = run("reconcile", "--peer-json", str(path), code=2)
    assert result.stdout == ""
    assert "ccusage" in result.stderr
    assert run("reconcile", "--peer-json", str(tmp_path / "missing.json"), code=2).stdout == ""


def test_a_model_of_a_hostile_name_does_no_harm(root: Path, run: Run) -> None:
    line = answered(6, 10, session=OTHER)
    line["message"] |= {"id": "msg_01B", "model": "evil\x1b[31m\nmodel"}
    write_log(root, OTHER, [line])
    out = run("reconcile").stdout
    assert "\x1b" not in out
    assert "evil model" in out
