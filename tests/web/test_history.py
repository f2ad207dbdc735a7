"""Back and Forward: through searches, facets, filters and positions in lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.web.serving import Site

HIT = ".hit > a"


def test_searches_and_facets(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/search") as watched:
        page = watched.page
        field = page.locator("#ask [name=q]")
        field.press_sequentially("parser", delay=5)  # one entry, however many letters
        watched.until("location.search === '?q=parser'")
        expect(page.locator(HIT).first).to_be_visible()
        page.locator("#facets a", has_text="prompt").click()
        watched.until("location.search.includes('kind')")
        expect(field).to_have_value("parser kind:prompt")
        page.locator("label", has_text="Every hit").click()
        expect(page.locator(".hits.flat")).to_be_visible()

        page.go_back()
        expect(page.locator(".hit-sessions")).to_be_visible()
        expect(field).to_have_value("parser kind:prompt")
        page.go_back()
        expect(field).to_have_value("parser")
        expect(page.locator(".told .chip")).to_have_count(0)
        page.go_back()
        expect(page.locator(".examples")).to_be_visible()
        expect(field).to_have_value("")
        page.go_forward()
        page.go_forward()
        expect(page.locator(".told .chip")).to_contain_text("kind:prompt")
        demo.check(watched)


def test_filters_and_the_position_in_a_list(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/sessions") as watched:
        page = watched.page
        first = page.locator("tr[data-session]").count()
        page.locator("[data-more] a").click()
        expect(page.locator("tr[data-session]")).not_to_have_count(first)
        opened = page.locator("tr[data-session]").count()
        last = page.locator("tr[data-session] a.title").nth(opened - 2)
        last.scroll_into_view_if_needed()
        watched.until("(history.state?.scroll ?? 0) > 500")
        scrolled = watched.run("scrollY")

        last.click()
        page.wait_for_url("**/sessions/*")
        page.go_back()
        expect(page.locator("tr[data-session]")).to_have_count(opened)
        watched.until(f"scrollY === {scrolled}")

        watched.run("document.querySelector('[name=errors]').click()")  # as by a key: nothing scrolls to it
        watched.until("location.search === '?errors=1'")
        page.locator("[name=group]").select_option("project")
        expect(page.locator("tr.group").first).to_be_visible()
        page.go_back()
        expect(page.locator("tr.group")).to_have_count(0)
        expect(page.locator("[name=errors]")).to_be_checked()
        expect(page.locator("[name=group]")).to_have_value("")
        page.go_back()
        expect(page.locator("[name=errors]")).not_to_be_checked()
        expect(page.locator("tr[data-session]")).to_have_count(opened)
        watched.until(f"scrollY === {scrolled}")
        demo.check(watched)


def test_switches_of_charts(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/") as watched:
        page = watched.page
        chosen = page.locator("#spending .switch [aria-current]")
        page.locator("#spending a", has_text="90 days").click()
        expect(chosen).to_have_text(["By model", "90 days"])
        page.locator("#year a", has_text="Tokens").click()
        watched.until("location.search === '?heat=tokens&days=90'")
        page.go_back()
        page.go_back()
        watched.until("location.search === ''")
        expect(chosen).to_have_text(["By model", "30 days"])
        expect(page.locator("#year .switch [aria-current]")).to_have_text("Cost")
        demo.check(watched)
