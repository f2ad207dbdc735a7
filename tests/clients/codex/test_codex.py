"""What an invented history of Codex means."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import hansard
from hansard.clients.codex.client import Codex
from hansard.clients.codex.decode import Memory, decode
from hansard.clients.codex.patches import patch_of, read_patch
from hansard.engine import Hansard
from hansard.query.duplicates import REPEATED, find_repeated_work, once
from hansard.render.format import listed_cost, session_cost
from tests.clients.codex.history import CHILD, FORK, LATER, OLDEST, PATCH, THREAD, Rollout, main_thread, uuid7, write
from tests.clients.folding import fold_bytes


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Hansard]:
    write(tmp_path / ".codex")
    with hansard.open(tmp_path / "home", [tmp_path / ".codex"]) as h:
        h.sync()
        yield h


def kinds(store: Hansard, session: str, agent: str | None = None) -> list[tuple[str, str]]:
    """Everything that a reader sees of a thread."""
    return [
        (entry.kind, entry.tool.tool if entry.tool is not None else entry.text)
        for entry in store.read(session, agent).entries()
    ]


def test_a_thread_is_read_once(store: Hansard) -> None:
    assert kinds(store, THREAD) == [
        ("prompt", "When is high tide in Emden?"),
        ("thinking", "An almanac?"),
        ("tool", "exec_command"),
        ("tool", "apply_patch"),
        ("tool", "apply_patch"),
        ("tool", "apply_patch"),
        ("tool", "spawn_agent"),
        ("reply", "At 17:40, written down."),
        ("prompt", "Paint it blue"),
        ("tool", "shell"),
        ("interruption", "Turn aborted (interrupted)"),
        ("note", "Rolled back 1 turn"),
        ("prompt", "Paint it green"),
        ("tool", "update_plan"),
        ("compaction", "Conversation compacted\n\nTides of Emden."),
        ("reply", "It is green."),
    ]


def test_a_rolled_back_turn_is_a_branch(store: Hansard) -> None:
    entries = {entry.text: entry for entry in store.read(THREAD).entries()}
    assert entries["Paint it green"].branch == 0
    assert entries["Paint it blue"].branch != 0
    assert len(store.read(THREAD).forks) == 1


def test_a_fork_shows_what_it_copied_and_counts_its_own(store: Hansard) -> None:
    assert [text for kind, text in kinds(store, FORK) if kind == "prompt"] == [
        "When is high tide in Emden?",
        "Paint it blue",
        "Paint it green",
        "And in Borkum?",
    ]
    report = {row.key["session"]: row for row in store.usage(by="session").rows}
    assert report[FORK].output_tokens == 30
    assert report[THREAD].output_tokens == 155
    assert store.usage(by="total").totals.api_messages == 7
    (prompts,) = store.reader.one(
        f"SELECT {once('prompts')} FROM sessions {REPEATED}", (find_repeated_work(store.reader),)
    )
    assert prompts == 6
    assert ("branch", THREAD) in store.reader.rows("SELECT relation, source FROM links WHERE target = ?", (FORK,))
    assert store.session(FORK).title == "Tides of Borkum"


def test_a_subagent_belongs_to_the_session_that_started_it(store: Hansard) -> None:
    (agent,) = store.read(THREAD).agents
    assert (agent.agent_id, agent.agent_type, agent.linked_by) == (CHILD, "Ada", "result")
    assert kinds(store, THREAD, CHILD) == [("prompt", "Count the gulls"), ("reply", "Twelve gulls.")]
    assert {session.session_id for session in store.sessions(limit=None).sessions} == {THREAD, FORK, LATER, OLDEST}


def test_the_first_generation(store: Hansard) -> None:
    assert kinds(store, OLDEST) == [
        ("prompt", "Which lighthouse is the oldest?"),
        ("tool", "mcp__search__find.it"),
        ("reply", "Neuwerk."),
    ]
    session = store.session(OLDEST)
    assert session.branch == "trunk"
    assert (listed_cost(session), session_cost(session)) == ("-", "tokens not recorded")


def test_every_file_of_a_patch_is_an_edit(store: Hansard) -> None:
    found = {change.path: (change.added, change.removed) for change in store.read(THREAD).changed_files(10)}
    assert found == {"/srv/tides/tides.py": (2, 0), "/srv/tides/README.md": (1, 1)}


def test_tokens_are_those_of_each_answer() -> None:
    memory = Memory()
    used = [
        (record.usage.input, record.usage.cache_read, record.usage.output, record.usage.model, record.usage.tool)
        for line in main_thread().lines
        for record in decode(json.dumps(line).encode(), memory)
        if record.usage is not None
    ]
    assert used == [
        (600, 400, 50, "gpt-5.4", "exec_command"),
        (500, 1000, 70, "gpt-5.4", "apply_patch"),
        (100, 1500, 10, "gpt-5.4-mini", "shell"),
        (100, 1600, 20, "gpt-5.4", "update_plan"),
    ]


def test_what_an_editor_adds_to_a_prompt_was_not_typed() -> None:
    text = "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nPaint it\n"
    line = {"timestamp": "", "type": "event_msg", "payload": {"type": "user_message", "message": text}}
    (record,) = decode(json.dumps(line).encode(), Memory())
    assert (record.text, record.asked) == (text, "Paint it")
    assert [row[3] for row in fold_bytes(Codex(), json.dumps(line).encode() + b"\n").rows.prompts] == ["Paint it"]


def test_a_patch_in_a_command() -> None:
    assert patch_of(f"apply_patch <<'EOF'\n{PATCH}\nEOF") == PATCH
    assert patch_of(f"cd src && apply_patch <<'EOF'\n{PATCH}\nEOF") == PATCH
    assert patch_of(f"cat <<'EOF'\n{PATCH}\nEOF") == ""
    assert [(file.action, file.path) for file in read_patch(PATCH)] == [
        ("Add", "tides.py"),
        ("Update", "README.md"),
        ("Delete", "old.txt"),
    ]


def test_forks_of_forks_do_not_multiply_usage(tmp_path: Path) -> None:
    """Totals that every fork inherits made a day cost thousands of times what it did elsewhere."""
    root, parent = tmp_path / ".codex", main_thread()
    parent.write(root)
    for number in range(20):
        fork = Rollout(uuid7(1000 + 60 * number, 100 + number), 1000 + 60 * number)
        fork.meta(forked_from_id=parent.thread)
        fork.totals = list(parent.totals)
        stamp = fork.lines[0]["timestamp"]
        fork.lines += [{**line, "timestamp": stamp} for line in parent.lines]
        fork.turn(f"Go on {number}", 200 + number)
        fork.spend(2000, 1900, 1)
        fork.write(root)
        parent = fork
    with hansard.open(tmp_path / "store", [root]) as h:
        h.sync()
        totals = h.usage(by="total").totals
        assert (totals.api_messages, totals.output_tokens) == (4 + 20, 150 + 20)


def test_blame_names_the_turn_that_wrote_a_line(tmp_path: Path) -> None:
    work = tmp_path / "tides"
    work.mkdir()
    write(tmp_path / ".codex")
    for path in (tmp_path / ".codex").rglob("*.jsonl"):
        path.write_text(path.read_text().replace("/srv/tides", str(work)))
    (work / "tides.py").write_text('HIGH = "17:40"\nLOW = "05:12"\n')
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com", "-C", str(work)]
    for given in (["init", "-q"], ["add", "."], ["commit", "-qm", "tides"]):
        subprocess.run([*git, *given], check=True)
    with hansard.open(tmp_path / "store", [tmp_path / ".codex"]) as h:
        h.sync()
        report = h.blame(str(work / "tides.py"))
        assert {edit.session_id for edit in report.edits} == {THREAD}
        assert {line.certainty for line in report.lines} == {"exact"}


def test_totals_that_begin_again_are_counted() -> None:
    """0.40 began at zero when a thread was resumed."""
    memory, spent = Memory(), 0
    for total, last in ((100, 100), (250, 150), (250, 150), (100, 100), (100, 100)):
        info = {"total_token_usage": {"input_tokens": total}, "last_token_usage": {"input_tokens": last}}
        line = {"timestamp": "", "type": "event_msg", "payload": {"type": "token_count", "info": info}}
        for record in decode(json.dumps(line).encode(), memory):
            spent += record.usage.input if record.usage is not None else 0
    assert spent == 350
