"""`python -m hansard.export.helper`: a process that draws some of the sessions, as its standard input tells it.

Each message is a line of JSON: first the job, then a session's id and the path of its file, answered by what was written or by
what went wrong.
"""

from __future__ import annotations

import contextlib
import gc
import json
import sys
from dataclasses import asdict
from typing import IO


def serve(stdin: IO[str], stdout: IO[str]) -> None:
    """Do what comes in, one after the other."""
    from zoneinfo import ZoneInfo

    from hansard.export.drawing import Drawer, reason
    from hansard.export.files import NotWritten
    from hansard.thread.store import ThreadStore

    job = json.loads(stdin.readline())
    with contextlib.closing(ThreadStore.open(job["store"])) as store:
        drawer = Drawer(store, job["form"], zone=ZoneInfo(job["zone"]), home=job["home"])
        for line in stdin:
            session_id, path = json.loads(line)
            try:
                answer = asdict(drawer.draw(store.find(session_id), path))
            except NotWritten as error:
                answer = {"not_written": str(error)}
            except Exception as error:  # noqa: BLE001 - whatever one session does to the drawing, the others go on
                answer = {"failed": reason(error)}
            stdout.write(json.dumps(answer) + "\n")
            stdout.flush()


if __name__ == "__main__":
    gc.freeze()
    # An OSError is a pipe without its other end: whoever started this has gone.
    with contextlib.suppress(KeyboardInterrupt, OSError):
        serve(sys.stdin, sys.stdout)
