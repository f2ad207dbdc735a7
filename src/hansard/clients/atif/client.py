"""Imported trajectories, and the protocol for them."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.clients.atif.decode import SHELLS, Memory, decode
from hansard.clients.atif.lines import TrajectoryLines
from hansard.clients.imported import ImportedClient
from hansard.clients.tools import Shell, ToolInput, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hansard.clients.generic import Record
    from hansard.model.tools import ToolKind


class _Document(msgspec.Struct):
    schema_version: str
    steps: list[msgspec.Raw]
    session_id: str | None = None
    trajectory_id: str | None = None


class Atif(ImportedClient):
    """Reads a trajectory with those that are embedded in it."""

    name = "atif"
    speaker = "Agent"
    memory = Memory
    known_kinds = frozenset({"document", "trajectory"})
    replaces = False  # continuations and files of subagents have the session id of their run
    tools: Mapping[str, ToolKind] = dict.fromkeys(sorted(SHELLS), "shell")

    def parts(self, name: str, data: bytes) -> Iterator[tuple[str, bytes]]:  # noqa: ARG002
        """A whole document; its session is not named as the trajectory's, which may be an export of one in the same store."""
        try:
            document = msgspec.json.decode(data, type=_Document)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return
        if document.schema_version.startswith("ATIF-v1."):
            session = document.session_id or document.trajectory_id or sha256(data).hexdigest()[:16]
            yield f"atif-{session}", data

    def lines(self, pieces: Iterable[bytes], start: int) -> TrajectoryLines:
        """Each step, and the heads of the trajectories."""
        return TrajectoryLines(pieces, start)

    def decode_next(self, line: bytes, memory: Memory) -> Iterator[Record]:
        """The record of one step."""
        return decode(line, memory)

    def tool_input(self, tool: str, given: Any) -> ToolInput | None:
        """What a call was given in neutral terms."""
        return Shell(text_of(given, "command")) if tool in SHELLS else None
