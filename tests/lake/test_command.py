"""`hansard lake` on the command line."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from hansard.cli.app import hansard
from hansard.cli.commands.lake import lake
from tests.audit.conftest import write_risky
from tests.sync.making import Tree
from tests.team.conftest import write_session
from tests.test_docs import section

pytest.importorskip("duckdb")


def run(*arguments: str) -> Any:
    return CliRunner().invoke(hansard, ["lake", *arguments])


def configure(home: Path, text: str) -> None:
    config = home / "config" / "hansard" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(text)


def test_from_nothing_to_figures(tmp_path: Path, home: Path) -> None:
    write_session(home / "claude", "/src/webshop", "heron")
    target = tmp_path / "lake"
    configure(
        home,
        f"open_projects = ['webshop']\n[lake]\ntarget = {json.dumps(str(target))}\nmachine = 'laptop'\nperson = 'ann'\n",
    )
    pushed = json.loads(run("push", "--json").stdout)
    assert (pushed["sessions"], pushed["opened"]) == (1, ["/src/webshop"])
    assert pushed["machine"].startswith("machine-")
    assert "0 sessions pushed, 1 unchanged" in run("push").stdout
    named = json.loads(run("push", str(target), "--names", "--machine", "desktop", "--json").stdout)
    assert (named["machine"], named["person"]) == ("desktop", "ann")
    usage = CliRunner().invoke(hansard, ["usage", "--json", "--by", "model"]).stdout
    assert run("report", "--by", "model", "--json").stdout == usage
    assert "opus" in run("report", str(target), "--by", "model").stdout
    assert run("report", "--since", "2030-01-01").exit_code == 1
    assert {one["machine"] for one in json.loads(run("status", "--json").stdout)["machines"]} == {
        "desktop",
        pushed["machine"],
    }
    assert "desktop" in run("status").stdout


def test_budgets_of_all_machines(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_session(home / "claude", "/src/webshop", "heron")
    (transcript,) = home.rglob("*.jsonl")
    transcript.write_text(transcript.read_text().replace('"output_tokens": 7', '"output_tokens": 70000'))
    monkeypatch.setattr("hansard.cli.commands.lake.now", lambda: datetime(2026, 5, 20, tzinfo=UTC))
    configure(
        home, "[budgets]\nday = 1\n[lake.budgets]\nmonth = 1000\n[lake.budgets.projects.'webshop']\nmonth = 0.01\n"
    )
    run("push", str(tmp_path), "--names")
    done = run("report", str(tmp_path), "--by", "total", "--json")
    assert [(one["project"], one["state"]) for one in json.loads(done.stdout)["budgets"]] == [
        (None, "ok"),
        ("webshop", "over"),
    ]
    assert "webshop" in run("report", str(tmp_path)).stdout
    done = run("report", str(tmp_path), "--check", "--json")
    assert done.exit_code == 1
    assert list(json.loads(done.stdout)) == ["budgets"]


def test_no_budgets_and_no_risks(tmp_path: Path, home: Path) -> None:
    write_session(home / "claude", "/src/webshop", "heron")
    run("push", str(tmp_path), "--names")
    done = run("report", str(tmp_path), "--check")
    assert (done.exit_code, "[lake.budgets]" in done.stderr) == (2, True)
    done = run("audit", str(tmp_path))
    assert (done.exit_code, "0 high, 0 medium, 0 low" in done.stdout) == (1, True)


def test_risks_as_a_table(tmp_path: Path, home: Path) -> None:
    write_risky(Tree(home / "claude", tmp_path / "store"))
    run("push", str(tmp_path / "lake"), "--names", "--person", "ann")
    assert "force-push-default" in run("audit", str(tmp_path / "lake")).stdout
    done = json.loads(run("audit", str(tmp_path / "lake"), "--by", "person,severity", "--json").stdout)
    assert {row["person"] for row in done["rows"]} == {"ann"}
    assert sum(row["operations"] for row in done["rows"]) == sum(done["operations"].values())


def test_without_a_target_it_says_how_to_name_one() -> None:
    done = run("status")
    assert done.exit_code == 2
    assert "no lake is named" in done.stderr


def test_a_place_without_pushes(tmp_path: Path) -> None:
    assert run("status", str(tmp_path)).exit_code == 1
    done = run("report", str(tmp_path))
    assert done.exit_code == 1
    assert "hansard lake push" in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "[lake]\nurl = 'x'",
        "[lake]\nmachine = 5",
        "[lake]\nnames = 'yes'",
        "lake = 5",
        "[lake.budgets]\nsession = 5",
        "[lake.budgets]\naction = 'block'",
    ],
)
def test_wrong_settings_are_refused(text: str, home: Path) -> None:
    configure(home, text)
    done = run("status")
    assert done.exit_code == 2
    assert "config.toml" in done.stderr


@pytest.mark.parametrize("name", lake.commands)
def test_every_command_is_documented_and_has_examples(name: str) -> None:
    assert f"| `{name}" in section("lake")
    assert f"\n  Examples:\n    hansard lake {name}" in run(name, "--help").stdout
