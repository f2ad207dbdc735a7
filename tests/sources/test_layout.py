"""Which files are kept, and that a walk misses none of them."""

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hansard.clients.claude_code.layout import LAYOUT, encode_project, project_dir_of
from hansard.clients.claude_code.roots import open_root
from hansard.sources import discover as walk
from hansard.sources.discover import Found, discover
from hansard.sources.roots import FileKind, Root
from tests.recordings import find_recordings

SID = "0b2d0a2e-8f3c-4b2c-9b5e-1234567890ab"

KINDS = {
    f"projects/-a/{SID}.jsonl": FileKind.MAIN,
    "projects/-a/saved stream.jsonl": FileKind.MAIN,
    "projects/loose.jsonl": FileKind.MAIN,
    "projects/-a/agent-1234567.jsonl": FileKind.AGENT,
    "projects/-a/sessions-index.json": FileKind.SESSIONS_INDEX,
    "projects/-a/.session-aliases": FileKind.SESSION_ALIASES,
    "projects/-a/bridge-pointer.json": FileKind.OTHER,
    "projects/-a/tiny_memory/notes.yaml": FileKind.MEMORY,
    "projects/-a/bagel/any name": FileKind.OTHER,
    "projects/-a/cloud-snapshots/one.tar": FileKind.OTHER,
    "projects/-a/cloud-snapshots/deep/log.jsonl": FileKind.LOG,
    "projects/-a/connector-downloads/report.pdf": FileKind.OTHER,
    "projects/-a/memory/MEMORY.md": FileKind.MEMORY,
    "projects/-a/memory/deep/er/topic.yaml": FileKind.MEMORY,
    "projects/-a/notes.md": FileKind.OTHER,
    f"projects/-a/{SID}/custom-title.json": FileKind.TITLE,
    f"projects/-a/{SID}/1794821902111.cast": FileKind.CAST,
    f"projects/-a/{SID}/extra.jsonl": FileKind.LOG,
    f"projects/-a/{SID}/new-folder/extra.jsonl": FileKind.LOG,
    f"projects/-a/{SID}/new-folder/x.txt": FileKind.OTHER,
    f"projects/-a/{SID}/subagents/agent-a1.jsonl": FileKind.AGENT,
    f"projects/-a/{SID}/subagents/agent-a1.meta.json": FileKind.AGENT_META,
    f"projects/-a/{SID}/subagents/group/agent-a2.jsonl": FileKind.AGENT,
    f"projects/-a/{SID}/subagents/trace.jsonl": FileKind.LOG,
    f"projects/-a/{SID}/subagents/journal.jsonl": FileKind.LOG,
    f"projects/-a/{SID}/subagents/workflows/run-1/journal.jsonl": FileKind.JOURNAL,
    f"projects/-a/{SID}/subagents/workflows/run-1/agent-a3.jsonl": FileKind.AGENT,
    f"projects/-a/{SID}/workflows/run-1.json": FileKind.WORKFLOW,
    f"projects/-a/{SID}/workflows/scripts/run-1.js": FileKind.OTHER,
    f"projects/-a/{SID}/tool-results/toolu_1.txt": FileKind.TOOL_RESULT,
    f"projects/-a/{SID}/tool-results/mcp-blob.png": FileKind.TOOL_RESULT,
    f"projects/-a/{SID}/tool-results/call_7": FileKind.TOOL_RESULT,
    f"projects/-a/{SID}/tool-results/rows.jsonl": FileKind.TOOL_RESULT,
    "history.jsonl": FileKind.HISTORY,
    "stats-cache.json": FileKind.STATS,
    f"todos/{SID}-agent-{SID}.json": FileKind.TODO,
    f"tasks/{SID}/1.json": FileKind.TASK,
    "plans/slug.md": FileKind.PLAN,
    "paste-cache/35c3dd309d41d72e.txt": FileKind.PASTE,
    f"file-history/{SID}/2471157d4270b35f@v1": FileKind.FILE_HISTORY,
}
LEFT_OUT = {
    "projects/-a/export.html",
    "projects/-a/.DS_Store",
    "projects/-a/.x.jsonl",
    "projects/-a/memory/.session-aliases",
    "projects/.session-aliases",
    "projects/-a/1794821902111.cast",
    "projects/-a/cache.db",
    f"projects/-a/{SID}/tool-results/x.tmp",
    "projects/x.lock",
}
NOT_LOOKED_AT = {
    "projects/.hidden/x.jsonl",
    f"tasks/{SID}/.lock",
    f"tasks/{SID}/x.lock",
    "todos/x.txt",
    "settings.json",
    "stats.jsonl",
    "backups/stats-cache.json",
    "debug/x.txt",
}


def build(base: Path) -> Root:
    for path in {*KINDS, *LEFT_OUT, *NOT_LOOKED_AT}:
        file = base / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(path)
    return open_root(str(base))


def paths(found: list[Found]) -> set[str]:
    return {item.path for item in found}


@pytest.mark.parametrize("path", [*KINDS, *LEFT_OUT, *NOT_LOOKED_AT])
def test_a_path_tells_its_kind(path: str) -> None:
    assert LAYOUT.kind_of(path) == KINDS.get(path)


def test_logs_are_told_from_whole_files() -> None:
    assert {kind.value for kind in FileKind if kind.is_log} == {"main", "agent", "journal", "history", "log", "cast"}


def test_the_walk_finds_all_with_their_status(tmp_path: Path) -> None:
    root = build(tmp_path)
    found, unreadable, left_out = discover(root)
    assert {item.path: item.kind for item in found} == KINDS
    assert len(found) == len(KINDS)
    assert unreadable == []
    assert {(item.path, item.size) for item in left_out} == {
        ("projects/.hidden", 0),
        *((path, len(path)) for path in LEFT_OUT),
    }
    assert all(item.reason and not item.target for item in left_out)
    for item in found:
        status = os.stat(root.locate(item.path))
        assert (item.size, item.mtime_ns, item.mode) == (status.st_size, status.st_mtime_ns, status.st_mode & 0o7777)
        assert item.inode in {status.st_ino & ((1 << 63) - 1), 0}


def test_a_bare_root_has_the_same_paths(tmp_path: Path) -> None:
    config = build(tmp_path)
    found = discover(open_root(config.transcripts))[0]
    assert paths(found) == {path for path in KINDS if path.startswith("projects/")}


def test_a_root_without_projects_yet_is_empty(tmp_path: Path) -> None:
    root = open_root(str(tmp_path))
    assert discover(root) == ([], [], [])


def test_a_root_that_went_is_reported_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / ".claude" / "projects").mkdir(parents=True)
    root = open_root(str(tmp_path / ".claude"))
    (tmp_path / ".claude").rename(tmp_path / "gone")
    found, unreadable, _ = discover(root)
    assert found == []
    assert [(item.path, item.relative) for item in unreadable] == [(root.path, "")]


def test_a_folder_that_cannot_be_read_is_reported_and_its_neighbours_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = build(tmp_path)
    closed = root.locate(f"projects/-a/{SID}/subagents")
    scandir = os.scandir

    def guarded(path: str) -> Any:
        if path == closed:
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", guarded)
        found, unreadable, _ = discover(root)
    assert paths(found) == {path for path in KINDS if "/subagents/" not in path}
    assert unreadable == [walk.Unreadable(closed, "Permission denied", f"projects/-a/{SID}/subagents")]


class Losing:
    """A scandir whose files go between the listing and the look."""

    def __init__(self, entries: Iterator["os.DirEntry[str]"], lost: str) -> None:
        self.entries = list(entries)
        for entry in self.entries:
            if entry.name == lost:
                os.unlink(entry.path)

    def __enter__(self) -> "Iterator[os.DirEntry[str]]":
        return iter(self.entries)

    def __exit__(self, *_: object) -> None:
        pass


def test_a_file_that_goes_during_the_walk_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = build(tmp_path)
    scandir = os.scandir
    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", lambda path: Losing(scandir(path), f"{SID}.jsonl"))
        found, unreadable, _ = discover(root)
    assert paths(found) == KINDS.keys() - {f"projects/-a/{SID}.jsonl"}
    assert unreadable == []


def test_a_folder_that_goes_during_the_walk_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = build(tmp_path)
    scandir = os.scandir

    def late(path: str) -> Any:
        if path.endswith("-a"):
            os.rename(path, tmp_path / "moved")
        return scandir(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", late)
        found, unreadable, _ = discover(root)
    assert paths(found) == {path for path in KINDS if not path.startswith("projects/-a/")}
    assert unreadable == []


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX") or not hasattr(os, "mkfifo"), reason="no pipes in the file system")
def test_what_is_no_regular_file_is_left_out(tmp_path: Path) -> None:
    root = build(tmp_path)
    os.mkfifo(root.locate("projects/-a/pipe.jsonl"))
    os.symlink("pipe.jsonl", root.locate("projects/-a/link.jsonl.pipe"))
    os.mkfifo(root.locate("pipe"))
    os.symlink(root.locate("pipe"), root.locate("projects/-a/device.jsonl"))
    found, _, left_out = discover(root)
    assert paths(found) == KINDS.keys()
    reasons = {item.path: item.reason for item in left_out}
    assert reasons["projects/-a/pipe.jsonl"] == reasons["projects/-a/device.jsonl"] == "not a regular file"


def test_names_that_are_not_unicode_are_found_and_located(tmp_path: Path) -> None:
    root = build(tmp_path)
    folder = os.fsencode(root.transcripts) + b"/-\xff"
    try:
        os.mkdir(folder)
    except OSError:
        pytest.skip("this file system takes valid Unicode only")
    (Path(os.fsdecode(folder)) / "back\\slash.jsonl").touch()
    new = paths(discover(root)[0]) - KINDS.keys()
    assert new == {"projects/-\\udcff/back\\\\slash.jsonl"}
    assert os.path.exists(root.locate(new.pop()))


def roots_in(corpus: Path) -> list[Path]:
    return [corpus / "public", *(recording.root for recording in find_recordings(corpus))]


def first_cwd(file: str) -> tuple[str, str] | None:
    with open(file, "rb") as lines:
        for line in lines:
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if isinstance(value, dict) and value.get("cwd"):
                return value["cwd"], value.get("version", "")
    return None


def test_no_real_file_is_missed(corpus: Path) -> None:
    for base in roots_in(corpus):
        root = open_root(str(base))
        found, unreadable, left_out = discover(root)
        assert unreadable == []
        told = [*paths(found), *(item.path for item in left_out)]
        there = {
            root.relative(os.path.join(folder, name))
            for folder, _, names in os.walk(root.transcripts)
            for name in names
        }
        assert {path for path in told if path.startswith("projects/")} == there
        assert all(LAYOUT.kind_of(item.path) == item.kind for item in found)


def test_real_project_folders_are_named_by_the_rule(corpus: Path) -> None:
    checked = 0
    for base in roots_in(corpus):
        root = open_root(str(base))
        for item in discover(root)[0]:
            start = first_cwd(root.locate(item.path)) if item.kind in {FileKind.MAIN, FileKind.AGENT} else None
            if start is None:
                continue
            cwd, version = start
            # Before 2.1 there was no limit to the name, and no hash.
            if len(cwd) > 200 and version.startswith(("1.", "2.0.")):
                continue
            assert project_dir_of(item.path) == encode_project(cwd)
            checked += 1
    assert checked > 100
