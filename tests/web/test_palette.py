"""The command palette: what it finds, and how it is used without a mouse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Error, expect

import hansard

if TYPE_CHECKING:
    import httpx
    from playwright.sync_api import Browser, Page

    from tests.web.serving import Site


def opened(page: Page, typed: str = "") -> Any:
    page.keyboard.press("Control+k")
    page.locator("#palette[open]").wait_for()
    if typed:
        page.keyboard.type(typed)
    return page.locator("#palette [role=option]")


def test_sessions_and_projects_are_offered(demo: Site, client: httpx.Client) -> None:
    latest = client.get("/search/palette").json()
    with hansard.open(demo.settings.home) as h:
        sessions = h.sessions(limit=100).sessions
        projects = h.projects()
    assert [one["session_id"] for one in latest["sessions"]] == [one.session_id for one in sessions]
    assert [one["project"] for one in latest["projects"]] == [one.project for one in projects]
    word = max(sessions[0].title.split(), key=len)
    found = client.get("/search/palette", params={"q": word}).json()["sessions"]
    assert sessions[0].session_id in [one["session_id"] for one in found]
    begun = client.get("/search/palette", params={"q": sessions[5].session_id[:8]}).json()["sessions"]
    assert sessions[5].session_id in [one["session_id"] for one in begun]
    assert client.get("/search/palette", params={"q": 'kind:"never'}).json()["sessions"] == []


def test_a_page_by_a_few_letters(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/") as watched:
        options = opened(watched.page, "pmpt")
        options.first.filter(has_text="Prompts").wait_for()
        field = watched.page.locator("#palette [role=combobox]")
        expect(field).to_have_attribute("aria-activedescendant", options.first.get_attribute("id"))
        expect(options.first).to_have_attribute("aria-selected", "true")
        watched.page.keyboard.press("Enter")
        watched.page.wait_for_url("**/prompts")
        demo.check(watched)


def test_arrows_choose_and_escape_leaves(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/sessions") as watched:
        page = watched.page
        page.keyboard.press("j")
        watched.until("document.activeElement.href !== undefined")
        focused = watched.run("document.activeElement.href")
        options = opened(page)
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowUp")
        expect(options.nth(1)).to_have_attribute("aria-selected", "true")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowUp")
        expect(options.last).to_have_attribute("aria-selected", "true")
        page.keyboard.press("Escape")
        expect(page.locator("#palette")).to_be_hidden()
        watched.expect("document.activeElement.href", focused)
        opened(page)
        page.keyboard.press("Control+k")
        expect(page.locator("#palette")).to_be_hidden()
        demo.check(watched)


def test_actions_of_the_page_can_be_run(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/sessions", color_scheme="light") as watched:
        page = watched.page
        opened(page, "toggle dark").first.filter(has_text="Toggle dark mode").wait_for()
        page.keyboard.press("Enter")
        watched.expect("document.documentElement.dataset.theme", "dark")
        opened(page, "shortcuts").first.filter(has_text="Keyboard shortcuts").wait_for()
        page.keyboard.press("Enter")
        page.locator("#help[open]").wait_for()
        demo.check(watched)


def test_a_session_by_its_title_and_by_its_id(demo: Site, chromium: Browser) -> None:
    with hansard.open(demo.settings.home) as h:
        sessions = h.sessions(limit=200).sessions
    oldest = sessions[-1]
    with demo.opened(chromium, "/usage") as watched:
        options = opened(watched.page, oldest.session_id[:13])
        options.first.wait_for()
        watched.until(
            f"[...document.querySelectorAll('#palette [role=group]')].some((one) => one.ariaLabel === 'Sessions')"
            f" && document.querySelector('#palette [role=combobox]').value === '{oldest.session_id[:13]}'"
        )
        watched.page.locator("#palette [role=group][aria-label=Sessions] [role=option]").first.click()
        watched.page.wait_for_url(f"**/sessions/{oldest.session_id}*")
        demo.check(watched)


def test_on_a_session_it_knows_what_can_be_done(demo: Site, chromium: Browser) -> None:
    with hansard.open(demo.settings.home) as h:
        name = h.session("@last").session_id
    with demo.opened(chromium, f"/sessions/{name}") as watched:
        opened(watched.page, "unpin").filter(has_text="unpin this session").wait_for()
        watched.page.keyboard.press("Escape")
        expect(watched.page.locator("#palette")).to_be_hidden()
        opened(watched.page, "export").filter(has_text="Export").first.wait_for()
        demo.check(watched)


def test_whatever_is_typed_can_be_searched_for(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/", width=390, color_scheme="dark") as watched:
        options = opened(watched.page, 'zq "kind:x" <b>')
        options.last.filter(has_text="Search everything").wait_for()
        watched.page.keyboard.press("ArrowUp")
        watched.page.keyboard.press("Enter")
        watched.page.wait_for_url("**/search?q=zq*")
        demo.check(watched)


def test_nothing_of_hostile_transcripts_runs(hostile: Site, chromium: Browser) -> None:
    with hostile.opened(chromium, "/") as watched:
        opened(watched.page)
        watched.page.wait_for_load_state("load")
        for letters in ("script", "img", "svg"):
            watched.page.locator("#palette [role=combobox]").fill(letters)
            watched.page.locator("#palette [role=option]").first.wait_for()
        hostile.check(watched)


def test_the_best_match_is_first_and_selected_when_answers_come(demo: Site, chromium: Browser) -> None:
    with hansard.open(demo.settings.home) as h:
        sessions = h.sessions(limit=200).sessions
    titles = [one.title.lower() for one in sessions]
    wanted = next(one for one in reversed(sessions) if titles.count(one.title.lower()) == 1 and 8 < len(one.title) < 60)
    with demo.opened(chromium, "/usage") as watched:
        page = watched.page
        page.route("**/search/palette", lambda route: route.fulfill(json={"projects": [], "sessions": []}))
        options = opened(page, wanted.title)
        best = options.filter(has_text=wanted.title).first
        expect(best).to_have_attribute("aria-selected", "true")
        expect(options.first).to_have_attribute("aria-selected", "true")
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/sessions/{wanted.session_id}*")
        demo.check(watched)


def test_the_header_box_shows_sessions_and_text(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/usage") as watched:
        page = watched.page
        held: list[Any] = []
        page.route("**/search/palette?q=pa", lambda route: held.append(route))  # noqa: PLW0108 - a builtin has no signature
        field, options = page.locator("#quick"), page.locator("#quick-list [role=option]")
        with page.expect_request("**/search/palette?q=pa"):
            field.press_sequentially("pa")
        field.press_sequentially("rser")
        expect(page.locator("#quick-list [role=group]").last).to_have_attribute("aria-label", "Search")
        expect(options.last).to_contain_text("parser")
        for route in held:  # an answer that comes too late
            try:
                route.fulfill(json={"sessions": [], "texts": []})
            except Error:  # the page has given it up, as it should
                continue
        expect(page.locator("#quick-list [aria-label=Text] b").first).to_contain_text("pars", ignore_case=True)
        expect(field).to_be_focused()
        expect(field).not_to_have_attribute("aria-activedescendant", "quick-list-0")
        page.keyboard.press("ArrowDown")
        expect(options.first).to_have_attribute("aria-selected", "true")
        page.keyboard.press("Escape")
        expect(options).to_have_count(0)
        expect(field).to_have_value("parser")
        expect(field).to_be_focused()
        page.keyboard.press("Enter")
        page.wait_for_url("**/search?q=parser")
        demo.check(watched)


@pytest.mark.parametrize("path", ["/sessions", "/search?q=parser", "/usage?q=model:opus"])
def test_no_letter_typed_into_a_box_is_a_shortcut(demo: Site, chromium: Browser, path: str) -> None:
    with demo.opened(chromium, path) as watched:
        page = watched.page
        before = watched.run("[location.pathname, document.documentElement.dataset.theme]")
        for box in page.locator("input[type=search]:visible, input:not([type]):visible").all():
            box.fill("")
            box.press_sequentially("gsdjkxvptrn?/")
            expect(box).to_have_value("gsdjkxvptrn?/")
            expect(box).to_be_focused()
        field = page.locator("input[type=search]:visible").first
        field.fill("words")
        field.press("Escape")  # closes its list, if that has come already
        if field.input_value():
            field.press("Escape")  # clears it
        expect(field).to_have_value("")
        page.keyboard.type("d")
        expect(field).to_have_value("d")
        assert watched.run("[location.pathname, document.documentElement.dataset.theme]") == before
        expect(page.locator("dialog[open]")).to_have_count(0)
        demo.check(watched)
