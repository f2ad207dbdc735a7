"""Everything that was typed: the list, its pages and filters, whole texts, and copying."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

import hansard
from hansard.render.format import prompt_counts
from tests.sync.making import Tree, main_path, session, user
from tests.web.serving import Site, site

if TYPE_CHECKING:
    from pathlib import Path

    import httpx
    from playwright.sync_api import Browser

LONG = "word " * 1000


def rows(html: str) -> int:
    return len(re.findall(r'<li class="prompt ', html))


def test_pages_hold_every_prompt(demo: Site, client: httpx.Client) -> None:
    with hansard.open(demo.settings.home) as h:
        page = h.prompts(limit=1)
    found = 0
    path: str | None = "/prompts"
    while path is not None:
        html = client.get(path).text
        found += rows(html)
        more = re.search(r'data-more="([^"]+)"', html)
        path = unescape(more[1]) if more else None

    assert found == page.total == sum(page.sources.values())
    assert client.get("/prompts", params={"part": "count"}).text == prompt_counts(page)


@pytest.mark.parametrize(
    "asked",
    [
        {"q": "parser"},
        {"source": "command"},
        {"source": "history"},
        {"unique": "1"},
        {"since": "14d"},
        {"until": "14d"},
        {"project": "tidewater"},
    ],
)
def test_filters_are_those_of_the_engine(demo: Site, client: httpx.Client, asked: dict[str, str]) -> None:
    answer = client.get("/api/prompts", params={**asked, "limit": "500"}).json()

    assert rows(client.get("/prompts", params=asked).text) == min(50, len(answer["prompts"]))
    counted = client.get("/prompts", params={**asked, "part": "count"}).text
    assert sum(int(number.replace(",", "")) for number in re.findall(r"[\d,]*\d", counted)) == answer["total"]


def test_prompts_open_where_they_were_typed(demo: Site, client: httpx.Client) -> None:
    html = client.get("/prompts").text
    with hansard.open(demo.settings.home) as h:
        for prompt in h.prompts(limit=20).prompts:
            if prompt.session_id is not None and prompt.session_kept and prompt.source != "history":
                assert f'href="/sessions/{prompt.session_id}?at={prompt.offset}#m{prompt.offset}"' in html
            assert h.prompt_text(prompt.transcript, prompt.offset) == prompt.text


def test_lost_ones_are_marked_and_lead_nowhere(client: httpx.Client) -> None:
    html = client.get("/prompts", params={"source": "history"}).text

    assert "set up a repository for the tide project" in html
    assert html.count(">lost</span>") == rows(html)
    assert "data-open" not in html


@pytest.mark.parametrize("query", ["kind:promt", "since:never"])
def test_a_mistake_is_told_beside_the_field(client: httpx.Client, query: str) -> None:
    answer = client.get("/prompts", params={"q": query})

    assert answer.status_code == 200
    assert "column" in answer.text


@pytest.mark.parametrize("asked", [{"source": "nobody"}, {"cursor": "x"}, {"sort": "cost"}, {"part": "half"}])
def test_what_makes_no_sense_is_refused(client: httpx.Client, asked: dict[str, str]) -> None:
    assert client.get("/prompts", params=asked).status_code == 400


def test_no_prompt_at_a_place(client: httpx.Client) -> None:
    asked: dict[str, Any] = {"transcript": "projects/x/y.jsonl", "offset": 7}
    assert client.get("/prompts/text", params=asked).status_code == 404
    assert client.get("/prompts/text").status_code == 400


# -- in a browser


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    made = Tree(tmp_path / "claude", tmp_path / "home")
    one = session(1)
    made.write(main_path(one), [user(one, "a", LONG, 1), user(one, "b", "short", 2)])
    made.sync()
    return made


def test_long_texts_open_and_are_copied_whole(tree: Tree, chromium: Browser) -> None:
    with (
        site(tree.home, tree.config) as running,
        running.opened(chromium, "/prompts", permissions=["clipboard-read", "clipboard-write"]) as watched,
    ):
        page = watched.page
        long = page.locator(".prompt").nth(1)
        assert len(long.locator(".typed").text_content() or "") < len(LONG)
        for key in ("j", "j", "y"):
            page.keyboard.press(key)
        page.locator("#toast", has_text="Prompt copied").wait_for()
        watched.expect("navigator.clipboard.readText()", LONG)
        page.keyboard.press("o")
        long.locator(".typed.open").wait_for()
        page.locator(".prompt").first.get_by_role("button", name="Copy").click()
        watched.until("navigator.clipboard.readText().then((text) => text === 'short')")
        expect(page.locator("#count")).to_have_text("2 prompts")
        running.check(watched)


def test_typing_filters_and_what_is_new_appears(tree: Tree, chromium: Browser) -> None:
    with site(tree.home, tree.config) as running, running.opened(chromium, "/prompts") as watched:
        page = watched.page
        page.keyboard.press("/")
        page.keyboard.type("short")
        watched.until("document.querySelectorAll('.prompt').length === 1")
        watched.until("location.search === '?q=short'")
        page.locator("#ask [name=q]").fill("")
        watched.until("document.querySelectorAll('.prompt').length === 2")
        tree.append(main_path(session(1)), [user(session(1), "c", "something new", 3)])
        tree.sync()
        page.locator(".prompt", has_text="something new").wait_for()
        running.check(watched)


def test_nothing_of_hostile_transcripts_runs(hostile: Site, chromium: Browser) -> None:
    with hostile.opened(chromium, "/prompts") as watched:
        watched.run("document.querySelectorAll('[data-act=whole]').forEach((one) => one.click())")
        watched.answered()
        hostile.check(watched)
