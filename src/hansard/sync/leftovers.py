"""What killed processes leave in a data directory."""

from __future__ import annotations

import os
import shutil

from hansard.storage.sqlite import remove_partial
from hansard.sync.data_files import CHECK, INDEX, NEW, TEXT, place

SAMPLE_PREFIX = "verify-"


def remove_leftovers(home: str) -> None:
    """Remove unfinished databases of a rebuild, a repair or a verification; the caller holds the sync lock, as they did."""
    from hansard.index.store import discard

    remove_partial(home)
    for name in (INDEX, TEXT):
        for suffix in (NEW, CHECK):
            if os.path.exists(place(home, name + suffix)):
                discard(place(home, name + suffix))
    for name in os.listdir(home):
        if name.startswith(SAMPLE_PREFIX) and os.path.isdir(place(home, name)):
            shutil.rmtree(place(home, name), ignore_errors=True)
