"""Queries: the same answers in both engines and in reports, and no way to anything but the views."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.engine import Hansard
from hansard.errors import UsageError
from hansard.export.results import write_result
from hansard.model.ledger import PriceOverride
from hansard.model.sql import SqlResult
from hansard.query.reader import Reader
from hansard.sql import duckdb as duckdb_engine
from hansard.sql.view import Type
from hansard.sql.views import VIEWS
from tests.recordings import History
from tests.sql.here import here
from tests.sql.totals import KEYS, totals_in_sql, totals_of

pytest.importorskip("duckdb")
ENGINES = ("sqlite", "duckdb")


@pytest.fixture(scope="module", params=["public", "real clients", "hard"])
def h(request: pytest.FixtureRequest) -> Iterator[Hansard]:
    if request.param == "hard":
        yield request.getfixturevalue("hard")[0]
        return
    histories: dict[str, History] = request.getfixturevalue("histories")
    history = histories[request.param]
    with hansard.open(history.store, history.roots) as opened:
        yield opened


@pytest.fixture
def one(hard: tuple[Hansard, str]) -> Hansard:
    return hard[0]


def neutral(value: Any) -> Any:
    """A value as both engines have it: SQLite has times as text, numbers for money, and 0 and 1."""
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%S.") + f"{value.microsecond // 1000:03}Z"
    if isinstance(value, (int, float, Decimal)):
        value = int(value) if isinstance(value, bool) else value
        return round(Decimal(str(value)), 9).normalize()
    return value.partition("\0")[0] if isinstance(value, str) else value  # SQLite ends texts there in functions


def rows(answer: SqlResult) -> list[tuple[Any, ...]]:
    return [tuple(map(neutral, row)) for row in answer.rows]


@pytest.mark.parametrize("name", VIEWS)
def test_both_engines_have_the_same_rows(h: Hansard, name: str) -> None:
    every = f"SELECT * FROM {name}"
    answers = [here(h, every, engine=engine) for engine in ENGINES]
    columns = [column.name for column in VIEWS[name].columns]
    assert all([column.name for column in answer.columns] == columns for answer in answers)
    found = [sorted(map(repr, rows(answer))) for answer in answers]
    assert found[0] == found[1]


@pytest.mark.parametrize("name", VIEWS)
def test_examples_run_in_both_engines(h: Hansard, name: str) -> None:
    question, sql = VIEWS[name].example
    assert question.endswith("?")
    found = [rows(here(h, sql, engine=engine)) for engine in ENGINES]
    if "LIMIT" in sql:  # rows that are equal in what they are ordered by
        assert [len(answer) for answer in found] == [len(found[0])] * 2
    else:
        assert sorted(map(repr, found[0])) == sorted(map(repr, found[1]))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("by", KEYS)
def test_sums_are_those_of_the_report(h: Hansard, engine: str, by: str) -> None:
    expected = totals_of(h.usage(by=by, timezone="UTC"), by)
    assert expected
    assert totals_in_sql(h, by, engine) == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_money_is_a_number(h: Hansard, engine: str) -> None:
    """In SQLite too: the sum of the floating-point numbers prints like the exact one."""
    total = h.usage(by="total").totals.cost_usd or Decimal(0)
    ((amount, dear),) = here(h, "SELECT sum(cost_usd), count(*) FROM usage WHERE cost_usd > 0.01", engine=engine).rows
    costs = [row[0] for row in here(h, "SELECT cost_usd FROM usage WHERE cost_usd IS NOT NULL", engine=engine).rows]
    assert dear == sum(Decimal(str(cost)) > Decimal("0.01") for cost in costs)
    ((amount,),) = here(h, "SELECT sum(cost_usd) FROM usage", engine=engine).rows
    assert Decimal(str(amount or 0)) == total


def test_prices_with_many_digits_and_huge_counts_are_exact(tmp_path: Path) -> None:
    """Where whole numbers do not suffice, a function does the arithmetic."""
    from tests.hard_session import write_hard_session

    write_hard_session(tmp_path / "claude")
    prices = [PriceOverride("claude-opus-4-6", Decimal("3.123456789"), Decimal(15))]
    with hansard.open(tmp_path / "store", [tmp_path / "claude"], prices=prices) as h:
        h.sync()
        totals = h.usage(by="total").totals
        for engine in ENGINES:
            ((amount,),) = here(h, "SELECT decimal_sum(cost_usd) FROM usage", engine=engine).rows
            assert Decimal(amount) == totals.cost_usd


ATTACKS = [
    "SELECT * FROM records",
    "SELECT * FROM main.sessions",
    "WITH sessions AS (SELECT * FROM records) SELECT * FROM sessions",
    "SELECT * FROM sqlite_dbpage",
    "PRAGMA database_list",
    "PRAGMA writable_schema = 1",
    "ATTACH '{file}' AS other",
    "DETACH main",
    "VACUUM INTO '{file}'",
    "CREATE TABLE copy AS SELECT * FROM sessions",
    "CREATE TEMP TABLE copy AS SELECT * FROM sessions",
    "INSERT INTO sessions (title) VALUES ('x')",
    "UPDATE sessions SET title = 'x'",
    "DELETE FROM sessions",
    "DROP VIEW sessions",
    "REINDEX",
    "ANALYZE",
    "BEGIN",
    "COMMIT",
    "SELECT load_extension('{file}')",
    "SELECT writefile('{file}', 'x')",
    "SELECT readfile('{file}')",
    "SELECT 1; DROP VIEW sessions",
    "COPY (SELECT 1) TO '{file}'",
    "COPY sessions FROM '{file}'",
    "SELECT * FROM read_csv('{file}')",
    "SELECT * FROM read_text('{file}')",
    "SELECT * FROM '{file}'",
    "SELECT * FROM glob('{folder}/*')",
    "SELECT * FROM parquet_scan('{file}')",
    "SELECT * FROM read_json('https://127.0.0.1:1/x')",
    "SELECT * FROM sqlite_scan('{file}', 'sessions')",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "SET memory_limit = '100GB'",
    "EXPORT DATABASE '{folder}'",
    "CREATE SECRET (TYPE s3)",
    "CALL pragma_version()",
]  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_but_the_views_can_be_read_or_written(one: Hansard, tmp_path: Path, engine: str, attack: str) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("secret\n42\n")
    sql = attack.format(file=secret, folder=tmp_path)
    if "WITH sessions" in attack:
        sql = sql.replace("records", "main.records")
    if engine == "duckdb" and attack == "SELECT * FROM main.sessions":
        return  # the view: there is no index in DuckDB
    with pytest.raises(UsageError):
        _ = here(one, sql, engine=engine).rows
    assert secret.read_text() == "secret\n42\n"
    assert list(tmp_path.iterdir()) == [secret]


@pytest.mark.parametrize("name", ["sessions", "usage", "m"])
def test_a_common_table_cannot_pretend_to_be_a_view(one: Hansard, name: str) -> None:
    """SQLite's authorizer is told the name of the innermost view or common table; either may be chosen freely."""
    for table in ("records", "main.sessions", "main.usage"):
        with pytest.raises(UsageError, match="no such table"):
            here(one, f"WITH {name} AS (SELECT * FROM {table}) SELECT * FROM {name}")


def test_rows_of_a_common_table_can_be_counted(one: Hansard) -> None:
    assert here(one, "WITH a AS (SELECT 1 UNION ALL SELECT 2) SELECT count(*) FROM a").rows == [(2,)]
    (counted,) = here(
        one, "WITH a AS (SELECT * FROM sessions) SELECT count(*), (SELECT count(*) FROM sessions) FROM a"
    ).rows
    assert counted[0] == counted[1] > 0
    for table in ("sqlite_master", "sqlite_temp_master", "SQLITE_SCHEMA", "pragma_table_list", "dbstat", "records"):
        for sql in (
            "SELECT count(*) FROM {}",
            "SELECT 1 FROM {}",
            "WITH a AS (SELECT * FROM {}) SELECT count(*) FROM a",
        ):
            with pytest.raises(UsageError):
                here(one, sql.format(table))


def test_files_can_be_read_where_that_is_allowed(one: Hansard, tmp_path: Path) -> None:
    (tmp_path / "rates.csv").write_text("model,hours\nclaude-opus-4-6,3\n")
    answer = here(one, f"SELECT hours FROM read_csv('{tmp_path}/rates.csv')", engine="duckdb", allow_external=True)
    assert answer.rows == [(3,)]
    with pytest.raises(UsageError, match="--engine duckdb"):
        here(one, "SELECT 1", allow_external=True)


@pytest.mark.parametrize("engine", ENGINES)
def test_parameters_are_bound(one: Hansard, engine: str) -> None:
    name = "'; DROP VIEW sessions --"
    assert here(one, "SELECT $name AS n, $count + 1", parameters={"name": name, "count": 2}, engine=engine).rows == [
        (name, 3)
    ]
    for sql, given, told in (
        ("SELECT $missing", {}, r"\$missing has no value"),
        ("SELECT 1", {"more": 1}, r"no parameter \$more; its parameters: none"),
        ("SELECT $a", {"a": 1, "more": 1}, r"no parameter \$more; its parameters: \$a"),
        ("SELECT ?", {}, r"write \$name instead of \?"),
    ):
        with pytest.raises(UsageError, match=told):
            here(one, sql, parameters=given, engine=engine)
    with pytest.raises(UsageError, match=r"\$a is a datetime"):
        one.sql("SELECT $a", parameters={"a": datetime(2026, 5, 1, tzinfo=UTC)}, engine=engine)  # type: ignore[dict-item]


@pytest.mark.parametrize("engine", ENGINES)
def test_errors_say_where(one: Hansard, engine: str) -> None:
    for sql, told in (
        ("", "empty"),
        ("-- nothing", "empty"),
        ("SELECT 1; SELECT 2", "one statement"),
        ("SELECT nope\nFROM sessions", "nope"),
        ("SELEC 1", "SELEC"),
    ):
        with pytest.raises(UsageError, match=told):
            _ = here(one, sql, engine=engine).rows
    with pytest.raises(UsageError, match="unknown engine"):
        here(one, "SELECT 1", engine="spark")


@pytest.mark.parametrize("engine", ENGINES)
def test_lines_and_texts_can_be_read(one: Hansard, engine: str) -> None:
    lines = here(
        one,
        "SELECT transcript, byte_offset, bytes, record(transcript, byte_offset) AS line,"
        " message_text(transcript, byte_offset) AS text FROM messages",
        engine=engine,
    ).rows
    for transcript, offset, size, line, _ in lines:
        raw = b"".join(one.transcript_bytes(transcript, offset, offset + size))
        assert line == raw.decode("utf-8", "replace")
    assert any(text and "harbour" in text for *_, text in lines)
    blocks = here(
        one, "SELECT block_text(transcript, byte_offset, block) AS t FROM blocks WHERE kind = 'text'", engine=engine
    )
    assert any(text for (text,) in blocks.rows)
    beyond = 9223372036854775807
    for place in (f"1, {beyond}", f"{beyond}, 0", "1, -1", "-1, 0"):
        found = here(one, f"SELECT record({place}), message_text({place}), block_text({place}, 0)", engine=engine).rows
        assert found == [(None, None, None)]
    nowhere = "SELECT record(0, 0), record(NULL, 1), record(1, 10000000000), message_text(0, 0), block_text(0, 0, 0)"
    assert here(one, nowhere, engine=engine).rows == [(None,) * 5]


@pytest.mark.parametrize("engine", ENGINES)
def test_an_answer_is_limited(one: Hansard, engine: str) -> None:
    answer = one.sql("SELECT uuid FROM messages", engine=engine, limit=3)
    assert (len(answer.rows), answer.truncated) == (3, True)
    assert len(list(answer)) == 3
    answer = one.sql("SELECT 1 AS a, 2 AS a, NULL AS b", engine=engine, limit=1)
    assert (answer.rows, answer.truncated) == ([(1, 2, None)], False)
    assert len({column.name for column in answer.columns}) == 3
    nothing = one.sql("SELECT title FROM sessions WHERE false", engine=engine)
    assert ([column.name for column in nothing.columns], nothing.rows) == (["title"], [])


def test_types_of_values(one: Hansard) -> None:
    answer = here(
        one,
        "SELECT 1::HUGEINT AS h, DATE '2026-05-01' AS d, [1, 2] AS l, {'a': 1} AS s, 'x'::BLOB AS b, true AS t, 1.5::FLOAT AS f,"
        " TIMESTAMP '2026-05-01 10:00:00' AS ts, INTERVAL 1 DAY AS i",
        engine="duckdb",
    )
    assert [column.type for column in answer.columns] == [
        "integer", "text", "text", "text", "bytes", "boolean", "real", "time", "text",
    ]  # fmt: skip
    plain = answer.as_plain()["rows"][0]
    assert (plain["l"], plain["s"], plain["b"], plain["d"]) == ("[1, 2]", '{"a": 1}', "78", "2026-05-01")


@pytest.mark.parametrize("engine", ENGINES)
def test_answers_become_arrow(one: Hansard, engine: str) -> None:
    core = pytest.importorskip("arro3.core")
    answer = one.sql(
        "SELECT session_id, started_at, cost_usd, tool_calls, is_empty, notes FROM sessions", engine=engine
    )
    table = core.Table.from_arrow(answer)
    expected = one.sql(
        "SELECT session_id, started_at, cost_usd, tool_calls, is_empty, notes FROM sessions", engine=engine
    )
    assert [tuple(row) for row in zip(*(table.column(place).to_pylist() for place in range(6)), strict=True)] == [
        tuple(row) for row in expected
    ]
    assert table.column_names == [column.name for column in answer.columns]
    with pytest.raises(UsageError, match="read already"):
        _ = answer.rows
    empty = one.sql("SELECT title FROM sessions WHERE false", engine=engine).to_arrow()
    assert (empty.num_rows, empty.column_names) == (0, ["title"])
    huge = one.sql("SELECT 170141183460469231731687303715884105727::HUGEINT AS x", engine="duckdb").to_arrow()
    assert huge.column("x").to_pylist() == ["170141183460469231731687303715884105727"]  # more digits than a decimal has


PROMISED = {
    Type.TEXT: ("VARCHAR", "String", "object"),
    Type.INTEGER: ("BIGINT", "Int64", "int64 Int64"),
    Type.BOOLEAN: ("BOOLEAN", "Boolean", "bool boolean"),
    Type.TIME: ("TIMESTAMP", "Datetime(time_unit='us', time_zone='UTC')", "datetime64[us, UTC]"),
    Type.MONEY: ("DECIMAL(38,18)", "Decimal(precision=38, scale=18)", "object"),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", VIEWS)
def test_columns_of_views_keep_their_types(one: Hansard, tmp_path: Path, engine: str, name: str) -> None:
    import duckdb

    kinds = [PROMISED[column.type] for column in VIEWS[name].columns]
    sql = f"WITH a AS (SELECT * FROM {name}) SELECT * FROM a"
    path = tmp_path / "answer.parquet"
    write_result(str(path), one.sql(sql, engine=engine))
    with duckdb.connect() as db:
        told = db.execute(f"DESCRIBE SELECT * FROM '{path}'").fetchall()
        assert [row[1] for row in told] == [kind[0] for kind in kinds]
        counted = db.execute(f"SELECT count(*) FROM '{path}'").fetchall()
    assert counted == here(one, f"SELECT count(*) FROM {name}").rows


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["sessions", "usage", "messages"])
def test_polars_gets_the_types_of_views(one: Hansard, engine: str, name: str) -> None:
    polars = pytest.importorskip("polars")
    frame = one.sql(f"SELECT * FROM {name}", engine=engine).to_polars()
    answer = one.sql(f"SELECT * FROM {name}", engine=engine)
    assert [str(kind) for kind in frame.dtypes] == [PROMISED[column.type][1] for column in VIEWS[name].columns]
    assert frame.rows() == answer.rows
    assert polars.DataFrame(one.sql(f"SELECT * FROM {name}", engine=engine)).equals(frame)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["sessions", "usage", "messages"])
def test_pandas_gets_the_types_of_views(one: Hansard, engine: str, name: str) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: make spark")
    answer = one.sql(f"SELECT * FROM {name}", engine=engine)
    frame = answer.to_pandas()
    for column, kind in zip(VIEWS[name].columns, frame.dtypes, strict=True):
        assert str(kind) in PROMISED[column.type][2].split(" ", 1) or str(kind) == PROMISED[column.type][2]
    values = frame.astype(object).where(frame.notna(), None)
    assert [tuple(row) for row in values.itertuples(index=False)] == [
        tuple(pandas.Timestamp(cell) if isinstance(cell, datetime) else cell for cell in row) for row in answer.rows
    ]


def test_types_of_a_compound_select_are_those_of_its_values(one: Hansard) -> None:
    """SQLite declares the types of its first part alone."""
    answer = here(one, "SELECT cost_usd AS x FROM sessions WHERE false UNION ALL SELECT 'none'")
    assert ([column.type for column in answer.columns], answer.rows) == (["text"], [("none",)])
    answer = here(one, "SELECT is_empty FROM sessions WHERE title <> 'a union of' /* except */ LIMIT 1")
    assert [column.type for column in answer.columns] == ["boolean"]


def test_a_column_of_several_types_is_refused_once_its_type_is_written(one: Hansard, tmp_path: Path) -> None:
    mixed = (
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 20000)"
        " SELECT iif(x > 15000, 'many', x) AS x FROM n"
    )
    with pytest.raises(UsageError, match="column x holds values of several types: CAST"):
        write_result(str(tmp_path / "x.parquet"), one.sql(mixed))
    assert not list(tmp_path.iterdir())
    assert one.sql(mixed).to_arrow().column("x").to_pylist()[0] == "1"


def test_computed_amounts_print_as_they_are(one: Hansard) -> None:
    """Only 15 digits of a floating-point number are certain."""
    sql = "SELECT 0.1 + 0.2 AS cost_usd, 0.1 + 0.2 AS share, 2.2366099999999998 AS total_usd"
    assert here(one, sql).rows == [(0.3, 0.1 + 0.2, 2.23661)]


# -- what DuckDB reads of the index


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The SELECTs that the index was asked."""
    asked: list[str] = []
    real = Reader.rows

    def rows(self: Reader, sql: str, values: Any = ()) -> Iterator[Any]:
        asked.append(sql)
        return real(self, sql, values)

    monkeypatch.setattr(Reader, "rows", rows)
    return asked


def test_only_named_views_and_columns_are_read(one: Hansard, read: list[str]) -> None:
    _ = here(one, "SELECT model, sum(output_tokens) FROM usage GROUP BY model", "duckdb").rows
    (select,) = [sql for sql in read if '"output_tokens"' in sql]
    assert '"model"' in select
    assert "usage_cost" not in select
    assert not any("main.records" in sql for sql in read)


def test_conditions_are_evaluated_by_the_index(one: Hansard, read: list[str]) -> None:
    ((session,), *_) = here(one, "SELECT session_id FROM messages", limit=1).rows
    read.clear()
    _ = here(one, "SELECT role FROM messages WHERE session_id = $s", "duckdb", parameters={"s": session}).rows
    assert any('("session_id" = ?)' in sql and "json_each(?1)" in sql for sql in read)


PREDICATES = [
    "kind = 'assistant'",
    "kind <> 'assistant'",
    "kind IN ('user', 'system')",
    "kind = 'user' OR role = 'reply'",
    "at >= TIMESTAMP '2026-01-01'",
    "at BETWEEN TIMESTAMP '2025-12-01' AND TIMESTAMP '2026-05-01 10:00:00.5'",
    "at < TIMESTAMP '2026-05-01 10:00:00.0005'",
    "at IS NULL",
    "role IS NOT NULL AND NOT is_copy",
    "is_copy",
    "is_sidechain = false",
    "bytes > 1000 AND bytes <= 5000",
    "kind LIKE 'a%'",
    "byte_offset > 9223372036854775000",
    "session_id IN (SELECT session_id FROM sessions WHERE tool_calls > 0)",
    "session_id = 'none'",
    "model = 'caf\u00e9' OR model >= 'claude'",
]  # fmt: skip


@pytest.mark.parametrize("predicate", PREDICATES)
def test_conditions_mean_the_same_in_the_index(h: Hansard, monkeypatch: pytest.MonkeyPatch, predicate: str) -> None:
    sql = f"SELECT transcript, byte_offset, session_id FROM messages WHERE {predicate}"
    pushed = sorted(map(repr, here(h, sql, "duckdb").rows))
    monkeypatch.setattr(duckdb_engine, "_condition", lambda _view, _node: None)
    assert pushed == sorted(map(repr, here(h, sql, "duckdb").rows))


def test_another_release_of_duckdb_reads_whole_views(one: Hansard, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    sql = "SELECT role, count(*) FROM messages WHERE kind = 'assistant' GROUP BY role ORDER BY 1"
    expected = here(one, sql, "duckdb").rows
    monkeypatch.setitem(sys.modules, "duckdb._sources.arrow", None)
    assert here(one, sql, "duckdb").rows == expected


def test_a_view_can_be_joined_with_itself(one: Hansard) -> None:
    sql = (
        "SELECT count(*) FROM messages a JOIN messages b ON a.uuid = b.parent_uuid"
        " JOIN sessions s ON s.session_id = b.session_id JOIN usage u ON u.message_key = b.message_key"
    )
    assert here(one, sql, engine="duckdb").rows == here(one, sql).rows


def test_at_needs_no_quotes(one: Hansard) -> None:
    texts: Sequence[str] = (
        "SELECT at FROM usage",
        "SELECT max(at), 'at' FROM usage WHERE at > '2020-01-01' GROUP BY at ORDER BY at -- at",
        'SELECT u."at", AT AS moment FROM usage u',
        "SELECT (at) AT TIME ZONE 'UTC' FROM usage",
        "SELECT 'é', at::date FROM usage",
    )
    for sql in texts:
        assert here(one, sql, engine="duckdb").rows


@pytest.mark.parametrize("engine", ENGINES)
def test_a_failing_read_is_reported_as_it_is(one: Hansard, monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    from hansard.errors import StoreCorrupt
    from hansard.sql import provided

    def fail(*_: Any) -> Any:
        raise StoreCorrupt("a page is damaged")

    monkeypatch.setattr(provided, "rates_of", fail)
    with pytest.raises(StoreCorrupt, match="a page is damaged"):
        _ = here(one, "SELECT sum(cost_usd) FROM usage", engine).rows


# -- of some sessions only


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hansard]:
    """Two repositories, whose names begin alike."""
    from tests.mcp.writing import write_app_history

    place = tmp_path_factory.mktemp("scoped")
    write_app_history(place / "claude")
    with hansard.open(place / "home", [place / "claude"]) as opened:
        opened.sync()
        yield opened


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", VIEWS)
def test_a_folder_has_the_rows_of_its_sessions_only(shared: Hansard, engine: str, name: str) -> None:
    from tests.mcp.writing import APP, ELSEWHERE, OTHER

    inside = [repr(row) for row in rows(here(shared, f"SELECT * FROM {name}", engine=engine, folder=APP))]
    everything = [repr(row) for row in rows(here(shared, f"SELECT * FROM {name}", engine=engine))]
    elsewhere = [row for row in everything if ELSEWHERE in row or f"'{OTHER}'" in row]
    assert sorted(inside) == sorted(row for row in everything if row not in elsewhere)
    assert not any(ELSEWHERE in row or OTHER in row for row in inside)


@pytest.mark.parametrize("engine", ENGINES)
def test_lines_outside_a_folder_cannot_be_read(shared: Hansard, engine: str) -> None:
    from tests.mcp.writing import APP

    sql = "SELECT record({0}, 0), message_text({0}, 0), block_text({0}, 0, 0)"
    transcripts = [row[0] for row in here(shared, "SELECT transcript FROM transcripts ORDER BY 1").rows]
    found = [any(here(shared, sql.format(one), engine=engine, folder=APP).rows[0]) for one in transcripts]
    assert found == [True, True, False]
    assert all(any(here(shared, sql.format(one), engine=engine).rows[0]) for one in transcripts)


@pytest.mark.parametrize("engine", ENGINES)
def test_conditions_do_not_widen_a_folder(shared: Hansard, engine: str) -> None:
    from tests.mcp.writing import APP, ELSEWHERE, FIRST

    for condition in (f"= '{ELSEWHERE}'", f"IN ('{ELSEWHERE}', '{FIRST}')", f"<> '{FIRST}' OR 1 = 1"):
        sql = f"SELECT DISTINCT session_id FROM messages WHERE session_id {condition}"
        assert (ELSEWHERE,) not in here(shared, sql, engine=engine, folder=APP).rows
        assert here(shared, sql, engine=engine).rows


@pytest.mark.parametrize("engine", ENGINES)
def test_an_answer_is_bounded_in_bytes(one: Hansard, engine: str) -> None:
    text = "SELECT printf('%s', a.text) AS t FROM blocks b, (SELECT '" + "x" * 3_000 + "' AS text) a"
    with pytest.raises(UsageError, match="larger than 0 MiB"):
        _ = one.sql(text, engine=engine, most_bytes=5_000).rows
    assert one.sql("SELECT 'x'", engine=engine, most_bytes=5_000).rows == [("x",)]


def test_secrets_are_redacted_before_a_query_sees_them(tmp_path: Path) -> None:
    from tests.mcp.writing import FIRST, Log

    key = "sk-ant-" + "api03-Qzx7Wvk2Jhq9Ypl4Bnm8Tgc3"
    log = Log(FIRST)
    log.prompt(f"Deploy with {key}")
    log.write(tmp_path / "claude")
    with hansard.open(tmp_path / "home", [tmp_path / "claude"]) as h:
        h.sync()
        for engine in ENGINES:
            for sql in (
                f"SELECT count(*) FROM prompts WHERE text LIKE '%{key[8:20]}%'",
                f"SELECT sum(instr(record(transcript, byte_offset), '{key[8:20]}') > 0) FROM messages",
            ):
                assert here(h, sql, engine=engine).rows == [(1,)]
            assert h.sql(sql, engine=engine, redact=True).rows == [(0,)]


def test_errors_name_the_columns_of_a_view(one: Hansard) -> None:
    with pytest.raises(UsageError, match=r"usage has message_key.*cost_usd"):
        here(one, "SELECT nope FROM usage")
