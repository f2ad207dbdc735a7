"""Requests that are written by hand, and what every refusal must say."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from hansard.web.auth import HEADERS

if TYPE_CHECKING:
    import httpx

    from tests.web.serving import Site


def check(answer: httpx.Response, status: int, code: str) -> None:
    """A refusal: of one shape under /api, a page elsewhere, with all that an answer must say."""
    assert answer.status_code == status
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    assert answer.headers["cache-control"] == "no-store"
    assert "set-cookie" not in answer.headers
    if answer.request.method == "HEAD":
        return
    if answer.request.url.path.startswith("/api/"):
        assert answer.headers["content-type"] == "application/json"
        error = answer.json()["error"]
        assert (error["status"], error["code"]) == (status, code)
        assert error["message"]
        assert sorted(error) == ["code", "message", "status"]
    else:
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.text.startswith("<!doctype html>")


def ask(given: Site, *lines: str, cookie: bool = False, body: bytes = b"") -> list[str]:
    """The head of the answer to a request that is written by hand."""
    more = [f"Cookie: {given.cookie}={given.key}"] if cookie else []
    head = "\r\n".join([*lines, *more, "Connection: close", "", ""]).encode("latin-1")
    return exchange(given, head + body).partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")


def exchange(given: Site, sent: bytes) -> bytes:
    """Everything that comes back until the server closes."""
    with socket.create_connection(("127.0.0.1", given.auth.port), timeout=60) as client:
        client.sendall(sent)
        return b"".join(iter(lambda: client.recv(65_536), b""))


def host(given: Site) -> str:
    return given.address.removeprefix("http://")
