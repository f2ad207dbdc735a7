"""Every page in a real browser: sizes, themes, hostile transcripts, and what hinders people."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    import httpx
    from playwright.sync_api import Browser, Page

    from tests.web.serving import Site

PLACES = (
    "/",
    "/sessions",
    "/sessions?group=project",
    "/sessions/{session}",
    "/search",
    "/search?q=the",
    "/sessions/{session}/forget",
    "/usage?by=day,model",
    "/usage?by=session",
    "/explain?by=total",
    "/files",
    "/files?view=changes",
    "/files?view=folders",
    "/files/history?path={file}",
    "/tools",
    "/tools?tool=Bash",
    "/prompts",
    "/sql",
    "/sql?question=cost-by-model-and-month",
    "/sql?question=failing-tools",
    "/sql?q=SELECT+nothing+FROM+usage",
    "/health",
    "/settings",
    "/nowhere",
)
# Rules that axe leaves out unless they are asked for.
_MORE_RULES = {"target-size": {"enabled": True}, "label-content-name-mismatch": {"enabled": True}}

# Marks every element that looks like one before it, in the same place of the page: rows of a table, but for their words.
_MARK_REPEATED = """() => {
    const seen = new Set(), shapes = new Map();
    const own = (element) => {
        const style = getComputedStyle(element);
        const looks = ["color", "backgroundColor", "backgroundImage", "opacity", "fontSize", "fontWeight", "display", "visibility"];
        return [element.tagName, element.getAttribute("class"), ...looks.map((name) => style[name])].join();
    };
    const shape = (element) => {
        if (!shapes.has(element)) shapes.set(element, `${own(element)}(${[...element.children].map(shape).join(" ")})`);
        return shapes.get(element);
    };
    const walk = (element, path) => {
        const key = path + shape(element), repeats = seen.has(key);
        element.toggleAttribute("data-repeated", repeats);
        seen.add(key);
        if (!repeats) for (const child of element.children) walk(child, `${path}${own(element)}>`);
    };
    walk(document.body, "");
}"""


def place(site: Site, path: str) -> str:
    """A path with the session that has the most in it, and the file that was changed last."""
    with site.client() as client:
        found = client.get("/api/sessions", params={"sort": "tokens", "limit": 1}).json()
        changed = client.get("/api/files", params={"limit": 1}).json()
    return path.format(session=found["sessions"][0]["session_id"], file=quote(changed["files"][0]["path"]))


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (390, "dark")])
@pytest.mark.parametrize("path", PLACES)
def test_a_page_is_whole_and_nothing_hinders_people(
    demo: Site, chromium: Browser, path: str, width: int, theme: Literal["light", "dark"]
) -> None:
    with demo.opened(chromium, place(demo, path), width=width, color_scheme=theme) as watched:
        page = watched.page
        page.wait_for_load_state("load")
        watched.until("document.querySelector('[aria-busy=true], [data-part]:empty') === null")

        expect(page.locator("h1")).to_have_count(1)
        if path != "/":
            expect(page.locator("h1")).to_be_visible()
        # Nothing sticks out at the side: only boxes of their own scroll.
        watched.until("document.documentElement.scrollWidth <= innerWidth")
        assert violations(page, {"rules": {**_MORE_RULES, "color-contrast": {"enabled": False}}}) == []
        other: Literal["light", "dark"] = "dark" if theme == "light" else "light"
        for scheme in (theme, other):
            page.emulate_media(color_scheme=scheme)
            # This rule takes most of the time, and finds the same in two elements that look the same.
            page.evaluate(_MARK_REPEATED)
            assert violations(page, {"runOnly": ["color-contrast"]}, {"exclude": [["[data-repeated]"]]}) == []
        watched.complaints[:] = [text for text in watched.complaints if "404" not in text or path != "/nowhere"]
        demo.check(watched)


_MOMENT = r"(\d{4}-\d\d-\d\d )?\d\d:\d\d(:\d\d)?"
_DAY = r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d{1,2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4}"


def test_times_and_days_are_written_in_one_form(demo: Site) -> None:
    with demo.client() as client:
        pages = {path: client.get(place(demo, path)).text for path in (*PLACES[:-1], "/sessions?group=day")}
    times = [text for page in pages.values() for text in re.findall(r"<time[^>]*>([^<]*)</time>", page)]
    assert len(times) > 100
    assert [text for text in times if not re.fullmatch(rf"{_MOMENT}( to {_MOMENT})?|.* ago|just now|-", text)] == []
    groups = re.findall(r'class="group".*?<a[^>]*>([^<]*)</a>', pages["/sessions?group=day"], re.DOTALL)
    days = [*groups, *re.findall(r'<section class="day">\s*<h2>([^<]*)', pages["/files?view=changes"])]
    assert len(days) > 10
    assert [text for text in days if not re.fullmatch(rf"{_DAY}|Today|Yesterday", text.strip())] == []


# Texts and buttons of the first screens that are drawn over each other, or beside the box that should contain them.
_COLLISIONS = """() => {
    const clipped = (element, box) => {
        for (let one = element; one; one = one.parentElement) {
            const style = getComputedStyle(one), frame = one.getBoundingClientRect();
            if (style.overflowX !== "visible" || style.overflowY !== "visible") {
                box = { left: Math.max(box.left, frame.left), right: Math.min(box.right, frame.right), top: Math.max(box.top, frame.top), bottom: Math.min(box.bottom, frame.bottom) };
            }
        }
        return box;
    };
    const found = [], boxes = [], main = document.querySelector("main");
    const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
    const add = (element, box, words) => {
        const shown = clipped(element, box);
        if (shown.right - shown.left > 1 && shown.bottom - shown.top > 1 && shown.top < 2 * innerHeight) boxes.push({ element, words, ...shown });
    };
    while (walker.nextNode()) {
        const text = walker.currentNode, element = text.parentElement;
        if (!text.data.trim() || element.closest(".unseen, svg, select, dialog") || !element.checkVisibility({ visibilityProperty: true })) continue;
        const range = document.createRange();
        range.selectNodeContents(text);
        for (const box of range.getClientRects()) add(element, box, text.data.trim().slice(0, 40));
        const cell = element.closest("td, th");
        if (cell && range.getBoundingClientRect().right > cell.getBoundingClientRect().right + 1 && clipped(element, range.getBoundingClientRect()).right > cell.getBoundingClientRect().right + 1) found.push(`beside its cell: ${text.data.trim().slice(0, 40)}`);
    }
    for (const button of main.querySelectorAll("button, input")) {
        if (button.checkVisibility({ visibilityProperty: true }) && !button.textContent.trim()) add(button, button.getBoundingClientRect(), button.ariaLabel ?? button.name);
    }
    const layer = (element) => { for (let one = element; one; one = one.parentElement) if (["sticky", "fixed", "absolute"].includes(getComputedStyle(one).position)) return one; return null; };
    for (const [place, one] of boxes.entries()) {
        if (one.right > innerWidth + 1) found.push(`beside the page: ${one.words}`);
        for (const other of boxes.slice(place + 1)) {
            const across = Math.min(one.right, other.right) - Math.max(one.left, other.left), down = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
            if (across > 2 && down > 4 && one.element !== other.element && !one.element.contains(other.element) && !other.element.contains(one.element) && layer(one.element) === layer(other.element)) found.push(`over each other: ${one.words} | ${other.words}`);
        }
    }
    return found;
}"""


@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_nothing_is_drawn_over_or_beside_its_box(demo: Site, chromium: Browser, width: int) -> None:
    with demo.opened(chromium, "/", width=width) as watched:
        found = {}
        for path in PLACES[:-1]:
            watched.page.goto(demo.address + place(demo, path))
            watched.until("document.querySelector('[aria-busy=true], [data-part]:empty') === null")
            found[path] = watched.run(_COLLISIONS)[:5]
        assert not any(found.values()), found


def violations(page: Page, options: dict[str, Any], context: dict[str, Any] | None = None) -> list[str]:
    """What axe finds that makes a page harder to read or to use."""
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

    answer = Axe().run(page, context=context, options={"resultTypes": ["violations"], **options}).response
    found: list[dict[str, Any]] = answer["violations"]
    return [
        f"{one['id']} ({one['impact']}): {node['html'][:200]} {node['failureSummary'][:300]}"
        for one in found
        for node in one["nodes"][:3]
    ]


@pytest.mark.parametrize("path", PLACES)
def test_no_page_runs_what_a_transcript_says(hostile: Site, chromium: Browser, path: str) -> None:
    with hostile.opened(chromium, place(hostile, path)) as watched:
        watched.page.wait_for_load_state("load")
        watched.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        watched.settle()
        watched.complaints[:] = [text for text in watched.complaints if "404" not in text or path != "/nowhere"]
        hostile.check(watched)


def test_a_browser_without_script_can_read(demo: Site, chromium: Browser) -> None:
    for path in PLACES[:-1]:
        with demo.opened(chromium, place(demo, path), java_script_enabled=False) as watched:
            assert watched.page.locator("h1").is_visible()
            assert watched.page.locator("nav.places a").count() == 9


def test_keys_lead_everywhere(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/") as watched:
        page = watched.page
        for key, path in (("s", "/sessions"), ("u", "/usage"), ("t", "/tools"), ("o", "/")):
            page.keyboard.press("g")
            page.keyboard.press(key)
            page.wait_for_url(f"**{path}")
        page.keyboard.press("?")
        expect(page.locator("dialog#help")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("dialog#help")).to_be_hidden()
        page.keyboard.press("/")
        watched.expect("document.activeElement.type", "search")
        page.keyboard.press("Escape")
        page.keyboard.press("Shift+D")
        watched.expect("document.documentElement.dataset.theme", "dark")
        demo.check(watched)


def test_the_first_stop_of_the_keyboard_skips_to_the_content(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/sessions") as watched:
        watched.page.keyboard.press("Tab")
        watched.expect("document.activeElement.getAttribute('href')", "#main")


def test_a_page_that_is_asked_for_twice_is_the_same(client: httpx.Client) -> None:
    for path in ("/sessions", "/usage?by=day,model", "/tools", "/files"):
        assert client.get(path).text == client.get(path).text
