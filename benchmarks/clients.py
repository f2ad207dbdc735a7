"""Cold sync of each client's real histories, beside orjson over the same bytes.

The histories are small: each is repeated, with other ids, until it has a useful size.
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from benchmarks.data import unpack_corpus
from benchmarks.measure import Failed, child, environment, run
from benchmarks.table import Figure

TITLE = "clients: real histories of each, repeated"
_SIZE = 40_000_000  # bytes of each client
_MOST = 2000  # repetitions of one history
_MB = 1e6
_UUID = re.compile(rb"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{8})[0-9a-f]{4}")
_FOLDERS = {  # of a history that is copied: where its files are in the root
    "codex": ("sessions", "archived_sessions"),
    "copilot-cli": ("session-state",),
    "qwen": ("projects",),
}

Tell = Callable[[str], None]


def figures(scratch: Path, runs: int, tell: Tell) -> Iterator[Figure]:
    """The speed of a cold sync in MB/s, that of orjson, and how many times as much CPU time the sync takes."""
    corpus = unpack_corpus(scratch, "agents") / "agents"
    env = environment(scratch / "home")
    for client, write in _WRITERS.items():
        root, store = scratch / "clients" / client / _root_name(client), scratch / "store"
        if not root.exists():
            tell(f"{client}: preparing")
            fresh = root.parent.with_name(f"{client}.new")
            shutil.rmtree(fresh, ignore_errors=True)
            write(corpus / client, fresh / root.name)
            fresh.rename(root.parent)
        took, cpu, floors, size = [], [], [], 0
        for number in range(1, runs + 1):
            tell(f"{client}: floor and cold sync, {number} of {runs}")
            shutil.rmtree(store, ignore_errors=True)
            synced = run(child("sync", store, root), env)
            took.append(synced.seconds)
            cpu.append(synced.cpu_seconds)
            floor = run([*child()[:2], "benchmarks.clients", str(store)], env).answer
            floors.append(floor["parsing"])
            size = floor["bytes"]
        yield Figure(
            f"{client}, {size / _MB:,.0f} MB: cold sync", tuple(size / seconds / _MB for seconds in took), "MB/s"
        )
        if any(cpu):
            yield Figure("  by the CPU time of its processes", tuple(size / seconds / _MB for seconds in cpu), "MB/s")
        yield Figure("  orjson over the same bytes", tuple(size / seconds / _MB for seconds in floors), "MB/s")
        ratios = [(used or seconds) / floor for used, seconds, floor in zip(cpu, took, floors, strict=True)]
        yield Figure("  CPU time of the cold sync / orjson", tuple(ratios), "x")


def _root_name(client: str) -> str:
    return "saoudrizwan.claude-dev" if client == "cline" else client


def _repeated(files: list[tuple[Path, str]], root: Path) -> None:
    """Write files, each under a path in the root, as often as it takes; `{}` in a path is the number of the copy."""
    whole = sum(source.stat().st_size for source, _ in files)
    if not whole:
        raise Failed(f"skipped: the corpus has no history for {root.name}")
    for number in range(min(_MOST, -(-_SIZE // whole))):
        for source, path in files:
            place = root / _renamed(path.encode(), number).decode().replace("{}", str(number))
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(_renamed(source.read_bytes(), number))


def _renamed(data: bytes, number: int) -> bytes:
    """Other ids, with the times that some of them begin with."""
    return _UUID.sub(rb"\g<1>%04x" % number, data) if number else data


def _copied(history: Path, root: Path) -> None:
    files = [
        (path, str(path.relative_to(folder.parent)))
        for name in _FOLDERS[root.name]
        for folder in sorted(history.glob(f"*/{name}"))
        for path in sorted(folder.rglob("*.jsonl"))
    ]
    _repeated(files, root)


def _gemini(history: Path, root: Path) -> None:
    files = [
        (path, f"tmp/{path.parent.parent.name}-{{}}/chats/{path.name}")
        for path in sorted(history.rglob("chats/session-*.json*"))
    ]
    _repeated(files, root)


def _cline(history: Path, root: Path) -> None:
    files = [
        (path, f"tasks/17{place:05}{{}}/{path.name}")
        for place, path in enumerate(sorted(history.glob("*/ui_messages.json")))
    ]
    _repeated(files, root)


def _opencode(history: Path, root: Path) -> None:
    """One database with the sessions of all, repeated under other ids."""
    sources = sorted(history.glob("*/opencode.db"), key=lambda path: path.stat().st_size)
    if not sources:
        raise Failed("skipped: the corpus has no history for opencode")
    root.mkdir(parents=True)
    path = root / "opencode.db"
    shutil.copyfile(sources[-1], path)
    with closing(sqlite3.connect(path)) as db:
        size = path.stat().st_size
        for table in ("session", "message", "part"):
            names = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
            rows = db.execute(f"SELECT * FROM {table}").fetchall()
            ids = [place for place, name in enumerate(names) if name in ("id", "session_id", "message_id", "parent_id")]
            for number in range(1, -(-_SIZE // size)):
                for row in rows:
                    values = [
                        f"{value}x{number}" if place in ids and value else value for place, value in enumerate(row)
                    ]
                    db.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(names))})", values)
        # As the client has them; the database of the corpus was copied without.
        db.execute("CREATE INDEX IF NOT EXISTS message_session_idx ON message (session_id, time_created, id)")
        db.execute("CREATE INDEX IF NOT EXISTS part_message_id_idx ON part (message_id, id)")
        db.execute("CREATE INDEX IF NOT EXISTS part_session_idx ON part (session_id)")
        db.commit()


_WRITERS: dict[str, Callable[[Path, Path], None]] = {
    "codex": _copied,
    "copilot-cli": _copied,
    "gemini": _gemini,
    "qwen": _copied,
    "cline": _cline,
    "opencode": _opencode,
}


def main() -> None:
    """Parse every line of a store's transcripts with orjson, or a whole document where the client writes one."""
    import orjson

    import hansard

    loads, clock = orjson.loads, time.process_time  # other processes of the machine do not count
    parsing = 0.0
    size = bad = 0
    with hansard.open(sys.argv[1]) as h:
        for generation in h.record.generations():
            content = b"".join(h.record.read(generation.id))
            parts = content.split(b"\n") if generation.path.endswith(".jsonl") else [content]
            size += len(content)
            before = clock()
            for part in parts:
                try:
                    loads(part)
                except ValueError:
                    bad += bool(part)
            parsing += clock() - before
    print(json.dumps({"parsing": parsing, "bytes": size, "bad": bad}))


if __name__ == "__main__":
    main()
