"""Pages about commits and blame: the figures of the engine, and only repositories in which sessions worked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

import hansard
from tests.git.making import Workshop
from tests.web.elements import read
from tests.web.serving import Site, site

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """A repository with a commit of a session and one of a person."""
    made = Workshop(tmp_path_factory.mktemp("web-git"))
    agent = made.session("write the gauge")
    made.write(agent, "gauge.py", "def level():\n    return 3\n")
    made.commit("Add the gauge")
    made.type("gauge.py", made.read("gauge.py") + "# typed\n")
    made.type("secret.txt", "no call names it\n")
    made.commit("Say more")
    made.save()
    return made


@pytest.fixture(scope="module")
def running(shop: Workshop) -> Iterator[Site]:
    home = shop.folder / "home"
    with hansard.open(home, [shop.config]) as h:
        h.sync()
    with site(home, shop.config) as served:
        yield served


def test_a_commit_has_its_sessions_lines_and_cost(running: Site, shop: Workshop) -> None:
    commit = shop.git("rev-parse", "HEAD~1").strip()
    with running.client() as client:
        answer = client.get(f"/commits/{commit[:10]}", params={"project": str(shop.root)})
        listed = client.get("/commits", params={"project": str(shop.root)})
        unknown = client.get("/commits/feedbeef", params={"project": str(shop.root)})
        elsewhere = client.get(f"/commits/{commit}", params={"project": str(shop.folder.parent / "other")})
    with hansard.open(shop.folder / "home", [shop.config]) as h:
        report = h.blame_commit(commit, str(shop.root))
    page = read(answer.text)
    assert page.one("h1").text == "Add the gauge"
    assert [one.text for one in page.all("table.blame pre")] == ["def level():", "return 3"]
    (session,) = report.sessions
    assert any(session.session_id in href for href in page.each("table.rows a", "href"))
    assert f"2 of {session.added}" in page.one("table.rows tbody").text
    assert f"/commits/{commit}" in listed.text
    table = read(listed.text).one("table.rows")
    row = table.all("tbody tr")[-1]
    assert [one["href"].partition("?")[0] for one in row.all("a")] == [
        f"/commits/{commit}",
        f"/sessions/{session.session_id}",
    ]
    assert [cell.text for cell in row.all("td")][3:5] == ["1", "+2"]
    assert unknown.status_code == elsewhere.status_code == 404


def test_blame_names_the_session_of_each_line(running: Site, shop: Workshop) -> None:
    path = str(shop.root / "gauge.py")
    with running.client() as client:
        page = read(client.get("/files/blame", params={"path": path}).text)
        history = client.get("/files/history", params={"path": path}).text
        secret = client.get("/files/blame", params={"path": str(shop.root / "secret.txt")})
    assert [one.text for one in page.all("tbody.sure-exact pre")] == ["def level():", "return 3"]
    assert [one.text for one in page.all("tbody.sure-unknown pre")] == ["# typed"]
    assert page.all("tbody.sure-exact .who a")[0]["href"].startswith("/sessions/")
    assert "/files/blame?path=" in history
    assert secret.status_code == 404, "no call names it"


def test_settings_are_kept_by_the_browser(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/settings", color_scheme="light") as watched:
        page = watched.page
        expect(page.get_by_role("radio", name="System")).to_be_checked()
        page.get_by_role("radio", name="Dark").check()
        watched.expect("document.documentElement.dataset.theme", "dark")
        page.get_by_role("radio", name="Compact").check()
        page.reload()
        watched.expect("document.documentElement.dataset.density", "compact")
        assert page.get_by_role("radio", name="Dark").is_checked()
        page.get_by_role("radio", name="System").check()
        page.reload()
        watched.expect("document.documentElement.dataset.theme ?? 'system'", "system")
        for name in ("Time zone", "Login", "Redaction", "Price data", "Data directory"):
            assert page.get_by_text(name, exact=True).is_visible()
        demo.check(watched)
