from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hansard.errors import Incomplete, StoreCorrupt, UsageError, WouldOverwrite
from hansard.model.files import RestoreAction as Action
from hansard.record.restore import Layout, Restored, apply, plan
from hansard.sources.names import escape
from tests.record.making import LOG, NOTE, flip, keep_log, keep_whole, mark

if TYPE_CHECKING:
    from hansard.record.store import Record

BYTES = os.urandom(1000) * 700
posix_only = pytest.mark.skipif(os.name != "posix", reason="modes, links and names as POSIX has them")


@pytest.fixture
def dead_pid() -> int:
    """The id of a process that has ended."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def tree(directory: Path) -> dict[str, bytes]:
    found = (path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in found}


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "target"


@pytest.fixture
def kept(record: Record) -> Record:
    keep_log(record, BYTES)
    keep_whole(record, b"a note")
    return record


def test_a_plan_writes_nothing(kept: Record, target: Path) -> None:
    items = plan(kept, None, str(target))
    assert [(item.path, item.bytes, item.action) for item in items] == [
        (LOG, len(BYTES), Action.WRITE),
        (NOTE, 6, Action.WRITE),
    ]
    assert not target.exists()


def test_one_root_is_restored_without_its_name(kept: Record, target: Path) -> None:
    steps: list[tuple[int, int]] = []
    done = apply(kept, plan(kept, None, str(target)), progress=lambda *step: steps.append(step))
    assert done == Restored(2, 0, len(BYTES) + 6)
    assert tree(target) == {LOG: BYTES, NOTE: b"a note"}
    assert (target / LOG).stat().st_mtime_ns // 100 == mark(0).mtime_ns // 100  # Windows counts in 100 ns
    assert steps[-1] == (len(BYTES) + 6, len(BYTES) + 6)


@posix_only
def test_all_is_private(kept: Record, target: Path) -> None:
    before = os.umask(0)
    try:
        apply(kept, plan(kept, None, str(target)))
    finally:
        os.umask(before)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in target.rglob("*") if path.is_file()}
    folders = {stat.S_IMODE(path.stat().st_mode) for path in (target, *target.rglob("*")) if path.is_dir()}
    assert (modes, folders) == ({0o600}, {0o700})


def test_twice_says_same(kept: Record, target: Path) -> None:
    apply(kept, plan(kept, None, str(target)))
    items = plan(kept, None, str(target))
    assert [item.action for item in items] == [Action.SAME] * 2
    assert apply(kept, items) == Restored(0, 2, 0)


def test_several_roots_are_told_apart(kept: Record, target: Path) -> None:
    keep_log(kept, b"second", root="/b/work")
    keep_log(kept, b"third", root="/c/work")
    keep_log(kept, b"fourth", root="/d/..")
    apply(kept, plan(kept, None, str(target)))
    assert tree(target) == {
        f".claude/{LOG}": BYTES,
        f".claude/{NOTE}": b"a note",
        f"work/{LOG}": b"second",
        f"work-2/{LOG}": b"third",
        f"root-4/{LOG}": b"fourth",
    }


def test_a_selection_and_a_flat_layout(kept: Record, target: Path) -> None:
    keep_log(kept, b"second", root="/b/work")
    with pytest.raises(UsageError, match="two roots have this file"):
        plan(kept, None, str(target), Layout.FLAT)
    items = plan(kept, [kept.known(2)[LOG].file_id], str(target), Layout.FLAT)
    apply(kept, items)
    assert tree(target) == {LOG: b"second"}


def test_back_into_the_config_directory(kept: Record, tmp_path: Path) -> None:
    config = tmp_path / ".claude"
    (config / LOG).parent.mkdir(parents=True)
    (config / LOG).write_bytes(BYTES)
    items = plan(kept, None, str(config), Layout.FLAT)
    assert [item.action for item in items] == [Action.SAME, Action.WRITE]
    apply(kept, items)
    assert tree(config) == {LOG: BYTES, NOTE: b"a note"}


def test_what_differs_is_kept_unless_told_otherwise(kept: Record, target: Path) -> None:
    (target / NOTE).parent.mkdir(parents=True)
    (target / NOTE).write_bytes(b"edited")
    items = plan(kept, None, str(target))
    assert [item.action for item in items] == [Action.WRITE, Action.DIFFERS]
    with pytest.raises(WouldOverwrite, match=r"a\.txt: already exists.*Nothing was written"):
        apply(kept, items)
    assert tree(target) == {NOTE: b"edited"}
    apply(kept, items, overwrite=True)
    assert tree(target) == {LOG: BYTES, NOTE: b"a note"}


def test_a_file_that_came_after_the_plan_is_not_replaced(kept: Record, target: Path) -> None:
    items = plan(kept, None, str(target))
    (target / LOG).parent.mkdir(parents=True)
    (target / LOG).write_bytes(b"just now")
    with pytest.raises(WouldOverwrite, match="after the restore was planned"):
        apply(kept, items)
    assert tree(target) == {LOG: b"just now", NOTE: b"a note"}


def test_former_contents_on_request(kept: Record, target: Path) -> None:
    keep_log(kept, b"rewritten", reason="rewritten")
    keep_whole(kept, b"another note")
    apply(kept, plan(kept, None, str(target)))
    assert tree(target) == {LOG: b"rewritten", NOTE: b"another note"}
    apply(kept, plan(kept, None, str(target), all_generations=True))
    assert tree(target) == {
        LOG: b"rewritten",
        LOG + ".generation-1": BYTES,
        NOTE: b"another note",
        NOTE + ".snapshot-1": b"a note",
    }


@posix_only
def test_a_link_that_leads_out_is_refused(kept: Record, target: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    items = plan(kept, None, str(target))
    target.mkdir()
    (target / "projects").symlink_to(outside)
    assert {item.action for item in plan(kept, None, str(target))} == {Action.IMPOSSIBLE}
    with pytest.raises(Incomplete, match=r"symbolic link.*points outside"):
        apply(kept, items, overwrite=True)
    assert list(outside.iterdir()) == []


@posix_only
def test_a_link_that_stays_inside_and_a_target_that_is_a_link(kept: Record, target: Path, tmp_path: Path) -> None:
    (target / "elsewhere").mkdir(parents=True)
    (target / "projects").symlink_to("elsewhere")
    link = tmp_path / "link"
    link.symlink_to(target)
    apply(kept, plan(kept, None, str(link)))
    assert (target / LOG.replace("projects", "elsewhere")).read_bytes() == BYTES


@posix_only
def test_a_link_in_place_of_the_file_is_replaced_not_followed(kept: Record, target: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_bytes(b"a note")
    (target / NOTE).parent.mkdir(parents=True)
    (target / NOTE).symlink_to(outside)
    items = plan(kept, None, str(target))
    assert items[1].action is Action.DIFFERS
    apply(kept, items, overwrite=True)
    assert not (target / NOTE).is_symlink()
    assert outside.read_bytes() == b"a note"


@pytest.mark.parametrize(
    "path", ["../x.jsonl", "projects/../../x", "/etc/x", "projects//x", "projects/./x", "a\\u002f/x"]
)
def test_a_path_that_leads_out_is_refused_and_the_others_are_restored(
    record: Record, target: Path, tmp_path: Path, path: str
) -> None:
    keep_log(record, b"x", path)
    keep_log(record, b"fine", LOG)
    items = plan(record, None, str(target))
    assert [item.action for item in items] == [Action.IMPOSSIBLE, Action.WRITE]
    with pytest.raises(Incomplete, match=r"1 of 2 files could not be restored.*cannot be a file under the target"):
        apply(record, items)
    assert tree(target) == {LOG: b"fine"}
    assert not [item for item in tmp_path.rglob("*.jsonl") if not item.is_relative_to(target)]


@posix_only
def test_names_that_are_not_unicode_come_back_as_they_were(record: Record, target: Path) -> None:
    name = os.fsdecode(b"caf\xe9 \\ x.jsonl")
    keep_log(record, b"x", f"projects/p/{escape(name)}")
    apply(record, plan(record, None, str(target)))
    assert os.listdir(os.fsencode(target / "projects" / "p")) == [b"caf\xe9 \\ x.jsonl"]


@posix_only
def test_a_name_that_no_file_can_have_costs_its_own_file_only(record: Record, target: Path) -> None:
    """A lone surrogate stands for a byte only from U+DC80 on; others are in no name that a system gave us."""
    keep_log(record, b"x", "projects/p/\\ud800.jsonl", root="/src/a\ud800")
    keep_log(record, b"y", "projects/p/y.jsonl", root="/src/a\ud800")
    keep_log(record, b"z", "projects/p/z.jsonl", root="/src/b")
    items = plan(record, None, str(target))
    assert [item.action for item in items] == [Action.IMPOSSIBLE, Action.WRITE, Action.WRITE]
    with pytest.raises(Incomplete, match=r"1 of 3 files could not be restored \(2 written"):
        apply(record, items)
    assert sorted(tree(target).values()) == [b"y", b"z"]


@posix_only
def test_what_a_killed_restore_left_is_removed_by_the_next_one(kept: Record, target: Path, dead_pid: int) -> None:
    items = plan(kept, None, str(target))
    folder = Path(items[0].target).parent
    folder.mkdir(parents=True)
    stale = folder / f".hansard-{dead_pid}-0123456789abcdef.tmp"
    others = [
        folder / f".hansard-{os.getpid()}-0123456789abcdef.tmp",
        folder / ".hansard-0123456789abcdef.tmp",
        folder / f".hansard-{dead_pid}-notes.tmp",
    ]
    for path in (stale, *others):
        path.write_bytes(b"half")
    link = folder / f".hansard-{dead_pid}-fedcba9876543210.tmp"
    link.symlink_to(others[0])
    apply(kept, items)
    assert not stale.exists()
    assert all(path.exists() for path in others)
    assert link.is_symlink()


def test_damage_costs_its_own_file_only(kept: Record, target: Path, place: Path) -> None:
    whole = {item.path for item in plan(kept, None, str(target))}
    flip(place, "chunk", 2)
    with pytest.raises(StoreCorrupt, match=r"1 of \d+ files could not be restored.*chunk at byte"):
        apply(kept, plan(kept, None, str(target)))
    assert len(tree(target)) == len(whole) - 1
    assert not [name for name in tree(target) if "part" in name or "tmp" in name]


def test_a_target_that_is_no_directory(kept: Record, target: Path) -> None:
    target.write_bytes(b"a file")
    with pytest.raises(UsageError, match="not a directory"):
        plan(kept, None, str(target))


def test_a_file_in_place_of_a_directory_and_the_reverse(kept: Record, target: Path) -> None:
    (target / "projects").mkdir(parents=True)
    (target / "projects" / "-home-u-p").write_bytes(b"a file")
    with pytest.raises(Incomplete, match=r"could not be restored"):
        apply(kept, plan(kept, None, str(target)))
    (target / "projects" / "-home-u-p").unlink()
    (target / LOG).mkdir(parents=True)
    with pytest.raises(Incomplete, match="a directory is in the way"):
        apply(kept, plan(kept, None, str(target)), overwrite=True)
