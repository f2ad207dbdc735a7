"""Real histories of clients that keep sessions in databases, against what separate scripts counted in them."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.engine import Hansard

SPAN = "id BETWEEN ?1 << 40 AND (?1 << 40) + (1 << 40) - 1"
TOKENS = ("input", "output", "cache_read", "cache_write")


@pytest.fixture(scope="module")
def real(corpus: Path) -> Path:
    folder = corpus / "agents/agents"
    if not folder.is_dir():
        pytest.skip("no histories of other agents")
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Any]:
    opened: list[Hansard] = []

    def sync(*roots: Path) -> Hansard:
        h = hansard.open(tmp_path / f"home{len(opened)}", list(roots))
        opened.append(h)
        h.sync()
        return h

    yield sync
    for h in opened:
        h.close()


def expected(real: Path, client: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (real / client / "EXPECT.jsonl").read_text().splitlines()]


def lines(h: Hansard, session: str) -> list[dict[str, Any]]:
    ((id_,),) = h.reader.rows("SELECT id FROM transcripts WHERE session_id = ? AND current = 1", (session,))
    return [json.loads(line) for line in b"".join(h.record.read(id_)).splitlines()]


def counted(h: Hansard, session: str) -> dict[str, Any]:
    """What the index has of a session."""
    ((id_,),) = h.reader.rows("SELECT id FROM transcripts WHERE session_id = ? AND current = 1", (session,))

    def number(sql: str) -> int:
        return int(next(iter(h.reader.rows(sql, (id_,))))[0])

    usage = next(
        iter(
            h.reader.rows(
                "SELECT coalesce(sum(u.input), 0), coalesce(sum(u.output), 0), coalesce(sum(u.cache_read), 0),"
                f" coalesce(sum(u.cache_write), 0) FROM messages m JOIN usage u ON u.key = m.key WHERE m.{SPAN}",
                (id_,),
            )
        )
    )
    calls = list(h.reader.rows(f"SELECT tool, result_id IS NOT NULL FROM tool_calls WHERE {SPAN}", (id_,)))
    of_kind = "SELECT count(DISTINCT b.id - b.n) FROM blocks b JOIN records r ON r.id = b.id - b.n"
    return {
        "prompts": number(f"SELECT count(*) FROM records WHERE {SPAN} AND role = 'prompt'"),
        "replies_with_text": number(f"{of_kind} WHERE b.{SPAN} AND b.kind = 'text' AND r.role = 'reply'"),
        "assistant_msgs": number(f"SELECT count(*) FROM records WHERE {SPAN} AND kind = 'assistant'"),
        "thinking": number(f"SELECT count(*) FROM blocks WHERE {SPAN} AND kind = 'thinking'"),
        "tools": dict(Counter(tool for tool, _ in calls)),
        "results": sum(has_result for _, has_result in calls),
        "tokens": dict(zip(TOKENS, usage, strict=True)),
    }


def test_opencode(real: Path, store: Any) -> None:
    seen = 0
    for row in expected(real, "opencode"):
        root = real / "opencode" / row["src"].removesuffix("/opencode.db")
        if not root.is_dir():
            continue  # left out of the samples
        h = store(root)
        found = counted(h, row["session"])
        names = ("prompts", "replies_with_text", "assistant_msgs", "tools")
        assert {name: found[name] for name in names} == {name: row[name] for name in names}
        assert found["thinking"] == row["reasoning_parts"]
        done = row["tool_status"]
        assert found["results"] == done.get("completed", 0) + done.get("error", 0)
        said = dict(row["tokens_message"])
        said["output"] += said.pop("reasoning")
        assert found["tokens"] == said
        session = h.session(row["session"])
        assert session.cwd == row["dir"]
        assert (session.title == row["title"]) is not row["title"].startswith("New session")
        parts = Counter(
            json.loads(part["data"])["type"] if isinstance(part["data"], str) else part["data"]["type"]
            for line in lines(h, row["session"])
            for part in line.get("part", ())
        )
        assert dict(parts) == row["parts"]
        assert sum("id" in line for line in lines(h, row["session"])) == row["messages"]
        seen += 1
    assert seen >= 6


def test_crush(real: Path, store: Any) -> None:
    rows = expected(real, "crush")
    h = store(real / "crush/arc42")
    for row in rows:
        session = h.session(row["session"])
        kept = lines(h, session.session_id)
        messages = [line["messages"] for line in kept if "id" in line]
        assert len(messages) == row["message_count"]
        assert dict(Counter(message["role"] for message in messages)) == row["roles"]
        assert dict(Counter(part["type"] for message in messages for part in message["parts"])) == row["parts"]
        found = counted(h, session.session_id)
        assert (session.title, found["prompts"]) == (row["title"], row["roles"]["user"])
        assert sum(found["tools"].values()) == row["parts"]["tool_call"]
        assert found["results"] <= row["parts"]["tool_result"]
        assert found["tokens"] == dict.fromkeys(TOKENS, 0)  # of the last request, not a sum
        assert float(session.cost_usd or 0) == pytest.approx(row["cost"], abs=1e-6)
        assert kept[0]["sessions"]["prompt_tokens"] == row["prompt_tokens"]


def test_goose(real: Path, store: Any, tmp_path: Path) -> None:
    (row,) = expected(real, "goose")
    (tmp_path / "sessions").mkdir()
    shutil.copy(real / "goose/sessions.db", tmp_path / "sessions")
    h = store(tmp_path / "sessions")
    ((id_,),) = h.reader.rows("SELECT session_id FROM transcripts")
    found = counted(h, id_)
    assert (found["prompts"], found["replies_with_text"], found["tools"]) == (row["prompts"], row["replies"], {})
    assert "name" in lines(h, id_)[0]["sessions"]


def test_cursor(real: Path, store: Any) -> None:
    rows = {row["file"]: row for row in expected(real, "cursor")}
    row = rows["2026-07-omarchy/User/globalStorage/state.vscdb"]
    h = store(real / "cursor/2026-07-omarchy/User")
    ((session,),) = h.reader.rows("SELECT session_id FROM transcripts")  # of all databases of this directory
    found = counted(h, session)
    kept = lines(h, session)
    assert sum("id" in line for line in kept) == row["bubbles_referenced"]
    assert sum("leftover" in str(line.get("fact")) for line in kept) == row["orphan_bubbles"]
    assert (found["prompts"], found["replies_with_text"]) == (row["prompts"], row["replies_with_text"])
    assert found["tools"] == row["tools"]
    assert (found["thinking"], found["results"]) == (row["thinking"], row["with_result"])
    assert found["tokens"] == dict.fromkeys(TOKENS, 0)
    name, folder = row["composerHeaders"][0]
    about = h.session(session)
    assert (about.title, about.cwd, about.branch) == (name, folder, "main")

    row = rows["2024-11-workspace-inline/state.vscdb"]
    h = store(real / "cursor/2024-11-workspace-inline")
    sessions = [
        id_ for (id_,) in h.reader.rows("SELECT session_id FROM transcripts WHERE session_id NOT LIKE 'prompts-%'")
    ]
    tabs = [id_ for id_ in sessions if "tabId" in json.dumps(lines(h, id_)[0])]
    for ids, count, users, answers in (
        (tabs, row["aichat_tabs"], row["aichat_user"], row["aichat_ai"]),
        (set(sessions) - set(tabs), row["inline_composers"], row["inline_user"], row["inline_assistant"]),
    ):
        of_all = [counted(h, id_) for id_ in ids]
        assert len(of_all) == count
        assert sum(found["prompts"] for found in of_all) == users
        assert sum(found["assistant_msgs"] for found in of_all) == answers
    ((typed,),) = h.reader.rows("SELECT session_id FROM transcripts WHERE session_id LIKE 'prompts-%'")
    assert len(lines(h, typed)[0]["ItemTable"]["value"]) == row["aiService.prompts"]


def test_cursor_transcripts(real: Path, store: Any, tmp_path: Path) -> None:
    rows = expected(real, "cursor-transcripts")
    root = tmp_path / "cursor"
    for number, row in enumerate(rows):
        folder = root / "projects/tides/agent-transcripts" / f"id{number}"
        folder.mkdir(parents=True)
        shutil.copy(real / row["file"], folder / f"id{number}.jsonl")
    (root / "argv.json").write_text("{}")
    h = store(root)
    for number, row in enumerate(rows):
        found = counted(h, f"id{number}")
        counts = (found["prompts"], found["replies_with_text"], sum(found["tools"].values()), found["results"])
        assert counts == (row["prompts"], row["replies"], row["calls"], row["results"]), row["file"]
