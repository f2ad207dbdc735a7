"""Faults that were seen on the page, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from hansard.model.display import Checklist, Console, Diff, Plain, Prose
from hansard.render.html import page
from tests.render.html.browsing import opened
from tests.render.html.stubs import item, tree, turn

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ASKED = "Docker is installed, but it does not run. Should I open it so that we can go on, or will you do it yourself?"
LINES = "\n".join(f"line {number}" for number in range(100))
SEEN = "(selector) => [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility() && one.getBoundingClientRect().height).length"


@pytest.fixture(scope="module")
def looked_at(pages: Path) -> Path:
    items = [
        item("1", "prompt", Plain("\u0130zmir and\nthe tide")),
        item("2", "tool", title="Bash", results=(Console(LINES),), is_error=True),
        item("3", "tool", title="Edit", results=(Diff(f"@@ -1 +1 @@\n-{'word ' * 30}\n+{'term ' * 30}"),)),
        item("4", "thinking", Prose("A thought.")),
        item("6", "tool", Plain(ASKED), Checklist((("open", "Yes"),)), title="AskUserQuestion", subject=ASKED),
        item("5", "reply", Prose("high water\nat noon")),
    ]
    path = pages / "looks.html"
    path.write_text("".join(page(tree([turn(1, *items)]), home="index.html")), encoding="utf-8")
    return path


def test_a_long_result_that_failed_is_red_to_its_end(chromium: Browser, looked_at: Path) -> None:
    with opened(chromium, looked_at) as watched:
        grounds = "[...document.querySelectorAll('.of-errors .console, .of-errors .more > summary')].map((one) => getComputedStyle(one).backgroundColor)"
        assert len(watched.run(grounds)) == 3
        assert len(set(watched.run(grounds))) == 1
        panel = "getComputedStyle(document.querySelector('pre.diff')).backgroundColor"
        assert watched.run(panel) not in watched.run(grounds)


def test_no_line_of_a_change_is_cut_off_on_paper(chromium: Browser, looked_at: Path) -> None:
    with opened(chromium, looked_at, width=600) as watched:
        too_wide = "document.querySelector('pre.diff').scrollWidth > document.querySelector('pre.diff').clientWidth"
        watched.page.emulate_media(media="print")
        assert not watched.run(too_wide)
        assert watched.run("document.documentElement.scrollWidth") == 600


def test_what_the_reader_opened_is_printed(chromium: Browser, looked_at: Path) -> None:
    with opened(chromium, looked_at) as watched:
        watched.page.emulate_media(media="print")
        said = "getComputedStyle(document.querySelector('.more > summary'), '::before').content"
        assert watched.run(SEEN, ".more > pre") == 0
        assert watched.run(said) == '"Not printed: "'
        watched.run("document.querySelector('.more').open = true")
        assert watched.run(SEEN, ".more > pre") == 1
        assert watched.run(SEEN, ".more > summary, .home, .thinking .subject") == 0
        assert watched.run(SEEN, ".thinking .prose") == 1


def test_every_filter_is_in_sight_on_a_phone(chromium: Browser, looked_at: Path) -> None:
    with opened(chromium, looked_at, width=390) as watched:
        ends = "[...document.querySelectorAll('[data-filter]')].map((button) => button.getBoundingClientRect().right)"
        assert max(watched.run(ends)) <= 390


def test_a_question_is_told_once_in_full(chromium: Browser, looked_at: Path) -> None:
    with opened(chromium, looked_at, width=390) as watched:
        watched.run("document.querySelector('#m6 details').open = true")
        assert watched.run("document.querySelector('#m6 summary').getBoundingClientRect().height") < 40


@pytest.mark.parametrize("words", ["water at noon", "\u0131zmir and the", "IZMIR and", "\u0130zmir"])
def test_find_looks_over_line_ends_and_odd_letters(chromium: Browser, looked_at: Path, words: str) -> None:
    with opened(chromium, looked_at) as watched:
        watched.page.keyboard.press("/")
        watched.page.keyboard.type(words)
        watched.page.keyboard.press("Enter")
        found = "nothing found" if words.startswith("\u0131") else "1 of 1"
        expect(watched.page.locator("#find-count")).to_have_text(found)
        watched.check(looked_at)
