"""One sync of a store at a time."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager

from hansard.storage.lock import file_lock


def sync_lock(home: str, wait_seconds: float) -> AbstractContextManager[bool]:
    """Hold the store's sync lock; gives False when another process holds it and does not let go in time."""
    return file_lock(os.path.join(home, "sync.lock"), wait_seconds)
