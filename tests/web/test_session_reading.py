"""What a reader of a session chose, copied and opened, in a real browser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

import hansard
from tests.sync import making
from tests.sync.making import assistant, call, main_path, result, session, user
from tests.web.serving import Site, site

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx
    from playwright.sync_api import Browser

HARD = "6513270e-269e-4d37-b2a7-4de452e6b438"
READY = "document.getElementById('session').dataset.ready !== undefined"
STATIC = Path(hansard.__file__).parent / "web" / "static"
OWN = session(3)


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A session with commands, with and without descriptions."""
    place = tmp_path_factory.mktemp("web-shell")
    tree = making.Tree(place / "claude", place / "home")
    told = {"command": "cd /home/alice/project && make test", "description": "Run the tests"}
    lines = [
        user(OWN, "u1", "test it"),
        assistant(OWN, "a1", "m1", [call("t1", "Bash", **told)], 1),
        result(OWN, "u2", "t1", "12 passed", 2),
        assistant(OWN, "a2", "m2", [call("t2", "Bash", command='cd "/a b" && cd c && npm run lint')], 3),
        result(OWN, "u3", "t2", "", 4),
    ]
    tree.write(main_path(OWN), lines)
    with hansard.open(tree.home, [tree.config]) as h:
        h.sync()
    with site(tree.home, tree.config) as running:
        yield running


def test_a_command_is_called_by_its_description_or_without_the_change_of_directory(shell: Site) -> None:
    with shell.client() as client:
        text = client.get(f"/sessions/{OWN}").text
    subjects = re.findall(r'<span class="subject[^"]*">([^<]*)</span>', text.partition('id="windows"')[2])
    assert subjects[:2] == ["Run the tests", "npm run lint"]
    assert "cd /home/alice/project &amp;&amp;" in re.sub(r"<[^>]+>", "", text)


def test_a_folded_call_is_copied_with_its_command_and_result(shell: Site, chromium: Browser) -> None:
    with shell.opened(chromium, f"/sessions/{OWN}", permissions=["clipboard-read", "clipboard-write"]) as watched:
        watched.until(READY)
        first, second = watched.page.locator("#windows .item.tool").all()
        expect(first.locator("details")).not_to_have_attribute("open", "")
        first.hover()
        watched.page.click("[data-item=copy]")
        expect(watched.page.locator("#toast")).to_have_text("Text copied")
        watched.expect(
            "navigator.clipboard.readText()", "Run the tests\n\ncd /home/alice/project && make test\n\n12 passed"
        )
        expect(first.locator("details")).not_to_have_attribute("open", "")
        second.hover()
        watched.page.click("[data-item=copy]")
        watched.until("navigator.clipboard.readText().then((text) => text.includes('npm run lint'))")
        shell.check(watched)


def test_related_sessions_stay_inside_the_window(demo: Site, chromium: Browser) -> None:
    for width in (1440, 1024, 390):
        with demo.opened(chromium, f"/sessions/{HARD}", width=width) as watched:
            watched.until(READY)
            watched.page.click(".actions summary:has-text('Related')")
            watched.until("!document.getElementById('alike').dataset.from")
            expect(watched.page.locator("#related .panel-body")).to_be_in_viewport(ratio=1)


def test_chips_and_unfolding_survive_a_reload_back_and_the_next_session(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, f"/sessions/{HARD}") as watched:
        page = watched.page
        watched.until(READY)
        chip = page.locator("[data-filter=tools]")
        chip.click()
        page.keyboard.press("e")
        for _ in range(2):
            expect(chip).to_have_attribute("aria-pressed", "false")
            expect(page.locator("#windows .item.thinking > details:not([open])")).to_have_count(0)
            page.reload()
            watched.until(READY)
        expect(page.locator("#pane[data-ready]")).to_be_visible()
        page.keyboard.press("Shift+K")  # it is the oldest
        page.wait_for_url(lambda url: HARD not in url)
        watched.until(READY)
        expect(chip).to_have_attribute("aria-pressed", "false")
        assert page.locator("#windows .of-tools:visible").count() == 0
        page.go_back()
        watched.until(READY)
        expect(chip).to_have_attribute("aria-pressed", "false")
        demo.check(watched)


def test_the_list_beside_a_session_is_the_one_that_it_was_opened_from(
    demo: Site, client: httpx.Client, chromium: Browser
) -> None:
    dearest = [
        one["session_id"] for one in client.get("/api/sessions", params={"sort": "cost", "limit": 3}).json()["sessions"]
    ]
    with demo.opened(chromium, "/sessions?sort=cost") as watched:
        page = watched.page
        page.locator("#list .title").first.click()
        page.wait_for_url(f"**/sessions/{dearest[0]}")
        expect(page.locator("#pane-order")).to_contain_text("Sorted by cost")
        for number in (1, 2):
            expect(page.locator("#pane[data-ready]")).to_be_visible()
            page.keyboard.press("Shift+J")
            page.wait_for_url(f"**/sessions/{dearest[number]}")
        expect(page.locator("#pane[data-ready]")).to_be_visible()
        page.click("#pane-order button")
        expect(page.locator("#pane-order")).to_be_hidden()
        demo.check(watched)


def test_the_skip_link_leads_to_the_conversation_and_loads_nothing_again(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, f"/sessions/{HARD}") as watched:
        watched.until(READY)
        watched.run("void (window.same = true)")
        watched.page.keyboard.press("Tab")
        watched.page.keyboard.press("Enter")
        watched.expect("document.activeElement.id", "conversation")
        watched.settle()
        assert watched.run("window.same === true")
        demo.check(watched)


def test_help_opens_at_its_top(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, f"/sessions/{HARD}") as watched:
        watched.until(READY)
        watched.page.keyboard.press("?")
        expect(watched.page.locator("#help-title")).to_be_in_viewport(ratio=1)
        demo.check(watched)


def test_a_key_means_one_thing_on_every_page() -> None:
    meanings: dict[str, set[str]] = {}
    for path in STATIC.glob("*.js"):
        for line in path.read_text().splitlines():
            found = re.match(r'\s*(?:keys\.)?on\("(\w|[.{}]|\w \w)", .*"([^"]+)"\);$', line)
            if found:
                meanings.setdefault(found[1], set()).add(found[2].replace(" row", "").replace(" turn", ""))
    assert {"p", "n", "r", "x", "d", "s", "j"} <= meanings.keys()
    assert {key: told for key, told in meanings.items() if len(told) > 1} == {}
