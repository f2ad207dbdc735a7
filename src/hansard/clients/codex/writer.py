"""New Codex sessions: conversations that began elsewhere."""

from __future__ import annotations

import os
import time
import uuid
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hansard.clients.protocol import Said

_VERSION = "0.0.0"  # of a client that never was: no real one wrote these lines

# The role, the kind of text and the event of a message; notes have no event.
_FORMS = {
    "user": ("user", "input_text", "user_message"),
    "assistant": ("assistant", "output_text", "agent_message"),
    "note": ("developer", "input_text", ""),
}


class Writer:
    """Writes rollouts with envelopes and without ordinals, which every version since 0.32 reads."""

    variable = "CODEX_HOME"
    usual = ".codex"
    resume = ("codex", "resume")

    def new_id(self) -> str:
        """A UUID of version 7: its first 48 bits are the time in milliseconds, and name the file."""
        value = time.time_ns() // 1_000_000 << 80 | int.from_bytes(os.urandom(10))
        return str(uuid.UUID(int=value & ~(0xF << 76) & ~(0x3 << 62) | 0x7 << 76 | 0x2 << 62))

    def path(self, session_id: str, cwd: str) -> str:  # noqa: ARG002 - rollouts are not sorted by directory
        moment = time.localtime((uuid.UUID(session_id).int >> 80) / 1000)
        return time.strftime(f"sessions/%Y/%m/%d/rollout-%Y-%m-%dT%H-%M-%S-{session_id}.jsonl", moment)

    def compose(self, session_id: str, cwd: str, title: str, said: Sequence[Said]) -> Iterator[bytes]:  # noqa: ARG002 - a rollout has no title
        """The thread's description, and two records for each message: what the model gets and what a reader sees."""
        start = _stamp(said[0]) if said else "1970-01-01T00:00:00.000Z"
        meta = {"id": session_id, "timestamp": start, "cwd": cwd, "originator": "hansard", "cli_version": _VERSION}
        yield _line(start, "session_meta", {**meta, "source": "cli"})
        for message in said:
            moment = _stamp(message)
            role, kind, event = _FORMS[message.role]
            content = [{"type": kind, "text": message.text}]
            yield _line(moment, "response_item", {"type": "message", "role": role, "content": content})
            if event:
                yield _line(moment, "event_msg", {"type": event, "message": message.text})


def _stamp(message: Said) -> str:
    return f"{message.at:%Y-%m-%dT%H:%M:%S}.{message.at.microsecond // 1000:03}Z"


def _line(moment: str, kind: str, payload: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"timestamp": moment, "type": kind, "payload": payload}) + b"\n"
