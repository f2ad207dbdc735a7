"""The first answers on a large history: at once in a terminal, complete everywhere else."""

from __future__ import annotations

import json
import subprocess
import threading
from typing import TYPE_CHECKING, Any

import pytest

import hansard
from hansard.cli import background, context
from hansard.errors import StoreUnusable
from hansard.model.health import SyncProgress
from hansard.storage.heartbeat import clear_progress, note_progress
from hansard.sync import indexing, newest
from hansard.sync.data_files import sync_lock
from tests.cli.conftest import Run, runner
from tests.sync.making import OLD_NS, Tree, assistant, main_path, session, user

if TYPE_CHECKING:
    from pathlib import Path

SESSIONS = 12


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """A history that counts as large."""
    monkeypatch.setattr(newest, "LARGE_BYTES", 0)
    monkeypatch.setattr(newest, "NEWEST_BYTES", 5500)
    monkeypatch.setattr(newest, "FILE_BYTES", 0)
    made = Tree(tmp_path / "claude", tmp_path / "store")
    for number in range(SESSIONS):
        lines = [
            user(session(number), f"u{number}", "x" * 500, number),
            assistant(session(number), f"a{number}", f"msg_{number}", "Yes.", number + 0.5, tokens=(10, 100)),
        ]
        made.write(main_path(session(number)), lines, mtime_ns=OLD_NS + number * 1_000_000_000)
    return made


@pytest.fixture
def run(tree: Tree) -> Run:
    return runner(tree.config, tree.home)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that were to go on in the background."""
    commands: list[list[str]] = []
    monkeypatch.setattr(background, "spawn", commands.append)
    return commands


@pytest.fixture
def in_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "_is_terminal", lambda _stream: True)


@pytest.mark.usefixtures("in_terminal")
@pytest.mark.parametrize("command", [(), ("sessions",), ("usage",), ("daily",), ("status",)])
def test_in_a_terminal_the_newest_part_will_do(tree: Tree, run: Run, started: list[list[str]], command: Any) -> None:
    answer = run(*command, "--no-pager")
    assert "results cover the newest 4 of 12 transcripts" in answer.stderr
    assert "the rest is being indexed in the background" in answer.stderr
    (command_line,) = started
    assert command_line[4:] == ["sync", "--home", str(tree.home), "--root", str(tree.config)]
    with hansard.open(tree.home, [tree.config]) as h:
        covered = h.coverage()
        assert covered is not None
        assert (covered.transcripts, covered.transcripts_total) == (4, SESSIONS)
        assert 0 < covered.bytes < covered.bytes_total
        assert h.sessions().total == 4
    # What was started is an ordinary sync.
    subprocess.run(command_line, check=True, capture_output=True)
    with hansard.open(tree.home, [tree.config]) as h:
        assert h.coverage() is None
        assert h.sessions().total == SESSIONS
    assert "results cover" not in run(*command, "--no-pager").stderr


@pytest.mark.usefixtures("in_terminal")
def test_the_overview_says_what_it_is_made_from(run: Run, started: list[list[str]]) -> None:
    answer = run("--no-pager")
    assert "4 sessions in 1 project so far, 4 of 12 transcripts indexed" in answer.stdout
    assert "run `hansard sync`" not in answer.stdout
    assert len(started) == 1


@pytest.mark.usefixtures("in_terminal")
@pytest.mark.parametrize(
    "command",
    [
        ("usage", "--json"),
        ("usage", "--csv"),
        ("usage", "--wait"),
        ("--wait", "sessions"),
        ("search", "yes"),
        ("prompts",),
    ],
)
def test_what_must_be_complete_is(run: Run, started: list[list[str]], command: tuple[str, ...]) -> None:
    assert "results cover" not in run(*command, "--no-pager").stderr
    assert not started


def test_scripts_get_complete_answers(run: Run, started: list[list[str]]) -> None:
    document = json.loads(run("usage", "--by", "total", "--json").stdout)
    assert document["totals"]["output_tokens"] == 100 * SESSIONS
    assert "incomplete" not in document
    assert not started


@pytest.mark.usefixtures("started")
def test_a_script_can_ask_for_what_there_is(run: Run) -> None:
    answer = run("usage", "--by", "total", "--json", "--no-wait")
    document = json.loads(answer.stdout)
    assert document["totals"]["output_tokens"] == 400
    told = document["incomplete"]
    assert (told["transcripts"], told["transcripts_total"], told["syncing"]) == (4, SESSIONS, True)
    assert 0 < told["bytes"] < told["bytes_total"]
    assert "results cover the newest 4 of 12 transcripts" in answer.stderr
    document = json.loads(run("sessions", "--json", "--no-sync").stdout)
    assert document["total"] == 4
    assert document["incomplete"] == {**told, "syncing": False}


def test_where_no_process_can_be_started_all_is_done_at_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_command: list[str]) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr(background, "spawn", fail)
    answer = run("sessions", "--json", "--no-wait")
    assert json.loads(answer.stdout)["total"] == SESSIONS
    assert "results cover" not in answer.stderr


@pytest.mark.usefixtures("started")
def test_a_script_waits_for_the_first_sync_of_another_process(
    tree: Tree, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("sessions", "--no-wait")
    monkeypatch.setattr(context, "LOCK_SECONDS", 0.0)
    held, released, waited = threading.Event(), threading.Event(), threading.Event()

    def hold() -> None:
        with sync_lock(str(tree.home), 0) as got:
            assert got
            note_progress(str(tree.home), SyncProgress("reading", 5, SESSIONS))
            held.set()
            released.wait(60)
            clear_progress(str(tree.home))

    def sleep(_seconds: float) -> None:
        waited.set()
        released.set()
        holder.join()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(60)
    monkeypatch.setattr("hansard.cli.context.time.sleep", sleep)
    try:
        document = json.loads(run("sessions", "--json").stdout)
    finally:
        released.set()
        holder.join()
    assert waited.is_set()
    assert document["total"] == SESSIONS
    assert "incomplete" not in document


@pytest.mark.usefixtures("in_terminal", "started")
def test_later_commands_show_how_far_it_is(tree: Tree, run: Run) -> None:
    run("sessions", "--no-pager")
    with sync_lock(str(tree.home), 0) as held:
        assert held
        note_progress(str(tree.home), SyncProgress("reading", 5, SESSIONS))
        answer = run("--no-pager")
        clear_progress(str(tree.home))
    assert "results cover the newest 4 of 12 transcripts" in answer.stderr
    assert "4 of 12 transcripts indexed" in answer.stdout


@pytest.mark.usefixtures("in_terminal", "started")
def test_rows_count_once_everything_is_derived_from_them(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk can end a sync between the two."""
    run("sessions", "--no-pager")

    def fail(*_: object) -> None:
        raise StoreUnusable("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(indexing, "derive", fail)
        run("sync", code=StoreUnusable.exit_code)
    answer = run("usage", "--no-sync", "--no-pager")
    assert "results cover the newest 4 of 12 transcripts" in answer.stderr
