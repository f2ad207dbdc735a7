"""Modes: what others can read is found and closed, and a client's directory gets its mode back exactly."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import hansard
from hansard.changes.journal import journals, list_journals
from hansard.changes.modes import PURPOSE, close_to_others, plan_modes, undo_modes
from hansard.changes.plan import ChangeSet, Mode, preview
from hansard.cli.app import hansard as command
from tests.changes.trees import tree
from tests.sync.making import Tree, main_path, session, user

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX modes")


def mode(path: Path) -> str:
    return f"{path.stat().st_mode & 0o7777:o}"


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """A store with three loose entries, and a client's directory that anybody can list."""
    made = Tree(tmp_path / "claude", tmp_path / "store")
    made.write(main_path(session(801)), [user(session(801), "u1", "Hello.")])
    with hansard.open(made.home, roots=[made.config]) as h:
        h.sync()
    store = Path(made.home)
    (store / "imports").mkdir(mode=0o700)
    (store / "imports" / "a.json").write_text("{}")
    for path, loose in ((store, 0o755), (store / "index.db", 0o640), (store / "imports" / "a.json", 0o604)):
        path.chmod(loose)
    made.config.chmod(0o2755)
    return store, made.config


def test_own_files_are_closed(places: tuple[Path, Path]) -> None:
    store, source = places
    (store / "link").symlink_to(source)
    plan = plan_modes(str(store))
    found = {os.path.relpath(one.path, store): (one.mode, one.new_mode) for one in plan}
    assert found == {".": ("755", "700"), "index.db": ("640", "600"), "imports/a.json": ("604", "600")}
    close_to_others(str(store), plan)
    assert plan_modes(str(store)) == []
    assert (mode(store), mode(store / "index.db"), mode(source)) == ("700", "600", "2755")


def test_a_source_is_closed_and_opened_again(places: tuple[Path, Path]) -> None:
    store, source = places
    before = tree(source)
    close_to_others(str(store), plan_modes(str(store), [str(source)]))
    assert mode(source) == "2700"
    (undone,) = undo_modes(str(store))
    assert undone.restored == (str(source),)
    assert mode(source) == "2755"
    assert tree(source) == before
    assert undo_modes(str(store)) == []


def test_a_mode_that_somebody_changed_since_is_left(places: tuple[Path, Path]) -> None:
    store, source = places
    close_to_others(str(store), plan_modes(str(store), [str(source)]))
    source.chmod(0o750)
    (undone,) = undo_modes(str(store))
    assert (undone.restored, undone.left, mode(source)) == ((), (str(source),), "750")


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_kill_half_way_is_undone(places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    store, source = places
    plan = [one for one in plan_modes(str(store), [str(source)]) if not one.is_own]
    chmod = os.chmod

    def killed(path: str, value: int, **more: bool) -> None:
        if str(path) == str(source):
            if moment == "after":
                chmod(path, value, **more)
            os._exit(9)
        chmod(path, value, **more)

    if (child := os.fork()) == 0:
        monkeypatch.setattr(os, "chmod", killed)
        close_to_others(str(store), plan)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    with journals(str(store)):
        pass  # opening recovers
    assert mode(source) == "2755"
    assert list_journals(str(store), PURPOSE) == []


def test_the_preview_of_a_mode() -> None:
    assert preview(ChangeSet("x", "x", ("/a",), (Mode("/a/b", 0o700),))) == ["chmod 700 /a/b"]


def test_the_command(places: tuple[Path, Path]) -> None:
    store, source = places
    where = ["--home", str(store), "--root", str(source)]

    def run(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(command, ["doctor", *words, *where])
        return done.exit_code, done.stdout

    assert "doctor --fix" in run("--no-sync")[1]
    code, said = run("--fix", "--sources")
    assert code == 0
    assert "755 -> 700" in said
    assert "2755 -> 2700" in said
    assert (mode(store), mode(source)) == ("755", "2755")
    assert json.loads(run("--fix", "--yes", "--json")[1])["is_done"]
    assert (mode(store), mode(source)) == ("700", "2755")
    assert run("--fix", "--sources", "--yes")[0] == 0
    assert mode(source) == "2700"
    assert run("--undo")[0] == 0
    assert mode(source) == "2755"
    assert run("--undo")[0] != 0
    assert run("--yes")[0] == 2
