"""The child processes of the search figures: one process with one open engine, as a front end has it."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hansard

LIMIT = 10  # a page as it comes by default


def search(home: str, queries: str, runs: str, group: str) -> dict[str, Any]:
    """Time every query once in each run, after a pass over other queries; hits come with their snippets."""
    given = json.loads(Path(queries).read_text(encoding="utf-8"))
    by_session = group == "group"
    took: list[list[float]] = []
    shown: list[int] = []
    with hansard.open(home) as h:
        for text in given["warm"]:
            h.search(text, limit=LIMIT, group=by_session)
        for number in range(int(runs)):
            times = []
            for text in given["measured"]:
                before = time.perf_counter()
                page = h.search(text, limit=LIMIT, group=by_session)
                times.append(time.perf_counter() - before)
                if number == 0:
                    shown.append(len(page.sessions or ()) if by_session else len(page.hits))
            took.append(times)
    return {"seconds": took, "shown": shown}


def first(home: str, query: str) -> dict[str, float]:
    """Time the first query of a process, from opening the store to the page."""
    before = time.perf_counter()
    with hansard.open(home) as h:
        h.search(query, limit=LIMIT)
        return {"seconds": time.perf_counter() - before}


def pages(home: str, query: str, count: str, group: str) -> dict[str, float]:
    """Read so many pages of a query, and tell this process's peak memory."""
    seen, cursor = 0, None
    with hansard.open(home) as h:
        for _ in range(int(count)):
            page = h.search(query, limit=LIMIT, cursor=cursor, group=group == "group")
            seen += len(page.sessions or ()) if group == "group" else len(page.hits)
            cursor = page.next_cursor
            if cursor is None:
                break
    told: dict[str, float] = {"seen": seen}
    if sys.platform != "win32":
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        told["rss"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return told


def rows(home: str) -> dict[str, int]:
    """How many blocks the full-text index has."""
    import apsw

    db = apsw.Connection(os.path.join(home, "text.db"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        counts = db.execute(
            "SELECT count(*) FROM titles UNION ALL SELECT count(*) FROM talk UNION ALL SELECT count(*) FROM work"
        )
        return {"rows": sum(int(count) for (count,) in counts)}
    finally:
        db.close()


def grep(home: str, patterns: str) -> dict[str, list[float]]:
    """Time decompressing the whole record in one thread, in turn with each search of it."""
    given: list[tuple[str, bool]] = json.loads(patterns)
    took: dict[str, list[float]] = {"decompress": [], "grep": [], "matches": []}
    with hansard.open(home) as h:
        decompress(h)
        for pattern, ignore_case in given:
            before = time.perf_counter()
            decompress(h)
            between = time.perf_counter()
            matches = sum(1 for _ in h.grep(pattern, ignore_case=ignore_case))
            took["grep"].append(time.perf_counter() - between)
            took["decompress"].append(between - before)
            took["matches"].append(matches)
    return took


def decompress(h: hansard.Hansard) -> int:
    """Read every byte of every transcript that is kept."""
    ids = [row[0] for row in h.reader.rows("SELECT id FROM transcripts ORDER BY id", ())]
    return sum(len(piece) for transcript in ids for piece in h.record.read(transcript))


CASES: tuple[Callable[..., Any], ...] = (search, first, pages, rows, grep)
