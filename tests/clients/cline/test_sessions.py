"""Sessions of Cline's command line from version 3 on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hansard
from hansard.clients.cline.client import Cline
from hansard.clients.tools import Edit, Fetch, Read, Search, Shell, Spawn, Write

ID, AGENT = "1795064044089_abcde", "agent_1795064282261_fghij"
METRICS = {"inputTokens": 160, "outputTokens": 20, "cacheReadTokens": 100, "cacheWriteTokens": 50, "cost": 0.0005}


def said(number: int, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    answer = {"modelInfo": {"id": "claude-sonnet-4-5"}, "metrics": METRICS, "role": "assistant"}
    return {"id": f"m{number}", "ts": 1_795_064_000_000 + number, "content": list(parts), **(more or answer)}


def typed(number: int, text: str) -> dict[str, Any]:
    return said(number, {"type": "text", "text": f'<user_input mode="act">{text}</user_input>'}, role="user")


def call(key: str, name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": key, "name": name, "input": given}


def result(key: str, content: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": key, "content": content}


def document(session: str, messages: list[dict[str, Any]], **origin: Any) -> str:
    about = {"version": 1, "agent": "lead", "sessionId": session, "origin": {"version": "3.0.65", **origin}}
    return json.dumps({**about, "messages": messages, "system_prompt": "You are Cline."}, indent=2)


def write(data: Path) -> None:
    folder = data / "sessions" / ID
    folder.mkdir(parents=True)
    made = {"query": "edit:/srv/a.txt", "result": "File created", "success": True}
    failed = {"query": "false", "result": "", "error": "Command exited with code 1", "success": False}
    messages = [
        typed(1, "Write the tide table"),
        said(
            2,
            call("t1", "editor", path="/srv/a.txt", new_text="low\nhigh\n"),
            call("t2", "run_commands", commands=["false"]),
        ),
        said(3, result("t1", json.dumps(made)), result("t2", [failed]), role="user"),
        said(4, call("t3", "spawn_agent", systemPrompt="You count.", task="Count the gulls")),
        said(5, result("t3", '{"text": "Twelve.", "iterations": 1}'), role="user"),
        said(6, {"type": "text", "text": "Written."}),
        said(7, {"type": "text", "text": "No key"}, role="assistant", metadata={"displayRole": "error"}),
    ]
    (folder / f"{ID}.messages.json").write_text(document(ID, messages))
    agent = [
        said(8, {"type": "text", "text": "Count the gulls"}, role="user"),
        said(9, {"type": "text", "text": "Twelve."}),
    ]
    origin = {"parentThreadId": ID, "subagent": AGENT}
    (folder / f"{AGENT}.messages.json").write_text(document(f"{ID}__{AGENT}", agent, **origin))
    facts = {"session_id": ID, "cwd": "/srv", "metadata": {"title": "Tide table"}, "prompt": "x"}
    (folder / f"{ID}.json").write_text(json.dumps(facts))
    (data / "db").mkdir()
    (data / "db/sessions.db").write_bytes(b"")
    (data / "secrets.json").write_text("{}")


def test_a_session_is_read(tmp_path: Path) -> None:
    data = tmp_path / ".cline/data"
    write(data)
    assert Cline().default_roots({}, str(tmp_path)) == [str(data)]
    with hansard.open(tmp_path / "home", [data]) as h:
        h.sync()
        (session,) = h.sessions(limit=None).sessions
        assert (session.session_id, session.client, session.title, session.cwd) == (ID, "cline", "Tide table", "/srv")
        assert (session.prompts, session.tool_calls, session.tool_errors, session.lines_added) == (1, 3, 1, 2)
        assert [(entry.kind, entry.tool.tool if entry.tool else entry.text) for entry in h.read(ID).entries()] == [
            ("prompt", "Write the tide table"),
            ("tool", "editor"),
            ("tool", "run_commands"),
            ("tool", "spawn_agent"),
            ("reply", "Written."),
            ("error", "No key"),
        ]
        (agent,) = h.read(ID).agents
        assert (agent.agent_id, agent.linked_by, agent.description) == (AGENT, "prompt", "Count the gulls")
        totals = h.usage(by="total").totals
        assert (totals.api_messages, totals.input_tokens, totals.cache_read_tokens, totals.output_tokens) == (
            4,
            40,
            400,
            80,
        )
        assert (totals.cache_write_5m_tokens, float(totals.cost_usd or 0)) == (200, 0.002)
        kept = {path for (path,) in h.reader.rows("SELECT path FROM transcripts UNION SELECT path FROM side_files")}
        assert kept == {
            f"sessions/{ID}/{name}" for name in (f"{ID}.messages.json", f"{AGENT}.messages.json", f"{ID}.json")
        }


def test_how_calls_are_shown() -> None:
    client = Cline()
    page = {"url": "https://example.com", "prompt": "when?"}
    for tool, given, shown in (
        ("run_commands", {"commands": ["ls", "pwd"]}, Shell("ls\npwd")),
        ("read_files", {"files": [{"path": "/a"}]}, Read("/a")),
        ("search_codebase", {"queries": ["tide"]}, Search("tide")),
        ("fetch_web_content", {"requests": [page]}, Fetch("https://example.com", "when?")),
        ("editor", {"path": "/a", "old_text": "x", "new_text": "y"}, Edit("/a", [("x", "y")])),
        ("editor", {"path": "/a", "new_text": "y"}, Write("/a", "y")),
        ("spawn_agent", {"task": "Count\nall", "systemPrompt": ""}, Spawn("Count\nall", "", "Count")),
        ("read_files", {"files": []}, None),
    ):
        assert client.tool_use(tool, given, "").input == shown
