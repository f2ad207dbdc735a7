"""Moving a project: what the client needs, nothing else touched, undone exactly, and one project for Hansard."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import hansard
from hansard.changes.journal import journals
from hansard.cli.app import hansard as command
from hansard.clients.claude_code.layout import encode_project
from hansard.clients.claude_code.roots import open_root
from hansard.errors import UsageError
from hansard.model.names import follow_moves, moved_path
from hansard.move import plan_move, rewrite_lines
from tests.changes.trees import is_killed, tree
from tests.cli.conftest import OTHER, SESSION, said, write_log

OLD, NEW = "/src/tide", "/new/sea"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "claude"
    write_log(place, SESSION, [said(1, "When is high tide?"), said(2, "At noon.", role="assistant")])
    inside = [said(1, "And low tide?", session=OTHER, cwd=f"{OLD}/low")]
    write_log(place, OTHER, inside, folder=encode_project(f"{OLD}/low"))
    write_log(
        place,
        "33333333-cccc-4ccc-8ccc-333333333333",
        [said(1, "Else", session="33333333-cccc-4ccc-8ccc-333333333333", cwd="/src/tides")],
        folder="-src-tides",
    )
    (place / "projects/-src-tide/memory").mkdir()
    (place / "projects/-src-tide/memory/note.md").write_text("x")
    lines = [
        {"display": f'say "project":"{OLD}"', "timestamp": 1, "project": OLD, "sessionId": SESSION},
        {"display": "lost", "timestamp": 2, "project": OLD},
        {"display": "lost below", "timestamp": 2, "project": f"{OLD}/low"},
        {"display": "other", "timestamp": 3, "project": "/src/tides"},
    ]
    (place / "history.jsonl").write_text(
        "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines) + "torn {"
    )
    (place / ".claude.json").write_text(json.dumps({"projects": {OLD: {"trust": 1}, "/src/tides": {}}}, indent=2))
    return place


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


def move(root: Path, store: Path, *arguments: str) -> Result:
    return CliRunner().invoke(command, ["move", "--home", str(store), "--root", str(root), *arguments])


def projects(root: Path, store: Path) -> dict[str, int]:
    with hansard.open(store, [root]) as h:
        h.sync()
        return {project.project: project.sessions for project in h.projects()}


def made(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout) if result.stdout.startswith("{") else result.stdout


def test_by_default_one_line_is_written(root: Path, store: Path) -> None:
    before = tree(root)
    assert not made(move(root, store, OLD, NEW, "--json"))["applied"]
    assert tree(root) == before
    made(move(root, store, OLD, NEW, "--yes"))
    after = tree(root)
    assert {path: after[path] for path in before} == before
    alias = root / "projects" / "-new-sea" / ".session-aliases"
    assert alias.read_text() == f"{root}/projects/-src-tide\n"
    assert alias.stat().st_mode & 0o777 == 0o600
    assert (root / "projects" / "-new-sea-low" / ".session-aliases").exists()
    made(move(root, store, "--undo", "--yes"))
    assert tree(root) == before
    assert move(root, store, "--undo", "--yes").exit_code == 1


def test_an_alias_of_somebody_else_stays(root: Path, store: Path) -> None:
    alias = root / "projects" / "-new-sea" / ".session-aliases"
    alias.parent.mkdir()
    alias.write_text("/elsewhere")
    before = tree(root)
    made(move(root, store, OLD, NEW, "--yes"))
    assert alias.read_text().splitlines() == ["/elsewhere", f"{root}/projects/-src-tide"]
    made(move(root, store, OLD, NEW, "--yes"))
    assert len(alias.read_text().splitlines()) == 2
    made(move(root, store, "--undo", "--yes"))
    assert tree(root) == before
    made(move(root, store, OLD, NEW, "--yes"))
    with alias.open("a") as file:
        file.write("/later\n")
    made(move(root, store, "--undo", "--yes"))
    assert alias.read_text() == "/elsewhere\n/later\n"


def test_both_places_are_one_project(root: Path, store: Path) -> None:
    assert projects(root, store) == {OLD: 1, f"{OLD}/low": 1, "/src/tides": 1}
    made(move(root, store, OLD, NEW, "--yes"))
    new = "44444444-dddd-4ddd-8ddd-444444444444"
    write_log(root, new, [said(1, "Now here", session=new, cwd=NEW)], folder="-new-sea")
    assert projects(root, store) == {NEW: 2, f"{NEW}/low": 1, "/src/tides": 1}
    with hansard.open(store, [root]) as h:
        for name in (OLD, NEW):
            assert {session.session_id for session in h.sessions(project=name).sessions} >= {SESSION, new}
            assert {prompt.text for prompt in h.prompts(project=name).prompts} >= {
                "lost",
                "Now here",
                "When is high tide?",
            }
        for suffix, count in (("", 3), ("/low", 1)):
            old, new_place = (h.sessions(project=place + suffix).sessions for place in (OLD, NEW))
            assert len(old) == count
            assert old == new_place
            assert {prompt.text for prompt in h.prompts(project=OLD + suffix).prompts} == {
                prompt.text for prompt in h.prompts(project=NEW + suffix).prompts
            }
            found = [{line.file.path for line in h.grep("tide|here", project=place + suffix)} for place in (OLD, NEW)]
            assert found[0] == found[1]
            assert found[0]
        assert "lost below" in {prompt.text for prompt in h.prompts(project=f"{NEW}/low").prompts}
        rows = h.usage(by="project").rows
        assert [row.key["project"] for row in rows] == [NEW]
        assert h.plan_resume(SESSION).session.cwd == NEW
        before = [h.sessions().sessions, h.projects()]
        h.rebuild()
        assert [h.sessions().sessions, h.projects()] == before
    made(move(root, store, "--undo", "--yes"))
    assert projects(root, store) == {OLD: 1, NEW: 1, f"{OLD}/low": 1, "/src/tides": 1}


def test_a_project_that_is_only_in_the_record(root: Path, store: Path) -> None:
    projects(root, store)
    shutil.rmtree(root / "projects" / "-src-tide")
    shutil.rmtree(root / "projects" / "-src-tide-low")
    before = tree(root)
    made(move(root, store, OLD, NEW, "--yes"))
    assert tree(root) == before
    assert projects(root, store) == {NEW: 1, f"{NEW}/low": 1, "/src/tides": 1}


def test_rename_moves_the_folder_and_what_names_it(root: Path, store: Path) -> None:
    before = tree(root)
    made(move(root, store, OLD, NEW, "--rename", "--yes"))
    assert not (root / "projects" / "-src-tide").exists()
    transcript = root / "projects" / "-new-sea" / f"{SESSION}.jsonl"
    assert transcript.read_bytes() == before[str(root / "projects/-src-tide" / f"{SESSION}.jsonl")][0]
    first, *others, torn = (root / "history.jsonl").read_text().splitlines()
    named = [json.loads(line)["project"] for line in (first, *others)]
    assert named == [NEW, NEW, f"{NEW}/low", "/src/tides"]
    assert json.loads(first)["display"] == f'say "project":"{OLD}"'
    assert torn == "torn {"
    assert json.loads((root / ".claude.json").read_text())["projects"] == {NEW: {"trust": 1}, "/src/tides": {}}
    assert projects(root, store) == {NEW: 1, f"{NEW}/low": 1, "/src/tides": 1}
    with hansard.open(store, [root]) as h:
        assert h.session(SESSION).source_state == "live"
    made(move(root, store, "--undo", "--yes"))
    assert tree(root) == before


def test_cwd_is_rewritten_where_it_is_asked_for(root: Path, store: Path) -> None:
    before = tree(root)
    made(move(root, store, OLD, NEW, "--rename", "--rewrite-cwd", "--yes"))
    transcript = root / "projects" / "-new-sea" / f"{SESSION}.jsonl"
    assert {json.loads(line)["cwd"] for line in transcript.read_text().splitlines()} == {NEW}
    assert transcript.stat().st_mtime_ns == before[str(root / "projects/-src-tide" / f"{SESSION}.jsonl")][2]
    with transcript.open("a") as file:
        file.write(json.dumps(said(3, "more", cwd=NEW)) + "\n")
    made(move(root, store, "--undo", "--yes"))
    back = (root / "projects/-src-tide" / f"{SESSION}.jsonl").read_text().splitlines()
    assert [json.loads(line)["cwd"] for line in back] == [OLD, OLD, NEW]


def test_a_folder_that_is_there_is_merged(root: Path, store: Path) -> None:
    (root / "projects" / "-new-sea" / "memory").mkdir(parents=True)
    (root / "projects" / "-new-sea" / "memory" / "note.md").write_text("x")
    before = tree(root)
    made(move(root, store, OLD, NEW, "--rename", "--yes"))
    assert (root / "projects" / "-new-sea" / f"{SESSION}.jsonl").exists()
    made(move(root, store, "--undo", "--yes"))
    assert tree(root) == before
    (root / "projects" / "-new-sea" / "memory" / "note.md").write_text("other")
    refused = move(root, store, OLD, NEW, "--rename", "--yes")
    assert refused.exit_code == 2
    assert "both exist and differ" in refused.output


def test_a_kill_half_way_is_put_right(root: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
    before = tree(root)
    known = [(str(root), "-src-tide", OLD), (str(root), "-src-tide-low", f"{OLD}/low")]

    def run() -> None:
        with journals(str(store)) as opened:
            plan = plan_move([open_root(str(root))], known, OLD, NEW, rename=True, rewrite_cwd=True)
            opened.apply(plan.changes)

    kills = 0
    while is_killed(kills, run):
        kills += 2
        with journals(str(store)) as opened:
            for found in opened.find("move"):
                opened.undo(found)
        assert tree(root) == before
    assert kills > 40


def test_real_config_directories_are_byte_identical_afterwards(corpus: Path, tmp_path: Path) -> None:
    count = 0
    scenarios = ("worktree", "misc", "paths", "subagents", "resume", "hooks_all")
    places = [place for place in (corpus / "real-client-2").glob("*/*/dot-claude") if place.parent.name in scenarios]
    newest = max(place.parent.parent.name for place in places)
    for place in sorted(places):
        copy, store = tmp_path / f"copy-{count}", tmp_path / f"store-{count}"
        shutil.copytree(place, copy, symlinks=True)
        with hansard.open(store, [copy]) as h:
            h.sync()
            (old, *_) = [session.cwd for session in h.sessions(debris=True).sessions if session.cwd]
        before = tree(copy)
        least: list[list[str]] = [[]] if place.parent.parent.name == newest else []
        for options in (*least, ["--rename", "--rewrite-cwd"]):
            made(move(copy, store, old, "/new/elsewhere", "--yes", *options))
            assert tree(copy) != before
            made(move(copy, store, "--undo", "--yes"))
            assert tree(copy) == before
        count += 1
    assert count > 3


def test_a_link_is_not_followed(root: Path, store: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "projects" / "-new-sea").symlink_to(outside)
    before = tree(root, outside)
    assert move(root, store, OLD, NEW, "--yes").exit_code == 2
    assert tree(root, outside) == before


def test_sessions_of_another_project_in_the_same_folder_stay(root: Path, store: Path) -> None:
    other = "66666666-ffff-4fff-8fff-666666666666"
    write_log(root, other, [said(1, "Whose?", session=other, cwd="/src-tide")])
    before = tree(root)
    refused = move(root, store, OLD, NEW, "--rename", "--yes")
    assert refused.exit_code == 2
    assert "also holds sessions of /src-tide" in refused.output
    assert tree(root) == before
    told = move(root, store, OLD, NEW, "--yes")
    assert told.exit_code == 0
    assert "also holds sessions of /src-tide" in told.stderr


def aliases(root: Path, folder: str) -> list[str]:
    lines = (root / "projects" / folder / ".session-aliases").read_text().splitlines()
    return [Path(line).name for line in lines]


def test_aliases_are_carried_on(root: Path, store: Path) -> None:
    before = tree(root)
    made(move(root, store, OLD, NEW, "--yes"))
    made(move(root, store, NEW, "/third", "--yes"))
    assert aliases(root, "-third") == ["-new-sea", "-src-tide"]
    made(move(root, store, OLD, "/fourth", "--rename", "--yes"))
    assert aliases(root, "-third") == ["-new-sea", "-fourth"]
    assert aliases(root, "-new-sea") == ["-fourth"]
    made(move(root, store, NEW, "/fifth", "--rename", "--yes"))
    assert aliases(root, "-third") == ["-fifth", "-fourth"]
    assert aliases(root, "-fifth") == ["-fourth"]
    for _ in range(4):
        made(move(root, store, "--undo", "--yes"))
    assert tree(root) == before


def test_an_alias_of_what_was_merged_goes(root: Path, store: Path) -> None:
    made(move(root, store, OLD, NEW, "--yes"))
    before = tree(root)
    made(move(root, store, OLD, NEW, "--rename", "--yes"))
    assert aliases(root, "-new-sea") == []
    made(move(root, store, "--undo", "--yes"))
    assert tree(root) == before


@pytest.mark.parametrize("options", [[], ["--rename"]])
def test_projects_may_be_a_link(options: list[str], root: Path, store: Path, tmp_path: Path) -> None:
    (root / "projects").rename(tmp_path / "elsewhere")
    (root / "projects").symlink_to(tmp_path / "elsewhere")
    before = tree(root, tmp_path / "elsewhere")
    made(move(root, store, OLD, NEW, "--yes", *options))
    if not options:
        alias = tmp_path / "elsewhere" / "-new-sea" / ".session-aliases"
        assert alias.read_text() == f"{tmp_path}/elsewhere/-src-tide\n"
    made(move(root, store, "--undo", "--yes"))
    assert tree(root, tmp_path / "elsewhere") == before


@pytest.mark.parametrize("target", [OLD, f"{OLD}/inside", "/src", "/"])
def test_a_folder_cannot_be_moved_into_itself(target: str, root: Path) -> None:
    with pytest.raises(UsageError):
        plan_move([open_root(str(root))], [], OLD, target)


@pytest.mark.parametrize(
    ("path", "old", "new", "expected"),
    [
        ("/a/b", "/a/b", "/c", "/c"),
        ("/a/b/x", "/a/b", "/c", "/c/x"),
        ("/a/bc", "/a/b", "/c", None),
        ("/A/b", "/a/b", "/c", None),
        ("C:\\Users\\m\\p\\x", "C:\\Users\\m", "/home/m", "/home/m/p/x"),
        ("c:\\users\\m", "C:\\Users\\m\\", "/home/m", "/home/m"),
        ("/home/m/p", "/home/m", "D:\\m", "D:\\m\\p"),
        ("/Users/m/p", "/Users/m", "/home/m", "/home/m/p"),
    ],
)
def test_where_a_path_is_now(path: str, old: str, new: str, expected: str | None) -> None:
    assert moved_path(path, old, new) == expected


def test_moves_are_followed_to_their_end() -> None:
    moves = {"/a": "/b", "/b": "/c", "/c/x": "/d", "/p": "/q", "/q": "/p"}
    assert follow_moves("/a/x/y", moves) == "/d/y"
    assert follow_moves("/p", moves) in ("/p", "/q")
    assert follow_moves("/elsewhere", moves) == "/elsewhere"


def test_a_whole_home_of_windows(tmp_path: Path, store: Path) -> None:
    root, session = tmp_path / "win", "55555555-eeee-4eee-8eee-555555555555"
    cwd = "C:\\Users\\mira\\src\\tide"
    write_log(root, session, [said(1, "x", session=session, cwd=cwd)], folder=encode_project(cwd))
    made(move(root, store, "C:\\Users\\mira", "/home/mira", "--yes"))
    alias = root / "projects" / "-home-mira-src-tide" / ".session-aliases"
    assert alias.read_text() == f"{root}/projects/C--Users-mira-src-tide\n"
    assert projects(root, store) == {"/home/mira/src/tide": 1}


def test_only_the_value_at_the_top_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    line = b'{"result": {"cwd":"/a"}, "text": "\\"cwd\\":\\"/a\\"", "cwd" : "/a", "n": 1.50}\n'
    path.write_bytes(line + b'{"cwd": 7}\n{"cwd": "/z"}\nbroken "cwd":"/a"\n')
    new = b"".join(rewrite_lines(str(path), "cwd", lambda place: "/é" if place == "/a" else None))
    assert (
        new.splitlines()[0]
        == '{"result": {"cwd":"/a"}, "text": "\\"cwd\\":\\"/a\\"", "cwd" : "/é", "n": 1.50}'.encode()
    )
    assert new.splitlines()[1:] == path.read_bytes().splitlines()[1:]
