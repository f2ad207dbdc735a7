"""Stores and lakes that tests only read, and one Spark session for all, on a cluster with two workers that are processes of their own."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.engine import Hansard
from hansard.lake import LakeReport
from tests.machines import two_machines

WORKERS = "local-cluster[2,1,1024]"

PushedTwice = Callable[[str], tuple[Hansard, Path]]


def push(h: Hansard, lake: Path | str, machine: str = "laptop", **more: Any) -> LakeReport:
    given: dict[str, Any] = {"target": str(lake), "machine": machine, "person": "ann", "names": True}
    return h.push_lake(**(given | more))


@pytest.fixture(scope="package")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Hansard]]:
    """A history of which two machines have parts, some of them both; and one store with the files of both."""
    with two_machines(tmp_path_factory.mktemp("machines"), 1500) as stores:
        yield stores


@pytest.fixture(scope="package")
def pushed_twice(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PushedTwice]:
    """A function that gives a history ("hard", or one of `histories`), and a lake to which two machines pushed it with all texts."""
    known: dict[str, tuple[Hansard, Path]] = {}
    with ExitStack() as stack:

        def made(name: str) -> tuple[Hansard, Path]:
            if name not in known:
                if name == "hard":
                    h: Hansard = request.getfixturevalue("hard")[0]
                else:
                    history = request.getfixturevalue("histories")[name]
                    h = stack.enter_context(hansard.open(history.store, history.roots))
                target = tmp_path_factory.mktemp(f"lake of {name}")
                projects = tuple({one.project for one in h.sessions(limit=None, debris=True).sessions})
                for machine in ("laptop", "desktop"):
                    push(h, target, machine, opened=projects, redact="off")
                known[name] = h, target
            return known[name]

        yield made


@pytest.fixture(scope="package")
def spark() -> Iterator[Any]:
    """The session, which everything that names no other master uses."""
    pytest.importorskip("pyspark", reason="Spark is not installed: make spark")
    pytest.importorskip("pandas", reason="Spark needs pandas: make spark")
    if not os.environ.get("JAVA_HOME") and shutil.which("java") is None:
        pytest.skip("Spark needs Java: make java")
    from hansard.lake.spark import open_spark, stop_spark

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv(
            "JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
        )  # half the CPU time of a short life
        session, is_ours = open_spark(WORKERS)
        assert is_ours
        session.conf.set("spark.sql.shuffle.partitions", 2)  # the data is small
        session.conf.set("spark.sql.sources.parallelPartitionDiscovery.threshold", 1000)
        context = session.sparkContext
        gateway = context._gateway
        logs = Path(os.environ.get("SPARK_HOME") or Path(sys.modules["pyspark"].__file__ or "").parent) / "work"
        logs /= context.applicationId
        try:
            yield session
        finally:
            stop_spark(session)
            gateway.shutdown()
            gateway.proc.stdin.close()  # at which Java ends
            gateway.proc.wait()
            type(context)._gateway = type(context)._jvm = None
        shutil.rmtree(logs, ignore_errors=True)  # a worker that is stopped may still begin a log
