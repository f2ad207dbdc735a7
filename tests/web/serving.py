"""The web app on a real port, for tests that ask it as a browser or a program would."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import httpx

from hansard.config import Settings
from hansard.web.app import make_app
from hansard.web.server import Server, configured, make_auth
from tests.render.html.browsing import Watched, watch

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from starlette.applications import Starlette

    from hansard.web.auth import Auth, LoginFile

LIMIT = 64 << 20
# Never used, but httpx would read every certificate authority for each client, which takes longer than most requests.
_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
_Answer = TypeVar("_Answer")


def elsewhere(work: Callable[[], _Answer]) -> _Answer:
    """Do something on a thread of its own: a driver of browsers leaves a running loop on this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


class _Loopback(httpx.HTTPTransport):
    """Goes to the loopback whatever the name, as browsers do for names under `.localhost`."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        there = request.url.copy_with(host="127.0.0.1")
        return super().handle_request(
            httpx.Request(
                request.method,
                there,
                headers=request.headers,
                stream=request.stream,
                extensions=request.extensions,
            )
        )


@dataclass(frozen=True)
class Site:
    """A running server, and a session cookie for it."""

    address: str
    cookie: str
    key: str  # the cookie's value
    auth: Auth
    settings: Settings
    app: Starlette

    def stranger(self, **more: Any) -> httpx.Client:
        """A client that has not been let in."""
        return httpx.Client(base_url=self.address, transport=_Loopback(verify=_TLS), timeout=60, **more)

    def client(self, **more: Any) -> httpx.Client:
        """A client that has been let in."""
        return self.stranger(cookies={self.cookie: self.key}, **more)

    @contextmanager
    def opened(self, browser: Browser, path: str, *, width: int = 1440, **options: Any) -> Iterator[Watched]:
        """One of its pages in a fresh context, with eyes on everything that it should not do."""
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        context.add_cookies([{"name": self.cookie, "value": self.key, "url": self.address, "sameSite": "Strict"}])
        watched = watch(context)
        try:
            watched.page.goto(self.address + path)
            yield watched
        finally:
            context.close()

    def check(self, watched: Watched) -> None:
        """Nothing went wrong, nobody else was asked for anything, and nothing was forbidden by the policy."""
        assert watched.complaints == []
        assert watched.run("window.violations ?? []") == []
        assert watched.run("window.hacked ?? null") is None
        outside = [url for url in watched.requests if not url.startswith((self.address, "data:"))]
        assert outside == []


@contextmanager
def site(
    home: Path,
    *roots: Path,
    read_only: bool = False,
    syncing: bool = False,
    demo: bool = False,
    port: int = 0,
    kept: LoginFile | None = None,
    make: Callable[[Settings, Auth], Starlette] | None = None,
    **other: Any,
) -> Iterator[Site]:
    """Serve a store on a port of the loopback, 0 for any free one; `other` settings are those of the configuration.

    `make` makes another app than the one on the store.
    """
    settings = Settings(str(home), tuple(map(str, roots)), LIMIT, **{"timezone": "UTC", **other})
    listener = socket.socket(proto=socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(64)
    port = listener.getsockname()[1]
    auth = make_auth(port, "127.0.0.1", None, kept)
    key = auth.log_in(auth.issue_token())
    assert key is not None
    if make is not None:
        app = make(settings, auth)
    else:
        app = make_app(settings, auth, read_only=read_only, syncing=syncing, demo=demo)
    for one in app.state.by_redaction.values():
        one.state.pages._seconds = 0.0  # no test is given the page that another one asked for a moment ago
    ready = threading.Event()
    server = Server(configured(app), ready.set)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        assert ready.wait(60)
        yield Site(auth.url, auth.cookie, key, auth, settings, app)
    finally:
        server.stop()
        thread.join(30)
        listener.close()
