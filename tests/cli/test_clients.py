"""Commands over the histories of several clients."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hansard.cli.app import hansard
from hansard.demo import write_history
from tests.clients.codex.history import write as write_codex

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command for a user with two clients and the history of an agent that is not read."""
    user = tmp_path / "user"
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.setenv("USERPROFILE", str(user))
    for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    write_history(user / ".claude")
    write_codex(user / ".codex")
    (user / ".codeium/windsurf/cascade").mkdir(parents=True)
    (user / ".codeium/windsurf/cascade/1.pb").write_text("{}")

    def ran(*given: str, code: int = 0) -> Result:
        done = CliRunner().invoke(hansard, [*given, "--home", str(tmp_path / "store")])
        assert done.exit_code == code, done.output
        return done

    return ran


def test_one_client_is_synced(run: Run) -> None:
    run("sync", "--client", "codex")
    clients = {
        session["client"]
        for session in json.loads(run("sessions", "--json", "--no-sync", "-n", "0").stdout)["sessions"]
    }
    assert clients == {"codex"}
    assert "no root of parchment" in run("sync", "--client", "parchment", code=2).stderr


def test_usage_by_client(run: Run) -> None:
    answer = json.loads(run("usage", "--by", "client", "--json").stdout)
    found = {row["client"]: row["output_tokens"] for row in answer["rows"]}
    assert found["codex"] == 192
    assert set(found) == {"claude-code", "codex"}


def test_status_lists_the_client_of_each_root_and_what_is_not_read(run: Run) -> None:
    answer = json.loads(run("status", "--json").stdout)
    assert sorted(root["client"] for root in answer["roots"]) == ["claude-code", "codex"]
    assert [(item["client"], item["files"], item["reason"]) for item in answer["unread"]] == [
        ("windsurf", 1, "not supported")
    ]
    text = run("status").stdout
    assert "codex: 6 files" in text
    assert "no clean-up" in text
    assert "windsurf: 1 file" in text
    assert "not read: windsurf" in run("doctor").stdout
