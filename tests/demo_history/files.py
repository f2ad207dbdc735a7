"""Transcripts, the files a client keeps beside them, and how all of them get onto the disk."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.demo_history.client import Clock, Dice, Era, millis, stamp

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.demo_history.tools import Call, Outcome

Json = dict[str, Any]
TIP = "tip"  # hang the record on the newest one
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class SideFile:
    """A small whole file: what it holds, its mode and its time."""

    data: bytes
    mode: int
    at: datetime


def dump(record: object) -> bytes:
    """Serialise as the client does: no spaces, nothing escaped that need not be."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def dump_pretty(record: object) -> bytes:
    """Serialise with two spaces, as the client writes its small files."""
    return json.dumps(record, ensure_ascii=False, indent=2).encode("utf-8")


def encode_cwd(cwd: str) -> str:
    """Name the project folder of a working directory."""
    units = cwd.encode("utf-16-le")
    codes = [units[i] | units[i + 1] << 8 for i in range(0, len(units), 2)]
    name = "".join(chr(code) if code < 128 and chr(code).isalnum() else "-" for code in codes)
    if len(name) <= 200:
        return name
    hashed = 0
    for code in codes:
        hashed = (hashed * 31 + code) & 0xFFFFFFFF
    rest = abs(hashed - (1 << 32) if hashed >> 31 else hashed)
    digits = ""
    while rest:
        rest, digit = divmod(rest, 36)
        digits = _DIGITS[digit] + digits
    return f"{name[:200]}-{digits or '0'}"


@dataclass(kw_only=True, eq=False)
class Page:
    """The lines of one transcript, in the order in which they are written."""

    era: Era
    version: str
    dice: Dice
    clock: Clock
    session_id: str
    cwd: str  # a `cd` changes it; the project stays
    branch: str
    project: str = ""
    interactive: bool = True
    agent_id: str | None = None
    sidechain: bool = False
    records: list[Json] = field(default_factory=list)
    slug: str | None = None
    tip: str | None = None  # the uuid the next conversation record hangs on

    def __post_init__(self) -> None:
        self.process_session = self.session_id  # what the snake-case session_id of 2.1.325 keeps naming after a /clear
        self.project = self.project or encode_cwd(self.cwd)
        self.last = self.clock.now

    def another(self, **changes: Any) -> Page:
        """Give an empty transcript of the same client at the same time; its clock goes its own way."""
        return replace(self, clock=self.clock.copy(), records=[], slug=None, tip=None, **changes)

    def note(self, record: Json) -> None:
        """Write a metadata record, which hangs on nothing."""
        self.records.append(record)
        self.last = max(self.last, self.clock.now)

    def note_queue(self, operation: str, **more: object) -> None:
        """Write what became of a prompt that had to wait."""
        record = {"type": "queue-operation", "operation": operation, "timestamp": stamp(self.clock.now)}
        self.note({**record, "sessionId": self.session_id, **more})

    def put(
        self,
        body: Json,
        *,
        tail: Json | None = None,
        parent: str | None = TIP,
        when: datetime | None = None,
        uuid: str | None = None,
    ) -> str:
        """Write a conversation record and give its uuid; `tail` stands after uuid and timestamp."""
        uuid = uuid or self.dice.uuid()
        hangs_on = self.tip if parent == TIP else parent
        head: Json = {"parentUuid": hangs_on}
        if "logicalParentUuid" in body:
            head["logicalParentUuid"] = body["logicalParentUuid"]
            body = {key: value for key, value in body.items() if key != "logicalParentUuid"}
        head["isSidechain"] = self.sidechain
        time = {"uuid": uuid, "timestamp": stamp(when or self.clock.now)}
        if self.era.envelope_first:
            record = {**head, **self._envelope(), **body, **time, **(tail or {})}
        else:
            agent = {"agentId": self.agent_id} if self.agent_id else {}
            record = {**head, **agent, **body, **time, **(tail or {}), **self._envelope()}
        self.records.append(record)
        self.tip = uuid
        self.last = max(self.last, self.clock.now)
        return uuid

    def put_user(self, content: object, prompt_id: str = "", marks: Json | None = None, **placed: Any) -> str:
        """Write a user record, as `put` does; newer clients say which prompt it belongs to."""
        body: Json = {"promptId": prompt_id} if prompt_id and self.era.attachments else {}
        body |= {"type": "user", "message": {"role": "user", "content": content}}
        return self.put({**body, **(marks or {})}, **placed)

    def _envelope(self) -> Json:
        place: Json = {"userType": "external"}
        if not self.era.envelope_first:
            if self.era.requests and self.interactive and self.slug and not self.agent_id:
                place = {"session_id": self.process_session, **place}
            place["entrypoint"] = "cli" if self.interactive else "sdk-cli"
        place |= {"cwd": self.cwd, "sessionId": self.session_id, "version": self.version, "gitBranch": self.branch}
        if self.era.envelope_first and self.agent_id and not self.sidechain_inline:
            place["agentId"] = self.agent_id
        if self.slug and self.era.snapshots:
            place["slug"] = self.slug
        return place

    @property
    def sidechain_inline(self) -> bool:
        """Tell whether this page's lines go into the main file."""
        return self.era.agents == "inline"

    def data(self) -> bytes:
        """Give the file's bytes."""
        return b"".join(dump(record) + b"\n" for record in self.records)


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
