"""An invented history of Cursor: a conversation in the common database, chats in a workspace's, and login tokens in both."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

SECRET = "tok-cursor-c0ffee"
SESSION = "11111111-0000-4000-8000-000000000001"
INLINE = "22222222-0000-4000-8000-000000000002"
TAB = "33333333-0000-4000-8000-000000000003"
BEGAN = 1_780_000_000_000
TABLES = (
    "CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);"
    "CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);"
)
NOTHING = "composer.content.e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
AFTER = f"composer.content.{'a' * 64}"


def tool(name: str, params: dict[str, Any], result: Any, **more: Any) -> dict[str, Any]:
    return {
        "tool": 1,
        "name": name,
        "toolCallId": f"tool_{name}",
        "status": "completed",
        "params": json.dumps(params),
        "result": json.dumps(result) if result is not None else None,
        **more,
    }


BUBBLES: list[dict[str, Any]] = [
    {"type": 1, "text": "Draw the pier of Emden", "modelInfo": {"modelName": "gpt-5"}},
    {"type": 2, "text": "", "capabilityType": 30, "thinking": {"text": "A long one."}},
    {
        "type": 2,
        "text": "",
        "toolFormerData": tool("run_terminal_command_v2", {"command": "ls"}, {"output": "pier.txt"}),
    },
    {
        "type": 2,
        "text": "",
        "toolFormerData": tool(
            "edit_file_v2",
            {"relativeWorkspacePath": "/srv/pier.txt"},
            {"beforeContentId": NOTHING, "afterContentId": AFTER},
        ),
    },
    {"type": 2, "text": "Drawn.", "tokenCount": {"inputTokens": 120, "outputTokens": 30}},
]


def put(db: sqlite3.Connection, table: str, key: str, value: Any) -> None:
    db.execute(f"INSERT INTO {table} VALUES (?, ?)", (key, value if isinstance(value, str) else json.dumps(value)))


def write_composer(db: sqlite3.Connection, bubbles: list[dict[str, Any]], **more: Any) -> None:
    """Write a conversation into the common database."""
    headers = [{"bubbleId": f"b{number}", "type": bubble["type"]} for number, bubble in enumerate(bubbles)]
    composer = {
        "_v": 16,
        "composerId": SESSION,
        "name": "Piers",
        "fullConversationHeadersOnly": headers,
        "status": "completed",
        "createdAt": BEGAN,
        "lastUpdatedAt": BEGAN + 1000 * len(bubbles),
        "blobEncryptionKey": SECRET,
        "speculativeSummarizationEncryptionKey": SECRET,
        "trackedGitRepos": [{"repoPath": "/work", "branches": [{"branchName": "main"}]}],
        **more,
    }
    put(db, "cursorDiskKV", f"composerData:{SESSION}", composer)
    for number, bubble in enumerate(bubbles):
        minute = f"2026-05-28T20:{number:02d}:00.000Z"
        put(
            db,
            "cursorDiskKV",
            f"bubbleId:{SESSION}:b{number}",
            {"bubbleId": f"b{number}", "createdAt": minute, **bubble},
        )


def write(root: Path) -> None:
    """Fill an empty directory."""
    (root / "globalStorage").mkdir()
    workspace = root / "workspaceStorage" / "abc123"
    workspace.mkdir(parents=True)
    (workspace / "workspace.json").write_text('{"folder":"file:///work"}')
    with closing(sqlite3.connect(root / "globalStorage" / "state.vscdb")) as db:
        db.executescript(TABLES)
        write_composer(db, BUBBLES)
        put(db, "cursorDiskKV", f"bubbleId:{SESSION}:left", {"type": 1, "bubbleId": "left", "text": "An edited prompt"})
        put(db, "cursorDiskKV", AFTER, "====\n")
        put(db, "cursorDiskKV", "composerData:empty-state-draft", "")
        put(db, "cursorDiskKV", "composerData:empty", {"_v": 16, "fullConversationHeadersOnly": []})
        put(db, "cursorDiskKV", "agentKv:blob:00", SECRET)
        put(db, "ItemTable", "cursorAuth/accessToken", SECRET)
        put(db, "ItemTable", "cursorAuth/refreshToken", SECRET)
        header = {"composerId": SESSION, "name": "Piers", "blobEncryptionKey": SECRET}
        put(db, "ItemTable", "composer.composerHeaders", {"allComposers": [{"composerId": "other"}, header]})
        db.commit()
    with closing(sqlite3.connect(workspace / "state.vscdb")) as db:
        db.executescript(TABLES.partition("CREATE TABLE cursorDiskKV")[0])
        bubbles = [
            {"type": 1, "bubbleId": "x", "text": "An inline question"},
            {"type": 2, "bubbleId": "y", "text": "Its answer"},
        ]
        listed = [{"composerId": INLINE, "createdAt": BEGAN, "conversation": bubbles}, {"composerId": SESSION}]
        put(db, "ItemTable", "composer.composerData", {"allComposers": listed})
        chat = [
            {"type": "user", "id": "u", "text": "A chat"},
            {"type": "ai", "id": "v", "text": "Hello", "modelType": "gpt-4"},
        ]
        put(
            db,
            "ItemTable",
            "workbench.panel.aichat.view.aichat.chatdata",
            {"tabs": [{"tabId": TAB, "chatTitle": "Chat", "lastSendTime": BEGAN, "bubbles": chat}]},
        )
        put(db, "ItemTable", "aiService.prompts", [{"text": "An inline question", "commandType": 4}])
        put(db, "ItemTable", "cursorAuth/accessToken", SECRET)
        db.commit()
