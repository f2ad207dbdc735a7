"""The store, synced before each answer, and the repository whose sessions may be shown."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote, urlsplit

from hansard.background_sync import BackgroundSync
from hansard.errors import NotFound
from hansard.sources.git import find_worktree

if TYPE_CHECKING:
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
        self._sync = BackgroundSync(settings.open, syncing=False)
        self._is_redacting = False
        self._unsearched: int | None = None
        """Bytes that were never searched for secrets, until an answer has said so; None: not counted yet."""

    def ask(self, question: Callable[[Hansard], _Answer]) -> _Answer:
        """Answer from one state of the store, synced as far as a short wait allows."""
        if self._syncing:
            self._sync.catch_up(PATIENCE_SECONDS)
        if not self._is_redacting:
            self._settings.redact_texts()
            self._is_redacting = True
        with self._settings.open() as h:
            if not os.path.exists(os.path.join(h.home, "index.db")):
                raise NotFound(self._why_empty())
            if self._unsearched is None:
                self._unsearched = 0 if self.redact == "off" else h.unsearched_bytes()
            with h.at_once():
                return question(h)

    @property
    def redact(self) -> str:
        """How secrets are redacted in answers."""
        return self._settings.redact_outgoing

    def hint(self) -> str:
        """A hint that an answer may be incomplete, and once what redaction may miss; empty if there is nothing to say."""
        state = self._sync.state if self._syncing else self._sync.refresh()
        hints = []
        if self._unsearched:
            from hansard.render.secrets import unsearched_words

            hints.append(f"{unsearched_words(self._unsearched)}.")
            self._unsearched = 0
        if state.progress:
            hints.append(f"The history is still being indexed ({state.progress}); older sessions may be missing.")
        elif state.trouble:
            hints.append(f"The newest messages may be missing: {state.trouble}")
        return " ".join(hints)

    @property
    def is_syncing(self) -> bool:
        return self._sync.is_syncing

    def _why_empty(self) -> str:
        state = self._sync.refresh()
        if state.trouble:
            return state.trouble
        if state.syncing:
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
    """The repository that answers are about: the one that the user chose, that of the client's first root, or else of its folder."""

    def __init__(self, folder: str, *, is_chosen: bool = False) -> None:
        self._start = folder
        self._is_chosen = is_chosen
        self._roots: tuple[str, ...] = ()

    def use_roots(self, uris: Iterable[str]) -> None:
        """Use the roots that the client reports, unless the user chose a folder."""
        if self._is_chosen:
            return
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
    folder = folder.rstrip("/\\") or folder
    return project == folder or project.startswith((folder + "/", folder + "\\"))
