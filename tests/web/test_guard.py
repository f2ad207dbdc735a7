"""Who may ask: every route of the app, and every way around its door that somebody may try."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.config import Settings
from hansard.web.app import make_app
from hansard.web.files import address
from hansard.web.guard import HEADERS, MAX_BODY, MAX_QUERY, Door, Guard
from tests.web.by_hand import ask, check, host
from tests.web.serving import Site, elsewhere, site

if TYPE_CHECKING:
    from starlette.routing import Route
    from starlette.types import Message, Receive, Scope, Send

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")


@cache
def routes() -> list[Route]:
    """Every route there is; the app is only made, not run."""
    return list(make_app(Settings("nowhere", (), 0), Door([], 1), syncing=False).routes)  # type: ignore[arg-type]


def filled(path: str) -> str:
    """An address that the route of this path answers to."""
    if path.startswith("/static/"):
        return address("app.css")
    for name, value in (
        ("{session_id}", "@last"),
        ("{session}", "@last"),
        ("{tag:path}", "x"),
        ("{number}", "1"),
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
    with httpx.Client(base_url=demo.address) as stranger, demo.client() as known:
        if is_static:
            assert stranger.get(path).status_code == 200
        else:
            check(stranger.request(method, path, headers=ours), 401, "no_token")
            check(stranger.request(method, path, headers=ours, params={"token": "wrong"}), 401, "no_token")
            bad = {"cookie": f"{demo.cookie}=wrong; {demo.cookie}="}
            check(stranger.request(method, path, headers=ours | bad), 401, "no_token")
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


@pytest.mark.parametrize("path", ["/nowhere", "/api/nowhere", "/api", "/apiary", "/static/x/y.css", "/sessions/a/b/c"])
def test_what_is_not_there(demo: Site, path: str) -> None:
    with demo.client() as client:
        answer = client.get(path)
        assert answer.status_code == 404
        assert answer.headers["content-type"].startswith("application/json") == (
            path == "/api" or path.startswith("/api/")
        )
        assert "content-security-policy" in answer.headers


# -- the door


def test_a_link_lets_one_browser_in_once(demo: Site) -> None:
    token = demo.door.token
    with httpx.Client(base_url=demo.address) as browser:
        answer = browser.get("/sessions", params={"q": "a&b=c d", "token": token})
        assert answer.status_code == 303
        assert answer.headers["location"] == "/sessions?q=a%26b%3Dc+d"
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith(f"{demo.cookie}=")
        flags = {part.strip().lower() for part in cookie.split(";")[1:]}
        assert {"httponly", "samesite=strict", "path=/"} <= flags
        assert not any(flag.startswith("domain") for flag in flags)
        assert token not in answer.text + cookie + answer.headers["location"]
        assert browser.get("/sessions").status_code == 200
        assert browser.get("/", params={"token": "anything"}).headers["location"] == "/"
    assert demo.door.token != token
    with httpx.Client(base_url=demo.address) as other:
        check(other.get("/", params={"token": token}), 401, "no_token")
        check(other.get("/"), 401, "no_token")


def test_a_token_is_for_links_only(demo: Site) -> None:
    token = demo.door.token
    with httpx.Client(base_url=demo.address, headers={"origin": demo.address}) as stranger:
        check(stranger.get("/api/sessions", params={"token": token}), 401, "no_token")
        check(stranger.post("/sessions", params={"token": token}), 401, "no_token")
        check(stranger.head("/", params={"token": token}), 401, "no_token")
        check(stranger.get("/", params={"token": token}, headers={"host": "evil.example"}), 421, "wrong_host")
        check(
            stranger.get("/", params={"token": token}, headers={"origin": "http://evil.example"}), 403, "wrong_origin"
        )
    assert demo.door.token == token


@pytest.mark.parametrize(
    "path",
    ["//evil.example", "///evil.example/x", "/\\evil.example", "/%5Cevil.example", "/%5c%5cevil.example", "/%2F/evil.example",
     "//user@evil.example/", "/x%0d%0aset-cookie:a=b", "/%3Fa=b%23c", "/%E2%80%A8"],
)  # fmt: skip
def test_a_link_never_leads_elsewhere(demo: Site, path: str) -> None:
    lines = ask(demo, f"GET {path}?token={demo.door.token} HTTP/1.1", f"Host: {host(demo)}")
    if " 400 " in lines[0]:
        assert "%0d" in path
        return
    assert " 303 " in lines[0]
    location = next(line for line in lines if line.startswith("location: ")).removeprefix("location: ")
    assert location.startswith("/")
    assert not location.startswith(("//", "/\\"))
    assert location.isascii()
    assert "?" not in location
    assert "#" not in location


def test_tokens_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[bytes, bytes]] = []

    def compare(given: bytes, known: bytes) -> bool:
        seen.append((given, known))
        return given == known

    monkeypatch.setattr(secrets, "compare_digest", compare)
    door = Door(["localhost"], 80)
    first, second = door.enter(door.token), door.enter(door.token)
    assert first is not None
    assert second is not None
    assert door.enter("") is None
    assert door.enter("é\ud800") is None
    seen.clear()
    assert door.knows(first)
    assert len(seen) == 2  # all keys, whichever fits
    assert not door.knows(None)
    assert not door.knows("")


def test_each_run_and_each_browser_has_a_key_of_its_own() -> None:
    told: list[str] = []
    door = Door(["localhost"], 4567, told=told.append)
    tokens, keys = [door.token], []
    for _ in range(20):
        keys.append(door.enter(door.token))
        tokens.append(door.token)
    assert told == tokens[1:]
    assert len({*tokens, *keys}) == len(tokens) + len(keys)
    assert all(len(value or "") >= 32 for value in (*tokens, *keys))
    assert not Door(["localhost"], 4567).knows(keys[0])
    assert door.cookie == "hansard-4567"


def test_other_programs_cookies_do_not_lock_anybody_out(demo: Site) -> None:
    with httpx.Client(base_url=demo.address) as browser:
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


# -- the name of the server


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:4567",
        "localhost:4567",
        "LocalHost:4567",
        "localhost.:4567",
        "[::1]:4567",
        "[0:0::1]:4567",
        "192.168.1.7:4567",
    ],
)
def test_names_of_ours(host: str) -> None:
    assert Door(["127.0.0.1", "localhost", "::1"], 4567).is_ours(host)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "localhost",
        "localhost:",
        "localhost:80",
        "localhost:4568",
        "localhost:04567x",
        "localhost:4567:4567",
        "localhost:99999",
        "localhost:4567/",
        "localhost:4567?x",
        "localhost:4567#x",
        "user@localhost:4567",
        "evil.example:4567",
        "localhost.evil.example:4567",
        "127.0.0.1.evil.example:4567",
        "127.0.0.1.nip.io:4567",
        "evil.example:4567, localhost:4567",
        "2130706433:4567",
        "0x7f000001:4567",
        "127.1:4567",
        "[::1:4567",
        "::1:4567",
        "[localhost]:4567",
        "localhost:\uff14\uff15\uff16\uff17",
        "\uff4cocalhost.evil:4567",
        "\x00localhost:4567",
        " localhost:4567",
        "http://localhost:4567",
    ],
)
def test_names_that_are_not_ours(host: str) -> None:
    assert not Door(["127.0.0.1", "localhost", "::1"], 4567).is_ours(host)


def test_a_server_for_others_has_the_name_it_was_given_and_addresses_only() -> None:
    door = Door(["127.0.0.1", "localhost", "::1", "0.0.0.0"], 4567)  # noqa: S104 - a name, not bound
    assert door.is_ours("0.0.0.0:4567")
    assert door.is_ours("10.0.0.9:4567")
    assert not door.is_ours("machine.local:4567")
    assert Door(["Machine.local."], 4567).is_ours("machine.LOCAL:4567")
    assert Door(["localhost"], 80).is_ours("localhost")


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
    elsewhere(lambda: asyncio.run(Guard(app, Door(["localhost"], 80))(scope, receive, send)))
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
        lambda: asyncio.run(Guard(app, Door(["localhost"], 80))({"type": "websocket", "path": "/"}, nothing, nothing))
    )


@pytest.fixture(scope="module")
def reading(demo_store: tuple[Path, Path]) -> Iterator[Site]:
    root, home = demo_store
    with site(home, root, read_only=True) as running:
        yield running


def test_reading_only_guards_alike(reading: Site) -> None:
    with httpx.Client(base_url=reading.address, headers={"origin": reading.address}) as stranger:
        check(stranger.put("/api/sessions/@last/pin"), 401, "no_token")
