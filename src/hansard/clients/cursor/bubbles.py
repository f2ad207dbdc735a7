"""Bubbles, which are Cursor's messages: what they say, the calls in them, and what these wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hansard.clients import tools as t
from hansard.clients.entries import Change, lines_of
from hansard.clients.generic import CALL, RESULT, TEXT, THINKING, Block, Content, Hunk, Replacement

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hansard.model.tools import ToolKind

TOOLS: Mapping[str, ToolKind] = t.tools_by_kind(
    {
        "shell": "run_terminal_cmd run_terminal_command run_terminal_command_v2 Shell",
        "read": "read_file read_file_v2 Read",
        "edit": "edit_file edit_file_v2 search_replace MultiEdit StrReplace delete_file Delete",
        "write": "write Write",
        "search": "glob_file_search file_search grep Grep Glob grep_search ripgrep ripgrep_raw_search codebase_search semantic_search_full list_dir list_dir_v2 LS SemanticSearch",
        "fetch": "WebFetch",
        "web_search": "WebSearch web_search",
        "todo": "todo_write TodoWrite",
        "spawn": "Task task_v2",
        "plan": "create_plan",
        "ask": "ask_question",
    }
)
_EDITS = frozenset(
    {"edit_file", "edit_file_v2", "search_replace", "MultiEdit", "StrReplace", "write", "Write", "delete_file"}
)
_COMPARED = 1 << 16  # characters
_FAILED = frozenset({"error", "cancelled"})
_OUTPUTS = ("output", "contents", "content", "result")
_SIGNS = {"added": "+", "removed": "-"}


def blocks_of(id_: str, bubble: Mapping[str, Any], contents: Mapping[str, Any]) -> Iterator[Block]:
    """What a bubble says; `contents` are files before and after edits, by their keys."""
    thinking = (bubble.get("thinking") or {}).get("text") if isinstance(bubble.get("thinking"), dict) else ""
    if thinking:
        yield Block(THINKING, thinking)
    if bubble.get("text"):
        yield Block(TEXT, bubble["text"])
    tool = bubble.get("toolFormerData")
    if tool and (tool.get("name") or tool.get("toolCallId")):
        yield from _call_blocks(id_, tool, contents)


def _call_blocks(id_: str, tool: Mapping[str, Any], contents: Mapping[str, Any]) -> Iterator[Block]:
    name = tool.get("name") or "unknown"
    given, result = _decoded(tool.get("rawArgs")) or _decoded(tool.get("params")) or {}, _decoded(tool.get("result"))
    params = _decoded(tool.get("params"))
    known = {**(given if isinstance(given, dict) else {}), **(params if isinstance(params, dict) else {})}
    call_id = str(tool.get("toolCallId") or id_)
    call = call_block(call_id, name, known)
    call.input = given or params
    if name in _EDITS:
        call.changes = _changes(name, known, tool, result, contents)
        call.change = _kind_of_change(name, result)
    yield call
    status = tool.get("status")
    if result is not None or status in _FAILED:
        made = result_block(call_id, result, is_error=status in _FAILED)
        made.text, made.ts = made.text or str(tool.get("error") or ""), 0
        if name in _EDITS and status not in _FAILED:
            made.patch = _patch(call.changes)
        yield made


def call_block(call_id: str, tool: str, given: Any) -> Block:
    """A call with what it was given."""
    call = Block(CALL, call_id=call_id, tool=tool, input=given)
    if isinstance(given, dict):
        call.path = _path(given)
        call.command = t.text_of(given, "command") or None if TOOLS.get(tool) == "shell" else None
        if tool in _EDITS:
            call.changes, call.change = _changes(tool, given, {}, None, {}), _kind_of_change(tool, None)
    return call


def result_block(call_id: str, result: Any, *, is_error: bool) -> Block:
    return Block(RESULT, _output(result), call_id=call_id, is_error=is_error)


def _decoded(value: Any) -> Any:
    """A value that Cursor keeps as a string with JSON in it."""
    if not isinstance(value, str):
        return value
    if not value:
        return None
    try:
        return msgspec.json.decode(value)
    except msgspec.DecodeError:
        return value


def _path(given: Mapping[str, Any]) -> str:
    names = ("relativeWorkspacePath", "targetFile", "target_file", "effectiveUri", "file_path", "path")
    return next((path for name in names if (path := t.text_of(given, name))), "")


def _output(result: Any) -> str:
    if isinstance(result, str):
        return result
    if isinstance(result, dict):
        return next(
            (t.text_of(result, name) for name in _OUTPUTS if isinstance(result.get(name), str)), t.json_of(result)
        )
    return "" if result is None else t.json_of(result)


def _kind_of_change(name: str, result: Any) -> str:
    before = t.text_of(result, "beforeContentId") if isinstance(result, dict) else ""
    if before.endswith("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"):  # of nothing
        return "create"
    return "update" if TOOLS[name] == "write" else "edit"


def _changes(
    name: str, given: Mapping[str, Any], tool: Mapping[str, Any], result: Any, contents: Mapping[str, Any]
) -> list[Change]:
    shown = ((tool.get("additionalData") or {}).get("precomputedDiff") or {}).get("lines")
    if shown:
        return [Hunk([_SIGNS.get(line.get("type"), " ") + line.get("content", "") for line in shown])]
    if isinstance(result, dict):
        before, after = (contents.get(t.text_of(result, key)) for key in ("beforeContentId", "afterContentId"))
        if after is not None:
            return [Replacement(_content(before), _content(after))]
        chunks = (result.get("diff") or {}).get("chunks") if isinstance(result.get("diff"), dict) else None
        if chunks:
            return [Hunk(t.text_of(chunk, "diffString").splitlines()) for chunk in chunks]
    if TOOLS[name] == "write":
        return [Content(lines_of(t.text_of(given, "contents") or t.text_of(given, "content")))]
    if "new_string" in given:
        return [Replacement(t.text_of(given, "old_string"), t.text_of(given, "new_string"))]
    return []


def _patch(changes: Sequence[Change]) -> str:
    """The changes as a unified diff, which is without places where Cursor has none; empty if they are too long to be compared."""
    lines: list[str] = []
    for change in changes:
        if isinstance(change, Hunk):
            new = sum(line[:1] != "-" for line in change.lines)
            old = sum(line[:1] != "+" for line in change.lines)
            lines += [f"@@ -1,{old} +1,{new} @@", *change.lines]
        elif isinstance(change, Replacement):
            if len(change.old) + len(change.new) > _COMPARED:
                return ""
            from difflib import unified_diff

            found = unified_diff(change.old.splitlines(), change.new.splitlines(), lineterm="")
            lines += list(found)[2:]  # without the names of the files
    return "\n".join(lines)


def _content(value: Any) -> str:
    """The text of a file, which may itself have been JSON."""
    return value if isinstance(value, str) else "" if value is None else msgspec.json.encode(value).decode()


def tool_input(tool: str, given: Any) -> t.ToolInput | None:
    """What a call was given, as it is shown."""
    kind = TOOLS.get(tool)
    if kind == "shell":
        return t.Shell(given["command"], t.text_of(given, "commandDescription") or t.text_of(given, "explanation"))
    if kind == "read":
        return t.Read(_path(given), t.facts_of(given, "offset", "limit"))
    if kind == "search":
        names = ("pattern", "globPattern", "query", "path", "targetDirectory", "relative_workspace_path")
        found = next((text for name in names if (text := t.text_of(given, name))), "")
        return t.Search(found, t.facts_of(given, "path", "glob", "targetDirectory"))
    if kind == "write":
        return t.Write(_path(given), t.text_of(given, "contents") or t.text_of(given, "content"))
    if tool in _EDITS:
        steps = given.get("edits") if isinstance(given.get("edits"), list) else [given]
        edits = [
            (t.text_of(step, "old_string"), t.text_of(step, "new_string") or t.text_of(step, "code_edit"))
            for step in steps
        ]
        return t.Edit(_path(given), [edit for edit in edits if any(edit)])
    if kind == "web_search":
        return t.Query(t.text_of(given, "search_term") or t.text_of(given, "query"))
    return None
