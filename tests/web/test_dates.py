"""The calendar that chooses a range of days, the same on every page with a time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.web.serving import Site

PAGES = (
    "/sessions?project=mailsieve",
    "/prompts?unique=1",
    "/files?view=changes",
    "/tools?tool=Bash",
    "/usage?by=model",
)


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("path", PAGES)
def test_a_range_of_days_is_chosen_in_a_calendar(demo: Site, chromium: Browser, path: str, width: int) -> None:
    today = datetime.now(UTC).date()
    chosen = {"since": [str(today - timedelta(days=20))], "until": [str(today - timedelta(days=2))]}
    with demo.opened(chromium, path, width=width) as watched:
        page = watched.page
        box = page.locator("details.dates")
        box.locator("summary").click()
        panel = box.locator(":scope > div").bounding_box()
        assert panel is not None
        assert panel["x"] >= 0
        assert panel["x"] + panel["width"] <= width
        page.keyboard.press("Escape")
        expect(box.locator(":scope > div")).to_be_hidden()
        box.locator("summary").click()
        for name, [value] in chosen.items():
            box.locator(f"[name={name}]").fill(value)
        with page.expect_navigation():
            box.get_by_role("button", name="Show").click()
        asked = urlsplit(page.url)
        assert parse_qs(asked.query) == {**parse_qs(urlsplit(path).query), **chosen}
        # What was chosen is on the button, and in the fields again.
        expect(box.locator("summary")).to_contain_text(str((today - timedelta(days=2)).year))
        expect(box.locator("[name=until]")).to_have_value(chosen["until"][0])
        demo.check(watched)


def test_another_beginning_is_not_bounded_by_the_calendar(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/sessions?since=2020-01-01&until=2020-12-31") as watched:
        expect(watched.page.locator(".nothing")).to_be_visible()
        watched.page.get_by_label("Time", exact=True).select_option("Last year")
        expect(watched.page.locator("tr[data-session]").first).to_be_visible()
        assert parse_qs(urlsplit(watched.page.url).query) == {"since": ["1y"]}


def test_without_script_the_other_conditions_stay(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/sessions?q=the&errors=1", java_script_enabled=False) as watched:
        box = watched.page.locator("details.dates")
        box.locator("summary").click()
        box.locator("[name=since]").fill("2026-01-01")
        box.get_by_role("button", name="Show").click()
        watched.page.wait_for_url("**since=*")
        asked = parse_qs(urlsplit(watched.page.url).query)
        assert (asked["q"], asked["since"]) == (["the"], ["2026-01-01"])
        assert asked["errors"] == ["1"]
