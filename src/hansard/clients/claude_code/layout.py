"""Which files of Claude Code's config directory are kept, and what their paths say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.lazy_regex import lazy_compile
from hansard.sources.roots import FileKind, Layout, LayoutFolder

if TYPE_CHECKING:
    from hansard.clients.protocol import PathInfo

_TEXTS = {".json": FileKind.OTHER, ".txt": FileKind.OTHER, ".md": FileKind.OTHER}

_AGENTS = (("agent-", ".jsonl", FileKind.AGENT), ("agent-", ".meta.json", FileKind.AGENT_META))

_ANYWHERE = LayoutFolder(log=FileKind.LOG, suffixes=_TEXTS)
_RUN = LayoutFolder(log=FileKind.LOG, patterns=_AGENTS, named={"journal.jsonl": FileKind.JOURNAL}, suffixes=_TEXTS)
_RUNS = LayoutFolder(log=FileKind.LOG, patterns=_AGENTS, suffixes=_TEXTS, deeper=_RUN)
_SUBAGENTS = LayoutFolder(log=FileKind.LOG, patterns=_AGENTS, suffixes=_TEXTS, folders={"workflows": _RUNS})
_WORKFLOWS = LayoutFolder(log=FileKind.LOG, suffixes={**_TEXTS, ".json": FileKind.WORKFLOW, ".js": FileKind.OTHER})
_SESSION = LayoutFolder(
    log=FileKind.LOG,
    named={"custom-title.json": FileKind.TITLE},
    suffixes={**_TEXTS, ".cast": FileKind.CAST},
    folders={
        "subagents": _SUBAGENTS,
        "tool-results": LayoutFolder(rest=FileKind.TOOL_RESULT),  # any name: .txt, .png, none at all
        "workflows": _WORKFLOWS,
    },
    deeper=_ANYWHERE,
)
_RESERVED = LayoutFolder(log=FileKind.LOG, rest=FileKind.OTHER)
PROJECT_FOLDERS = {
    "memory": LayoutFolder(rest=FileKind.MEMORY),
    "tiny_memory": LayoutFolder(rest=FileKind.MEMORY),
    "bagel": _RESERVED,
    "cloud-snapshots": _RESERVED,
    "connector-downloads": _RESERVED,
}
"""Folders of a project that do not belong to a session: names that the client reserves."""
_PROJECT = LayoutFolder(
    log=FileKind.MAIN,
    patterns=_AGENTS,
    named={"sessions-index.json": FileKind.SESSIONS_INDEX, ".session-aliases": FileKind.SESSION_ALIASES},
    suffixes=_TEXTS,  # bridge-pointer.json among them
    folders=PROJECT_FOLDERS,
    deeper=_SESSION,
)

FOLDERS = {
    "projects": LayoutFolder(log=FileKind.MAIN, suffixes=_TEXTS, deeper=_PROJECT),
    "todos": LayoutFolder(suffixes={".json": FileKind.TODO}),
    "tasks": LayoutFolder(suffixes={".json": FileKind.TASK}),
    "plans": LayoutFolder(suffixes={".md": FileKind.PLAN}),
    "paste-cache": LayoutFolder(rest=FileKind.PASTE),
    "file-history": LayoutFolder(rest=FileKind.FILE_HISTORY),
    "shell-snapshots": LayoutFolder(rest=FileKind.SHELL),
    "session-env": LayoutFolder(rest=FileKind.SHELL),
}
HISTORY = "history.jsonl"
_FILES = {HISTORY: FileKind.HISTORY, "stats-cache.json": FileKind.STATS}
LAYOUT = Layout(main="projects", folders=FOLDERS, files=_FILES)


_OUTSIDE = lazy_compile("[^A-Za-z0-9]")
_NAME_LIMIT = 200
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"

_UUID = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_WHOLE_UUID = lazy_compile(_UUID)
_TODO = lazy_compile(f"todos/({_UUID})-agent-({_UUID}|[^/]+)\\.json")
# A folder that contains one of these belongs to a session, regardless of its name.
_IN_SESSION = frozenset({"subagents", "tool-results", "workflows", "custom-title.json"})

# A path in a JSON string, with / or with \ escaped once or more often.
TOOL_RESULT = lazy_compile(rb'[/\\]([^/\\"\s]{1,200})[/\\]+tool-results[/\\]+([^/\\"<>\s]{1,250})')
PLAN = lazy_compile(rb"plans[/\\]+([A-Za-z0-9_.-]{1,200}\.md)")
_PROJECT_PARTS = 3  # projects/<project>/<something>
_SESSION_PARTS = 4  # projects/<project>/<session>/<something>


def encode_project(cwd: str) -> str:
    """Give the name of the folder under projects/ that the client makes for a working directory."""
    units = cwd.encode("utf-16-le", "surrogatepass")
    if len(units) == 2 * len(cwd):
        name = _OUTSIDE.sub("-", cwd)
    else:  # a character outside the BMP is two units, so two dashes
        name = _OUTSIDE.sub(lambda found: "-" if found[0] < "\U00010000" else "--", cwd)
    if len(name) <= _NAME_LIMIT:
        return name
    code = 0
    for low, high in zip(units[::2], units[1::2], strict=True):
        code = (code * 31 + (high << 8 | low)) & 0xFFFFFFFF
    if code >= 1 << 31:  # the client's arithmetic is on signed 32-bit numbers
        code = (1 << 32) - code
    return f"{name[:_NAME_LIMIT]}-{_base36(code)}"


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits or "0"


def path_info(path: str) -> PathInfo:
    from hansard.clients.protocol import PathInfo  # most commands do without it

    path = _in_config(path)
    session_id, stem = session_of(path) or "", ""
    if (
        path.count("/") < _PROJECT_PARTS
        and path.startswith("projects/")
        and session_id
        and not _WHOLE_UUID.fullmatch(session_id)
    ):
        # A saved stream or a renamed file: its name says nothing of the session, its lines do.
        session_id, stem = "", session_id
    return PathInfo(session_id, agent_of(path) or "", project_dir_of(path) or "", stem)


def _in_config(path: str) -> str:
    """A path in the config directory that it lies in; each session of the desktop app has one."""
    return path.partition("/.claude/")[2] or path


def project_dir_of(path: str) -> str | None:
    """Give the folder under projects/ that a relative path lies in."""
    parts = _in_config(path).split("/")
    return parts[1] if parts[0] == "projects" and len(parts) >= _PROJECT_PARTS else None


def session_of(path: str) -> str | None:
    """Give the session that a relative path names; agent files beside sessions do not name theirs."""
    path = _in_config(path)
    parts = path.split("/")
    if parts[0] == "projects":
        return _session_in_projects(parts)
    if parts[0] in ("tasks", "file-history", "session-env"):
        return parts[1] if len(parts) >= _PROJECT_PARTS and _WHOLE_UUID.fullmatch(parts[1]) else None
    todo = _TODO.fullmatch(path)
    return todo[1] if todo else None


def _session_in_projects(parts: list[str]) -> str | None:
    if len(parts) <= _PROJECT_PARTS:
        name = parts[-1]
        if not name.endswith(".jsonl") or (len(parts) == _PROJECT_PARTS and name.startswith("agent-")):
            return None
        return name.removesuffix(".jsonl")
    folder = parts[_PROJECT_PARTS - 1]
    if _WHOLE_UUID.fullmatch(folder) or (parts[_SESSION_PARTS - 1] in _IN_SESSION and folder not in PROJECT_FOLDERS):
        return folder
    return None


def agent_of(path: str) -> str | None:
    path = _in_config(path)
    if path.startswith("projects/"):
        parts = path.split("/")
        name = parts[-1]
        if name.startswith("agent-") and (len(parts) == _PROJECT_PARTS or "subagents" in parts[_PROJECT_PARTS:-1]):
            for suffix in (".jsonl", ".meta.json"):
                if name.endswith(suffix):
                    return name.removeprefix("agent-").removesuffix(suffix)
        return None
    todo = _TODO.fullmatch(path)
    return todo[2] if todo and todo[2] != todo[1] else None
