"""`python -m hansard.sync.worker HOME`: the second process of a large sync."""

from __future__ import annotations

import contextlib
import gc
import sys

if __name__ == "__main__":
    gc.disable()  # nothing here makes cycles, and a long-lived heap is costly to scan
    with contextlib.suppress(KeyboardInterrupt):
        from hansard.sync.text import work

        work(sys.argv[1])
        sys.exit(0)
    sys.exit(1)
