"""A lake's figures are those of the reports: to the last token and digit, in the same JSON."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.engine import Hansard
from hansard.errors import NotFound, UsageError
from hansard.lake.dimensions import LakeDimensions
from hansard.lake.engines import Engine
from hansard.lake.relations import RELATIONS
from hansard.lake.storage import LakeUnusable
from hansard.lake.store import Lake
from hansard.lake.usage import LakeLedger
from hansard.ledger.report import make_report
from hansard.model.serialize import encoded, plain
from hansard.model.store_requests import LakeUsageRequest
from hansard.sql.questions import QUESTIONS
from hansard.sql.tables import DERIVED
from hansard.sql.views import VIEWS
from tests.lake.conftest import PushedTwice, push

pytest.importorskip("duckdb")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SAME = [name for name in LakeDimensions.offered if name not in ("person", "machine", "group")]


def report_of(answer: Any) -> bytes:
    """Its JSON; Parquet has neither NUL nor halves of surrogate pairs."""
    text = encoded(plain(answer)).replace(rb"\u0000", "\ufffd".encode())
    return re.sub(rb"\\u[dD][89a-fA-F]..", b"?", text)


def check_figures(h: Hansard, target: Path, dimensions: list[str], name: str = "duckdb") -> None:
    """Every report, and what SQL says of sessions, calls and projects."""
    with Lake(str(target)) as lake:
        engine = lake.engine(name)
        try:
            for by in dimensions:
                request = LakeUsageRequest(by=by, timezone="Europe/Berlin")
                found = make_report(LakeLedger(engine, request), request)
                assert report_of(found) == report_of(h.usage(by=by, timezone="Europe/Berlin"))
            names = (
                "session_id project prompts messages tool_calls tool_errors agents input_tokens output_tokens"
                " cache_read_tokens cache_write_tokens api_messages lower_bound_messages cost_usd"
            ).split()
            listed = {
                tuple(getattr(one, name) for name in names) for one in h.sessions(limit=None, debris=True).sessions
            }
            assert set(engine.rows(f"SELECT {', '.join(names)} FROM sessions")) == listed
            totals = h.usage(by="total").totals
            said = engine.rows("SELECT count(*), sum(output_tokens), sum(cost_usd) FROM usage")
            assert said == [(totals.api_messages, totals.output_tokens or None, totals.cost_usd)]
            tools = h.tools().totals
            calls = "SELECT count(*), count(CASE WHEN is_error THEN 1 END) FROM tool_calls WHERE NOT is_copy"
            assert engine.rows(calls) == [(tools.calls, tools.errors)]
            projects = {(one.project, one.sessions, one.output_tokens, one.cost_usd) for one in h.projects()}
            assert set(engine.rows("SELECT project, sessions, output_tokens, cost_usd FROM projects")) == projects
        finally:
            engine.close()


@pytest.mark.parametrize("name", ["hard", "public"])
def test_figures_are_those_of_the_reports(name: str, pushed_twice: PushedTwice) -> None:
    """Although the same history is pushed twice, under two names."""
    h, target = pushed_twice(name)
    check_figures(h, target, SAME if name == "hard" else ["day", "model", "project", "session"])


@pytest.fixture(scope="module")
def lake_of_two(machines: dict[str, Hansard], tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("lake")
    for machine in ("bob", "ann"):
        push(machines[machine], target, machine, person=machine)
    return target


def test_machines_merge_as_one_store_would(machines: dict[str, Hansard], lake_of_two: Path) -> None:
    with Lake(str(lake_of_two)) as lake:
        for by in (name for name in SAME if name != "session"):  # titles stay at home
            asked: dict[str, Any] = {"by": by, "timezone": "UTC", "breakdown": True}
            assert report_of(lake.usage(**asked)) == report_of(machines["both"].usage(**asked))
        found, wanted = lake.usage(by="session"), machines["both"].usage(by="session")
        assert [(row.key, row.cost_usd, row.tokens) for row in found.rows] == [
            (row.key, row.cost_usd, row.tokens) for row in wanted.rows
        ]


@pytest.mark.parametrize(
    "asked",
    [
        {"since": "2026-02-01T10:07:00Z"},
        {"until": "2026-02-01T00:00:00Z", "by": "month,model"},
        {"project": "SRC", "by": "project"},
        {"model": "opus", "by": "model"},
        {"mode": "calculate", "sort": "tokens", "by": "model", "ascending": True},
        {"mode": "recorded", "by": "total"},
    ],
)
def test_filters_are_those_of_usage(asked: dict[str, Any], machines: dict[str, Hansard], lake_of_two: Path) -> None:

    given: dict[str, Any] = {
        name: datetime.fromisoformat(value) if name in ("since", "until") else value for name, value in asked.items()
    }
    with Lake(str(lake_of_two)) as lake:
        found = lake.usage(timezone="UTC", **given)
    assert found.rows
    assert report_of(found) == report_of(machines["both"].usage(timezone="UTC", **given))


def test_sessions_without_recorded_usage_are_counted(pushed_twice: PushedTwice) -> None:
    """Also in periods that begin and end within a session, and where it said nothing."""
    h, target = pushed_twice("all clients")
    silent = h.usage().unrecorded
    assert silent is not None
    assert len(silent.clients) > 1
    without = [one for one in h.sessions(limit=None).sessions if one.messages and not one.api_messages]
    longest = max(without, key=lambda one: (one.ended_at or EPOCH) - (one.started_at or EPOCH))
    assert longest.started_at is not None
    assert longest.ended_at is not None
    first, last = longest.started_at, longest.ended_at
    moment = timedelta(milliseconds=1)
    periods = [
        *({"since": first, "until": first + moment}, {"since": first + moment}, {"until": last}, {"since": last}),
        *({"since": first + moment, "until": first + moment * 2}, {"since": first + moment, "until": last}),
    ]
    asked: list[dict[str, Any]] = [
        {},
        {"project": "app"},
        {"model": "gpt"},
        {"model": "sonnet"},
        {"project": "nowhere"},
        *periods,
    ]
    with Lake(str(target)) as lake:
        for given in asked:
            found = lake.usage(by="total", timezone="UTC", **given)
            wanted = h.usage(by="total", timezone="UTC", **given)
            assert found.unrecorded == wanted.unrecorded, given
            assert found.pricing.notes == wanted.pricing.notes
        assert lake.usage(person="nobody").unrecorded is None
        said = {given.unrecorded.sessions if given.unrecorded else 0 for given in (h.usage(**one) for one in asked)}
        assert len(said) > 3, "the periods differ in what they leave out"


def test_people_and_groups(machines: dict[str, Hansard], lake_of_two: Path) -> None:
    groups = {"first": [machines["both"].projects()[0].project]}
    with Lake(str(lake_of_two)) as lake:
        people = lake.usage(by="person")
        assert {row.key["person"] for row in people.rows} == {"ann", "bob"}
        assert people.totals == machines["both"].usage(by="total").totals
        ann = lake.usage(by="machine", person="ANN")
        assert [row.key for row in ann.rows] == [{"machine": "ann"}]
        grouped = lake.usage(by="group", groups=groups)
        with hansard.open(machines["both"].home, groups=groups) as h:
            assert report_of(grouped) == report_of(h.usage(by="group"))
        with pytest.raises(UsageError, match="no group is set"):
            lake.usage(by="group")


def test_what_cannot_be_grouped_by_is_said(lake_of_two: Path) -> None:
    with Lake(str(lake_of_two)) as lake:
        for by, words in (("commit", "cannot group usage by 'commit'"), ("day,day", "only once")):
            with pytest.raises(UsageError, match=words):
                lake.usage(by=by)
        with pytest.raises(UsageError, match="unknown engine"):
            lake.usage(engine="abacus")
        with pytest.raises(UsageError, match="--engine spark"):
            lake.usage(master="local")


def test_spark_that_is_missing(lake_of_two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with Lake(str(lake_of_two)) as lake, pytest.raises(UsageError, match="pip install 'pyspark"):
        lake.usage(engine="spark")


def test_spark_without_java(lake_of_two: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="Spark is not installed: make spark")
    done = subprocess.run(
        [sys.executable, "-m", "hansard", "lake", "report", str(lake_of_two), "--engine", "spark"],
        env={**os.environ, "JAVA_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (LakeUnusable.exit_code, "")
    assert "Spark, which needs Java 17 or 21, does not start" in done.stderr


def test_every_public_view_is_there(lake_of_two: Path) -> None:
    with Lake(str(lake_of_two)) as lake:
        engine = lake.engine()
        try:
            for view in VIEWS.values():
                rows = engine.rows(f"DESCRIBE SELECT * FROM {view.name}")
                names = [row[0] for row in rows]
                wanted = [column.name for column in view.columns]
                assert names == (wanted if view.name == "projects" else ["machine", "person", *wanted])
        finally:
            engine.close()


@pytest.mark.parametrize("name", QUESTIONS)
def test_named_questions(name: str, pushed_twice: PushedTwice) -> None:
    """Each gives what it gives on the machine, but for texts, of which a lake has those of opened projects."""
    h, target = pushed_twice("hard")
    with Lake(str(target)) as opened:
        asked = opened.engine()
        check_question(name, h, asked)
        asked.close()


def check_question(name: str, h: Hansard, asked: Engine) -> None:
    question = QUESTIONS[name]
    found = asked.rows(question.sql, question.parameters)
    with h.sql(question.sql, parameters=question.parameters, engine="duckdb") as told:
        wanted = [tuple(row) for row in told.rows]
    assert found or name in ("repeated-prompts", "sessions-of-file", "compactions-by-project")
    assert {tuple(map(_plain, row)) for row in found} == {tuple(map(_plain, row)) for row in wanted}


def _plain(value: Any) -> str:
    """A cell as text: engines differ in types of numbers and times."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(timespec="milliseconds")
    if isinstance(value, Decimal | float):
        return f"{value:.6f}".rstrip("0").rstrip(".")
    return str(value).replace("\0", "\ufffd")


def test_an_older_file_may_have_fewer_columns(machines: dict[str, Hansard], tmp_path: Path) -> None:
    import duckdb

    push(machines["ann"], tmp_path)
    for path in tmp_path.glob("usage_lines/*/*/*.parquet"):
        with duckdb.connect() as db:
            made = f"{path}.new"
            db.execute(
                f"COPY (SELECT * EXCLUDE (inference_geo) FROM read_parquet('{path}')) TO '{made}' (FORMAT parquet)"
            )
        Path(made).replace(path)
    with Lake(str(tmp_path)) as lake:
        engine = lake.engine(relations=["usage_lines", "machines"])
        assert engine.rows("SELECT count(*) FROM pushed_usage_lines WHERE inference_geo IS NULL")[0][0] > 0
        engine.close()


def test_an_empty_lake_and_an_empty_history(tmp_path: Path) -> None:
    (tmp_path / "claude" / "projects").mkdir(parents=True)
    with Lake(str(tmp_path / "lake")) as lake:
        assert lake.status().machines == ()
        with pytest.raises(NotFound, match="nothing was pushed"):
            lake.usage()
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as h:
        h.sync()
        push(h, tmp_path / "lake")
        with Lake(str(tmp_path / "lake")) as lake:
            assert report_of(lake.usage(by="day", timezone="UTC")) == report_of(h.usage(by="day", timezone="UTC"))


def test_relations_are_views_that_are_not_derived() -> None:
    assert set(VIEWS) - set(DERIVED) <= set(RELATIONS)
