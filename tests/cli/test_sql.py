"""`hansard sql`: queries, named questions, files, charts, the prompt and Datasette."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

import hansard
from hansard.cli.app import hansard as cli
from hansard.cli.sql_prompt import Prompt, complete
from hansard.engine import Hansard
from hansard.model.store_requests import SqlRequest
from hansard.sql.questions import QUESTIONS
from hansard.sql.views import VIEWS

from .conftest import SESSION, Run

COUNT = "SELECT kind, count(*) AS n FROM messages GROUP BY kind ORDER BY n DESC, kind"


def test_a_query_as_table_json_and_csv(run: Run) -> None:
    shown = run("sql", COUNT).stdout.splitlines()
    assert shown[0].split() == ["kind", "n"]
    answer = json.loads(run("sql", COUNT, "--json").stdout)
    assert answer["columns"] == [{"name": "kind", "type": "text"}, {"name": "n", "type": "integer"}]
    assert [line.split() for line in shown[1:]] == [[row["kind"], str(row["n"])] for row in answer["rows"]]
    assert (answer["truncated"], answer["engine"]) == (False, "sqlite")
    written = run("sql", COUNT, "--csv").stdout.splitlines()
    assert written == ["kind,n", *(f"{row['kind']},{row['n']}" for row in answer["rows"])]


def test_rows_are_limited_in_a_terminal_only(run: Run) -> None:
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1500) SELECT x FROM n"
    shown = run("sql", endless)
    assert len(shown.stdout.splitlines()) == 1001
    assert "the first 1,000 rows" in shown.stderr
    assert len(run("sql", endless, "-n", "0").stdout.splitlines()) == 1501
    assert len(json.loads(run("sql", endless, "--json").stdout)["rows"]) == 1500
    few = json.loads(run("sql", endless, "--json", "-n", "2").stdout)
    assert (few["rows"], few["truncated"]) == ([{"x": 1}, {"x": 2}], True)
    assert "no rows" in run("sql", "SELECT 1 WHERE false").stderr


def test_queries_come_from_files_stdin_and_questions(run: Run, tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text("SELECT $a || 'é' AS x")
    assert "1é" in run("sql", "-f", str(tmp_path / "q.sql"), "-p", "a=1").stdout
    command = ["sql", "--home", str(tmp_path / "store"), "--no-sync", "-p", "a=2"]
    for more in (["-f", "-"], []):
        assert "2é" in CliRunner().invoke(cli, [*command, *more], input="SELECT $a || 'é' AS x").stdout
    assert "stdin is empty" in CliRunner().invoke(cli, command).stderr
    run("sql", "-q", "tools-by", "-p", "since=2020")
    assert "no parameter 'until'" in run("sql", "-q", "failing-tools", "-p", "until=2020", code=2).stderr
    assert "--list" in run("sql", "-q", "nothing", code=1).stderr
    assert "cannot be read" in run("sql", "-f", str(tmp_path / "none.sql"), code=2).stderr
    assert "NAME=VALUE" in run("sql", "SELECT 1", "-p", "x", code=2).stderr
    assert "one of QUERY" in run("sql", "SELECT 1", "-q", "failing-tools", code=2).stderr
    assert "one of --json" in run("sql", "SELECT 1", "--json", "--csv", code=2).stderr


def test_an_error_is_one_line_and_an_exit_code(run: Run) -> None:
    told = run("sql", "SELECT nope FROM sessions", code=2).stderr
    assert told.startswith("hansard: no such column: nope (line 1, column 8); sessions has session_id, ")
    assert told.count("\n") == 1


def test_what_there_is(run: Run) -> None:
    listed = run("sql", "--list").stdout
    assert all(name in listed for name in QUESTIONS)
    questions = json.loads(run("sql", "--list", "--json").stdout)["questions"]
    assert [question["name"] for question in questions] == list(QUESTIONS)
    assert all(name in run("sql", "--schema").stdout for name in VIEWS)
    (view,) = json.loads(run("sql", "--schema", "usage", "--json").stdout)["views"]
    assert [column["name"] for column in view["columns"]] == [column.name for column in VIEWS["usage"].columns]
    assert "cost_usd" in run("sql", "--schema", "usage").stdout
    assert "unknown table" in run("sql", "--schema", "records", code=2).stderr


@pytest.mark.parametrize("ending", [".csv", ".json", ".jsonl", ".parquet"])
def test_answers_go_to_files(run: Run, tmp_path: Path, ending: str) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / f"it's{ending}"
    run("sql", COUNT, "--to", str(path))
    rows = [(row["kind"], row["n"]) for row in json.loads(run("sql", COUNT, "--json").stdout)["rows"]]
    quoted = str(path).replace("'", "''")
    reader = {".csv": "read_csv", ".json": "read_json", ".jsonl": "read_json", ".parquet": "read_parquet"}[ending]
    select = "SELECT unnest(rows, recursive := true) FROM" if ending == ".json" else "SELECT * FROM"
    with duckdb.connect() as db:
        assert db.execute(f"{select} {reader}('{quoted}')").fetchall() == rows
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 or os.name == "nt"
    assert "must end in" in run("sql", COUNT, "--to", str(tmp_path / "x.xls"), code=2).stderr
    assert "cannot be written" in run("sql", COUNT, "--to", str(tmp_path / f"none/x{ending}"), code=2).stderr


def test_charts(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "chart.svg"
    run("sql", COUNT, "--plot", str(path))
    drawn = path.read_text()
    assert drawn.count('height="18"') == len(run("sql", COUNT).stdout.splitlines()) - 1
    over_time = (
        "SELECT '2026-05-0' || (1 + value / 3) AS day, 'model <' || (value % 3) AS model, value AS n"
        " FROM json_each('[0,1,2,3,4,5]')"
    )
    run("sql", over_time.replace("value /", "CAST(value AS INTEGER) /"), "--plot", str(path))
    drawn = path.read_text()
    assert drawn.count('<g class="column">') == 2
    assert "model &lt;2" in drawn
    assert "<script" not in drawn
    many = (
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 90) SELECT 'n' || x AS name, x FROM n"
    )
    run("sql", many, "--plot", str(path))
    assert "others" in path.read_text()
    assert "nothing to plot" in run("sql", "SELECT 'a' AS b", "--plot", str(path), code=2).stderr
    assert "must end in" in run("sql", COUNT, "--plot", str(tmp_path / "x.gif"), code=2).stderr


# -- the prompt


def converse(h: Hansard, lines: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What the prompt answers to these lines."""
    from hansard.cli.context import Context

    waiting = iter(lines)

    def ask(_: str) -> str:
        line = next(waiting, None)
        if line is None:
            raise EOFError
        if line == "^C":
            raise KeyboardInterrupt
        return line

    context = Context()
    context.no_pager = True
    Prompt(context, h, SqlRequest(""), ask).run()
    written = capsys.readouterr()
    return written.out + written.err


def test_the_prompt(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("sync")
    with hansard.open(tmp_path / "store") as h:
        told = converse(h, ["SELECT count(*) AS many", "FROM sessions;", "", ".tables", ".schema links"], capsys)
        assert "many" in told
        assert "1 row in" in told
        assert "How sessions relate" in told
        assert "a session's id" in told
        told = converse(
            h, ["SELECT", "^C", "SELECT nope;", ".nothing", ".help", ".questions", ".quit", "SELECT 7;"], capsys
        )
        assert "no such column: nope" in told
        assert "unknown command .nothing" in told
        assert ".engine" in told
        assert "What did each day cost?" in told
        assert "7" not in told.rpartition("uncertain-cost")[2]
        told = converse(h, [f".plot {tmp_path}/a.svg", ".run failing", f".plot {tmp_path}/a.svg"], capsys)
        assert "nothing to plot yet" in told
        assert (tmp_path / "a.svg").exists() or "nothing to plot:" in told


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo terminals")
def test_the_history_has_whole_statements(run: Run, tmp_path: Path) -> None:
    """What was typed over several lines comes back as it was with one press of the arrow, in another run too."""
    import pty

    pytest.importorskip("readline")
    run("sync")
    up, end = "\x1b[A", "\x04"

    def talk(*typed: tuple[str, str]) -> str:
        """Type each text once the prompt before it has come; gives all that the terminal showed."""
        main, other = pty.openpty()
        command = [sys.executable, "-m", "hansard", "sql", "--home", str(tmp_path / "store"), "--no-sync"]
        variables = {**os.environ, "TERM": "xterm", "NO_COLOR": "1"}
        with subprocess.Popen(command, stdin=other, stdout=other, stderr=other, env=variables) as process:
            os.close(other)
            shown, place = "", 0
            for awaited, text in typed:
                while awaited not in shown[place:]:
                    shown += os.read(main, 4096).decode()
                place = shown.index(awaited, place) + len(awaited)
                os.write(main, text.encode())
            with contextlib.suppress(OSError):  # Linux says so when the last writer is gone
                while piece := os.read(main, 4096):
                    shown += piece.decode()
            process.wait()
        os.close(main)
        return shown

    first = (("sql> ", "SELECT 6 * 7 AS answer, -- a comment\n"), ("...> ", "2 AS two;\n"))
    shown = talk(*first, ("row in", ""), ("sql> ", up + "\n"), ("row in", ""), ("sql> ", end))
    assert len(re.findall(r"\b42 +2\b", shown)) == 2
    shown = talk(("sql> ", up + "\n"), ("row in", ""), ("sql> ", end))
    assert len(re.findall(r"\b42 +2\b", shown)) == 1
    history = tmp_path / "store" / "sql-history"
    assert history.read_text().count("\n") == 1
    assert stat.S_IMODE(history.stat().st_mode) == 0o600


def test_completion_knows_views_columns_and_commands() -> None:
    assert complete("SELECT * FROM tool_c", "tool_c") == ["tool_calls"]
    assert "cost_usd" in complete("SELECT cost FROM usage", "cost")
    assert complete("SELECT u.cost", "u.cost") == ["u.cost_usd"]
    assert complete(".sch", ".sch") == [".schema"]
    assert complete(".schema us", "us") == ["usage"]
    assert complete(".engine d", "d") == ["duckdb"]
    assert complete("sel", "sel") == ["SELECT"]


# -- copies for other programs


def in_sqlite(value: object) -> str:
    """How SQLite writes a value: times as text, money as numbers, booleans as 0 and 1."""
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%S.") + f"{value.microsecond // 1000:03}Z"
    return str(float(value) if isinstance(value, Decimal) else int(value) if isinstance(value, bool) else value)


def test_a_snapshot_has_every_view(run: Run, tmp_path: Path) -> None:
    run("sync")
    path = tmp_path / "copy.db"
    with hansard.open(tmp_path / "store") as h:
        h.write_sql_snapshot(path)
        with sqlite3.connect(path) as db:
            for name in VIEWS:
                expected = [tuple(map(in_sqlite, row)) for row in h.sql(f"SELECT * FROM {name}").rows]
                found = [tuple(map(str, row)) for row in db.execute(f"SELECT * FROM {name}")]
                assert sorted(found) == sorted(expected), name
        db.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 or os.name == "nt"


def test_datasette_serves_a_copy(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "pipx install datasette" in run("sql", "--datasette", code=2).stderr
    program = tmp_path / "datasette"
    program.write_text(
        f"#!{sys.executable}\nimport sqlite3, sys\n"
        "db = sqlite3.connect(sys.argv[sys.argv.index('--immutable') + 1])\n"
        f"print(db.execute('SELECT session_id FROM sessions').fetchall(), sys.argv, file=open({str(tmp_path / 'told')!r}, 'w'))\n"
    )
    program.chmod(0o700)
    run("sql", "--datasette")
    told = (tmp_path / "told").read_text()
    assert SESSION in told
    assert "127.0.0.1" in told
    copy = told.rpartition("--immutable', '")[2].partition("'")[0]
    assert not Path(copy).exists()


@pytest.mark.skipif(shutil.which("datasette") is None, reason="Datasette is not installed: pipx install datasette")
def test_the_real_datasette_serves_views_and_nothing_else(run: Run, tmp_path: Path) -> None:
    run("sync")
    outside = tmp_path / "outside.txt"
    outside.write_text("out of reach")
    command = [sys.executable, "-m", "hansard", "sql", "--home", str(tmp_path / "store"), "--no-sync", "--datasette"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stderr is not None
            lines = iter(process.stderr.readline, "")
            address = next(found[0] for line in lines if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
            with httpx.Client(base_url=address) as client:
                for name in VIEWS:
                    assert client.get(f"/hansard/{name}").status_code == 200
                (row,) = client.get("/hansard/sessions.json", params={"_shape": "array", "_size": 1}).json()
                assert row.keys() >= {column.name for column in VIEWS["sessions"].columns}
                copy = Path(client.get("/-/databases.json").json()[0]["path"])
                for sql in (
                    "DELETE FROM usage",
                    f"ATTACH '{outside}' AS x",
                    f"SELECT readfile('{outside}')",
                    "SELECT load_extension('x')",
                    "PRAGMA journal_mode = wal",
                ):
                    assert client.get("/hansard.json", params={"sql": sql}).status_code == 400
                for path in (f"/-/static/../../../../../..{outside}", str(outside), "/hansard.db"):
                    answer = client.get(path)
                    assert answer.status_code in (403, 404)
                    assert "out of reach" not in answer.text
        finally:
            process.terminate()
            process.communicate()
    assert not copy.exists()
    assert not copy.parent.exists()
