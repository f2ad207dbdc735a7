"""The list of sessions: what it holds, in what order and groups, and how it behaves while somebody reads it."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.sync.making import Tree, main_path, session, user
from tests.web.serving import Site, site

if TYPE_CHECKING:
    from pathlib import Path

    import httpx
    from playwright.sync_api import Browser

ROW = "tr[data-session]"


def listed(html: str) -> list[str]:
    """The ids of the sessions in a piece of HTML, in order."""
    return re.findall(r'<tr data-session="([^"]+)"', html)


def following(html: str) -> str | None:
    """Where the list goes on."""
    found = re.findall(r'<tbody class="more" data-more="([^"]+)"', html)
    return found[-1].replace("&amp;", "&") if found else None


def api(client: httpx.Client, **asked: object) -> list[str]:
    answer = client.get("/api/sessions", params={key: str(value) for key, value in asked.items()}).json()
    return [one["session_id"] for one in answer["sessions"]]


def test_pages_hold_what_the_api_lists(client: httpx.Client) -> None:
    found: list[str] = []
    path: str | None = "/sessions"
    while path is not None:
        html = client.get(path).text
        found += listed(html)
        path = following(html)

    assert found == api(client, limit=500)
    assert len(found) > 50


@pytest.mark.parametrize("sort", ["title", "cost", "tokens", "files", "errors", "messages"])
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_every_column_orders(client: httpx.Client, sort: str, order: str) -> None:
    html = client.get("/sessions", params={"sort": sort, "order": order}).text

    assert listed(html) == api(client, sort=sort, order=order, limit=50)
    assert f'aria-sort="{"ascending" if order == "asc" else "descending"}"' in html


@pytest.mark.parametrize(
    ("asked", "same"),
    [
        ({"q": "is:error"}, {"q": "is:error"}),
        ({"errors": "1"}, {"errors": "1"}),
        ({"gone": "1"}, {"state": "gone"}),
        ({"tool": "WebFetch"}, {"tool": "WebFetch"}),
        ({"model": "opus"}, {"model": "opus"}),
        ({"since": "14d"}, {"since": "14d"}),
        ({"until": "30d"}, {"until": "30d"}),
        ({"project": "tidewater"}, {"project": "tidewater"}),
    ],
)
def test_filters_are_those_of_the_api(client: httpx.Client, asked: dict[str, str], same: dict[str, str]) -> None:
    assert listed(client.get("/sessions", params=asked).text) == api(client, **same)


@pytest.mark.parametrize("by", ["project", "day"])
def test_groups_hold_every_session_once(client: httpx.Client, by: str) -> None:
    every = api(client, limit=500)
    found: list[str] = []
    waiting = [f"/sessions?group={by}"]
    while waiting:
        html = client.get(waiting.pop()).text
        found += listed(html)
        waiting += [more.replace("&amp;", "&") for more in re.findall(r'data-more="([^"]+)"', html)]

    assert sorted(found) == sorted(every)
    first = client.get(f"/sessions?group={by}").text
    assert f"{len(every)} sessions in " in first


def test_groups_say_what_they_add_up_to(demo: Site, client: httpx.Client) -> None:
    import hansard

    html = client.get("/sessions", params={"group": "project"}).text
    with hansard.open(demo.settings.home) as h:
        groups = h.session_groups(by="project", limit=100)
        projects = {item.project: item for item in h.projects()}
    assert groups.total == len(projects)
    for group in groups.groups:
        project = projects[group.key]
        assert (group.total, group.prompts, group.cost_usd) == (project.sessions, project.prompts, project.cost_usd)
        assert f'data-group="{escape(group.key)}"' in html


@pytest.mark.parametrize(("asked", "column"), [({"q": "flaky kind:promt"}, 12), ({"q": "is:eror"}, 4)])
def test_a_mistake_in_the_query_is_told_beside_it(client: httpx.Client, asked: dict[str, str], column: int) -> None:
    answer = client.get("/sessions", params=asked)

    assert answer.status_code == 200
    assert "did you mean" in answer.text
    assert f"column {column}" in answer.text
    assert listed(answer.text) == []


def test_a_time_that_is_none_is_told(client: httpx.Client) -> None:
    answer = client.get("/sessions", params={"until": "the day before"})

    assert answer.status_code == 200
    assert "invalid date" in answer.text


@pytest.mark.parametrize(
    "asked", [{"sort": "colour"}, {"cursor": "x"}, {"group": "hour"}, {"nothing": "1"}, {"group": "day", "in": "never"}]
)
def test_what_makes_no_sense_is_refused(client: httpx.Client, asked: dict[str, str]) -> None:
    assert client.get("/sessions", params=asked).status_code == 400


def test_parts_are_pieces_of_the_page(client: httpx.Client) -> None:
    whole = client.get("/sessions").text
    for part in ("list", "rows"):
        piece = client.get("/sessions", params={"part": part}).text
        assert "<html" not in piece
        assert listed(piece) == listed(whole)


# -- in a browser


def test_typing_filters_and_the_address_follows(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/sessions") as watched:
        page = watched.page
        before = page.locator(ROW).count()
        page.keyboard.press("/")
        page.keyboard.type("is:error")
        watched.until("location.search === '?q=is%3Aerror'")
        # Not fewer rows: `is:err`, which a slow browser asks for too, is a mistake and lists none.
        expect(page.locator("#count")).to_contain_text("match")
        watched.until(f"((rows) => rows > 0 && rows < {before})(document.querySelectorAll('{ROW}').length)")
        expect(page.locator("#clear")).to_be_visible()
        page.keyboard.type(" kind:promt")
        expect(page.locator(".mistake")).to_contain_text("column")
        page.locator("#clear").click()
        page.wait_for_url("**/sessions")
        expect(page.locator(ROW)).to_have_count(before)
        demo.check(watched)


def test_columns_order_in_place(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/sessions") as watched:
        page = watched.page
        page.locator("[data-sort=cost]").click()
        page.locator("th[aria-sort=descending] [data-sort=cost]").wait_for()
        expect(page.locator("[data-sort=cost]")).to_be_focused()
        page.keyboard.press("Enter")
        page.locator("th[aria-sort=ascending] [data-sort=cost]").wait_for()
        watched.until("location.search.includes('sort=cost&order=asc')")
        demo.check(watched)


def test_keys_go_through_the_rows(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/sessions") as watched:
        page = watched.page
        for key in ("j", "j", "j", "k"):
            page.keyboard.press(key)
        wanted = page.locator(ROW).nth(1).get_attribute("data-session")
        watched.expect("document.activeElement.closest('tr')?.dataset.session", wanted)
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/sessions/{wanted}*")
        demo.check(watched)


def test_more_goes_on_in_place(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/sessions") as watched:
        page = watched.page
        page.locator("tbody.more a").click()
        watched.until(f"document.querySelectorAll('{ROW}').length > 50")
        ids = watched.run(f"[...document.querySelectorAll('{ROW}')].map((row) => row.dataset.session)")
        assert len(ids) == len(set(ids))
        demo.check(watched)


def test_without_script_it_is_a_form_with_links(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/sessions", java_script_enabled=False) as watched:
        page = watched.page
        page.locator("#ask [name=q]").fill("is:error")
        page.locator("#ask noscript button").click()
        page.wait_for_url("**/sessions?q=is%3Aerror*")
        expect(page.locator(ROW)).not_to_have_count(0)
        expect(page.locator(".remarks-buttons").first).to_be_hidden()


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    made = Tree(tmp_path / "claude", tmp_path / "home")
    for number in (1, 2):
        made.write(main_path(session(number)), [user(session(number), f"u{number}", f"task {number}", number)])
    made.sync()
    return made


def test_what_is_new_waits_behind_a_button(tree: Tree, chromium: Browser) -> None:
    with site(tree.home, tree.config) as running, running.opened(chromium, "/sessions") as watched:
        page = watched.page
        page.keyboard.press("j")
        focused = "document.activeElement.closest('tr')?.dataset.session"
        watched.expect(focused, session(2))
        tree.append(main_path(session(1)), [user(session(1), "v", "more", 3)])
        tree.write(main_path(session(3)), [user(session(3), "u3", "task 3", 9)])
        tree.sync()
        expect(page.locator("#news")).to_have_text("1 new session")
        expect(page.locator(f'[data-session="{session(1)}"] .c-prompts')).to_have_text("2")
        expect(page.locator(ROW)).to_have_count(2)
        watched.expect(focused, session(2))

        page.locator("#news").click()
        expect(page.locator(ROW)).to_have_count(3)
        watched.expect(focused, session(3))
        expect(page.locator("#news")).to_be_hidden()
        running.check(watched)


def test_nothing_of_hostile_transcripts_runs(hostile: Site, chromium: Browser) -> None:
    for path in ("/sessions", "/sessions?group=project", "/sessions?q=%3Cscript%3Ewindow.hacked%3D1%3C/script%3E"):
        with hostile.opened(chromium, path) as watched:
            watched.page.keyboard.press("j")
            watched.run("document.querySelector('[data-sort=cost]')?.click()")
            watched.answered()
            hostile.check(watched)
