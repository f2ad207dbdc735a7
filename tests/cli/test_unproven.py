"""A content that its file may never have had is not passed off as verbatim."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hansard.record.store import Record

from .conftest import SESSION, Run, said, write_log

if TYPE_CHECKING:
    from pathlib import Path


def test_unproven_bytes_are_marked_wherever_they_are_shown(root: Path, run: Run, tmp_path: Path) -> None:
    path = write_log(root, SESSION, [said(1, "When is high tide?"), said(2, "At noon.", role="assistant")])
    run("sync")
    assert json.loads(run("verify", "--json").stdout)["unproven"] == []
    assert json.loads(run("cat", SESSION, "--json").stdout)["unproven_from"] is None
    content = path.read_bytes()
    path.unlink()
    with Record.open(str(tmp_path / "store" / "record.db")) as record, record.writing():
        (generation,) = [item.id for item in record.generations() if SESSION in item.path]
        record.doubt("log", generation, 30)

    shown = run("verify")
    assert "1 content is UNPROVEN" in " ".join(shown.stdout.split())
    assert f"from 30 to {len(content)}" in " ".join(shown.stdout.split())
    (item,) = json.loads(run("verify", "--json").stdout)["unproven"]
    assert (item["generation"], item["snapshot"], item["proven"], item["size"]) == (generation, None, 30, len(content))

    assert "unproven from byte 30 on" in run("cat", SESSION).stderr
    assert json.loads(run("cat", SESSION, "--json").stdout)["unproven_from"] == 30

    for options in ([], ["--dry-run"]):
        assert "unproven from byte 30 on" in run("restore", SESSION, "--to", str(tmp_path / "out"), *options).stderr
    done = json.loads(run("restore", SESSION, "--to", str(tmp_path / "out"), "--json").stdout)
    assert [file["unproven_from"] for file in done["files"] if file["path"].endswith(".jsonl")] == [30]

    assert json.loads(run("status", "--json").stdout)["unproven"] == 1
    assert "1 content: see `hansard verify`" in run("status").stdout
