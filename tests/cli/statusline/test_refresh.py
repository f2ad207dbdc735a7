"""The process behind the status line: one at a time, and nothing of it is left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import hansard
from hansard.cli.statusline import refresh, run, snapshot
from hansard.render.format import row_cost
from tests.cli.statusline.making import (
    OTHER,
    POSIX,
    SESSION,
    at_rest,
    change,
    client,
    printed,
    show,
    shown,
    shown_by_process,
    spool,
    start,
    until,
    write_session,
)

if TYPE_CHECKING:
    import pytest


@POSIX
def test_fifty_at_once_leave_one_refresh(root: Path, started: Callable[[], list[list[str]]]) -> None:
    home = Path(os.environ["HANSARD_HOME"])
    options = ("--color=never", "--every=600")  # a busy machine takes more than five seconds for this
    crowd = [start(*options, said=client(SESSION if number % 2 else OTHER)) for number in range(50)]
    for process in crowd:
        assert printed(process).startswith("Sonnet 4.5 · ")
    until(lambda: (home / snapshot.FILE).exists() and at_rest(home))
    (mark,) = started()
    assert mark[:3] == [os.devnull] * 3
    assert int(mark[3]) != os.getsid(0)
    assert show("--format", "{session}").startswith("$")
    # It is too early for another, until its time has come.
    assert printed(start(*options, said=client()))
    assert len(started()) == 1
    assert run.refresh_lock(str(home)).wait()
    os.utime(home / run.LOCK, (1, 1))
    assert printed(start(*options, said=client()))
    assert len(started()) == 1
    change(home, next_sync=0)
    assert printed(start(*options, said=client()))
    until(lambda: len(started()) == 2)
    until(lambda: at_rest(home))
    if sys.platform != "win32":
        assert {(home / name).stat().st_mode & 0o777 for name in (snapshot.FILE, run.LOCK)} == {0o600}


@POSIX
def test_a_refresh_that_is_running_is_enough(store: Path, started: Callable[[], list[list[str]]]) -> None:
    lock = run.refresh_lock(str(store))
    assert lock.acquire()
    assert printed(start(said=client()))
    lock.release()
    assert started() == []


@POSIX
def test_the_first_line_has_the_snapshot_made(store: Path, started: Callable[[], list[list[str]]]) -> None:
    before = shown_by_process("--format", "{session}")
    (store / snapshot.FILE).unlink()
    (spool(store) / f"{SESSION}.shown").unlink()
    assert shown_by_process("--format", "{session}") == "~$1.23"
    until(lambda: (store / snapshot.FILE).exists() and at_rest(store))
    assert shown_by_process("--format", "{session}") == before
    assert len(started()) == 1
    assert not (store / "last-failure.json").exists()
    assert (store / snapshot.FILE).stat().st_mode & 0o777 == 0o600


@POSIX
def test_what_another_process_synced_is_shown_without_a_sync(store: Path, root: Path) -> None:
    change(store, next_sync=int(time.time() * 1000) + 600_000)
    before = shown_by_process("--format", "{session}")
    write_session(root, SESSION, answers=40)
    with hansard.open(store, [root]) as h:
        h.sync()
    last_sync = (store / "last-sync.json").stat().st_mtime_ns
    assert printed(start("--color=never", "--format={session}", said=client())) == before
    until(lambda: shown_by_process("--format", "{session}") != before)
    until(lambda: at_rest(store))
    assert (store / "last-sync.json").stat().st_mtime_ns == last_sync


@POSIX
def test_a_refresh_that_was_killed_holds_nobody_up(store: Path) -> None:
    code = f"""if True:
        from hansard.cli.statusline.run import refresh_lock
        lock = refresh_lock({str(store)!r})
        assert lock.acquire()
        print("held", flush=True)
        input()"""
    command = [sys.executable, "-m", "hansard", "statusline", "--refresh"]
    (store / f"{snapshot.FILE}.1.new").write_text("{")
    os.utime(store / f"{snapshot.FILE}.1.new", (1, 1))
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"held\n"
        assert not at_rest(store)
        (store / snapshot.FILE).unlink()
        subprocess.run(command, check=True)  # another one at the same time does nothing
        assert not (store / snapshot.FILE).exists()
        process.kill()
    subprocess.run(command, check=True)
    assert shown_by_process("--format", "{session}").startswith("$")
    assert [path.name for path in store.glob(f"{snapshot.FILE}*")] == [snapshot.FILE]


def test_each_data_directory_has_its_own_snapshot(store: Path, root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    with hansard.open(other, []) as h:
        h.sync()
    refresh.update_snapshot(str(other))
    assert shown("--format", "{session}|{today}", "--home", str(other)) == "~$1.23|$0.00"
    assert shown("--format", "{session}|{today}").startswith("$")


def test_what_the_client_deletes_soon_is_warned_of_unless_it_is_stored(store: Path, root: Path) -> None:
    assert "not stored" not in show()
    place = next((root / "projects").rglob("*.jsonl")).with_name("77777777-aaaa-4aaa-8aaa-777777777777.jsonl")
    place.write_text("{}\n")
    os.utime(place, (1_700_000_000, 1_700_000_000))
    (store / snapshot.FILE).unlink()
    assert show().endswith(" · ⚠ 1 transcript not stored, deleted soon: hansard sync")
    assert show("--format", "{unkept}").startswith("1 transcript not stored, deleted soon")
    with hansard.open(store, [root]) as h:
        h.sync()
    refresh.update_snapshot(str(store), next_sync=0)
    assert "not stored" not in shown()


@POSIX
def test_new_answers_are_in_a_later_line(store: Path, root: Path) -> None:
    before = show("--format", "{session}")
    write_session(root, SESSION, answers=40)
    assert printed(start("--color=never", "--format={session}", said=client())) == before
    until(lambda: show("--format", "{session}") != before)
    until(lambda: at_rest(store))
    with hansard.open(store) as h:
        row = next(row for row in h.usage(by="session").rows if row.key["session"] == SESSION)
    assert show("--format", "{session}") == row_cost(row)


@POSIX
def test_a_folder_full_of_traps_is_not_imported(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trap = tmp_path / "trap"
    trap.mkdir()
    for name in ("hansard", "apsw", "json", "msgspec"):
        (trap / f"{name}.py").write_text(f"open({str(tmp_path / 'caught')!r}, 'w')")
    monkeypatch.chdir(trap)
    command = ("-P", "-W", "error", "-m", "hansard", "statusline")
    assert printed(start(said=client(), command=command))
    until(lambda: (store / run.LOCK).exists() and at_rest(store))
    assert not (tmp_path / "caught").exists()
