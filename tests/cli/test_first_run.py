"""Where there is no history: the demo, clearly called so."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from click.testing import CliRunner, Result

from hansard.cli.app import hansard


def invoke(*args: str) -> Result:
    return CliRunner().invoke(hansard, args)


def test_bare_hansard_opens_the_demo(home: Path) -> None:
    result = invoke()
    assert result.exit_code == 0
    assert result.stdout.startswith("Hansard (demo)")
    assert "no Claude Code history found" in result.stderr
    assert (home / "hansard" / "demo" / ".claude" / "projects").is_dir()
    assert not (home / "hansard" / "record.db").exists()
    assert json.loads(invoke("--json").stdout)["demo"] is True


def test_the_demo_is_made_anew_when_it_is_old(home: Path) -> None:
    invoke()
    mark = home / "hansard" / "demo" / "hansard-demo"
    old = time.time() - 3 * 86400
    os.utime(mark, (old, old))
    assert invoke().exit_code == 0
    assert mark.stat().st_mtime > old + 1


def test_other_commands_say_where_they_looked() -> None:
    result = invoke("sync")
    assert result.exit_code == 1
    assert ".claude" in result.stderr
    assert "hansard demo" in result.stderr
    assert invoke("watch").exit_code == 1
    for command in ("sessions", "projects", "show @last"):
        result = invoke(*command.split())
        assert result.exit_code == 1
        assert "no Claude Code history found" in result.stderr
    assert invoke("status").exit_code == 0


def test_reading_without_a_history_leaves_nothing_behind(home: Path) -> None:
    for command in ("sessions", "status", "doctor", "projects"):
        invoke(command)
    assert not (home / "hansard").exists()


def test_demo_writes_a_history_and_a_store_beside_it(tmp_path: Path) -> None:
    result = invoke("demo", str(tmp_path / "tour"))
    assert result.exit_code == 0
    assert result.stdout.startswith("Hansard (demo)")
    assert (tmp_path / "tour" / "hansard" / "record.db").exists()
    assert f"--root {tmp_path / 'tour' / '.claude'}" in result.stderr
    again = invoke("demo", str(tmp_path / "tour"))
    assert again.exit_code == 2
    assert "already exists" in again.stderr


def test_the_users_own_history_is_found(home: Path) -> None:
    from tests.hard_session import write_hard_session

    write_hard_session(home / ".claude")
    result = invoke()
    assert result.stdout.startswith("Hansard  3 sessions")
