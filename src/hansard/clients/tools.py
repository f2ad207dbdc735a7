"""What a tool was given, in neutral terms: one input for each way in which calls are shown.

A client gives the kind of each of its tools (`model.tools.ToolKind`) and makes one of these inputs from what a call was given. A
tool whose input says nothing more than its own names and values has none, and is shown by them. The tools of MCP servers are
called `mcp__SERVER__TOOL` in rows and entries, even if the client names them otherwise.

| kind | input |
|---|---|
| shell | `Shell` |
| read | `Read` |
| write | `Write` |
| edit | `Edit`; `Patch` for several files; `CellEdit` for a cell of a notebook |
| search | `Search` |
| web_search, tool_search | `Query` |
| fetch | `Fetch` |
| spawn | `Spawn` |
| plan | `Plan` |
| todo | `Todos`; `Task` for one of them |
| task_create, task_update | `Task` |
| ask | `Ask` |
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from hansard.model.tools import ToolKind

Facts = tuple[tuple[str, str], ...]
"""Further parameters under their own names."""


def tools_by_kind(names: Mapping[ToolKind, str]) -> dict[str, ToolKind]:
    """The kind of each tool, from the names of those of each kind, with blanks between them."""
    return {name: kind for kind, listed in names.items() for name in listed.split()}


class Shell(Struct, frozen=True):
    """A command line."""

    command: str
    description: str = ""
    is_unsandboxed: bool = False  # the call asks to run it outside of the client's sandbox


class Read(Struct, frozen=True):
    """A file to read; lines of the output may begin with their numbers and a tab or an arrow."""

    path: str
    facts: Facts = ()


class Write(Struct, frozen=True):
    """A file and its new content."""

    path: str
    content: str


class Edit(Struct, frozen=True):
    """Old texts of a file with those that replace them."""

    path: str
    edits: Sequence[tuple[str, str]]
    facts: Facts = ()


class Patch(Struct, frozen=True):
    """Edits of one or several files."""

    files: Sequence[Write | Edit]


class CellEdit(Struct, frozen=True):
    """A cell of a notebook."""

    path: str
    source: str
    language: str
    facts: Facts = ()


class Search(Struct, frozen=True):
    """A pattern, or else a folder to list."""

    pattern: str
    facts: Facts = ()


class Query(Struct, frozen=True):
    """Words to search for, answered in prose."""

    query: str
    facts: Facts = ()


class Fetch(Struct, frozen=True):
    """An address, and what is asked about its content."""

    url: str
    prompt: str = ""


class Spawn(Struct, frozen=True):
    """A subagent and its task."""

    prompt: str
    agent_type: str = ""
    description: str = ""
    facts: Facts = ()
    is_started: bool = False  # in the background: the output says no more than that


class Plan(Struct, frozen=True):
    """A plan in Markdown."""

    plan: str


class Todos(Struct, frozen=True):
    """A list of things to do, each with its status: pending, in_progress, completed."""

    items: Sequence[tuple[str, str]]


class Task(Struct, frozen=True):
    """One thing to do."""

    number: str = ""
    subject: str = ""
    status: str = ""
    description: str = ""
    facts: Facts = ()


class Question(Struct, frozen=True):
    """A question, and the options with what is said about each."""

    question: str
    options: Sequence[tuple[str, str]] = ()


class Ask(Struct, frozen=True):
    """Questions to the user, and those that the output answers."""

    questions: Sequence[Question]
    answers: Sequence[tuple[str, str]] = ()


ToolInput = Shell | Read | Write | Edit | Patch | CellEdit | Search | Query | Fetch | Spawn | Plan | Todos | Task | Ask


class ToolUse(Struct, frozen=True):
    """A call as its client understands it."""

    input: ToolInput | None
    output: str
    """What the tool gave, without what the client put around it."""
    bare_output: str
    """The same without what the client put into it for the model."""


def text_of(given: Mapping[str, Any], name: str) -> str:
    """A parameter as text; empty if it is not text."""
    value = given.get(name)
    return value if isinstance(value, str) else "" if value is None or isinstance(value, (dict, list)) else str(value)


def questions_of(asked: Any) -> list[Question]:
    """The questions of a list of objects, with their options."""
    return [
        Question(
            text_of(item, "question"),
            [(text_of(option, "label"), text_of(option, "description")) for option in _objects(item.get("options"))],
        )
        for item in _objects(asked)
    ]


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def facts_of(given: Mapping[str, Any], *names: str) -> Facts:
    """Parameters that say something, under their own names."""
    return tuple(
        (str(name), value if isinstance(value, str) else json_of(value))
        for name in names
        if (value := given.get(name)) is not None and value != ""
    )


def json_of(value: Any) -> str:
    """A value as JSON to read."""
    try:
        return json.dumps(value, indent=2 if isinstance(value, (dict, list)) and value else None, ensure_ascii=False)
    except (RecursionError, ValueError):
        return "(nested too deeply to show)"
