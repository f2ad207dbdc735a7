"""`python -m benchmarks.child CASE ...`: what is measured inside a fresh process; prints one JSON document.

Everything heavy happens here and not in the parent: Linux carries a process's peak memory over to what it executes, so a
parent that was ever large would show in the getrusage figures of its children.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import uuid
from collections.abc import Callable

import hansard


def sync(home: str, root: str) -> dict[str, float]:
    """Sync, and tell what the system says of this process's peak memory and of its children's."""
    with hansard.open(home, [root]) as h:
        report = h.sync()
    told: dict[str, float] = {"seconds": report.seconds, "bytes_read": report.bytes_read, "records": report.records}
    if sys.platform != "win32":
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        told["own_rss"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
        told["worker_rss"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit
    return told


def warm(home: str, root: str, times: str) -> dict[str, list[float]]:
    """Time syncs that find nothing, in turn with a bare walk of the same root."""
    walks, syncs = [], []
    with hansard.open(home, [root]) as h:
        h.sync()  # the first one imports
        for _ in range(int(times)):
            before = time.perf_counter()
            walk(root)
            between = time.perf_counter()
            report = h.sync()
            syncs.append(time.perf_counter() - between)
            walks.append(between - before)
            if report.changed:
                raise SystemExit("something changed during a warm sync")
    return {"walk": walks, "sync": syncs}


def walk(folder: str) -> int:
    """The least that can notice a change: list every folder and ask for the status of every file."""
    size = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                size += walk(entry.path)
            else:
                size += entry.stat().st_size
    return size


def append(home: str, root: str, path: str, times: str) -> dict[str, list[float]]:
    """Append a line with a new word, and time the work until a search finds the word.

    `only`: the path is known, as in `watch`. `full`: the roots are walked, as any command does. `again`: a second walk right
    after, when the file's time is still too near to be trusted and its content must be compared.
    """
    took: dict[str, list[float]] = {"only": [], "full": [], "again": []}
    with hansard.open(home, [root]) as h:
        for case in ("only", "full"):
            for _ in range(int(times)):
                word = f"zq{uuid.uuid4().hex}"
                add_line(path, word)
                before = time.perf_counter()
                h.sync(only=[path] if case == "only" else None)
                found = search(home, word)
                took[case].append(time.perf_counter() - before)
                if found != 1:
                    raise SystemExit(f"the word appended to {path} was found {found} times")
                if case == "full":
                    before = time.perf_counter()
                    h.sync()
                    took["again"].append(time.perf_counter() - before)
    return took


def add_line(path: str, word: str) -> None:
    """Write a prompt as the client would."""
    now = time.time()
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03}Z"
    line = {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/mira/src/benchmark",
        "sessionId": os.path.basename(path).removesuffix(".jsonl"),
        "version": "2.1.20",
        "type": "user",
        "message": {"role": "user", "content": f"Where is {word} defined?"},
        "uuid": str(uuid.uuid4()),
        "timestamp": stamp,
    }
    with open(path, "ab") as file:
        file.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")


def search(home: str, word: str) -> int:
    """Count the blocks with a word, on a new connection as a search command has."""
    import apsw

    db = apsw.Connection(os.path.join(home, "text.db"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return sum(
            1
            for _ in db.execute(
                "SELECT rowid FROM talk WHERE talk MATCH ?1 UNION ALL SELECT rowid FROM work WHERE work MATCH ?1",
                (f'"{word}"',),
            )
        )
    finally:
        db.close()


def watch(home: str, root: str) -> None:
    """Stay current until somebody ends this process."""
    with hansard.open(home, [root]) as h:
        for _ in h.watch(threading.Event()):
            pass


def unpack(packed: str, target: str) -> None:
    """Unpack a .tar.zst by hand: tarfile's filters came with Python 3.11.4."""
    import shutil
    import tarfile
    from pathlib import Path

    import zstandard

    with (
        open(packed, "rb") as file,
        zstandard.ZstdDecompressor().stream_reader(file) as plain,
        tarfile.open(fileobj=plain, mode="r|") as tar,
    ):
        for member in tar:
            path = Path(target) / member.name
            if ".." in path.parts or not path.is_relative_to(target):
                raise SystemExit(f"{packed}: {member.name} leads out of the archive")
            if member.isreg() and (content := tar.extractfile(member)) is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("wb") as copy:
                    shutil.copyfileobj(content, copy)
                os.utime(path, (member.mtime, member.mtime))


def bulk(config: str, total: str, files: str, seed: str, biggest: str, long_line: str) -> dict[str, int]:
    """Write a generated history."""
    from benchmarks.load.bulk import write_bulk

    stats = write_bulk(
        config,
        total_bytes=int(total),
        files=int(files),
        seed=int(seed),
        biggest=int(biggest),
        long_line=int(long_line),
    )
    return {"files": stats.files, "bytes": stats.bytes, "lines": stats.lines}


def dense(config: str, blocks: str, seed: str) -> dict[str, int]:
    """Write a generated history of so many blocks."""
    from benchmarks.load.dense import write_dense

    stats = write_dense(config, blocks=int(blocks), seed=int(seed))
    return {"files": stats.files, "bytes": stats.bytes, "lines": stats.lines, "blocks": stats.blocks}


def versions() -> dict[str, str]:
    """What the engine stands on."""
    import apsw

    return {"apsw": apsw.apsw_version(), "sqlite": apsw.sqlite_lib_version()}


def _cases() -> dict[str, Callable[..., object]]:
    from benchmarks import asking, counting, lake, long_session, paging, searching, secret_cases, sql_cases, team

    more: dict[str, Callable[..., object]] = {"long-session": long_session.write_long_session, "load-page": paging.load}
    own: tuple[Callable[..., object], ...] = (sync, warm, append, watch, unpack, bulk, dense, versions)
    return (
        {case.__name__: case for case in (*own, *searching.CASES)}
        | counting.CASES
        | asking.CASES
        | secret_cases.CASES
        | lake.CASES
        | team.CASES
        | sql_cases.CASES
        | more
    )


if __name__ == "__main__":
    print(json.dumps(_cases()[sys.argv[1]](*sys.argv[2:])))
