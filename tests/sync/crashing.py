"""Run as a script: start the same work again and again, and let each run die at another moment.

    python crashing.py WORK CONFIG TEMPLATE OUT STRIDE

WORK is "sync", "staged" (a large first sync, the newest part first), "rebuild", "repair", "remark" or "erase". A copy of the store TEMPLATE is made for each run, under OUT. The n-th run is killed at the n-th
moment: right before or right after a commit of any of the databases, or before a file is replaced, removed or overwritten. Of the moments before a
commit each STRIDE-th is taken: what is on the disk then is what the commit before it left, and frames of a log that nothing refers to. When a run has
no such moment left the work was finished. The names of the copies are printed, one per line.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

if TYPE_CHECKING:
    from tests.sync.making import Tree

PROJECT = Path(__file__).resolve().parents[2]
MOMENTS = ("before", "after", "files")
SMALL = 6_000  # bytes per commit: many of them in a small history


def _die_at(moment: str, number: int) -> None:
    left = itertools.count(1)

    def passed() -> None:
        if next(left) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    def hook(db: apsw.Connection) -> None:
        if moment == "before":

            def before() -> bool:
                passed()
                return False

            db.set_commit_hook(before)
        else:

            def after(_db: apsw.Connection, _name: str, _pages: int) -> int:
                passed()
                return apsw.SQLITE_OK

            db.set_wal_hook(after)

    if moment == "files":
        from hansard.sync import overwriting

        for module, name in ((os, "unlink"), (os, "replace"), (os, "link"), (overwriting, "_write")):
            real = getattr(module, name)

            def wrapped(*given: Any, _real: Any = real, **named: Any) -> None:
                passed()
                _real(*given, **named)

            setattr(module, name, wrapped)
    else:
        apsw.connection_hooks.append(hook)


def _work(work: str, config: str, home: str) -> None:
    from hansard.clients.roots import open_roots
    from hansard.sync import indexing, record_writer, run, text
    from hansard.sync.rebuild import rebuild
    from hansard.sync.report import SyncRequest

    indexing._COMMIT_BYTES = text._COMMIT_BYTES = SMALL
    record_writer._FIRST_COMMIT = record_writer._LAST_COMMIT = SMALL
    if work == "repair":
        from hansard.model.store_requests import VerifyRequest
        from hansard.sync import verify as verifying
        from hansard.sync.verify import verify

        verifying.SAMPLE = 0  # what it commits is thrown away
        indexing._COMMIT_BYTES = text._COMMIT_BYTES = record_writer._FIRST_COMMIT = record_writer._LAST_COMMIT = 1 << 20
        verify(home, open_roots([config]), VerifyRequest(repair=True))
    elif work == "rebuild":
        rebuild(home, workers=False)
    elif work == "erase":
        from hansard.sync.erasing import erase
        from tests.sync.secrets import SECRET, order_for

        erase(home, lambda record: order_for(record, SECRET))
    elif work == "remark":
        from hansard.sync.remarking import naming, remark
        from tests.sync.hard import OLD

        remark(home, naming(OLD, "Mine"))
    else:
        if work == "staged":
            from hansard.sync import newest

            newest.LARGE_BYTES, newest.NEWEST_BYTES, newest.FILE_BYTES = 0, SMALL // 4, 0
            indexing._COMMIT_BYTES = text._COMMIT_BYTES = record_writer._FIRST_COMMIT = record_writer._LAST_COMMIT = (
                1 << 20
            )
        run.sync(home, open_roots([config]), SyncRequest(workers=work == "workers", row_workers=2))


def crash(work: str, config: str, template: str, out: str, stride: str) -> list[str]:
    """Every store that was left behind by a run which died."""
    left = []
    warm = Path(out) / "warm"  # what the work imports and reads once is there before the forks
    if Path(template).exists():
        shutil.copytree(template, warm)
    _work(work, config, str(warm))
    shutil.rmtree(warm)
    # The parts of a staged sync, or of one with workers, are those of the others: what is new is that they are left behind unfinished.
    for moment in MOMENTS if work not in ("staged", "workers") else ("after",):
        for number in itertools.count(1, int(stride) if moment == "before" else 1):
            home = str(Path(out) / f"{work}-{moment}-{number}")
            if Path(template).exists():
                shutil.copytree(template, home)
            child = os.fork()
            if child == 0:
                _die_at(moment, number)
                _work(work, config, home)
                os._exit(0)
            _, status = os.waitpid(child, 0)
            if status == 0:
                shutil.rmtree(home)
                break
            if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL:
                raise SystemExit(f"{home}: ended with {status}, not by the kill")
            left.append(home)
    return left


def crashed_stores(work: str, tree: Tree, template: Path, out: Path, soak: int) -> list[Path]:
    """Every store that was left behind, by runs of this script."""
    out.mkdir()
    command = [sys.executable, __file__, work, str(tree.config), str(template), str(out), "1" if soak > 1 else "4"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PROJECT / "src"), str(PROJECT)])}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return [Path(line) for line in done.stdout.splitlines()]


if __name__ == "__main__":
    print("\n".join(crash(*sys.argv[1:])))  # noqa: T201 - what the test reads
