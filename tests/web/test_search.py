"""Search: what is found and where it opens, refining, mistakes and typos, and searching as one types."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

import hansard
from hansard.query.language import FIELDS, help_of

if TYPE_CHECKING:
    import httpx
    from playwright.sync_api import Browser

    from tests.web.serving import Site

HIT = ".hit > a"


def hits(html: str) -> list[str]:
    """Where the hits in a piece of HTML open."""
    return [unescape(href) for href in re.findall(r'data-row>\s*<a href="([^"]+)"', html)]


def queries(html: str) -> list[str]:
    """The queries that links lead to."""
    return [unescape(query) for query in re.findall(r'data-query="([^"]*)"', html)]


def test_the_page_holds_its_first_results(demo: Site, client: httpx.Client) -> None:
    html = client.get("/search", params={"q": "parser"}).text
    with hansard.open(demo.settings.home) as h:
        page = h.search("parser", group=True)

    assert len(hits(html)) == len(page.hits)
    assert "<mark>" in html
    assert re.search(r"<span class=\"quiet\" title=\"Search time\">[\w ]+ ms</span>", html)


def test_hits_open_at_their_lines(demo: Site, client: httpx.Client) -> None:
    found = client.get("/search/results", params={"q": "tool:Bash", "group": "none"}).text
    with hansard.open(demo.settings.home) as h:
        wanted = h.search("tool:Bash", limit=20).hits
    opened = hits(found)
    assert len(opened) == len(wanted)
    for href, hit in zip(opened, wanted, strict=True):
        parts = urlsplit(href)
        assert parts.path == f"/sessions/{hit.session_id}"
        assert parse_qs(parts.query)["at"] == [str(hit.offset)]
        assert parse_qs(parts.query).get("agent") == ([hit.agent_id] if hit.agent_id else None)
        assert parts.fragment.startswith("m")


def test_pages_go_on_by_cursor(client: httpx.Client) -> None:
    html = client.get("/search/results", params={"q": "the", "group": "none"}).text
    more = re.search(r'data-more="([^"]+)"', html)
    assert more is not None
    following = client.get("/search/results?" + urlsplit(unescape(more[1])).query).text

    assert hits(following)
    assert not set(hits(html)) & set(hits(following))
    assert "data-total" not in following


def test_facets_refine_and_can_be_taken_away(client: httpx.Client) -> None:
    html = client.get("/search/facets", params={"q": "the"}).text
    offered = queries(html)
    assert any(query.startswith("the kind:") for query in offered)
    assert any(query.startswith("the project:") for query in offered)
    for query in offered:
        answer = client.get("/search/results", params={"q": query}).text
        assert hits(answer), query
    narrowed = client.get("/search/facets", params={"q": "the kind:reply"}).text
    assert re.search(r'data-query="the" aria-current="true"', narrowed)


def test_facets_count_what_is_found(demo: Site, client: httpx.Client) -> None:
    html = client.get("/search/facets", params={"q": "parser"}).text
    with hansard.open(demo.settings.home) as h:
        facets = h.facets("parser")
        assert facets.counted == h.count("parser")
        for kind, count in facets.kind:
            assert h.count(f"parser kind:{kind}") == count
            assert f">{kind}</span>" in html
        for model, count in facets.model:
            assert h.count(f"parser model:{model}") >= count
        assert sum(count for _, count in facets.day) == sum(count for _, count in facets.month)


@pytest.mark.parametrize(("query", "column"), [("kind:promt", 6), ("flaky since:someday", 13), ("cost:much", 6)])
def test_a_mistake_is_told_with_its_place(client: httpx.Client, query: str, column: int) -> None:
    for path in ("/search", "/search/results"):
        answer = client.get(path, params={"q": query})
        assert answer.status_code == 200
        assert f"column {column}" in answer.text
        assert 'role="alert"' in answer.text
    assert client.get("/search/facets", params={"q": query}).status_code == 200


def test_typos_are_noticed(client: httpx.Client) -> None:
    html = client.get("/search/results", params={"q": "repositery"}).text
    assert "did you mean repository?" in html
    assert "repository" in queries(html)
    html = client.get("/search/results", params={"q": "tool:Bsh"}).text
    assert "tool:Bash" in queries(html)


def test_a_word_that_is_only_begun_finds_what_begins_so(client: httpx.Client) -> None:
    html = client.get("/search/results", params={"q": "harbou"}).text
    assert hits(html)
    assert "harbou*" in queries(html)


def test_matches_for_fewer_words_are_offered(client: httpx.Client) -> None:
    html = client.get("/search/results", params={"q": "harbour zzyzx"}).text
    assert "No message has all words; best matches for 1 of 2:" in html
    assert hits(html)


@pytest.mark.parametrize(
    "asked",
    [{"sort": "worst"}, {"q": "a", "cursor": "x"}, {"cursor": "1"}, {"group": "day"}, {"what": "1"}, {"q": "a" * 3000}],
)
def test_what_makes_no_sense_is_refused(client: httpx.Client, asked: dict[str, str]) -> None:
    assert client.get("/search", params=asked).status_code == 400
    assert client.get("/search/results", params=asked).status_code == 400


def test_the_language_is_explained(client: httpx.Client) -> None:
    html = client.get("/search").text
    for name, field in FIELDS.items():
        assert f"<code>{name}:</code>" in html
        assert help_of(field) in unescape(html)


def test_fields_and_values_for_completion(demo: Site, client: httpx.Client) -> None:
    fields = client.get("/search/fields").json()["fields"]
    assert [field["name"] for field in fields] == list(FIELDS)
    with hansard.open(demo.settings.home) as h:
        projects = {item.project for item in h.projects()}
    assert set(client.get("/search/values", params={"field": "project"}).json()["values"]) == projects
    assert "Bash" in client.get("/search/values", params={"field": "tool"}).json()["values"]
    assert client.get("/search/values", params={"field": "title"}).json() == {"values": []}
    for asked in ({}, {"field": "nothing"}):
        assert client.get("/search/values", params=asked).status_code == 400


# -- in a browser


def test_results_come_as_one_types(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/search") as watched:
        page = watched.page
        assert page.locator(".examples a").count() > 3
        page.keyboard.type("parser", delay=20)
        page.locator(HIT).first.wait_for()
        watched.until("location.search === '?q=parser'")
        page.locator("#facets a").first.wait_for()
        page.keyboard.type(" zzyzxx")
        page.locator(".nothing").wait_for()
        watched.until("document.querySelector('#facets').children.length === 0")
        demo.check(watched)


def test_older_answers_do_not_overtake_newer_ones(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/search") as watched:
        page = watched.page
        held = []

        def hold(route: object) -> None:
            held.append(route)

        page.route("**/search/results?q=par", hold)
        page.keyboard.type("par")
        watched.until("document.querySelector('#results').classList.contains('fresh')")
        page.keyboard.type("ser")
        page.locator(HIT).first.wait_for()
        shown = page.locator("#results").inner_html()
        for route in held:
            try:
                route.fulfill(status=200, body="<p id='old'>old</p>")  # type: ignore[attr-defined]
            except Exception:  # noqa: BLE001, S112 - the page has given it up, as it should
                continue
        watched.answered()
        assert page.locator("#old").count() == 0
        assert page.locator("#results").inner_html() == shown
        demo.check(watched)


def test_facets_refine_in_place(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/search?q=parser") as watched:
        page = watched.page
        page.locator("#facets a", has_text="prompt").click()
        watched.until("document.querySelector('#ask [name=q]').value === 'parser kind:prompt'")
        page.locator("#facets a[aria-current]").wait_for()
        watched.until(
            "[...document.querySelectorAll('.hit .by b')].every((one) => ['You', 'Task'].includes(one.textContent))"
        )
        page.locator(".told .chip", has_text="kind:prompt").click()
        watched.until("location.search === '?q=parser'")
        demo.check(watched)


def test_order_and_grouping_by_keys(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/search?q=parser") as watched:
        page = watched.page
        page.locator(HIT).first.wait_for()
        page.keyboard.press("j")
        page.keyboard.press("v")
        page.locator(".hits.flat").wait_for()
        watched.until("location.search === '?q=parser&group=none' || location.search === '?q=parser&sort=&group=none'")
        page.keyboard.press("s")
        watched.until("location.search.includes('sort=newest')")
        watched.until("!document.querySelector('#results').classList.contains('fresh')")
        watched.until(
            """(() => {
                const times = [...document.querySelectorAll(".hit time")].map((one) => one.dateTime);
                return times.length > 1 && times.every((time, at) => !at || times[at - 1] >= time);
            })()"""
        )
        demo.check(watched)


def test_from_the_field_to_a_message_by_keys(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/search?q=parser") as watched:
        page = watched.page
        page.keyboard.press("/")
        watched.expect("document.activeElement.name", "q")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("j")
        page.keyboard.press("k")
        expect(page.locator(HIT).first).to_be_focused()
        href = page.locator(HIT).first.get_attribute("href") or ""
        page.keyboard.press("Enter")
        page.wait_for_url(f"**{href.split('#')[0]}*")
        demo.check(watched)


def test_names_of_fields_are_completed(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/search") as watched:
        page = watched.page
        page.keyboard.type("parser too")
        page.locator(".completions [role=option]").first.wait_for()
        field = page.locator("#ask [name=q]")
        expect(field).to_have_attribute("aria-expanded", "true")
        page.keyboard.press("Tab")
        expect(field).to_have_value("parser tool:")
        page.locator(".completions [role=option]", has_text="tool:Bash").wait_for()
        page.keyboard.type("Ba")
        page.locator(".completions [role=option]").first.filter(has_text="tool:Bash").wait_for()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(field).to_have_value("parser tool:Bash ")
        page.keyboard.type("is:")
        page.locator(".completions [role=option]", has_text="is:pinned").wait_for()
        page.keyboard.press("Escape")
        expect(page.locator(".completions").first).to_be_hidden()
        expect(field).to_be_focused()
        demo.check(watched)


def test_recent_searches_are_offered_and_forgotten(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/search?q=parser") as watched:
        page = watched.page
        page.locator(HIT).first.wait_for()
        page.goto(demo.address + "/search")
        page.locator("[data-recent] a", has_text="parser").click()
        page.locator(HIT).first.wait_for()
        page.locator("#ask [name=q]").fill("")
        page.locator("[data-recent] button").click()
        page.goto(demo.address + "/search")
        expect(page.locator("[data-recent]")).to_be_hidden()
        demo.check(watched)


def test_without_script_it_is_a_form(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/search", java_script_enabled=False) as watched:
        page = watched.page
        page.locator("#ask [name=q]").fill("parser")
        page.locator("#ask button").click()
        page.wait_for_url("**/search?q=parser*")
        assert page.locator(HIT).count() > 3
        page.locator("noscript a, .facets a").first.click()
        expect(page.locator("#facets li a").nth(3)).to_be_attached()


@pytest.mark.parametrize(
    "query", ["window.hacked", "script OR img OR svg", '"<script>"', "</script><script>window.hacked=1"]
)
def test_nothing_of_hostile_transcripts_runs(hostile: Site, chromium: Browser, query: str) -> None:
    with hostile.opened(chromium, "/search") as watched:
        page = watched.page
        page.locator("#ask [name=q]").fill(query)
        watched.until("location.search !== ''")
        watched.answered()
        watched.run("document.querySelector('[name=group][value=none]').click()")
        watched.answered()
        hostile.check(watched)
