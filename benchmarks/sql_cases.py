"""Twelve questions in SQL over a generated history: in SQLite, in DuckDB on Arrow batches, and in DuckDB reading the raw lines.

The raw lines are read by DuckDB's own JSON reader. A view counts each message once there, with the largest figures of its lines, as well as that goes without
an index: it knows neither owners nor prices, so the questions are about tokens.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import hansard
from benchmarks import data
from benchmarks.measure import child, environment, run
from benchmarks.table import Figure

Tell = Callable[[str], None]
ENGINES = ("sqlite", "duckdb")
_AT = 'CAST("at" AS VARCHAR)'
_ALL = "input_tokens + output_tokens + cache_read_tokens + cache_write_tokens"
_USAGE = (
    'SELECT session_id, project, model, "at", input_tokens, output_tokens, cache_read_tokens,'
    " cache_write_5m_tokens + cache_write_1h_tokens AS cache_write_tokens FROM usage"
)
QUESTIONS = {
    "messages": "SELECT count(*) FROM u",
    "tokens of each kind": "SELECT sum(input_tokens), sum(output_tokens), sum(cache_read_tokens), sum(cache_write_tokens) FROM u",
    "tokens by model": f"SELECT model, count(*), sum({_ALL}) FROM u GROUP BY model",
    "tokens by day": f"SELECT substr({_AT}, 1, 10), sum({_ALL}) FROM u GROUP BY 1",
    "tokens by month and model": f"SELECT substr({_AT}, 1, 7), model, sum(output_tokens) FROM u GROUP BY 1, 2",
    "tokens by project": f"SELECT project, sum({_ALL}) FROM u GROUP BY project",
    "the largest sessions": "SELECT session_id, sum(output_tokens) AS n FROM u GROUP BY 1 ORDER BY n DESC, 1 LIMIT 20",
    "messages by hour of the day": f"SELECT substr({_AT}, 12, 2), count(*) FROM u GROUP BY 1",
    "share of the cache by model": (
        "SELECT model, round(100.0 * sum(cache_read_tokens) / sum(input_tokens + cache_read_tokens + cache_write_tokens), 3)"
        " FROM u GROUP BY model"
    ),
    "a running total by day": (
        f"SELECT day, sum(n) OVER (ORDER BY day) FROM (SELECT substr({_AT}, 1, 10) AS day, sum(output_tokens) AS n FROM u GROUP BY 1) AS d"
    ),
    "the largest message of each project": (
        "SELECT project, output_tokens FROM (SELECT project, output_tokens, row_number() OVER"
        " (PARTITION BY project ORDER BY output_tokens DESC) AS place FROM u) AS r WHERE place = 1"
    ),
    "sessions and models by day": (
        f"SELECT substr({_AT}, 1, 10), count(DISTINCT session_id), count(DISTINCT model) FROM u GROUP BY 1"
    ),
}
_RAW = """\
CREATE VIEW u AS
SELECT arg_min("sessionId", "timestamp") AS session_id, arg_min(cwd, "timestamp") AS project, arg_min(message.model, "timestamp") AS model,
    min("timestamp") AS "at", max(message.usage.input_tokens) AS input_tokens, max(message.usage.output_tokens) AS output_tokens,
    max(message.usage.cache_read_input_tokens) AS cache_read_tokens, max(message.usage.cache_creation_input_tokens) AS cache_write_tokens
FROM read_json('{pattern}', format = 'newline_delimited', maximum_object_size = 134217728, columns = {{
    type: 'VARCHAR', "sessionId": 'VARCHAR', "requestId": 'VARCHAR', cwd: 'VARCHAR', "timestamp": 'VARCHAR',
    message: 'STRUCT(id VARCHAR, model VARCHAR, usage STRUCT(input_tokens BIGINT, output_tokens BIGINT,
        cache_read_input_tokens BIGINT, cache_creation_input_tokens BIGINT))'}})
WHERE type = 'assistant' AND message.usage IS NOT NULL
GROUP BY message.id, "requestId"
"""


class SqlCases:
    """Measures the questions on the history of the ledger."""

    def __init__(self, scratch: Path, source: Path, runs: int, tell: Tell, *, keep: bool) -> None:
        self.dataset = data.in_place("sql", source)
        self._store = scratch / "sql-store"
        self._env = environment(scratch / "home")
        self._runs = runs
        self._tell = tell
        self._keep = keep and self._store.exists()

    def figures(self) -> Iterator[Figure]:
        """A row for each question: SQLite, and beside it the others."""
        if not self._keep:
            import shutil

            self._tell("syncing")
            shutil.rmtree(self._store, ignore_errors=True)
            run(child("sync", self._store, self.dataset.root), self._env)
        self._tell("asking")
        ours = run(child("ask-sql", self._store, self._runs), self._env)
        raw = run(child("ask-raw-lines", self.dataset.root, self._runs), self._env)
        answers, lines = ours.answer, raw.answer
        equal = 0
        for name in QUESTIONS:
            beside = (("DuckDB on Arrow", least(answers["duckdb"][name])), ("DuckDB on raw lines", least(lines[name])))
            yield Figure(f"{name}, SQLite", (least(answers["sqlite"][name]),), "s", beside=beside)
            equal += answers["sqlite"][name]["rows"] == answers["duckdb"][name]["rows"] == lines[name]["rows"]
        yield Figure("questions to which all three have the same answer", (equal,), "rows")
        yield Figure("peak RSS of the first two, with their parent", (ours.peak_rss / 1e6,), "MB")
        yield Figure("  of DuckDB on raw lines", (raw.peak_rss / 1e6,), "MB")


def least(answer: dict[str, Any]) -> float:
    """The shortest of the times that a question took."""
    return min(map(float, answer["seconds"]))


def ask_sql(home: str, times: str) -> dict[str, dict[str, object]]:
    """Ask a store in both engines, each query in its own process, its start included."""
    with hansard.open(home, []) as h:

        def ask(engine: str, sql: str) -> list[Any]:
            return h.sql(f"WITH u AS ({_USAGE}) {sql}", engine=engine, timeout=0).rows

        return {
            engine: {name: _timed(lambda: ask(engine, sql), times) for name, sql in QUESTIONS.items()}  # noqa: B023 - called at once
            for engine in ENGINES
        }


def ask_raw_lines(root: str, times: str) -> dict[str, object]:
    """Ask DuckDB over the files of a history; its import is not measured."""
    import duckdb

    pattern = str(Path(root) / "projects" / "**" / "*.jsonl").replace("'", "''")
    with duckdb.connect() as db:
        db.execute(_RAW.format(pattern=pattern))
        return {name: _timed(lambda: db.execute(sql).fetchall(), times) for name, sql in QUESTIONS.items()}  # noqa: B023


def _timed(ask: Callable[[], list[Any]], times: str) -> dict[str, object]:
    seconds = []
    rows: list[Any] = []
    for _ in range(int(times)):
        begun = time.perf_counter()
        rows = ask()
        seconds.append(time.perf_counter() - begun)
    return {"seconds": seconds, "rows": sorted(map(_shown, rows))}


def _shown(row: tuple[Any, ...]) -> str:
    """A row as all engines have it: a sum of whole numbers may be a decimal."""
    return repr([float(value) if isinstance(value, (int, Decimal)) else value for value in row])


CASES: dict[str, Callable[..., object]] = {"ask-sql": ask_sql, "ask-raw-lines": ask_raw_lines}
