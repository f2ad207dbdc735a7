"""Codex as a client: where its rollouts are, and what its tools are for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.clients import tools as t
from hansard.clients.codex.decode import KNOWN, decode
from hansard.clients.codex.items import command_of
from hansard.clients.codex.memory import Memory
from hansard.clients.documents import DocumentLines, first_line, is_in_document, list_start
from hansard.clients.generic import GenericClient, Record
from hansard.clients.lines import Lines
from hansard.clients.patches import patch_input
from hansard.clients.protocol import PathInfo, SideContent
from hansard.clients.tools import tools_by_kind
from hansard.lazy_regex import lazy_compile
from hansard.sources.roots import FileKind, Layout, LayoutFolder, Root

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hansard.clients.codex.statements import Statements
    from hansard.model.tools import ToolKind

_ROLLOUTS = LayoutFolder(log=FileKind.MAIN, suffixes={".json": FileKind.MAIN})
_INDEX = "session_index.jsonl"
_THREAD = lazy_compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_OUTPUT = "Output:\n"
_HEAD = 400  # characters of what the client puts before an output


class _Name(msgspec.Struct):
    id: str
    thread_name: str = ""


_name = msgspec.json.Decoder(_Name).decode


class Codex(GenericClient):
    """Keeps threads in `sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl` and `archived_sessions/`, once in `.json` documents."""

    name = "codex"
    speaker = "Codex"
    memory = Memory
    known_kinds = KNOWN
    permission_facts = frozenset({"modes", "denials"})
    layout = Layout(
        main="sessions",
        folders={"sessions": _ROLLOUTS, "archived_sessions": _ROLLOUTS},
        files={_INDEX: FileKind.TITLE, "history.jsonl": FileKind.HISTORY},
        has_packed=True,
    )
    tools: Mapping[str, ToolKind] = tools_by_kind(
        {
            "shell": "exec_command shell shell_command local_shell container.exec unified_exec",
            "shell_output": "write_stdin",
            "edit": "apply_patch",
            "read": "view_image read_file",
            "search": "grep_files list_dir",
            "todo": "update_plan",
            "ask": "request_user_input",
            "spawn": "spawn_agent",
            "web_search": "web_search web_search_call",
            "tool_search": "tool_search_call",
        }
    )

    def default_roots(self, environ: Mapping[str, str], home: str) -> list[str]:
        """CODEX_HOME, or ~/.codex."""
        path = environ.get("CODEX_HOME") or os.path.join(home, ".codex")
        return [path] if self.open_root(path) is not None else []

    def open_root(self, path: str) -> Root | None:
        """A directory with rollouts in it."""
        real = os.path.realpath(os.path.expanduser(path))
        sessions = os.path.join(real, "sessions")
        if not any(map(_has_rollouts, (sessions, os.path.join(real, "archived_sessions")))):
            return None
        name = os.path.basename(real)
        return Root(real, name, self.name, self.layout, sessions, real)

    def path_info(self, path: str) -> PathInfo:
        """The thread that a rollout is named after; its first line decides which session it belongs to.

        A reverted thread goes on in another rollout, with both names: here as a fork, since what it took back stays in the first.
        """
        name = path.rpartition("/")[2]
        if not path.startswith(("sessions/", "archived_sessions/")):
            return PathInfo()
        thread, *other = _THREAD.findall(name) or [name.partition(".")[0]]
        return PathInfo(other[0]) if other else PathInfo(stem=thread)

    def lines(self, pieces: Iterable[bytes], start: int) -> Lines:
        """Every line is a record; the first versions wrote a document."""
        first, pieces = first_line(pieces)
        is_document = is_in_document(first) if start else first.lstrip().startswith((b"{\n", b'{"session":'))
        return DocumentLines(pieces, start, _items) if is_document else Lines(pieces, start)

    def side_file(self, kind: str, path: str, data: bytes) -> SideContent:  # noqa: ARG002
        if kind != FileKind.TITLE:
            return SideContent()
        titles: dict[str, str] = {}  # the last line about a thread counts
        for line in data.splitlines():
            try:
                item = _name(line)
            except msgspec.DecodeError:
                continue
            titles[item.id] = item.thread_name
        return SideContent(titles=titles)

    def decode_next(self, line: bytes, memory: Memory) -> Iterator[Record]:
        return decode(line, memory)

    def statement_reader(self) -> Statements:
        from hansard.clients.codex.statements import Statements

        return Statements(self)

    def tool_input(self, tool: str, given: Any) -> t.ToolInput | None:
        """What the tools that have a view of their own were given."""
        kind = self.tool_kind(tool)
        match given:
            case {"patch": str(patch)} if kind == "edit":
                return patch_input(patch)
            case {"plan": list(steps)}:
                return t.Todos([(str(step.get("status", "")), str(step.get("step", ""))) for step in steps])
            case {"questions": list(questions)}:
                return t.Ask(t.questions_of(questions))
            case {"path": str(path)} if kind == "read":
                return t.Read(path)
            case {"query": str(query)} if kind in ("web_search", "tool_search"):
                return t.Query(query)
            case {"message": str(prompt)} if kind == "spawn":
                task = prompt.partition("\n")[0]
                return t.Spawn(prompt, t.text_of(given, "agent_type"), task, t.facts_of(given, "agent_type", "model"))
        if kind == "shell" and (command := command_of(given)):
            escalates = (
                given.get("with_escalated_permissions") is True
                or given.get("sandbox_permissions") == "require_escalated"
            )
            return t.Shell(command, t.text_of(given, "justification"), escalates)
        return None

    def tool_use(self, tool: str, given: Any, output: str) -> t.ToolUse:
        """What a call was given and gave, without the lines that the client puts before an output."""
        use = super().tool_use(tool, given, output)
        start = output.find(_OUTPUT, 0, _HEAD)
        if start < 0 or not output.startswith(("Chunk ID:", "Exit code:", "Wall time:")):
            return use
        bare = output[start + len(_OUTPUT) :]
        return t.ToolUse(use.input, bare, bare)


def _items(data: bytes) -> int:
    return list_start(data, b"items", 1)


def _has_rollouts(folder: str) -> bool:
    """Whether a folder has rollouts, or folders by year; other clients have a folder of the same name."""
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    return any(name.startswith("rollout-") or (name.isdigit() and len(name) == 4) for name in names)
