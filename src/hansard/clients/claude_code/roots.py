"""Where Claude Code's histories are: its config directories, or bare projects directories."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any

from hansard.clients import CLAUDE_CODE
from hansard.clients.claude_code.layout import HISTORY, LAYOUT
from hansard.errors import SourceUnreadable, UsageError
from hansard.sources.names import printable
from hansard.sources.roots import Root, split_paths

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hansard.clients.protocol import Running

DEFAULT_CLEANUP_DAYS = 30
_SMALL_FILE = 1 << 20

# Any of these shows that a directory without projects/ is a config directory that has not been worked in yet.
_CONFIG_MARKS = frozenset(
    {"settings.json", ".claude.json", HISTORY, "CLAUDE.md", "statsig", "sessions", *LAYOUT.folders}
)
_CONFIG_NAMES = frozenset({".claude", "claude"})
DESKTOP_FOLDERS = ("local-agent-mode-sessions", "claude-code-sessions")
"""What the desktop app keeps: its own sessions, and what it knows of those that it started."""


def open_root(path: str, name: str | None = None) -> Root:
    """Open a directory as a root; raises a UsageError that says why it is not one."""
    shown = printable(path)
    try:
        real = os.path.realpath(os.path.expanduser(path))
        is_dir = stat.S_ISDIR(os.stat(real).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        message = (
            f"{shown}: no such directory; name a Claude config directory (with projects/ in it) or a projects directory"
        )
        raise UsageError(message) from None
    except (OSError, ValueError) as error:
        message = f"{shown}: cannot be read ({_reason(error)})"
        raise SourceUnreadable(message) from error
    if not is_dir:
        message = (
            f"{shown}: not a directory; name the Claude config directory or the projects directory that it lies in"
        )
        raise UsageError(message)
    if os.path.basename(real) in DESKTOP_FOLDERS:
        from hansard.clients.claude_code.desktop import open_desktop

        return open_desktop(real, CLAUDE_CODE)
    if os.path.isdir(os.path.join(real, "projects")):
        config: str | None = real
    else:
        config = real if _is_config(real, shown) else None
    return Root(
        path=real,
        name=name or _short_name(real, bare=config is None),
        client=CLAUDE_CODE,
        layout=LAYOUT,
        transcripts=os.path.join(real, "projects") if config else real,
        config=config,
    )


def desktop_folders(environ: Mapping[str, str], home: str) -> list[str]:
    """The folders of Claude's desktop app that exist, on macOS, Linux and Windows."""
    config = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    apps = (os.path.join(home, "Library", "Application Support"), config, environ.get("APPDATA", ""))
    places = [os.path.join(app, "Claude", name) for app in apps if app for name in DESKTOP_FOLDERS]
    return [place for place in places if os.path.isdir(place)]


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
    raise UsageError(
        f"{shown}: not a history of any known client; for Claude Code, name a config directory (has projects/ in it) or a"
        " projects directory (has transcripts in it)"
    )


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


def cleanup_period_days(root: Root) -> int:
    """Give the age in days at which the client deletes the root's transcripts."""
    from hansard.clients.protocol import NEVER_DELETED  # most commands do without it

    if root.layout.main in DESKTOP_FOLDERS:
        return NEVER_DELETED
    # settings.local.json does not count: the client reads that name in project directories only.
    settings = _read_object(os.path.join(root.config, "settings.json")) if root.config else None
    days = settings.get("cleanupPeriodDays") if settings else None
    if not isinstance(days, int) or isinstance(days, bool) or days < 0:
        return DEFAULT_CLEANUP_DAYS
    return min(days, NEVER_DELETED)


def has_notes(root: Root) -> bool:
    """Whether clients leave notes in this root while they run."""
    return root.config is not None and os.path.isdir(os.path.join(root.config, "sessions"))


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


def running(root: Root) -> list[Running]:
    """The processes and sessions of those notes."""
    from hansard.clients.protocol import Running

    found = []
    for note in running_sessions(root):
        pid, session_id = note.get("pid"), note.get("sessionId")
        is_pid = isinstance(pid, int) and 0 < pid < 1 << 31
        found.append(Running(pid if is_pid else None, session_id if isinstance(session_id, str) else None))
    return found


def _read_object(path: str) -> dict[str, Any] | None:
    try:
        with open(path, "rb") as file:
            content = file.read(_SMALL_FILE)
        import json  # takes long to import, and most roots have no such file

        value = json.loads(content.decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
