"""Hand-made source trees: a config directory, a store beside it, and the lines that clients write."""

from __future__ import annotations

import itertools
import json
import os
import shutil
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

import apsw

from hansard.clients.roots import open_roots
from hansard.pricing.settle import Prices
from hansard.sources.roots import Root
from hansard.sync.report import DEFAULT_MAX_FILE, SyncReport, SyncRequest
from hansard.sync.run import sync

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

Line = dict[str, Any]
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
FOLDER = "projects/-home-mira-src-app"
CWD = "/home/mira/src/app"
OLD_NS = 1_700_000_000_000_000_000  # a date that no file clock is near
_numbers = itertools.count(1)


def session(number: int) -> str:
    """The id of a session."""
    return str(UUID(int=0x5E55 << 112 | number))


def main_path(session_id: str) -> str:
    return f"{FOLDER}/{session_id}.jsonl"


def agent_path(session_id: str, agent_id: str) -> str:
    return f"{FOLDER}/{session_id}/subagents/agent-{agent_id}.jsonl"


def at(minutes: float) -> str:
    """A moment of the story, as lines state it."""
    return (START + timedelta(minutes=minutes)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def entry(kind: str, session_id: str, uuid: str, minutes: float = 0, parent: str | None = None, **more: Any) -> Line:
    """A conversation record."""
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "userType": "external",
        "cwd": CWD,
        "sessionId": session_id,
        "version": "2.1.50",
        "gitBranch": "main",
        "type": kind,
        "uuid": uuid,
        "timestamp": at(minutes),
        **more,
    }


def user(session_id: str, uuid: str, text: object, minutes: float = 0, parent: str | None = None, **more: Any) -> Line:
    return entry("user", session_id, uuid, minutes, parent, message={"role": "user", "content": text}, **more)


def assistant(
    session_id: str,
    uuid: str,
    message_id: str,
    content: str | Sequence[Line],
    minutes: float = 0,
    parent: str | None = None,
    *,
    tokens: tuple[int, int] = (10, 20),
    stop: str | None = "end_turn",
    **more: Any,
) -> Line:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    usage = {"input_tokens": tokens[0], "output_tokens": tokens[1]}
    message = {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-4-1",
        "content": blocks,
        "stop_reason": stop,
        "usage": usage,
    }
    return entry("assistant", session_id, uuid, minutes, parent, message=message, requestId=f"req_{message_id}", **more)


def call(tool_use_id: str, name: str, **given: object) -> Line:
    return {"type": "tool_use", "id": tool_use_id, "name": name, "input": given}


def result(session_id: str, uuid: str, tool_use_id: str, text: str, minutes: float = 0, outcome: object = None) -> Line:
    block = {"type": "tool_result", "tool_use_id": tool_use_id, "content": text}
    line = user(session_id, uuid, [block], minutes)
    return line if outcome is None else {**line, "toolUseResult": outcome}


def raw(lines: Iterable[Line]) -> bytes:
    """Lines as a client writes them."""
    return b"".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for line in lines)


class Tree:
    """A config directory with a store beside it."""

    def __init__(self, config: Path, home: Path) -> None:
        self.config = config
        self.home = home
        (config / "projects").mkdir(parents=True, exist_ok=True)

    @property
    def roots(self) -> list[Root]:
        return open_roots([str(self.config)])

    def place(self, path: str) -> Path:
        return self.config / path

    def write(self, path: str, content: Iterable[Line] | bytes, *, mtime_ns: int = OLD_NS) -> Path:
        """Write a file anew, in place as an editor would."""
        place = self.place(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else raw(content))
        # Each write has a time of its own, as on a clock that is fine enough.
        moment = mtime_ns + next(_numbers) * 1_000_000
        os.utime(place, ns=(moment, moment))
        return place

    def append(self, path: str, content: Iterable[Line] | bytes) -> Path:
        place = self.place(path)
        before = place.read_bytes() if place.exists() else b""
        return self.write(path, before + (content if isinstance(content, bytes) else raw(content)))

    def sync(
        self, *, workers: bool = False, max_file: int = DEFAULT_MAX_FILE, prices: Prices | None = None, **how: Any
    ) -> SyncReport:
        request = SyncRequest(workers=workers, **how)
        return sync(str(self.home), self.roots, request, max_file=max_file, prices=prices)

    def rows(self, sql: str, *values: str | int | None) -> list[Any]:
        """Ask `index.db`."""
        return ask(self.home, sql, *values)


def memory_folder() -> str | None:
    """A place for many small stores where waiting for the disk costs nothing; None where there is no such thing."""
    shared = "/dev/shm"
    if os.path.isdir(shared) and os.access(shared, os.W_OK) and shutil.disk_usage(shared).free > 256 << 20:
        return shared
    return None


def ask(home: Path, sql: str, *values: str | int | None, name: str = "index.db") -> list[Any]:
    """Ask one of a store's databases."""
    db = apsw.Connection(str(home / name), flags=apsw.SQLITE_OPEN_READONLY)
    db.set_busy_timeout(5000)  # another process of the tests may read the same store
    try:
        return list(db.execute(sql, values))
    finally:
        db.close()
