"""Tables come out with the rows and sums that the index has, in the right types, and nothing that a spreadsheet runs."""

from __future__ import annotations

import csv
import re
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.engine import Hansard
from hansard.errors import UsageError
from hansard.export.sheets import cell
from hansard.model.serialize import plain
from hansard.model.sessions import Session
from hansard.sql.table import Table
from hansard.sql.view import Type
from hansard.sql.views import VIEWS
from tests.cli.conftest import SESSION, said, write_log

duckdb: Any = pytest.importorskip("duckdb")


@pytest.fixture(scope="module")
def tables(demo_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All tables of the demo's history."""
    out = tmp_path_factory.mktemp("tables")
    with hansard.open(demo_store / "store", [demo_store / "claude"]) as h:
        h.export(None, out, format="parquet")
    return out


def ask(sql: str) -> list[Any]:
    with duckdb.connect(":memory:") as db:
        rows: list[Any] = db.execute(sql).fetchall()
    return rows


def test_every_view_is_there(tables: Path) -> None:
    assert {path.stem for path in tables.glob("*.parquet")} == set(VIEWS)


@pytest.mark.parametrize("name", VIEWS)
def test_rows_and_types_are_those_of_the_view(demo: Hansard, tables: Path, name: str) -> None:
    place = str(tables / f"{name}.parquet").replace("'", "''")
    table = Table(demo.reader, name, None)
    described = {row[0]: row[1] for row in ask(f"DESCRIBE SELECT * FROM '{place}'")}
    wanted = {
        Type.TEXT: "VARCHAR",
        Type.INTEGER: "BIGINT",
        Type.BOOLEAN: "BOOLEAN",
        Type.TIME: "TIMESTAMP",
        Type.MONEY: "DECIMAL(38,18)",
    }
    assert described == {column.name: wanted[column.type] for column in table.columns}
    rows = [[_without_zone(value) for value in row] for row in table.rows()]
    assert [list(row) for row in ask(f"SELECT * FROM '{place}'")] == rows


def test_times_and_money_are_exact(demo: Hansard, tables: Path) -> None:
    place = tables / "sessions.parquet"
    costs = dict(ask(f"SELECT session_id, cost_usd FROM '{place}'"))
    listed = {session.session_id: session.cost_usd for session in demo.sessions(limit=None, debris=True).sessions}
    assert costs
    assert all(listed[session_id] == cost for session_id, cost in costs.items() if cost is not None)
    assert sum(filter(None, costs.values()), Decimal(0)) == demo.usage(by="total").totals.cost_usd
    place = tables / "sessions.parquet"
    started = dict(ask(f"SELECT session_id, started_at FROM '{place}'"))
    for session in demo.sessions(limit=None).sessions:
        at = session.started_at
        assert started[session.session_id] == (at.replace(tzinfo=None) if at is not None else None)


def test_a_table_may_be_empty_and_values_odd(tmp_path: Path) -> None:
    root = tmp_path / "claude"
    write_log(
        root, SESSION, [said(1, "a\0b \"quoted\" 'text'\r\n\u2028 \U0001f30a \\u0000"), said(2, "x", role="assistant")]
    )
    with hansard.open(tmp_path / "store", [root]) as h:
        h.sync()
        h.export(None, tmp_path / "it's", format="parquet")
        text = h.reader.one("SELECT text FROM prompts")[0]
    place = str(tmp_path / "it's" / "prompts.parquet").replace("'", "''")
    assert ask(f"SELECT text FROM '{place}'") == [(text,)]
    assert ask(f"SELECT count(*) FROM '{place.replace('prompts', 'compactions')}'") == [(0,)]


def test_a_long_text_fits(tmp_path: Path) -> None:
    root = tmp_path / "claude"
    write_log(root, SESSION, [said(1, "tide " * 1_000_000), said(2, "x", role="assistant")])
    with hansard.open(tmp_path / "store", [root]) as h:
        h.sync()
        h.export([SESSION], tmp_path / "prompts.parquet", tables=["prompts"])
        kept = h.reader.one("SELECT length(text) FROM prompts")
    assert kept[0] > 4_000_000
    assert ask(f"SELECT length(text) FROM '{tmp_path / 'prompts.parquet'}'") == [kept]


# -- CSV


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_sheet_of_sessions_says_what_the_list_says(demo: Hansard, tmp_path: Path) -> None:
    demo.export(None, tmp_path / "sessions.csv")
    rows = read(tmp_path / "sessions.csv")
    listed = demo.sessions(limit=None).sessions
    assert [row["session_id"] for row in rows] == [session.session_id for session in listed]
    assert list(rows[0]) == list(Session.__struct_fields__)
    for row, session in zip(rows, listed, strict=True):
        assert row["cost_usd"] == ("" if session.cost_usd is None else plain(session.cost_usd))
        assert int(row["output_tokens"]) == session.output_tokens


def test_words_stand_in_a_line_and_notes_below_each_other() -> None:
    assert cell(("infra", "client/acme")) == "infra client/acme"
    assert cell(("Ask the pilot.", "Sail.")) == "Ask the pilot.\nSail."
    assert cell(()) == ""


def test_any_table_may_be_a_sheet(demo: Hansard, tmp_path: Path) -> None:
    done = demo.export(None, tmp_path / "out", format="csv", tables=["tool_calls", "usage", "turns"])
    assert sorted(Path(file.path).name for file in done.files) == ["tool_calls.csv", "turns.csv", "usage.csv"]
    calls = read(tmp_path / "out" / "tool_calls.csv")
    assert len(calls) == demo.reader.one("SELECT count(*) FROM tool_calls")[0]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z|", call["called_at"]) for call in calls)
    assert all(re.fullmatch(r"[0-9.]*", row["cost_usd"]) for row in read(tmp_path / "out" / "usage.csv"))


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\uff1d1", "=cmd|' /C calc'!A0"])
def test_no_cell_is_a_formula(tmp_path: Path, text: str) -> None:
    root = tmp_path / "claude"
    write_log(root, SESSION, [said(1, text, cwd=text), said(2, "x", role="assistant")])
    with hansard.open(tmp_path / "store", [root]) as h:
        h.sync()
        h.export(None, tmp_path / "out", format="csv", tables=["sessions", "prompts", "projects"])
    for name in ("sessions", "prompts"):
        for row in read(tmp_path / "out" / f"{name}.csv"):
            assert not any(re.match(r"[=+@\t\r\n\uff1d]|-(?!1$)", value) for value in row.values())
    assert any(value.startswith("'") for row in read(tmp_path / "out" / "sessions.csv") for value in row.values())


def test_a_table_that_is_not_there_is_told(demo: Hansard, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown table 'meta'"):
        demo.export(None, tmp_path / "x.csv", tables=["meta"])
    with pytest.raises(UsageError, match="2 tables need a directory"):
        demo.export(None, tmp_path / "x.csv", tables=["usage", "turns"])
    with pytest.raises(UsageError, match="csv or parquet"):
        demo.export(None, tmp_path / "out", format="html", tables=["usage"])
    assert not list(tmp_path.iterdir())


def test_without_duckdb_it_is_said_how_to_get_it(
    demo: Hansard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    for place in (tmp_path / "new" / "out", tmp_path / "sessions.parquet"):
        with pytest.raises(UsageError, match=r"hansard\[sql\]"):
            demo.export(None, place, format="parquet")
    assert not list(tmp_path.iterdir())
    assert demo.export(None, tmp_path / "sessions.csv", format="csv").files


def _without_zone(value: Any) -> Any:
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value
