"""The SQL page and its API: answers, files, limits and what a browser does with the editor."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from hansard.sql.questions import QUESTIONS
from hansard.web import sql_request
from hansard.web.sql_request import parameter_names

if TYPE_CHECKING:
    import httpx
    from playwright.sync_api import Browser

    from hansard.engine import Hansard
    from tests.web.serving import Site

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
MANY = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1500) SELECT x FROM n"


def test_every_question_is_answered_as_the_library_answers_it(client: httpx.Client, engine: Hansard) -> None:
    for name, question in QUESTIONS.items():
        answer = client.get("/api/sql", params={"question": name}).json()
        expected = engine.sql(question.sql, parameters=question.parameters)
        assert [column["name"] for column in answer["columns"]] == [column.name for column in expected.columns]
        assert len(answer["rows"]) == len(expected.rows)
        page = client.get("/sql", params={"question": name})
        assert page.status_code == 200
        assert 'class="mistake"' not in page.text
        assert page.text.count("<tr>") == len(expected.rows) + 1


@pytest.mark.parametrize("engine_name", ["sqlite", "duckdb"])
def test_parameters_are_values(client: httpx.Client, engine_name: str) -> None:
    if engine_name == "duckdb":
        pytest.importorskip("duckdb")
    asked = {"q": "SELECT $a AS a, $b AS b", "param[a]": "'; DROP", "param[b]": "", "engine": engine_name}
    answer = client.get("/api/sql", params=asked).json()
    assert answer["rows"] == [{"a": "'; DROP", "b": ""}]
    assert answer["engine"] == engine_name
    # The form of the page still has the inputs of the last query.
    page = client.get("/sql", params={**asked, "q": "SELECT $a AS a"}).text
    assert "; DROP</td>" in page


def test_sums_are_those_of_the_usage_page(client: httpx.Client) -> None:
    total = client.get("/api/usage", params={"by": "total"}).json()["totals"]
    asked = {"q": "SELECT sum(output_tokens) AS n, decimal_sum(cost_usd) AS cost FROM usage"}
    (row,) = client.get("/api/sql", params=asked).json()["rows"]
    assert row["n"] == total["output_tokens"]
    assert float(row["cost"]) == pytest.approx(float(total["cost_usd"]))


def test_answers_say_when_there_is_more(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = client.get("/api/sql", params={"q": MANY}).json()
    assert (len(answer["rows"]), answer["truncated"]) == (1000, True)
    assert len(client.get("/api/sql", params={"q": MANY, "limit": 2}).json()["rows"]) == 2
    assert "The first 1,000 rows" in client.get("/sql", params={"q": MANY}).text

    whole = client.get("/sql.csv", params={"q": MANY})
    assert len(list(csv.reader(io.StringIO(whole.text)))) == 1501
    assert 'filename="sql.csv"' in whole.headers["content-disposition"]
    assert len(json.loads(client.get("/sql.json", params={"q": MANY}).text)["rows"]) == 1500
    monkeypatch.setattr("hansard.web.pages.sql._MOST_SAVED", 100)
    refused = client.get("/sql.csv", params={"q": MANY})
    assert refused.status_code == 400
    assert "more than 100 rows" in refused.text


def test_a_query_ends_in_time_and_few_run_at_once(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(sql_request, "SECONDS", 0.05)
        refused = client.get("/api/sql", params={"q": ENDLESS})
        assert refused.status_code == 400
        assert "took longer than 0.05 s" in refused.json()["error"]["message"]
        assert "took longer than 0.05 s" in client.get("/sql", params={"q": ENDLESS}).text

    for _ in range(sql_request._AT_ONCE):
        assert sql_request._running.acquire(blocking=False)
    try:
        busy = client.get("/api/sql", params={"q": "SELECT 1"})
        assert (busy.status_code, busy.json()["error"]["code"]) == (503, "busy")
        assert "running already" in client.get("/sql", params={"q": "SELECT 1"}).text
    finally:
        for _ in range(sql_request._AT_ONCE):
            sql_request._running.release()
    assert client.get("/api/sql", params={"q": "SELECT 1 AS one"}).json()["rows"] == [{"one": 1}]


def test_memory_is_limited(client: httpx.Client) -> None:
    pytest.importorskip("duckdb")
    refused = client.get("/api/sql", params={"q": "SELECT repeat('x', 4000000000) AS x", "engine": "duckdb"})
    assert refused.status_code == 400
    assert refused.json()["error"]["message"] == "the query needs more than 512 MiB: narrow it"
    page = client.get("/sql", params={"q": "SELECT repeat('x', 4000000000) AS x", "engine": "duckdb"}).text
    assert "the query needs more than 512 MiB: narrow it</p>" in page
    assert "10 seconds and 512 MiB of memory" in page


def test_numbers_that_fit_nowhere_are_no_error(client: httpx.Client) -> None:
    asked = {"q": "SELECT record(1, 9223372036854775807) AS line"}
    assert client.get("/api/sql", params=asked).json()["rows"] == [{"line": None}]


def test_money_is_shown_as_it_is(client: httpx.Client, engine: Hansard) -> None:
    exact = {row.key["day"]: row.cost_usd for row in engine.usage(by="day", timezone="UTC").rows}
    rows = client.get("/api/sql", params={"question": "cost-by-day"}).json()["rows"]
    assert rows
    for row in rows:
        expected = exact[row["day"]]
        assert (
            row["cost_usd"] is None if expected is None else str(row["cost_usd"]) == format(expected.normalize(), "f")
        )


@pytest.mark.parametrize(
    "attack", ["DELETE FROM usage", "SELECT * FROM sqlite_master", "ATTACH 'x' AS y", "SELECT 1; SELECT 2"]
)
def test_nothing_but_a_select_over_the_views_runs(client: httpx.Client, attack: str) -> None:
    assert client.get("/api/sql", params={"q": attack}).status_code == 400
    page = client.get("/sql", params={"q": attack})
    assert page.status_code == 200
    assert 'role="alert"' in page.text


def test_what_is_wrong_is_refused(client: httpx.Client, demo: Site) -> None:
    for path in ("/api/sql", "/sql.csv"):
        assert client.get(path).status_code == 400
        assert client.get(path, params={"q": "SELECT 1", "question": "cost-by-day"}).status_code == 400
        assert client.get(path, params={"question": "cost-by-day", "param[x]": "1"}).status_code == 400
    for name in ("param", "param[a", "allow_external", "timeout"):
        assert client.get("/sql", params={"q": "SELECT 1", name: "1"}).status_code == 400
    with demo.stranger() as stranger:
        for path in ("/sql", "/sql.csv", "/sql.json", "/sql.svg", "/api/sql"):
            assert stranger.get(path, params={"q": "SELECT 1"}).status_code == 401
            assert client.post(path, headers={"origin": demo.address}).status_code == 405


def test_texts_are_escaped(hostile: Site, chromium: Browser) -> None:
    query = "SELECT text, 2 FROM prompts UNION ALL SELECT '<b onclick=x>', 1"
    with hostile.client() as client:
        drawn = client.get("/sql.svg", params={"q": query})
        assert drawn.headers["content-type"] == "image/svg+xml"
        assert "<b onclick" not in drawn.text
    with hostile.opened(chromium, f"/sql?q={query.replace(' ', '+')}") as watched:
        expect(watched.page.locator("table.answer tbody tr").first).to_be_visible()
        hostile.check(watched)


def test_parameters_are_found_outside_of_texts_and_comments() -> None:
    query = """SELECT '$a', "$b", $c -- $d
        /* $e */ FROM t WHERE x = $f AND y = $c"""
    assert parameter_names(query) == ["c", "f"]


def test_the_editor_completes_asks_for_parameters_and_runs(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/sql", permissions=["clipboard-read", "clipboard-write"]) as watched:
        page = watched.page
        field = page.get_by_role("textbox", name="Query")
        field.press_sequentially("SELECT model, count(*) AS n FROM us")
        expect(page.locator(".completions [role=option]").first).to_have_text("usageview")
        field.press("Tab")
        expect(field).to_have_value("SELECT model, count(*) AS n FROM usage")
        expect(page.locator("#editor pre .k").first).to_have_text("SELECT")
        expect(page.locator("#editor pre .t")).to_have_text("usage")
        field.press_sequentially(" u WHERE u.outp")
        expect(page.locator(".completions code").first).to_have_text("output_tokens")
        field.press("Tab")
        field.press_sequentially(" >= $least GROUP BY 1")
        given = page.get_by_label("$least")
        given.fill("1")
        field.press("Escape")
        page.keyboard.press("Control+Enter")
        page.wait_for_url("**/sql?q=*")
        expect(page.locator("table.answer tbody tr").first).to_be_visible()
        assert parse_qs(urlsplit(page.url).query)["param[least]"] == ["1"]
        expect(page.get_by_label("$least")).to_have_value("1")

        page.get_by_role("button", name="Copy link").click()
        expect(page.locator("#toast")).to_have_text("Link copied")
        assert page.evaluate("navigator.clipboard.readText()") == page.url
        page.locator("[data-view=turns] summary").click()
        field = page.get_by_role("textbox", name="Query")
        field.press("Control+End")
        page.locator("[data-view=turns] [data-column=kind]").click()
        expect(field).to_have_value(
            "SELECT model, count(*) AS n FROM usage u WHERE u.output_tokens >= $least GROUP BY 1kind"
        )
        demo.check(watched)
