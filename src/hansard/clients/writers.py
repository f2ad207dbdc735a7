"""The clients in which Hansard can write new sessions, for them to resume."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from hansard.model.tools import CLAUDE_CODE

if TYPE_CHECKING:
    from hansard.clients.protocol import SessionWriter

_MODULES = {CLAUDE_CODE: "hansard.clients.claude_code.writer", "codex": "hansard.clients.codex.writer"}
WRITABLE = tuple(_MODULES)


def writer_of(client: str) -> SessionWriter | None:
    """What writes sessions of a client; None if nothing does."""
    module = _MODULES.get(client)
    if module is None:
        return None
    made: SessionWriter = import_module(module).Writer()
    return made
