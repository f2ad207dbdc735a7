"""A lake's figures in real Spark, on a cluster with two workers. Tests of Spark are here, so that one session serves them all."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.engine import Hansard
from hansard.lake.spark import open_spark
from hansard.lake.storage import LakeUnusable
from hansard.lake.store import Lake
from tests.lake.test_push import push
from tests.lake.test_usage import check_figures, push_twice
from tests.recordings import History

pytest.importorskip("duckdb")
pytest.importorskip("pyspark", reason="Spark is not installed: make spark")
pytest.importorskip("pandas", reason="Spark needs pandas: make spark")
if not os.environ.get("JAVA_HOME") and shutil.which("java") is None:
    pytest.skip("Spark needs Java: make java", allow_module_level=True)

WORKERS = "local-cluster[2,1,1024]"


@pytest.fixture(scope="module", autouse=True)
def spark() -> Iterator[Any]:
    """The one session, which engines that name no other master use."""
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
        try:
            yield session
        finally:
            context = session.sparkContext
            logs = Path(os.environ.get("SPARK_HOME") or Path(sys.modules["pyspark"].__file__ or "").parent) / "work"
            gateway, logs = context._gateway, logs / context.applicationId
            session.stop()
            gateway.shutdown()
            gateway.proc.stdin.close()  # at which Java ends
            gateway.proc.wait()
            type(context)._gateway = type(context)._jvm = None
            shutil.rmtree(logs, ignore_errors=True)


@pytest.mark.parametrize(
    ("name", "by"),
    [("hard", "day,session,project,model,client,agent,branch"), ("public", "day,session,project,model")],
)
def test_figures_are_those_of_the_reports(name: str, by: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Although the same history is pushed twice, under two names."""
    if name == "hard":
        h = request.getfixturevalue("hard")[0]
        push_twice(h, tmp_path)
        check_figures(h, tmp_path, [by], "spark")
        return
    histories: dict[str, History] = request.getfixturevalue("histories")
    with hansard.open(histories[name].store, histories[name].roots) as h:
        push_twice(h, tmp_path)
        check_figures(h, tmp_path, [by], "spark")


def test_places_with_hostile_names(hard: tuple[Hansard, str], tmp_path: Path) -> None:
    """Hadoop takes paths for patterns."""
    lake = tmp_path / "a[b]*{c},d ü%20?\\e"
    push(hard[0], lake)
    with Lake(str(lake)) as opened:
        engine = opened.engine("spark", relations=["machines"])
        assert engine.rows("SELECT machine FROM pushed_machines WHERE person = ?", ["ann"]) == [("laptop",)]
        with pytest.raises(LakeUnusable, match=r"Spark: .*nothing"):
            engine.rows("SELECT nothing FROM pushed_machines")
