"""What tool calls wrote: lines added and removed for the index, and the changes themselves for a reader.

Both come from the result, or from the input where the result does not say.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import Struct

from hansard.clients.claude_code import wire
from hansard.clients.claude_code.meaning import lenient, raw_is_string, string, tool_input
from hansard.clients.entries import Change, Content, Hunk, Replacement, lines_of
from hansard.clients.state import NAME_LENGTH, PATH_LENGTH, OpenCall, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

_CHANGES = {"Edit": "edit", "MultiEdit": "edit", "Write": "write", "NotebookEdit": "notebook"}


class Edit(NamedTuple):
    """A change to one file."""

    change: str
    added: int
    removed: int
    path: str | None = None


class _Replacement(msgspec.Struct, gc=False):
    old_string: str | None = None
    new_string: str | None = None


class _EditInput(msgspec.Struct, gc=False):
    old_string: str | None = None
    new_string: str | None = None
    edits: list[_Replacement] | None = None
    content: str | None = None
    new_source: str | None = None


_given = msgspec.json.Decoder(_EditInput).decode
_result = msgspec.json.Decoder(wire.ToolResult).decode


def planned_edit(name: str, raw: msgspec.Raw) -> Edit | None:
    """What a call says it will change; None for tools that change no file."""
    change = _CHANGES.get(name)
    if change is None:
        return None
    given = lenient(_given, raw)
    if given is None:
        return Edit(change, 0, 0)
    added = removed = 0
    replacements = given.edits or [_Replacement(given.old_string, given.new_string)]
    for replacement in replacements:
        plus, minus = _difference(replacement.old_string or "", replacement.new_string or "")
        added += plus
        removed += minus
    return Edit(change, added + _line_count(given.content) + _line_count(given.new_source), removed)


def is_persisted(content: msgspec.Raw) -> bool:
    """Whether a result is only the preview of an output that was too large for the line."""
    return b"<persisted-output" in bytes(memoryview(content)[:120])


def outcome_of(raw: msgspec.Raw) -> Outcome | None:
    """What `toolUseResult` tells, which is often large: only for the few tools where it says more than the result itself."""
    if not raw or raw_is_string(raw):
        return None
    said = lenient(_result, raw)
    if said is None:
        return None
    lines = [line for hunk in said.patch or () for line in hunk.lines]
    return Outcome(
        agent_id=_cut(said.agent_id, NAME_LENGTH),
        persisted=_cut(said.persisted_path, PATH_LENGTH),
        path=_cut(said.file_path or said.notebook_path, PATH_LENGTH),
        type=_cut(said.type, NAME_LENGTH),
        has_patch=bool(said.patch),
        added=sum(line.startswith("+") for line in lines),
        removed=sum(line.startswith("-") for line in lines),
        content_lines=_line_count(string(said.content)) if said.content and not said.patch else None,
    )


def _cut(name: str | None, length: int) -> str | None:
    return name if name is None else name[:length]


def stated_edit(call: OpenCall, outcome: Outcome | None) -> Edit:
    """What a successful call did: its patch where the client kept one, else what it had planned."""
    change = call.change or "edit"
    added, removed = call.added, call.removed
    path = call.path
    if outcome is not None:
        path = outcome.path or path
        if change == "write":
            change = "update" if outcome.type == "update" else "create"
        if outcome.has_patch:
            added, removed = outcome.added, outcome.removed
        elif change == "update":
            added = removed = 0  # a Write of what was there already
        elif change == "create" and outcome.content_lines is not None:
            added = outcome.content_lines
    elif change == "write":
        change = "create"
    return Edit(change, added, removed, path)


def _line_count(text: str | None) -> int:
    if not text:
        return 0
    return text.count("\n") + (not text.endswith("\n"))


def _difference(old: str, new: str) -> tuple[int, int]:
    """Added and removed lines, not counting what both texts begin and end with."""
    # Not splitlines(): U+2028 and form feeds occur inside lines.
    before, after = old.removesuffix("\n").split("\n"), new.removesuffix("\n").split("\n")
    before, after = before if old else [], after if new else []
    shorter = min(len(before), len(after))
    head = 0
    while head < shorter and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < shorter - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    return len(after) - head - tail, len(before) - head - tail


class _Hunk(Struct, gc=False):
    lines: list[str] = []


class _Written(Struct, gc=False):
    patch: list[_Hunk] | None = msgspec.field(default=None, name="structuredPatch")
    type: str | None = None
    content: str | None = None
    file_path: str | None = msgspec.field(default=None, name="filePath")
    original_file: str | None = None  # of notebooks
    updated_file: str | None = None


_written = msgspec.json.Decoder(_Written).decode


def written(raw: msgspec.Raw) -> Sequence[Change] | None:
    """What a result says that was written; None where it does not say."""
    if not raw or raw_is_string(raw):
        return None
    said = lenient(_written, raw)
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
    given: Any = tool_input(raw)
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
    given: Any = tool_input(raw)
    found = given.get("command") if isinstance(given, dict) else None
    return found if isinstance(found, str) else None
