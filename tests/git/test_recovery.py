"""Sessions that are gone everywhere, put together from what is left."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from markdown_it import MarkdownIt

import hansard
from hansard.cli.app import hansard as command
from hansard.demo import write_history
from hansard.errors import Ambiguous, NotFound, UsageError
from hansard.model.recovery import MARK
from hansard.render.recovery import draw_reconstruction, markdown_lines
from hansard.render.text import Paint
from tests.demo_history.client import load
from tests.git.making import START, Workshop

LOST = "10570000-aaaa-4aaa-8aaa-000000000001"
OTHER = "10570000-bbbb-4bbb-8bbb-000000000002"
KEPT = "22222222-bbbb-4bbb-8bbb-222222222222"
HOSTILE = "\x1b]0;owned\x07\x1b[31m\u202eevil\r\n```\n<script>alert(1)</script>\n# heading"


class Root:
    """A config directory whose client has cleaned up."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "projects").mkdir(parents=True)
        self.lines: list[str] = []

    def typed(
        self, text: str, minutes: float, *, session: str | None = LOST, project: str = "/src/tide", pasted: Any = None
    ) -> None:
        at = int((START + timedelta(minutes=minutes)).timestamp() * 1000)
        line = {
            "display": text,
            "pastedContents": {} if pasted is None else pasted,
            "timestamp": at,
            "project": project,
        }
        self.lines.append(json.dumps(line | ({"sessionId": session} if session else {})) + "\n")
        self.write("history.jsonl", "".join(self.lines))

    def write(self, path: str, text: str) -> None:
        target = self.path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def transcript(self, session: str, text: str, minutes: float, project: str = "/src/tide") -> Path:
        line = {
            "type": "user",
            "uuid": f"{session[:-4]}ffff",
            "parentUuid": None,
            "sessionId": session,
            "timestamp": (START + timedelta(minutes=minutes)).isoformat().replace("+00:00", "Z"),
            "cwd": project,
            "version": "2.1.0",
            "message": {"role": "user", "content": text},
        }
        self.write(f"projects/-src-tide/{session}.jsonl", json.dumps(line) + "\n")
        return self.path / f"projects/-src-tide/{session}.jsonl"


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return Root(tmp_path / "claude")


@pytest.fixture
def h(tmp_path: Path, root: Root) -> Iterator[hansard.Hansard]:
    with hansard.open(tmp_path / "home", [root.path]) as engine:
        yield engine


def test_the_forgotten_sessions_of_the_demo_are_found(tmp_path: Path) -> None:
    write_history(tmp_path / "demo", now=datetime(2026, 11, 1, 12, tzinfo=UTC))
    with hansard.open(tmp_path / "home", [tmp_path / "demo"]) as engine:
        engine.sync()
        found = engine.lost_sessions(limit=None)
        texts = [engine.reconstruct(lost.name).prompts[0].text for lost in found.sessions]
        kept = {session.session_id for session in engine.sessions(limit=None, debris=True).sessions}
    assert texts == load("stories.toml")["forgotten"][::-1]
    assert found.total == len(texts)
    assert not kept & {lost.session_id for lost in found.sessions}


def test_a_transcript_in_the_root_or_the_record_is_no_loss(root: Root, h: hansard.Hansard) -> None:
    place = root.transcript(KEPT, "Check the sluice", 1)
    root.typed("Check the sluice", 1, session=KEPT)
    root.typed("/exit", 2, session=KEPT)
    h.sync()
    place.unlink()
    h.sync()
    assert h.lost_sessions().sessions == ()
    with pytest.raises(NotFound, match="no lost session matches '22222222'"):
        h.reconstruct("22222222")


def test_everything_that_is_left_is_put_together(tmp_path: Path, h: hansard.Hansard, root: Root) -> None:
    shop = Workshop(tmp_path / "src")
    project = str(shop.root)
    shop.type("gauge.py", "level = 1\n")
    shop.now = START - timedelta(minutes=30)
    before = shop.commit("Before the session")
    shop.now = START + timedelta(minutes=20)
    during = shop.commit(f"Read the gauge\n\nClaude-Session: {LOST}")
    shop.now = START + timedelta(minutes=90)
    after = shop.commit("Soon after the last prompt")
    shop.now = START + timedelta(hours=9)
    late = shop.commit("Next morning")
    cached = "a\nb\n"
    root.typed(
        "Look at [Pasted text #1 +2 lines] and [Pasted text #2 +9 lines] [Image #3]",
        0,
        project=project,
        pasted={
            "1": {"id": 1, "type": "text", "content": "one\ntwo"},
            "2": {"type": "text", "contentHash": "0123456789abcdef"},
        },
    )
    root.typed("Go on [Pasted text #4 +7 lines]", 30, project=project, pasted={"4": {"contentHash": "gone"}})
    root.write("paste-cache/0123456789abcdef.txt", cached)
    root.write(f"todos/{LOST}-agent-{LOST}.json", json.dumps([{"content": "Weigh anchor", "status": "completed"}]))
    root.write(f"todos/{OTHER}-agent-{OTHER}.json", "[]")  # an empty list tells nothing
    root.write(f"projects/-src-tide/{LOST}/custom-title.json", json.dumps({"customTitle": "The gauge"}))
    listed = {"sessionId": LOST, "summary": "Gauges", "gitBranch": "spring", "projectPath": project}
    root.write("projects/-src-tide/sessions-index.json", json.dumps({"version": 1, "entries": [listed, None, 7]}))
    copy = sha256(f"{project}/gauge.py".encode()).hexdigest()[:16]
    root.write(f"file-history/{LOST}/{copy}@v2", "level = 0\n")
    root.write(f"file-history/{LOST}/feedfeedfeedfeed@v1", "who knows\n")
    root.write(f"projects/-src-tide/{LOST}/tool-results/long.txt", "output")
    h.sync()

    found = h.reconstruct("10570000-aaaa")
    assert found.is_reconstruction
    assert found.note == MARK
    assert [(title.source, title.text) for title in found.titles] == [
        ("title", "The gauge"),
        ("sessions-index", "Gauges"),
    ]
    first, second = found.prompts
    assert [(paste.number, paste.kind, paste.text, paste.source) for paste in first.pastes] == [
        (1, "text", "one\ntwo", "history"),
        (2, "text", cached, "paste-cache"),
        (3, "image", None, ""),
    ]
    assert [(paste.number, paste.text) for paste in second.pastes] == [(4, None)]
    assert [(todo.status, todo.text) for todo in found.todos] == [("completed", "Weigh anchor")]
    assert [(one.file, one.version) for one in found.file_versions] == [(None, 1), (f"{project}/gauge.py", 2)]
    side = next(one for one in h.side_files(kind="file_history") if one.path == found.file_versions[1].path)
    assert h.read_side_file(side) == b"level = 0\n"
    assert [file.kind for file in found.files] == ["tool_result"]
    assert [(commit.commit, commit.names_session) for commit in found.commits] == [(during, True), (after, False)]
    assert not {before, late} & {commit.commit for commit in found.commits}
    assert found.branch == "spring"

    (lost,) = h.lost_sessions().sessions
    assert lost == found.session
    assert (lost.title, lost.project, lost.prompts, lost.pastes, lost.todos, lost.commits) == (
        "The gauge",
        project,
        2,
        4,
        1,
        2,
    )
    assert lost.sources == ("history", "sessions-index", "title", "todos", "file-history", "other", "git")


def test_former_lists_and_subagents_tell_of_a_session_too(root: Root, h: hansard.Hansard) -> None:
    listed = {
        "sessionId": LOST,
        "firstPrompt": "Where is the buoy?",
        "created": "2026-09-01T09:00:00.000Z",
        "modified": "2026-09-01T10:00:00.000Z",
        "projectPath": "/src/tide",
    }
    place = "projects/-src-tide/sessions-index.json"
    root.write(place, json.dumps({"version": 1, "entries": [listed, {"sessionId": KEPT, "summary": "Sluice"}]}))
    root.transcript(KEPT, "Check the sluice", 1)
    agent = root.transcript(OTHER, "Look the harbour up", 90)
    folder = agent.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    agent.rename(folder / "agent-a1b2c3d.jsonl")
    h.sync()
    root.write(place, json.dumps({"version": 1, "entries": []}))
    h.sync()
    other, lost = h.lost_sessions().sessions
    assert (other.session_id, other.sources) == (OTHER, ("subagents",))
    assert [file.kind for file in h.reconstruct(OTHER).files] == ["agent"]
    assert (lost.session_id, lost.title, lost.project) == (LOST, "Where is the buoy?", "/src/tide")
    assert (lost.started_at, lost.ended_at) == (START, START + timedelta(hours=1))
    assert (lost.prompts, lost.sources) == (0, ("sessions-index",))


def test_old_prompts_without_a_session_are_told_apart_by_pauses(root: Root, h: hansard.Hansard) -> None:
    for text, minutes in (("one", 0), ("two", 60), ("three", 60 + 121), ("elsewhere", 61)):
        root.typed(text, minutes, session=None, project="/src/other" if text == "elsewhere" else "/src/tide")
    root.typed("Check the sluice", 300, session=None)
    root.transcript(KEPT, "Check the sluice", 300)  # has that prompt itself
    h.sync()
    found = h.lost_sessions().sessions
    texts = [[prompt.text for prompt in h.reconstruct(lost.name).prompts] for lost in found]
    assert texts == [["three"], ["elsewhere"], ["one", "two"]]
    assert all(lost.session_id is None and lost.name.startswith("history-") for lost in found)
    assert h.reconstruct("@last").session == found[0]
    with pytest.raises(Ambiguous, match="3 lost sessions match 'history-'"):
        h.reconstruct("history-")


def test_the_list_can_be_narrowed(root: Root, h: hansard.Hansard) -> None:
    root.typed("one", 0)
    root.typed("two", 60 * 24, session=OTHER, project="/src/Mooring")
    h.sync()

    def names(**conditions: Any) -> list[str]:
        return [lost.name for lost in h.lost_sessions(**conditions).sessions]

    assert names() == [OTHER, LOST]
    assert names(project="mooring") == [OTHER]
    assert names(since=START + timedelta(hours=1)) == [OTHER]
    assert names(until=START + timedelta(hours=1)) == [LOST]
    assert names(limit=1) == [OTHER]
    assert h.lost_sessions(limit=1).total == 2
    with pytest.raises(UsageError):
        names(limit=0)


def test_a_project_that_is_gone_is_not_looked_for_in_a_repository_above_it(
    tmp_path: Path, root: Root, h: hansard.Hansard
) -> None:
    shop = Workshop(tmp_path / "src")
    gone = shop.root / "part"
    gone.mkdir()
    shop.type("part/a.txt", "a\n")
    shop.now = START + timedelta(minutes=5)
    shop.commit("In the window")
    root.typed("one", 0, project=str(gone))
    root.typed("two", 0, session=OTHER, project="part")
    h.sync()
    assert {lost.name: lost.commits for lost in h.lost_sessions().sessions} == {LOST: 1, OTHER: 0}
    shutil.rmtree(gone)
    assert [lost.commits for lost in h.lost_sessions().sessions] == [0, 0]


@pytest.mark.parametrize("pasted", [[], "x", {"x": 1}, {"1": None}, {"1": {"type": 3, "content": [1]}}, {"9" * 30: {}}])
def test_odd_pastes_do_no_harm(root: Root, h: hansard.Hansard, pasted: Any) -> None:
    root.typed("See [Pasted text #1 +3 lines]", 0, pasted=pasted)
    for text in ("[]", "{", '{"entries": 3}', json.dumps({"entries": [{"sessionId": 4}]})):
        root.write("projects/-src-tide/sessions-index.json", text)
        h.sync()
    (prompt,) = h.reconstruct(LOST).prompts
    assert [(paste.number, paste.text) for paste in prompt.pastes] == [(1, None)]


def test_hostile_text_reaches_neither_the_terminal_nor_markdown(tmp_path: Path, root: Root, h: hansard.Hansard) -> None:
    shop = Workshop(tmp_path / "src")
    shop.type("a.txt", "a\n")
    shop.now = START + timedelta(minutes=5)
    shop.commit("\x1b[31mred\x1b[0m <b>bold</b>")
    root.typed(
        HOSTILE + " [Pasted text #1 +3 lines]",
        0,
        project=str(shop.root),
        pasted={"1": {"type": "text", "content": HOSTILE}},
    )
    root.write(f"projects/-src-tide/{LOST}/custom-title.json", json.dumps({"customTitle": HOSTILE}))
    root.write(f"todos/{LOST}-agent-{LOST}.json", json.dumps([{"content": HOSTILE, "status": HOSTILE}]))
    h.sync()
    found = h.reconstruct(LOST)
    assert found.prompts[0].text.startswith(HOSTILE)  # the library gives it as it is
    drawn = list(draw_reconstruction(found, 80, Paint(enabled=False)))
    page = "\n".join(markdown_lines(found))
    for text in ("\n".join(drawn), page):
        assert not {"\x1b", "\x07", "\r", "\u202e"} & set(text)
        assert "evil" in text
    tokens = MarkdownIt("commonmark").parse(page)
    inline = [child.type for token in tokens for child in token.children or ()]
    assert "html_block" not in [token.type for token in tokens]
    assert "html_inline" not in inline
    assert sum(token.type == "heading_open" for token in tokens) == 4  # title, prompt, todos, commits


# -- the command


def run(tmp_path: Path, *words: str) -> Result:
    base = ["--home", str(tmp_path / "home"), "--root", str(tmp_path / "claude")]
    return CliRunner().invoke(command, [*base, *words], env={"COLUMNS": "100", "TZ": "UTC"})


def test_every_face_says_that_it_is_a_reconstruction(tmp_path: Path, root: Root) -> None:
    root.typed("When is high tide?", 0)
    listed = run(tmp_path, "recover")
    assert listed.exit_code == 0
    assert "10570000  tide" in listed.stdout
    assert "have no transcript" in listed.stderr
    text = run(tmp_path, "recover", "@last").stdout
    assert text.startswith("RECONSTRUCTION. ")
    assert "(end of the reconstruction)" in text
    page = run(tmp_path, "recover", LOST, "--markdown").stdout
    assert page.startswith("# Reconstruction: When is high tide?\n\n> **This is a reconstruction, not a transcript")
    document = json.loads(run(tmp_path, "recover", LOST, "--json").stdout)
    assert document["is_reconstruction"] is True
    assert document["note"] == MARK
    assert json.loads(run(tmp_path, "recover", "--json").stdout)["sessions"][0]["name"] == LOST


def test_what_cannot_be_recovered_is_said(tmp_path: Path, root: Root) -> None:
    root.transcript(KEPT, "Check the sluice", 1)
    nothing = run(tmp_path, "recover")
    assert (nothing.exit_code, nothing.stdout) == (1, "")
    assert "no lost session matches" in nothing.stderr
    assert run(tmp_path, "recover", "22222222").exit_code == NotFound.exit_code
    for words in (["--markdown"], ["x", "--since", "7d"], ["x", "--markdown", "--json"]):
        assert run(tmp_path, "recover", *words).exit_code == UsageError.exit_code
