"""The processes of queries: their limits of time and memory hold whatever the engines do, and none outlives its purpose."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hansard.engine import Hansard
from hansard.errors import UsageError

needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="this system does not list processes")
ENGINES = ("sqlite", "duckdb")
ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
SORT = (
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 60)"
    " SELECT length(v) FROM (SELECT DISTINCT printf('%.*c', 30000000, 'a') || x AS v FROM n) ORDER BY v"
)


@pytest.fixture
def one(hard: tuple[Hansard, str]) -> Hansard:
    return hard[0]


def wait_for(condition: Callable[[], bool]) -> None:
    """Look until it holds; a test that waits in vain ends by the runner's limit."""
    while not condition():
        time.sleep(0.005)


def children(process: int) -> list[int]:
    try:
        return [
            int(child)
            for tasks in Path(f"/proc/{process}/task").iterdir()
            for child in (tasks / "children").read_text().split()
        ]
    except OSError:
        return []


def is_running(process: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False


@pytest.mark.parametrize(
    ("engine", "sql"),
    [
        ("sqlite", f"{ENDLESS} SELECT sum(x) FROM n"),
        ("sqlite", SORT),  # few steps, each of which takes long
        ("duckdb", f"{ENDLESS} SELECT sum(x) FROM n"),
        ("duckdb", "SELECT count(*) FROM range(1000000000) a, range(1000000000) b"),
    ],
)
def test_a_query_ends_in_time(one: Hansard, engine: str, sql: str) -> None:
    if engine == "duckdb":
        pytest.importorskip("duckdb")
    with pytest.raises(UsageError, match=r"longer than 0\.2 s"):
        _ = one.sql(sql, engine=engine, timeout=0.2).rows


def test_a_query_may_take_as_long_as_it_needs(one: Hansard) -> None:
    assert one.sql("SELECT 1", timeout=0).rows == [(1,)]


@needs_proc
@pytest.mark.parametrize(
    ("engine", "sql"),
    [
        ("duckdb", "SELECT repeat('x', 4000000000)"),
        ("duckdb", "SELECT length(repeat('x', 400000000) || i) FROM range(20) t(i)"),
        ("duckdb", "SELECT list(x) FROM range(1000000000) r(x)"),
        ("sqlite", f"SELECT {', '.join(['zeroblob(60000000) || 1'] * 20)}"),
        ("sqlite", f"SELECT {', '.join(['json_array(hex(zeroblob(20000000)))'] * 20)}"),
    ],
)
def test_memory_is_limited(one: Hansard, engine: str, sql: str) -> None:
    """What its process used at most is what the system measured."""
    if engine == "duckdb":
        pytest.importorskip("duckdb")
    script = (
        "import hansard, resource, sys\nfrom hansard.errors import UsageError\n"
        "with hansard.open(sys.argv[1], []) as h:\n"
        "    try:\n        h.sql(sys.argv[2], engine=sys.argv[3], memory=256).rows\n"
        "    except UsageError as error:\n        print(error)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, one.home, sql, engine], check=True, capture_output=True, text=True
    )
    told, used = done.stdout.splitlines()
    assert "needs more than 256 MiB" in told
    assert int(used) < 256 + 192 + 100  # the limit, what is spared for the process, and itself


@needs_proc
def test_rows_wait_for_their_reader(one: Hansard) -> None:
    """An engine is not ahead of the reader by more than the pipe holds, and an answer that is left ends its process."""
    before = set(children(os.getpid()))
    answer = one.sql(f"{ENDLESS} SELECT x FROM n", timeout=0)
    (process,) = set(children(os.getpid())) - before
    rows = iter(answer)
    assert [next(rows) for _ in range(3000)] == [(number,) for number in range(1, 3001)]
    assert is_running(process)
    del rows, answer
    gc.collect()
    wait_for(lambda: not is_running(process))


@needs_proc
@pytest.mark.parametrize("engine", ENGINES)
def test_no_process_outlives_the_program(one: Hansard, engine: str) -> None:
    if engine == "duckdb":
        pytest.importorskip("duckdb")
    script = "import hansard, sys\nhansard.open(sys.argv[1], []).sql(sys.argv[2], engine=sys.argv[3], timeout=0).rows"
    sql = f"{ENDLESS} SELECT sum(x) FROM n"
    program = subprocess.Popen([sys.executable, "-c", script, one.home, sql, engine])
    try:
        wait_for(lambda: bool(children(program.pid)))
        (process,) = children(program.pid)
    finally:
        program.kill()
        program.wait()
    wait_for(lambda: not is_running(process))


@needs_proc
@pytest.mark.parametrize("engine", ENGINES)
def test_ctrl_c_ends_a_query(one: Hansard, tmp_path: Path, engine: str) -> None:
    if engine == "duckdb":
        pytest.importorskip("duckdb")
    sql = "SELECT count(*) FROM range(1000000000) a, range(1000000000) b" if engine == "duckdb" else SORT
    command = [sys.executable, "-m", "hansard", "sql", "--home", one.home, "--no-sync", "--engine", engine, sql]
    program = subprocess.Popen([*command, "--timeout", "0"], start_new_session=True, stderr=subprocess.PIPE)
    wait_for(lambda: bool(children(program.pid)))
    (process,) = children(program.pid)
    os.killpg(program.pid, signal.SIGINT)  # as a terminal sends it
    _, told = program.communicate()
    assert program.returncode in (130, -signal.SIGINT)
    assert b"Traceback" not in told
    wait_for(lambda: not is_running(process))


def test_errors_keep_their_class(one: Hansard, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such column"):
        one.sql("SELECT nope FROM usage")
    with pytest.raises(UsageError, match="malformed JSON"):
        _ = one.sql(f"{ENDLESS} SELECT iif(x > 5000, json(x || '}}'), x) FROM n LIMIT 9000").rows
