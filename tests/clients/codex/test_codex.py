"""What an invented history of Codex means."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.clients.codex.client import Codex
from hansard.clients.codex.decode import decode
from hansard.clients.codex.memory import Memory
from hansard.clients.patches import patch_of, read_patch
from hansard.engine import Hansard
from hansard.git.attribution import read_note
from hansard.query.duplicates import REPEATED, find_repeated_work, once
from hansard.render.format import listed_cost, session_cost
from tests.clients.codex.history import CHILD, FORK, LATER, OLDEST, PATCH, THREAD, Rollout, main_thread, uuid7, write
from tests.clients.folding import fold_bytes, spent

GIT = shutil.which("git") or ""


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


def test_a_patch_of_several_files_is_one_call(store: Hansard) -> None:
    session = store.session(THREAD)
    (patch,) = (sums for sums in store.tools().tools if sums.tool == "apply_patch")
    assert (patch.calls, patch.lines_added, patch.lines_removed) == (1, 3, 1)
    assert session.tool_calls == store.tools(f"session:{THREAD}").totals.calls
    assert (session.files_changed, session.lines_added, session.lines_removed) == (2, 3, 1)
    for query in ("file:README.md", "changed:tides.py", "has:diff"):
        assert store.tools(query).totals.calls == 1
        assert [call.tool for call in store.calls(query).calls] == ["apply_patch"]
        assert {hit.kind for hit in store.search(f"tides {query}").hits} <= {"call", "result"}
    (call,) = store.calls(kind="changes").calls
    assert (call.added, call.removed, call.path) == (3, 1, None)
    assert [(file.path, file.changes) for file in store.files(sort="path").files] == [
        ("/srv/tides/README.md", 1),
        ("/srv/tides/tides.py", 1),
    ]
    history = store.file_history("/srv/tides/README.md")
    assert [(one.tool, one.added, one.block, one.tool_use_id) for one in history.page.calls] == [
        ("apply_patch", 1, call.block, call.tool_use_id)
    ]


def test_a_note_on_a_commit_names_the_client(store: Hansard, tmp_path: Path) -> None:
    repository = tmp_path / "tides"
    repository.mkdir()
    (repository / "tides.py").write_text('HIGH = "17:40"\nLOW = "05:12"\n')
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "Tides"]):
        subprocess.run(
            [GIT, "-c", "user.name=Mira", "-c", "user.email=mira@example.invalid", "-C", str(repository), *words],
            check=True,
        )
    (mark,) = read_note(store.git_note("HEAD", str(repository)), "HEAD")
    assert (mark.tool, mark.value, mark.path) == ("codex", THREAD, "tides.py")


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


def usage_record(thread: str, answer: str, total: int) -> dict[str, Any]:
    """The record of an answer that brings a thread to a total."""
    usage = {"input_tokens": 100, "cached_input_tokens": 90, "output_tokens": 7}
    return {"thread_id": thread, "response_id": answer, "usage": usage, "thread_token_usage": {"total_tokens": total}}


def test_a_relay_with_one_id_for_all_answers_does_not_hide_any() -> None:
    rollout = Rollout(THREAD)
    rollout.meta()
    rollout.add("turn_context", {"model": "gpt-5.5"})
    for total in (107, 214, 214, 321):  # one of them is stated twice
        rollout.add("token_usage_record", usage_record(THREAD, "resp_1", total))
    rollout.add("token_usage_record", usage_record(uuid7(0, 9), "resp_1", 428))  # another thread's
    data = "".join(json.dumps(line) + "\n" for line in rollout.lines).encode()
    assert spent(fold_bytes(Codex(), data).rows.usage) == (30, 21, 270, 0)


def test_records_of_answers_replace_the_totals_after_them() -> None:
    """A thread that an older version began states totals only at first."""
    rollout = Rollout(THREAD)
    rollout.meta()
    rollout.spend(100, 90, 7)
    rollout.add("token_usage_record", usage_record(THREAD, "resp_1", 214))
    rollout.spend(100, 90, 7)
    data = "".join(json.dumps(line) + "\n" for line in rollout.lines).encode()
    assert spent(fold_bytes(Codex(), data).rows.usage) == (20, 14, 180, 0)


def test_a_total_before_the_record_of_the_same_answer_counts_once() -> None:
    rollout = Rollout(THREAD)
    rollout.meta()
    for number in (1, 2, 3):
        rollout.spend(100, 90, 7)
        rollout.add("token_usage_record", usage_record(THREAD, f"resp_{number}", 107 * number))
    data = "".join(json.dumps(line) + "\n" for line in rollout.lines).encode()
    assert spent(fold_bytes(Codex(), data).rows.usage) == (30, 21, 270, 0)


def test_times_without_a_zone_are_in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    time.tzset()
    line = {"timestamp": "2026-11-01T10:00:00", "type": "session_meta", "payload": {"id": THREAD}}
    fold = fold_bytes(Codex(), json.dumps(line).encode() + b"\n")
    monkeypatch.undo()
    time.tzset()
    assert fold.state.first_ts == 1_793_527_200_000


def test_a_reverted_thread_goes_on_as_a_fork(tmp_path: Path) -> None:
    first, after = Rollout(THREAD), Rollout(THREAD, 600)
    for rollout, prompt in ((first, "Paint it blue"), (after, "Paint it green")):
        base = {"thread_id": THREAD, "end_ordinal_exclusive": 3} if rollout is after else None
        rollout.meta(history_mode="paginated", history_base=base)
        rollout.turn(prompt, 1)
        rollout.say("Done.")
        rollout.spend(100, 90, 7)
        rollout.thread = THREAD if rollout is first else f"{THREAD}_{LATER}"
        rollout.write(tmp_path / ".codex")
    with hansard.open(tmp_path / "store", [tmp_path / ".codex"]) as h:
        h.sync()
        assert {session.session_id: session.prompts for session in h.sessions(limit=None).sessions} == {
            THREAD: 1,
            LATER: 1,
        }
        assert (THREAD, LATER) in h.reader.rows("SELECT source, target FROM links WHERE relation = 'branch'")
        assert h.usage(by="total").totals.output_tokens == 14


@pytest.mark.parametrize("indent", [None, 2])
def test_the_documents_of_the_first_client(tmp_path: Path, indent: int | None) -> None:
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Which lighthouse? []"}]}
    output = json.dumps({"output": "Neuwerk\n", "metadata": {"exit_code": 1, "duration_seconds": 0.1}})
    items = [
        said,
        {"type": "function_call", "name": "shell", "arguments": '{"command":["ls","[x]"]}', "call_id": "c1"},
        {"type": "function_call_output", "call_id": "c1", "output": output},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Neuwerk."}]},
    ]
    about = {"timestamp": "2025-05-01T10:00:00.000Z", "id": OLDEST, "instructions": ""}
    path = tmp_path / f".codex/sessions/rollout-2025-05-01-{OLDEST}.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"session": about, "items": items}, indent=indent))
    with hansard.open(tmp_path / "store", [tmp_path / ".codex"]) as h:
        h.sync()
        assert kinds(h, OLDEST) == [("prompt", "Which lighthouse? []"), ("tool", "shell"), ("reply", "Neuwerk.")]
        session = h.session(OLDEST)
        assert (session.tool_errors, session.issues, str(session.started_at)[:10]) == (1, 0, "2025-05-01")


@pytest.mark.parametrize(
    "source", [{"subagent": "review"}, {"subagent": {"other": "titles"}}, {"internal": "guardian"}]
)
def test_what_the_client_itself_asks_is_no_prompt_of_a_person(source: dict[str, Any]) -> None:
    rollout = Rollout(THREAD)
    rollout.meta(source=source)
    rollout.turn("Review the tide table", 1)
    data = "".join(json.dumps(line) + "\n" for line in rollout.lines).encode()
    state = fold_bytes(Codex(), data).state
    assert (state.prompts, state.session_id, state.agent_id) == (0, THREAD, "")


def test_what_agents_tell_each_other_is_shown() -> None:
    rollout = Rollout(CHILD)
    spawn = {"parent_thread_id": THREAD, "depth": 1}
    rollout.meta(source={"subagent": {"thread_spawn": spawn}}, session_id=THREAD)
    parts = [{"type": "input_text", "text": "Count the gulls"}, {"type": "encrypted_content", "encrypted_content": "x"}]
    rollout.item("agent_message", author="/root", recipient="/root/ada", content=parts)
    rollout.item("agent_message", author="/root", recipient="/root/ada", content=parts[1:])
    rollout.add("inter_agent_communication", {"author": "/root", "recipient": "/root/ada", "content": "Hurry"})
    memory = Memory()
    found = [record for line in rollout.lines for record in decode(json.dumps(line).encode(), memory)]
    assert [(record.role, record.text) for record in found if record.blocks] == [
        ("instruction", "Count the gulls"),
        ("instruction", "Hurry"),
    ]


def test_the_same_words_twice_are_two_messages() -> None:
    rollout = Rollout(THREAD)
    rollout.meta()
    rollout.turn("Go", 1)
    for _ in range(3):
        rollout.say("Still working.")
    memory = Memory()
    found = [record for line in rollout.lines for record in decode(json.dumps(line).encode(), memory)]
    replies = [record for record in found if record.kind == "assistant"]
    assert len({record.uuid for record in replies}) == 3
    assert [record.parent_uuid for record in replies[1:]] == [record.uuid for record in replies[:2]]


def test_calls_have_the_model_and_the_branch_of_their_session(store: Hansard) -> None:
    """Tokens are stated after the calls, so no answer names them."""
    assert store.tools("model:gpt-5.4-mini").totals.calls == 1
    assert store.tools("model:gpt-5.4").totals.calls == 5
    assert store.tools("branch:main").totals.calls == 5
    assert [call.tool for call in store.calls("model:mini").calls] == ["shell"]
    rows = store.usage(by="model", work=True).rows
    assert {row.key["model"]: row.work.calls for row in rows if row.work} == {
        "gpt-5.4": 4,
        "gpt-5.4-mini": 1,
        "gpt-5.5": 0,
    }


def test_lists_of_files_and_projects_take_fields(store: Hansard) -> None:
    for text, count in (("client:codex", 2), ("client:codex readme", 1), ("client:gemini", 0), ("-client:codex", 0)):
        assert len(store.files(text=text).files) == count
    assert [project.project for project in store.projects(text="client:codex tides")] == ["/srv/tides"]
    assert store.projects(text="client:gemini") == []


def test_answers_without_usage_are_messages(store: Hansard) -> None:
    oldest, thread = store.session(OLDEST), store.session(THREAD)
    assert (oldest.api_messages, oldest.messages) == (0, 2)
    assert (thread.api_messages, thread.messages) == (5, 8)
