"""One Spark session, on a cluster with two workers that are processes of their own, for all tests of Spark."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

WORKERS = "local-cluster[2,1,1024]"


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
