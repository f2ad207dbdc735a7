"""Which files of a root are kept: a client's layout decides by their relative paths alone."""

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


class LayoutFolder(Struct, eq=False):
    """A folder of the layout: what its files are, and what its folders are."""

    log: FileKind | None = None  # *.jsonl
    patterns: tuple[tuple[str, str, FileKind], ...] = ()  # (prefix, suffix, kind), which come before everything else
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
        for prefix, ending, kind in self.patterns:
            if name.startswith(prefix) and name.endswith(ending):
                return kind
        if name in self.named:
            return self.named[name]
        if self.log is not None and name.endswith(".jsonl"):
            return self.log
        suffix = name[name.rfind(".") :] if "." in name else ""
        if suffix in self.suffixes:
            return self.suffixes[suffix]
        return None if suffix in _PASSING else self.rest


_PASSING = frozenset({".tmp", ".lock", ".swp", ".part"})


class Layout(Struct, eq=False):
    """What a client keeps in its directory."""

    main: str
    """The folder with the transcripts; what is left out of it is reported. Paths in it begin with this name, whatever it is called."""
    folders: dict[str, LayoutFolder]
    """The folders that are read, by name; `main` is one of them."""
    files: dict[str, FileKind] = field(default_factory=dict)
    """Files of the directory itself."""

    def kind_of(self, path: str) -> FileKind | None:
        """Give the kind of the file at a relative path, None for what is not kept."""
        if path in self.files:
            return self.files[path]
        top, *folders, name = path.split("/") if "/" in path else ("", path)
        place = self.folders.get(top)
        if place is None or not name or any(folder.startswith(".") for folder in folders):
            return None
        for folder in folders:
            place = place.inside(folder)
        return place.kind(name)
