"""What no client of ours would send, and what the server says when something is wrong with itself."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from hansard.engine import Hansard
from hansard.errors import StoreBusy, StoreCorrupt, StoreUnusable
from hansard.web import auth, engine_pool
from hansard.web import server as connection
from hansard.web.auth import HEADERS, MAX_PATH, MAX_QUERY
from tests.web.by_hand import ask, check, exchange, host
from tests.web.serving import elsewhere

if TYPE_CHECKING:
    from starlette.types import Message, Scope

    from tests.web.serving import Site


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("http://evil.example/", 400),
        ("http://HOST/api/tags", 400),
        ("HOST", 400),
        ("*", 400),
        ("/api/sessions/%00", 400),
        ("/api/sessions/a%0Ab", 400),
        ("/api/sessions/a%7Fb", 400),
        ("/api/sessions/%ff%fe", 404),
        ("/api/sessions/..", 404),
        ("/api/sessions/../../../../etc/passwd", 404),
        ("/api/sessions/%2e%2e%2f%2e%2e%2fetc%2fpasswd", 404),
        ("/api/../api/tags", 404),
        ("/api//tags", 404),
        ("//api/tags", 404),
        ("/api/tags%2f", 307),
        ("/sessions/", 307),
        ("/API/tags", 404),
        ("/static/../api/tags", 404),
        ("/static/..%2fapi%2ftags", 404),
        ("/static/x/..%5c..%5cetc%5cpasswd", 404),
        ("/api/" + "x" * MAX_PATH, 414),
        ("/" + "x/" * 10_000, 414),
    ],
)
def test_tricks_with_paths(demo: Site, target: str, status: int) -> None:
    lines = ask(demo, f"GET {target.replace('HOST', host(demo))} HTTP/1.1", f"Host: {host(demo)}", cookie=True)
    assert f" {status} " in lines[0]
    assert any(line.startswith("content-security-policy: ") for line in lines)
    places = [line.removeprefix("location: ") for line in lines if line.startswith("location: ")]
    assert all(place.startswith(f"{demo.address}/") for place in places)


def test_static_files_are_no_way_around_the_door(demo: Site) -> None:
    for target in ("/static/../api/tags", "/static/%2e%2e/api/tags", "/static//api/tags", "/static/../sessions"):
        lines = ask(demo, f"GET {target} HTTP/1.1", f"Host: {host(demo)}")
        assert " 404 " in lines[0]


@pytest.mark.parametrize(
    "lines",
    [
        ["GET / HTTP/1.1", "Host: HOST", "Host: HOST"],
        ["GET / HTTP/1.1", "Host: HOST", "Host: evil.example"],
        ["GET / HTTP/1.1"],
        ["GET / HTTP/1.1", "Host: HOST", "Bad Header: x"],
        ["GET / HTTP/1.1", "Host: HOST", "Content-Length: 5", "Content-Length: 6"],
        ["GET / HTTP/1.1", "Host: HOST", "Content-Length: -5"],
        ["GET / HTTP/1.1", "Host: HOST", "Origin: http://HOST", "Origin: http://HOST"],
        ["GET /\x00 HTTP/1.1", "Host: HOST"],
        ["G\x01T / HTTP/1.1", "Host: HOST"],
        ["\x16\x03\x01\x02\x00\x01\x00"],
        ["nonsense"],
    ],
)
def test_requests_that_are_none(demo: Site, lines: list[str]) -> None:
    head = ask(demo, *(line.replace("HOST", host(demo)) for line in lines), cookie=True)
    assert " 400 " in head[0]
    for name in HEADERS:
        assert any(line.lower().startswith(f"{name}: ") for line in head), name


def test_a_head_is_bounded(demo: Site) -> None:
    assert exchange(demo, b"GET / HTTP/1.1\r\nBig: " + b"x" * 40_000).startswith(b"HTTP/1.1 400 ")
    folded = ask(demo, "GET / HTTP/1.1", f"Host: {host(demo)}", " and more", cookie=True)
    assert " 421 " in folded[0]


@pytest.mark.parametrize("length", [MAX_QUERY + 100, 40_000, 2_000_000])
def test_a_query_that_is_too_long_is_refused_and_not_cut_off(demo: Site, length: int) -> None:
    more = f" HTTP/1.1\r\nHost: {host(demo)}\r\nCookie: {demo.cookie}={demo.key}\r\nConnection: close\r\n\r\n"
    for path, words in (("/search", b"<h1>Address too long</h1>"), ("/api/search", b'"code": "too_long"')):
        answer = exchange(demo, f"GET {path}?q={'x' * length}{more}".encode())
        assert answer.startswith(b"HTTP/1.1 414 ")
        assert words in answer
        assert b"a query may have 8,192 bytes" in answer
        assert answer.lower().count(b"content-security-policy: ") == 1


def test_a_body_is_bounded_whatever_it_says(demo: Site) -> None:
    piece = b"2000\r\n" + b"x" * 0x2000 + b"\r\n"
    head = [
        "POST /api/sessions/@last/notes HTTP/1.1",
        f"Host: {host(demo)}",
        f"Origin: {demo.address}",
        "Content-Type: application/json",
        "Transfer-Encoding: chunked",
    ]
    assert " 413 " in ask(demo, *head, cookie=True, body=piece * 9 + b"0\r\n\r\n")[0]
    assert " 400 " in ask(demo, *head, cookie=True, body=piece * 2 + b"0\r\n\r\n")[0]


def note(site: Site, *lines: str) -> bytes:
    """The head of a request that adds a note, from somebody who was let in."""
    head = [
        "POST /api/sessions/@last/notes HTTP/1.1",
        f"Host: {host(site)}",
        f"Origin: {site.address}",
        f"Cookie: {site.cookie}={site.key}",
        "Content-Type: application/json",
        *lines,
    ]
    return "\r\n".join([*head, "", ""]).encode()


@pytest.mark.parametrize(
    "body",
    [b'{"text": "\xff"}', b'{"\xff": "x"}', b'{"text": "\xed\xa0\x80"}', b'{"text": "\\udc00"}', '{"text": "x"}'.encode("utf-16")],
)  # fmt: skip
def test_a_body_that_is_not_utf_8_is_a_bad_request(demo: Site, body: bytes) -> None:
    answer = exchange(demo, note(demo, f"Content-Length: {len(body)}", "Connection: close") + body)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b'"bad_request"' in answer


@pytest.mark.parametrize("framing", ["Content-Length: 14", "Transfer-Encoding: chunked"])
@pytest.mark.parametrize(("limit", "begun"), [("BODY_IDLE_SECONDS", b""), ("BODY_SECONDS", b"3\r\n{  \r\n")])
def test_a_body_that_does_not_come_is_not_waited_for(
    demo: Site, monkeypatch: pytest.MonkeyPatch, limit: str, framing: str, begun: bytes
) -> None:
    monkeypatch.setattr(auth, limit, 0.2)
    answer = exchange(demo, note(demo, framing) + begun)  # until the server closes
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"\r\nconnection: close\r\n" in answer
    assert b'"timeout"' in answer
    assert answer.count(b"HTTP/1.1") == 1


def test_a_stream_does_not_outlive_a_body_that_does_not_come(demo: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth, "BODY_IDLE_SECONDS", 0.2)
    head = (
        f"GET /api/events HTTP/1.1\r\nHost: {host(demo)}\r\nCookie: {demo.cookie}={demo.key}\r\nConnection: close\r\n"
    )
    answer = exchange(demo, f"{head}Content-Length: 5\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"event: revision" in answer


def test_who_leaves_in_the_middle_of_a_body_is_no_mistake_of_ours(demo: Site) -> None:
    """Whatever comes out of the application is logged."""
    heard: list[Message] = [
        {"type": "http.request", "body": b'{"te', "more_body": True},
        {"type": "http.disconnect"},
    ]
    sent: list[Message] = []

    async def receive() -> Message:
        return heard.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    lines = [line.partition(": ") for line in note(demo).decode().split("\r\n")[1:] if line]
    scope: Scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/sessions/@last/notes",
        "root_path": "",
        "query_string": b"",
        "headers": [(name.lower().encode(), value.encode()) for name, _, value in lines],
    }
    elsewhere(lambda: asyncio.run(demo.app(scope, receive, send)))
    assert (sent[0]["status"], heard) == (400, [])


def test_who_sends_no_request_does_not_stay(demo: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.5)
    assert exchange(demo, b"") == b""
    assert exchange(demo, b"GET / HTTP/1.1\r\nHost: ") == b""
    whole = f"GET /api/tags HTTP/1.1\r\nHost: {host(demo)}\r\nCookie: {demo.cookie}={demo.key}\r\n\r\n".encode()
    answer = exchange(demo, whole + b"GET /api/tags HTTP/1.1\r\nHo")
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.count(b"HTTP/1.1") == 1


# -- mistakes and troubles of the server


def test_a_mistake_of_ours_says_nothing_about_us(demo: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the secret is 42")

    monkeypatch.setattr(Hansard, "status", broken)
    monkeypatch.setattr(Hansard, "sessions", broken)
    with demo.client() as client:
        for path in ("/api/status", "/sessions"):
            answer = client.get(path)
            check(answer, 500, "broken")
            assert "secret" not in answer.text
            assert answer.headers["connection"] == "close"


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (StoreBusy("wait"), 503, "busy"),
        (StoreUnusable("no permission"), 503, "unusable"),
        (StoreCorrupt("a hash does not fit"), 500, "damaged"),
    ],
)
def test_troubles_of_the_store_are_told(
    demo: Site, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int, code: str
) -> None:
    def troubled(_: object) -> None:
        raise error

    monkeypatch.setattr(Hansard, "status", troubled)
    with demo.client() as client:
        answer = client.get("/api/status")
    check(answer, status, code)
    assert answer.json()["error"]["message"] == str(error)


def test_too_much_at_once_is_refused(demo: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_pool, "_MOST", 0)
    with demo.client() as client:
        check(client.get("/api/tags"), 503, "busy")
        check(client.get("/sessions"), 503, "busy")
