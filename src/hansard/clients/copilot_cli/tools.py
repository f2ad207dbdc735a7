"""Copilot CLI's tools: what each is for, and what a call was given and changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hansard.clients import tools as t
from hansard.clients.entries import Change, Content, Replacement, lines_of
from hansard.clients.patches import patch_in, patch_input

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hansard.model.tools import ToolKind

PATCH = "apply_patch"
SHELLS = frozenset({"bash", "powershell", "shell", "local_shell"})
KINDS: Mapping[str, ToolKind] = t.tools_by_kind(
    {
        "shell": "bash powershell shell local_shell",
        "shell_output": "read_bash write_bash stop_bash list_bash read_powershell write_powershell stop_powershell list_powershell",
        "read": "view show_file",
        "write": "create",
        "edit": f"edit str_replace insert str_replace_editor {PATCH}",
        "search": "grep rg glob",
        "fetch": "web_fetch fetch",
        "web_search": "web_search",
        "tool_search": "tool_search_tool",
        "spawn": "task",
        "plan_mode": "exit_plan_mode",
        "todo": "update_todo",
        "ask": "ask_user",
    }
)


def tool_input(tool: str, given: Any) -> t.ToolInput | None:
    """What a call was given in neutral terms."""
    if tool == PATCH and (patch := patch_in(given)):
        return patch_input(patch)
    make = _INPUTS.get(KINDS.get(tool, "other"))
    return make(given) if make is not None and isinstance(given, dict) else None


def _edit(given: dict[str, Any]) -> t.ToolInput | None:
    path = t.text_of(given, "path")
    if "old_str" in given or "new_str" in given:
        return t.Edit(path, [(t.text_of(given, "old_str"), t.text_of(given, "new_str"))])
    return t.Write(path, t.text_of(given, "file_text")) if "file_text" in given else None


def _search(given: dict[str, Any]) -> t.Search:
    others = (name for name in given if name != "pattern")
    return t.Search(t.text_of(given, "pattern") or t.text_of(given, "path"), t.facts_of(given, *others))


def _spawn(given: dict[str, Any]) -> t.Spawn:
    description = t.text_of(given, "description") or t.text_of(given, "name")
    more = t.facts_of(given, "agent_type", "model", "mode")
    return t.Spawn(t.text_of(given, "prompt"), t.text_of(given, "agent_type"), description, more)


def _ask(given: dict[str, Any]) -> t.Ask:
    choices = given.get("choices")
    options = [(str(choice), "") for choice in choices] if isinstance(choices, list) else []
    return t.Ask([t.Question(t.text_of(given, "question"), options)])


def _todo(line: str) -> tuple[str, str]:
    """An item of a Markdown list with check boxes."""
    text = line.strip().lstrip("-*").strip()
    for mark, status in (("[x]", "completed"), ("[X]", "completed"), ("[ ]", "pending"), ("[~]", "in_progress")):
        if text.startswith(mark):
            return status, text.removeprefix(mark).strip()
    return "", text


_INPUTS: dict[ToolKind, Callable[[dict[str, Any]], t.ToolInput | None]] = {
    "shell": lambda given: t.Shell(t.text_of(given, "command"), t.text_of(given, "description")),
    "read": lambda given: t.Read(t.text_of(given, "path"), t.facts_of(given, "view_range")),
    "write": _edit,
    "edit": _edit,
    "search": _search,
    "fetch": lambda given: t.Fetch(t.text_of(given, "url")),
    "web_search": lambda given: t.Query(t.text_of(given, "query")),
    "spawn": _spawn,
    "todo": lambda given: t.Todos([_todo(line) for line in t.text_of(given, "todos").splitlines() if line.strip()]),
    "ask": _ask,
}


def changes_of(tool: str, given: Mapping[str, Any]) -> tuple[str, list[Change]]:
    """What a call does to its file (`Block.change`), and what it writes there."""
    if KINDS.get(tool) not in ("write", "edit"):
        return "", []
    if "file_text" in given:
        return "create", [Content(lines_of(t.text_of(given, "file_text")))]
    new = t.text_of(given, "new_str")
    return ("edit", [Replacement(t.text_of(given, "old_str"), new)]) if "new_str" in given else ("", [])
