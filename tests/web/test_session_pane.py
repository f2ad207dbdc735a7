"""The session list beside a transcript: it follows the reader from session to session, filtered, at every width."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

if TYPE_CHECKING:
    import httpx
    from playwright.sync_api import Browser

    from tests.web.serving import Site


def newest(client: httpx.Client, count: int) -> list[str]:
    found = client.get("/api/sessions", params={"limit": count}).json()
    return [session["session_id"] for session in found["sessions"]]


def test_the_list_stays_where_it_is_from_one_session_to_the_next(
    demo: Site, client: httpx.Client, chromium: Browser
) -> None:
    ids = newest(client, 12)
    with demo.opened(chromium, f"/sessions/{ids[7]}") as watched:
        page = watched.page
        current = page.locator("#pane-body a[aria-current=page]")
        expect(current).to_have_attribute("href", f"/sessions/{ids[7]}")
        watched.run("document.getElementById('pane-body').scrollTop = 150")
        page.keyboard.press("Shift+J")
        page.wait_for_url(f"**/sessions/{ids[8]}")
        expect(current).to_have_attribute("href", f"/sessions/{ids[8]}")
        watched.until("document.getElementById('pane-body').scrollTop === 150")
        page.keyboard.press("Shift+K")
        page.wait_for_url(f"**/sessions/{ids[7]}")

        expect(page.locator("#pane[data-ready]")).to_be_visible()
        page.keyboard.press("Shift+L")
        expect(current).to_be_focused()
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/sessions/{ids[6]}")
        demo.check(watched)


def test_the_list_is_filtered_in_the_query_language_and_can_be_hidden(
    demo: Site, client: httpx.Client, chromium: Browser
) -> None:
    (name,) = newest(client, 1)
    wanted = client.get("/api/sessions", params={"q": "is:error", "limit": 100}).json()["sessions"]
    with demo.opened(chromium, f"/sessions/{name}") as watched:
        page = watched.page
        expect(page.locator("#pane[data-ready]")).to_be_visible()
        page.keyboard.press("Shift+S")
        expect(page.locator("#pane-filter")).to_be_focused()
        page.keyboard.type("is:error")
        expect(page.locator("#pane-body li[data-session]")).to_have_count(min(50, len(wanted)))
        page.locator("#pane-filter").fill("cost:>")
        expect(page.locator("#pane-body .mistake")).to_be_visible()
        page.locator("#pane-filter").fill("")
        page.locator("#pane-filter").blur()
        page.keyboard.press("l")
        expect(page.locator("#pane-body")).to_be_hidden()
        page.reload()
        expect(page.locator("#pane-body")).to_be_hidden()
        page.locator("#pane-toggle").click()
        expect(page.locator("#pane-body")).to_be_visible()
        demo.check(watched)


def test_on_smaller_screens_the_list_is_a_drawer_and_the_outline_stays_on_a_tablet(
    demo: Site, client: httpx.Client, chromium: Browser
) -> None:
    (name,) = newest(client, 1)
    for width, button in ((1024, "#pane-toggle"), (390, "#pane-open")):
        with demo.opened(chromium, f"/sessions/{name}", width=width) as watched:
            page = watched.page
            expect(page.locator("#pane-body")).to_be_hidden()
            if width > 1000:
                expect(page.locator("#outline ol")).to_be_visible()
            page.locator(button).click()
            expect(page.locator("#pane-body a[aria-current=page]")).to_be_in_viewport()
            page.locator("#pane-filter").fill("tests")
            page.keyboard.press("Escape")  # clears the filter, as every search box
            expect(page.locator("#pane-filter")).to_have_value("")
            expect(page.locator("#pane-filter")).to_be_focused()
            expect(page.locator("#pane-body")).to_be_visible()
            page.keyboard.press("Escape")
            expect(page.locator("#pane-body")).to_be_hidden()
            page.locator(button).click()
            page.mouse.click(width - 10, 600)
            expect(page.locator("#pane-body")).to_be_hidden()
            assert watched.run("document.documentElement.scrollWidth") == width
            demo.check(watched)


def test_a_session_far_down_the_list_is_marked_among_its_neighbours(
    demo: Site, client: httpx.Client, chromium: Browser
) -> None:
    ids = newest(client, 200)
    here = len(ids) - 4
    assert here > 50
    with demo.opened(chromium, f"/sessions/{ids[0]}") as watched:  # its list is the newest sessions
        page = watched.page
        expect(page.locator("#pane[data-ready]")).to_be_visible()
        page.goto(f"{demo.address}/sessions/{ids[here]}")
        current = page.locator("#pane-body a[aria-current=page]")
        expect(current).to_be_in_viewport()
        expect(page.locator("#pane-body li[data-session]").first).to_have_attribute("data-session", ids[here - 25])
        page.keyboard.press("Shift+J")
        page.wait_for_url(f"**/sessions/{ids[here + 1]}")
        expect(current).to_have_attribute("href", f"/sessions/{ids[here + 1]}")
        page.keyboard.press("Shift+K")
        page.wait_for_url(f"**/sessions/{ids[here]}")
        expect(page.locator("#pane[data-ready]")).to_be_visible()

        page.locator("#pane-body [data-newer] a").click()
        expect(page.locator("#pane-body [data-newer]")).to_have_count(0)
        rows = "[...document.querySelectorAll('#pane-body li[data-session]')].map((row) => row.dataset.session)"
        watched.expect(rows, ids)
        demo.check(watched)
