"""The child processes of the ledger's figures: one process with one open engine, as a front end has it."""

from __future__ import annotations

import json
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any
from unittest import mock

import hansard
from hansard.model.ledger import PriceOverride

_ZONE = "Europe/Berlin"  # whose clocks change: a little more work than UTC
_NOBODYS = "nobody-ever-used-this"


def usage(home: str, reports: str, runs: str) -> dict[str, Any]:
    """Time each report once in each run, after one that is not counted; all must give the same total."""
    given: list[dict[str, Any]] = json.loads(reports)
    took: list[list[float]] = []
    totals = set()
    with hansard.open(home) as h:
        h.usage(by="total", timezone=_ZONE)
        for _ in range(int(runs)):
            times = []
            for options in given:
                before = time.perf_counter()
                report = h.usage(**options, timezone=_ZONE)
                times.append(time.perf_counter() - before)
                if "query" not in options:
                    totals.add(report.totals.cost_usd)
            took.append(times)
    if len(totals) != 1:
        raise SystemExit(f"reports by different dimensions have different totals: {totals}")
    return {"seconds": took, **_memory()}


def first(home: str) -> dict[str, float]:
    """Time the first report of a process, from opening the store to the last row."""
    before = time.perf_counter()
    with hansard.open(home) as h:
        h.usage(by="day", timezone=_ZONE)
        return {"seconds": time.perf_counter() - before}


def explain(home: str, runs: str) -> dict[str, Any]:
    """Time explanations of the day and of the session with the most messages."""
    with hansard.open(home) as h:
        targets = [h.usage(by=by, timezone=_ZONE, sort="messages").rows[0].key[by] or "" for by in ("day", "session")]
        took: list[list[float]] = []
        for _ in range(int(runs)):
            times = []
            for target in targets:
                before = time.perf_counter()
                told = h.explain(target, timezone=_ZONE)
                times.append(time.perf_counter() - before)
                if not told.messages:
                    raise SystemExit(f"the explanation of {target} has no messages")
            took.append(times)
        messages = [h.explain(target, timezone=_ZONE, limit=0).figure.api_messages for target in targets]
    return {"seconds": took, "messages": messages, **_memory()}


def settling(home: str, root: str) -> dict[str, float]:
    """Sync, and tell how much of the time went into prices and sums."""
    with _clocked() as clock, hansard.open(home, [root]) as h:
        before = time.perf_counter()
        h.sync()
        return {"seconds": time.perf_counter() - before, "settling": clock[0]}


def repricing(home: str, times: str) -> dict[str, Any]:
    """Time syncs that find nothing but another price list."""
    took, settled = [], []
    for number in range(2 * int(times)):  # there and back, so that the store stays as it was
        other = PriceOverride(model=_NOBODYS, input=Decimal(1), output=Decimal(2))
        with _clocked() as clock, hansard.open(home, prices=() if number % 2 else (other,)) as h:
            before = time.perf_counter()
            h.sync()
            took.append(time.perf_counter() - before)
            settled.append(clock[0])
    if not all(settled):
        raise SystemExit("another price list did not settle anything anew")
    return {"seconds": took, "settling": settled, **_memory()}


def answer(home: str, root: str, path: str, times: str) -> dict[str, list[float]]:
    """Append an answer to a transcript, and time the work until a report counts it; and of that the settling."""
    took, used, settled = [], [], []
    with hansard.open(home, [root]) as h:
        h.sync()
        counted = h.usage(by="total").totals.api_messages
        for number in range(int(times) + 1):
            add_answer(path)
            with _clocked() as clock:
                before, busy = time.perf_counter(), time.process_time()
                h.sync(only=[path])
                spent, busy = time.perf_counter() - before, time.process_time() - busy
            found = h.usage(by="total").totals.api_messages
            if found != counted + number + 1:
                raise SystemExit(f"{found - counted} of {number + 1} answers are counted")
            if number:  # the first one imports
                took.append(spent)
                used.append(busy)
                settled.append(clock[0])
    return {"seconds": took, "cpu": used, "settling": settled}


def add_answer(path: str) -> None:
    """Write an answer as the client would."""
    now = time.time()
    line = {
        "parentUuid": None,
        "isSidechain": False,
        "cwd": "/src/benchmark",
        "sessionId": path.replace("\\", "/").rpartition("/")[2].removesuffix(".jsonl"),
        "version": "2.1.112",
        "gitBranch": "main",
        "type": "assistant",
        "message": {
            "id": f"msg_01{uuid.uuid4().hex[:22]}",
            "model": "claude-opus-4-7",
            "role": "assistant",
            "content": [{"type": "text", "text": "Done."}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 4, "output_tokens": 300, "cache_read_input_tokens": 40_000},
        },
        "uuid": str(uuid.uuid4()),
        "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03}Z",
    }
    with open(path, "ab") as file:
        file.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")


def counts(home: str) -> dict[str, int]:
    """How many messages and how many sums the index has."""
    with hansard.open(home) as h:
        return {table: h.reader.one(f"SELECT count(*) FROM {table}")[0] for table in ("usage", "spending")}


def metered(config: str, messages: str, seed: str) -> dict[str, int]:
    """Write a generated history of so many API messages."""
    from benchmarks.load.metered import write_metered

    stats = write_metered(config, messages=int(messages), seed=int(seed))
    return {"files": stats.files, "bytes": stats.bytes, "lines": stats.lines, "messages": stats.messages}


@contextmanager
def _clocked() -> Iterator[list[float]]:
    """Count the seconds that settling takes meanwhile."""
    from hansard.pricing.settle import settle

    clock = [0.0]

    def clocked(*given: Any) -> None:
        before = time.perf_counter()
        settle(*given)
        clock[0] += time.perf_counter() - before

    with mock.patch("hansard.sync.indexing.settle", clocked):
        yield clock


def _memory() -> dict[str, float]:
    """This process's peak memory."""
    if sys.platform == "win32":
        return {}
    import resource

    return {"rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)}


CASES: dict[str, Callable[..., Any]] = {
    "usage": usage,
    "first-usage": first,
    "explain": explain,
    "settling": settling,
    "repricing": repricing,
    "answer": answer,
    "counts": counts,
    "metered": metered,
}
