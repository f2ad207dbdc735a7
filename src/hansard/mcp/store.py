"""Answers from the store, which is brought up to date first for as long as a client may wait."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from hansard.errors import HansardError, NotFound

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
        self._sync: threading.Thread | None = None
        self.trouble = ""  # why the last sync failed

    def ask(self, question: Callable[[Hansard], _Answer]) -> _Answer:
        """The answer to a question about one state of the store, which is as new as a short wait allows."""
        if self._syncing:
            self._bring_up_to_date()
        with self._settings.open() as h:
            if not os.path.exists(os.path.join(h.home, "index.db")):
                raise NotFound(self._nothing(h))
            with h.at_once():
                return question(h)

    def hint(self, h: Hansard) -> str:
        """What is to be said about an answer that may lack something; empty where all is indexed."""
        if progress := h.sync_progress():
            return f"The history is still being indexed ({progress.words}); older sessions may be missing."
        return f"The newest messages may be missing: {self.trouble}" if self.trouble else ""

    @property
    def is_syncing(self) -> bool:
        """Whether a sync of ours is going on."""
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
