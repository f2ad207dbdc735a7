"""Spark: the session, and the views of a lake in it. PySpark 4.1 or newer, and Java 17, must be installed."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hansard.errors import UsageError
from hansard.lake.engines import possible_views
from hansard.lake.relations import columns_in_lake
from hansard.lake.storage import LakeUnusable
from hansard.sql.view import Type

if TYPE_CHECKING:
    from hansard.lake.engines import Files, Values
    from hansard.model.sql import Row

_TYPES = {
    Type.TEXT: "string",
    Type.INTEGER: "bigint",
    Type.BOOLEAN: "boolean",
    Type.TIME: "timestamp_ntz",
    Type.MONEY: "decimal(38, 18)",
}
_OTHERWISE = re.compile(r"'[^']*'|\"[^\"]*\"|\$(?P<name>\w+)|\bvarchar\b(?!\s*\()", re.IGNORECASE)
"""What other engines write in another way: `$name` for a parameter, VARCHAR without a length. Quoted text is passed over."""
_LOCAL_PARTITIONS = 8  # of a shuffle; Spark's 200 are for clusters
_SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",  # as in standard SQL
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


class Spark:
    """The views in Spark; the session is stopped at the end only if it began here."""

    def __init__(self, files: Files, relations: Iterable[str], master: str | None) -> None:
        self._session, self._is_ours = open_spark(master)
        made = set()
        for name in relations:
            schema = ", ".join(f"`{column.name}` {_TYPES[column.type]}" for column in columns_in_lake(name))
            paths = [_hadoop_path(path) for path in files(name)]
            reader = self._session.read.schema(schema)
            frame = reader.parquet(*paths) if paths else self._session.createDataFrame([], schema)
            frame.createOrReplaceTempView(f"pushed_{name}")
            made.add(name)
        for name, sql in possible_views(made):
            self._session.sql(sql).createOrReplaceTempView(name)

    def rows(self, sql: str, values: Values = ()) -> list[Row]:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            given: Any = dict(values) if isinstance(values, Mapping) else list(values)
            sql = _OTHERWISE.sub(_in_spark, sql)
            return [tuple(row) for row in self._session.sql(sql, args=given or None).collect()]
        except (PySparkException, Py4JError) as error:
            raise LakeUnusable(f"Spark: {first_line(error)}") from error

    def close(self) -> None:
        if self._is_ours:
            stop_spark(self._session)


def _in_spark(found: re.Match[str]) -> str:
    if found["name"]:
        return f":{found['name']}"
    return "STRING" if found[0].lower() == "varchar" else found[0]


def open_spark(master: str | None) -> tuple[Any, bool]:
    """A Spark session, and whether it was started for this."""
    try:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException
        from pyspark.logger import PySparkLogger
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise UsageError(
            "Spark is not installed; add it with: pip install 'pyspark>=4.1' 'pandas>=2.2,<3' 'pyarrow>=18' (it needs Java 17)"
        ) from error
    active = SparkSession.getActiveSession()
    if active is not None and master is None:
        return active, False
    PySparkLogger.getLogger("SQLQueryContextLogger").setLevel("CRITICAL")  # errors are raised anyway
    builder = SparkSession.builder.appName("hansard")
    for name, value in _SETTINGS.items():
        builder = builder.config(name, value)
    if master is not None or "SPARK_REMOTE" not in os.environ:
        master = master or os.environ.get("MASTER") or "local[*]"
        builder = builder.master(master)
        if master.startswith("local"):
            builder = builder.config("spark.sql.shuffle.partitions", _LOCAL_PARTITIONS)
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        return builder.getOrCreate(), True
    except (PySparkException, Py4JError, OSError) as error:
        place = f" with {master}" if master else ""
        raise LakeUnusable(f"Spark, which needs Java 17 or 21, does not start{place}: {first_line(error)}") from error


def stop_spark(session: Any) -> None:
    """Stop a session, and remove what the workers of a `local-cluster` leave beside PySpark."""
    import pyspark

    context = session.sparkContext if hasattr(session, "_jsc") else None
    logs = None
    if context is not None and context.master.startswith("local-cluster"):
        folder = os.environ.get("SPARK_HOME") or os.path.dirname(pyspark.__file__)
        logs = os.path.join(folder, "work", context.applicationId)
    session.stop()
    if logs is not None:
        shutil.rmtree(logs, ignore_errors=True)
        atexit.register(shutil.rmtree, logs, ignore_errors=True)  # a worker that is stopped may still begin a log
        with suppress(OSError):  # other applications have logs there
            os.rmdir(os.path.dirname(logs))


def first_line(error: Exception) -> str:
    """What an error of Spark says, without the trace of Java."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    if lines[0].startswith("An error occurred while calling") and len(lines) > 1:
        return lines[1].removeprefix(": ")
    return lines[0]


def _hadoop_path(location: str) -> str:
    """A path or URL as Hadoop reads it: with its own scheme of S3, and none of it a pattern."""
    if location.startswith("s3://"):
        location = f"s3a://{location[5:]}"
    if os.name == "nt":
        location = location.replace("\\", "/")
    return re.sub(r"([{}\[\]*?\\])", r"\\\1", location)
