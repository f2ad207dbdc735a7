"""Files: lists, folders, changes, the history of one file, and diffs as the session's page draws them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

import hansard
from hansard.render.html.parts import parts_html
from tests.web.elements import Element, read

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx
    from playwright.sync_api import Browser

    from hansard.engine import Hansard
    from hansard.model.display import DisplayThread, Item
    from tests.web.serving import Site

VIEWS = ("/files", "/files?view=folders", "/files?view=changes")


@pytest.fixture
def h(demo: Site) -> Iterator[Hansard]:
    with hansard.open(demo.settings.home, demo.settings.roots) as opened:
        yield opened


def parsed(client: httpx.Client, path: str) -> Element:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return read(answer.text)


def most_changed(h: Hansard) -> str:
    return h.files(sort="changes").files[0].path


def test_every_file_is_listed_once_over_all_pages(client: httpx.Client, h: Hansard) -> None:
    path: str | None = "/files"
    seen: list[str] = []
    while path is not None:
        page = parsed(client, path)
        seen += page.each("td.file", "title")
        following = page.each("a[data-next]", "href")
        path = following[0] if following else None

    expected = h.files(limit=10_000)
    assert seen == [file.path for file in expected.files]
    assert len(seen) > 50


@pytest.mark.parametrize("sort", ["path", "changes", "lines", "sessions", "last"])
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_sorting(client: httpx.Client, h: Hansard, sort: str, order: str) -> None:
    page = parsed(client, f"/files?sort={sort}&order={order}")
    rows = page.each("td.file", "title")

    assert rows == [file.path for file in h.files(sort=sort, ascending=order == "asc").files]
    head = page.one("th[aria-sort]")
    assert head["aria-sort"] == ("ascending" if order == "asc" else "descending")
    other = parsed(client, head.one("a")["href"]).one("th[aria-sort]")
    assert other["aria-sort"] == ("descending" if order == "asc" else "ascending")


def test_filters_are_carried_on(client: httpx.Client, h: Hansard) -> None:
    project = h.files("py").files[0].project
    page = parsed(client, "/files?" + urlencode({"q": "py", "project": project, "range": "90d", "sort": "changes"}))

    rows = page.each("td.file", "title")
    assert rows
    assert all("py" in path.lower() for path in rows)
    for link in page.each("nav.switch a", "href") + page.each("th a", "href"):
        assert "q=py" in link
        assert "project=" in link
    assert page.each("select option[selected]", "value") == [project]


def test_folders_lead_down_to_files(client: httpx.Client, h: Hansard) -> None:
    waiting = ["/files?view=folders"]
    files: set[str] = set()
    while waiting:
        page = parsed(client, waiting.pop())
        for link in page.each("td.file a", "href"):
            if link.startswith("/files/history"):
                files.add(link)
            else:
                waiting.append(link)

    assert len(files) == h.files().total


def test_changes_of_every_day_newest_first(client: httpx.Client, h: Hansard) -> None:
    page = parsed(client, "/files?view=changes")
    expected = h.calls(kind="changes", limit=30).calls

    assert page.each("li.step a.path", "title") == [call.path for call in expected]
    assert page.all("section.day h2")


def test_a_file_has_its_history_with_the_first_changes_drawn(client: httpx.Client, h: Hansard) -> None:
    path = most_changed(h)
    page = parsed(client, "/files/history?" + urlencode({"path": path}))
    found = h.file_history(path)

    steps = page.all("li.step")
    assert len(steps) == min(30, found.changes)
    drawn = [step for step in steps if not step.all("button[data-src]")]
    assert 1 <= len(drawn) <= 4
    assert all(step.all("pre") for step in drawn)
    with_reads = parsed(client, "/files/history?" + urlencode({"path": path, "reads": "1"}))
    assert len(with_reads.all("li.step")) == min(30, found.changes + found.reads)


def items(thread: DisplayThread) -> Iterator[Item]:
    for turn in thread.turns:
        for item in turn.items:
            yield item
            if item.thread is not None:
                yield from items(item.thread)


def test_a_diff_is_what_the_session_shows(client: httpx.Client, h: Hansard) -> None:
    changes = [call for call in h.calls(kind="changes", limit=10_000).calls if call.is_shown]
    shown: dict[tuple[str, int], list[Item]] = {}
    for session_id in {call.session_id for call in changes}:
        display = h.read(session_id).display()
        for thread in (display.thread, *display.others):
            for item in items(thread):
                if item.kind == "tool":
                    shown.setdefault((item.transcript, item.offset), []).append(item)
    assert len(changes) > 40
    compared = 0
    for call in changes:
        asked: dict[str, str | int] = {
            "transcript": call.transcript,
            "offset": call.offset,
            "block": call.block,
            "root": call.root,
        }
        answer = client.get("/files/change", params=asked)
        assert answer.status_code == 200
        candidates = [parts_html(item.results or item.parts).strip() for item in shown[call.transcript, call.offset]]
        assert answer.text.strip() in candidates
        compared += 1
    assert compared == len(changes)


def test_links_of_changes_lead_into_their_sessions(client: httpx.Client) -> None:
    page = parsed(client, "/files?view=changes")
    for link in page.each("p.onward a", "href")[:8]:
        assert client.get(link).status_code == 200, link


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/files?cursor=x", 400),
        ("/files?view=changes&cursor=x", 400),
        ("/files?view=nothing", 400),
        ("/files?sort=x", 400),
        ("/files?order=up", 400),
        ("/files?since=whenever", 400),
        ("/files?under=/home/mira", 400),
        ("/files?colour=red", 400),
        ("/files?q=a&q=b", 400),
        ("/files/history", 400),
        ("/files/history?path=/nowhere", 404),
        ("/files/history?path=/nowhere&cursor=x", 404),
        ("/files/change", 400),
        ("/files/change?transcript=x&offset=3", 404),
        ("/files/change?transcript=x&offset=-3", 400),
        ("/files/change?transcript=x&offset=99999999999999999", 400),
    ],
)
def test_what_makes_no_sense_is_refused(client: httpx.Client, path: str, status: int) -> None:
    answer = client.get(path)

    assert answer.status_code == status
    assert "<h1>" in answer.text


def test_nothing_that_fits_says_so(client: httpx.Client) -> None:
    for view in VIEWS:
        page = parsed(client, f"{view}{'&' if '?' in view else '?'}q=no-such-file-anywhere")
        assert page.all("p.nothing")


def test_the_list_follows_the_words_as_they_are_typed(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/files") as watched:
        page = watched.page
        before = page.locator("#results tbody tr").count()
        page.keyboard.press("/")
        page.keyboard.type(".md")
        watched.until("location.search.includes('q=.md')")
        watched.until("![...document.querySelectorAll('#results td.file')].some((cell) => !cell.title.includes('.md'))")
        watched.until(f"((rows) => rows > 0 && rows < {before})(document.querySelectorAll('#results tbody tr').length)")
        watched.expect("document.activeElement.name", "q")
        page.locator("nav[aria-label=View] a", has_text="Changes").click()
        page.wait_for_url("**view=changes**")
        assert "q=.md" in page.url
        demo.check(watched)


@pytest.mark.parametrize("width", [1440, 390])
def test_j_k_and_o_go_through_the_changes(demo: Site, chromium: Browser, width: int) -> None:
    with demo.opened(chromium, "/files?view=changes", width=width) as watched:
        page = watched.page
        focused = "[...document.querySelectorAll('.step')].findIndex((row) => row.contains(document.activeElement))"
        for key, at in (("j", 0), ("j", 1), ("j", 2), ("k", 1)):
            page.keyboard.press(key)
            watched.expect(focused, at)
        toggle = page.locator(".step").nth(1).locator(".toggle")
        expect(toggle).to_have_attribute("aria-expanded", "false")
        page.keyboard.press("o")
        page.locator(".step").nth(1).locator(".change pre").first.wait_for()
        expect(toggle).to_have_attribute("aria-expanded", "true")
        page.keyboard.press("o")
        expect(page.locator(".step").nth(1).locator(".change pre").first).to_be_hidden()
        page.keyboard.press("Enter")
        page.wait_for_url("**/files/history?path=**")
        demo.check(watched)


def test_a_change_that_is_gone_says_so_in_its_place(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/files?view=changes") as watched:
        watched.run("document.querySelector('.toggle').dataset.src = '/files/change?transcript=gone&offset=1'")
        watched.page.locator(".toggle").first.click()
        watched.until("document.querySelector('.change').textContent.includes('no tool call at')")
        watched.complaints[:] = [text for text in watched.complaints if "404" not in text]
        demo.check(watched)


@pytest.mark.parametrize("path", VIEWS)
def test_hostile_paths_and_contents_run_nothing(hostile: Site, chromium: Browser, path: str) -> None:
    with hostile.opened(chromium, path) as watched:
        page = watched.page
        for number in range(page.locator(".toggle[data-src]").count()):
            page.locator(".toggle").nth(number).click()
        watched.until("document.querySelectorAll('[aria-busy=true]').length === 0")
        hostile.check(watched)


def test_hostile_histories_run_nothing(hostile: Site, chromium: Browser) -> None:
    with hostile.client() as client:
        links = parsed(client, "/files").each("td.file a", "href")
    assert links
    for link in links[:6]:
        with hostile.opened(chromium, link) as watched:
            assert watched.page.locator("h1").is_visible()
            hostile.check(watched)
