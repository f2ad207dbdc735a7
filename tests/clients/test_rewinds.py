"""Turns that were taken back are branches, whether or not the conversation went on, and whichever client it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.engine import Hansard
from tests.clients.opencode import history as opencode
from tests.clients.opencode.history import BEGAN, SESSION, Database, answer, prompt, tool

TURNS = ["High?", "12:31", "Low?", "18:44"]
CASES = [
    (2, [], [0, 0, 1, 1]),
    (2, ["Springs?", "Friday"], [0, 0, 1, 1, 0, 0]),
    (0, [], [1, 1, 1, 1]),
    (0, ["Springs?", "Friday"], [1, 1, 1, 1, 0, 0]),
]
"""The first message that is taken back, what is said after that, and the branch of each message."""


def branches(h: Hansard, session: str) -> list[tuple[str, int]]:
    return [
        (entry.text, min(entry.branch, 1)) for entry in h.read(session).entries() if entry.kind in ("prompt", "reply")
    ]


def opened(tmp_path: Path) -> Hansard:
    h = hansard.open(tmp_path / "home", [tmp_path / "root"])
    h.sync()
    return h


def gemini(number: int, text: str) -> dict[str, Any]:
    kind = "gemini" if number % 2 else "user"
    return {"id": str(number), "timestamp": f"2026-11-01T10:00:{number:02}Z", "type": kind, "content": text}


@pytest.mark.parametrize(("first", "after", "expected"), CASES)
def test_gemini(first: int, after: list[str], expected: list[int], tmp_path: Path) -> None:
    folder = tmp_path / "root/tmp/tides/chats"
    folder.mkdir(parents=True)
    lines: list[dict[str, Any]] = [{"sessionId": "s", "projectHash": "h", "startTime": "2026-11-01T10:00:00Z"}]
    lines += [gemini(number, text) for number, text in enumerate(TURNS)]
    lines.append({"$rewindTo": str(first)})
    lines += [gemini(number, text) for number, text in enumerate(after, len(TURNS))]
    (folder / "session-1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with opened(tmp_path) as h:
        assert branches(h, "s") == list(zip(TURNS + after, expected, strict=True))


def codex(number: int, text: str) -> dict[str, Any]:
    role, kind = ("assistant", "output_text") if number % 2 else ("user", "input_text")
    payload = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
    return {"timestamp": f"2026-11-01T10:00:{number:02}Z", "type": "response_item", "payload": payload}


@pytest.mark.parametrize(("first", "after", "expected"), CASES)
def test_codex(first: int, after: list[str], expected: list[int], tmp_path: Path) -> None:
    folder = tmp_path / "root/sessions/2026/11/01"
    folder.mkdir(parents=True)
    thread = "019e0317-0939-7262-9c00-59e4b98f1c8b"
    lines = [{"timestamp": "2026-11-01T10:00:00Z", "type": "session_meta", "payload": {"id": thread}}]
    lines += [codex(number, text) for number, text in enumerate(TURNS)]
    event = {"type": "thread_rolled_back", "num_turns": 2 - first // 2}
    lines.append({"timestamp": "2026-11-01T10:00:30Z", "type": "event_msg", "payload": event})
    lines += [codex(number, text) for number, text in enumerate(after, len(TURNS))]
    (folder / f"rollout-2026-11-01T10-00-00-{thread}.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines)
    )
    with opened(tmp_path) as h:
        assert branches(h, thread) == list(zip(TURNS + after, expected, strict=True))


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    (tmp_path / "root").mkdir()
    with closing(Database(tmp_path / "root/opencode.db")) as database:
        database.session(SESSION, "Tides")
        database.db.execute("ALTER TABLE session ADD COLUMN revert text")
        for number, text in enumerate(TURNS):
            write(database, number, text)
        yield database


def write(database: Database, number: int, text: str) -> None:
    moment = BEGAN + 1000 * number
    data = answer(moment, input=number, output=1) if number % 2 else opencode.USER
    database.message(
        SESSION, moment, data, prompt(text), *([tool("bash", {"command": "x"}, "y")] if number == 3 else [])
    )


def revert(database: Database, first: int | None) -> None:
    said = None if first is None else json.dumps({"messageID": opencode.message_id(BEGAN + 1000 * first), "diff": "x"})
    database.db.execute("UPDATE session SET revert = ?, time_updated = time_updated + 100000", (said,))


def go_on(database: Database, first: int, after: list[str]) -> None:
    """Delete what was taken back, as the client does with the next prompt."""
    for number in range(first, len(TURNS)):
        id_ = opencode.message_id(BEGAN + 1000 * number)
        database.db.execute("DELETE FROM part WHERE message_id = ?", (id_,))
        database.db.execute("DELETE FROM message WHERE id = ?", (id_,))
    for number, text in enumerate(after, len(TURNS)):
        write(database, number, text)
    revert(database, None)


@pytest.mark.parametrize("is_stored_before", [False, True])
@pytest.mark.parametrize(("first", "after", "expected"), CASES)
def test_opencode(
    first: int, after: list[str], expected: list[int], is_stored_before: bool, database: Database, tmp_path: Path
) -> None:
    if is_stored_before:
        opened(tmp_path).close()
    revert(database, first)
    with opened(tmp_path) as h:
        assert branches(h, SESSION) == list(zip(TURNS, expected[: len(TURNS)], strict=True))
        if after:
            go_on(database, first, after)
            h.sync()
        assert branches(h, SESSION) == list(zip(TURNS + after, expected, strict=True))
        assert h.session(SESSION).api_messages == 2 + len(after) // 2
        assert not h.verify(full=True).mismatches


def test_opencode_takes_a_revert_back(database: Database, tmp_path: Path) -> None:
    revert(database, 2)
    with opened(tmp_path) as h:
        revert(database, None)
        h.sync()
        assert branches(h, SESSION) == [(text, 0) for text in TURNS]
        write(database, 4, "Springs?")
        h.sync()
        assert branches(h, SESSION) == [(text, 0) for text in [*TURNS, "Springs?"]]
