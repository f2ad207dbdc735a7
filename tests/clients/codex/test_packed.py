"""Rollouts that the client compressed are the same logs as before."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import IO

import pytest
import zstandard

import hansard
from hansard.sources import tail
from tests.clients.codex.history import FORK, THREAD, write
from tests.sync.dumping import assert_same, dump


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / ".codex")
    return tmp_path / ".codex"


def rollout(root: Path) -> Path:
    (path,) = root.rglob(f"*{THREAD}.jsonl")
    return path


def pack(path: Path) -> Path:
    """Compress a rollout as the client does after a week."""
    packed = path.with_name(path.name + ".zst")
    packed.write_bytes(zstandard.ZstdCompressor(3).compress(path.read_bytes()))
    os.utime(packed, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    path.unlink()
    return packed


def test_a_packed_rollout_has_the_rows_of_the_plain_one(root: Path, tmp_path: Path) -> None:
    with hansard.open(tmp_path / "plain", [root]) as h:
        h.sync()
    pack(rollout(root))
    with hansard.open(tmp_path / "packed", [root]) as h:
        h.sync()
    assert_same(dump(tmp_path / "packed"), dump(tmp_path / "plain"))


def test_a_packed_rollout_is_unpacked_in_the_data_directory(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = []

    def temporary_file(dir: str | None = None) -> IO[bytes]:  # noqa: A002 - as it is called
        folders.append(dir)
        return original(dir=dir)

    original = tempfile.TemporaryFile
    monkeypatch.setattr(tempfile, "TemporaryFile", temporary_file)
    pack(rollout(root))
    with hansard.open(tmp_path / "store", [root]) as h:
        h.sync()
    assert set(folders) == {str(tmp_path / "store")}


def test_packing_changes_nothing(root: Path, tmp_path: Path) -> None:
    with hansard.open(tmp_path / "store", [root]) as h:
        h.sync()
        before = dump(tmp_path / "store")
        content = rollout(root).read_bytes()
        pack(rollout(root))
        for _ in range(2):
            assert h.sync().gone == 0
        assert_same(dump(tmp_path / "store"), before)
        assert b"".join(h.cat(THREAD)) == content
        assert not h.verify(full=True).mismatches


def test_a_thread_that_is_unpacked_and_continued(root: Path, tmp_path: Path) -> None:
    path = rollout(root)
    with hansard.open(tmp_path / "store", [root]) as h:
        packed = pack(path)
        h.sync()
        plain = zstandard.ZstdDecompressor().decompress(packed.read_bytes())
        more = b'{"timestamp":"2026-03-09T09:00:00.000Z","type":"event_msg","payload":{"type":"user_message","message":"Hello again"}}\n'
        path.write_bytes(plain + more)  # the client removes the packed one afterwards
        h.sync()
        packed.unlink()
        h.sync()
        assert b"".join(h.cat(THREAD)) == plain + more
        assert [hit.session_id for hit in h.search("'hello again'").hits] == [THREAD]
        assert h.reader.one("SELECT count(*) FROM transcripts WHERE path LIKE ?", (f"%{THREAD}.jsonl",)) == (1,)


@pytest.mark.parametrize("damage", [b"", b"not zstandard", None])
def test_a_damaged_one_is_named(
    root: Path, tmp_path: Path, damage: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = pack(rollout(root))
    if damage is None:
        monkeypatch.setattr(tail, "LARGEST_UNPACKED", 100)
    else:
        packed.write_bytes(damage)
    with hansard.open(tmp_path / "store", [root]) as h:
        report = h.sync()
        assert len(report.unreadable) == (0 if damage == b"" else 1)
        assert h.session(FORK).prompts == 4
