"""The files a client keeps beside its transcripts, and how all of them get onto the disk."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from hansard.demo.dice import millis, stamp
from hansard.demo.page import Json, Page, SideFile, dump, dump_pretty

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hansard.demo.tools import Call, Outcome

HOME = "/home/mira"
CONFIG = (
    f"{HOME}/.claude"  # the config folder that paths inside transcripts name, wherever the files are really written
)


@dataclass(frozen=True, slots=True)
class Typed:
    """A line of history.jsonl: something the user typed at the prompt."""

    at: datetime
    display: str
    project: str
    session_id: str | None
    pasted: Json = field(default_factory=dict)

    def record(self) -> Json:
        """Give the line as the client writes it; 1.0 did not name the session."""
        line: Json = {"display": self.display, "pastedContents": self.pasted, "timestamp": millis(self.at)}
        line["project"] = self.project
        if self.session_id:
            line["sessionId"] = self.session_id
        return line


class SessionFiles:
    """Everything one session leaves on the disk: transcripts by path, small files by path, prompts for history.jsonl."""

    def __init__(self) -> None:
        self.pages: dict[str, Page] = {}
        self.files: dict[str, SideFile] = {}
        self.typed: list[Typed] = []
        self.finished: dict[str, tuple[str, str]] = {}  # background agents: description and tool call
        self.backups: dict[str, Json] = {}
        self.tasks: dict[str, Json] = {}
        self.snapshot_of: str | None = None  # the prompt that the newest file-history snapshot belongs to

    def tool_result(self, page: Page, name: str, text: str) -> str:
        """Keep a long output and give the path that the transcript names."""
        path = f"projects/{page.project}/{page.session_id}/tool-results/{name}"
        self.files[path] = SideFile(text.encode("utf-8", "surrogatepass"), 0o644, page.clock.now)
        return f"{CONFIG}/{path}"

    def keep(self, page: Page, call: Call, outcome: Outcome, line: str) -> None:
        """Keep what a call changes outside the transcript: todos, tasks, plans and the history of files."""
        if outcome.error:
            return
        if call.name == "TodoWrite":
            todos = call.input["todos"]
            identity = page.agent_id or page.session_id
            name = f"todos/{page.session_id}-agent-{identity}.json"
            self.files[name] = SideFile(dump_pretty(todos), 0o644, page.clock.now)
        elif call.name in {"TaskCreate", "TaskUpdate"}:
            self._keep_task(page, call)
        elif call.name == "ExitPlanMode" and "filePath" in outcome.result:
            path = str(outcome.result["filePath"]).removeprefix(f"{CONFIG}/")
            self.files[path] = SideFile(str(call.input["plan"]).encode(), 0o644, page.clock.now)
        elif outcome.touched and page.interactive and page.agent_id is None and page.era.snapshots:
            self._keep_backup(page, *outcome.touched, line)

    def _keep_task(self, page: Page, call: Call) -> None:
        if call.name == "TaskCreate":
            number = str(len(self.tasks) + 1)
            self.tasks[number] = {"id": number, **call.input, "status": "pending", "blocks": [], "blockedBy": []}
        else:
            number = call.input["taskId"]
            self.tasks[number]["status"] = call.input["status"]
        folder = f"tasks/{page.session_id}"
        self.files[f"{folder}/{number}.json"] = SideFile(dump_pretty(self.tasks[number]), 0o644, page.clock.now)
        self.files[f"{folder}/.lock"] = SideFile(b"", 0o644, page.clock.now)

    def _keep_backup(self, page: Page, path: str, before: str | None, line: str) -> None:
        relative = path.removeprefix(page.cwd + "/")
        version = int(self.backups.get(relative, {}).get("version", 0)) + 1
        name = None
        if before is not None:
            name = f"{hashlib.sha256(path.encode()).hexdigest()[:16]}@v{version}"
            data = before.encode("utf-8", "surrogatepass")
            self.files[f"file-history/{page.session_id}/{name}"] = SideFile(data, 0o644, page.clock.now)
        backup = {"backupFileName": name, "version": version, "backupTime": stamp(page.clock.now)}
        self.backups[relative] = backup
        if page.era.requests:
            delta = {"type": "file-history-delta", "messageId": line, "snapshotMessageId": self.snapshot_of}
            page.note({**delta, "trackingPath": relative, "backup": backup, "timestamp": stamp(page.clock.now)})
        else:
            self.snapshot(page, line, update=True)

    def snapshot(self, page: Page, message: str, *, update: bool = False) -> None:
        """Write a file-history-snapshot line for a prompt, or an update of the newest one."""
        if not update:
            self.snapshot_of = message
        held = {
            "messageId": self.snapshot_of,
            "trackedFileBackups": dict(self.backups),
            "timestamp": stamp(page.clock.now),
        }
        page.note({"type": "file-history-snapshot", "messageId": message, "snapshot": held, "isSnapshotUpdate": update})


def place(root: Path, path: str, data: bytes, mode: int, at: datetime, folder_mode: int = 0o755) -> None:
    """Write a file with its mode and time, making the folders it needs."""
    target = root / path
    if not target.parent.is_dir():
        target.parent.mkdir(parents=True)
        if path.startswith("projects/"):
            (root / "projects" / path.split("/")[1]).chmod(folder_mode)
    target.write_bytes(data)
    target.chmod(mode)
    when = millis(at) * 1_000_000
    os.utime(target, ns=(when, when))


def write_sessions(config_dir: str | Path, sessions: Iterable[SessionFiles]) -> None:
    """Write sessions under a config folder; prompts are added to its history.jsonl in order of time."""
    root = Path(config_dir)
    (root / "projects").mkdir(parents=True, exist_ok=True)
    typed: list[Typed] = []
    for session_files in sessions:
        for path, page in session_files.pages.items():
            place(root, path, page.data(), page.era.transcript_mode, page.last, page.era.folder_mode)
        for path, file in session_files.files.items():
            place(root, path, file.data, file.mode, file.at)
        typed += session_files.typed
    write_typed(root, typed)


def write_typed(root: Path, typed: Iterable[Typed]) -> None:
    """Add prompts to history.jsonl."""
    lines = sorted(typed, key=lambda one: one.at)
    if not lines:
        return
    history = root / "history.jsonl"
    before = history.read_bytes() if history.exists() else b""
    data = before + b"".join(dump(one.record()) + b"\n" for one in lines)
    place(root, "history.jsonl", data, 0o600, lines[-1].at)
