"""A damaged record: what doctor says of it, and how the rest is saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hansard.record.database import DAMAGED_TEXT
from hansard.sources.tail import open_tail
from hansard.storage.sqlite import PAGE_SIZE, checksum_vfs
from hansard.sync import record_writer
from tests.record.making import chunk_pages, flip, flip_bit

from .conftest import SESSION, Run, runner, said, write_log


def test_an_unreadable_transcript_is_named_by_every_command(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:

    def refuse(path: str, *more: Any, **named: Any) -> Any:
        if SESSION in path:
            raise PermissionError(13, "Permission denied", path)
        return open_tail(path, *more, **named)

    monkeypatch.setattr(record_writer, "open_tail", refuse)
    run("sync", code=10)
    for command, code in ((["doctor"], 1), (["status"], 0), ([], 0)):
        said = " ".join(run(*command, "--no-sync", code=code).stdout.split())
        assert "could not be kept" in said, command
        assert "Permission denied" in said, command
    problem = json.loads(run("status", "--no-sync", "--json").stdout)["problems"][0]
    assert (problem["stage"], problem["subject"].endswith(f"{SESSION}.jsonl")) == ("read", True)


def _findings(run: Run, code: int) -> list[dict[str, str]]:
    found = json.loads(run("doctor", "--json", "--no-sync", code=code).stdout)["findings"]
    return [finding for finding in found if finding["subject"] == "record"]


def test_doctor_does_not_call_a_damaged_chunk_sound(run: Run, root: Path, tmp_path: Path) -> None:
    run("sync")
    (found,) = _findings(run, 0)
    assert "all 2 chunks match their hashes" in found["text"]
    flip(tmp_path / "store" / "record.db", "chunk", 1)
    (found,) = _findings(run, 1)
    assert found["level"] == "error"
    assert "damaged chunk: projects/" in found["text"]
    run("verify", code=1)
    assert ["`hansard verify` found 1 place damaged" in found["text"] for found in _findings(run, 1)] == [False, True]
    run("verify", "--repair")
    (found,) = _findings(run, 0)
    assert found["level"] == "ok"


@pytest.mark.skipif(checksum_vfs() is None, reason="this apsw carries no cksumvfs")
def test_lists_mark_what_is_damaged_and_other_commands_fail(run: Run, root: Path, tmp_path: Path) -> None:
    """A flipped bit used to change what `search` and `tools` print, with exit code 0."""
    record = tmp_path / "store" / "record.db"
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "tide --at noon"}}
    line = said(3, "", role="assistant")
    line["message"]["content"] = [call]
    write_log(root, SESSION, [said(1, "When is high tide?"), said(2, "At noon.", role="assistant"), line])
    run("sync")
    commands = {"search": ("search", "noon"), "tools": ("tools", "Bash")}
    before = {name: run(*command, "--no-sync", "--json").stdout for name, command in commands.items()}
    assert all("noon" in output for output in before.values())
    for page in chunk_pages(record):
        flip_bit(record, page * PAGE_SIZE * 8 + 40_001)
        for command in commands.values():
            output = run(*command, "--no-sync", "--json").stdout
            assert DAMAGED_TEXT in json.dumps(json.loads(output), ensure_ascii=False)
        for command in (("show", SESSION), ("cat", SESSION)):
            failed = run(*command, "--no-sync", code=5)
            assert "hansard verify --repair" in " ".join(failed.output.split())
        flip_bit(record, page * PAGE_SIZE * 8 + 40_001)


@pytest.mark.skipif(checksum_vfs() is None, reason="this apsw carries no cksumvfs")
@pytest.mark.parametrize("byte", [20, 3000])
def test_one_command_repairs_a_record_that_cannot_be_opened(run: Run, tmp_path: Path, byte: int) -> None:
    run("sync")
    run("tag", SESSION, "sea")
    before = run("sessions", "--json").stdout
    flip_bit(tmp_path / "store" / "record.db", byte * 8 + 3)
    assert "hansard verify --repair" in " ".join(run("verify", code=5).output.split())
    said = " ".join(run("verify", "--repair").stdout.split())
    assert "all intact" in said
    assert "1 mismatch was repaired" in said
    assert "the damaged record is kept as" in said
    run("verify", "--deep")
    assert run("sessions", "--json", "--no-sync").stdout == before


def test_a_broken_record_is_salvaged(run: Run, root: Path, tmp_path: Path) -> None:
    run("sync")
    flip(tmp_path / "store" / "record.db", "chunk", 1)
    new = tmp_path / "saved"
    said = " ".join(run("verify", "--salvage", str(new)).stdout.split())
    assert "2 files" in said
    assert "LOST in 1 place" in said
    saved = runner(root, new)
    saved("verify", code=1)
    saved("verify", "--repair")
    content = (root / "projects" / "-src-tide" / f"{SESSION}.jsonl").read_bytes()
    assert saved("cat", SESSION).stdout_bytes == content
    run("verify", "--salvage", str(new), code=2)
    run("verify", "--salvage", str(tmp_path / "other"), "--deep", code=2)
    report = json.loads(run("verify", "--salvage", str(tmp_path / "third"), "--json").stdout)
    assert [loss["offset"] for loss in report["losses"]] == [0]
