"""`python -m hansard.sync.worker HOME NAME`: the second process of a large sync."""

from __future__ import annotations

import contextlib
import gc
import sys

if __name__ == "__main__":
    gc.disable()  # nothing here makes cycles, and a long-lived heap is costly to scan
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        from hansard.sync.text import work

        sys.exit(0 if work(sys.argv[1], sys.argv[2]) else 1)
    sys.exit(1)
