"""What machines push is what they have, in whatever order, however often, and wherever a push ends."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import hansard
from benchmarks.load.metered import write_metered
from hansard.engine import Hansard
from hansard.errors import HansardError, StoreBusy, StoreNewer, UsageError
from hansard.files import FileLock
from hansard.lake import files as lake_files
from hansard.lake import parts as lake_parts
from hansard.lake import push as pushing
from hansard.lake.relations import RELATIONS
from hansard.lake.storage import Bucket, LakeUnusable
from hansard.lake.store import Lake
from tests.lake.conftest import push
from tests.team.conftest import TOKEN, write_session

pytest.importorskip("duckdb")


def content(lake: Path | str) -> dict[str, list[Any]]:
    """Every row that readers see."""
    with Lake(str(lake)) as opened:
        engine = opened.engine()
        try:
            return {name: sorted(engine.rows(f"SELECT * FROM pushed_{name}"), key=repr) for name in RELATIONS}
        finally:
            engine.close()


def everything(lake: Path) -> str:
    """All files as text, rows of Parquet files as DuckDB reads them."""
    texts = [path.read_text() for path in lake.rglob("*.json")] + [str(path) for path in lake.rglob("*")]
    return "\n".join(texts) + repr(content(lake))


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several parts of a month, and a manifest after each."""
    monkeypatch.setattr(lake_parts, "MOST_SESSIONS", 2)
    monkeypatch.setattr(pushing, "_CHECKPOINT", 1)


def test_pushing_again_changes_nothing(machines: dict[str, Hansard], tmp_path: Path) -> None:
    first = push(machines["ann"], tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    rows = content(tmp_path)
    again = push(machines["ann"], tmp_path)
    assert (again.sessions, again.removed, again.unchanged) == (0, 0, first.sessions)
    assert again.files <= 2  # the machine and its prices
    assert content(tmp_path) == rows
    assert set(tmp_path.rglob("*.parquet")) == set(before)


@pytest.mark.usefixtures("small_parts")
def test_increments_end_where_one_push_does(tmp_path: Path) -> None:
    """Lines are appended, a file is rewritten and more come; only the parts of changed sessions are written."""
    write_metered(tmp_path / "all", messages=1400)
    paths = sorted((tmp_path / "all" / "projects").rglob("*.jsonl"))
    (tmp_path / "claude" / "projects").mkdir(parents=True)
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as h:
        for step in range(1, 4):
            for path in paths[: len(paths) * step // 3]:
                copy = tmp_path / "claude" / path.relative_to(tmp_path / "all")
                copy.parent.mkdir(parents=True, exist_ok=True)
                lines = path.read_bytes().splitlines(keepends=True)
                copy.write_bytes(b"".join(lines[len(lines) // 8 * (step == 2) : len(lines) * step // 3]))
            h.sync()
            push(h, tmp_path / "lake")
        push(h, tmp_path / "once")
        assert content(tmp_path / "lake") == content(tmp_path / "once")
        main = max(tmp_path.glob("claude/projects/*/*.jsonl"), key=os.path.getsize)
        lines = main.read_bytes().splitlines(keepends=True)
        main.write_bytes(b"".join([*lines, re.sub(rb'"uuid":"........', b'"uuid":"99999999', lines[-1])]))
        h.sync()
        report = push(h, tmp_path / "lake")
        assert 1 <= report.sessions < report.unchanged
        push(h, tmp_path / "again")
        assert content(tmp_path / "lake") == content(tmp_path / "again")


def test_sessions_that_are_gone_are_removed(machines: dict[str, Hansard], tmp_path: Path) -> None:
    push(machines["both"], tmp_path / "lake")
    report = push(machines["bob"], tmp_path / "lake")
    push(machines["bob"], tmp_path / "once")
    assert report.removed
    assert content(tmp_path / "lake") == content(tmp_path / "once")


class _KilledError(Exception):
    """The process ended."""


@pytest.mark.usefixtures("small_parts")
def test_a_push_that_ends_anywhere_is_completed_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed before or after the rename of a file; at no moment do readers see a session twice."""
    for number in range(5):
        write_session(tmp_path / "claude", f"/src/{number}", "heron")
        if number in (2, 4):
            with hansard.open(tmp_path / f"store {number}", [tmp_path / "claude"]) as h:
                h.sync()
    machines = {name: hansard.open(tmp_path / f"store {number}") for name, number in (("before", 2), ("now", 4))}
    push(machines["now"], tmp_path / "once")
    wanted = content(tmp_path / "once")
    written, ends_at = 0, 0
    replace = os.replace

    def counted(source: str, target: str) -> None:
        nonlocal written
        written += 1
        if written == ends_at and ends_at % 2:
            raise _KilledError
        replace(source, target)
        if written == ends_at:
            raise _KilledError

    monkeypatch.setattr("hansard.lake.storage.os.replace", counted)
    for number in count(1, 3):
        lake = tmp_path / str(number)
        written, ends_at = 0, 0
        if number % 2:  # another state was there before
            push(machines["before"], lake)
        written, ends_at = 0, number
        with suppress(_KilledError):
            push(machines["now"], lake)
        if written < number:
            assert number > 20
            break
        ends_at = 0
        if (lake / "manifests").exists():
            seen = content(lake)
            assert len({row[2] for row in seen["sessions"]}) == len(seen["sessions"])
        push(machines["now"], lake)
        assert content(lake) == wanted
    for h in machines.values():
        h.close()


def test_two_machines_at_once(machines: dict[str, Hansard], tmp_path: Path) -> None:
    homes = {machine: (machines[machine].home, machines[machine].roots[0].path) for machine in ("ann", "bob")}

    def run(machine: str) -> None:
        home, root = homes[machine]
        with hansard.open(home, [root]) as h:
            push(h, tmp_path / "lake", machine)

    threads = [threading.Thread(target=run, args=(machine,)) for machine in homes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for machine in homes:
        push(machines[machine], tmp_path / "once", machine)
    assert content(tmp_path / "lake") == content(tmp_path / "once")


def test_one_push_of_a_store_at_a_time(
    machines: dict[str, Hansard], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pushing, "_PATIENCE", 0.01)
    h = machines["ann"]
    with FileLock(os.path.join(h.home, "lake.lock"), 1) as is_held:
        assert is_held
        with pytest.raises(StoreBusy, match="another push"):
            push(h, tmp_path)


def test_replaced_and_stray_files_are_removed_in_time(
    machines: dict[str, Hansard], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    push(machines["ann"], tmp_path)
    former = set(tmp_path.rglob("usage_lines/**/*.parquet"))
    stray = next(iter(former)).with_name("0" * 32 + ".parquet")
    stray.write_bytes(b"half of a fi")
    push(machines["bob"], tmp_path)
    assert former | {stray} <= set(tmp_path.rglob("*.parquet"))  # somebody may be reading them
    monkeypatch.setattr(lake_files, "GRACE", timedelta(0))
    old = time.time() - 2 * lake_files.STRAY.total_seconds()
    os.utime(stray, (old, old))
    push(machines["bob"], tmp_path)
    with Lake(str(tmp_path)) as lake:
        current = {Path(path) for name in RELATIONS for path in lake.files(name)}
    assert set(tmp_path.rglob("*.parquet")) == current
    assert not former <= current


def test_texts_of_opened_projects_only(tmp_path: Path) -> None:
    write_session(tmp_path / "claude", "/src/webshop", "heron")
    write_session(tmp_path / "claude", "/src/secrets", "otter")
    lake = tmp_path / "lake"
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as h:
        h.sync()
        push(h, lake)
        assert "heron" not in everything(lake)
        assert "/src/secrets" in everything(lake)  # figures are by project
        report = push(h, lake, opened=("webshop",))
        assert report.opened == ("/src/webshop",)
        for words in ("heron title", "heron prompt", "heron.py"):
            assert words in everything(lake)
        assert "otter" not in everything(lake)
        assert TOKEN not in everything(lake)  # redacted
        assert re.search(r"heron prompt \[github-", everything(lake))
        push(h, lake)
        assert "heron" not in everything(lake)


def test_people_have_pseudonyms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the person nor the machine nor the home directory can be read; who shares the key gets the same names."""
    monkeypatch.setenv("HOME", "/home/ann.lee")
    write_session(tmp_path / "claude", "/src/webshop", "heron")
    (written,) = (tmp_path / "claude" / "projects").iterdir()
    for path in written.iterdir():
        path.write_text(path.read_text().replace('"/src/', '"/home/ann.lee/src/'))
    written.rename(written.with_name("-home-ann-lee-src-webshop"))
    given: dict[str, Any] = {"machine": "lees-laptop", "person": "Ann Lee", "names": False, "opened": ("webshop",)}
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as h:
        h.sync()
        first = push(h, tmp_path / "lake", **given)
        assert push(h, tmp_path / "lake", **given).person == first.person
        assert not re.search(r"(?i)ann.lee|lees-laptop", everything(tmp_path / "lake").replace(str(tmp_path), ""))
        assert "~/src/webshop" in everything(tmp_path / "lake")
        shared = push(h, tmp_path / "other", key="a phrase of the team", **given)
        assert shared.person != first.person
    with hansard.open(tmp_path / "elsewhere", [tmp_path / "claude"]) as h:
        h.sync()
        there = push(h, tmp_path / "third", key="a phrase of the team", **{**given, "machine": "desktop"})
        assert there.person == shared.person
        assert there.machine != shared.machine
    assert (tmp_path / "store" / "lake.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["../../x", "'; DROP TABLE x --", "\u202e\U0001f4a9 名前", "x" * 300, "a/b\\c"])
def test_names_are_data(name: str, tmp_path: Path) -> None:
    write_session(tmp_path / "claude", f"/src/{name[:60]}", "heron")
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as h:
        h.sync()
        push(h, tmp_path / "lakes" / "lake", name, person=name)
        assert [path.name for path in (tmp_path / "lakes").iterdir()] == ["lake"]
        with Lake(str(tmp_path / "lakes" / "lake")) as lake:
            report = lake.usage(by="person,machine")
        assert [row.key for row in report.rows] == [{"person": name, "machine": name}]
        assert report.totals == h.usage(by="total").totals


@pytest.mark.parametrize(
    ("more", "words"),
    [({"machine": " "}, "machine needs a name"), ({"person": ""}, "person needs a name"), ({"target": " "}, "place")],
)
def test_what_is_missing_is_said(
    more: dict[str, str], words: str, machines: dict[str, Hansard], tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=words):
        push(machines["ann"], tmp_path, **more)


def test_newer_and_damaged_manifests_are_refused(machines: dict[str, Hansard], tmp_path: Path) -> None:
    push(machines["ann"], tmp_path)
    path = tmp_path / "manifests" / "laptop.json"
    manifest = json.loads(path.read_bytes())
    path.write_text(json.dumps(manifest | {"version": 99}))
    with pytest.raises(StoreNewer, match="update Hansard"):
        push(machines["ann"], tmp_path)
    path.write_bytes(b'{"version": 1, "mach')
    with pytest.raises(HansardError, match="damaged"):
        Lake(str(tmp_path))
    path.write_text(json.dumps(manifest | {"version": 0}))  # an older layout is written again
    assert push(machines["ann"], tmp_path).sessions


def test_a_directory_that_cannot_be_written(machines: dict[str, Hansard], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LakeUnusable, match="file"):
        push(machines["ann"], tmp_path / "file" / "lake")


def test_an_object_store(machines: dict[str, Hansard], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same rows as in a directory; what a report needs is fetched."""
    store = pytest.importorskip("obstore.store")
    bucket = Bucket("memory:///lake", store.MemoryStore())
    monkeypatch.setattr(pushing, "open_storage", lambda _: bucket)
    push(machines["ann"], "memory:///lake")
    push(machines["bob"], "memory:///lake")
    monkeypatch.setattr(lake_files, "STRAY", timedelta(seconds=-1))
    bucket.write("usage_lines/laptop/2026-01/stray.parquet", b"x")
    push(machines["bob"], "memory:///lake")
    assert not [one for one in bucket.files("usage_lines/laptop") if "stray" in one.path]
    assert all(abs(datetime.now(UTC) - one.modified) < timedelta(hours=1) for one in bucket.files("manifests"))
    monkeypatch.setattr("hansard.lake.store.open_storage", lambda _: bucket)
    found = content("memory:///lake")
    monkeypatch.undo()
    push(machines["bob"], tmp_path)
    assert found == content(tmp_path)


def test_urls_of_object_stores(machines: dict[str, Hansard]) -> None:
    pytest.importorskip("obstore")
    with pytest.raises(UsageError, match="not the URL of an object store"):
        push(machines["ann"], "gopher://x")
