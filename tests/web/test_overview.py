"""The overview: its numbers are those of the lists and reports they lead to, and it keeps itself up to date."""

from __future__ import annotations

import html
import os
import re
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

import hansard
from hansard.demo import write_history
from hansard.model.health import SyncProgress
from hansard.model.ledger import Limit
from hansard.render.format import row_cost, short
from hansard.render.series import week_hours_of
from hansard.storage.heartbeat import clear_progress, note_progress
from tests.sync.making import FOLDER, assistant, raw, session, user
from tests.web.serving import Site, site
from tests.web.sheets import exactly

if TYPE_CHECKING:
    from pathlib import Path

    import httpx
    from playwright.sync_api import Browser

    from hansard.engine import Hansard

DAY = timedelta(days=1)
LOADED = "!document.querySelector('.cleanup').textContent.includes('Looking')"


def figures(page: str) -> list[dict[str, tuple[str, str, str | None]]]:
    """Today's and this week's figures: the value, the one before, and where it leads, by name."""
    found = []
    for glance in re.findall(r'<dl class="figures">(.*?)</dl>', page, re.DOTALL):
        shown = {}
        for name, value, before in re.findall(
            r"<dt>(.*?)</dt>\s*<dd>(.*?)<small>(.*?)</small></dd>", glance, re.DOTALL
        ):
            link = re.search(r'href="([^"]+)"', value)
            text = html.unescape(re.sub("<[^>]+>", "", value))
            shown[name] = (text, html.unescape(before), html.unescape(link[1]) if link else None)
        found.append(shown)
    return found


def midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


# -- numbers


def test_figures_are_the_engine_s(client: httpx.Client, engine: Hansard) -> None:
    today = midnight(datetime.now(UTC))
    monday = today - DAY * today.weekday()
    day, before, week, last = engine.activity_by_period(
        (today, today + DAY), (today - DAY, today), (monday, monday + 7 * DAY), (monday - 7 * DAY, monday)
    )
    rows = {row.key["day"]: row for row in engine.usage(by="day", timezone="UTC").rows}
    weeks = {row.key["week"]: row for row in engine.usage(by="week", timezone="UTC").rows}

    page, total = client.get("/").text, client.get("/overview/all-time").text
    assert 'data-load="/overview/all-time"' in page
    (first, second), (whole,) = figures(page), figures(total)

    for shown, found, was in ((first, day, before), (second, week, last)):
        assert shown["Sessions"][0] == f"{found.sessions:,}"
        assert shown["Prompts"][0] == f"{found.prompts:,}"
        assert shown["Tool calls"][0] == f"{found.tool_calls:,}"
        assert shown["Errors"][0] == f"{found.errors:,}"
        assert shown["Sessions"][1].endswith(f" {was.sessions:,}")
        assert shown["Errors"][1].endswith(f" {was.errors:,}")
    for shown, row in ((first, rows.get(f"{today:%Y-%m-%d}")), (second, weeks.get(f"{monday:%G-W%V}"))):
        assert shown["Cost"][0] == (row_cost(row) if row else "$0.00")
        assert shown["Tokens"][0] == short(row.tokens if row else 0)
    done, used = (
        engine.activity(),
        engine.usage(by="total").totals,
    )  # as `hansard` and `hansard usage --by total` show them
    assert whole["Cost"][0] == row_cost(used)
    assert whole["Tokens"][0] == short(used.tokens)
    assert [whole[name][0] for name in ("Sessions", "Projects", "Prompts", "Tool calls")] == [
        f"{count:,}" for count in (done.sessions, done.projects, done.prompts, done.tool_calls)
    ]


def test_where_this_week_is_empty_the_last_active_one_is_shown(tmp_path: Path) -> None:
    ended = datetime(2025, 3, 14, 12, tzinfo=UTC)
    write_history(tmp_path / "claude", now=ended)
    with hansard.open(tmp_path / "home", [tmp_path / "claude"]) as h:
        h.sync()
        last = max(h.usage(by="day", timezone="UTC").rows, key=lambda row: row.key["day"] or "")
    with site(tmp_path / "home", tmp_path / "claude") as old, old.client() as client:
        page = client.get("/").text
    assert "Last active day" in page
    assert "Last active week" in page
    assert "This week" not in page
    first = figures(page)[0]
    assert first["Cost"][0] == row_cost(last)
    assert "No usage in" not in page
    assert "30 days up to" in page


def test_hours_of_the_week_add_up_to_the_report(engine: Hansard) -> None:
    report = engine.usage(by="hour", timezone="UTC")
    hours = week_hours_of(report)
    assert sum(amount.size for amount in hours.values()) == report.totals.cost_usd
    assert all(0 <= day < 7 and 0 <= hour < 24 for day, hour in hours)


def test_the_most_expensive_sessions(client: httpx.Client, engine: Hansard) -> None:
    page = client.get("/").text
    assert 'data-load="/overview/hours"' in page
    assert 'data-load="/overview/top"' in page
    assert 'href="/sessions?sort=cost"' in page
    listed = re.findall(r'<li><a href="/sessions/([^"]+)"', client.get("/overview/top").text)
    assert listed == [one.session_id for one in engine.sessions(sort="cost", limit=len(listed)).sessions]
    assert len(listed) > 3


def test_every_figure_leads_to_a_page(client: httpx.Client) -> None:
    for glance in figures(client.get("/").text + client.get("/overview/all-time").text):
        for name, (_, _, href) in glance.items():
            if href is not None:
                assert client.get(href).status_code == 200, (name, href)


def test_figures_lead_to_what_they_count(client: httpx.Client, engine: Hansard) -> None:
    for glance in figures(client.get("/").text)[:2]:
        href = glance["Sessions"][2]
        assert href is not None
        asked = parse_qs(urlsplit(href).query)
        since, until = (datetime.fromisoformat(asked[name][0]).replace(tzinfo=UTC) for name in ("since", "until"))
        assert engine.sessions(since=since, until=until + DAY, limit=1).total == int(glance["Sessions"][0])
        href = glance["Cost"][2]
        if href is not None:
            asked = parse_qs(urlsplit(href).query)
            by, key = asked["by"][0], asked["key"][0]
            row = next(row for row in engine.usage(by=by, timezone="UTC").rows if row.key[by] == key)
            assert exactly(client.get(href).text) == row.cost_usd


def test_active_time_says_how_it_is_counted(client: httpx.Client) -> None:
    assert "pauses of up to 5 minutes between two lines of a session count" in client.get("/").text


# -- charts


@pytest.mark.parametrize(("days", "split"), [(30, "model"), (90, "project")])
def test_the_bars_are_the_last_days(client: httpx.Client, engine: Hansard, days: int, split: str) -> None:
    since = midnight(datetime.now(UTC)) - DAY * (days - 1)
    total = engine.usage(by="total", since=since).totals

    page = client.get("/", params={"days": days, "split": split}).text

    assert sum(Decimal(value) for value in re.findall(r'data-value="([^"]+)"', page)) == total.cost_usd
    assert len(re.findall('<g class="column">', page)) == days
    assert row_cost(total) in page


def test_the_calendar_leads_to_the_sessions_of_its_days(client: httpx.Client, engine: Hansard) -> None:
    page = client.get("/?heat=sessions").text
    today = midnight(datetime.now(UTC))
    cells = re.findall(r'<a href="([^"]+)" data-day="([^"]+)"[^>]*><title>[^\n]*\n(\d+) sessions?</title>', page)

    assert cells
    for href, day, count in cells:
        start = datetime.fromisoformat(day).replace(tzinfo=UTC)
        assert html.unescape(href) == f"/sessions?since={day}&until={day}"
        assert engine.sessions(since=start, until=start + DAY, limit=1).total == int(count)
    calendar = page.partition('id="year"')[2].partition("</section>")[0]
    assert len(re.findall(r'<rect class="h\d"', calendar)) - 5 == 52 * 7 + today.weekday() + 1  # five are the legend


@pytest.mark.parametrize("heat", ["cost", "tokens"])
def test_the_calendar_has_every_day_of_the_year_s_report(client: httpx.Client, engine: Hansard, heat: str) -> None:
    today = midnight(datetime.now(UTC))
    since = today - DAY * (today.weekday() + 52 * 7)
    page = client.get("/", params={"heat": heat}).text

    days = [row.key["day"] for row in engine.usage(by="day", timezone="UTC", since=since).rows]
    assert re.findall(r'data-day="([^"]+)"', page) == days


@pytest.mark.parametrize("path", ["/?heat=colour", "/?days=31", "/?split=tool", "/?x=1", "/overview/now?x=1"])
def test_wrong_questions_are_refused(client: httpx.Client, path: str) -> None:
    assert client.get(path).status_code == 400


# -- what else stands there


def test_an_empty_store_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "claude" / "projects").mkdir(parents=True)
    with site(tmp_path / "home", tmp_path / "claude") as empty, empty.client() as client:
        page = client.get("/").text
    assert "No history yet" in page
    assert str(tmp_path / "claude") in page
    assert "hansard web --demo" in page
    with site(tmp_path / "home") as empty, empty.client() as client:
        assert "No history was found" in client.get("/").text
        assert client.get("/overview/now").status_code == 200
        assert "No source directory is configured" in client.get("/overview/cleanup").text


def test_the_clean_up_is_told_after_the_page(tmp_path: Path) -> None:
    root, soon = tmp_path / "claude", time.time() - 28 * 86400
    (root / FOLDER).mkdir(parents=True)
    for number in (1, 2):
        path = root / FOLDER / f"{session(number)}.jsonl"
        path.write_bytes(raw([user(session(number), f"u{number}", "Go.")]))
        os.utime(path, (soon, soon))
        if number == 1:
            with hansard.open(tmp_path / "home", [root]) as h:
                h.sync()
    with site(tmp_path / "home", root) as running, running.client() as client:
        assert 'data-load="/overview/cleanup"' in client.get("/").text
        told = client.get("/overview/cleanup").text
        note_progress(str(tmp_path / "home"), SyncProgress("reading", 1, 2))
        meanwhile = client.get("/overview/cleanup").text
    assert "2 transcripts" in told
    assert "1 transcript not kept yet</b>: run <code>hansard sync</code>." in told
    assert "1 transcript not kept yet</b>, a sync is running." in meanwhile
    assert f'href="/sessions/{session(1)}"' in told


def test_pins_budgets_and_the_present_block(tmp_path: Path) -> None:
    root, one, now = tmp_path / "claude", session(1), datetime.now(UTC)
    path = root / FOLDER / f"{one}.jsonl"
    path.parent.mkdir(parents=True)
    at = {"timestamp": f"{now - timedelta(minutes=2):%Y-%m-%dT%H:%M:%S.000Z}"}
    answer = {**assistant(one, "a1", "m1", "Yes.", tokens=(1000, 100_000)), **at}
    path.write_bytes(raw([{**user(one, "u1", "Keep me."), **at}, answer]))
    limits = (Limit("day", Decimal(1), Decimal("0.8")), Limit("month", Decimal(10_000), Decimal("0.8"), "app"))
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
        h.pin(one)
        standing = h.current(now=now)
    assert standing.block is not None
    with site(tmp_path / "home", root, limits=limits) as running, running.client() as client:
        page = client.get("/").text
        block = html.unescape(re.findall(r'<p class="amount"><a href="([^"]+)"', page)[0])
        assert exactly(client.get(block).text) == standing.block.cost_usd
        for href in re.findall(r'<li class="(?:ok|near|over)"><p><a href="([^"]+)"', page):
            assert client.get(html.unescape(href)).status_code == 200
        assert "Current block" in client.get("/usage?by=block").text
    assert "an hour, projected" in page
    assert "Pinned" in page
    assert "<b>over</b>" in page
    assert "This month in app" in page
    assert '<b class="pulse">live</b>' in page  # its file has just been written


# -- in a browser


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_fits_every_screen(demo: Site, chromium: Browser, width: int, theme: str) -> None:
    with demo.opened(chromium, "/", width=width, color_scheme=theme) as watched:
        watched.until(LOADED)
        watched.until("document.documentElement.scrollWidth <= innerWidth")
        expect(watched.page.locator(".page [style]")).to_have_count(0)
        expect(watched.page.locator(".heat")).to_be_visible()
        demo.check(watched)


def test_the_calendar_is_walked_by_arrows(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/?heat=sessions") as watched:
        page = watched.page
        page.locator(".heat a[tabindex='0']").focus()
        day = "document.activeElement.dataset.day"
        last = watched.run(day)
        page.keyboard.press("ArrowLeft")
        watched.until(f"{day} < '{last}'")
        first = page.locator(".heat a").first.get_attribute("data-day")
        page.keyboard.press("Home")
        watched.expect(day, first)
        expect(page.locator(".tip")).to_be_visible()
        expect(page.locator(".tip")).to_contain_text("session")
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/sessions?since={first}&until={first}")
        demo.check(watched)


def test_switches_keep_each_other_and_the_place(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/") as watched:
        page = watched.page
        watched.until(LOADED)
        watched.run("window.here = true")
        page.locator("#year .switch a", has_text="Tokens").click()
        watched.until("location.search === '?heat=tokens'")
        top = watched.run("document.querySelector('#year').getBoundingClientRect().top")
        page.locator("#year .switch a", has_text="Sessions").click()
        watched.until("location.search === '?heat=sessions'")
        watched.until(f"Math.abs(document.querySelector('#year').getBoundingClientRect().top - {top}) <= 2")
        page.locator("#spending .switch a", has_text="By project").click()
        watched.until("location.search === '?heat=sessions&split=project'")
        assert watched.run("window.here") is True
        watched.until("document.activeElement.textContent === 'By project'")
        demo.check(watched)


def test_hostile_sessions_are_only_text(hostile: Site, chromium: Browser) -> None:
    for path in ("/", "/?split=project&days=90&heat=tokens"):
        with hostile.opened(chromium, path) as watched:
            watched.until(LOADED)
            hostile.check(watched)


def test_news_appear_by_themselves_and_nothing_jumps(tmp_path: Path, chromium: Browser) -> None:
    root, one, two = tmp_path / "claude", session(1), session(2)
    folder, now = root / FOLDER, datetime.now(UTC)
    folder.mkdir(parents=True)

    def turn(session_id: str, number: int, text: str) -> bytes:
        at = {"timestamp": f"{now:%Y-%m-%dT%H:%M:%S}.{number:03}Z"}
        prompt, answer = user(session_id, f"u{number}", text), assistant(session_id, f"a{number}", f"m{number}", "Yes.")
        return raw([{**prompt, **at}, {**answer, **at}])

    (folder / f"{one}.jsonl").write_bytes(turn(one, 1, "The first prompt."))
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
    with (
        site(tmp_path / "home", root, syncing=True) as running,
        running.opened(chromium, "/") as watched,
    ):
        page = watched.page
        watched.until(LOADED)
        page.locator(".session-list a").first.focus()
        held = watched.run("document.activeElement.getAttribute('href')")
        (folder / f"{two}.jsonl").write_bytes(turn(two, 2, "Another prompt."))
        watched.until("document.body.textContent.includes('Another prompt.')")
        watched.expect("document.activeElement.getAttribute('href')", held)
        expect(page.locator(".pulse")).to_have_count(2)
        watched.run("scrollTo(0, document.querySelector('#year').offsetTop)")
        watched.settle()
        top = watched.run("document.querySelector('#year').getBoundingClientRect().top")
        with (folder / f"{one}.jsonl").open("ab") as file:
            file.write(turn(one, 3, "A third prompt."))
        watched.until("document.querySelector('.glances').textContent.replace(/\\s/g, '').includes('Prompts3')")
        watched.until(f"Math.abs(document.querySelector('#year').getBoundingClientRect().top - {top}) <= 2")
        running.check(watched)


def test_an_empty_page_fills_itself(tmp_path: Path, chromium: Browser) -> None:
    root, one = tmp_path / "claude", session(1)
    (root / FOLDER).mkdir(parents=True)
    with site(tmp_path / "home", root, syncing=True) as running, running.opened(chromium, "/") as watched:
        expect(watched.page.locator("h1")).to_have_text("No history yet")
        said = [user(one, "u1", "Hello."), assistant(one, "a1", "m1", "Hi.")]
        (root / FOLDER / f"{one}.jsonl").write_bytes(raw(said))
        watched.page.locator(".session-list", has_text="Hello.").wait_for()  # the page loads itself again
        running.check(watched)


def test_figures_are_asked_for_again_while_the_history_is_read_and_one_counter_says_how_far(
    tmp_path: Path, chromium: Browser
) -> None:
    root, home = tmp_path / "claude", tmp_path / "home"
    path = root / FOLDER / f"{session(1)}.jsonl"
    path.parent.mkdir(parents=True)
    with hansard.open(home, [root]) as h:
        h.sync()
    note_progress(str(home), SyncProgress("reading", 12, 340))
    with site(home, root) as running, running.client() as client:
        empty = client.get("/").text
        assert empty.count("12 of 340 files") == 1
        assert " data-syncing" in empty
    path.write_bytes(raw([user(session(1), "u1", "Go."), assistant(session(1), "a1", "m1", "Yes.")]))
    with hansard.open(home, [root]) as h:
        h.sync()
    note_progress(str(home), SyncProgress("reading", 13, 340))
    with site(home, root) as running, running.opened(chromium, "/") as watched:
        watched.page.wait_for_load_state("load")
        for _ in range(2):
            with watched.page.expect_response("**/overview/now"):
                pass
        clear_progress(str(home))
        expect(watched.page.locator("[data-syncing]")).to_have_count(0)
        running.check(watched)


def test_the_icon_is_where_browsers_look_for_it(demo: Site) -> None:
    with demo.client() as client:
        answer = client.get("/favicon.ico")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "image/svg+xml"
