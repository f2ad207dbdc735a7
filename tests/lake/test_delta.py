"""A lake of Delta tables has the same rows as one of files, and machines commit at the same time."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.engine import Hansard
from hansard.errors import UsageError
from hansard.lake import push as pushing
from hansard.lake.relations import RELATIONS
from hansard.lake.store import Lake
from tests.lake.conftest import push
from tests.lake.test_push import content
from tests.lake.test_usage import report_of

deltalake: Any = pytest.importorskip("deltalake")
pytest.importorskip("duckdb")


def test_the_rows_of_files(machines: dict[str, Hansard], tmp_path: Path) -> None:
    """After several pushes, one of which removes sessions."""
    for machine in ("both", "ann"):
        push(machines[machine], tmp_path / "delta", table="delta")
        push(machines[machine], tmp_path / "files")
        assert content(tmp_path / "delta") == content(tmp_path / "files")
    version = deltalake.DeltaTable(tmp_path / "delta" / "delta" / "usage_lines").version()
    assert push(machines["ann"], tmp_path / "delta", table="delta").sessions == 0
    assert deltalake.DeltaTable(tmp_path / "delta" / "delta" / "usage_lines").version() == version


def test_its_size_is_that_of_the_files(machines: dict[str, Hansard], tmp_path: Path) -> None:
    """Of each machine; what another one has does not count."""
    push(machines["bob"], tmp_path, "laptop-2", table="delta")
    report = push(machines["ann"], tmp_path, "laptop", table="delta")
    assert report.rows
    with Lake(str(tmp_path)) as lake:
        known = {one.machine: one.bytes for one in lake.status().machines}
    assert 0 < report.bytes < known["laptop"]  # which has its prices too
    assert sum(known.values()) == sum(
        path.stat().st_size for path in (tmp_path / "delta").glob("*/month=*/part=*/*.parquet")
    )


def test_two_machines_commit_at_once(machines: dict[str, Hansard], tmp_path: Path) -> None:
    homes = {machine: (machines[machine].home, machines[machine].roots[0].path) for machine in ("ann", "bob")}
    errors: list[Exception] = []

    def run(machine: str) -> None:
        home, root = homes[machine]
        try:
            with hansard.open(home, [root]) as h:
                push(h, tmp_path, machine, table="delta")
        except Exception as error:  # noqa: BLE001 - shown below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(machine,)) for machine in homes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    with Lake(str(tmp_path)) as lake:
        for by in ("total", "model", "project"):
            assert report_of(lake.usage(by=by)) == report_of(machines["both"].usage(by=by))


def test_a_killed_push_is_completed_by_the_next(
    machines: dict[str, Hansard], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    push(machines["bob"], tmp_path / "lake", table="delta")
    monkeypatch.setattr(pushing, "write_manifest", killed)
    with pytest.raises(KeyboardInterrupt):
        push(machines["ann"], tmp_path / "lake", table="delta")
    monkeypatch.undo()
    push(machines["ann"], tmp_path / "lake", table="delta")
    push(machines["ann"], tmp_path / "files")
    assert content(tmp_path / "lake") == content(tmp_path / "files")


def test_tables_are_read_by_name(machines: dict[str, Hansard], tmp_path: Path) -> None:
    """With nothing of Hansard's: every relation that has rows is a Delta table of its own."""
    push(machines["ann"], tmp_path, table="delta")
    with Lake(str(tmp_path)) as lake:
        engine = lake.engine()
        counts = {name: engine.rows(f"SELECT count(*) FROM pushed_{name}")[0][0] for name in RELATIONS}
        engine.close()
    tables = {path.name: deltalake.DeltaTable(path).count() for path in (tmp_path / "delta").iterdir()}
    assert tables == {name: count for name, count in counts.items() if count}


def test_a_machine_keeps_its_form(machines: dict[str, Hansard], tmp_path: Path) -> None:
    push(machines["ann"], tmp_path, table="delta")
    with pytest.raises(UsageError, match="--table delta"):
        push(machines["ann"], tmp_path)
    push(machines["bob"], tmp_path, "other")  # machines may differ
    with Lake(str(tmp_path)) as lake:
        assert report_of(lake.usage(by="total")) == report_of(machines["both"].usage(by="total"))
    with pytest.raises(UsageError, match="unknown table format"):
        push(machines["ann"], tmp_path, table="iceberg")
