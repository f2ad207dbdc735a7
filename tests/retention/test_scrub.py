"""Placeholders for the secrets of a session in the client's own files: as many bytes, and the record as the user wants it."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.engine import Hansard
from hansard.errors import HansardError, NotFound, StoreUnusable, UsageError
from hansard.model.secrets import Scrubbed
from hansard.retention.files import RUNNING
from hansard.sync.freeing import NOT_AS_STORED, OPEN
from tests.full_disk import small_disk
from tests.record.making import found
from tests.retention.conftest import FORK, LATER, OTHER, SECRET, write_secret
from tests.retention.test_free import files
from tests.retention.test_free_crashes import killed_runs
from tests.sync import crashing
from tests.sync.making import FOLDER, Tree, agent_path, assistant, main_path, user
from tests.sync.test_erasing import words

TOKEN = "ghp_" + "aB3dE5gH7j" * 3 + "0pQr1s"
NAME = TOKEN.encode()
MODES = pytest.mark.parametrize("backup", [True, False], ids=["backup", "no backup"])


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    tree = Tree(tmp_path / "claude", tmp_path / "store")
    write_secret(tree, TOKEN)
    return tree


@pytest.fixture
def h(tree: Tree) -> Iterator[Hansard]:
    with hansard.open(tree.home, roots=[tree.config]) as opened:
        opened.sync()
        opened.note(SECRET, f"it was {TOKEN}")
        yield opened


def holders(tree: Tree) -> set[str]:
    """The client's files that have the secret."""
    return {path for path, (data, *_) in files(tree.config).items() if NAME in data}


OF_OTHERS = {main_path(FORK), main_path(OTHER)}
"""What a scrub of one session leaves: copies in a fork, and a title that another session repeats."""


def assert_usable(before: dict[str, Any], tree: Tree) -> None:
    """Every file has as many bytes, lines and JSON values as before, and its date."""
    after = files(tree.config)
    assert before.keys() == after.keys()
    for path, (data, *rest) in after.items():
        old = before[path][0]
        assert rest == list(before[path][1:]), path
        assert [len(line) for line in data.splitlines()] == [len(line) for line in old.splitlines()], path
        for line in data.splitlines() if path.endswith("l") else ():
            json.loads(line)


@MODES
def test_names_with_a_secret_are_listed(h: Hansard, tree: Tree, backup: bool) -> None:
    path = f"{FOLDER}/{SECRET}/tool-results/{TOKEN}.txt"
    tree.write(path, b"nothing of it inside")
    h.sync()
    named = [item for item in h.plan_scrub([SECRET], backup=backup).items if item.kind == "name"]
    assert [item.action for item in named] == ["leave"]
    assert "tool-results/[github-pat:" in named[0].place
    assert (named[0].place, named[0].reason) in h.scrub([SECRET], backup=backup).left
    assert tree.place(path).exists()
    with pytest.raises(NotFound, match="in the names of 1 of its files"):
        h.plan_scrub([SECRET], backup=backup)


def test_the_preview_changes_nothing(h: Hansard, tree: Tree) -> None:
    before = files(tree.config)
    plan = h.plan_scrub([SECRET])
    assert {item.kind for item in plan.items} == {"source"}
    assert {os.path.relpath(item.place, tree.config) for item in plan.items} == holders(tree) - OF_OTHERS
    assert all(item.action == "overwrite" and item.lines for item in plan.items)
    assert any("rewinding" in warning for warning in plan.warnings)
    everywhere = h.plan_scrub([SECRET], backup=False)
    assert {item.kind for item in everywhere.items} == {"source", "secret", "remarks"}
    assert files(tree.config) == before
    assert h.receipts() == []


def test_with_a_backup_in_the_record(h: Hansard, tree: Tree, tmp_path: Path) -> None:
    before = files(tree.config)
    done = h.scrub([SECRET])
    assert (done.secrets, done.left, done.receipt) == (1, (), None)
    assert done.files == len(holders(tree) ^ {path for path, (data, *_) in before.items() if NAME in data})
    assert holders(tree) == OF_OTHERS
    assert_usable(before, tree)
    assert NAME not in b"".join(h.cat(SECRET))
    assert NAME in b"".join(h.cat(SECRET, generation=1))
    assert not h.verify(deep=True).mismatches
    target = tmp_path / "restored"
    h.restore(h.plan_restore([SECRET], str(target), all_generations=True))
    assert found(target, NAME)
    with pytest.raises(NotFound):
        h.plan_scrub([SECRET])
    tree.append(main_path(SECRET), [user(SECRET, "p5", "And then?", 9, "p4")])
    h.sync()
    assert "And then?" in b"".join(h.cat(SECRET)).decode()


def test_without_a_backup_nothing_is_left_of_it(h: Hansard, tree: Tree, tmp_path: Path) -> None:
    for path in OF_OTHERS:  # so that a search may look at the whole store
        tree.place(path).unlink()
    with hansard.open(tmp_path / "other", roots=[tree.config]) as other:
        other.sync()
        other.note(SECRET, f"it was {TOKEN}")
        other.scan_secrets()
        other.export([SECRET], tmp_path / "shown.md", redact="off")
        other.export([SECRET], tmp_path / "redacted.md")
        revision = other.verify().revision
        before = files(tree.config)
        done = other.scrub([SECRET], backup=False)
        assert done.receipt is not None
        assert done.receipt.finished_at
        assert (done.receipt.erased.reason, done.receipt.erased.sessions) == ("secret", 0)
        assert_usable(before, tree)
        assert holders(tree) == set()
        assert found(tmp_path / "other", NAME) == []
        assert TOKEN not in words(tmp_path / "other")
        assert not (tmp_path / "shown.md").exists()
        assert (tmp_path / "redacted.md").exists()
        assert not other.verify(deep=True, since=revision).mismatches
        assert other.sync().changed == 0
        other.rebuild()
        assert found(tmp_path / "other", NAME) == []
        assert other.scan_secrets().secrets == 0
        texts = [entry.text for entry in other.conversation(SECRET).entries if entry.text]
        assert any("[github-" in text for text in texts)
        assert other.session(SECRET).prompts == 1


def test_thoughts_lose_their_signature_with_their_words(h: Hansard, tree: Tree) -> None:
    thought = {"type": "thinking", "thinking": f"With {TOKEN}, I could.", "signature": "Eo4B" * 40}
    kept = {**thought, "thinking": "Nothing here."}
    tree.append(main_path(SECRET), [assistant(SECRET, "p6", "msg_03sec", [thought, kept], 5, "p4")])
    h.sync()
    h.scrub([SECRET])
    line = json.loads(tree.place(main_path(SECRET)).read_bytes().splitlines()[-1])
    first, second = line["message"]["content"]
    assert first.keys() == {"type", "text"}
    assert "[github-" in first["text"]
    assert second == kept


@MODES
def test_a_session_that_is_in_use_is_refused(h: Hansard, tree: Tree, backup: bool) -> None:
    note = tree.config / "sessions" / "1.json"
    note.parent.mkdir()
    note.write_text(json.dumps({"pid": os.getpid(), "sessionId": SECRET}))
    with pytest.raises(UsageError, match="End the session first"):
        h.scrub([SECRET], backup=backup)
    note.unlink()
    note.parent.rmdir()  # as with clients that leave no notes
    tree.append(main_path(SECRET), [{**user(SECRET, "p7", "now", 1), "timestamp": "2999-01-01T00:00:00.000Z"}])
    h.sync()
    with pytest.raises(UsageError, match="End the session first"):
        h.scrub([SECRET], backup=backup)
    assert main_path(SECRET) in holders(tree)
    note.parent.mkdir()
    note.write_text(json.dumps({"pid": os.getpid(), "sessionId": OTHER}))
    h.scrub([SECRET], backup=backup)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says whether a file is open elsewhere")
@MODES
def test_what_cannot_be_overwritten_safely_stays(h: Hansard, tree: Tree, tmp_path: Path, backup: bool) -> None:
    linked = tree.place(f"file-history/{SECRET}/abc@v1")
    os.link(linked, tmp_path / "other-name")
    moved = tree.place(agent_path(SECRET, "a1"))
    moved.rename(tmp_path / "elsewhere.jsonl")
    moved.symlink_to(tmp_path / "elsewhere.jsonl")
    with tree.place(main_path(SECRET)).open("ab"):
        if backup:
            assert OPEN in dict(h.scrub([SECRET]).left)[str(tree.place(main_path(SECRET)))]
        else:
            with pytest.raises(StoreUnusable, match=OPEN):
                h.scrub([SECRET], backup=False)
    assert NAME in (tmp_path / "elsewhere.jsonl").read_bytes()
    assert NAME in (tmp_path / "other-name").read_bytes()
    assert main_path(SECRET) in holders(tree)
    if not backup:  # what is left to do is done by the next sync
        assert not h.sync().unfinished
        assert main_path(SECRET) not in holders(tree)


@MODES
def test_a_file_that_changes_meanwhile(
    h: Hansard,
    tree: Tree,
    monkeypatch: pytest.MonkeyPatch,
    backup: bool,
) -> None:
    """Lines that are appended stay; a file with other bytes is not touched."""
    from hansard.sync import overwriting

    other = tree.place(f"{main_path(SECRET).removesuffix('.jsonl')}/tool-results/out.txt")
    real = overwriting._opened_alone
    changed = set()

    def late(place: str) -> Any:
        if place not in changed:
            changed.add(place)
            if place == str(other):
                other.write_bytes(b"something else, " + NAME)
            elif place == str(tree.place(main_path(SECRET))):
                tree.append(main_path(SECRET), [user(SECRET, "p8", f"again {TOKEN}", 6, "p4")])
        return real(place)

    monkeypatch.setattr(overwriting, "_opened_alone", late)
    if backup:
        assert dict(h.scrub([SECRET]).left) == {str(other): NOT_AS_STORED}
    else:
        with pytest.raises(StoreUnusable, match=r"out\.txt: changed since"):
            h.scrub([SECRET], backup=False)
    assert other.read_bytes() == b"something else, " + NAME
    h.sync()
    data = tree.place(main_path(SECRET)).read_bytes()
    assert data.count(NAME) == 1
    assert NAME in data.splitlines()[-1]
    assert not h.verify(deep=True).mismatches
    h.scrub([SECRET], backup=backup)
    assert holders(tree) == OF_OTHERS


def test_what_the_user_decided_stays(h: Hansard, tree: Tree) -> None:
    h.scan_secrets()
    (one,) = h.secrets().secrets
    for state in ("accepted", "false-alarm"):
        h.resolve_secret(one.secret_id, state)
        with pytest.raises(NotFound):
            h.scrub([SECRET])
    h.resolve_secret(one.secret_id, "rotated")
    assert any("in other sessions too" in warning for warning in h.plan_scrub([SECRET]).warnings)
    with (
        hansard.open(tree.home, [tree.config], hold=[SECRET]) as held,
        pytest.raises(UsageError, match="under a hold"),
    ):
        held.scrub([SECRET])


@pytest.mark.parametrize("moment", crashing.MOMENTS)
@MODES
def test_killed_at_any_moment(moment: str, h: Hansard, tree: Tree, tmp_path: Path, backup: bool) -> None:
    """Every file is readable at any time, and the next sync or the next scrub ends the work."""
    before = files(tree.config)
    h.close()
    runs = partly = 0
    for _ in killed_runs(moment, tree, tmp_path, lambda opened: opened.scrub([SECRET], backup=backup), stride=3):
        runs += 1
        partly += holders(tree) not in (OF_OTHERS, {path for path, (data, *_) in before.items() if NAME in data})
        for path, (data, *_) in files(tree.config).items():
            assert len(data) == len(before[path][0])
            for line in data.splitlines() if path.endswith("l") else ():
                json.loads(line)
        with hansard.open(tree.home, roots=[tree.config]) as opened:
            assert not opened.sync().unfinished
            assert not opened.verify(deep=True).mismatches
            if opened.receipts():
                assert holders(tree) == OF_OTHERS
            else:
                try:
                    opened.scrub([SECRET], backup=backup)
                except NotFound:
                    assert backup
            assert holders(tree) == OF_OTHERS
            assert not opened.verify(deep=True).mismatches
    assert runs > 3
    assert partly or moment != "files"


def test_two_at_once(h: Hansard, tree: Tree) -> None:
    h.close()

    def scrub() -> Scrubbed | HansardError:
        try:
            with hansard.open(tree.home, roots=[tree.config]) as opened:
                return opened.scrub([SECRET], backup=False)
        except HansardError as error:
            return error

    with ThreadPoolExecutor() as pool:
        done = [one.result() for one in [pool.submit(scrub), pool.submit(scrub)]]
    assert sorted(type(one).__name__ for one in done) == ["NotFound", "Scrubbed"]
    assert holders(tree) == OF_OTHERS


@MODES
def test_a_full_disk_changes_nothing(h: Hansard, tree: Tree, tmp_path: Path, backup: bool) -> None:
    before = files(tree.config)
    with small_disk("limit", tmp_path) as (_, full), full, pytest.raises(HansardError):
        h.scrub([SECRET], backup=backup)
    h.sync()
    assert files(tree.config) == before
    assert not h.verify(deep=True).mismatches
    h.scrub([SECRET], backup=backup)
    assert holders(tree) == OF_OTHERS


class TestForgetSecret:
    """`forget --secret`: out of every session, and nothing else."""

    def id(self, h: Hansard) -> str:
        h.scan_secrets()
        return h.secrets().secrets[0].secret_id

    def test_everywhere(self, h: Hansard, tree: Tree) -> None:
        secret = self.id(h)
        before = {one.session_id: one for one in h.sessions(debris=True).sessions}
        plan = h.plan_forget(secrets=[secret[:8]])
        assert {item.kind for item in plan.items} == {"secret", "remarks", "source"}
        receipt = h.forget(secrets=[secret])
        assert (receipt.erased.reason, receipt.erased.sessions, receipt.erased.files) == ("secret", 0, 0)
        assert found(tree.home, NAME) == []
        assert TOKEN not in words(tree.home)
        after = {one.session_id: one for one in h.sessions(debris=True).sessions}
        assert before.keys() == after.keys()
        assert all(one.prompts == after[name].prompts for name, one in before.items())
        assert not h.verify(deep=True).mismatches
        h.sync(reread=True)
        h.rebuild()
        assert found(tree.home, NAME) == []
        assert h.scan_secrets().secrets == 0

    def test_copies_that_the_client_makes_later(self, h: Hansard, tree: Tree) -> None:
        """They are kept but for the secret; a line in which only its value shows it becomes a marker."""
        tree.append(main_path(SECRET), [user(SECRET, "bare", f"x{TOKEN[4:]}x", 7, "p4")])
        h.sync()
        h.forget(secrets=[self.id(h)])
        copied = [
            {**user(LATER, "prompt-one", f"Tell {TOKEN} about it.", 0)},
            {**assistant(LATER, "p4", "msg_02sec", f"I told {TOKEN}.", 3, "prompt-one")},
            user(LATER, "l1", "And on.", 50, "p4"),
        ]
        tree.write(main_path(LATER), copied)
        h.sync()
        texts = [entry.text.strip() for entry in h.conversation(LATER).entries if entry.text]
        assert texts[-1] == "And on."
        assert texts[0].startswith("Tell [github-")
        assert found(tree.home, NAME) == []
        tree.append(main_path(LATER), [user(LATER, "l2", "More.", 51, "l1")])
        h.sync()
        assert not h.verify(deep=True).mismatches

    def test_with_the_clients_own_files(self, h: Hansard, tree: Tree) -> None:
        before = files(tree.config)
        secret = self.id(h)
        h.forget(secrets=[secret], source=True)
        assert holders(tree) == set()
        assert_usable(before, tree)
        assert h.sync().changed == 0

    def test_what_was_found_goes_with_its_session(self, h: Hansard, tree: Tree) -> None:
        """Whole sessions too: nothing of them is listed, and what is new counts as not searched."""
        h.unnote(SECRET, 1)
        self.id(h)
        for session_id in (SECRET, FORK, OTHER):
            h.forget([session_id])
        assert h.secrets(state="all").total == 0
        tree.write(main_path(LATER), [user(LATER, "l1", "Something new.", 50)])
        h.sync()
        assert 0 < h.secrets().unscanned_bytes < 1000

    def test_what_is_in_a_name_is_listed(self, h: Hansard, tree: Tree) -> None:
        shutil.copytree(tree.place("plans"), tree.config / "projects" / f"-src-{TOKEN}" / "memory")
        h.sync()
        plan = h.plan_forget(secrets=[self.id(h)])
        assert {item.kind for item in plan.left if "name" in item.reason} == {"name"}


def test_a_running_client_keeps_its_files(h: Hansard, tree: Tree) -> None:
    note = tree.config / "sessions" / "1.json"
    note.parent.mkdir()
    note.write_text(json.dumps({"pid": os.getpid(), "sessionId": FORK}))
    h.scan_secrets()
    plan = h.plan_forget(secrets=[h.secrets().secrets[0].secret_id], source=True)
    assert {item.place for item in plan.left if item.reason == RUNNING} == {str(tree.place(main_path(FORK)))}
