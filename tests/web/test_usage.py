"""Usage and explanations: the engine's figures, the command line's words, and every figure down to its messages."""

from __future__ import annotations

import csv
import html
import io
import re
import shlex
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from playwright.sync_api import expect

import hansard
from hansard.cli.app import hansard as command
from hansard.model.ledger import Limit, PriceOverride
from hansard.model.requests import DIMENSIONS
from hansard.render.format import row_cost
from hansard.web import caches
from tests.sync.making import FOLDER, assistant, raw, session, user
from tests.web.serving import Site, site
from tests.web.sheets import exactly, heads, links, shown

if TYPE_CHECKING:
    import httpx
    from playwright.sync_api import Browser

    from hansard.engine import Hansard
    from hansard.model.ledger import UsageReport, UsageRow

REPORTS = (
    "day",
    "week",
    "month",
    "hour",
    "session",
    "project",
    "model",
    "agent",
    "subagent",
    "branch",
    "pr",
    "tool",
    "block",
)
WHOLE = ("day", "week", "month", "project", "model", "agent", "branch", "tool", "block", "day,model", "project,branch")
PAIRS = ("day,model", "month,project", "project,branch", "session,subagent", "week,agent", "hour,tool")


# -- reports


def test_pull_requests_and_groups_are_offered(client: httpx.Client, demo: Site, engine: Hansard) -> None:
    page = client.get("/usage", params={"by": "pr", "range": "all"}).text
    (chip,) = re.findall(r'<a class="chip" href="([^"]+)" aria-current="true">Pull request</a>', page)
    assert "by=pr" in chip
    assert "<option>group</option>" not in page
    pull_request = next(row for row in engine.usage(by="pr").rows if row.key["pr"])
    listed = [html.unescape(href) for href in re.findall(r'href="(/sessions\?q=pr[^"]+)"', page)]
    number = str(pull_request.key["pr"]).rpartition("/")[2]
    of_it = next(href for href in listed if href.endswith(number))
    assert re.search(r"\b1 session\b", client.get(of_it).text)
    assert "no group is set" in client.get("/usage", params={"by": "group"}).text

    project = str(engine.usage(by="project").rows[0].key["project"])
    with (
        hansard.open(demo.settings.home, groups={"all": [project]}) as h,
        site(Path(demo.settings.home), groups={"all": (project,)}) as grouped,
        grouped.client() as asking,
    ):
        page = asking.get("/usage", params={"by": "group", "range": "all"}).text
        assert ">Group</a>" in page
        *rows, _ = shown(page)
        assert [cells[-1] for cells in rows] == [row_cost(row) for row in h.usage(by="group").rows]
        assert {cells[0] for cells in rows} == {"all", "(no group)"}


@pytest.mark.parametrize("by", [*REPORTS, *PAIRS, "total"])
def test_a_report_is_the_engine_s(client: httpx.Client, engine: Hansard, by: str) -> None:
    report = engine.usage(by=by, timezone="UTC", ascending=False)

    answer = client.get("/usage", params={"by": by, "range": "all"})

    assert answer.status_code == 200
    *rows, total = shown(answer.text)
    assert total[-1] == row_cost(report.totals)
    assert f"{report.totals.tokens:,}" in total
    assert [cells[-1] for cells in rows] == [row_cost(row) for row in _rows(report)[:100]]
    counts = [f"{row.tokens:,}" for row in _rows(report)[:100]]
    assert all(count in cells for count, cells in zip(counts, rows, strict=True))


def _rows(report: UsageReport) -> list[UsageRow]:
    return [] if report.by == ("total",) else list(report.rows)


@pytest.mark.parametrize("by", [*REPORTS, *PAIRS])
def test_every_row_leads_to_messages_that_add_up_to_it(client: httpx.Client, engine: Hansard, by: str) -> None:
    report = engine.usage(by=by, timezone="UTC", ascending=False)
    page = client.get("/usage", params={"by": by, "range": "all"}).text

    *rows, total = links(page)

    assert len(rows) == min(100, len(report.rows))
    step = 1 if by in WHOLE else 7
    for row, href in list(zip(report.rows, rows, strict=False))[::step]:
        answer = client.get(f"{href}&limit=1")
        assert answer.status_code == 200, href
        assert exactly(answer.text) == row.cost_usd
        assert f"{row.api_messages:,} message" in answer.text
    assert exactly(client.get(f"{total}&limit=1").text) == report.totals.cost_usd


@pytest.mark.parametrize(
    "asked",
    [
        {"range": "7d"},
        {"range": "90d"},
        {"range": "month"},
        {"range": "year"},
        {"range": "all", "project": "tidewater"},
        {"range": "all", "model": "opus"},
        {"range": "all", "q": "-model:haiku is:subagent"},
        {"range": "all", "mode": "calculate"},
        {"range": "all", "mode": "recorded"},
        {"range": "all", "sort": "tokens", "order": "asc"},
        {"range": "all", "work": "1", "by": "tool"},
        {"since": "2020-01-01", "until": "2030-01-01", "by": "week"},
        {"by": "session,model", "range": "all"},
        {"by": "total", "range": "all"},
    ],
)
def test_the_command_beside_a_report_gives_the_same(
    client: httpx.Client, demo: Site, asked: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = client.get("/usage", params=asked).text
    found = re.search(r'data-copy="(hansard usage [^"]*)"', page)
    table = shown(page)
    sheet = client.get("/usage.csv", params=asked)
    assert found is not None
    program, *words = shlex.split(html.unescape(found[1]))
    place = words.index("--") if "--" in words else len(words)
    said = [*words[:place], "--csv", *words[place:]]
    monkeypatch.setenv("TZ", "UTC")

    told = CliRunner().invoke(
        command, ["--home", demo.settings.home, "--root", demo.settings.roots[0], "--no-sync", *said]
    )

    assert program == "hansard"
    assert told.exit_code == 0, told.output
    assert told.stdout_bytes == sheet.content
    assert sheet.headers["content-type"] == "text/csv; charset=utf-8"
    assert sheet.headers["content-disposition"].startswith('attachment; filename="usage-')
    lines = list(csv.reader(io.StringIO(told.stdout_bytes.decode(), newline="")))
    if asked.get("by") != "total":
        assert len(table) - 1 == min(100, len(lines) - 1)


def test_pages_of_rows_have_every_row_once(client: httpx.Client, engine: Hansard) -> None:
    report = engine.usage(by="hour,session,subagent,tool", timezone="UTC", ascending=False)
    assert len(report.rows) > 200
    found: list[str] = []
    href: str | None = "/usage?by=hour,session,subagent,tool&range=all"
    while href is not None:
        page = client.get(href).text
        found += links(page)[:-1]
        following = re.search(r'href="([^"]+)#table">Next</a>', page)
        href = html.unescape(following[1]) if following else None
        assert shown(page)[-1][-1] == row_cost(report.totals)
    assert len(found) == len(set(found)) == len(report.rows)


def test_columns_are_sorted_by_their_heads(client: httpx.Client) -> None:
    page = client.get("/usage?by=project&range=all").text

    assert [name for name, _ in heads(page)] == ["Project", "Messages", "Tokens", "Cost"]
    assert 'aria-sort="descending"' in page
    page = client.get(dict(heads(page))["Tokens"]).text
    descending = [int(cells[6].replace(",", "")) for cells in shown(page)[:-1]]
    page = client.get(dict(heads(page))["Tokens"]).text
    assert 'aria-sort="ascending"' in page
    ascending = [int(cells[6].replace(",", "")) for cells in shown(page)[:-1]]
    assert descending == sorted(descending, reverse=True)
    assert ascending == sorted(ascending)


def test_marks_and_notes_are_those_of_the_command_line(client: httpx.Client, engine: Hansard) -> None:
    report = engine.usage(by="day", timezone="UTC")
    page = html.unescape(client.get("/usage?range=all").text)

    assert report.totals.lower_bound_messages
    for note in report.pricing.notes:
        assert note in page
    assert '<b class="mark">+</b>' in page
    assert "Prices: genai-prices" in page
    assert "Prices in use" in page


def test_the_chart_adds_up_to_the_report(client: httpx.Client, engine: Hansard) -> None:
    for stack in ("model", "project", "agent", "none"):
        page = client.get("/usage", params={"range": "all", "stack": stack}).text
        values = [Decimal(value) for value in re.findall(r'data-value="([^"]+)"', page)]
        assert sum(values) == engine.usage(by="total").totals.cost_usd
    page = client.get("/usage", params={"range": "all", "measure": "tokens"}).text
    values = [Decimal(value) for value in re.findall(r'data-value="([^"]+)"', page)]
    assert sum(values) == engine.usage(by="total").totals.tokens


@pytest.mark.parametrize(("by", "stack"), [("project", "model"), ("model", "project"), ("session", "model")])
def test_the_chart_is_by_what_the_table_is_by(client: httpx.Client, engine: Hansard, by: str, stack: str) -> None:
    page = client.get("/usage", params={"by": by, "range": "all"}).text
    chart = page.partition('id="chart"')[2].partition("</section>")[0]
    assert f"by {by} <small>" in chart
    assert f'aria-current="true">By {stack}</a>' in chart
    bars = re.findall(r"<li><a[^>]*>.*?</li>", chart.partition("</ol>")[0], re.DOTALL)
    rows = sorted(engine.usage(by=by, timezone="UTC").rows, key=lambda row: -(row.cost_usd or 0))
    sums = [sum(map(Decimal, re.findall(r'data-value="([^"]+)"', bar))) for bar in bars]
    assert sums == [row.cost_usd or 0 for row in rows[: len(bars)]]


def test_every_bar_leads_to_what_it_shows(client: httpx.Client) -> None:
    page = client.get("/usage", params={"range": "all", "by": "week"}).text
    parts = re.findall(r'<a href="([^"]+)" tabindex="-1"><title>[^<]*</title><rect class="s[1-7]" [^>]*data-value="([^"]+)"', page)  # fmt: skip
    assert parts
    for href, value in parts:
        assert exactly(client.get(html.unescape(href)).text) == Decimal(value)


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("/usage?by=nothing", "by"),
        ("/usage?range=3d", "range"),
        ("/usage?since=yesterday-ish", "date"),
        ("/usage?skip=-1", "skip"),
        ("/usage?bye=day", "bye"),
        ("/usage?q=since:never", "never"),
        ("/usage?sort=name", "sort"),
        ("/usage.csv?by=x", "by"),
        ("/explain?key=x", "key"),
        ("/explain?by=day", "value"),
        ("/explain?by=day&key=1999-01-01", "1999-01-01"),
        ("/explain?target=nobody-called-so", "nobody-called-so"),
        ("/explain?by=total&limit=0", "limit"),
    ],
)
def test_wrong_questions_are_refused(client: httpx.Client, path: str, word: str) -> None:
    answer = client.get(path)

    assert answer.status_code in (400, 404)
    assert word in html.unescape(answer.text)


def test_a_time_without_usage_says_where_there_is_some(client: httpx.Client) -> None:
    page = client.get("/usage?since=2019-01-01&until=2019-02-01").text

    assert "No messages match in this period" in page
    (href,) = re.findall(r'href="([^"]+)">the 30 days up to it', page)
    assert "/explain" in client.get(html.unescape(href)).text


def test_nothing_at_all(tmp_path: Path) -> None:
    with site(tmp_path / "home") as empty, empty.client() as client:
        assert "No messages match" in client.get("/usage").text
        assert client.get("/explain?by=total").status_code == 404
        assert client.get("/usage.csv").content.startswith(b"day,")


# -- the present block, budgets, prices


@pytest.fixture(scope="module")
def limited(demo_store: tuple[Path, Path]) -> Iterator[Site]:
    """The app with limits: one that is far away, one that is passed."""
    root, home = demo_store
    limits = (Limit("month", Decimal(1000), Decimal("0.8")), Limit("month", Decimal("0.01"), Decimal("0.8"), "tide"))
    with site(home, root, limits=limits) as running:
        yield running


def test_budgets_are_shown_and_passed_ones_told(limited: Site) -> None:
    with limited.client() as client:
        page = client.get("/usage?range=all").text
        overview = client.get("/").text
    assert "This month in tide" in page
    assert "of $1,000.00" in page
    for text in (page, overview):
        assert 'class="over"' in text or "tide" not in text
        assert "Budgets" in text


def test_blocks_tell_of_pauses_and_the_present_one(client: httpx.Client, engine: Hansard) -> None:
    page = client.get("/usage?by=block&range=all").text
    blocks = engine.blocks().blocks

    assert len(shown(page)) - 1 == min(100, sum(not block.is_gap for block in blocks))
    assert ("Current block" in page) == any(block.is_active for block in blocks)
    if any(block.is_gap for block in blocks):
        assert re.search(r"<small>after a gap of \d+ (hours|days)</small>", page)


# -- what is kept


def test_an_answer_is_made_once_for_each_state_of_the_store() -> None:
    made: list[str] = []

    def make(name: str) -> str:
        made.append(name)
        return name

    known = caches.AnswerCache(most=2, long=0)
    for name in ("a", "a", "b", "c", "b", "a"):
        assert known.get((1, name), lambda name=name: make(name)) == name  # type: ignore[misc]
    assert made == ["a", "b", "c", "a"]
    assert len(known) == 2
    quick = caches.AnswerCache(long=60)
    quick.get("a", lambda: make("quick"))
    quick.get("a", lambda: make("quick"))
    assert made[4:] == ["quick", "quick"]
    assert len(quick) == 0


def test_a_report_follows_the_store(tmp_path: Path) -> None:
    root, one = tmp_path / "claude", session(1)
    path = root / FOLDER / f"{one}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(raw([user(one, "u1", "Go."), assistant(one, "a1", "m1", "Yes.", 1)]))
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
        with site(tmp_path / "home", root) as running, running.client() as client:
            before = client.get("/usage?range=all&by=session").text
            path.write_bytes(path.read_bytes() + raw([assistant(one, "a2", "m2", "Yes.", 2, tokens=(1000, 5000))]))
            h.sync()
            after = client.get("/usage?range=all&by=session").text
        totals = h.usage(by="total").totals
    assert shown(before)[-1][-1] != shown(after)[-1][-1] == row_cost(totals)


def test_a_report_follows_the_prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, one = tmp_path / "claude", session(1)
    path = root / FOLDER / f"{one}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(raw([user(one, "u1", "Go."), assistant(one, "a1", "m1", "Yes.", 1, tokens=(10**6, 0))]))
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
    monkeypatch.setattr(caches, "_LONG", 0.0)
    dearer = PriceOverride("claude-opus-4-1", Decimal(77), Decimal(88))
    with site(tmp_path / "home", root) as running, running.client() as client:
        before = client.get("/usage?range=all").text
        with hansard.open(tmp_path / "home", [root], prices=[dearer]) as h:
            h.sync()
        after = client.get("/usage?range=all").text
    assert shown(before)[-1][-1] == "$15.00"
    assert shown(after)[-1][-1] == "$77.00"


# -- in a browser


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/usage?range=all", "/usage?by=session&work=1&range=all"])
def test_pages_fit_every_screen(demo: Site, chromium: Browser, path: str, width: int, theme: str) -> None:
    with demo.opened(chromium, path, width=width, color_scheme=theme) as watched:
        assert watched.run("document.documentElement.scrollWidth - innerWidth") <= 0
        assert watched.run("[...document.querySelectorAll('[style]')].length") == 0
        demo.check(watched)


@pytest.mark.parametrize("path", [f"/usage?range=all&by={by}" for by in (*REPORTS, "project,branch")])
def test_hostile_names_are_only_names(hostile: Site, chromium: Browser, path: str) -> None:
    with hostile.opened(chromium, path) as watched:
        watched.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        watched.settle()
        hostile.check(watched)
    with hostile.client() as client:
        for href in links(client.get(path).text):
            answer = client.get(f"{href}&limit=2")
            assert answer.status_code == 200, href
            assert "<script>" not in answer.text.replace('<script src="', "")


def test_bars_are_walked_by_arrows_and_opened_by_enter(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/usage?range=all") as watched:
        page = watched.page
        page.locator(".bars a.whole[tabindex='0']").focus()
        first = watched.run("document.activeElement.getAttribute('href')")
        page.keyboard.press("ArrowLeft")
        watched.until(f"document.activeElement.getAttribute('href') !== '{first}'")
        expect(page.locator(".bars a.whole[tabindex='0']")).to_have_count(1)
        expect(page.locator(".tip")).to_be_visible()
        expect(page.locator(".tip")).to_contain_text("Cost")
        page.keyboard.press("End")
        watched.expect("document.activeElement.getAttribute('href')", first)
        page.keyboard.press("Home")
        page.keyboard.press("Enter")
        page.wait_for_url("**/explain?*")
        expect(page.locator(".figure")).to_be_visible()
        demo.check(watched)


def test_a_switch_changes_the_chart_in_place(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/usage?range=all") as watched:
        page = watched.page
        watched.run("window.here = true")
        page.locator("#chart .switch a", has_text="Tokens").click()
        watched.until("document.querySelector('#chart h2').textContent.startsWith('Tokens')")
        watched.until("location.search.includes('measure=tokens')")
        page.locator("#chart .switch a", has_text="By project").click()
        watched.until("location.search.includes('stack=project') && location.search.includes('measure=tokens')")
        assert watched.run("window.here") is True
        demo.check(watched)


def test_rows_are_walked_by_j_and_k(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/usage?range=all&by=session") as watched:
        page = watched.page
        for key in "jjk":
            page.keyboard.press(key)
        watched.expect("document.activeElement.closest('tr')?.rowIndex", 1)
        page.keyboard.press("Enter")
        page.wait_for_url("**/sessions/*")
        demo.check(watched)


def test_a_form_asks_for_what_was_filled_in(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/usage") as watched:
        page = watched.page
        page.locator(".filters summary").click()
        page.locator(".filter-form input[name=project]").fill("tide")
        page.locator("select[name=by]").nth(1).select_option("model")
        page.locator(".filter-form button").click()
        page.wait_for_url("**/usage?*project=tide*")
        assert page.url.partition("?")[2] == "by=day&by=model&project=tide&range=30d"
        expect(page.locator(".filter-form input[name=project]")).to_have_value("tide")
        demo.check(watched)


def test_values_can_be_read_without_script(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/usage?range=all", java_script_enabled=False) as watched:
        titles = watched.page.locator(".bars a.whole title")
        assert titles.count() > 3
        assert "Cost" in (titles.first.text_content() or "")


def test_times_are_those_of_the_user_s_zone(demo_store: tuple[Path, Path]) -> None:
    root, home = demo_store
    with (
        site(home, root, timezone="Pacific/Auckland") as running,
        running.client() as client,
        hansard.open(home, [root]) as h,
    ):
        report = h.usage(by="day", timezone="Pacific/Auckland", ascending=False)
        page = client.get("/usage?range=all").text
        assert [cells[0] for cells in shown(page)[:-1]] == [row.key["day"] for row in report.rows]
        assert "Pacific/Auckland" in page
        for href, row in zip(links(page), report.rows[:5], strict=False):
            assert exactly(client.get(href).text) == row.cost_usd


def test_all_dimensions_can_be_chosen(client: httpx.Client) -> None:
    page = client.get("/usage").text

    for name in DIMENSIONS:
        if name == "group":
            continue  # no group is configured
        assert f"<option>{name}</option>" in page or f"<option selected>{name}</option>" in page


def test_usage_opens_on_the_latest_days_with_usage(tmp_path: Path) -> None:
    root, home, name = tmp_path / "claude", tmp_path / "home", session(4)
    path = root / FOLDER / f"{name}.jsonl"
    path.parent.mkdir(parents=True)
    old = {"timestamp": "2025-03-04T10:00:00.000Z"}
    path.write_bytes(raw([{**user(name, "u1", "go"), **old}, {**assistant(name, "a1", "m1", "done"), **old}]))
    with hansard.open(home, [root]) as h:
        h.sync()
        last = h.usage(by="total").totals.last_at
    assert last is not None
    with site(home, root) as running, running.client() as client:
        text = client.get("/usage").text
        assert "No messages match" not in text
        assert f"until={last:%Y-%m-%d}" in text
        assert "no usage in the last 30 days" in text
        assert "No messages match" in client.get("/usage", params={"range": "30d"}).text


def test_the_chart_names_its_unit(client: httpx.Client) -> None:
    assert "<small>US dollars</small>" in client.get("/usage", params={"measure": "cost"}).text
    assert "<small>tokens, cached ones included</small>" in client.get("/usage", params={"measure": "tokens"}).text


def test_another_report_opens_where_the_last_one_was(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/usage?by=day&range=all", width=390) as watched:
        page, click = watched.page, "(link) => link.click()"  # without scrolling to it
        watched.run("scrollTo(0, 400)")
        page.locator(".reports a", has_text="week").evaluate(click)
        page.wait_for_url("**by=week*")
        watched.expect("scrollY", 400)
        page.locator(".ledger th a").last.evaluate(click)
        page.wait_for_url("**sort=*")
        watched.expect("scrollY", 400)
        demo.check(watched)
