"""Gemini CLI's tools, which Qwen Code has from it: what each is for, and what a call was given and changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hansard.clients import tools as t
from hansard.clients.entries import Change, Content, Replacement, lines_of
from hansard.clients.tools import facts_of, text_of, tools_by_kind
from hansard.clients.values import bare_diff, hunks, string, table, tables
from hansard.lazy_regex import lazy_compile
from hansard.model.tools import MCP

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hansard.model.tools import ToolKind

KINDS: Mapping[str, ToolKind] = tools_by_kind(
    {
        "shell": "run_shell_command run_command",
        "shell_output": "read_background_output list_background_processes",
        "read": "read_file read_many_files",
        "write": "write_file",
        "edit": "replace edit edit_file",
        "search": "glob grep_search search_file_content list_directory",
        "fetch": "web_fetch",
        "web_search": "google_web_search web_search",
        "tool_search": "tool_search",
        "spawn": "codebase_investigator delegate_to_agent invoke_agent generalist agent task",
        "plan_mode": "enter_plan_mode",
        "plan": "exit_plan_mode",
        "todo": "write_todos todo_write task_list task_get",
        "task_create": "task_create tracker_create_task",
        "task_update": "task_update tracker_update_task",
        "ask": "ask_user ask_user_question",
    }
)
_GROUP = lazy_compile(r"\n(?:Background PIDs|Process Group PGID): [^\n]*\Z")
_SERVER = " MCP Server)"


def tool_name(name: str, display_name: str = "") -> str:
    """The name of a tool in rows; the client calls an MCP server's `mcp_SERVER_TOOL`, or by its own name."""
    if name.startswith(MCP) or name in KINDS:
        return name
    if display_name.endswith(_SERVER):
        tool, _, server = display_name.removesuffix(_SERVER).rpartition(" (")
        if tool and server:
            return f"{MCP}{server}__{tool}"
    prefix, _, rest = name.partition("_")
    server, _, tool = rest.partition("_")
    return f"{MCP}{server}__{tool}" if prefix == "mcp" and server and tool else name


def path_of(given: Mapping[str, Any]) -> str:
    return text_of(given, "file_path") or text_of(given, "absolute_path") or text_of(given, "path")


def tool_input(tool: str, given: Any) -> t.ToolInput | None:
    """What a call was given in neutral terms."""
    make = _INPUTS.get(KINDS.get(tool, "other"))
    return make(given) if make is not None and isinstance(given, dict) else None


def _read(given: dict[str, Any]) -> t.Read | None:
    path = path_of(given)
    return t.Read(path, facts_of(given, "offset", "limit", "start_line", "end_line")) if path else None


def _edit(given: dict[str, Any]) -> t.Edit:
    more = facts_of(given, "instruction", "replace_all", "allow_multiple", "expected_replacements")
    return t.Edit(path_of(given), [(text_of(given, "old_string"), text_of(given, "new_string"))], more)


def _search(given: dict[str, Any]) -> t.Search:
    pattern = text_of(given, "pattern") or text_of(given, "dir_path") or path_of(given)
    return t.Search(pattern, facts_of(given, *(name for name in given if name != "pattern")))


def _spawn(given: dict[str, Any]) -> t.Spawn:
    return t.Spawn(
        text_of(given, "prompt") or text_of(given, "objective") or text_of(given, "task"),
        text_of(given, "subagent_type") or text_of(given, "agent_name"),
        text_of(given, "description"),
    )


def _todos(given: dict[str, Any]) -> t.Todos | None:
    if "todos" not in given:
        return None
    return t.Todos(
        [(string(item, "status"), string(item, "description", "content")) for item in tables(given, "todos")]
    )


def _task(given: dict[str, Any]) -> t.Task:
    return t.Task(
        text_of(given, "taskId") or text_of(given, "id"),
        text_of(given, "subject") or text_of(given, "title"),
        text_of(given, "status"),
        text_of(given, "description"),
    )


_INPUTS: dict[ToolKind, Callable[[dict[str, Any]], t.ToolInput | None]] = {
    "shell": lambda given: t.Shell(text_of(given, "command"), text_of(given, "description")),
    "read": _read,
    "write": lambda given: t.Write(path_of(given), text_of(given, "content")),
    "edit": _edit,
    "search": _search,
    "fetch": lambda given: t.Fetch(text_of(given, "url"), text_of(given, "prompt")),
    "web_search": lambda given: t.Query(text_of(given, "query")),
    "tool_search": lambda given: t.Query(text_of(given, "query")),
    "spawn": _spawn,
    "plan": lambda given: t.Plan(text_of(given, "plan") or text_of(given, "plan_filename")),
    "todo": _todos,
    "task_create": _task,
    "task_update": _task,
    "ask": lambda given: t.Ask(t.questions_of(given.get("questions"))),
}


def change_of(tool: str, given: Mapping[str, Any]) -> tuple[str, list[Change]]:
    """What a call says that it does to its file (`Block.change`), and what it writes there."""
    match KINDS.get(tool):
        case "write":
            return "update", [Content(lines_of(text_of(given, "content")))]
        case "edit":
            return "edit", [Replacement(text_of(given, "old_string"), text_of(given, "new_string"))]
    return "", []


def written(display: Any) -> tuple[str, str, list[Change]]:
    """The diff that the display of a result carries, whether it made the file, and the hunks; empty if it has none."""
    diff = string(display, "fileDiff")
    if not diff or (isinstance(display, dict) and display.get("fileDiffTruncated") is True):
        return "", "", []
    is_new = display.get("isNewFile") is True or display.get("originalContent", "") is None
    return bare_diff(diff), "create" if is_new else "", hunks(diff)


def bare_output(output: str) -> str:
    """An output without what the client puts around it for the model."""
    text = output.strip()
    if text.startswith("<untrusted_context>"):
        text = text.removeprefix("<untrusted_context>").removesuffix("</untrusted_context>").strip()
    if text.startswith("Output: "):
        text = _GROUP.sub("", text.removeprefix("Output: "))
    return text


def denied_by(output: str) -> str:
    """Who refused a call that was cancelled."""
    return "user" if "User denied" in output[:200] else "interrupted"


def output_of(response: Any, display: Any) -> str:
    answer = table(response, "response")
    said = string(answer, "output", "error", "content")
    if not said and answer:
        said = t.json_of(answer)
    return said or (display if isinstance(display, str) else "")
