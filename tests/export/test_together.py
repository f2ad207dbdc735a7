"""Exports that meet: at the same time in one folder, or after one that was killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import hansard
from hansard.engine import Hansard
from hansard.errors import StoreBusy, UsageError
from hansard.export import manifest
from hansard.export.manifest import NAME, SINGLE, Manifest, Written
from tests.cli.conftest import OTHER, SESSION
from tests.export.conftest import tree_of
from tests.hard_session import write_hard_session

# Exports, and stops for ever just before the so many-th file gets its name.
CHILD = """
import sys
import hansard
from hansard.export import files

store, root, out, form, number = sys.argv[1:]
left, real = int(number), files.move_into_place

def move_into_place(temporary, path, digest):
    global left
    left -= path.startswith(out)
    if left == 0:
        print("here", flush=True)
        sys.stdin.read()
    return real(temporary, path, digest)

files.move_into_place = move_into_place
with hansard.open(store, [root]) as h:
    h.export(None, out, format=form, timezone="UTC")
print("done", flush=True)
"""


@contextmanager
def child(store: Path, out: Path, form: str, number: int) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", CHILD, str(store / "store"), str(store / "claude"), str(out), form, str(number)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture(scope="module")
def hard_place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three sessions with pictures, synced."""
    place = tmp_path_factory.mktemp("hard")
    write_hard_session(place / "claude")
    with hansard.open(place / "store", [place / "claude"]) as h:
        h.sync()
    return place


@pytest.fixture
def hard(hard_place: Path) -> Iterator[Hansard]:
    with hansard.open(hard_place / "store", [hard_place / "claude"]) as h:
        yield h


@pytest.fixture
def store(small: Hansard, tmp_path: Path) -> Path:
    """Where the two small sessions and their store are."""
    assert small.home == str(tmp_path / "store")
    return tmp_path


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exports wait as long as it takes, however slow the machine is."""
    real = manifest.locked
    monkeypatch.setattr(manifest, "locked", lambda folder, path, _: real(folder, path, 600))


def contents(folder: Path) -> dict[str, bytes]:
    return {name: content for name, (_, _, content) in tree_of(folder).items() if name not in (NAME, manifest.LOCK)}


@pytest.mark.parametrize(
    ("form", "number"),
    [("html", 1), ("html", 2), ("html", 5), ("markdown", 2), ("json", 2), ("parquet", 1), ("parquet", 5)],
)
def test_after_a_killed_export_the_next_one_completes_and_leaves_no_remains(
    hard: Hansard, hard_place: Path, tmp_path: Path, form: str, number: int
) -> None:
    out, wanted = tmp_path / "out", tmp_path / "wanted"
    with child(hard_place, out, form, number) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
    assert process.returncode != 0
    assert list(out.rglob(".hansard-*.tmp"))
    hard.export(None, wanted, format=form, timezone="UTC")
    for name, content in contents(out).items():
        if not name.rpartition("/")[2].startswith(".hansard-"):
            assert content == contents(wanted)[name]
    for remains in out.glob(".hansard-*.tmp"):
        os.utime(remains, (0, 0))  # where no file had begun, what is left may be of another export until it is old
    assert not hard.export(None, out, format=form, timezone="UTC").failed
    assert hard.export(None, out, format=form, timezone="UTC").written == 0
    assert contents(out) == contents(wanted)
    assert not [name for name in contents(out) if name.rpartition("/")[2].startswith(".")]


def test_remains_of_a_killed_export_go_at_once(hard: Hansard, hard_place: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with child(hard_place, out, "markdown", 4) as process:
        assert process.stdout is not None
        process.stdout.readline()
    hard.export(None, out, format="markdown", timezone="UTC")
    assert not list(out.rglob(".hansard-*.tmp"))


@pytest.mark.usefixtures("patient")
def test_one_export_to_a_folder_at_a_time(small: Hansard, store: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with child(store, out, "json", 2) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "here\n"
        with (
            pytest.raises(StoreBusy, match=r"another export is writing to .*out"),
            manifest.held(str(out / manifest.LOCK), str(out), 0),
        ):
            raise AssertionError
        assert small.export(None, tmp_path / "elsewhere", format="json").written == 2
        process.stdin.close()  # it goes on
        done = small.export(None, out, format="json", timezone="UTC")
        assert process.stdout.readline() == "done\n"
    assert not done.failed
    assert done.written + done.unchanged == 2


@pytest.mark.usefixtures("patient")
def test_many_exports_at_once_know_of_each_other(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    forms = ("html", "markdown", "json", "jsonl", "csv", "parquet")
    failed: list[BaseException] = []

    def work(form: str) -> None:
        try:
            with hansard.open(store / "store", [store / "claude"]) as h:
                h.export(None, out, format=form, timezone="UTC")
        except BaseException as error:  # noqa: BLE001 - told below
            failed.append(error)

    threads = [threading.Thread(target=work, args=(form,)) for form in forms * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    with hansard.open(store / "store", [store / "claude"]) as h:
        for form in forms:
            assert h.export(None, out, format=form, timezone="UTC").written == 0
    known = json.loads((out / NAME).read_text())["files"]
    assert {path.name for path in out.iterdir()} == {*known, NAME, manifest.LOCK}


def test_single_files_are_all_remembered(store: Path, tmp_path: Path) -> None:
    with (
        hansard.open(store / "store", [store / "claude"]) as first,
        hansard.open(store / "store", [store / "claude"]) as second,
    ):

        def meanwhile(_done: int, _total: int) -> None:
            if not (tmp_path / "b.json").exists():
                second.export([OTHER], tmp_path / "b.json")

        first.export([SESSION], tmp_path / "a.json", progress=meanwhile)
        assert first.export([SESSION], tmp_path / "a.json").unchanged == 1
        assert first.export([OTHER], tmp_path / "b.json").unchanged == 1
    known = json.loads((store / "store" / SINGLE).read_text())["files"]
    assert {Path(path).name for path in known} == {"a.json", "b.json"}


def test_of_two_exports_of_one_file_the_list_tells_the_one_that_stands_there(tmp_path: Path) -> None:
    path, target = str(tmp_path / SINGLE), str(tmp_path / "x.json")
    early, late = Manifest(path, single=True), Manifest(path, single=True)
    Path(target).write_text("late")
    status = os.stat(target)
    late.files[target] = Written("2", "json", "later", status.st_size, status.st_mtime_ns, "")
    late.save()
    early.files[target] = Written("1", "json", "earlier", 99, 1, "")
    early.save()
    assert Manifest(path, single=True).files[target].fingerprint == "later"
    late.files.pop(target)
    late.save()
    assert Manifest(path, single=True).files == {}


def test_a_folder_that_nothing_came_into_is_not_left_behind(small: Hansard, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        small.export(None, tmp_path / "new" / "folder", format="csv", tables=["no_such_table"])
    assert not (tmp_path / "new").exists()
    (tmp_path / "old").mkdir()
    with pytest.raises(UsageError):
        small.export(None, tmp_path / "old", format="csv", tables=["no_such_table"])
    assert list((tmp_path / "old").iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="there are no such links")
def test_a_link_in_the_place_of_the_lock_is_not_followed(small: Hansard, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "precious").write_bytes(b"")
    (out / manifest.LOCK).symlink_to(tmp_path / "precious")
    assert small.export(None, out, format="json").written == 2
    assert (tmp_path / "precious").read_bytes() == b""
    assert (out / manifest.LOCK).is_symlink()
