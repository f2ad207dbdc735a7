"""Sessions as they are derived from their transcripts."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hansard.index.derive import project_of
from hansard.sources.git import find_worktree
from hansard.storage.sqlite import connect
from hansard.sync.rebuild import rebuild
from tests.sync.making import FOLDER, Line, agent_path, assistant, call, entry, main_path, result, session, user

if TYPE_CHECKING:
    from tests.sync.making import Tree

S = session(1)
TALK = [user(S, "u1", "Why is\n  it so?", 0), assistant(S, "u2", "msg_01a", "Because.", 1, "u1")]
TITLE_FILE = f"{FOLDER}/{S}/custom-title.json"


def _title(tree: Tree) -> tuple[str, str]:
    tree.sync()
    ((title, source),) = tree.rows("SELECT title, title_source FROM sessions WHERE session_id = ?", S)
    return title, source


def test_titles_by_rank(tree: Tree) -> None:
    command = user(S, "u0", "<command-name>/review</command-name><command-args>42</command-args>", 0)
    tree.write(main_path(S), [user(S, "c0", "<command-name>/clear</command-name>", 0)])
    assert _title(tree) == ("", "none")
    tree.append(main_path(S), [command])
    assert _title(tree) == ("/review 42", "command")
    tree.append(main_path(S), TALK)
    assert _title(tree) == ("Why is it so?", "prompt")
    tree.append(main_path(S), [{"type": "summary", "summary": "Its reasons", "leafUuid": "u2"}])
    assert _title(tree) == ("Its reasons", "summary")
    tree.append(main_path(S), [{"type": "ai-title", "aiTitle": "Reasons", "sessionId": S}])
    assert _title(tree) == ("Reasons", "ai")
    tree.append(main_path(S), [{"type": "agent-name", "agentName": "the-why", "sessionId": S}])
    assert _title(tree) == ("the-why", "agent")
    tree.write(TITLE_FILE, json.dumps({"customTitle": "From its file \ud800"}).encode())
    assert _title(tree) == ("From its file \ufffd", "custom")
    tree.append(
        main_path(S), [{"type": "custom-title", "customTitle": title, "sessionId": S} for title in ("Mine", "Mine 2")]
    )
    assert _title(tree) == ("Mine 2", "custom")


def test_of_two_files_with_a_title_the_newer_one_counts(tree: Tree) -> None:
    tree.write(main_path(S), TALK)
    old = tree.write(main_path(session(2)), [{"type": "summary", "summary": "Old", "leafUuid": "u2"}])
    tree.write(main_path(session(3)), [{"type": "summary", "summary": "New", "leafUuid": "u2"}])
    assert _title(tree) == ("New", "summary")
    tree.write(main_path(session(2)), old.read_bytes())  # touched, nothing else
    assert _title(tree) == ("Old", "summary")


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"customTitle": 5}', b"\xff\xfe", b"[" * 5000])
def test_a_title_file_of_another_shape(tree: Tree, content: bytes) -> None:
    tree.write(main_path(S), TALK)
    tree.write(TITLE_FILE, content)
    assert _title(tree) == ("Why is it so?", "prompt")


@pytest.mark.parametrize(
    ("cwd", "worktree_of", "project"),
    [
        ("/home/mira/app", "", "/home/mira/app"),
        ("/home/mira/app/", "", "/home/mira/app"),
        ("/", "", "/"),
        ("/home/mira/app/.claude/worktrees/fix-1", "", "/home/mira/app"),
        ("/home/mira/app/.claude/worktrees/fix-1/src", "", "/home/mira/app"),
        ("/home/mira/app/.worktrees/fix-1/src", "", "/home/mira/app"),
        ("/home/mira/app/.worktrees", "", "/home/mira/app/.worktrees"),
        ("/elsewhere/wt", "/home/mira/app", "/home/mira/app"),
        ("c:\\src\\app\\.claude\\worktrees\\x", "", "C:\\src\\app"),
        ("C:\\src\\app\\", "", "C:\\src\\app"),
        ("", "", ""),
    ],
)
def test_projects(cwd: str, worktree_of: str, project: str) -> None:
    assert project_of(cwd, worktree_of) == project


def test_a_worktree_lies_under_its_repository(tree: Tree) -> None:
    state = {"type": "worktree-state", "sessionId": S, "worktreeSession": {"originalCwd": "/home/mira/src/app"}}
    tree.write(main_path(S), [{**line, "cwd": "/somewhere/wt"} for line in TALK])
    tree.sync()
    assert tree.rows("SELECT project, cwd FROM sessions") == [("/somewhere/wt", "/somewhere/wt")]
    tree.append(main_path(S), [state])
    tree.sync()
    assert tree.rows("SELECT project, cwd FROM sessions") == [("/home/mira/src/app", "/somewhere/wt")]


def _worktree(folder: Path, gitdir: str) -> Path:
    """A worktree as git makes it: its `.git` file names a folder of the repository, and that names the file."""
    _marked(folder, gitdir)
    administrative = Path(os.path.normpath(folder / gitdir))
    administrative.mkdir(parents=True)
    (administrative / "gitdir").write_text(f"{folder / '.git'}\n", encoding="utf-8")
    return folder


def _marked(folder: Path, gitdir: str) -> Path:
    folder.mkdir(parents=True)
    (folder / ".git").write_text(f"gitdir: {gitdir}\n", encoding="utf-8")
    return folder


def test_gits_files_tell_the_repository_of_a_worktree_for_ever(tree: Tree, tmp_path: Path) -> None:
    """Also of a folder below it, also of what was kept before, also when the worktree is deleted and the index made again."""
    place, repository = tmp_path / "trees" / "fix", str(tmp_path / "src" / "app")
    query = "SELECT session_id, project FROM sessions ORDER BY session_id"
    other = S[:-1] + "f"
    tree.write(main_path(S), [{**line, "cwd": str(place)} for line in TALK])
    tree.sync()
    assert tree.rows(query) == [(S, str(place))]
    _worktree(place, f"{repository}/.git/worktrees/fix")
    (place / "lib").mkdir()
    before = sorted((path, path.stat().st_mtime_ns) for path in place.rglob("*"))
    tree.write(main_path(other), [{**line, "cwd": str(place / "lib"), "sessionId": other} for line in TALK])
    tree.sync()
    folded = sorted([(S, repository), (other, repository)])
    assert tree.rows(query) == folded
    assert sorted((path, path.stat().st_mtime_ns) for path in place.rglob("*")) == before
    shutil.rmtree(place)
    shutil.rmtree(repository)
    tree.append(main_path(S), [{**TALK[0], "uuid": "u-later", "cwd": str(place)}])
    tree.sync()
    assert tree.rows(query) == folded
    rebuild(str(tree.home), workers=False)
    assert tree.rows(query) == folded


@pytest.mark.parametrize(
    ("gitdir", "repository"),
    [
        ("{}/src/app/.git/worktrees/fix", "{}/src/app"),
        ("../../src/app/.git/worktrees/fix", "{}/src/app"),
        ("{}/src/app/.bare/worktrees/fix", "{}/src/app"),
        ("{}/src/app.git/worktrees/fix", "{}/src/app.git"),
        ("{}/src/app/.git/modules/fix", None),
    ],
)
def test_repositories_of_worktrees(tmp_path: Path, gitdir: str, repository: str | None) -> None:
    folder = _worktree(tmp_path / "trees" / "fix", gitdir.format(tmp_path))
    found = repository and (str(folder), repository.format(tmp_path))
    assert find_worktree(str(folder)) == found
    assert find_worktree(f"{folder}/gone/below") == found


@pytest.mark.parametrize(
    "gitdir",
    ["/worktrees/fix", "", "\x00/.git/worktrees/fix", "x" * 5000 + "/.git/worktrees/fix", "//host/a/.git/worktrees/b"],
)
def test_git_files_that_name_no_repository(tmp_path: Path, gitdir: str) -> None:
    assert find_worktree(str(_marked(tmp_path / "trees" / "fix", gitdir))) is None


@pytest.mark.parametrize(
    ("back", "is_worktree"),
    [
        ("{}/trees/fix/.git\n", True),
        ("../../../../../trees/fix/.git\n", True),
        ("{}/trees/fix/.git\r\n", True),
        ("{}/link/fix/.git\n", True),
        ("{}/trees/other/.git\n", False),
        ("{}/trees/fix\n", False),
        ("\n", False),
        ("\x00", False),
        (None, False),
    ],
)
def test_a_repository_must_confirm_its_worktree(tmp_path: Path, back: str | None, is_worktree: bool) -> None:
    """A `.git` file that anybody could have written does not make a folder part of another repository."""
    administrative = tmp_path / "src" / "app" / ".git" / "worktrees" / "fix"
    administrative.mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "trees")
    folder = _marked(tmp_path / "trees" / "fix", str(administrative))
    if back is not None:
        (administrative / "gitdir").write_text(back.format(tmp_path), newline="")
    assert find_worktree(str(folder)) == ((str(folder), str(tmp_path / "src" / "app")) if is_worktree else None)


def test_a_repository_inside_of_a_worktree_is_a_project_of_its_own(tree: Tree, tmp_path: Path) -> None:
    """And so is one that was made where a worktree used to be."""
    place, repository = tmp_path / "trees" / "fix", str(tmp_path / "src" / "app")
    inner, other = place / "vendor", S[:-1] + "f"
    _worktree(place, f"{repository}/.git/worktrees/fix")
    (inner / ".git").mkdir(parents=True)
    assert find_worktree(str(inner / "lib")) == (str(inner), "")
    tree.write(main_path(S), [{**line, "cwd": str(place)} for line in TALK])
    tree.write(main_path(other), [{**line, "cwd": str(inner), "sessionId": other} for line in TALK])
    tree.sync()
    query = "SELECT session_id, project FROM sessions ORDER BY session_id"
    assert tree.rows(query) == sorted([(S, repository), (other, str(inner))])
    (place / ".git").unlink()
    (place / ".git").mkdir()
    tree.append(main_path(S), [{**TALK[0], "uuid": "u-later", "cwd": str(place)}])
    tree.sync()
    assert tree.rows(query) == sorted([(S, str(place)), (other, str(inner))])
    rebuild(str(tree.home), workers=False)
    assert tree.rows(query) == sorted([(S, str(place)), (other, str(inner))])


def test_folders_that_are_no_worktrees(tmp_path: Path) -> None:
    _made(tmp_path / "a")
    os.mkfifo(_made(tmp_path / "b") / ".git")
    _worktree(tmp_path / "real", f"{tmp_path}/app/.git/worktrees/fix")
    (_made(tmp_path / "c") / ".git").symlink_to(tmp_path / "real" / ".git")
    (_made(tmp_path / "d") / ".git").write_bytes(b"gitdir: /\xff/.git/worktrees/x")
    names = [str(tmp_path / name) for name in ("a", "b", "c", "d", "real/../real")]
    for folder in [*names, "", "relative", "/", "//host/share", "\\\\host\\share", "/\ud800", "/\x00", "/x" * 5000]:
        assert find_worktree(folder) is None


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    ("lines", "debris"),
    [
        ([], 1),
        ([{"type": "summary", "summary": "x", "leafUuid": "y"}], 1),
        ([{"type": "file-history-snapshot", "messageId": "x", "snapshot": {}}], 1),
        ([user(S, "u1", "<command-name>/clear</command-name>", 0)], 1),
        ([user(S, "u1", "<command-name>/review</command-name>", 0)], 0),
        ([user(S, "u1", "Hm.", 0)], 0),
        (TALK, 0),
    ],
)
def test_debris(tree: Tree, lines: list[Line], debris: int) -> None:
    tree.write(main_path(S), lines)
    tree.sync()
    assert tree.rows("SELECT debris FROM sessions WHERE session_id = ?", S) == [(debris,)]


def test_what_a_session_adds_up_to(tree: Tree) -> None:
    edit = call("t1", "Edit", file_path="/home/mira/src/app/a.py", old_string="x", new_string="y")
    fail = call("t2", "Bash", command="false")
    failed = result(S, "u6", "t2", "no", 5)
    failed["message"]["content"][0]["is_error"] = True
    patch = {"filePath": "/home/mira/src/app/a.py", "structuredPatch": [{"lines": ["-x", "+y", "+z"]}]}
    tree.write(
        main_path(S),
        [
            *TALK,
            assistant(S, "u3", "msg_01b", [edit], 2, "u2", stop=None, tokens=(5, 1)),
            assistant(S, "u4", "msg_01b", [fail], 2, "u3", stop=None, tokens=(5, 9)),
            result(S, "u5", "t1", "ok", 4, patch),
            failed,
            entry("system", S, "u7", 6, "u6", subtype="compact_boundary", compactMetadata={"trigger": "manual"}),
            {**user(S, "u8", "On another branch.", 7, "u7"), "gitBranch": "fix"},
        ],
    )
    tree.sync()
    columns = (
        "prompts, tool_calls, tool_errors, compactions, files_changed, lines_added, lines_removed, branch, branches,"
        " input_tokens, output_tokens, api_messages, lower_bound_messages, first_prompt, ended_at - started_at"
    )
    assert tree.rows(f"SELECT {columns} FROM sessions") == [
        (2, 2, 1, 1, 1, 2, 1, "main", '["main", "fix"]', 15, 29, 2, 1, "Why is it so?", 420_000)
    ]
    assert tree.rows("SELECT tool, calls, errors FROM session_tools ORDER BY tool") == [("Bash", 1, 1), ("Edit", 1, 0)]
    assert tree.rows("SELECT path, change, added, removed FROM file_changes") == [
        ("/home/mira/src/app/a.py", "edit", 2, 1)
    ]


def test_a_whole_last_line_without_an_end_counts(tree: Tree) -> None:
    content = b"".join(json.dumps(line).encode() + b"\n" for line in TALK)
    tree.write(main_path(S), content[:-1])
    tree.sync()
    assert tree.rows("SELECT prompts, api_messages, output_tokens, debris FROM sessions") == [(1, 1, 20, 0)]
    assert tree.rows("SELECT lines, issues, tail FROM transcripts") == [(2, 0, 1)]
    tree.write(main_path(S), content)
    tree.sync()
    assert tree.rows("SELECT prompts, api_messages, output_tokens, debris FROM sessions") == [(1, 1, 20, 0)]
    assert tree.rows("SELECT lines, issues, tail FROM transcripts") == [(2, 0, 0)]
    tree.append(main_path(S), [user(S, "u3", "Because?", 2, "u2")])
    tree.sync()
    vocabulary = "SELECT term, cnt FROM temp.words WHERE term = 'because'"
    with closing(connect(str(tree.home / "text.db"))) as db:
        db.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab('main', 'talk', 'row')")
        assert db.execute(vocabulary).fetchall() == [("because", 2)]


def test_a_renamed_transcript_belongs_to_the_session_its_lines_state(tree: Tree) -> None:
    path = f"{FOLDER}/backup of monday.jsonl"
    tree.write(path, [{"type": "note"}])
    tree.sync()
    assert tree.rows("SELECT session_id, debris FROM sessions") == [("backup of monday", 1)]
    saying_nothing = assistant(S, "u9", "msg_01z", "Who am I?", 0)
    del saying_nothing["sessionId"]
    tree.append(path, [saying_nothing])
    tree.sync()
    assert tree.rows("SELECT session_id, output_tokens FROM sessions") == [("backup of monday", 20)]
    tree.append(path, TALK)
    tree.sync()
    assert tree.rows("SELECT session_id, output_tokens, api_messages FROM sessions") == [(S, 40, 2)]
    assert tree.rows("SELECT DISTINCT session_id FROM usage UNION SELECT session_id FROM session_usage") == [(S,)]
    assert tree.rows("SELECT session_id FROM transcripts") == [(S,)]


def test_the_longer_of_two_copies_speaks_for_a_session(tree: Tree) -> None:
    tree.write(f"{FOLDER}/saved.jsonl", TALK)
    tree.write(main_path(S), [*TALK, user(S, "u5", "And now?", 9)])
    tree.sync()
    rows = tree.rows(
        "SELECT s.prompts, s.api_messages, s.transcripts, t.path FROM sessions s JOIN transcripts t ON t.id = s.transcript"
    )
    assert rows == [(2, 1, 2, main_path(S))]
    assert tree.rows("SELECT count(*) FROM usage") == [(1,)]


def test_todos_and_tasks(tree: Tree) -> None:
    tree.write(main_path(S), TALK)
    path = f"todos/{S}-agent-{S}.json"
    tree.write(
        path,
        json.dumps(
            [{"content": "One \ud83d", "status": "pending"}, {"content": "Two", "status": "pending"}, 5]
        ).encode(),
    )
    tree.write(f"tasks/{S}/1.json", json.dumps({"subject": "A task", "status": "completed"}).encode())
    tree.write(f"tasks/{S}/2.json", b"[[[")
    tree.sync()
    rows = tree.rows("SELECT session_id, status, content FROM todos ORDER BY content")
    assert rows == [(S, "completed", "A task"), (S, "pending", "One \ufffd"), (S, "pending", "Two")]
    tree.write(path, json.dumps([{"content": "Two", "status": "completed"}]).encode())
    tree.sync()
    assert tree.rows("SELECT status, content FROM todos ORDER BY content") == [
        ("completed", "A task"),
        ("completed", "Two"),
    ]


def test_the_prompt_history(tree: Tree) -> None:
    entries = [
        {"display": "first", "timestamp": 1_770_000_000_000, "project": "/p", "sessionId": S},
        {"display": "second", "timestamp": "2026-03-01T09:00:00Z"},
        {"display": "third \ud800", "timestamp": 1e300, "project": 5},
    ]
    tree.write(
        "history.jsonl",
        b"".join(json.dumps(line).encode() + b"\n" for line in entries) + b"no json\n" + b'{"display":"la',
    )
    tree.sync()
    sql = "SELECT text, ts, project, session_id FROM prompts ORDER BY id"
    assert tree.rows(sql) == [
        ("first", 1_770_000_000_000, "/p", S),
        ("second", 1_772_355_600_000, None, None),
        ("third \ufffd", None, None, None),
    ]
    assert [row[0] for row in tree.rows("SELECT reason FROM issues ORDER BY id")] == [
        "wrong_type",
        "not_json",
        "unfinished",
    ]
    tree.append("history.jsonl", b'st"}')
    tree.sync()
    assert [row[0] for row in tree.rows(sql)] == ["first", "second", "third \ufffd", "last"]
    assert tree.rows("SELECT lines, records, issues FROM transcripts") == [(5, 4, 2)]
    assert tree.rows("SELECT count(*) FROM sessions") == [(0,)]


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        (
            "Implement the following plan:\n\n# Plan: Add `--trust` to the client\n\n## Context\n\nWhy",
            "Add `--trust` to the client",
        ),
        ("Implement the following plan:\n\n# Fix the tide table\n", "Fix the tide table"),
        ("Implement the following plan: do it", "do it"),
        ("Implement the following plan:", "Implement the following plan:"),
        ("Please implement it", "Please implement it"),
    ],
)
def test_a_plan_that_was_handed_over_gives_its_heading(tree: Tree, prompt: str, title: str) -> None:
    tree.write(main_path(S), [user(S, "u1", prompt)])
    tree.sync()
    assert tree.rows("SELECT title, title_source FROM sessions") == [(title, "prompt")]


def test_the_model_with_most_answers_comes_first(tree: Tree) -> None:
    def answer(number: int, model: str) -> Line:
        line = assistant(S, f"m{number}", f"msg_01{number}", "Because.", number, "u1")
        line["message"]["model"] = model
        return line

    def models() -> list[str]:
        tree.sync()
        ((found,),) = tree.rows("SELECT models FROM sessions WHERE session_id = ?", S)
        named: list[str] = json.loads(str(found))
        return named

    tree.write(main_path(S), [TALK[0], answer(1, "small"), answer(2, "large")])
    assert models() == ["small", "large"]
    tree.append(main_path(S), [answer(3, "large"), answer(4, "other")])
    assert models() == ["large", "small", "other"]
    aside = [{**answer(number, "aside"), "agentId": "a1", "isSidechain": True} for number in range(10, 15)]
    tree.write(agent_path(S, "a1"), aside)
    assert models() == ["large", "small", "other", "aside"]
    # Those of a fork count for its original only.
    fork = session(2)
    copies = [{**line, "sessionId": fork} for line in (TALK[0], answer(1, "small"), answer(2, "large"))]
    tree.write(main_path(fork), [*copies, {**answer(5, "other"), "sessionId": fork}])
    assert models() == ["large", "small", "other", "aside"]
    ((found,),) = tree.rows("SELECT models FROM sessions WHERE session_id = ?", fork)
    assert json.loads(str(found)) == ["other", "small", "large"]
