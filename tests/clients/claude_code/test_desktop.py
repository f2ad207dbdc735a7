"""Sessions of Claude's desktop app, whose transcripts are Claude Code's."""

from __future__ import annotations

import json
from pathlib import Path

import hansard
from hansard.clients.claude_code.client import ClaudeCode
from hansard.clients.protocol import NEVER_DELETED
from tests.clients.claude_code.making import SESSION, assistant, line, text, tool_use, user

CODE = "0e6f1a2b-0000-4000-8000-000000000002"


def write(app: Path) -> None:
    account = app / "local-agent-mode-sessions/org-1/account-1"
    config = account / "local_a1/.claude"
    chats = config / "projects/-sessions-quiet-fox"
    (chats / SESSION / "subagents").mkdir(parents=True)
    asked = [user("Sort the tide tables"), assistant(text("Sorted."), tool_use("Bash", {"command": "ls"}), id="msg_1")]
    (chats / f"{SESSION}.jsonl").write_bytes(b"".join(line(one) + b"\n" for one in asked))
    agent = [user("Look", isSidechain=True), assistant(text("Seen."), id="msg_2", isSidechain=True)]
    lines = b"".join(line({**one, "agentId": "b2"}) + b"\n" for one in agent)
    (chats / SESSION / "subagents/agent-b2.jsonl").write_bytes(lines)
    (config / ".credentials.json").write_text("{}")
    (account / "local_a1/uploads").mkdir()
    (account / "local_a1/uploads/notes.jsonl").write_text("{}\n")
    (account / "local_a1/audit.jsonl").write_bytes(line(asked[1]) + b"\n")
    (account / "local_a1.json").write_text(
        json.dumps({"sessionId": "local_a1", "cliSessionId": SESSION, "title": "Tides"})
    )
    started = app / "claude-code-sessions/org-1/account-1"
    started.mkdir(parents=True)
    (started / "local_c3.json").write_text(json.dumps({"cliSessionId": CODE, "title": "Gulls"}))


def test_they_are_read_with_their_titles(tmp_path: Path) -> None:
    app, config = tmp_path / ".config/Claude", tmp_path / ".claude"
    write(app)
    (config / "projects/-srv").mkdir(parents=True)
    (config / f"projects/-srv/{CODE}.jsonl").write_bytes(line(user("Count the gulls", sessionId=CODE)) + b"\n")
    roots = ClaudeCode().default_roots({}, str(tmp_path))
    assert roots == [str(config), *(str(app / name) for name in ("local-agent-mode-sessions", "claude-code-sessions"))]
    with hansard.open(tmp_path / "home", roots) as h:
        h.sync()
        found = {one.session_id: (one.client, one.title, one.prompts) for one in h.sessions(limit=None).sessions}
        assert found == {SESSION: ("claude-code", "Tides", 1), CODE: ("claude-code", "Gulls", 1)}
        assert [agent.agent_id for agent in h.read(SESSION).agents] == ["b2"]
        assert h.usage(by="total").totals.api_messages == 2
        kept = {path for (path,) in h.reader.rows("SELECT path FROM transcripts UNION SELECT path FROM side_files")}
        assert not {path for path in kept if "uploads" in path or "credentials" in path or "audit" in path}
        assert [root.config for root in h.roots] == [str(config), None, None]  # the app's folders are only read
        client = ClaudeCode()
        assert [client.cleanup_days(root) for root in h.roots] == [30, NEVER_DELETED, NEVER_DELETED]


def test_where_it_is(tmp_path: Path) -> None:
    client = ClaudeCode()
    for place, environ in (
        ("Library/Application Support/Claude", {}),
        ("data/Claude", {"XDG_CONFIG_HOME": str(tmp_path / "data")}),
        ("roaming/Claude", {"APPDATA": str(tmp_path / "roaming")}),
    ):
        (tmp_path / place / "claude-code-sessions").mkdir(parents=True)
        assert str(tmp_path / place / "claude-code-sessions") in client.default_roots(environ, str(tmp_path))
