"""`hansard free`: shown first, then done, then undone."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from .conftest import OTHER, SESSION, Run

if TYPE_CHECKING:
    from pathlib import Path

OLD = 1_700_000_000


def age(root: Path) -> None:
    for path in root.rglob("*"):
        os.utime(path, (OLD, OLD))


def test_shown_done_undone(run: Run, root: Path) -> None:
    fresh = run("free")
    assert "its session changed within a day" in fresh.stdout
    assert "can be freed" not in fresh.stderr
    age(root)
    there = {path: path.read_bytes() for path in root.rglob("*.jsonl")}
    shown = run("free")
    assert shown.stdout.startswith("KIND ")
    assert "transcripts" in shown.stdout
    assert "can be freed: run this again with --yes" in shown.stderr
    assert {path: path.read_bytes() for path in root.rglob("*.jsonl")} == there
    done = run("free", SESSION[:8], "--yes")
    assert "1 file removed" in done.stdout
    assert not list(root.rglob(f"{SESSION}.jsonl"))
    assert run("free", "--older-than", "30d", "--yes").exit_code == 0
    assert not list(root.rglob("*.jsonl"))
    assert "2 transcripts freed" in run("status").stdout
    assert "freed in the client's folder" in run("show", SESSION).stdout
    assert OTHER[:8] in run("sessions", "is:freed").stdout
    undone = run("free", "--undo")
    assert "2 files written back" in undone.stdout
    assert "unless you add --touch" in undone.stderr
    assert {path: path.read_bytes() for path in root.rglob("*.jsonl")} == there
    assert "freed" not in run("status").stdout


def test_json(run: Run, root: Path) -> None:
    age(root)
    plan = json.loads(run("free", "--json").stdout)
    assert (plan["applied"], plan["files"], plan["not_stored"]) == (False, 2, [])
    assert {item["kind"] for item in plan["items"]} == {"transcript"}
    done = json.loads(run("free", "--yes", "--json").stdout)
    assert done == {"applied": True, "files": 2, "bytes": plan["bytes"], "left": []}
    undone = json.loads(run("free", "--undo", "--touch", "--json").stdout)
    assert undone == {"applied": True, "written": 2, "same": 0, "bytes": plan["bytes"]}


def test_nothing_matches(run: Run) -> None:
    none = run("free", "--older-than", "2020-05-01T00:00", "--kind", "todo", "--kind", "paste", code=1)
    assert none.stdout == ""
    assert "no stored file was last changed before 2020-05-01 00:00 and is of kind todo or paste" in none.stderr
    assert run("free", "--older-than", "2020-05-01", "--yes").stdout == "0 files removed, 0 B freed\n"


def test_errors(run: Run) -> None:
    assert "nothing to bring back" in run("free", "--undo", code=1).stderr
    assert "nothing to bring back" in run("free", "--undo", "--yes", code=1).stderr
    assert "--touch belongs to --undo" in run("free", "--touch", code=2).stderr
