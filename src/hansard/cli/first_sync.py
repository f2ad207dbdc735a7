"""What a command does while the first sync of a large history is not complete: go on in the background, wait for it, say so."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from hansard.render.format import size

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.model.coverage import Coverage
    from hansard.sync.report import SyncReport

_LOOK_SECONDS = 0.5


def sync_in_background(h: Hansard) -> bool:
    """Start `hansard sync` on this store as a process of its own; False where none can be started."""
    from hansard.cli.background import START, spawn

    if not sys.executable:
        return False
    command = [sys.executable, "-P", "-c", START, "sync", "--home", h.home]
    for root in h.roots:
        command += ["--root", root.path]
    for folder in h.roots[0].follow_links if h.roots else ():
        command += ["--follow-links", folder]
    try:
        spawn(command)
    except OSError:
        return False
    return True


def wait_until_complete(h: Hansard) -> SyncReport:
    """Sync as soon as another process has done so, however long that takes."""
    from hansard.cli.output.progress import CountBar, SyncBar

    with CountBar("Waiting for another sync", after=0) as waiting, SyncBar(after=1.0) as bar:
        while (report := h.sync(listener=bar)).busy:
            while progress := h.sync_progress():
                waiting(progress.files, progress.files_total)
                time.sleep(_LOOK_SECONDS)
    return report


def describe(coverage: Coverage, *, syncing: bool) -> str:
    """What an answer covers, in words."""
    part = f"{coverage.transcripts:,} of {coverage.transcripts_total:,} transcripts"
    sizes = f"{size(coverage.bytes)} of {size(coverage.bytes_total)}"
    rest = "the rest is being indexed in the background" if syncing else "`hansard sync` indexes the rest"
    return f"results cover the newest {part} ({sizes}); {rest}"
