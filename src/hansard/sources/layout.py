"""Which files of a Claude Code root are kept, told from their relative paths alone."""

from enum import StrEnum

from msgspec import Struct, field


class FileKind(StrEnum):
    """What a kept file is; the value is stored in databases."""

    MAIN = "main"
    AGENT = "agent"
    JOURNAL = "journal"
    HISTORY = "history"
    LOG = "log"
    CAST = "cast"  # a recording of the terminal
    AGENT_META = "agent_meta"
    TOOL_RESULT = "tool_result"
    WORKFLOW = "workflow"
    TITLE = "title"
    SESSIONS_INDEX = "sessions_index"
    SESSION_ALIASES = "session_aliases"
    MEMORY = "memory"
    TODO = "todo"
    TASK = "task"
    PLAN = "plan"
    PASTE = "paste"
    FILE_HISTORY = "file_history"  # what a file was before the client changed it
    STATS = "stats"
    OTHER = "other"

    @property
    def is_log(self) -> bool:
        """Tell append-only logs from small whole files."""
        return self in LOG_KINDS


LOG_KINDS = frozenset({FileKind.MAIN, FileKind.AGENT, FileKind.JOURNAL, FileKind.HISTORY, FileKind.LOG, FileKind.CAST})
# A member looked up through the class costs as much as the rest of the decision, once per file and sync.
_AGENT, _AGENT_META = FileKind.AGENT, FileKind.AGENT_META


class LayoutFolder(Struct, eq=False):
    """A folder of the layout: what its files are, and what its folders are."""

    log: FileKind | None = None  # *.jsonl
    agents: bool = False  # agent-*.jsonl and agent-*.meta.json have their own kinds
    named: dict[str, FileKind] = field(default_factory=dict)
    suffixes: dict[str, FileKind] = field(default_factory=dict)
    rest: FileKind | None = None  # any other name that begins with no dot
    folders: dict[str, "LayoutFolder"] = field(default_factory=dict)
    deeper: "LayoutFolder | None" = None  # any other folder; None is one like this

    def inside(self, folder: str) -> "LayoutFolder":
        """Give the place that a folder in this place is."""
        return self.folders.get(folder) or self.deeper or self

    def kind(self, name: str) -> FileKind | None:
        """Give the kind of a file in this place, None for what is not kept."""
        if name[0] == ".":
            return self.named.get(name)
        if name.endswith(".jsonl") and self.log is not None:
            if self.agents and name.startswith("agent-"):
                return _AGENT
            return self.named.get(name, self.log)
        if name in self.named:
            return self.named[name]
        if self.agents and name.endswith(".meta.json") and name.startswith("agent-"):
            return _AGENT_META
        suffix = name[name.rfind(".") :] if "." in name else ""
        if suffix in self.suffixes:
            return self.suffixes[suffix]
        return None if suffix in _PASSING else self.rest


_PASSING = frozenset({".tmp", ".lock", ".swp", ".part"})
_TEXTS = {".json": FileKind.OTHER, ".txt": FileKind.OTHER, ".md": FileKind.OTHER}

_ANYWHERE = LayoutFolder(log=FileKind.LOG, suffixes=_TEXTS)
_RUN = LayoutFolder(log=FileKind.LOG, agents=True, named={"journal.jsonl": FileKind.JOURNAL}, suffixes=_TEXTS)
_RUNS = LayoutFolder(log=FileKind.LOG, agents=True, suffixes=_TEXTS, deeper=_RUN)
_SUBAGENTS = LayoutFolder(log=FileKind.LOG, agents=True, suffixes=_TEXTS, folders={"workflows": _RUNS})
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
"""Folders of a project that are no session's: the names that the client reserves."""
_PROJECT = LayoutFolder(
    log=FileKind.MAIN,
    agents=True,
    named={"sessions-index.json": FileKind.SESSIONS_INDEX, ".session-aliases": FileKind.SESSION_ALIASES},
    suffixes=_TEXTS,  # bridge-pointer.json among them
    folders=PROJECT_FOLDERS,
    deeper=_SESSION,
)

TOPS = {
    "projects": LayoutFolder(log=FileKind.MAIN, suffixes=_TEXTS, deeper=_PROJECT),
    "todos": LayoutFolder(suffixes={".json": FileKind.TODO}),
    "tasks": LayoutFolder(suffixes={".json": FileKind.TASK}),
    "plans": LayoutFolder(suffixes={".md": FileKind.PLAN}),
    "paste-cache": LayoutFolder(rest=FileKind.PASTE),
    "file-history": LayoutFolder(rest=FileKind.FILE_HISTORY),
}
HISTORY = "history.jsonl"
LOOSE = {HISTORY: FileKind.HISTORY, "stats-cache.json": FileKind.STATS}
"""Files of the config directory itself."""


def kind_of(path: str) -> FileKind | None:
    """Give the kind of the file at a relative path, None for what is not kept."""
    if path in LOOSE:
        return LOOSE[path]
    top, *folders, name = path.split("/") if "/" in path else ("", path)
    place = TOPS.get(top)
    if place is None or not name or any(folder.startswith(".") for folder in folders):
        return None
    for folder in folders:
        place = place.inside(folder)
    return place.kind(name)
