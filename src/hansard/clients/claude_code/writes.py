"""What Claude Code's tool calls wrote, as their results or else their inputs say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from hansard.clients.claude_code import meaning as m
from hansard.clients.writes import Change, Content, Hunk, Replacement, lines_of

if TYPE_CHECKING:
    from collections.abc import Sequence


class _Hunk(Struct, gc=False):
    lines: list[str] = []


class _Result(Struct, gc=False):
    patch: list[_Hunk] | None = msgspec.field(default=None, name="structuredPatch")
    type: str | None = None
    content: str | None = None
    file_path: str | None = msgspec.field(default=None, name="filePath")
    original_file: str | None = None  # of notebooks
    updated_file: str | None = None


_result = msgspec.json.Decoder(_Result).decode


def written(raw: msgspec.Raw) -> Sequence[Change] | None:
    """What a result says that was written; None where it does not say."""
    if not raw or m.raw_is_string(raw):
        return None
    said = m.lenient(_result, raw)
    if said is None:
        return None
    if said.patch:
        return [Hunk(hunk.lines) for hunk in said.patch]
    if said.updated_file is not None and said.original_file is not None:
        return [Replacement(said.original_file, said.updated_file)]
    if said.type == "update":
        return []
    if said.content is not None and said.file_path is not None:
        return [Content(lines_of(said.content))]
    return None


def planned(raw: msgspec.Raw) -> Sequence[Change]:
    """What a call said that it would write."""
    given: Any = m.tool_input(raw)
    if not isinstance(given, dict):
        return []
    if isinstance(content := given.get("content"), str):
        return [Content(lines_of(content))]
    if isinstance(source := given.get("new_source"), str):
        return [Content([json.dumps(line + "\n", ensure_ascii=False) for line in lines_of(source)])]
    edits = given.get("edits") if isinstance(given.get("edits"), list) else [given]
    changes: list[Change] = []
    for edit in edits or ():
        if isinstance(edit, dict) and isinstance(new := edit.get("new_string"), str):
            old = edit.get("old_string")
            changes.append(Replacement(old if isinstance(old, str) else "", new))
    return changes


def command(raw: msgspec.Raw) -> str | None:
    """The command line that a call gives to a shell."""
    given: Any = m.tool_input(raw)
    found = given.get("command") if isinstance(given, dict) else None
    return found if isinstance(found, str) else None
