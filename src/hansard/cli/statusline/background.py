"""Starting a refresh that goes on when the line is printed: at most one at a time."""

from __future__ import annotations

import os

from hansard.cli.background import ProcessLock, start_once

TYPE_CHECKING = False  # `typing` would be the largest import
if TYPE_CHECKING:
    from hansard.cli.statusline.run import Options

FILE = "statusline.lock"


def refresh_lock(home: str) -> ProcessLock:
    """The lock that a refresh holds."""
    return ProcessLock(os.path.join(home, FILE))


def start_refresh(options: Options, home: str) -> None:
    """Start a refresh that outlives this process, unless one is running or was started just now."""
    try:
        if not options.no_sync:
            os.makedirs(home, mode=0o700, exist_ok=True)
        start_once(refresh_lock(home), ["statusline", "--refresh", *options.arguments(home)], options.every)
    except OSError:  # no home, a read-only one, no more processes: the line is printed, and that is what counts
        return
