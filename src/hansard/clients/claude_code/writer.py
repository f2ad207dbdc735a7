"""New sessions of Claude Code: conversations that began elsewhere, and mended copies of its own."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.clients.claude_code.layout import encode_project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from hansard.clients.protocol import Said
    from hansard.model.sessions import SessionCopy

_VERSION = "0.0.0"  # of a client that never was: no real one wrote these lines


class Writer:
    """Writes `projects/<folder>/<id>.jsonl`."""

    variable = "CLAUDE_CONFIG_DIR"
    usual = ".claude"
    resume = ("claude", "--resume")

    def new_id(self) -> str:
        return str(uuid.uuid4())

    def path(self, session_id: str, cwd: str) -> str:
        return f"projects/{encode_project(cwd)}/{session_id}.jsonl"

    def compose(self, session_id: str, cwd: str, title: str, said: Sequence[Said]) -> Iterator[bytes]:
        """One line for each message, and the title."""
        parent: str | None = None
        for number, message in enumerate(said):
            name = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{session_id}:{number}"))
            content: dict[str, Any] = {"role": "user", "content": message.text}
            if message.role == "assistant":
                content = {
                    "id": f"msg_{name}",
                    "type": "message",
                    "role": "assistant",
                    "model": "<synthetic>",  # the client's own name for answers that no request of it gave
                    "content": [{"type": "text", "text": message.text}],
                    "stop_reason": "end_turn",
                    "stop_sequence": None,
                    "usage": {"input_tokens": 0, "output_tokens": 0},
                }
            yield _line(
                parentUuid=parent,
                isSidechain=False,
                userType="external",
                cwd=cwd,
                sessionId=session_id,
                version=_VERSION,
                gitBranch="",
                type="assistant" if message.role == "assistant" else "user",
                message=content,
                isMeta=message.role == "note",
                uuid=name,
                timestamp=f"{message.at:%Y-%m-%dT%H:%M:%S}.{message.at.microsecond // 1000:03}Z",
            )
            parent = name
        yield _line(type="custom-title", customTitle=title, sessionId=session_id)

    def copy(
        self, read: Callable[[], Iterable[bytes]], session_id: str, new_id: str, *, slim: bool, join: bool
    ) -> tuple[SessionCopy, Callable[[], Iterator[bytes]]]:
        from hansard.clients.claude_code.copies import copy_session

        return copy_session(read, session_id, new_id, slim=slim, join=join)


def _line(**fields: Any) -> bytes:
    return msgspec.json.encode(fields) + b"\n"
