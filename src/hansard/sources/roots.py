"""The roots that transcripts are read from: Claude config directories, or bare projects directories."""

import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hansard.errors import SourceUnreadable, UsageError
from hansard.sources.layout import HISTORY, TOPS
from hansard.sources.names import escape, printable, unescape

DEFAULT_CLEANUP_DAYS = 30
LONGEST_CLEANUP_DAYS = 36_500  # "never", in what a calendar can still count
_SMALL_FILE = 1 << 20

# Any of these shows that a directory without projects/ is a config directory that has not been worked in yet.
_CONFIG_MARKS = frozenset({"settings.json", ".claude.json", HISTORY, "CLAUDE.md", "statsig", "sessions", *TOPS})
_CONFIG_NAMES = frozenset({".claude", "claude"})


class Root(Struct, frozen=True):
    """A directory tree to read from."""

    path: str
    name: str
    projects: str
    config: str | None
    follow_links: tuple[str, ...] = ()  # real paths of folders outside that links in it may lead to
    data_directory: str = ""  # Hansard's own, by its real path: never read

    def locate(self, relative: str) -> str:
        """Give the absolute path of a relative one ("projects/...", "history.jsonl")."""
        top, slash, inside = relative.partition("/")
        if top == "projects":
            base = self.projects
            rest = inside
        else:
            base = self.config or os.path.dirname(self.projects)
            rest = top + slash + inside
        rest = unescape(rest).replace("/", os.sep)
        return os.path.join(base, rest) if rest else base

    def relative(self, absolute: str) -> str | None:
        """Give the relative path of an absolute one, None when it is not in this root."""
        inside = path_inside(self.projects, absolute)
        if inside is not None:
            return f"projects/{inside}" if inside else "projects"
        return path_inside(self.config, absolute) if self.config else None

    def is_own_data(self, real: str) -> bool:
        """Tell whether a real path is in Hansard's data directory; a root that lies in there itself is none of it."""
        own = self.data_directory
        if not own or path_inside(own, real) is None:
            return False
        return path_inside(own, self.path) is None or path_inside(self.path, real) is None

    def admits(self, real: str) -> bool:
        """Tell whether a link may lead to a real path: into the root, or to where the user allowed it."""
        if self.is_own_data(real):
            return False
        if path_inside(self.path, real) or path_inside(os.path.realpath(self.projects), real):
            return True
        return any(path_inside(folder, real) is not None for folder in self.follow_links)

    def reaches(self, relative: str) -> bool:
        """Tell whether a relative path leads to what may be read: the entry of the layout that it begins with may be a link."""
        place = self.locate(relative)
        real = os.path.realpath(place)
        top = self.locate(relative.partition("/")[0])
        plain = os.path.realpath(top) + place[len(top) :]
        return not self.is_own_data(real) and (real == plain or self.admits(real))


def path_inside(base: str, absolute: str) -> str | None:
    """Give the path of something in a directory, "" for the directory itself, None for what lies elsewhere."""
    if os.path.normcase(absolute) == os.path.normcase(base):
        return ""
    base = base if base.endswith(os.sep) else base + os.sep
    if not os.path.normcase(absolute).startswith(os.path.normcase(base)):
        return None
    return "/".join(map(escape, absolute[len(base) :].split(os.sep)))


def open_root(path: str, name: str | None = None) -> Root:
    """Take a directory as a root, or say in a UsageError why it is none."""
    shown = printable(path)
    try:
        real = os.path.realpath(os.path.expanduser(path))
        is_dir = stat.S_ISDIR(os.stat(real).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        message = f"{shown}: no such directory; name a Claude config directory (it has projects/ in it) or a projects directory"
        raise UsageError(message) from None
    except (OSError, ValueError) as error:
        message = f"{shown}: cannot be read ({_reason(error)})"
        raise SourceUnreadable(message) from error
    if not is_dir:
        message = (
            f"{shown}: not a directory; name the Claude config directory or the projects directory that it lies in"
        )
        raise UsageError(message)
    if os.path.isdir(os.path.join(real, "projects")):
        config: str | None = real
    else:
        config = real if _is_config(real, shown) else None
    return Root(
        path=real,
        name=name or _short_name(real, bare=config is None),
        projects=os.path.join(real, "projects") if config else real,
        config=config,
    )


def _is_config(real: str, shown: str) -> bool:
    """Decide what a directory without projects/ in it is."""
    base = os.path.basename(real)
    try:
        with os.scandir(real) as entries:
            found = {entry.name: entry.is_dir() for entry in entries}
    except OSError as error:
        message = f"{shown}: cannot be read ({_reason(error)}); check its permissions"
        raise SourceUnreadable(message) from error
    if base == "projects" or any(name.endswith(".jsonl") and name != HISTORY for name in found):
        return False
    if base in _CONFIG_NAMES or not found or not _CONFIG_MARKS.isdisjoint(found):
        return True
    if any(is_dir and _holds_transcripts(os.path.join(real, name)) for name, is_dir in found.items()):
        return False
    message = f"{shown}: neither a Claude config directory (no projects/ in it) nor a projects directory (no transcripts in it)"
    raise UsageError(message)


def _holds_transcripts(folder: str) -> bool:
    try:
        with os.scandir(folder) as entries:
            return any(entry.name.endswith(".jsonl") for entry in entries)
    except OSError:
        return False


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _short_name(real: str, *, bare: bool) -> str:
    base = os.path.basename(real)
    if bare and base == "projects":  # says nothing; the directory it lies in does
        base = os.path.basename(os.path.dirname(real)) or base
    return printable(base).replace("\\", "_") or "root"


def default_root_paths(environ: Mapping[str, str], home: str) -> list[str]:
    """List the roots of a user who named none: CLAUDE_CONFIG_DIR, else the usual places that exist."""
    named = split_paths(environ.get("CLAUDE_CONFIG_DIR", ""))
    if named:
        return [home + path[1:] if path == "~" or path.startswith(("~/", "~\\")) else path for path in named]
    xdg = environ.get("XDG_CONFIG_HOME", "")
    base = xdg if os.path.isabs(xdg) else os.path.join(home, ".config")
    usual = [os.path.join(home, ".claude"), os.path.join(base, "claude")]
    return [path for path in usual if os.path.isdir(path)]


def split_paths(value: str, separator: str = os.pathsep) -> list[str]:
    """Split a list of paths at commas and path separators, leaving alone what exists as it stands."""
    if os.path.isdir(value):
        return [value]
    paths = []
    for part in value.split(","):
        if os.path.isdir(part.strip()):
            paths.append(part.strip())
            continue
        # With ":" between paths, the colon of "C:\..." or "C:/..." is no separator.
        pattern = r"(?<!:[A-Za-z])(?<!^[A-Za-z]):|:(?![\\/])" if separator == ":" else re.escape(separator)
        paths += [piece.strip() for piece in re.split(pattern, part.strip())]
    return [path for path in paths if path]


def open_roots(paths: Sequence[str], *, follow_links: Iterable[str] = (), data_directory: str = "") -> list[Root]:
    """Take directories as roots, each tree once, each with a name of its own.

    Links in them are followed to `follow_links` too, which are other directories, and never into `data_directory`.
    """
    allowed = tuple(os.path.realpath(os.path.expanduser(path)) for path in follow_links)
    own = os.path.realpath(data_directory) if data_directory else ""
    roots: list[Root] = []
    for root in map(open_root, paths):
        if not any(_same_dir(root.path, other.path) for other in roots):
            roots.append(root)
    kept = [root for root in roots if not _is_part(root, roots)]
    taken: set[str] = set()
    named = []
    for root in kept:
        name, number = root.name, 1
        while name.casefold() in taken:  # names become directories, also where case does not count
            number += 1
            name = f"{root.name}-{number}"
        taken.add(name.casefold())
        if root.path == own and root.config is None:
            raise UsageError(f"{printable(root.path)}: Hansard's own data directory; name another root")
        named.append(replace(root, name=name, follow_links=allowed, data_directory=own))
    return named


def _is_part(root: Root, roots: Sequence[Root]) -> bool:
    """Tell whether a bare projects directory is read through another root anyway."""
    if root.config is not None:
        return False
    for other in roots:
        if other is root:
            continue
        if _same_dir(root.path, other.projects) or path_inside(os.path.realpath(other.projects), root.path) is not None:
            return True
    return False


def _same_dir(one: str, two: str) -> bool:
    if one == two:
        return True
    try:
        return os.path.samefile(one, two)
    except OSError:
        return False


def cleanup_period_days(root: Root) -> int:
    """Give the age in days at which the client deletes the root's transcripts."""
    # settings.local.json does not count: the client reads that name in project directories only.
    settings = _read_object(os.path.join(root.config, "settings.json")) if root.config else None
    days = settings.get("cleanupPeriodDays") if settings else None
    if not isinstance(days, int) or isinstance(days, bool) or days < 0:
        return DEFAULT_CLEANUP_DAYS
    return min(days, LONGEST_CLEANUP_DAYS)


def running_sessions(root: Root) -> list[dict[str, Any]]:
    """Read the notes that running clients leave in sessions/; a killed client leaves its note behind."""
    if root.config is None:
        return []
    folder = os.path.join(root.config, "sessions")
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json") and not name.startswith("."))
    except OSError:
        return []
    notes = (_read_object(os.path.join(folder, name)) for name in names)
    return [note for note in notes if note is not None]


def _read_object(path: str) -> dict[str, Any] | None:
    import json  # most commands need none of this at start-up

    try:
        with open(path, "rb") as file:
            value = json.loads(file.read(_SMALL_FILE).decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
