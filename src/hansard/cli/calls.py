"""Tool calls in a few words: what was asked for, and what came of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hansard.cli.terminal import clean, one_line

if TYPE_CHECKING:
    from hansard.model import ToolCall

# The argument that says most, per tool; what is not here shows the first of the common ones, or the first short one.
_KEY = {
    "Bash": "command",
    "BashOutput": "bash_id",
    "Grep": "pattern",
    "Glob": "pattern",
    "WebFetch": "url",
    "WebSearch": "query",
    "Task": "description",
    "Agent": "description",
    "Skill": "skill",
    "ToolSearch": "query",
    "TaskCreate": "subject",
    "SendMessage": "to",
}
_COMMON = (
    "file_path",
    "notebook_path",
    "path",
    "command",
    "query",
    "pattern",
    "url",
    "description",
    "subject",
    "prompt",
    "name",
    "id",
)
_LONG = 2000
_ERROR_TAGS = ("<tool_use_error>", "</tool_use_error>")


def call_name(call: ToolCall) -> str:
    """The name of the call's tool."""
    return tool_name(call.tool)


def tool_name(tool: str) -> str:
    """A tool's name; those of MCP servers as server: tool."""
    name = one_line(tool)
    if name.startswith("mcp__") and name.count("__") >= 2:
        _, server, tool = name.split("__", 2)
        return f"{server}: {tool}"
    return name or "(no name)"


def key_argument(call: ToolCall, cwd: str) -> str:
    """The argument that says what the call is about, on one line."""
    values = call.input if isinstance(call.input, dict) else {}
    if call.tool == "TaskUpdate":
        return one_line(f"#{values.get('taskId', '?')} {values.get('status', '')}")
    if call.tool == "TodoWrite" and isinstance(values.get("todos"), list):
        return f"{len(values['todos'])} todos"
    if call.tool == "AskUserQuestion":
        return one_line(_first_question(values))
    if call.tool == "ExitPlanMode":
        return one_line(str(values.get("plan", ""))[:_LONG])
    names = [_KEY[call.tool]] if call.tool in _KEY else []
    for name in (*names, *_COMMON):
        value = values.get(name)
        if isinstance(value, str) and value.strip():
            return _relative(one_line(value[:_LONG]), cwd)
    for value in values.values():
        if isinstance(value, (str, int, float)) and not isinstance(value, bool) and str(value).strip():
            return one_line(str(value)[:_LONG])
    return ""


def _first_question(values: dict[str, Any]) -> str:
    questions = values.get("questions")
    first = questions[0] if isinstance(questions, list) and questions else None
    return str(first.get("question", "")) if isinstance(first, dict) else ""


def _relative(text: str, cwd: str) -> str:
    base = one_line(cwd).rstrip("/\\")
    return text[len(base) + 1 :] if base and text.startswith((base + "/", base + "\\")) else text


def output_text(call: ToolCall) -> str:
    """The call's result, clean, without the tags that the client puts around errors."""
    text = call.output or ""
    for tag in _ERROR_TAGS:
        text = text.replace(tag, "")
    return clean(text).strip("\n")


def input_text(call: ToolCall) -> str:
    """All that the tool was given, one argument after the other."""
    if not isinstance(call.input, dict):
        return clean(_json(call.input)) if call.input is not None else ""
    parts = []
    for name, value in call.input.items():
        text = value if isinstance(value, str) else _json(value)
        text = clean(text)
        parts.append(f"{one_line(name)}:\n{text}" if "\n" in text else f"{one_line(name)}: {text}")
    return "\n".join(parts)


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (RecursionError, ValueError):
        return "(nested too deeply to show)"
