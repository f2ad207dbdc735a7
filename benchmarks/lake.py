"""A lake: what a push, reports and a build from raw histories on Spark cost."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import data
from benchmarks.measure import Failed, child, cli, environment, run
from benchmarks.table import Figure

TITLE = "lake"
MB = 1e6
_UNIT = 32  # MiB: enough units for two workers
_REPORTS = ("total", "day", "model", "person", "session", "day,project,model")
_IN_SPARK = ("total", "day,project,model")
_SETTINGS = ("lake", "push", "--names", "--machine", "laptop", "--person", "ann")

Tell = Callable[[str], None]


def has_spark() -> bool:
    """Whether PySpark, what it needs and Java are installed."""
    modules = ("pyspark", "pandas", "pyarrow")
    has_java = bool(os.environ.get("JAVA_HOME")) or shutil.which("java") is not None
    return has_java and all(importlib.util.find_spec(name) is not None for name in modules)


class LakeCases:
    """Measures one lake of a generated history and of a ledger's."""

    def __init__(self, scratch: Path, size: int, messages: int, runs: int, tell: Tell) -> None:
        self.scratch = scratch / "lake"
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(parents=True)
        self.home = scratch / "home"
        self.runs = runs
        self.tell = tell
        self.dataset = data.in_place("lake", data.bulk(scratch, size))
        self.ledger = data.in_place("lake", data.metered(scratch, messages))
        self.public = scratch

    def parts(self) -> list[Iterator[Figure]]:
        """All figures, in the order of the table; one part can fail without the others."""
        histories = [self.dataset]
        try:
            histories.append(data.in_place("public", data.public(self.public)))
        except Failed as reason:
            self.tell(str(reason))
        built = [self.build(history) for history in histories]
        return [*(self.push(history) for history in histories), *built, self.report()]

    def push(self, history: data.DataSet) -> Iterator[Figure]:
        """The first push of a history whose store is synced, whole command."""
        env, name = self._synced(history), history.root.name
        times, used, size = [], [], 0
        for number in range(self.runs):
            lake = self.scratch / f"pushed-{name}-{number}"
            self.tell(f"push of {name}")
            measured = run(cli("--no-sync", *_SETTINGS, str(lake), "--json"), env)
            times.append(history.size / MB / measured.seconds)
            used.append(history.size / MB / measured.cpu_seconds)
            size = measured.answer["bytes"]
        yield Figure(f"push of {name}", tuple(times), "MB/s")
        yield Figure("  per second of CPU time", tuple(used), "MB/s")
        yield Figure("  Parquet / source", (100 * size / history.size,), "%")
        again = [
            run(cli("--no-sync", *_SETTINGS, str(self.scratch / f"pushed-{name}-0")), env).seconds
            for _ in range(self.runs)
        ]
        yield Figure("  again, with nothing new", tuple(again), "s")

    def build(self, history: data.DataSet) -> Iterator[Figure]:
        """A build with one worker and with two, each a process with one core; Spark has started before."""
        if not has_spark():
            raise Failed("build: PySpark or Java is not installed: make spark")
        name = history.root.name
        rates = {}
        for workers in (1, 2):
            self.tell(f"build of {name} with {workers} workers")
            lake = self.scratch / f"built-{name}"
            found = run(child("build-lake", history.root, lake, workers, self.runs), environment(self.home)).answer
            rates[workers] = [history.size / MB / seconds for seconds in found["seconds"]]
            yield Figure(f"build of {name}, {workers} worker{'s'[: workers - 1]}", tuple(rates[workers]), "MB/s")
            per_core = tuple(history.size / MB / seconds for seconds in found["cpu_seconds"])
            yield Figure(f"  per second of CPU time, {found['units']} units", per_core, "MB/s")
        yield Figure("  two workers / one", (statistics.median(rates[2]) / statistics.median(rates[1]),), "x")

    def report(self) -> Iterator[Figure]:
        """Reports over a ledger's messages, in DuckDB and in Spark; the engine is open, and the second time counts."""
        env = self._synced(self.ledger)
        lake = self.scratch / "ledger"
        self.tell("reports")
        run(cli("--no-sync", *_SETTINGS, str(lake)), env)
        for engine in ("DuckDB", "Spark") if has_spark() else ("DuckDB",):
            measured = run(child("lake-reports", lake, engine.lower(), self.runs), environment(self.home))
            for by, seconds in measured.answer.items():
                yield Figure(f"{engine}: report by {by}", tuple(seconds), "s")
            yield Figure(f"{engine}: peak RSS, all processes at one moment", (measured.peak_rss / MB,), "MB")
        times = [run(cli("lake", "report", str(lake), "--json"), env).seconds for _ in range(self.runs)]
        yield Figure("whole command, by day, DuckDB", tuple(times), "s")

    def _synced(self, history: data.DataSet) -> dict[str, str]:
        store = self.scratch / f"store-{history.root.name}"
        env = environment(self.home, HANSARD_HOME=str(store), CLAUDE_CONFIG_DIR=str(history.root), NO_COLOR="1")
        if not store.exists():
            self.tell(f"cold sync of {history.root.name}")
            run(child("sync", store, history.root), env)
        return env


def build_lake(root: str, lake: str, workers: str, runs: str) -> dict[str, Any]:
    """Build a machine's history with `workers` workers, after a session has started and read it once."""
    import hansard
    from hansard.lake.spark import open_spark, stop_spark

    os.environ["PYSPARK_PYTHON"], os.environ["SPARK_LOCAL_IP"] = sys.executable, "127.0.0.1"
    session, _ = open_spark(f"local-cluster[{workers},1,2048]")
    found: dict[str, Any] = {"seconds": [], "cpu_seconds": [], "units": 0}
    try:
        with hansard.open(f"{lake}-driver") as h:
            for number in range(int(runs) + 1):
                shutil.rmtree(lake, ignore_errors=True)
                report = h.build_lake(source=root, target=lake, machine="laptop", names=True, unit=_UNIT)
                if report.failed or report.unreadable:
                    raise SystemExit(json.dumps([report.failed, report.unreadable]))
                if number:  # the first one imports
                    found["seconds"].append(report.seconds)
                    found["cpu_seconds"].append(report.cpu_seconds)
                    found["units"] = report.units
    finally:
        stop_spark(session)
    return found


def lake_reports(lake: str, engine: str, runs: str) -> dict[str, list[float]]:
    """The seconds of each report, of an engine that is open."""
    from hansard.lake.store import Lake

    os.environ["PYSPARK_PYTHON"], os.environ["SPARK_LOCAL_IP"] = sys.executable, "127.0.0.1"
    found: dict[str, list[float]] = {by: [] for by in (_REPORTS if engine == "duckdb" else _IN_SPARK)}
    with Lake(lake) as opened:
        opened.usage(by="total", engine=engine)
        for _ in range(int(runs)):
            for by, seconds in found.items():
                began = time.perf_counter()
                opened.usage(by=by.split(","), engine=engine)
                seconds.append(time.perf_counter() - began)
    return found


CASES: dict[str, Callable[..., object]] = {"build-lake": build_lake, "lake-reports": lake_reports}
