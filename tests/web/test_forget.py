"""Forgetting a session in the web app: a page that shows what goes, and a form that erases just that."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

import hansard
from hansard.model.retention import Retention
from tests.record.making import found
from tests.retention.conftest import OTHER, SECRET, WORD, write_secret
from tests.sync.making import Tree, main_path, user
from tests.web.serving import Site, site

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PLACE = f"/sessions/{SECRET}/forget"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    tree = Tree(tmp_path / "claude", tmp_path / "home")
    write_secret(tree)
    tree.sync()
    return tree


@pytest.fixture
def running(tree: Tree) -> Iterator[Site]:
    with site(tree.home, tree.config) as made:
        yield made


def outline(text: str) -> str:
    shown = re.search(r'name="outline" value="([0-9a-f]{64})"', text)
    assert shown is not None
    return shown[1]


def sessions(tree: Tree) -> set[str]:
    with hansard.open(tree.home) as h:
        return {session.session_id for session in h.sessions().sessions}


def test_the_page_shows_and_the_form_erases(running: Site, tree: Tree) -> None:
    ours = {"origin": running.address}
    with running.client() as client:
        page = client.get(PLACE)
        assert "The client&#39;s own files stay" in page.text or "The client's own files stay" in page.text
        assert SECRET in sessions(tree)
        told = client.post(PLACE, data={"outline": outline(page.text)}, headers=ours)
        assert told.status_code == 200
        assert told.text.startswith("Receipt 1 of ")
        assert client.get(f"/sessions/{SECRET}").status_code == 404
        assert WORD not in client.get("/sessions").text
        assert client.get(PLACE).status_code == 404
    assert SECRET not in sessions(tree)
    assert found(tree.home, WORD.encode()) == []
    assert WORD.encode() in tree.place(main_path(SECRET)).read_bytes()


def test_also_in_the_clients_own_files(running: Site, tree: Tree) -> None:
    with running.client() as client:
        page = client.get(PLACE, params={"source": "1"})
        answer = client.post(
            f"{PLACE}?source=1", data={"outline": outline(page.text)}, headers={"origin": running.address}
        )
        assert answer.status_code == 200
    assert not tree.place(main_path(SECRET)).exists()


def test_only_what_was_shown_is_erased(running: Site, tree: Tree) -> None:
    """Another session copied it meanwhile; other fields, other origins and no login are refused."""
    ours = {"origin": running.address}
    with running.client() as client, running.stranger() as stranger:
        shown = outline(client.get(PLACE).text)
        assert client.post(f"{PLACE}?source=1", data={"outline": shown}, headers=ours).status_code == 409
        tree.append(main_path(OTHER), [user(OTHER, "prompt-one", f"Tell {WORD} about it.", 0)])
        tree.sync()
        assert client.post(PLACE, data={"outline": shown}, headers=ours).status_code == 409
        shown = outline(client.get(PLACE).text)
        for data in ({}, {"outline": "x" * 64}, {"outline": shown, "more": "1"}):
            assert client.post(PLACE, data=data, headers=ours).status_code in (400, 409)
        sent = {"outline": shown}
        assert client.post(PLACE, data=sent, headers={"origin": "http://evil.example"}).status_code == 403
        assert client.post(PLACE, data=sent).status_code == 403
        assert stranger.post(PLACE, data=sent, headers=ours).status_code == 401
        assert client.post(f"/sessions/{SECRET[:8]}/forget", data=sent, headers=ours).status_code in (404, 409)
    assert SECRET in sessions(tree)
    with site(tree.home, tree.config, read_only=True) as reading, reading.client() as client:
        ours = {"origin": reading.address}
        assert client.get(PLACE).status_code == 403
        assert client.post(PLACE, data={"outline": shown}, headers=ours).status_code == 403
        assert "Forget this session" not in client.get(f"/sessions/{SECRET}").text
    with site(tree.home, tree.config, retention=Retention(hold=(SECRET,))) as held, held.client() as client:
        assert client.get(PLACE).status_code == 400
    assert SECRET in sessions(tree)


def test_in_a_browser(running: Site, tree: Tree, chromium: Browser) -> None:
    with running.opened(chromium, f"/sessions/{SECRET}") as watched:
        page = watched.page
        page.get_by_text("Details", exact=True).click()
        page.get_by_role("link", name="Forget this session").click()
        expect(page.get_by_role("heading", name="Erase it")).to_be_visible()
        page.get_by_role("button", name="Erase from Hansard").click()  # the box is required
        expect(page.get_by_role("button", name="Erase from Hansard")).to_be_visible()
        page.get_by_label("I know that this cannot be undone.").check()
        page.get_by_role("button", name="Erase from Hansard").click()
        expect(page.locator("#forgotten")).to_contain_text("Receipt 1 of")
        running.check(watched)
    assert SECRET not in sessions(tree)
