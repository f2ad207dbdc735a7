"""Claude Code's tools: the kind of each, and what its input means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hansard.clients import tools as t
from hansard.clients.claude_code.meaning import split_reminders
from hansard.clients.tools import facts_of, text_of
from hansard.lazy_regex import lazy_compile
from hansard.model.tools import MCP, ToolKind

Given = Mapping[str, Any]

_ERROR_TAGS = ("<tool_use_error>", "</tool_use_error>")
_ANSWER = lazy_compile(r'"([^"\n]{1,300})"="([^"\n]{1,300})"')
_ANSWERS = 20_000  # characters
_OPEN, _CLOSE = "<summary>", "</summary>"
_NOTICE = 20_000  # characters


def tool_kind(tool: str) -> ToolKind:
    known = TOOLS.get(tool)
    return known[0] if known is not None else "mcp" if tool.startswith(MCP) else "other"


def tool_names(kind: ToolKind) -> list[str]:
    return [name for name, (known, _) in TOOLS.items() if known == kind]


def tool_use(tool: str, given: Any, output: str) -> t.ToolUse:
    """A call as it is to be understood."""
    for tag in _ERROR_TAGS:
        output = output.replace(tag, "")
    output = output.strip("\n")
    _, read = TOOLS.get(tool, ("other", None))
    return t.ToolUse(
        read(given if isinstance(given, dict) else {}, output) if read is not None else None,
        output,
        split_reminders(output)[0],
    )


def notice(text: str) -> str:
    """What a task's notification says, without the tags around it."""
    start = text.find(_OPEN, 0, _NOTICE)
    end = text.find(_CLOSE, start, _NOTICE)
    is_notice = 0 <= start < end and text.lstrip().startswith("<task-notification>")
    return text[start + len(_OPEN) : end].strip() if is_notice else text


def _shell(given: Given, _output: str) -> t.Shell:
    is_unsandboxed = given.get("dangerouslyDisableSandbox") is True
    return t.Shell(text_of(given, "command"), text_of(given, "description"), is_unsandboxed)


def _read(given: Given, _output: str) -> t.Read:
    return t.Read(text_of(given, "file_path"), facts_of(given, "offset", "limit", "pages"))


def _write(given: Given, _output: str) -> t.Write:
    return t.Write(text_of(given, "file_path"), text_of(given, "content"))


def _edit(given: Given, _output: str) -> t.Edit:
    edits = given.get("edits")
    steps = [item for item in edits if isinstance(item, dict)] if isinstance(edits, list) else [given]
    return t.Edit(
        text_of(given, "file_path"),
        [(text_of(step, "old_string"), text_of(step, "new_string")) for step in steps],
        (("replace all", "yes"),) if given.get("replace_all") is True else (),
    )


def _cell(given: Given, _output: str) -> t.CellEdit:
    return t.CellEdit(
        text_of(given, "notebook_path"),
        text_of(given, "new_source"),
        "markdown" if given.get("cell_type") == "markdown" else "python",
        facts_of(given, "cell_id", "cell_number", "cell_type", "edit_mode"),
    )


def _search(given: Given, _output: str) -> t.Search:
    return t.Search(text_of(given, "pattern") or text_of(given, "path"), _others(given, "pattern"))


def _query(given: Given, _output: str) -> t.Query:
    return t.Query(text_of(given, "query"), _others(given, "query"))


def _fetch(given: Given, _output: str) -> t.Fetch:
    return t.Fetch(text_of(given, "url"), text_of(given, "prompt"))


def _spawn(given: Given, output: str) -> t.Spawn:
    return t.Spawn(
        text_of(given, "prompt"),
        text_of(given, "subagent_type"),
        text_of(given, "description"),
        facts_of(given, "subagent_type", "model", "run_in_background", "isolation", "resume"),
        # What follows is for the model: ids, paths, and that these are internal.
        is_started=output.startswith("Async agent launched"),
    )


def _plan(given: Given, _output: str) -> t.Plan:
    return t.Plan(text_of(given, "plan"))


def _todos(given: Given, _output: str) -> t.Todos:
    todos = given.get("todos")
    return t.Todos(
        [
            (str(item.get("status", "")), str(item.get("content") or item.get("activeForm") or ""))
            for item in (todos if isinstance(todos, list) else ())
            if isinstance(item, dict)
        ]
    )


def _task(given: Given, _output: str) -> t.Task:
    return t.Task(
        text_of(given, "taskId"),
        text_of(given, "subject"),
        text_of(given, "status"),
        text_of(given, "description"),
        _others(given, "taskId", "subject", "description"),
    )


def _ask(given: Given, output: str) -> t.Ask:
    asked = given.get("questions")
    return t.Ask(
        t.questions_of(asked if isinstance(asked, list) else [given]),
        _ANSWER.findall(output[:_ANSWERS]),
    )


def _others(given: Given, *names: str) -> t.Facts:
    return facts_of(given, *(name for name in given if name not in names))


TOOLS: dict[str, tuple[ToolKind, Callable[[Given, str], t.ToolInput] | None]] = {
    "Bash": ("shell", _shell),
    "BashOutput": ("shell_output", None),
    "KillShell": ("shell_output", None),
    "KillBash": ("shell_output", None),
    "Read": ("read", _read),
    "NotebookRead": ("read", None),
    "Write": ("write", _write),
    "Edit": ("edit", _edit),
    "MultiEdit": ("edit", _edit),
    "NotebookEdit": ("edit", _cell),
    "Grep": ("search", _search),
    "Glob": ("search", _search),
    "LS": ("search", _search),
    "WebFetch": ("fetch", _fetch),
    "web_fetch": ("fetch", None),
    "WebSearch": ("web_search", _query),
    "web_search": ("web_search", None),
    "ToolSearch": ("tool_search", _query),
    "Task": ("spawn", _spawn),
    "Agent": ("spawn", _spawn),
    "ExitPlanMode": ("plan", _plan),
    "exit_plan_mode": ("plan", _plan),
    "EnterPlanMode": ("plan_mode", None),
    "TodoWrite": ("todo", _todos),
    "TaskCreate": ("task_create", _task),
    "TaskUpdate": ("task_update", _task),
    "TaskGet": ("todo", _task),
    "TaskList": ("todo", None),
    "AskUserQuestion": ("ask", _ask),
}
