"""The settings page, and redaction for one browser."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

import hansard
from hansard.model.placeholders import PLACEHOLDER
from tests.sync.making import Tree, assistant, main_path, session, user
from tests.web.serving import site

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

    from tests.web.serving import Site

ONE = session(1)
KEY = "sk-ant-" + "api03-Qzx7Wvk2Jhq9Ypl4Bnm8Tgc3"
PAGES = (
    f"/sessions/{ONE}",
    "/sessions",
    "/prompts",
    "/sql?q=SELECT+text+FROM+prompts",
    "/sql.csv?q=SELECT+text+FROM+prompts",
    "/sql.json?q=SELECT+text+FROM+prompts",
    "/api/sql?q=SELECT+text+FROM+prompts",
    "/search?q=deploy",
    f"/api/sessions/{ONE}/turns",
    "/search/palette",
)
ANSWERS = tuple(path for path in PAGES if not path.startswith("/sql"))  # each SQL query is a process; one is enough
VERBATIM = (
    f"/sessions/{ONE}/export?format=jsonl",
    f"/api/sessions/{ONE}/raw",
    f"/sessions/{ONE}/raw",
    f"/sessions/{ONE}/raw?form=bytes",
)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    place = tmp_path_factory.mktemp("settings")
    tree = Tree(place / "claude", place / "home")
    lines = [user(ONE, "u1", f"deploy with {KEY}"), assistant(ONE, "a1", "m1", f"deploy: {KEY} is used", 1, "u1")]
    tree.write(main_path(ONE), lines)
    tree.sync()
    with site(tree.home, tree.config) as made:
        yield made


def test_redaction_is_of_one_browser(running: Site) -> None:
    ours = {"origin": running.address}
    with running.client() as one, running.client() as other:
        answer = one.post("/settings/redaction", data={"redact": "on"}, headers=ours)
        assert answer.status_code == 204
        assert {"httponly", "samesite=strict"} <= {
            part.strip().lower() for part in answer.headers["set-cookie"].split(";")
        }
        assert "Show secrets" in one.get("/settings").text
        assert "Redact secrets" in other.get("/settings").text
        for path in PAGES:
            shown, plain = one.get(path), other.get(path)
            assert shown.is_success
            assert KEY in plain.text
            assert KEY not in shown.text
            assert PLACEHOLDER.search(shown.text)
        remarks = f"/api/sessions/{ONE}/remarks"
        assert one.get(remarks).headers["etag"] != other.get(remarks).headers["etag"]
        for path in VERBATIM:
            assert one.get(path).status_code == 403
            assert KEY in other.get(path).text
            assert KEY in one.get(f"{path}{'&' if '?' in path else '?'}redact=off").text
        one.post("/settings/redaction", data={"redact": "off"}, headers=ours)
        assert KEY in one.get(f"/sessions/{ONE}").text


def test_an_address_can_say_how_to_redact(running: Site) -> None:
    with running.client() as client:
        for path in ANSWERS:
            for mode in ("on", "strict"):
                assert KEY not in client.get(f"{path}{'&' if '?' in path else '?'}redact={mode}").text
            assert KEY in client.get(f"{path}{'&' if '?' in path else '?'}redact=off").text


def test_exported_files_are_redacted_unless_the_address_says_otherwise(running: Site) -> None:
    with running.client() as client:
        for form in ("html", "markdown", "json"):
            path = f"/sessions/{ONE}/export?format={form}"
            redacted = client.get(path).text
            assert KEY not in redacted
            assert "1 secret replaced" in redacted or '"redacted_secrets": 1' in redacted
            assert KEY in client.get(f"{path}&redact=off").text
        packed = client.get(f"/export/sessions.zip?format=markdown&session={ONE}").content
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            assert all(KEY.encode() not in archive.read(name) for name in archive.namelist())


def test_a_server_that_redacts_shows_nothing_to_anyone(running: Site) -> None:
    with site(Path(running.settings.home), redact="on") as made, made.client() as client:
        for path in ANSWERS:
            assert KEY not in client.get(f"{path}{'&' if '?' in path else '?'}redact=off").text
        assert all(client.get(path).status_code == 403 for path in VERBATIM)


def test_a_note_with_a_secret_can_be_removed_from_a_redacted_page(running: Site) -> None:
    ours = {"origin": running.address}
    with running.client() as client:
        client.post("/settings/redaction", data={"redact": "on"}, headers=ours)
        added = client.post(f"/api/sessions/{ONE}/notes", json={"text": f"the key was {KEY}"}, headers=ours).json()
        assert KEY not in added["notes"][0]
        with hansard.open(running.settings.home) as h:
            assert KEY in h.remarks(ONE).notes[0]
        assert client.delete(f"/api/sessions/{ONE}/notes/1", headers=ours).json()["notes"] == []


def test_the_switch_takes_forms_of_our_own_pages_only(running: Site) -> None:
    with running.client() as client:
        for headers in ({"origin": "http://elsewhere.example"}, {"sec-fetch-site": "cross-site"}):
            assert client.post("/settings/redaction", data={"redact": "on"}, headers=headers).status_code == 403
        ours = {"origin": running.address}
        for data in ({}, {"redact": "2"}, {"redact": "on", "more": "1"}):
            assert client.post("/settings/redaction", data=data, headers=ours).status_code == 400
        assert client.get("/settings/redaction").status_code == 405


def test_the_button(running: Site, chromium: Browser) -> None:
    with running.opened(chromium, "/settings") as watched:
        page = watched.page
        page.get_by_role("button", name="Redact secrets").click()
        expect(page.get_by_role("button", name="Show secrets")).to_be_visible()
        expect(page.get_by_text("Secrets are redacted in this browser")).to_be_visible()
        page.goto(f"{running.address}/sessions/{ONE}")
        expect(page.locator("#conversation")).to_contain_text(re.compile(r"\[[a-z-]+:[0-9a-f]{4}\]"))
        page.goto(f"{running.address}/settings")
        page.get_by_role("button", name="Show secrets").click()
        expect(page.get_by_text("Secrets are redacted in this browser")).to_have_count(0)
        running.check(watched)
