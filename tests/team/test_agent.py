"""`hansard team agent`: what it pushes is what one push would, wherever it is killed and whenever the server is gone."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import count, islice
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks.postgres import Server
from hansard.cli.app import hansard as program
from hansard.cli.commands import team_agent
from tests.team.conftest import Place, write_session
from tests.team.test_push import content

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
PROJECTS = ("/src/webshop", "/src/diary")
# Runs the program in small batches, and ends it before a commit as a power cut would.
KILLED = """
import os, signal, sys
from contextlib import contextmanager
from hansard.team import push
from hansard.team.connect import Database

push._BATCH, push._TEXT_BATCH, push._MOST_SESSIONS = 25, 500, 1
left = int(sys.argv.pop(1))
whole = Database.transaction

@contextmanager
def transaction(database):
    global left
    with whole(database):
        yield
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

Database.transaction = transaction
from hansard.cli import main
main()
"""


@pytest.fixture
def configured(home: Path) -> Callable[..., Path]:
    """A function that writes sessions and a configuration with their database; gives the folder of the transcripts."""

    def write(place: Place, more: str = "") -> Path:
        for project in PROJECTS:
            if not (home / "claude" / "projects" / project.replace("/", "-")).exists():
                write_session(home / "claude", project, f"heron {project.rpartition('/')[2]}")
        config = home / "config" / "hansard" / "config.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(
            "open_projects = ['webshop']\n[team]\nmachine = 'laptop'\n"
            f"database = {json.dumps(place.url())}\nschema = {json.dumps(place.schema)}\n{more}"
        )
        return home / "claude"

    return write


def pushed_once(place: Place) -> dict[str, Any]:
    """What one push leaves in the configured database."""
    done = CliRunner().invoke(program, ["team", "push"])
    assert done.exit_code == 0, done.stderr
    return content(place)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "hansard", "team", "agent", *arguments]


def test_killed_before_every_commit_it_loses_and_doubles_nothing(
    configured: Callable[..., Path], make_place: Callable[[], Place]
) -> None:
    once = make_place()
    configured(once)
    expected = pushed_once(once)
    for number in count(1):
        place = make_place()
        configured(place)
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(number), "team", "agent", "--once"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            assert number > 8
            assert content(place) == expected
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
        again = CliRunner().invoke(program, ["team", "agent", "--once"])
        assert again.exit_code == 0, again.stderr
        assert content(place) == expected


def test_a_server_that_goes_away_is_tried_again(
    configured: Callable[..., Path], make_place: Callable[[], Place], server: Server
) -> None:
    once, place = make_place(), make_place()
    root = configured(once)
    expected = pushed_once(once)
    configured(place)
    server.stop()
    agent = subprocess.Popen(
        command("--every", "1s", "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert agent.stderr is not None
        assert agent.stdout is not None
        assert "pushing every 1 s" in agent.stderr.readline()
        assert "next attempt in" in agent.stderr.readline()
        server.start()
        first = json.loads(agent.stdout.readline())
        assert (first["team"]["sessions"], first["lake"]) == (len(PROJECTS), None)
        assert json.loads(agent.stdout.readline())["team"]["sessions"] == 0
        write_session(root, "/src/later", "crane")
        while not (later := json.loads(agent.stdout.readline()))["team"]["sessions"]:
            pass
        assert later["team"]["sessions"] == 1
        server.stop()
        while "next attempt in" not in agent.stderr.readline():
            pass
        agent.send_signal(signal.SIGTERM)
        assert agent.wait(60) == 0
        assert "stopped" in agent.stderr.read()
    finally:
        agent.kill()
        agent.communicate()
        if not os.path.exists(f"{server.folder}/data/postmaster.pid"):
            server.start()
    found = content(place)
    for table, rows in expected.items():
        assert [row for row in rows if row not in found[table]] == [], table
    assert place.rows("SELECT count(*), count(DISTINCT session_id) FROM pushed_sessions") == [(3, 3)]


def test_once_fails_if_the_server_cannot_be_reached(configured: Callable[..., Path], place: Place) -> None:
    configured(place)
    failed = CliRunner().invoke(program, ["team", "agent", "postgresql://ann@/team?host=/nowhere", "--once"])
    assert failed.exit_code == 4
    assert "/nowhere" in failed.stderr
    refused = CliRunner().invoke(program, ["team", "agent", "--once", "--every", "0m"])
    assert (refused.exit_code, "between 1s and 7d" in refused.stderr) == (2, True)
    assert CliRunner().invoke(program, ["team", "agent", "--once", "--lake"]).exit_code == 2  # none is configured


def test_it_pushes_to_the_lake_too(configured: Callable[..., Path], place: Place, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    configured(place, f"[lake]\ntarget = {json.dumps(str(tmp_path / 'lake'))}\n")
    done = CliRunner().invoke(program, ["team", "agent", "--once", "--lake", "--json"])
    assert done.exit_code == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["team"]["sessions"] == report["lake"]["sessions"] == len(PROJECTS)
    assert list((tmp_path / "lake" / "manifests").iterdir())


def test_pauses_grow_to_a_bound_and_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "uniform", random.Random(1).uniform)
    found = list(islice(team_agent.pauses(), 20))
    spread = team_agent._SPREAD
    for number, pause in enumerate(found):
        usual = min(team_agent.FIRST_PAUSE * 2**number, team_agent.LONGEST_PAUSE)
        assert usual * (1 - spread) <= pause <= min(usual * (1 + spread), team_agent.LONGEST_PAUSE)
    assert len(set(found[:8])) == 8
    assert list(islice(team_agent.pauses(), 3)) != found[:3]


def test_the_guard_pushes_after_its_sync(configured: Callable[..., Path], place: Place, tmp_path: Path) -> None:
    configured(place, f"[lake]\ntarget = {json.dumps(str(tmp_path / 'lake'))}\n")
    run = CliRunner()
    done = run.invoke(program, ["guard", "run", "--push", "--push-lake"])
    assert done.exit_code == 0, done.stderr
    assert done.stdout.count("2 sessions pushed") == 2
    assert place.rows("SELECT count(*) FROM sessions") == [(2,)]
    last = json.loads(run.invoke(program, ["guard", "status", "--json"]).stdout)["last_run"]
    assert [line.partition(":")[2].split(",")[0] for line in last["pushed"]] == [" 2 sessions pushed"] * 2
    assert "2 sessions pushed" in run.invoke(program, ["guard"]).stdout
    again = json.loads(run.invoke(program, ["guard", "run", "--push", "--json"]).stdout)
    assert [one["sessions"] for one in again["pushed"]] == [0]
