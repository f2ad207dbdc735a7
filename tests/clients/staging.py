"""Real histories of other agents, each in the folder in which its client keeps it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

IMPORTED = ("aider", "amp", "chatgpt", "claude-ai", "continue", "droid")
"""Clients whose samples are imported."""
_ROOTS = (
    *("codex/*/sessions", "codex/*/archived_sessions", "opencode/*/opencode.db", "opencode/*/storage"),
    *("crush/*/crush.db", "copilot-cli/*/session-state", "gemini/*/tmp", "qwen/*/projects", "cursor/*/state.vscdb"),
    "cursor/*/User/globalStorage",
)
"""Samples that are in a root already; its path is the folder around them."""
_LOOSE = (
    ("codex", "sessions/2025", "codex/fixtures-agent-history/compaction/codex/*.jsonl"),
    ("copilot", "session-state", "copilot-cli/fixtures-git-ai/*.jsonl"),
    ("gemini", "tmp/tides/chats", "gemini/[!g]*/**/*.json*"),
    ("qwen", "projects/tides/chats", "qwen/contract-v1/**/chat-records.jsonl"),
    ("User", "workspaceStorage/tides/chatSessions", "copilot-vscode/fixtures-git-ai/*.json*"),
    ("goose", "", "goose/sessions.db"),
)
"""Samples of files alone: a root, the folder in it where the client would have them, and the files."""
_ONE_EACH = (
    ("saoudrizwan.claude-dev", "tasks/17700000000{}", "cline/*/ui_messages.json", "{}"),
    ("cursor", "projects/tides/agent-transcripts/id{}", "cursor-transcripts/*/**/*.jsonl", "id{}.jsonl"),
)
"""The same, with a folder for each file."""


def stage(real: Path, target: Path) -> list[Path]:
    """The roots of the samples; those that are not in one already are copied to one in `target`."""
    return [
        *dict.fromkeys(path.parent for pattern in _ROOTS for path in sorted(real.glob(pattern))),
        *_copied(real, target),
    ]


def _copied(real: Path, target: Path) -> Iterator[Path]:
    for root, folder, pattern in _LOOSE:
        (target / root / folder).mkdir(parents=True)
        for path in sorted(real.glob(pattern)):
            shutil.copy(path, target / root / folder)
        yield target / root
    for root, folder, pattern, name in _ONE_EACH:
        for number, path in enumerate(sorted(real.glob(pattern))):
            place = target / root / folder.format(number)
            place.mkdir(parents=True)
            shutil.copy(path, place / name.format(number if "id" in name else path.name))
        yield target / root
    (target / "cursor/argv.json").write_text("{}")
