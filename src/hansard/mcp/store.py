"""What answers are made of: the store, brought up to date first, and the repository whose sessions may be shown."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote, urlsplit

from hansard.errors import HansardError, NotFound
from hansard.sources.git import find_worktree

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hansard.config import Settings
    from hansard.engine import Hansard


PATIENCE_SECONDS = 5.0
"""How long a question waits for a sync; the answer then comes from what is indexed."""

_Answer = TypeVar("_Answer")


class Store:
    """The user's store; one thread asks it, and a second one syncs."""

    def __init__(self, settings: Settings, *, syncing: bool = True) -> None:
        self._settings = settings
        self._syncing = syncing
        self._sync: threading.Thread | None = None
        self.trouble = ""  # why the last sync failed

    def ask(self, question: Callable[[Hansard], _Answer]) -> _Answer:
        """Answer from one state of the store, synced as far as a short wait allows."""
        if self._syncing:
            self._bring_up_to_date()
        with self._settings.open() as h:
            if not os.path.exists(os.path.join(h.home, "index.db")):
                raise NotFound(self._nothing(h))
            with h.at_once():
                return question(h)

    def hint(self, h: Hansard) -> str:
        """A hint that an answer may be incomplete; empty if everything is indexed."""
        if progress := h.sync_progress():
            return f"The history is still being indexed ({progress.words}); older sessions may be missing."
        return f"The newest messages may be missing: {self.trouble}" if self.trouble else ""

    @property
    def is_syncing(self) -> bool:
        """Whether our sync is running."""
        return self._sync is not None and self._sync.is_alive()

    def _bring_up_to_date(self) -> None:
        if not self.is_syncing:
            self._sync = threading.Thread(target=self._run_sync, name="sync", daemon=True)
            self._sync.start()
        if self._sync is not None:
            self._sync.join(PATIENCE_SECONDS)

    def _run_sync(self) -> None:
        try:
            with self._settings.open() as h:
                if h.roots:
                    h.sync()
            self.trouble = ""
        except HansardError as error:
            self.trouble = str(error)

    def _nothing(self, h: Hansard) -> str:
        if self.trouble:
            return self.trouble
        if self.is_syncing or h.sync_progress():
            return "The history is being indexed for the first time. Try again in a minute."
        return "No Claude Code history found: `hansard mcp` takes --root DIR, and reads CLAUDE_CONFIG_DIR."


def repository_of(folder: str) -> str:
    """The main repository of a folder or worktree; the folder itself if it is not in one."""
    folder = os.path.realpath(folder)
    found = find_worktree(folder)
    return (found[1] or found[0]) if found is not None else folder


def start_folder(environ: Mapping[str, str]) -> str:
    """The client's folder: CLAUDE_PROJECT_DIR, or the current directory."""
    return environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()


def folder_of_uri(uri: str) -> str | None:
    """The folder of a file URI; None unless it is on this machine."""
    try:
        parts = urlsplit(uri)
    except ValueError:  # malformed brackets in the host
        return None
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    path = unquote(parts.path)
    if os.name == "nt":
        path = path.removeprefix("/")
    try:
        return path if os.path.isabs(path) and os.path.realpath(path) else None
    except (OSError, ValueError):  # a NUL character, half a surrogate pair
        return None


class Repository:
    """The client's repository: that of its first root, or else of its folder."""

    def __init__(self, folder: str) -> None:
        self._start = folder
        self._roots: tuple[str, ...] = ()

    def use_roots(self, uris: Iterable[str]) -> None:
        """Use the roots that the client reports."""
        self._roots = tuple(folder for uri in uris if (folder := folder_of_uri(uri)))

    @property
    def working_folder(self) -> str:
        """The client's folder, which may be a worktree or inside its repository."""
        return os.path.realpath(self._roots[0] if self._roots else self._start)

    @property
    def folder(self) -> str:
        return repository_of(self.working_folder)

    @property
    def folders(self) -> tuple[str, ...]:
        """The repository, and the client's worktree of it."""
        found = find_worktree(self.working_folder)
        return (self.folder, found[0]) if found is not None else (self.folder, self.working_folder)


def is_inside(project: str, folder: str) -> bool:
    """Whether a path is a folder or inside it."""
    folder = folder.rstrip("/\\") or folder
    return project == folder or project.startswith((folder + "/", folder + "\\"))
