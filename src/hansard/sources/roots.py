"""Roots, the directories that transcripts are read from, and layouts, which say which of their files are stored.

A root is a client's config directory, or the bare folder of its transcripts. A layout decides by relative paths alone.
"""

import os
import re
from enum import StrEnum

from msgspec import Struct, field

from hansard.sources.names import escape, unescape


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
    PROJECT = "project"  # names the working directories of sessions
    SESSIONS_INDEX = "sessions_index"
    SESSION_ALIASES = "session_aliases"
    MEMORY = "memory"
    TODO = "todo"
    TASK = "task"
    PLAN = "plan"
    PASTE = "paste"
    FILE_HISTORY = "file_history"  # what a file was before the client changed it
    SHELL = "shell"  # functions, aliases and variables of the user's shell, as the client runs commands with them
    STATS = "stats"
    DATABASE = "database"  # whose rows are stored, in logs of their own
    OTHER = "other"

    @property
    def is_log(self) -> bool:
        """Tell append-only logs from small whole files."""
        return self in LOG_KINDS


OPTIONAL: dict[str, frozenset[FileKind]] = {
    "tool_result": frozenset({FileKind.TOOL_RESULT}),
    "file_history": frozenset({FileKind.FILE_HISTORY}),
    "paste": frozenset({FileKind.PASTE}),
    "prompt_history": frozenset({FileKind.HISTORY}),
    "plan": frozenset({FileKind.PLAN}),
    "todo": frozenset({FileKind.TODO, FileKind.TASK}),
    "memory": frozenset({FileKind.MEMORY}),
    "shell": frozenset({FileKind.SHELL}),
    "stats": frozenset({FileKind.STATS}),
}
"""What need not be stored, by the name that the user gives it; transcripts, subagents and what describes them always are."""
LOG_KINDS = frozenset({FileKind.MAIN, FileKind.AGENT, FileKind.JOURNAL, FileKind.HISTORY, FileKind.LOG, FileKind.CAST})


class LayoutFolder(Struct, eq=False):
    """A folder of a layout: the kinds of its files, and its folders."""

    log: FileKind | None = None  # *.jsonl
    patterns: tuple[tuple[str, str, FileKind], ...] = ()  # (prefix, suffix, kind), which come before everything else
    named: dict[str, FileKind] = field(default_factory=dict)
    suffixes: dict[str, FileKind] = field(default_factory=dict)
    rest: FileKind | None = None  # any other name that begins with no dot
    folders: dict[str, "LayoutFolder"] = field(default_factory=dict)
    deeper: "LayoutFolder | None" = None  # any other folder; None: like this one

    @property
    def kinds(self) -> frozenset[FileKind]:
        """The kinds of files directly in this place."""
        found = {kind for _, _, kind in self.patterns} | {*self.named.values(), *self.suffixes.values()}
        return frozenset(found | {kind for kind in (self.log, self.rest) if kind is not None})

    def inside(self, folder: str) -> "LayoutFolder":
        """The layout of a folder in this folder."""
        return self.folders.get(folder) or self.deeper or self

    def kind(self, name: str) -> FileKind | None:
        """The kind of a file in this folder; None if it is not stored."""
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


NOT_KEPT = LayoutFolder()
"""A folder that is not entered."""
_PASSING = frozenset({".tmp", ".lock", ".swp", ".part"})


class Layout(Struct, eq=False):
    """What a client keeps in its directory."""

    main: str
    """The folder with the transcripts; files left out of it are reported. Relative paths begin with this name, even if the folder has another."""
    folders: dict[str, LayoutFolder]
    """The folders that are read, by name; `main` is one of them."""
    files: dict[str, FileKind] = field(default_factory=dict)
    """Files of the directory itself."""
    has_packed: bool = False
    """Whether the client compresses old logs: `x.jsonl.zst` is the same log as `x.jsonl`, which it replaces."""
    rows: str = ""
    """The first part of the paths of logs that hold rows of databases; there is no such folder."""

    def holds_rows(self, path: str) -> bool:
        """Whether a relative path is that of a log with rows of a database."""
        return bool(self.rows) and path.startswith(self.rows + "/")

    def kind_of(self, path: str) -> FileKind | None:
        """The kind of the file at a relative path; None if it is not stored."""
        if path in self.files:
            return self.files[path]
        top, *folders, name = path.split("/") if "/" in path else ("", path)
        place = self.folders.get(top)
        if place is None or not name:
            return None
        for folder in folders:
            if folder.startswith(".") and folder not in place.folders:
                return None
            place = place.inside(folder)
        return place.kind(name)


class Root(Struct, frozen=True):
    """A directory tree to read from."""

    path: str
    name: str
    client: str
    layout: Layout
    transcripts: str  # the directory of `layout.main`
    config: str | None  # the directory around it; None where only the transcripts are read
    follow_links: tuple[str, ...] = ()  # real paths of outside folders that its links may point into
    data_directory: str = ""  # Hansard's own, by its real path: never read
    skipped: frozenset[FileKind] = frozenset()  # what the user does not want to be stored
    only: frozenset[str] | None = None  # relative paths of files: no other one is read

    def locate(self, relative: str) -> str:
        """The absolute path of a relative one ("projects/...", "history.jsonl")."""
        top, slash, inside = relative.partition("/")
        if top == self.layout.main:
            base = self.transcripts
            rest = inside
        else:
            base = self.config or os.path.dirname(self.transcripts)
            rest = top + slash + inside
        rest = unescape(rest).replace("/", os.sep)
        return os.path.join(base, rest) if rest else base

    def relative(self, absolute: str) -> str | None:
        """The relative path of an absolute one; None if it is not in this root."""
        inside = path_inside(self.transcripts, absolute)
        if inside is not None:
            return f"{self.layout.main}/{inside}" if inside else self.layout.main
        return path_inside(self.config, absolute) if self.config else None

    def is_own_data(self, real: str) -> bool:
        """Whether a real path is in Hansard's data directory; a root inside that directory is not part of it."""
        own = self.data_directory
        if not own or path_inside(own, real) is None:
            return False
        return path_inside(own, self.path) is None or path_inside(self.path, real) is None

    def admits(self, real: str) -> bool:
        """Whether a link may point to a real path: inside the root, or where the user allowed it."""
        if self.is_own_data(real):
            return False
        if path_inside(self.path, real) or path_inside(os.path.realpath(self.transcripts), real):
            return True
        return any(path_inside(folder, real) is not None for folder in self.follow_links)

    def reaches(self, relative: str) -> bool:
        """Whether a relative path may be read; its first part, an entry of the layout, may itself be a link."""
        place = self.locate(relative)
        real = os.path.realpath(place)
        top = self.locate(relative.partition("/")[0])
        plain = os.path.realpath(top) + place[len(top) :]
        return not self.is_own_data(real) and (real == plain or self.admits(real))


def path_inside(base: str, absolute: str) -> str | None:
    """The relative path of something in a directory; "" for the directory itself, None for anything outside."""
    if os.path.normcase(absolute) == os.path.normcase(base):
        return ""
    base = base if base.endswith(os.sep) else base + os.sep
    if not os.path.normcase(absolute).startswith(os.path.normcase(base)):
        return None
    return "/".join(map(escape, absolute[len(base) :].split(os.sep)))


def split_paths(value: str, separator: str = os.pathsep) -> list[str]:
    """Split a list of paths at commas and path separators, except where the whole text is an existing path."""
    if os.path.isdir(value):
        return [value]
    paths = []
    for part in value.split(","):
        if os.path.isdir(part.strip()):
            paths.append(part.strip())
            continue
        # With ":" between paths, the colon of "C:\..." or "C:/..." is not a separator.
        pattern = r"(?<!:[A-Za-z])(?<!^[A-Za-z]):|:(?![\\/])" if separator == ":" else re.escape(separator)
        paths += [piece.strip() for piece in re.split(pattern, part.strip())]
    return [path for path in paths if path]
