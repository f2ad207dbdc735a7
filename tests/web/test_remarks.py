"""Pin, tag, rename and note in place: in the list, on a session's page, by mouse and by keys, and where it is not allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

import hansard
from tests.sync.making import Tree, main_path, session, user
from tests.web.serving import site

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from hansard.model.sessions import Remarks
    from tests.render.html.browsing import Watched

ONE = session(1)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    made = Tree(tmp_path / "claude", tmp_path / "home")
    for number in (1, 2):
        made.write(main_path(session(number)), [user(session(number), f"u{number}", f"task {number}", -number)])
    made.sync()
    return made


def known(tree: Tree, name: str = ONE) -> Remarks:
    with hansard.open(tree.home) as h:
        return h.remarks(name)


def row(page: Page, session_id: str = ONE) -> Any:
    return page.locator(f'[data-remarks="{session_id}"]')


def sheet(page: Page) -> Any:
    return page.locator("#remark-sheet")


def test_everything_by_keys(tree: Tree, chromium: Browser) -> None:
    with site(tree.home, tree.config) as running, running.opened(chromium, "/sessions") as watched:
        page = watched.page
        page.keyboard.press("j")
        page.keyboard.press("p")
        _until(watched, tree, lambda said: said.pinned)
        expect(row(page).locator("[data-pin]")).to_have_attribute("aria-pressed", "true")

        page.keyboard.press("t")
        sheet(page).wait_for()
        page.keyboard.type("infra")
        page.keyboard.press("Enter")
        row(page).locator(".tag").wait_for()
        page.keyboard.type("later/maybe")
        page.keyboard.press("Enter")
        expect(row(page).locator(".tag")).to_have_count(2)
        _until(watched, tree, lambda said: said.tags == ("infra", "later/maybe"))
        page.keyboard.press("Escape")
        expect(sheet(page)).to_be_hidden()
        watched.expect("document.activeElement.closest('tr')?.dataset.session", ONE)

        page.keyboard.press("r")
        sheet(page).wait_for()
        page.keyboard.type("A <b>better</b> name")
        page.keyboard.press("Enter")
        expect(page.locator(f'[data-title-of="{ONE}"]')).to_have_text("A <b>better</b> name")
        page.keyboard.press("Escape")
        expect(sheet(page)).to_be_hidden()

        page.keyboard.press("a")
        sheet(page).wait_for()
        page.keyboard.type("ask Mira")
        page.keyboard.press("Control+Enter")
        row(page).get_by_text("1 note").wait_for()
        _until(watched, tree, lambda said: said.notes == ("ask Mira",))
        running.check(watched)

        page.reload()
        expect(row(page).locator("[data-pin]")).to_have_attribute("aria-pressed", "true")
        expect(row(page).locator(".tag")).to_have_text(["infra", "later/maybe"])
        expect(page.locator(f'[data-title-of="{ONE}"]')).to_have_text("A <b>better</b> name")


def _until(watched: Watched, tree: Tree, holds: Any) -> None:
    for _ in range(400):
        if holds(known(tree)):
            return
        watched.page.wait_for_timeout(25)
    raise AssertionError(known(tree))


def test_everything_can_be_taken_back(tree: Tree, chromium: Browser) -> None:
    with hansard.open(tree.home) as h:
        h.pin(ONE)
        h.tag(ONE, "infra", "odd?#tag")
        h.rename(ONE, "mine")
        h.note(ONE, "first")
        h.note(ONE, "second")
    with site(tree.home, tree.config) as running, running.opened(chromium, f"/sessions/{ONE}") as watched:
        page = watched.page
        row(page).locator("[data-pin]").click()
        _until(watched, tree, lambda said: not said.pinned)
        row(page).locator("[data-remark]").click()
        sheet(page).get_by_role("button", name="Remove tag odd?#tag").click()
        _until(watched, tree, lambda said: said.tags == ("infra",))
        sheet(page).get_by_role("button", name="Remove note 1").click()
        _until(watched, tree, lambda said: said.notes == ("second",))
        sheet(page).get_by_role("button", name="Restore the original title").click()
        _until(watched, tree, lambda said: not said.renamed)
        watched.until("document.querySelector('h1').textContent.includes('task 1')")
        running.check(watched)


def test_what_the_server_refuses_is_said_and_taken_back(tree: Tree, chromium: Browser) -> None:
    with site(tree.home, tree.config) as running, running.opened(chromium, "/sessions") as watched:
        page = watched.page
        row(page).locator("[data-remark]").click()
        sheet(page).wait_for()
        page.locator("#remark-tag").fill("two words: no")
        page.keyboard.press("Enter")
        expect(sheet(page).locator(".told")).not_to_be_empty()
        expect(page.locator("#remark-tag")).to_have_value("two words: no")
        page.keyboard.press("Escape")
        expect(sheet(page)).to_be_hidden()

        page.route("**/pin", lambda route: route.fulfill(status=503, json={"error": {"message": "busy just now"}}))
        row(page).locator("[data-pin]").click()
        page.locator("#toast", has_text="busy just now").wait_for()
        expect(row(page).locator("[data-pin]")).to_have_attribute("aria-pressed", "false")
        assert known(tree).tags == ()
        watched.complaints[:] = [text for text in watched.complaints if "Failed to load resource" not in text]
        running.check(watched)


def test_read_only_shows_and_changes_nothing(tree: Tree, chromium: Browser) -> None:
    with hansard.open(tree.home) as h:
        h.pin(ONE)
        h.tag(ONE, "infra")
    with site(tree.home, tree.config, read_only=True) as running:
        with running.opened(chromium, "/sessions") as watched:
            page = watched.page
            assert page.locator("[data-pin], [data-remark]").count() == 0
            assert page.locator("tr", has=row(page)).get_by_role("img", name="Pinned").is_visible()
            assert row(page).locator(".tag").all_text_contents() == ["infra"]
            for key in ("j", "p", "t"):
                page.keyboard.press(key)
            page.keyboard.press("?")
            page.locator("#help[open]").wait_for()
            expect(page.locator("#help")).not_to_contain_text("Pin the session")
            running.check(watched)
        with running.client() as client:
            origin = {"origin": running.address}
            assert client.put(f"/api/sessions/{ONE}/pin", headers=origin).status_code == 403
    assert known(tree).pinned


def test_pins_and_tags_filter(tree: Tree) -> None:
    with hansard.open(tree.home) as h:
        h.pin(ONE)
        h.tag(ONE, "Infra")
    with site(tree.home, tree.config) as running, running.client() as client:
        for asked in ({"pinned": "1"}, {"tag": "infra"}, {"pinned": "1", "tag": "INFRA"}):
            html = client.get("/sessions", params=asked).text
            assert f'data-session="{ONE}"' in html
            assert f'data-session="{session(2)}"' not in html
        assert "No session matches" in client.get("/sessions", params={"tag": "none such"}).text


@pytest.mark.parametrize("width", [1440, 390])
def test_the_sheet_stays_in_sight(tree: Tree, chromium: Browser, width: int) -> None:
    with (
        site(tree.home, tree.config) as running,
        running.opened(chromium, "/sessions", width=width, color_scheme="dark") as watched,
    ):
        row(watched.page).locator("[data-remark]").click()
        sheet(watched.page).wait_for()
        watched.until(
            """(({ left, top, right, bottom }) => left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight)(
                document.getElementById("remark-sheet").getBoundingClientRect()
            )"""
        )
        running.check(watched)


def test_plain_words_find_notes_and_lists_mark_them(tree: Tree) -> None:
    with site(tree.home, tree.config) as running, running.client() as client:
        address, ours = f"/api/sessions/{ONE}/notes", {"origin": running.address}
        assert client.post(address, json={"text": "ask Mira about the zzyzx gauge"}, headers=ours).is_success
        found = client.get("/search", params={"q": "gauge zzyzx"}).text
        assert "In your notes" in found
        assert f'href="/sessions/{ONE}"' in found
        assert "In your notes" not in client.get("/search", params={"q": "gauge other"}).text
        for path in ("/sessions", "/sessions?part=pane", "/"):
            assert "1 note<" in client.get(path).text


def test_a_message_is_pinned_by_key_and_listed(tree: Tree, chromium: Browser) -> None:
    with site(tree.home, tree.config) as running, running.opened(chromium, f"/sessions/{ONE}") as watched:
        page = watched.page
        expect(page.locator("#pins")).to_be_hidden()
        page.keyboard.press("m")
        page.keyboard.press("P")
        expect(page.locator("#pins .count")).to_have_text("1")
        expect(page.locator("[data-message=u1]")).to_have_attribute("data-pinned", "")
        expect(page.locator("[data-item=pin]")).to_have_attribute("aria-pressed", "true")
        assert known(tree).pinned_messages == ("u1",)
        assert not known(tree).pinned
        page.reload()
        page.locator("#pins summary").click()
        page.locator("#pins a", has_text="task 1").click()
        expect(page.locator(".item.now")).to_have_attribute("data-pinned", "")
        page.locator("[data-item=pin]").click()
        expect(page.locator("#pins")).to_be_hidden()
        _until(watched, tree, lambda said: not said.pinned_messages)
        running.check(watched)
