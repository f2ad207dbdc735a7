"""Copilot Chat's tools: what each is for, and what a call was given and changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hansard.clients import tools as t
from hansard.clients.entries import Change, Content, Replacement, lines_of
from hansard.clients.patches import patch_in, patch_input
from hansard.clients.tools import facts_of, text_of, tools_by_kind
from hansard.clients.values import string, tables

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hansard.model.tools import ToolKind

KINDS: Mapping[str, ToolKind] = tools_by_kind(
    {
        "shell": "run_in_terminal runInTerminal",
        "shell_output": "get_terminal_output",
        "read": "read_file copilot_readFile",
        "write": "create_file copilot_createFile",
        "edit": "replace_string_in_file multi_replace_string_in_file insert_edit_into_file apply_patch copilot_replaceString copilot_insertEdit copilot_applyPatch",
        "search": "grep_search file_search semantic_search list_dir",
        "fetch": "fetch_webpage",
        "todo": "manage_todo_list",
        "spawn": "runSubagent",
    }
)


def path_of(given: Mapping[str, Any]) -> str:
    return text_of(given, "filePath") or text_of(given, "path")


def tool_input(tool: str, given: Any) -> t.ToolInput | None:
    """What a call was given in neutral terms."""
    if tool == "apply_patch" and (patch := patch_in(given)):
        return patch_input(patch)
    make = _INPUTS.get(KINDS.get(tool, "other"))
    return make(given) if make is not None and isinstance(given, dict) else None


def _edit(given: dict[str, Any]) -> t.Edit | None:
    steps = tables(given, "replacements") or [given]
    edits = [(string(step, "oldString"), string(step, "newString")) for step in steps if "newString" in step]
    return t.Edit(path_of(given) or path_of(steps[0]), edits) if edits else None


def _search(given: dict[str, Any]) -> t.Search:
    return t.Search(text_of(given, "query") or path_of(given), facts_of(given, "includePattern", "isRegexp"))


_INPUTS: dict[ToolKind, Callable[[dict[str, Any]], t.ToolInput | None]] = {
    "shell": lambda given: t.Shell(text_of(given, "command"), text_of(given, "explanation")),
    "read": lambda given: t.Read(path_of(given), facts_of(given, "startLine", "endLine", "offset", "limit")),
    "write": lambda given: t.Write(path_of(given), text_of(given, "content")),
    "edit": _edit,
    "search": _search,
    "spawn": lambda given: t.Spawn(text_of(given, "prompt"), "", text_of(given, "description")),
    "todo": lambda given: t.Todos(
        [(string(item, "status"), string(item, "title")) for item in tables(given, "todoList")]
    ),
}


def change_of(tool: str, given: Mapping[str, Any]) -> tuple[str, list[Change]]:
    """What a call does to its file (`Block.change`), and what it writes there."""
    match KINDS.get(tool):
        case "write":
            return "create", [Content(lines_of(text_of(given, "content")))]
        case "edit":
            made = _edit(dict(given))
            return "edit", [Replacement(old, new) for old, new in made.edits] if made is not None else []
    return "", []
