"""Chats of Cursor's command line: databases of blobs, and transcripts of the same agents."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import hansard

CHAT, OTHER = "f1ff7b74-0a28-4dd4-a452-e01ae080eb20", "0b1c7b74-0a28-4dd4-a452-e01ae080eb21"
SECRET = "blob-c0ffee"
_OPTIONS = {"providerOptions": {"cursor": {"modelName": "gpt-5"}}}
MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "You are an agent."},
    {"role": "user", "content": "<user_info>\nWorkspace Path: /srv/tides\n</user_info>"},
    {"role": "user", "content": [{"type": "text", "text": "<user_query>\nWhich port?\n</user_query>"}]},
    {
        "role": "assistant",
        "content": [
            {"type": "reasoning", "text": "An almanac?", **_OPTIONS},
            {"type": "text", "text": "I look."},
            {"type": "tool-call", "toolCallId": "t1", "toolName": "Shell", "args": {"command": "ls"}},
            {
                "type": "tool-call",
                "toolCallId": "t2",
                "toolName": "Write",
                "args": {"path": "/srv/tides/a.txt", "contents": "one\ntwo\n"},
            },
        ],
    },
    {
        "role": "tool",
        "content": [
            {"type": "tool-result", "toolCallId": "t1", "toolName": "Shell", "result": "emden.txt"},
            {"type": "tool-result", "toolCallId": "t2", "toolName": "Write", "result": {"output": ""}},
        ],
    },
    {"role": "assistant", "content": "Emden."},
    {"role": "user", "content": "<user_query>Again</user_query>"},
    {"role": "assistant", "content": "Emden."},
]


def field(number: int, value: bytes) -> bytes:
    """A field in Protocol Buffers, of less than 128 bytes."""
    return bytes((number << 3 | 2, len(value))) + value


def write_chat(root: Path, messages: list[dict[str, Any]], workspace: str = "", **beside: Any) -> Path:
    """Write `~/.cursor` with one chat; its old blobs stay."""
    folder = root / "chats" / "0123456789abcdef0123456789abcdef" / CHAT
    folder.mkdir(parents=True, exist_ok=True)
    if beside:
        (folder / "meta.json").write_text(json.dumps({"schemaVersion": 1, **beside}))
    with closing(sqlite3.connect(folder / "store.db")) as db:
        db.execute("CREATE TABLE IF NOT EXISTS blobs (id TEXT PRIMARY KEY, data BLOB)")
        db.execute("CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT)")
        root_blob = b"\x40\x96\x01" + field(8, b"turn") + b"\x49" + bytes(8)
        for data in [json.dumps(message).encode() for message in messages]:
            db.execute("INSERT OR IGNORE INTO blobs VALUES (?, ?)", (hashlib.sha256(data).hexdigest(), data))
            root_blob += field(1, hashlib.sha256(data).digest())
        root_blob += field(9, workspace.encode()) if workspace else b""
        latest = hashlib.sha256(root_blob).hexdigest()
        db.execute("INSERT OR IGNORE INTO blobs VALUES (?, ?)", (latest, root_blob))
        db.execute("INSERT OR IGNORE INTO blobs VALUES (?, ?)", ("ff", SECRET.encode()))
        meta = {"agentId": CHAT, "latestRootBlobId": latest, "name": "Ports", "createdAt": 1_780_000_000_000}
        db.execute("INSERT OR REPLACE INTO meta VALUES ('0', ?)", (json.dumps(meta).encode().hex(),))
        db.commit()
    return folder


def test_a_chat_is_read(tmp_path: Path) -> None:
    write_chat(tmp_path / ".cursor", MESSAGES)
    with hansard.open(tmp_path / "home", [tmp_path / ".cursor"]) as h:
        h.sync()
        session = h.session(CHAT)
        assert (session.client, session.title, session.cwd, session.models) == (
            "cursor",
            "Ports",
            "/srv/tides",
            ("gpt-5",),
        )
        assert (session.prompts, session.tool_calls, session.lines_added, session.messages) == (2, 2, 2, 3)
        assert [(entry.kind, entry.tool.tool if entry.tool else entry.text) for entry in h.read(CHAT).entries()] == [
            ("prompt", "Which port?"),
            ("thinking", "An almanac?"),
            ("reply", "I look."),
            ("tool", "Shell"),
            ("tool", "Write"),
            ("reply", "Emden."),
            ("prompt", "Again"),
            ("reply", "Emden."),
        ]
        ((id_,),) = h.reader.rows("SELECT id FROM transcripts")
        assert SECRET.encode() not in b"".join(h.record.read(id_))


def test_a_chat_that_grows_is_the_same_log(tmp_path: Path) -> None:
    root = tmp_path / ".cursor"
    write_chat(root, MESSAGES[:3], "file:///srv/sea%20side")
    with hansard.open(tmp_path / "home", [root]) as h:
        for count in range(3, len(MESSAGES) + 1):
            write_chat(root, MESSAGES[:count], "file:///srv/sea%20side")
            h.sync()
        ((generation, cwd),) = h.reader.rows("SELECT generation, cwd FROM transcripts JOIN sessions USING (session_id)")
        assert (generation, cwd) == (1, "/srv/sea side")
        assert h.session(CHAT).prompts == 2


def test_a_transcript_of_the_same_chat_is_not_counted_again_and_of_another_is_read(tmp_path: Path) -> None:
    root = tmp_path / ".cursor"
    write_chat(root, MESSAGES, cwd="/srv/ports", title="Named")
    beside = root / "chats/00000000000000000000000000000000" / OTHER
    beside.mkdir(parents=True)
    (beside / "meta.json").write_text('{"cwd": "/srv/gulls"}')
    line = {"role": "user", "message": {"content": [{"type": "text", "text": "<user_query>Gulls</user_query>"}]}}
    edit = {"path": "/srv/gulls/a", "old_string": "x", "new_string": "y\nz"}
    call = {"type": "tool_use", "name": "StrReplace", "input": edit}
    lines = [line, {"role": "assistant", "message": {"content": [call]}}, {"type": "turn_ended"}]
    for id_ in (CHAT, OTHER):
        folder = root / "projects/srv-gulls/agent-transcripts" / id_
        folder.mkdir(parents=True)
        (folder / f"{id_}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
        found = {one.session_id: (one.prompts, one.cwd, one.title) for one in h.sessions(limit=None).sessions}
        assert found == {CHAT: (2, "/srv/ports", "Named"), OTHER: (1, "/srv/gulls", "Gulls")}
        (change,) = h.calls(f"session:{OTHER}").calls
        assert (change.path, change.tool) == ("/srv/gulls/a", "StrReplace")
