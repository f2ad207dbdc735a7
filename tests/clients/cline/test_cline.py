"""Cline and its kin: real tasks, and messages that those do not have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hansard
from hansard.clients.cline.client import Cline, Kilo, Roo
from hansard.clients.entries import Replacement
from hansard.clients.generic import Record
from tests.clients.cline import history
from tests.clients.folding import count, expectations, fold_bytes, spent

CLIENT = Cline()


def say(number: int, kind: str, text: Any = "", *, ask: bool = False, **more: Any) -> dict[str, Any]:
    name = "ask" if ask else "say"
    return {
        "ts": 1_793_500_000_000 + number,
        "type": name,
        name: kind,
        "text": text if isinstance(text, str) else json.dumps(text),
        **more,
    }


def document(*messages: dict[str, Any]) -> bytes:
    return json.dumps(messages).encode()


def records(*messages: dict[str, Any]) -> list[Record]:
    memory = CLIENT.memory()
    return [record for message in messages for record in CLIENT.decode_next(json.dumps(message).encode(), memory)]


def test_real_tasks_count_as_expected(corpus: Path) -> None:
    files = 0
    for row, path in expectations(corpus, "cline"):
        fold = fold_bytes(CLIENT, path.read_bytes(), pieces=3)
        state, usage = fold.state, row["usage"]
        assert state.prompts == row["prompts_first"] + row["user_feedback"], path
        assert state.replies == row["text"] + row["completion"], path
        assert count(fold, "thinking") == row["reasoning"], path
        assert state.tool_calls == row["tools"] + row["commands"] + row["mcp"], path
        assert state.messages == row["api_requests"], path
        expected = tuple(usage[name] for name in ("tokensIn", "tokensOut", "cacheReads", "cacheWrites"))
        assert spent(fold.rows.usage) == expected, path
        assert round(sum(one.recorded for one in fold.rows.usage.values()) / 1e9, 6) == usage["cost"], path
        assert state.records <= row["messages"] + 2, (
            path
        )  # with the brackets around them, and outputs beside their calls
        assert (state.first_ts, state.last_ts, state.issues) == (row["start"], row["end"], 0), path
        assert state.cwd
        files += 1
    assert files == 2


def test_the_first_text_of_old_tasks_is_the_prompt() -> None:
    fold = fold_bytes(CLIENT, document(say(0, "text", "Fix it."), say(1, "text", "I fix it.")))
    assert (fold.state.prompts, fold.state.replies, fold.state.first_prompt) == (1, 1, "Fix it.")


def test_an_approved_call_counts_once() -> None:
    tool = {"tool": "newFileCreated", "path": "a.txt", "content": "one\ntwo\n"}
    fold = fold_bytes(
        CLIENT,
        document(
            say(0, "task", "Write."),
            say(1, "tool", tool, ask=True),
            say(2, "tool", tool),
            say(3, "command", "ls", ask=True),
            say(4, "command", "ls"),
            say(5, "command_output", "a.txt"),
            say(6, "command_output", "b.txt"),
        ),
    )
    assert [(row[2], row[9], row[10]) for row in fold.rows.calls.values()] == [
        ("newFileCreated", "create", 2),
        ("execute_command", None, 0),
    ]
    assert [row[6] is not None for row in fold.rows.calls.values()] == [True, True]


def test_edits() -> None:
    old = "------- SEARCH\none\n=======\ntwo\n+++++++ REPLACE\n"
    older = "<<<<<<< SEARCH\nthree\n=======\n>>>>>>> REPLACE\n"
    (record,) = records(say(0, "tool", {"tool": "editedExistingFile", "path": "a", "content": old + older}))
    assert record.blocks[0].changes == [Replacement("one\n", "two\n"), Replacement("three\n", "")]


def test_requests_without_numbers_and_those_of_removed_messages() -> None:
    started, removed = records(
        say(0, "api_req_started", {"request": "# Current Working Directory (/srv/tides) Files"}),
        say(1, "deleted_api_reqs", {"tokensIn": 5, "tokensOut": 6, "cost": 0.25}),
    )
    assert (started.usage, started.cwd) == (None, "/srv/tides")
    assert removed.usage is not None
    assert (removed.usage.input, removed.usage.output, removed.usage.cost) == (5, 6, 250_000_000)


def test_files_and_roots(tmp_path: Path) -> None:
    kind = CLIENT.layout.kind_of
    assert kind("tasks/1/ui_messages.json") == "main"
    assert kind("tasks/1/api_conversation_history.json") == "log"
    assert kind("secrets.json") is kind("globalState.json") is kind("tasks/1/checkpoints/x.json") is None
    roots = {}
    for client in (CLIENT, Roo(), Kilo()):
        folder = tmp_path / ".config/Code/User/globalStorage" / client.extension
        (folder / "tasks/1").mkdir(parents=True)
        (folder / "tasks/1/ui_messages.json").write_text("[]")
        roots[client.name] = str(folder)
    for client in (CLIENT, Roo(), Kilo()):
        assert client.default_roots({}, str(tmp_path)) == [roots[client.name]]
        assert [name for name, path in roots.items() if client.open_root(path)] == [client.name]


def test_results_of_tools_are_found(tmp_path: Path) -> None:
    """They are in the conversation with the model only, which has everything else again."""
    history.write(tmp_path)
    with hansard.open(tmp_path / "home", [tmp_path]) as h:
        h.sync()
        for word in ("Borkum", "Norderney"):
            (hit,) = h.search(word).hits
            assert (hit.session_id, hit.kind) == (history.TASK, "result")
        assert {hit.kind for hit in h.search("Emden").hits} == {"prompt"}
        session = h.session(history.TASK)
        assert (session.prompts, session.tool_calls, session.issues) == (2, 3, 0)
        assert len(list(h.read(history.TASK).entries())) > 8
