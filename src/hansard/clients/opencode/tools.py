"""OpenCode's tools: what they are for, what they are given, and what they write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hansard.clients import tools as t
from hansard.clients.entries import Change, hunks_of, lines_of
from hansard.clients.generic import CALL, RESULT, Block, Content, Replacement, with_files
from hansard.clients.patches import absolute, patch_in, patch_input

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hansard.model.tools import ToolKind

TOOLS: Mapping[str, ToolKind] = t.tools_by_kind(
    {
        "shell": "bash shell",
        "read": "read",
        "write": "write",
        "edit": "edit multiedit patch apply_patch",
        "search": "glob grep list",
        "web_search": "codesearch websearch",
        "fetch": "webfetch",
        "spawn": "task subagent",
        "todo": "todowrite todoread",
        "ask": "question",
        "plan_mode": "plan_enter plan_exit",
    }
)
_DONE = ("completed", "error")


def call_blocks(part: Mapping[str, Any], call_id: str) -> Iterator[Block]:
    """A call and, if it has one, its result."""
    state, tool = part["state"], part["tool"]
    given, metadata = state.get("input") or {}, state.get("metadata") or {}
    text = state.get("output") if state["status"] == "completed" else state.get("error")
    is_error = state["status"] == "error" or tool == "invalid" or bool(metadata.get("exit"))
    times = state.get("time") or {}
    kind = TOOLS.get(tool)
    path = absolute(part.get("directory") or "", _path(tool, given))
    call = Block(
        CALL,
        call_id=call_id,
        tool=tool,
        input=given,
        command=t.text_of(given, "command") if kind == "shell" else None,
        path=path,
        description=t.text_of(given, "description") if kind == "spawn" else "",
        agent_type=t.text_of(given, "subagent_type") or t.text_of(given, "agent") if kind == "spawn" else "",
        ts=times.get("start"),
    )
    writes = list(_writes(tool, path, given, metadata))
    yield from with_files(call, [write[:3] for write in writes])
    if state["status"] in _DONE:
        agent = t.text_of(metadata, "sessionId") if kind == "spawn" else ""
        patch = writes[0][3] if len(writes) == 1 else ""
        ended = times.get("end", 0)
        yield Block(RESULT, str(text or ""), call_id=call_id, is_error=is_error, patch=patch, agent_id=agent, ts=ended)


def _path(tool: str, given: Mapping[str, Any]) -> str:
    """The file of a call; a `path` of other tools is a folder to look in."""
    return t.text_of(given, "filePath") or (
        t.text_of(given, "path") if TOOLS.get(tool) in ("read", "write", "edit") else ""
    )


def _writes(
    tool: str, path: str, given: Mapping[str, Any], metadata: Mapping[str, Any]
) -> Iterator[tuple[str, str, list[Change], str]]:
    """Path, kind of change, changes and diff of each file that a call writes."""
    diff = t.text_of(metadata, "diff")
    if tool == "write":
        change = "update" if metadata.get("exists") else "create"
        yield path, change, [Content(lines_of(t.text_of(given, "content")))], diff
    elif tool == "edit":
        new = t.text_of(given, "newString") if "newString" in given else t.text_of(given, "content")
        yield path, "edit", [Replacement(t.text_of(given, "oldString"), new)], diff
    elif tool == "multiedit":
        edits: list[Change] = [
            Replacement(t.text_of(edit, "oldString"), t.text_of(edit, "newString")) for edit in given.get("edits") or ()
        ]
        yield path, "edit", edits, diff
    elif tool in ("patch", "apply_patch"):
        for file in metadata.get("files") or ():
            kind = {"add": "create", "delete": "edit"}.get(t.text_of(file, "type"), "edit")
            patch = t.text_of(file, "diff") or t.text_of(file, "patch")
            yield t.text_of(file, "movePath") or t.text_of(file, "filePath"), kind, [*hunks_of(patch)], patch


def tool_input(tool: str, given: Any) -> t.ToolInput | None:  # noqa: PLR0911 - one for each tool
    """What a call was given, as it is shown."""
    if tool in ("bash", "shell"):
        return t.Shell(given["command"], t.text_of(given, "description"))
    path = _path(tool, given)
    if not path and TOOLS.get(tool) in ("read", "write"):
        return None
    if tool == "read":
        return t.Read(path, t.facts_of(given, "offset", "limit"))
    if tool == "write":
        return t.Write(path, given["content"])
    if tool == "edit":
        return t.Edit(path, [(given["oldString"], given["newString"])], t.facts_of(given, "replaceAll"))
    if patch := patch_in(given):
        return patch_input(patch)
    if tool == "multiedit":
        return t.Edit(given["filePath"], [(edit["oldString"], edit["newString"]) for edit in given["edits"]])
    if tool in ("glob", "grep", "list"):
        return t.Search(t.text_of(given, "pattern") or t.text_of(given, "path"), t.facts_of(given, "path", "include"))
    if tool in ("websearch", "codesearch"):
        return t.Query(given["query"])
    if tool == "webfetch":
        return t.Fetch(given["url"])
    if tool in ("task", "subagent"):
        agent = t.text_of(given, "subagent_type") or t.text_of(given, "agent")
        return t.Spawn(given["prompt"], agent, t.text_of(given, "description"))
    if tool == "todowrite":
        return t.Todos([(todo["status"], todo["content"]) for todo in given["todos"]])
    if tool == "question":
        return t.Ask(t.questions_of(given["questions"]))
    return None
