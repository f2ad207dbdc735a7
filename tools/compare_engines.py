"""Compare the totals of one history in every engine: reports, SQL in SQLite and DuckDB, a lake in DuckDB and Spark, a team's database.

The history is pushed to the lake and to PostgreSQL twice, from two machines with different names, and must count once. Without `--history` it is
generated (`benchmarks/load/bulk.py`). PostgreSQL is started on a socket of its own; engines that are not installed are left out, and named.

    .venv/bin/python -m tools.compare_engines --size 200M
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import hansard
from benchmarks.__main__ import read_size
from benchmarks.load.bulk import write_bulk
from benchmarks.postgres import find_programs
from hansard.engine import Hansard
from hansard.lake.store import Lake
from hansard.model.requests import UsageRequest
from tests.sql.totals import KEYS, Totals, totals_in_sql, totals_of
from tests.team.server import started

MACHINES = ("laptop", "desktop")
WORKERS = "local-cluster[2,1,1024]"
Ask = Callable[[str], Totals]
as_users_ask = partial(Hansard.sql, timeout=0)


def main() -> None:
    """Compare, print a line per engine and dimension, and fail if any of them differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=read_size, default=1 << 30, help="of the generated history: 200M, 1G (1G)")
    parser.add_argument("--history", type=Path, help="a client's config directory instead of a generated history")
    parser.add_argument("--scratch", type=Path, help="where the history, the store and the lake are put")
    options = parser.parse_args()
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hansard-", dir=options.scratch)))
        history = options.history or scratch / "history"
        if options.history is None:
            files = max(40, options.size * 3000 >> 30)
            share = options.size / (1 << 30)
            written = write_bulk(
                history,
                total_bytes=options.size,
                files=files,
                biggest=int(share * (80 << 20)),
                long_line=int(share * (100 << 20)),
            )
            say(f"{written.bytes / 1e6:,.0f} MB in {written.files:,} files, {written.api_messages:,} messages")
        h = stack.enter_context(hansard.open(scratch / "store", [history]))
        begun = time.perf_counter()
        h.sync()
        say(f"synced in {time.perf_counter() - begun:.1f} s")
        expected = {by: totals_of(h.usage(by=by, timezone="UTC"), by) for by in KEYS}
        is_same = True
        for name, ask in engines(h, scratch, stack):
            for by, totals in expected.items():
                begun = time.perf_counter()
                is_equal = ask(by) == totals
                is_same &= is_equal
                seconds = time.perf_counter() - begun
                say(f"{name:14} {by:8} {len(totals):6,} rows {'equal' if is_equal else 'DIFFERENT'} {seconds:7.2f} s")
        total = h.usage(by="total").totals
        say(f"{total.api_messages:,} messages, {total.output_tokens:,} output tokens, ${total.cost_usd}")
    sys.exit(not is_same)


def engines(h: Hansard, scratch: Path, stack: ExitStack) -> Iterator[tuple[str, Ask]]:
    """The engines that are here, each with what gives its totals by a dimension."""
    yield "sql SQLite", lambda by: totals_in_sql(h, by, "sqlite", as_users_ask)
    yield "sql DuckDB", lambda by: totals_in_sql(h, by, "duckdb", as_users_ask)
    target = str(scratch / "lake")
    begun = time.perf_counter()
    for machine in MACHINES:
        h.push_lake(target=target, machine=machine, person="ann", names=True, redact="off")
    say(f"pushed twice to a lake in {time.perf_counter() - begun:.1f} s")
    lake = stack.enter_context(Lake(target))
    yield "lake DuckDB", lambda by: totals_of(lake.usage(by=by, timezone="UTC"), by)
    if find_spec("pyspark") is None or not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        say("left out: Spark (make spark)")
    else:
        os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
        yield (
            "lake Spark",
            lambda by: totals_of(lake.usage(by=by, timezone="UTC", engine="spark", master=WORKERS), by),
        )
    programs = find_programs()
    if programs is None or find_spec("psycopg") is None:
        say("left out: PostgreSQL (make postgres)")
        return
    server = stack.enter_context(started(programs))
    url = server.url("keeper")
    team = stack.enter_context(hansard.Team(url))
    team.init()
    begun = time.perf_counter()
    for machine in MACHINES:
        h.push_team(database=url, machine=machine)
    say(f"pushed twice to PostgreSQL in {time.perf_counter() - begun:.1f} s")
    yield "PostgreSQL", lambda by: totals_of(team.usage(UsageRequest(by=by, timezone="UTC")), by)


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)


if __name__ == "__main__":
    main()
