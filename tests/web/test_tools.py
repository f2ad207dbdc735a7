"""Tools: the table and its order, the calls of one tool, and a page that begins before all of it is known."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

import hansard
from hansard.errors import NotFound
from hansard.model.calls import TOOL_SORTS
from hansard.web.pages import tools
from tests.web.elements import Element, read

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx
    from playwright.sync_api import Browser

    from hansard.engine import Hansard
    from tests.web.serving import Site


@pytest.fixture
def h(demo: Site) -> Iterator[Hansard]:
    with hansard.open(demo.settings.home, demo.settings.roots) as opened:
        yield opened


def parsed(client: httpx.Client, path: str) -> Element:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return read(answer.text)


def test_every_tool_has_a_row_with_its_sums(client: httpx.Client, h: Hansard) -> None:
    page = parsed(client, "/tools")
    report = h.tools()
    rows = {row.one("td.tool")["title"]: row for row in page.all("tbody tr") if row.all("td.tool")}

    assert len(rows) == len(page.all("td.tool"))
    assert {" ".join(name.split()) for name in rows} == {" ".join(sums.tool.split()) for sums in report.tools}
    bash = next(sums for sums in report.tools if sums.tool == "Bash")
    cells = [cell.text for cell in rows["Bash"].all("td.number")]
    assert cells[0] == f"{bash.calls:,}"
    assert cells[1] == f"{bash.errors:,}"
    assert cells[2] == f"{100 * bash.errors / bash.calls:.1f}"
    assert page.all("tfoot td.number")[0].text == f"{report.totals.calls:,}"
    assert len(page.all("svg.bars g.column")) > 10


def test_tools_of_a_server_stand_together(client: httpx.Client) -> None:
    page = parsed(client, "/tools")
    groups = {
        group.one("tr.group th").text.split(" ")[0]: group for group in page.all("tbody") if group.all("tr.group")
    }

    assert [link.text for link in groups["tracker"].all("td.tool a")] == ["find_issues", "find"]
    assert "Bash" in [link.text for link in groups["Built-in"].all("td.tool a")]


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("sort", list(TOOL_SORTS))
def test_sorting(client: httpx.Client, h: Hansard, sort: str, order: str) -> None:
    page = parsed(client, f"/tools?sort={sort}&order={order}")
    own = [sums for sums in h.tools().tools if sums.server is None]
    shown = page.all("tbody")[0].each("td.tool", "title")
    by_name = {" ".join(sums.tool.split()): sums for sums in own}

    keys = [TOOL_SORTS[sort](by_name[" ".join(name.split())]) for name in shown]
    assert keys == sorted(keys, reverse=order == "desc")
    assert len(keys) == len(own)
    assert page.one("th[aria-sort]")["aria-sort"] == ("ascending" if order == "asc" else "descending")


def test_filters_are_those_of_the_report(client: httpx.Client, h: Hansard) -> None:
    project = h.projects()[0].project
    for asked in ({"project": project}, {"q": "tool:Bash"}, {"q": "is:subagent"}):
        page = read(client.get("/tools", params=asked).text)
        wanted: dict[str, Any] = {"query": asked.get("q"), "project": asked.get("project")}
        assert page.one("tfoot").all("td.number")[0].text == f"{h.tools(**wanted).totals.calls:,}"
    assert read(client.get("/tools", params={"q": "model:nobody"}).text).all("p.nothing")


def test_the_calls_of_a_tool_over_all_pages(client: httpx.Client, h: Hansard) -> None:
    path: str | None = "/tools?tool=Bash"
    seen: list[str] = []
    while path is not None:
        page = parsed(client, path)
        seen += page.each("td.call a", "href")
        following = page.each("a[data-next]", "href")
        path = following[0] if following else None

    assert len(seen) == h.calls(tool="Bash").total > 50
    assert len(set(seen)) > len(seen) * 0.9  # several calls may stand on one line


def test_failed_calls_say_how(client: httpx.Client, h: Hansard) -> None:
    page = parsed(client, "/tools?tool=Bash&list=failed")
    expected = h.calls(tool="Bash", kind="errors", subjects=True, outputs=True, limit=25).calls

    assert len(page.all("td.call")) == len(expected) > 3
    shown = [one.text for one in page.all("span.output")]
    assert shown == [" ".join(call.output.split()) for call in expected if call.output]


def test_the_slowest_calls_come_first(client: httpx.Client, h: Hansard) -> None:
    links = parsed(client, "/tools?tool=Read&list=slowest").each("td.call a", "href")
    expected = h.calls(tool="Read", sort="slowest", limit=25).calls

    assert [f"at={call.offset}" in link for call, link in zip(expected, links, strict=True)] == [True] * len(links)
    for link in links[:3]:
        assert client.get(link).status_code == 200


def test_a_tool_with_any_name_has_a_page(client: httpx.Client, h: Hansard) -> None:
    for sums in h.tools().tools:
        answer = client.get(f"/tools?tool={quote(sums.tool, safe='')}")
        assert answer.status_code == 200
        assert read(answer.text).all("dl.figures dd")[0].text == f"{sums.calls:,}"
    assert parsed(client, "/tools?tool=Nobody").all("p.nothing")


@pytest.mark.parametrize(
    "path",
    [
        "/tools?sort=x",
        "/tools?order=x",
        "/tools?cursor=x",
        "/tools?list=failed",
        "/tools?q=tokens:many",
        "/tools?q=since:whenever",
        "/tools?since=whenever",
        "/tools?range=century",
        "/tools?tool=Bash&cursor=x",
        "/tools?tool=Bash&list=x",
        "/tools?tool=Bash&sort=calls",
        "/tools?tool=" + "x" * 500,
        "/tools?tool=a&tool=b",
    ],
)
def test_what_makes_no_sense_is_refused_before_the_page_begins(client: httpx.Client, path: str) -> None:
    answer = client.get(path)

    assert answer.status_code == 400
    assert read(answer.text).one("h1").text == "Invalid request"


def test_the_page_begins_before_the_calls_are_counted(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = threading.Event()
    real = tools._report

    def late(*given: Any) -> Any:
        assert counted.wait(60)
        return real(*given)

    monkeypatch.setattr(tools, "_report", late)
    with client.stream("GET", "/tools") as answer:
        pieces = answer.iter_text()
        first = next(pieces)
        assert answer.status_code == 200
        assert "<h1>Tools</h1>" in first
        assert "<table" not in first
        counted.set()
        rest = "".join(pieces)
    assert "<table" in rest
    assert rest.rstrip().endswith("</html>")


def test_what_goes_wrong_in_the_middle_is_said_in_its_place(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(*_: Any) -> Any:
        raise NotFound("nothing <is> kept")

    monkeypatch.setattr(tools, "_report", wrong)
    page = parsed(client, "/tools")

    assert page.one("p.notice.bad").text == "nothing <is> kept"


def test_the_list_follows_its_filter(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/tools") as watched:
        page = watched.page
        page.keyboard.press("/")
        page.keyboard.type("tool:Bash")
        expect(page.locator("#results td.tool")).to_have_count(1)
        watched.until("new URLSearchParams(location.search).get('q') === 'tool:Bash'")
        page.locator("#results td.tool a").click()
        page.wait_for_url("**tool=Bash**")
        expect(page.locator("h1")).to_have_text("Bash")
        # A slow typist asks for `tool:` in between, which is refused.
        watched.complaints[:] = [text for text in watched.complaints if "400" not in text]
        demo.check(watched)


def test_a_query_that_is_not_finished_leaves_the_list_alone(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/tools") as watched:
        before = watched.page.locator("#results td.tool").count()
        watched.page.keyboard.press("/")
        watched.page.keyboard.type("since:whenever")
        watched.until("!document.getElementById('toast').hidden")
        watched.until("document.getElementById('results').getAttribute('aria-busy') !== 'true'")
        expect(watched.page.locator("#results td.tool")).to_have_count(before)
        watched.complaints[:] = [text for text in watched.complaints if "400" not in text]
        demo.check(watched)


@pytest.mark.parametrize("width", [1440, 390])
def test_j_and_k_go_through_the_rows(demo: Site, chromium: Browser, width: int) -> None:
    with demo.opened(chromium, "/tools", width=width) as watched:
        page = watched.page
        names = page.locator("#results td.tool a").all_text_contents()
        assert names[0] == "Bash"
        for key, at in (("j", 0), ("j", 1), ("j", 2), ("k", 1)):
            page.keyboard.press(key)
            watched.expect("document.activeElement.textContent", names[at])
        page.keyboard.press("Enter")
        page.wait_for_url("**tool=**")
        page.keyboard.press("j")
        watched.expect("document.activeElement.closest('td')?.className", "call")
        demo.check(watched)


def test_hostile_names_inputs_and_errors_run_nothing(hostile: Site, chromium: Browser) -> None:
    with hostile.client() as client:
        links = parsed(client, "/tools").each("td.tool a", "href")
    assert links
    for link in [*links[:5], *(f"{link}&list=failed" for link in links[:5])]:
        with hostile.opened(chromium, link) as watched:
            assert watched.page.locator("h1").is_visible()
            hostile.check(watched)


@pytest.mark.parametrize("path", ["/tools", "/tools?tool=Bash"])
def test_the_chart_of_calls_has_a_title_and_a_legend(client: httpx.Client, path: str) -> None:
    page = client.get(path).text
    assert re.search(r"<section[^>]* aria-labelledby=\"\S+\">\s*<header><h2[^>]*>Calls\b", page)
    assert '<li class="s1"><i></i>Succeeded</li><li class="s5"><i></i>Failed</li>' in page
