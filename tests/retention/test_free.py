"""What is freed is in the record byte for byte, and comes back as it was."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

import hansard
from hansard.errors import HansardError, NotFound
from hansard.model.store_requests import ForgetRequest, FreeRequest
from hansard.retention.files import LINKED, RUNNING
from hansard.retention.free import IN_USE, RECENT
from hansard.sync.freeing import DAMAGED, NOT_AS_STORED, OPEN
from tests.full_disk import small_disk
from tests.retention.conftest import FORK, OTHER, SECRET
from tests.sync.dumping import assert_same, dump
from tests.sync.making import FOLDER, OLD_NS, START, agent_path, main_path, user

if TYPE_CHECKING:
    from pathlib import Path

    from hansard.engine import Hansard
    from hansard.model.freeing import Freed, FreePlan
    from tests.sync.making import Tree


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Content and date of every file."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def reasons(plan: FreePlan) -> dict[str, str]:
    return {item.path: item.reason for item in plan.items}


def test_the_preview_changes_nothing(h: Hansard, tree: Tree) -> None:
    before, there = dump(tree.home), files(tree.config)
    plan = h.plan_free()
    assert {item.kind: item.reason for item in plan.items} == {
        "transcript": "",
        "subagent": "",
        "tool_result": "",
        "file_history": "",
        "paste": "",
        "todo": "",
        "file": IN_USE,
    }
    assert plan.bytes == sum(item.bytes for item in plan.items if item.kind != "file")
    totals = plan.by_kind().totals
    assert totals is not None
    assert totals[2:] == (sum(item.bytes for item in plan.items), plan.bytes, plan.reasons[IN_USE][1])
    assert [row[0] for row in plan.by_age().rows] == ["over a year"]
    assert_same(before, dump(tree.home))
    assert files(tree.config) == there


def test_everything_and_back(h: Hansard, tree: Tree) -> None:
    before, listed = files(tree.config), [session.session_id for session in h.sessions().sessions]
    plan = h.plan_free()
    freed = h.free()
    assert (freed.files, freed.bytes, freed.left) == (len(plan.freeable), plan.bytes, ())
    left = files(tree.config)
    assert sorted(left) == sorted(item.path for item in plan.items if item.kind == "file")
    assert left.items() <= before.items()
    assert not (tree.config / FOLDER / SECRET).exists(), "empty folders of sessions go too"
    assert (tree.config / FOLDER).is_dir()
    for _ in range(2):
        assert [session.session_id for session in h.sessions().sessions] == listed
        assert {session.source_state for session in h.sessions().sessions} == {"freed"}
        assert [session.session_id for session in h.sessions(query="is:freed").sessions] == listed
        status = h.status()
        assert (status.freed_transcripts, status.gone_transcripts) == (
            len(tree.rows("SELECT 1 FROM transcripts WHERE path LIKE 'projects/%'")),
            0,
        )
        assert h.conversation(SECRET).entries
        assert h.sync().gone == 0
    assert h.plan_resume(SECRET).is_gone
    assert not h.verify(deep=True).mismatches
    items = h.plan_undo_free()
    h.restore(items)
    h.sync()
    assert files(tree.config) == before
    assert {session.source_state for session in h.sessions().sessions} == {"live"}
    assert h.status().freed_transcripts == 0
    with pytest.raises(NotFound):
        h.plan_undo_free()


def test_restore_all_is_the_same(h: Hansard, tree: Tree) -> None:
    before = files(tree.config)
    h.free()
    h.restore(h.plan_restore(None, str(tree.config)))
    assert files(tree.config) == before


def test_resume_brings_a_session_back(h: Hansard, tree: Tree) -> None:
    before = files(tree.config)
    h.free()
    h.restore(h.plan_restore([SECRET], str(tree.config)))
    h.sync()
    assert h.session(SECRET).source_state == "live"
    assert h.session(OTHER).source_state == "freed"
    assert files(tree.config).items() <= before.items()
    assert main_path(SECRET) in files(tree.config)
    assert agent_path(SECRET, "a1") in files(tree.config)


def test_a_selection(h: Hansard, tree: Tree) -> None:
    chosen = h.plan_free(names=[SECRET])
    assert {item.session_id for item in chosen.items} == {SECRET}
    assert chosen.not_stored == ()
    assert len(h.plan_free(project="/home/mira/src/app", kinds=["transcript"]).items) == 3
    with pytest.raises(NotFound):
        h.plan_free(project="/elsewhere")
    (item,) = h.plan_free(names=[SECRET], kinds=["tool_result"]).items
    assert h.plan_free(until=START - timedelta(days=2000)).items == ()
    assert len(h.plan_free(until=START).items) == len(h.plan_free().items)
    h.free(names=[SECRET], kinds=["tool_result"])
    assert not (tree.config / item.path).exists()
    assert (tree.config / main_path(SECRET)).exists()


def test_what_was_used_within_a_day_stays(h: Hansard, tree: Tree) -> None:
    tree.append(agent_path(SECRET, "a1"), [user(SECRET, "q2", "more", 5, isSidechain=True, agentId="a1")])
    now = time.time_ns()
    os.utime(tree.config / agent_path(SECRET, "a1"), ns=(now, now))
    h.sync()
    stays = {item.path for item in h.plan_free(names=[SECRET]).items if item.reason == RECENT}
    assert stays == {item.path for item in h.plan_free(names=[SECRET]).items}, "all of the session"
    assert h.free(names=[SECRET]).files == 0
    assert h.free(names=[FORK]).files == 1


def test_what_a_running_client_has_stays(h: Hansard, tree: Tree) -> None:
    note = tree.config / "sessions" / "1.json"
    note.parent.mkdir()
    note.write_text(json.dumps({"pid": os.getpid(), "sessionId": SECRET}))
    assert set(reasons(h.plan_free(names=[SECRET])).values()) == {RUNNING}
    assert set(reasons(h.plan_free(names=[OTHER])).values()) == {""}
    note.write_text(json.dumps({"pid": os.getpid()}))
    assert set(reasons(h.plan_free(names=[OTHER])).values()) == {RUNNING}
    assert [item.path for item in h.plan_free().not_stored] == [str(note.parent)]


@pytest.mark.skipif(sys.platform != "linux", reason="leases are Linux's")
def test_what_another_program_has_open_stays(h: Hansard, tree: Tree) -> None:
    place = tree.config / main_path(OTHER)
    with place.open("rb") as file:
        process = subprocess.Popen(["sleep", "60"], stdin=file)  # noqa: S607 - a program of POSIX
    with process:
        try:
            assert reasons(h.plan_free(names=[OTHER])) == {main_path(OTHER): OPEN}
            (left,) = h.free(names=[OTHER]).left
            assert (left.path, left.reason) == (main_path(OTHER), OPEN)
        finally:
            process.kill()
    assert place.exists()
    assert h.session(OTHER).source_state == "live"
    assert h.free(names=[OTHER]).files == 1


def test_what_differs_from_the_record_stays(h: Hansard, tree: Tree) -> None:
    place = tree.config / main_path(OTHER)
    was = place.read_bytes()
    for changed in (was + b"\n", was[:-3], was.replace(b"Something", b"Everything"), b"x" * len(was)):
        place.write_bytes(changed)
        os.utime(place, ns=(OLD_NS, OLD_NS))  # as if nothing had happened
        assert reasons(h.plan_free(names=[OTHER])) == {main_path(OTHER): NOT_AS_STORED}
        assert [item.reason for item in h.free(names=[OTHER]).left] == [NOT_AS_STORED]
        assert place.read_bytes() == changed
    place.write_bytes(was)
    os.utime(place, ns=(OLD_NS, OLD_NS))
    assert h.free(names=[OTHER]).files == 1


def test_what_was_forgotten_in_part_stays(h: Hansard, tree: Tree) -> None:
    """The record has a marker where the file has a line."""
    h.forget(ForgetRequest(match='"Something else"'))
    assert reasons(h.plan_free(names=[OTHER])) == {main_path(OTHER): NOT_AS_STORED}


def test_what_the_record_cannot_give_back_stays(h: Hansard, tree: Tree) -> None:
    import apsw

    h.close()
    db = apsw.Connection(str(tree.home / "record.db"))
    db.execute(
        "UPDATE chunk SET data = x'00' WHERE generation_id = (SELECT g.id FROM generation g JOIN file f ON f.id = g.file_id"
        " WHERE f.path = ?)",
        (main_path(OTHER),),
    )
    db.close()
    assert reasons(h.plan_free(names=[OTHER])) == {main_path(OTHER): DAMAGED}
    assert h.free(names=[OTHER]).files == 0
    assert (tree.config / main_path(OTHER)).exists()


def test_what_lies_behind_a_link_stays(tree: Tree, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (tree.config / "file-history").rename(elsewhere)
    (tree.config / "file-history").symlink_to(elsewhere)
    with hansard.open(tree.home, roots=[tree.config]) as h:
        h.sync()
        plan = h.plan_free(kinds=["file_history"])
        assert set(reasons(plan).values()) <= {LINKED}
        assert h.free(kinds=["file_history"]).files == 0
    assert list(elsewhere.rglob("*@v1"))


def test_what_the_client_writes_again_is_live(h: Hansard, tree: Tree) -> None:
    h.free(names=[OTHER])
    tree.write(main_path(OTHER), [user(OTHER, "n1", "Anew.", 90)])
    h.sync()
    assert h.session(OTHER).source_state == "live"
    assert h.status().freed_transcripts == 0
    (tree.config / main_path(OTHER)).unlink()
    h.sync()
    assert h.session(OTHER).source_state == "gone", "lost, not freed"


def test_a_full_disk_removes_nothing(tree: Tree, tmp_path: Path) -> None:
    with small_disk("limit", tmp_path / "disk") as (place, full), hansard.open(place, roots=[tree.config]) as h:
        h.sync()
        before = files(tree.config)
        with full, pytest.raises(HansardError):
            h.free()
        assert files(tree.config) == before
        assert h.sync().gone == 0
        assert {session.source_state for session in h.sessions().sessions} == {"live"}


def test_it_is_freed_in_a_store_made_again(h: Hansard, tree: Tree) -> None:
    h.free(FreeRequest(names=[OTHER]))
    h.rebuild()
    assert h.session(OTHER).source_state == "freed"


def test_two_at_once(h: Hansard, tree: Tree) -> None:
    """Each file is removed by one of them."""
    expected = h.plan_free().freeable
    h.close()

    def run(_: int) -> Freed:
        with hansard.open(tree.home, roots=[tree.config]) as opened:
            return opened.free()

    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(run, range(2)))
    assert sorted(each.files for each in done) == [0, len(expected)]
    assert not any(each.left for each in done)
    assert h.status().freed_transcripts == 4
