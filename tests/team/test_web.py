"""`hansard web --team`: the web app on a team's database."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx
import psycopg
import pytest
from click.testing import CliRunner

import hansard
from benchmarks.postgres import Server
from hansard.cli.app import hansard as program
from hansard.errors import HansardError
from hansard.model.requests import SearchRequest, SessionsRequest, UsageRequest
from hansard.model.serialize import encoded
from hansard.team.usage import OFFERED
from hansard.web import app
from hansard.web.team.app import make_team_app
from hansard.web.team.engine import TeamAddress, TeamEngine
from tests.render.payloads import write_hostile_history
from tests.team.conftest import TOKEN, Place, Twice, everything_of, push, write_session
from tests.team.server import LOGINS
from tests.web.serving import Site, site

if TYPE_CHECKING:
    from playwright.sync_api import Browser

Serve = Callable[..., AbstractContextManager[Site]]


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    """A function that serves a team's database to a login."""

    @contextmanager
    def served(place: Place, login: str = "keeper", **settings: Any) -> Iterator[Site]:
        address = TeamAddress(place.url(login), place.schema)
        with site(
            tmp_path, make=lambda own, auth: make_team_app(own, auth, address, "postgresql://db/team"), **settings
        ) as running:
            yield running

    return served


@pytest.fixture
def shared_site(serve: Serve, shared: Place) -> Iterator[Site]:
    with serve(shared) as running:
        yield running


@pytest.mark.parametrize("by", [name for name in OFFERED if name not in ("commit", "group")])
def test_figures_are_those_of_team_usage(serve: Serve, twice: Callable[[str], Twice], by: str) -> None:
    place = twice("hard").place
    with place.team() as team:
        expected = json.loads(encoded(team.usage(UsageRequest(by=by, timezone="UTC"))))
    assert expected["rows"]
    with serve(place) as running, running.client() as client:
        answer = client.get("/api/usage", params={"by": by}).json()
        assert answer["rows"] == expected["rows"]
        assert answer["totals"] == expected["totals"]
        page = client.get("/usage", params={"by": by, "range": "all"})
        assert page.status_code == 200
        assert f"{expected['totals']['input_tokens']:,}" in page.text
        sheet = client.get("/usage.csv", params={"by": by, "range": "all"})
        assert len(sheet.text.splitlines()) > len(expected["rows"])


def test_lists_and_hits_are_those_of_the_library(shared_site: Site, shared: Place) -> None:
    with shared.team() as team, shared_site.client() as client:
        sessions = json.loads(encoded(team.sessions(SessionsRequest(limit=50))))
        assert client.get("/api/sessions?limit=50").json() == sessions
        assert {one["person"] for one in sessions["sessions"]} == {"ann", "bob"}
        hits = json.loads(encoded(team.search(SearchRequest("answer", limit=20)).hits))
        assert hits
        assert client.get("/api/search?q=answer").json()["hits"] == hits
        page = client.get("/search?q=answer").text
        assert "ann&#39;s <mark>" in page or "<mark>answer</mark>" in page
        assert client.get("/api/team").json()["login"] == "keeper"
        one = sessions["sessions"][0]
        assert client.get(f"/api/sessions/{one['session_id']}").json() == one
        assert client.get(f"/api/sessions/{one['session_id'][:-1]}").status_code in (200, 409)
        assert client.get("/api/sessions/nothing").status_code == 404


@pytest.mark.parametrize("path", ["/", "/usage?by=day&range=all", "/sessions", "/search?q=answer"])
def test_a_person_or_a_machine_can_be_chosen_everywhere(shared_site: Site, path: str) -> None:
    with shared_site.client() as client:
        more = "&" if "?" in path else "?"
        page = client.get(f"{path}{more}person=ann").text
        assert "bob" not in re.sub(r"<option.*?</option>", "", page)
        assert client.get(f"{path}{more}person=ann&person=bob").status_code == 400
        assert client.get(f"{path}{more}person={'a' * 3000}").status_code == 400
        assert client.get(f"{path}{more}machine=nowhere").status_code == 200


def test_the_filters_of_a_page_are_in_its_links(shared_site: Site) -> None:
    with shared_site.client() as client:
        page = unescape(client.get("/usage?by=person&range=all&person=ann").text)
        assert re.search(r'href="/usage\?[^"]*by=month[^"]*"', page)
        for link in re.findall(r'href="(/usage\?[^"]*by=[^"]*)"', page):
            assert "person=ann" in link, link
        assert "hansard team usage --by person --person ann" in page
        figures = client.get("/api/usage?by=total&person=ann").json()["totals"]
        assert figures["output_tokens"] == 14  # two of four sessions
        assert client.get("/api/usage?by=total").json()["totals"]["output_tokens"] == 28


def test_a_member_sees_what_row_level_security_allows(serve: Serve, shared: Place) -> None:
    with serve(shared, "dan") as running, running.client() as client:
        found = client.get("/api/sessions").json()["sessions"]
        assert [one["project"] for one in found] == ["/home/ann/webshop"]
        pages = "".join(
            client.get(path).text for path in ("/", "/sessions", "/usage?by=session&range=all", "/search?q=answer")
        )
        for hidden in ("diary", "home/ann/diary", "bob", "/api"):
            assert f">{hidden}<" not in pages
            assert f"/{hidden}" not in pages.replace("/api/", "")
        assert client.get(f"/sessions/{found[0]['session_id']}").status_code == 200
        for other in ("-home-ann-diary", "-home-bob-webshop", "-home-bob-api"):
            assert client.get(f"/sessions/{other}").status_code == 404
            assert client.get(f"/api/sessions/{other}").status_code == 404
    with serve(shared, LOGINS[-1]) as running, running.client() as client:
        assert len(client.get("/api/sessions").json()["sessions"]) == 4


def test_a_session_shows_its_texts_in_order(shared_site: Site, shared: Place) -> None:
    with shared_site.client() as client:
        opened = client.get("/sessions/-home-ann-webshop").text
        shown = re.sub(r"<[^>]*>", " ", opened)
        assert shown.index("webshop prompt") < shown.index("webshop answer") < shown.index("/home/ann/webshop/ann")
        assert "ghp_" not in opened  # redacted as it was pushed
        hit = next(one for one in client.get("/api/search?q=answer").json()["hits"] if one["kind"] == "reply")
        there = client.get(f"/sessions/{hit['session_id']}?at={hit['offset']}").text
        marked = re.search(r'class="text [^"]* marked" id="([^"]*)"', there)
        assert marked is not None
        assert marked[1] == f"m{hit['offset']}"
        assert "only those of projects in" in client.get("/sessions/-home-ann-diary").text
        assert "No texts" not in opened


def test_every_text_of_a_long_session_is_on_one_of_its_pages(serve: Serve, twice: Callable[[str], Twice]) -> None:
    place = twice("hard").place
    (session_id, total), *_ = place.rows(
        "SELECT session_id, count(*) FROM pushed_texts x JOIN machines m ON m.id = x.machine"
        " WHERE m.name = 'desktop' AND is_current GROUP BY 1 ORDER BY 2 DESC"
    )
    with serve(place) as running, running.client() as client:
        agents = {""} | set(
            re.findall(r'class="chip" href="/sessions/[^"]*agent=([^"]*)"', client.get(f"/sessions/{session_id}").text)
        )
        seen = 0
        for agent in agents:
            page = client.get(f"/sessions/{session_id}", params={"agent": agent}).text
            while True:
                seen += page.count('<li class="text ')
                later = re.search(r'href="([^"]*)">Later</a>', page)
                if later is None:
                    break
                page = client.get(unescape(later[1])).text
    assert seen == total


def test_what_a_team_cannot_answer_is_refused_with_a_reason(shared_site: Site) -> None:
    offered = {"/", "/sessions", "/search", "/usage", "/usage.csv", "/settings"}
    with shared_site.client() as client:
        refused = 0
        for route in app.local_routes():
            path = re.sub(r"\{[^}]*\}", "x", route.path)
            methods = sorted((route.methods or set()) & {"GET", "POST", "PUT", "DELETE"})
            if (
                path in offered
                or path.startswith(("/static", "/favicon", "/search", "/settings"))
                or route.path in _API
            ):
                continue
            if path == "/sessions/x":
                continue
            for method in methods:
                answer = client.request(method, path, headers={"origin": shared_site.address})
                assert answer.status_code == 501, (method, path, answer.text)
                if path.startswith("/api/"):
                    error = answer.json()["error"]
                    assert (error["code"], error["status"]) == ("not_in_team", 501)
                    assert error["message"]
                else:
                    assert "Not in a team" in answer.text
                refused += 1
        assert refused > 40
        assert "hansard web" in client.get("/explain").text
        overview = client.get("/").text
        for name in ("Active time", "Budgets", "Explanations", "Files", "Tools", "Prompts", "SQL", "Health", "Commits"):
            assert f"<dt>{name}</dt>" in overview
        assert client.get("/nowhere").status_code == 404


_API = {
    f"/api/{name}"
    for name in ("sessions", "sessions/{session}", "search", "usage", "revision", "events", "links", "openapi.json")
}


def test_nothing_leads_to_what_is_refused(serve: Serve, twice: Callable[[str], Twice]) -> None:
    with serve(twice("hard").place) as running, running.client() as client:
        waiting = ["/", "/sessions?tag=x", "/search?q=the", "/usage?by=tool&range=all&work=1", "/settings"]
        seen: set[str] = set()
        kinds: dict[str, int] = {}
        while waiting:
            path = unescape(waiting.pop()).partition("#")[0]
            kind = re.sub(r"/sessions/[^?]*", "/sessions/ID", path.partition("?")[0])
            if path in seen or kinds.get(kind, 0) >= 12:
                continue
            seen.add(path)
            kinds[kind] = kinds.get(kind, 0) + 1
            answer = client.get(path)
            assert answer.status_code == 200, (path, answer.text[:300])
            if "text/html" in answer.headers["content-type"]:
                text = answer.text.replace('method="post" action="/settings/redaction"', "")
                waiting += re.findall(r'(?:href|action|data-load)="(/[^"]*)"', text)
        nav = re.search(r'<nav class="places".*?</nav>', client.get("/").text, re.DOTALL)
        assert nav is not None
        assert re.findall(r'href="([^"]*)"', nav[0]) == ["/", "/sessions", "/search", "/usage"]
        assert "/sessions/ID" in kinds


def test_the_guard_is_that_of_the_local_app(shared_site: Site) -> None:
    with shared_site.stranger() as stranger:
        assert stranger.get("/api/usage").status_code == 401
        assert stranger.get("/").status_code == 401
    with shared_site.client() as client:
        assert client.get("/", headers={"host": "evil.example"}).status_code == 421
        assert client.post("/api/links", headers={"origin": "https://evil.example"}).status_code == 403
        assert "default-src 'none'" in client.get("/").headers["content-security-policy"]
        assert client.get("/api/openapi.json").json()["paths"].keys() == _API | {"/api/team"}


def test_nothing_can_be_written(shared: Place) -> None:
    engine: Any = TeamEngine(TeamAddress(shared.url("ann"), shared.schema), {}, None)
    before = shared.rows("SELECT count(*) FROM pushed_texts")
    try:
        for statement in (
            "DELETE FROM pushed_texts",
            "INSERT INTO machines (name) VALUES ('x')",
            "CREATE TABLE x (y int)",
        ):
            with pytest.raises(HansardError, match="read-only"), engine._team._database.transaction():
                engine._team._database.run(statement)
            with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
                engine._team._database.run(statement)
    finally:
        engine.close()
    assert shared.rows("SELECT count(*) FROM pushed_texts") == before


def test_a_connection_that_broke_is_made_again(shared_site: Site, server: Server) -> None:
    with shared_site.client() as client, psycopg.connect(server.url("root"), autocommit=True) as root:
        assert client.get("/api/sessions").status_code == 200
        root.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hansard'")
        answers = [
            client.get("/api/sessions").status_code for _ in range(9)
        ]  # each thread may find its own broken once
        assert set(answers) <= {200, 503}
        assert answers[-1] == 200


def test_secrets_are_redacted_where_the_server_is_set_to(serve: Serve, place: Place, tmp_path: Path) -> None:
    write_session(tmp_path / "claude", "/src/webshop", "heron")
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as h:
        h.sync()
        h.push_team(database=place.url(), schema=place.schema, machine="laptop", opened=("webshop",), redact="off")
    with serve(place) as running, running.client() as client:
        assert TOKEN in client.get("/sessions/-src-webshop").text
        assert TOKEN not in client.get("/sessions/-src-webshop?redact=on").text
    with serve(place, redact="on") as running, running.client() as client:
        assert TOKEN not in client.get("/api/search?q=heron").text
        assert "Secrets are redacted" in client.get("/").text


def test_an_empty_database_has_pages_too(serve: Serve, place: Place) -> None:
    with serve(place) as running, running.client() as client:
        for path in ("/", "/sessions", "/usage", "/usage?by=person", "/search?q=x"):
            assert client.get(path).status_code == 200, path


def test_in_the_browser(serve: Serve, twice: Callable[[str], Twice], chromium: Browser) -> None:
    from playwright.sync_api import expect

    with serve(twice("hard").place) as running:
        for path in ("/", "/usage?by=person,machine&range=all", "/sessions", "/search"):
            for width, scheme in ((1440, "light"), (390, "dark")):
                with running.opened(chromium, path, width=width, color_scheme=scheme) as watched:
                    expect(watched.page.locator("nav.places a")).to_have_count(4)
                    assert watched.run("document.documentElement.scrollWidth - innerWidth") <= 0
                    running.check(watched)
        with running.opened(chromium, "/search") as watched:
            page = watched.page
            page.fill("#ask input[name=q]", "the")
            page.locator("#results .hit a").first.click()
            expect(page.locator(".team-session .texts .text").first).to_be_visible()
            running.check(watched)


def test_hostile_texts_stay_texts(serve: Serve, place: Place, tmp_path: Path, chromium: Browser) -> None:
    from playwright.sync_api import expect

    write_hostile_history(tmp_path / "claude")
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as h:
        h.sync()
        push(h, place, "<script>hacked = 1</script>", opened=everything_of(h))
        sessions = [one.session_id for one in h.sessions(limit=None, debris=True).sessions]
    with serve(place) as running, running.client() as client:
        pages = [f"/sessions/{quote(name, safe='')}" for name in sessions]
        shown = [path for path in pages if client.get(path).text.count('<li class="text ') > 1]
        assert shown
        for path in (
            "/",
            "/sessions?person=%3Cscript%3E",
            "/usage?by=machine&range=all",
            "/search?q=hacked",
            *shown[:3],
        ):
            with running.opened(chromium, path) as watched:
                expect(watched.page.locator("nav.places a")).to_have_count(4)
                running.check(watched)


def test_what_the_command_refuses(place: Place) -> None:
    def refused(*arguments: str) -> str:
        done = CliRunner().invoke(program, ["web", *arguments])
        assert done.exit_code in (1, 2), done.stdout
        return done.stderr

    assert "need --team" in refused("--database", place.url())
    assert "cannot be used with --demo" in refused("--team", "--database", place.url(), "--demo")
    assert "no database is named" in refused("--team")
    assert "no server is running" in refused("--team", "--link")
    elsewhere = CliRunner().invoke(program, ["web", "--team", "--database", place.url("dan"), "--schema", place.schema])
    assert elsewhere.exit_code == 4
    assert "hansard team grant" in elsewhere.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_the_command_serves_until_it_is_stopped(shared: Place, home: Path) -> None:
    words = ["web", "--team", "--database", shared.url("dan"), "--schema", shared.schema, "--host-name", "127.0.0.1"]
    command = [sys.executable, "-m", "hansard", *words, "--port", "0", "--no-open", "--json"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        started = json.loads(server.stdout.readline())
        assert "web-team" in started["file"]
        with httpx.Client(follow_redirects=True) as client:
            assert client.get(started["link"]).status_code == 200
            assert "as dan (member)" in client.get(started["url"]).text
            assert [one["person"] for one in client.get(f"{started['url']}/api/sessions").json()["sessions"]] == ["ann"]
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
    finally:
        server.kill()
        server.communicate()
    assert not (home / "data" / "index.db").exists()  # nothing was made here
