"""The page of a session in a real browser: places, windows, live news, keys; and hostile transcripts, which run nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

import hansard
from benchmarks.long_session import write_long_session
from tests.sync import making
from tests.sync.making import agent_path, assistant, call, main_path, raw, result, session, user
from tests.web.serving import Site, site

if TYPE_CHECKING:
    import httpx
    from playwright.sync_api import Browser

    from tests.render.html.browsing import Watched

HARD = "6513270e-269e-4d37-b2a7-4de452e6b438"  # the demo session that has everything in it
LIVE = session(9)
READY = "document.getElementById('session').dataset.ready !== undefined"


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, str]]:
    """A session of many windows, and its id."""
    place = tmp_path_factory.mktemp("web-scroll")
    name = str(write_long_session(str(place / "claude"), "2500", "5")["session"])
    with hansard.open(place / "home", [place / "claude"]) as h:
        h.sync()
    with site(place / "home", place / "claude") as running:
        yield running, name


@pytest.fixture
def growing(tmp_path: Path) -> Iterator[tuple[Site, making.Tree]]:
    """A server that keeps up with a session that is being written."""
    tree = making.Tree(tmp_path / "claude", tmp_path / "home")
    lines = [user(LIVE, "u0", "begin")]
    for number in range(12):
        lines.append(assistant(LIVE, f"a{number}", f"m{number}", f"Answer {number}. " + "and so on. " * 60, number))
        lines.append(user(LIVE, f"u{number + 1}", f"question {number + 1}", number + 0.5))
    lines.append(assistant(LIVE, "last", "ml", [call("t1", "Bash", command="make", description="Build it")], 20))
    tree.write(main_path(LIVE), lines)
    with hansard.open(tree.home, [tree.config]) as h:
        h.sync()
    with site(tree.home, tree.config, syncing=True) as running:
        yield running, tree


def append(tree: making.Tree, *lines: making.Line) -> None:
    with tree.place(main_path(LIVE)).open("ab") as file:
        file.write(raw(lines))


def top_of(watched: Watched, selector: str) -> float:
    return float(watched.run("(one) => document.querySelector(one).getBoundingClientRect().top", selector))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("path", ["", "?branch=1", "?end=1", "?agent=a497335b28b4899ad"])
def test_it_opens_at_every_size_without_a_complaint(
    demo: Site, chromium: Browser, path: str, width: int, scheme: str
) -> None:
    with demo.opened(chromium, f"/sessions/{HARD}{path}", width=width, color_scheme=scheme) as watched:
        watched.until(READY)
        watched.settle()

        watched.expect("document.documentElement.scrollWidth", width)
        expect(watched.page.locator("#windows .item")).not_to_have_count(0)
        expect(watched.page.locator("#outline li")).not_to_have_count(0)
        demo.check(watched)


def test_the_outline_leads_to_turns_that_are_not_there_yet(long: tuple[Site, str], chromium: Browser) -> None:
    running, name = long
    with running.opened(chromium, f"/sessions/{name}") as watched:
        watched.until(READY)
        assert watched.run("document.getElementById('t60')") is None

        watched.page.click("#outline a[data-turn='60']")
        watched.expect_in_view("#t60")
        watched.expect("document.querySelector('#outline [aria-current]')?.dataset.turn", "60")
        watched.expect("location.hash", "#t60")
        watched.page.go_back()
        watched.until("scrollY === 0")
        watched.expect("document.getElementById('windows').firstElementChild?.dataset.from", "0")
        running.check(watched)


@pytest.mark.parametrize("width", [1440, 390])
def test_a_link_to_a_message_deep_in_a_long_session_opens_there(
    long: tuple[Site, str], chromium: Browser, width: int
) -> None:
    running, name = long
    with running.client() as client:
        text = client.get(f"/sessions/{name}/turns", params={"turn": 70}).text
    place = text.split('class="item reply')[1].split('id="')[1].split('"')[0]
    for address in (f"#{place}", f"?at={place[1:]}", f"?at={place[1:]}#{place}"):
        with running.opened(chromium, f"/sessions/{name}{address}", width=width) as watched:
            watched.until(f"document.querySelector('.item.now')?.id === '{place}'")
            watched.expect_in_view(f"#{place}")
            running.check(watched)


def test_an_address_that_changes_leads_on(long: tuple[Site, str], chromium: Browser) -> None:
    running, name = long
    with running.opened(chromium, f"/sessions/{name}") as watched:
        watched.until(READY)
        watched.run("location.hash = '#t40'")
        watched.expect_in_view("#t40")
        running.check(watched)


def test_scrolling_fetches_more_on_both_sides_and_nothing_jumps(long: tuple[Site, str], chromium: Browser) -> None:
    running, name = long
    with running.opened(chromium, f"/sessions/{name}?turn=50#t50") as watched:
        watched.until("document.getElementById('t50') !== null")
        watched.settle()
        first = watched.run("Number(document.querySelector('.window').dataset.from)")
        last = watched.run("Number(document.getElementById('windows').lastElementChild.dataset.until)")
        watched.page.mouse.move(900, 500)
        for by in (-600, 600):
            for _ in range(25):
                watched.run(
                    """() => {
                        window.held = [...document.querySelectorAll('#windows .item')].find((item) => item.getBoundingClientRect().top > 200);
                        const below = document.documentElement.scrollHeight - innerHeight - scrollY;
                        window.was = [held.getBoundingClientRect().top, scrollY, below];
                    }"""
                )
                watched.page.mouse.wheel(0, by)
                watched.until("held.getBoundingClientRect().top !== was[0]")
                watched.settle()
                moved = watched.run("was[0] - held.getBoundingClientRect().top")
                # On a slow machine the reader can come to the end of what is loaded; then there is no further to go.
                above, below = watched.run("[was[1], was[2]]")
                assert abs(moved - max(-above, min(by, below))) <= 2 or abs(moved - by) <= 2, (by, moved)

        watched.until(f"Number(document.querySelector('.window').dataset.from) < {first}")
        watched.until(f"Number(document.getElementById('windows').lastElementChild.dataset.until) >= {last}")
        watched.until(
            """() => {
                const all = [...document.querySelectorAll('.window')];
                return all.every((one, at) => !at || all[at - 1].dataset.until === one.dataset.from);
            }"""
        )
        running.check(watched)


def test_far_windows_are_let_go(long: tuple[Site, str], chromium: Browser) -> None:
    running, name = long
    with running.opened(chromium, f"/sessions/{name}") as watched:
        watched.until(READY)
        for _ in range(200):
            before = watched.run("document.getElementById('windows').lastElementChild.dataset.until")
            if before == "":
                break
            watched.run("scrollTo({ top: document.documentElement.scrollHeight, behavior: 'instant' })")
            watched.until(f"document.getElementById('windows').lastElementChild.dataset.until !== '{before}'")

        watched.until("document.querySelectorAll('.window').length <= 16")
        watched.until("!document.getElementById('tail').hidden")
        running.check(watched)


def test_it_can_be_read_without_script(long: tuple[Site, str], chromium: Browser) -> None:
    running, name = long
    with running.opened(chromium, f"/sessions/{name}", java_script_enabled=False) as watched:
        page = watched.page
        first = page.locator("#windows .item").first.get_attribute("id")
        page.click("#later a")
        page.click("#later a")
        second = page.locator("#windows .item").first.get_attribute("id")
        page.click("#earlier a")
        page.click("#outline a[data-turn='80']")
        page.wait_for_url("**#t80")

        expect(page.locator("#t80")).to_be_visible()
        assert first != second


def test_a_session_that_grows_is_followed_without_a_jump(growing: tuple[Site, making.Tree], chromium: Browser) -> None:
    running, tree = growing
    with running.opened(chromium, f"/sessions/{LIVE}") as watched:
        watched.until(READY)
        watched.page.keyboard.press("Shift+G")
        watched.until("document.querySelector('.follow').getAttribute('aria-pressed') === 'true'")
        watched.run("document.querySelector('.item.tool > details')?.setAttribute('open', '')")
        watched.run("window.kept = document.querySelector('#windows .item.reply')")
        expect(watched.page.locator(".item.tool").first).to_contain_text("no result")

        append(tree, result(LIVE, "r1", "t1", "Built in a minute", 21))
        watched.until("document.querySelector('.item.tool').textContent.includes('Built in a minute')")
        watched.until("kept.isConnected")
        append(tree, assistant(LIVE, "a20", "m20", "All is built. " * 200, 22), user(LIVE, "u20", "thank you", 23))
        watched.until("document.getElementById('t14') !== null")
        watched.until("document.querySelectorAll('#outline li').length === 14")
        watched.until("document.documentElement.scrollHeight - innerHeight - scrollY < 4")
        expect(watched.page.locator("#facts")).to_contain_text("14 prompts")
        watched.expect("document.querySelector('.follow').textContent.trim()", "Following")

        # Whoever reads elsewhere stays there, and what was opened stays open.
        watched.page.keyboard.press("g")
        watched.page.keyboard.press("g")
        watched.until("scrollY === 0")
        watched.page.keyboard.press("j")
        watched.page.keyboard.press("j")
        watched.settle()
        before = top_of(watched, "#t2")
        append(tree, assistant(LIVE, "a21", "m21", "You are welcome.", 24), user(LIVE, "u21", "one more", 25))
        watched.until("document.querySelectorAll('#outline li').length === 15")
        watched.until("document.getElementById('t15') !== null")
        watched.settle()
        assert abs(top_of(watched, "#t2") - before) <= 1
        assert watched.run("kept.isConnected")
        watched.expect("document.querySelector('.follow').getAttribute('aria-pressed')", "false")
        running.check(watched)


def test_a_subagent_is_fetched_where_it_was_called_and_again_when_it_goes_on(
    growing: tuple[Site, making.Tree], chromium: Browser
) -> None:
    running, tree = growing
    told = call("t2", "Task", description="Look around", prompt="look", subagent_type="Explore")
    append(tree, assistant(LIVE, "a30", "m30", [told], 30))
    outcome = {"agentId": "abc123", "status": "completed"}
    lines = [
        user(LIVE, "s1", "look", 31, isSidechain=True, agentId="abc123"),
        assistant(LIVE, "s2", "m31", "I see a gull.", 32, "s1", isSidechain=True, agentId="abc123"),
    ]
    tree.write(agent_path(LIVE, "abc123"), lines, mtime_ns=int(2e18))
    append(tree, result(LIVE, "r2", "t2", "agentId: abc123 saw a gull", 33, outcome))
    with running.opened(chromium, f"/sessions/{LIVE}?end=1") as watched:
        watched.until("document.querySelector('details.agent[data-agent=abc123]') !== null")
        watched.run("document.querySelector('details.agent').closest('.item > details').open = true")
        watched.page.click("details.agent > summary")
        watched.until("document.querySelector('.agent .subturn')?.textContent.includes('I see a gull.')")

        more = assistant(LIVE, "s3", "m32", "Two gulls.", 34, "s2", isSidechain=True, agentId="abc123")
        tree.append(agent_path(LIVE, "abc123"), [more])
        watched.until("document.querySelector('.agent .subturn')?.textContent.includes('Two gulls.')")
        watched.until("document.querySelector('details.agent').open")
        running.check(watched)


def test_a_subagent_has_a_page_and_nested_ones_open_in_place(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, f"/sessions/{HARD}#t7") as watched:
        watched.until("document.querySelector('#t7 details.agent') !== null")
        watched.run("document.querySelector('#t7 details.agent').closest('.item > details').open = true")
        watched.page.click("#t7 details.agent > summary >> nth=0")
        watched.until("document.querySelector('#t7 .agent .subturn details.agent') !== null")
        inner = watched.page.locator("#t7 .agent .subturn details.agent").first
        inner.evaluate("(one) => { one.closest('.item > details').open = true; one.open = true; }")
        watched.until("document.querySelector('#t7 .agent .agent .subturn') !== null")
        demo.check(watched)
    with demo.opened(chromium, f"/sessions/{HARD}") as watched:
        watched.page.click(".actions summary:has-text('Subagents')")
        watched.page.click(".agent-tree a >> nth=1")
        watched.page.wait_for_url("**?agent=*")
        watched.until(READY)
        expect(watched.page.locator("h1")).to_contain_text("Inner")
        demo.check(watched)


def test_branches_are_switched(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, f"/sessions/{HARD}?turn=9#t9") as watched:
        watched.until(READY)
        watched.page.click("#t9 .fork a:has-text('switch')")
        watched.page.wait_for_url("**branch=1*")
        watched.until(READY)
        watched.expect_in_view("#t8 .item.prompt")
        watched.expect("document.querySelector('#t9')?.closest('details.branch').open", False)
        watched.page.click("#branches summary:has-text('branch 1')")
        watched.page.click(".choices a:has-text('Main line')")
        watched.page.wait_for_url(lambda url: "branch" not in url)
        watched.until(
            "document.querySelector('#t9') !== null && document.querySelector('#t9').closest('details') === null"
        )
        demo.check(watched)


def test_keys_walk_fold_filter_and_show_the_raw_line(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, f"/sessions/{HARD}", permissions=["clipboard-read", "clipboard-write"]) as watched:
        press = watched.page.keyboard.press
        watched.until(READY)
        for key, turn in (("j", "t1"), ("j", "t2"), ("j", "t3"), ("k", "t2")):
            press(key)
            watched.settle()
            watched.expect("document.activeElement.id", turn)
        now = "document.querySelector('.item.now')?.id"
        press("m")
        watched.until(f"{now} !== undefined")
        first = watched.run(now)
        press("m")
        watched.until(f"{now} !== '{first}'")
        watched.settle()
        chosen = watched.run(now)
        press("Shift+M")
        watched.expect(now, first)
        press("m")
        watched.expect(now, chosen)
        press("c")
        expect(watched.page.locator("#toast")).to_have_text("Link copied")
        place = f"/sessions/{HARD}?at={chosen[1:]}#{chosen}"
        watched.until(f"navigator.clipboard.readText().then((text) => text.endsWith('{place}'))")

        press(".")
        watched.until("document.getElementById('raw').open")
        watched.page.click("[data-raw-copy]")
        expect(watched.page.locator("#toast")).to_have_text("Line copied")
        with demo.client() as client:
            kept = client.get(f"/sessions/{HARD}/raw", params={"offset": chosen[1:].split(".")[0], "form": "bytes"})
        watched.expect("navigator.clipboard.readText()", kept.text)
        press("Escape")
        watched.until("!document.getElementById('raw').open")

        press("e")
        expect(watched.page.locator("#windows .item > details:not([open])")).to_have_count(0)
        press("1")
        watched.until("getComputedStyle(document.querySelector('.item.of-prompts')).display === 'none'")
        press("1")
        watched.until("getComputedStyle(document.querySelector('.item.of-prompts')).display !== 'none'")
        press("?")
        expect(watched.page.locator("#help-keys")).to_contain_text("Follow new messages")
        expect(watched.page.locator("#help-keys")).to_contain_text("Raw line of this message")
        demo.check(watched)


def test_what_is_searched_for_in_the_session_is_found_and_opened(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, f"/sessions/{HARD}#t5") as watched:
        watched.until("document.getElementById('t5') !== null")
        watched.settle()
        watched.page.keyboard.press("/")
        watched.expect_in_view("#t5")  # the field is in the bar: nothing moves for it
        watched.page.keyboard.type("replaced it")
        watched.until("document.querySelector('#found mark') !== null")
        watched.page.keyboard.press("ArrowDown")
        watched.page.keyboard.press("Enter")
        watched.until("document.querySelector('.item.now')?.textContent.includes('replaced it')")
        watched.expect_in_view(".item.now")
        expect(watched.page.locator("#found")).to_be_hidden()
        demo.check(watched)


@pytest.mark.parametrize("width", [1440, 1024])
def test_the_head_is_low_and_its_panels_open_under_their_buttons(demo: Site, chromium: Browser, width: int) -> None:
    with demo.opened(chromium, f"/sessions/{HARD}", width=width) as watched:
        watched.until(READY)
        box = watched.page.locator(".session > .head").bounding_box()
        assert box is not None
        assert box["height"] <= (64 if width == 1440 else 100), "one row where there is room"
        for number in range(watched.page.locator(".actions .menu:not([hidden])").count()):
            menu = watched.page.locator(".actions .menu:not([hidden])").nth(number)
            menu.locator("summary").click()
            expect(menu.locator(".panel-body")).to_be_in_viewport(ratio=1)
            button, panel = menu.locator("summary").bounding_box(), menu.locator(".panel-body").bounding_box()
            assert button is not None
            assert panel is not None
            assert 0 <= panel["y"] - button["y"] - button["height"] < 12
            assert panel["x"] <= button["x"] + 1
            assert panel["x"] + panel["width"] >= button["x"] + button["width"] / 2
        demo.check(watched)


def test_the_timeline_leads_to_its_requests(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, f"/sessions/{HARD}") as watched:
        watched.until(READY)
        watched.page.click("#context summary")
        expect(watched.page.locator(".timeline")).to_be_visible()
        told = watched.run("document.querySelector('.timeline .hits a:last-child title').textContent")
        watched.page.locator(".timeline .hits a").last.click()
        turn = str(told).removeprefix("Turn ").partition(" ")[0]
        watched.expect("document.querySelector('.item.now')?.closest('.turn').id", f"t{turn}")
        expect(watched.page.locator(".timeline .compaction")).to_have_count(2)
        demo.check(watched)


def test_related_sessions_come_when_they_are_asked_for(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, f"/sessions/{HARD}") as watched:
        watched.until(READY)
        watched.page.click(".actions summary:has-text('Related')")
        watched.until(
            "document.querySelector('#alike a, #alike .quiet') !== null && !document.getElementById('alike').dataset.from"
        )
        watched.page.keyboard.press("Escape")
        watched.until("!document.getElementById('related').open")
        demo.check(watched)


def test_hostile_transcripts_run_nothing(hostile: Site, chromium: Browser) -> None:
    with hansard.open(hostile.settings.home, hostile.settings.roots) as h:
        known = h.sessions(limit=None, debris=True).sessions
        agents = {about.session_id: h.agents(about.session_id) for about in known}
    for about in known:
        name = about.session_id
        paths = ["", *(f"?agent={agent.agent_id}" for agent in agents[name][:3])]
        for path in paths:
            with hostile.opened(chromium, f"/sessions/{name}{path}") as watched:
                watched.until(READY)
                watched.run(
                    """async () => {
                        for (const fold of document.querySelectorAll('details')) fold.open = true;
                        for (let times = 0; times < 30; times += 1) {
                            scrollTo({ top: document.documentElement.scrollHeight, behavior: 'instant' });
                            await new Promise((done) => setTimeout(done, 30));
                        }
                    }"""
                )
                watched.page.keyboard.press("m")
                watched.page.keyboard.press(".")
                watched.until("document.getElementById('raw').open || !document.querySelector('#windows .item')")
                watched.page.keyboard.press("Escape")
                hostile.check(watched)


def test_a_picture_opens_over_the_page_with_steps_and_a_close_button(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, f"/sessions/{HARD}?turn=2#t2") as watched:
        page = watched.page
        picture = page.locator("#t2 img.picture").first
        expect(picture).to_have_attribute("role", "button")
        picture.focus()
        page.keyboard.press("Enter")
        expect(page.locator("#lightbox img")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("#lightbox")).to_be_hidden()

        watched.run("void document.querySelectorAll('#windows details').forEach((one) => { one.open = true; })")
        visible = "[...document.querySelectorAll('.picture')].filter((one) => one.checkVisibility()).length"
        watched.until(f"{visible} > 1")
        count = watched.run(visible)
        picture.click()
        expect(page.locator("#lightbox output")).to_have_text(f"1 of {count}")
        expect(page.locator("[data-step='-1']")).to_be_disabled()
        page.click("[data-step='1']")
        expect(page.locator("#lightbox output")).to_have_text(f"2 of {count}")
        page.get_by_role("button", name="Close").click()
        expect(page.locator("#lightbox")).to_be_hidden()
        demo.check(watched)


def test_new_messages_are_counted_while_the_reader_is_elsewhere(
    growing: tuple[Site, making.Tree], chromium: Browser
) -> None:
    running, tree = growing
    with running.opened(chromium, f"/sessions/{LIVE}") as watched:
        watched.until(READY)
        append(tree, assistant(LIVE, "a40", "m40", "One.", 40), user(LIVE, "u40", "two", 41))
        pill = watched.page.locator("#new-messages")
        expect(pill).to_have_text("2 new messages", timeout=15_000)
        pill.click()
        expect(pill).to_be_hidden()
        watched.until("document.documentElement.scrollHeight - innerHeight - scrollY < 4")
        running.check(watched)


def test_words_are_marked_on_arrival_from_search_and_keys_go_to_matches_and_errors(
    demo: Site, chromium: Browser
) -> None:
    with demo.opened(chromium, f"/sessions/{HARD}?q=prompt+replaced") as watched:
        watched.until(READY)
        watched.page.keyboard.press("n")
        expect(watched.page.locator(".item.now")).to_contain_text("This prompt replaced it.")
        watched.until("Number(document.getElementById('session').dataset.marked) > 0")
        watched.page.keyboard.press("g")
        watched.page.keyboard.press("g")
        watched.until("scrollY === 0")
        watched.page.keyboard.press("}")
        expect(watched.page.locator(".item.now.of-errors")).to_be_visible()
        first = watched.page.locator(".item.now").get_attribute("id")
        watched.page.keyboard.press("}")
        expect(watched.page.locator(f".item.now.of-errors:not([id='{first}'])")).to_be_visible()
        watched.page.keyboard.press("{")
        expect(watched.page.locator(".item.now")).to_have_attribute("id", str(first))
        demo.check(watched)


def test_the_whole_session_is_printed(long: tuple[Site, str], chromium: Browser) -> None:
    running, name = long
    with running.opened(chromium, f"/sessions/{name}?turn=50#t50") as watched:
        watched.until(READY)
        watched.run(
            "void (window.print = () => { window.printed = document.querySelectorAll('.turn:not([data-part])').length; })"
        )
        watched.page.click("summary[aria-label='Export']")
        watched.page.click("[data-action=print]")
        watched.until("window.printed !== undefined")
        assert watched.run("window.printed") == int(watched.page.inner_text("#turn-count"))
        running.check(watched)


def test_diffs_are_side_by_side_where_there_is_room_until_the_reader_wants_them_unified(
    demo: Site, client: httpx.Client, chromium: Browser
) -> None:
    listed = client.get("/api/sessions", params={"q": "tool:Edit", "limit": 60}).json()["sessions"]
    pages = (f"/sessions/{one['session_id']}" for one in listed)
    with_diff = next(page for page in pages if '</span><span class="add">' in client.get(page).text)
    with demo.opened(chromium, with_diff, width=1920) as watched:
        page = watched.page
        both = page.locator("#windows .split")
        expect(both.first).to_be_attached()
        watched.run("void (document.querySelector('.split').closest('details').open = true)")
        old, new = both.first.locator(".diff").all()
        expect(old.locator(".cut").first).to_be_visible()
        expect(old.locator(".add")).to_have_count(0)
        expect(new.locator(".cut")).to_have_count(0)
        lines = "(pre) => pre.textContent.replace(/\\n$/, '').split('\\n').length"
        heights = {int(half.evaluate(lines)) for half in both.first.locator("pre").all()}
        assert len(heights) == 1, "lines stand beside their counterparts, and numbers beside their lines"
        assert watched.run("document.documentElement.scrollWidth") == 1920

        page.keyboard.press("d")
        expect(both).to_have_count(0)
        expect(page.locator("[data-action=diffs]")).to_have_attribute("aria-pressed", "false")
        page.reload()
        watched.until(READY)
        expect(both).to_have_count(0)
        page.locator("[data-action=diffs]").click()
        expect(both.first).to_be_attached()
        page.set_viewport_size({"width": 1024, "height": 900})
        expect(both).to_have_count(0)
        expect(page.locator("[data-action=diffs]")).to_be_hidden()
        demo.check(watched)
