from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from hansard.model.display import Console, DisplayThread, Plain
from hansard.render.html import page
from hansard.render.index import SessionLink, index_page
from tests.render.html.browsing import Watched, opened
from tests.render.html.reading import TAGS
from tests.render.html.stubs import item, long_turns, session, tree, turn

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from hansard.engine import Hansard
    from hansard.model.sessions import Session

SCHEMES = ("light", "dark")
WIDTHS = (1440, 390)

# The contrast of every text that is to be seen, against what is behind it.
CONTRAST = """() => {
  const parse = (colour) => { const [r, g, b, a = 1] = colour.match(/[\\d.]+/g).map(Number); return [r, g, b, a]; };
  const over = (top, under) => top.slice(0, 3).map((part, at) => part * top[3] + under[at] * (1 - top[3])).concat(1);
  const light = (colour) => {
    const [r, g, b] = colour.map((part) => part / 255).map((part) => part <= .03928 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const low = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !element.checkVisibility({ checkOpacity: true, contentVisibilityAuto: false })) continue;
    const layers = [];
    for (let outer = element; outer; outer = outer.parentElement) layers.push(parse(getComputedStyle(outer).backgroundColor));
    const ground = layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255, 1]);
    const colour = parse(getComputedStyle(element).color);
    colour[3] *= Number(getComputedStyle(element).opacity);
    const ink = over(colour, ground);
    const [a, b] = [light(ink), light(ground)].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    if (ratio < 4.5) low.add(`${element.tagName}.${element.className} ${ratio.toFixed(2)} ${ink} on ${ground}: ${node.data.trim().slice(0, 40)}`);
  }
  return [...low].slice(0, 20);
}"""


@pytest.fixture(scope="module")
def hard_page(hard: tuple[Hansard, Session], pages: Path) -> Path:
    store, about = hard
    path = pages / "hard.html"
    path.write_text("".join(page(store.read(about))), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def long_page(pages: Path) -> Path:
    """Ten thousand items in a thousand turns."""
    path = pages / "long.html"
    path.write_text("".join(page(tree(long_turns(1000, 10)))), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_hard_session_is_readable(chromium: Browser, hard_page: Path, width: int, scheme: str) -> None:
    with opened(chromium, hard_page, width=width, color_scheme=scheme) as watched:
        paper = watched.run("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, paper[4:-1].split(","))) > 600) is (scheme == "light")
        assert watched.run(CONTRAST) == []
        watched.run("document.querySelectorAll('main details').forEach((fold) => { fold.open = true; })")
        assert watched.run(CONTRAST) == []
        assert watched.run("document.documentElement.scrollWidth") == width
        watched.run("scrollTo(0, document.body.scrollHeight)")
        watched.settle()
        watched.check(hard_page)


def test_the_terminals_colours_are_readable(chromium: Browser, pages: Path) -> None:
    codes = [*range(30, 38), *range(90, 98)]
    grounds = [*range(40, 48), *range(100, 108)]
    text = "".join(
        f"\x1b[{code}mcolour {code}\x1b[0m \x1b[{ground}mground {ground}\x1b[0m\n"
        for code, ground in zip(codes, grounds, strict=True)
    )
    text += "\x1b[7mturned round\x1b[0m \x1b[2mdim\x1b[0m \x1b[38;5;208mof 256\x1b[0m \x1b[38;2;10;20;200mof all\x1b[0m"
    path = pages / "colours.html"
    path.write_text("".join(page(tree([turn(1, item("1", "output", Console(text)))]))), encoding="utf-8")
    for scheme in SCHEMES:
        with opened(chromium, path, color_scheme=scheme) as watched:
            assert watched.run(CONTRAST) == []
            colours = watched.run(
                "[...document.querySelectorAll('.console span')].map((run) => getComputedStyle(run).color)"
            )
            assert len(set(colours)) > 12


def test_print_opens_what_is_folded_and_leaves_the_controls_out(chromium: Browser, hard_page: Path) -> None:
    with opened(chromium, hard_page) as watched:
        seen = "(selector) => [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility() && one.getBoundingClientRect().height).length"
        folded = ".item > details:not([open]) > .body"
        assert watched.run(seen, folded) == 0
        watched.page.emulate_media(media="print")
        assert watched.run(seen, folded) > 20
        assert watched.run(seen, ".bar, .outline, .at, .more > pre") == 0
        assert watched.run("document.documentElement.scrollWidth <= innerWidth")
        assert watched.page.pdf().startswith(b"%PDF")
        watched.check(hard_page)


def test_find_works_by_keyboard_and_opens_what_is_folded(chromium: Browser, hard_page: Path) -> None:
    with opened(chromium, hard_page) as watched:
        keyboard = watched.page.keyboard
        keyboard.press("/")
        keyboard.type("dropped %D of")  # in coloured code, in folded results
        keyboard.press("Enter")
        watched.until("document.getElementById('find-count').textContent.startsWith('1 of')")
        total = int(watched.run("document.getElementById('find-count').textContent").rpartition(" ")[2])
        assert total > 2
        where = """() => {
            const [range] = CSS.highlights.get('found-now');
            const box = range.getBoundingClientRect();
            return [range.toString(), box.height > 0 && box.top > 0 && box.bottom < innerHeight];
        }"""
        watched.expect(where, ["dropped %d of", True])
        keyboard.press("Enter")
        watched.until("document.getElementById('find-count').textContent.startsWith('2 of')")
        keyboard.press("Shift+Enter")
        watched.until("document.getElementById('find-count').textContent.startsWith('1 of')")
        watched.run("document.activeElement.blur()")
        keyboard.press("Shift+N")
        watched.until(f"document.getElementById('find-count').textContent === '{total} of {total}'")
        watched.expect(where, ["dropped %d of", True])
        keyboard.press("n")
        watched.until("document.getElementById('find-count').textContent.startsWith('1 of')")
        keyboard.press("/")
        keyboard.type("no such words anywhere")
        keyboard.press("Enter")
        watched.until("document.getElementById('find-count').textContent === 'nothing found'")
        keyboard.press("Escape")
        expect(watched.page.locator("#find-count")).to_be_empty()
        watched.check(hard_page)


def test_filters_work_by_keyboard(chromium: Browser, hard_page: Path) -> None:
    with opened(chromium, hard_page) as watched:
        shown = (
            "(group) => [...document.querySelectorAll(`.of-${group}`)].filter((one) => one.checkVisibility()).length"
        )
        groups = ["prompts", "replies", "thinking", "tools", "errors", "client"]
        before = {group: watched.run(shown, group) for group in groups}
        assert all(before.values())
        for number, group in enumerate(groups, 1):
            button = watched.page.locator(f"[data-filter={group}]")
            button.focus()
            watched.page.keyboard.press("Space")
            expect(button).to_have_attribute("aria-pressed", "false")
            watched.expect(shown, 0, group)
            watched.page.keyboard.press(str(number))
            expect(button).to_have_attribute("aria-pressed", "true")
            watched.expect(shown, before[group], group)
        for key in "12346":
            watched.page.keyboard.press(key)
        turns = "[...document.querySelectorAll('.turn')].filter((one) => one.checkVisibility()).length"
        watched.until(f"{turns} > 0 && {turns} < 8")
        watched.until(f"({shown})('errors') > 0")
        watched.check(hard_page)


def test_every_link_to_an_item_lands_on_it(chromium: Browser, hard_page: Path) -> None:
    with opened(chromium, hard_page) as watched:
        ids = watched.run("[...document.querySelectorAll('.item:not(.blank)')].map((one) => one.id)")
        assert len(ids) > 100
    for name in ids[:: len(ids) // 8]:
        with opened(chromium, hard_page, hash=f"#{name}") as watched:
            watched.expect_in_view(f'[id="{name}"]')
    with opened(chromium, hard_page) as watched:
        watched.page.click(".fork a")
        watched.until("document.getElementById('b1').open")
        watched.expect_in_view("#b1")
        watched.page.go_back()


def test_a_session_of_ten_thousand_messages_is_usable(chromium: Browser, long_page: Path) -> None:
    with opened(chromium, long_page, hash="#m999009") as watched:
        watched.expect_in_view('[id="m999009"]')
        assert watched.run("document.querySelectorAll('.item').length") == 10_000
        assert watched.run("getComputedStyle(document.querySelector('.turn')).contentVisibility") == "auto"
        watched.until("document.querySelector('.outline [aria-current]')?.getAttribute('href') === '#t999'")
        watched.page.keyboard.press("/")
        watched.page.keyboard.type("water 500.7 stands")
        watched.page.keyboard.press("Enter")
        watched.until("document.getElementById('find-count').textContent === '1 of 3'")
        watched.expect_in_view('[id="m500007"] .plain')
        watched.page.keyboard.press("Escape")
        watched.page.keyboard.press("j")
        watched.expect_in_view("#t501")
        watched.page.keyboard.press("k")
        watched.expect_in_view("#t500")
        watched.check(long_page)


def test_keys_links_and_the_theme(chromium: Browser, hard_page: Path) -> None:
    with opened(
        chromium, hard_page, color_scheme="light", permissions=["clipboard-read", "clipboard-write"]
    ) as watched:
        keyboard = watched.page.keyboard
        keyboard.press("?")
        expect(watched.page.locator("#help")).to_be_visible()
        keyboard.press("Escape")
        expect(watched.page.locator("#help")).to_be_hidden()
        keyboard.press("t")
        watched.expect("getComputedStyle(document.documentElement).colorScheme", "dark")
        watched.expect(CONTRAST, [])
        for number in (2, 3, 4):
            keyboard.press("j")
            watched.expect_in_view(f"#t{number}")
        keyboard.press("o")
        watched.until("[...document.querySelectorAll('#t4 details:not(.more)')].every((fold) => fold.open)")
        link = watched.page.locator(".item.prompt > .at").first
        link.focus()
        keyboard.press("Enter")
        watched.until("document.getElementById('toast').textContent !== ''")
        name = watched.run("location.hash.slice(1)")
        assert watched.page.locator(".item.prompt").first.get_attribute("id") == name
        watched.expect("navigator.clipboard.readText()", f"{hard_page.as_uri()}#{name}")
        watched.page.click(".outline li:nth-child(5) a")
        watched.expect_in_view("#t5")
        watched.check(hard_page)
    with opened(chromium, hard_page, width=390) as watched:
        outline = watched.page.locator(".outline ol")
        expect(outline).to_be_hidden()
        watched.page.click(".outline summary")
        watched.page.click(".outline li:nth-child(5) a")
        watched.expect_in_view("#t5")
        expect(outline).to_be_hidden()


def test_everything_can_be_read_without_a_script(chromium: Browser, hard_page: Path) -> None:
    with opened(chromium, hard_page, java_script_enabled=False) as watched:
        assert watched.page.is_visible(".outline li:nth-child(20) a")
        body = watched.page.locator(".item.thinking .body").first
        expect(body).to_be_hidden()
        watched.page.locator(".item.thinking summary").first.click()
        expect(body).to_be_visible()
        assert watched.complaints == []


@pytest.fixture(scope="module")
def hostile_page(hostile: tuple[Hansard, Session], tmp_path_factory: pytest.TempPathFactory) -> Path:
    store, about = hostile
    path = tmp_path_factory.mktemp("pages") / "hostile.html"
    path.write_text("".join(page(store.read(about))), encoding="utf-8")
    return path


@pytest.mark.parametrize("guarded", [True, False], ids=["with its policy", "without its policy"])
def test_nothing_of_a_hostile_history_runs(chromium: Browser, hostile_page: Path, guarded: bool) -> None:
    path = hostile_page
    with opened(chromium, path, bypass_csp=not guarded) as watched:
        _provoke(watched)
        found = watched.run(
            """() => {
                const [tags, odd] = [new Set(), []];
                for (const element of document.querySelectorAll("*")) {
                    tags.add(element.tagName.toLowerCase());
                    for (const { name } of element.attributes) if (name.startsWith("on") || name === "style" || name === "srcdoc") odd.push(element.outerHTML);
                }
                const addresses = [...document.querySelectorAll("a, img, form, button")].map((one) => one.href ?? one.src ?? one.action ?? "");
                return [[...tags], odd, addresses.filter((one) => /^(javascript|data|vbscript|file:\\/\\/\\/etc)/i.test(one)), document.scripts.length, document.images.length];
            }"""
        )
        assert set(found[0]) <= TAGS
        assert found[1:] == [[], [], 1, 0]
        assert watched.run("window.hacked") is None
        watched.check(path)


def _provoke(watched: Watched) -> None:
    """Open, point at, focus and click whatever is there, as a reader might."""
    watched.run(
        """async () => {
            document.querySelectorAll("details").forEach((fold) => { fold.open = true; });
            for (const element of document.querySelectorAll("main *, header *, nav *")) {
                for (const kind of ["mouseover", "focus", "toggle", "error", "load"]) element.dispatchEvent(new Event(kind));
                if (element.matches(".ref, .picture, .name, .subject")) element.click();
            }
            await new Promise((done) => setTimeout(done, 300));
        }"""
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_the_list_of_sessions_can_be_filtered_and_sorted(chromium: Browser, pages: Path, width: int) -> None:
    from datetime import UTC, datetime
    from decimal import Decimal

    entries = [
        SessionLink(
            session(
                session_id=str(number),
                project=f"/src/{'tide' if number % 2 else 'gauge'}",
                title=f"Ebb {number:02}x",
                ended_at=datetime(2026, 1 + number % 3, 1 + number, tzinfo=UTC),
                cost_usd=Decimal(number * 7 % 11),
                prompts=number,
            ),
            f"{number}.html",
        )
        for number in range(20)
    ]
    path = pages / "index.html"
    path.write_text("".join(index_page(entries, names={})), encoding="utf-8")
    for scheme in SCHEMES:
        with opened(chromium, path, width=width, color_scheme=scheme) as watched:
            assert watched.run(CONTRAST) == []
            assert watched.run("document.documentElement.scrollWidth") == width
            shown = "[...document.querySelectorAll('.session')].filter((row) => row.checkVisibility()).map((row) => row.querySelector('a').textContent)"
            assert len(watched.run(shown)) == 20
            watched.page.keyboard.press("/")
            watched.page.keyboard.type("GAUGE ebb")
            expect(watched.page.locator("#find-count")).to_have_text("10 of 20")
            watched.expect(f"{shown}.sort()", [f"Ebb {number:02}x" for number in range(0, 20, 2)])
            watched.page.keyboard.type(" 12X")
            watched.expect(shown, ["Ebb 12x"])
            watched.page.keyboard.press("Escape")
            watched.page.select_option("#sort", "prompts")
            watched.expect(shown, [f"Ebb {number:02}x" for number in range(19, -1, -1)])
            watched.page.select_option("#sort", "")
            watched.expect(f"{shown}.length", 20)
            expect(watched.page.locator(".group .session")).to_have_count(20)
            watched.check(path)


def test_a_folded_subagent_opens_for_a_link_into_it(chromium: Browser, pages: Path) -> None:
    inner = DisplayThread(
        None, (turn(1, *(item(f"agent-{number}", "reply", Plain("deep\n" * 30)) for number in range(40))),), {}
    )
    path = pages / "agent.html"
    path.write_text("".join(page(tree([turn(1, item("1", "tool", title="Task", thread=inner))]))), encoding="utf-8")
    with opened(chromium, path, hash="#magent-33") as watched:
        watched.expect_in_view("#magent-33")
        watched.check(path)
