"""Which files of Claude Code's config directory are kept."""

from hansard.sources.layout import FileKind, Layout, LayoutFolder

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
"""Folders of a project that are no session's: the names that the client reserves."""
_PROJECT = LayoutFolder(
    log=FileKind.MAIN,
    patterns=_AGENTS,
    named={"sessions-index.json": FileKind.SESSIONS_INDEX, ".session-aliases": FileKind.SESSION_ALIASES},
    suffixes=_TEXTS,  # bridge-pointer.json among them
    folders=PROJECT_FOLDERS,
    deeper=_SESSION,
)

_FOLDERS = {
    "projects": LayoutFolder(log=FileKind.MAIN, suffixes=_TEXTS, deeper=_PROJECT),
    "todos": LayoutFolder(suffixes={".json": FileKind.TODO}),
    "tasks": LayoutFolder(suffixes={".json": FileKind.TASK}),
    "plans": LayoutFolder(suffixes={".md": FileKind.PLAN}),
    "paste-cache": LayoutFolder(rest=FileKind.PASTE),
    "file-history": LayoutFolder(rest=FileKind.FILE_HISTORY),
}
HISTORY = "history.jsonl"
_FILES = {HISTORY: FileKind.HISTORY, "stats-cache.json": FileKind.STATS}
LAYOUT = Layout(main="projects", folders=_FOLDERS, files=_FILES)
