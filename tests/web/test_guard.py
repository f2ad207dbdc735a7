"""Who may ask: every route of the app, and every way around its door that somebody may try."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.config import Settings
from hansard.web.app import make_app
from hansard.web.auth import HEADERS, MAX_BODY, MAX_QUERY, Auth, Guard, LoginFile
from hansard.web.parameters import Params
from hansard.web.responses import refusal
from hansard.web.static_files import address
from tests.web.by_hand import check, host
from tests.web.serving import Site, elsewhere, site

if TYPE_CHECKING:
    from starlette.routing import Route
    from starlette.types import Message, Receive, Scope, Send

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")


@cache
def routes() -> list[Route]:
    """Every route there is; the app is only made, not run."""
    return list(make_app(Settings("nowhere", (), 0), Auth(1, "localhost"), syncing=False).routes)  # type: ignore[arg-type]


def filled(path: str) -> str:
    """An address that the route of this path answers to."""
    if path.startswith("/static/"):
        return address("app.css")
    for name, value in (
        ("{session_id}", "@last"),
        ("{session}", "@last"),
        ("{commit}", "HEAD"),
        ("{tag:path}", "x"),
        ("{number}", "1"),
        ("{secret_id}", "00000000"),
        ("{secret}", "00000000"),
        ("{message}", "00000000-0000-0000-0000-000000000000"),
    ):
        path = path.replace(name, value)
    assert "{" not in path
    return path


ROUTES = [pytest.param(route, id=route.path) for route in routes()]


# -- every route


@pytest.mark.parametrize("route", ROUTES)
def test_every_route_is_guarded(demo: Site, route: Route) -> None:
    path = filled(route.path)
    method = min((route.methods or set()) - {"HEAD"})
    is_static = path.startswith("/static/")
    ours = {"origin": demo.address}
    token = demo.auth.issue_token()
    with demo.stranger() as stranger, demo.client() as known:
        if is_static:
            assert stranger.get(path).status_code == 200
        else:
            check(stranger.request(method, path, headers=ours), 401, "no_token")
            check(stranger.request(method, path, headers=ours, params={"token": "wrong"}), 401, "no_token")
            bad = {"cookie": f"{demo.cookie}=wrong; {demo.cookie}="}
            check(stranger.request(method, path, headers=ours | bad), 401, "no_token")
            for given in ("Bearer wrong", "Bearer", f"Basic {demo.auth.api_token}", demo.auth.api_token):
                check(stranger.request(method, path, headers=ours | {"authorization": given}), 401, "no_token")
            # The loopback's own names are for programs with the API token; cookies would be shared with all its ports.
            for name in (f"127.0.0.1:{demo.auth.port}", f"localhost:{demo.auth.port}"):
                plain = {"host": name, "origin": f"http://{name}"}
                check(known.request(method, path, headers=plain), 401, "no_token")
                refused = stranger.request(method, path, headers=plain, params={"token": token})
                check(refused, 401, "no_token")
                assert demo.auth.name not in refused.text + str(refused.headers)  # it is a secret of its users
        for client in (stranger, known):
            check(client.request(method, path, headers=ours | {"host": "evil.example"}), 421, "wrong_host")
            check(client.request(method, path, headers={"origin": "http://evil.example"}), 403, "wrong_origin")
        check(known.request(method, path, headers={"origin": "null"}), 403, "wrong_origin")
        check(known.request(method, f"{path}?{'x' * (MAX_QUERY + 1)}", headers=ours), 414, "too_long")
        check(known.request(method, path, headers=ours, content=b"x" * (MAX_BODY + 1)), 413, "too_large")
        if not is_static:
            check(known.request(method, path, params={"no_such_parameter": "1"}, headers=ours), 400, "bad_request")
        for other in ("PATCH", "OPTIONS"):
            refused = known.request(other, path, headers=ours)
            check(refused, 405, "method_not_allowed")
            assert method in refused.headers["allow"]


def test_pages_and_answers_say_what_a_browser_may_do(demo: Site) -> None:
    with demo.client() as client:
        for path in ("/", "/api/sessions", address("app.js"), "/api/sessions/@last/raw", "/sessions/@last"):
            answer = client.get(path)
            for name, value in HEADERS.items():
                assert answer.headers[name] == value, path
            is_static = path.startswith("/static/")
            assert answer.headers["cache-control"] == (
                "public, max-age=31536000, immutable" if is_static else "no-store"
            )
            for telling in ("server", "date", "x-powered-by", "access-control-allow-origin"):
                assert telling not in answer.headers
    policy = HEADERS["content-security-policy"]
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none';")
    assert "*" not in policy


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 408, 409, 413, 414, 415, 421, 500, 503])
def test_refusals_have_a_title_in_plain_words(status: int) -> None:
    body = bytes(refusal("/sessions", status, "code", "why").body).decode()
    (title,) = re.findall(r"<h1>(.*)</h1>", body)
    assert title not in ("Request failed", "HttpError", "")


@pytest.mark.parametrize("path", ["/nowhere", "/api/nowhere", "/api", "/apiary", "/static/x/y.css", "/sessions/a/b/c"])
def test_what_is_not_there(demo: Site, path: str) -> None:
    with demo.client() as client:
        answer = client.get(path)
        assert answer.status_code == 404
        assert answer.headers["content-type"].startswith("application/json") == (
            path == "/api" or path.startswith("/api/")
        )
        assert "content-security-policy" in answer.headers


def test_no_parameter_alone_or_beside_a_bad_query_is_an_error_of_ours(
    demo: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: set[str] = set()
    each = Params.each

    def noted(self: Params, name: str, *more: Any, **named: Any) -> list[str]:
        names.add(name)
        return each(self, name, *more, **named)

    monkeypatch.setattr(Params, "each", noted)
    asked = 0
    with demo.client() as client:
        for route in routes():
            path = filled(route.path)
            if "GET" not in (route.methods or ()) or path.startswith("/static/") or path.endswith("/events"):
                continue
            names.clear()
            client.get(path)
            known: set[str] = set()
            while known != names:  # some are asked for only if others are given
                known = set(names)
                client.get(path, params=dict.fromkeys(known, "1"))
            for name in sorted(known):
                for params in ({name: "1"}, {"q": "is:nothing", "cursor": "1", name: "1"}):
                    answer = client.get(path, params=params)
                    asked += 1
                    assert answer.status_code < 500, (path, params)
    assert asked > 200, asked


# -- links


def test_only_a_kept_login_has_a_date(demo_store: tuple[Path, Path], tmp_path: Path) -> None:
    kept = LoginFile(str(tmp_path / "login.json"), keep_logins=True)
    with site(demo_store[1], kept=kept) as running, running.stranger() as browser:
        answer = browser.get("/", params={"token": running.auth.issue_token()})
        assert f"max-age={30 * 86_400}" in answer.headers["set-cookie"].lower().split("; ")


def test_a_link_lets_one_browser_in_once(demo: Site) -> None:
    token = demo.auth.issue_token()
    with demo.stranger() as browser:
        answer = browser.get("/sessions", params={"q": "a&b=c d", "token": token})
        assert answer.status_code == 200
        assert '<meta http-equiv="refresh" content="0;url=/sessions?q=a%26b%3Dc+d">' in answer.text
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith(f"{demo.cookie}=")
        flags = {part.strip().lower() for part in cookie.split(";")[1:]}
        assert {"httponly", "samesite=strict", "path=/"} <= flags
        assert not any(flag.startswith("domain") for flag in flags)  # so that it is for this host only
        assert not any(flag.startswith(("max-age", "expires")) for flag in flags)  # a session cookie
        assert token not in answer.text + cookie
        assert browser.get("/sessions").status_code == 200
        again = browser.get("/", params={"token": "anything"})
        assert 'content="0;url=/"' in again.text
        assert "set-cookie" not in again.headers
    with demo.stranger() as other:
        check(other.get("/", params={"token": token}), 401, "no_token")
        check(other.get("/"), 401, "no_token")
        assert "hansard web --link" in other.get("/").text


def test_a_token_is_for_links_only(demo: Site) -> None:
    token = demo.auth.issue_token()
    with demo.stranger(headers={"origin": demo.address}) as stranger:
        check(stranger.get("/api/sessions", params={"token": token}), 401, "no_token")
        check(stranger.get("/api/sessions", headers={"authorization": f"Bearer {token}"}), 401, "no_token")
        check(stranger.post("/sessions", params={"token": token}), 401, "no_token")
        check(stranger.head("/", params={"token": token}), 401, "no_token")
        check(stranger.get("/", params={"token": token}, headers={"host": "evil.example"}), 421, "wrong_host")
        check(
            stranger.get("/", params={"token": token}, headers={"origin": "http://evil.example"}), 403, "wrong_origin"
        )
    assert demo.auth.log_in(token)


@pytest.mark.parametrize(
    "path",
    ["//evil.example", "///evil.example/x", "/\\evil.example", "/%5Cevil.example", "/%5c%5cevil.example", "/%2F/evil.example",
     "//user@evil.example/", "/x%0d%0aset-cookie:a=b", "/%3Fa=b%23c", "/%E2%80%A8", "/x'%22%3E%3Cscript%3E", "/;url=http://evil.example"],
)  # fmt: skip
def test_a_link_never_leads_elsewhere(demo: Site, path: str) -> None:
    with demo.stranger() as browser:
        request = browser.build_request("GET", f"/?token={demo.auth.issue_token()}")
        request.url = request.url.copy_with(raw_path=f"{path}?token={demo.auth.issue_token()}".encode())
        answer = browser.send(request)
    if answer.status_code == 400:
        assert "%0d" in path
        return
    assert answer.status_code == 200
    (target,) = re.findall(r'content="0;url=([^"]*)"', answer.text)
    assert target.startswith("/")
    assert not target.startswith(("//", "/\\"))
    assert target.isascii()
    assert not set("?#'<>") & set(unescape(target))


def test_other_programs_cookies_do_not_lock_anybody_out(demo: Site) -> None:
    with demo.stranger() as browser:
        for cookies in (
            f'odd={{"a":[1,2]}}; {demo.cookie}={demo.key}',
            f"{demo.cookie}=stale; {demo.cookie}={demo.key}",
            f"=; ;; a b c; {demo.cookie}={demo.key}; x",
            f'{demo.cookie}="{demo.key}"',
        ):
            assert browser.get("/api/revision", headers={"cookie": cookies}).status_code == 200
        for cookies in (
            f"x{demo.cookie}={demo.key}",
            f"a={demo.cookie}={demo.key}",
            f"{demo.cookie.upper()}={demo.key}",
        ):
            assert browser.get("/api/revision", headers={"cookie": cookies}).status_code == 401


# -- programs


def test_programs_use_the_api_token_at_the_loopback(demo: Site) -> None:
    names = [f"127.0.0.1:{demo.auth.port}", f"localhost:{demo.auth.port}", f"[::1]:{demo.auth.port}", host(demo)]
    with demo.stranger(headers={"authorization": f"bearer  {demo.auth.api_token}"}) as program:
        for name in names:
            assert program.get("/api/tags", headers={"host": name}).status_code == 200
            # No page can send it, so CSRF is no danger: what changes something needs no Origin header.
            missing = program.put("/api/sessions/no-such-session/pin", headers={"host": name})
            check(missing, 404, "not_found")
            check(program.get("/", headers={"host": name}), 401, "no_token")  # it is for the API
        check(program.get("/api/tags", headers={"host": "evil.example"}), 421, "wrong_host")
        check(program.get("/api/tags", headers={"origin": "http://evil.example"}), 403, "wrong_origin")
        check(program.put("/api/sessions/x/pin", headers={"sec-fetch-site": "cross-site"}), 403, "wrong_origin")


def test_who_may_use_the_api_may_let_browsers_in(demo: Site) -> None:
    with demo.stranger(headers={"authorization": f"Bearer {demo.auth.api_token}"}) as program:
        told = program.post("/api/links").json()
        check(program.post("/api/links", json={}), 400, "bad_request")
    assert told["link"].startswith(f"{demo.address}/?token=")
    with demo.stranger() as browser:
        assert browser.get(told["link"]).status_code == 200
        assert browser.get("/").status_code == 200


# -- where a request comes from


@pytest.mark.parametrize(
    ("method", "headers", "is_let_in"),
    [
        ("GET", {}, True),
        ("GET", {"origin": "HOST"}, True),
        ("GET", {"origin": "https://NAME"}, True),
        ("GET", {"origin": "http://localhost:1"}, False),
        ("GET", {"origin": "http://127.0.0.1"}, False),
        ("GET", {"origin": "HOST/"}, False),
        ("GET", {"origin": "HOST.evil.example"}, False),
        ("GET", {"origin": "null"}, False),
        ("GET", {"origin": ""}, False),
        ("GET", {"origin": "http://[::1"}, False),
        ("GET", {"origin": "ftp://NAME"}, False),
        ("GET", {"sec-fetch-site": "none", "sec-fetch-mode": "navigate"}, True),
        ("GET", {"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}, True),
        (
            "GET",
            {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
            True,
        ),  # a link; Strict cookies stay away
        ("GET", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, False),
        ("GET", {"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"}, False),  # another port of this machine
        ("GET", {"sec-fetch-site": "same-site"}, False),
        ("PUT", {}, False),
        ("PUT", {"origin": "HOST"}, True),
        ("PUT", {"origin": "HOST", "sec-fetch-site": "same-origin"}, True),
        ("PUT", {"origin": "null"}, False),
        ("PUT", {"sec-fetch-site": "same-origin"}, True),
        ("PUT", {"sec-fetch-site": "none"}, False),
        ("PUT", {"sec-fetch-site": "same-site"}, False),
        ("PUT", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, False),
        ("DELETE", {"referer": "HOST/"}, False),
    ],
)
def test_requests_come_from_our_pages_or_from_no_page(
    demo: Site, method: str, headers: dict[str, str], is_let_in: bool
) -> None:
    given = {name: value.replace("HOST", demo.address).replace("NAME", host(demo)) for name, value in headers.items()}
    with demo.client() as client:
        answer = client.request(
            method, "/api/sessions/no-such-session/pin" if method != "GET" else "/api/tags", headers=given
        )
    if is_let_in:
        assert answer.status_code == (200 if method == "GET" else 404)
    else:
        check(answer, 403, "wrong_origin")


# -- anything at all


@given(
    path=st.text(st.characters(codec="latin-1"), max_size=60),
    query=st.binary(max_size=60),
    method=st.sampled_from(METHODS),
    headers=st.lists(
        st.tuples(
            st.sampled_from([b"host", b"origin", b"cookie", b"content-length", b"sec-fetch-site", b"x"]),
            st.one_of(
                st.binary(max_size=40),
                st.sampled_from(
                    [
                        b"localhost:80",
                        b"localhost",
                        b"http://localhost",
                        b"null",
                        b"[",
                        b"http://[",
                        b"a:b:c",
                        b"\xff:1",
                    ]
                ),
            ),
        ),
        max_size=6,
    ),
)
def test_no_request_confuses_the_guard(
    path: str, query: bytes, method: str, headers: list[tuple[bytes, bytes]]
) -> None:
    reached: list[Scope] = []
    sent: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        reached.append(scope)

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope: Scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query,
        "headers": headers,
    }
    elsewhere(lambda: asyncio.run(Guard(app, Auth(80, "localhost"))(scope, receive, send)))
    if reached:
        assert path.startswith("/static/")
        return
    assert sent[0]["status"] in (400, 401, 403, 413, 414, 421)
    assert dict(sent[0]["headers"])[b"x-frame-options"] == b"DENY"
    if path.startswith("/api/"):
        assert json.loads(sent[1]["body"])["error"]["status"] == sent[0]["status"]


def test_nothing_but_http_is_spoken() -> None:
    async def app(*_: Any) -> None:
        raise AssertionError

    async def nothing(*_: Any) -> Any:
        raise AssertionError

    elsewhere(
        lambda: asyncio.run(Guard(app, Auth(80, "localhost"))({"type": "websocket", "path": "/"}, nothing, nothing))
    )


@pytest.fixture(scope="module")
def reading(demo_store: tuple[Path, Path]) -> Iterator[Site]:
    root, home = demo_store
    with site(home, root, read_only=True) as running:
        yield running


def test_reading_only_guards_alike(reading: Site) -> None:
    with reading.stranger(headers={"origin": reading.address}) as stranger:
        check(stranger.put("/api/sessions/@last/pin"), 401, "no_token")
