"""Several sessions at once: selected by keys, tagged, pinned, exported."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING

from playwright.sync_api import expect

import hansard
from hansard.demo import write_history
from tests.web.serving import Site, elsewhere, site

if TYPE_CHECKING:
    from pathlib import Path

    import httpx
    from playwright.sync_api import Browser


def test_a_zip_has_every_session_byte_for_byte(demo: Site, client: httpx.Client) -> None:
    with hansard.open(demo.settings.home) as h:
        names = [one.session_id for one in h.sessions(limit=3).sessions]
        wanted = sorted(b"".join(h.cat(name)) for name in names)
    answer = client.get("/export/sessions.zip", params={"format": "jsonl", "session": names})
    assert answer.headers["content-disposition"] == 'attachment; filename="sessions.zip"'
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert sorted(archive.read(name) for name in archive.namelist()) == wanted
    assert client.get("/export/sessions.zip").status_code == 400
    assert client.get("/export/sessions.zip", params={"session": ""}).status_code == 400
    assert client.get("/export/sessions.zip", params={"session": "none such"}).status_code == 404


def test_rows_are_selected_by_keys_and_tagged_together(tmp_path: Path, chromium: Browser) -> None:
    def made() -> None:
        write_history(tmp_path / "claude")
        with hansard.open(tmp_path / "home", [tmp_path / "claude"]) as h:
            h.sync()

    elsewhere(made)
    with site(tmp_path / "home", tmp_path / "claude") as own, own.opened(chromium, "/sessions") as watched:
        page = watched.page
        expect(page.locator("#list[data-selectable]")).to_be_visible()
        for key in ("j", "x", "j", "j", "Shift+X"):
            page.keyboard.press(key)
        bar = page.locator("#selection")
        expect(bar.locator("output")).to_have_text("3 selected")
        expect(page.locator("tr.selected")).to_have_count(3)
        bar.locator("[data-act=pin]").click()
        expect(page.locator("tr.selected [data-pin][aria-pressed=true]")).to_have_count(3)
        bar.locator("[name=tag]").fill("batch")
        bar.locator("form button").click()
        expect(page.locator("tr.selected .chip.tag", has_text="batch")).to_have_count(3)
        with page.expect_download() as download:
            bar.locator("[data-format=markdown]").click()
        with zipfile.ZipFile(download.value.path()) as archive:
            assert len(archive.namelist()) == 3
        bar.locator("[data-act=clear]").click()
        expect(bar).to_be_hidden()
        expect(page.locator("tr.selected")).to_have_count(0)
        own.check(watched)


def test_sessions_are_selected_in_search_results(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/search?q=is:error") as watched:
        page = watched.page
        expect(page.locator("#results[data-selectable]")).to_be_visible()
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        page.keyboard.press("x")
        picked = page.locator("#results .selected")
        expect(picked).to_have_count(1)
        page.locator("#results [data-pick]").nth(1).check()
        bar = page.locator("#selection")
        expect(bar.locator("output")).to_have_text("2 selected")
        name = picked.first.get_attribute("data-session")
        assert f"session={name}" in (bar.locator("[data-format=html]").get_attribute("href") or "")
        demo.check(watched)


def test_the_heads_of_columns_stay_and_cover_no_row_that_is_reached(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/sessions") as watched:
        page = watched.page
        expect(page.locator("#list[data-selectable]")).to_be_visible()
        for key in ("j",) * 25 + ("k",) * 15:
            page.keyboard.press(key)
        watched.until("scrollY > 0")
        heads = "document.querySelector('table.sessions thead th').getBoundingClientRect()"
        watched.until(f"{heads}.top >= document.querySelector('.app-bar').getBoundingClientRect().bottom - 2")
        watched.until(f"document.activeElement.getBoundingClientRect().top >= {heads}.bottom - 1")
        demo.check(watched)
