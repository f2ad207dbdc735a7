"""Running the web app: a socket, a link to open, connections with a time limit, and an end by Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from hansard.errors import UsageError
from hansard.web.app import make_app
from hansard.web.auth import (
    LOOPBACK,
    MAX_QUERY,
    Auth,
    LoginFile,
    address_refused,
    canonical,
    random_name,
    with_headers,
)
from hansard.web.redirect_file import LINK_SECONDS, RedirectFile
from hansard.web.responses import refusal
from hansard.web.running_servers import Running, registered

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from hansard.config import Settings


DEFAULT_PORT = 4567
NO_BROWSER_SECONDS = 20.0  # without a browser, before a warning
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not bound
_TRIES = 20
_MOST_HEADERS = 32_768  # bytes


class Server(uvicorn.Server):
    """uvicorn's server without its ten wake-ups a second: it sleeps until it is stopped."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready
        self._over = asyncio.Event()
        self._wake: Callable[[], object] | None = None
        self.failure: Exception | None = None  # raised when the start was announced

    async def main_loop(self) -> None:
        loop = asyncio.get_running_loop()
        self._wake = lambda: loop.call_soon_threadsafe(self._over.set)
        try:
            self._ready()
        except Exception as error:  # noqa: BLE001 - kept until everything is closed
            self.failure = error
            return
        if not self.should_exit:
            await self._over.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let open streams end first: everything else waits for them."""
        app: Starlette = self.config.app  # type: ignore[assignment]
        app.state.live.end()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: object) -> None:  # noqa: ARG002 - the signature of handlers
        """Exit cleanly on a signal; a second Ctrl-C does not wait for open requests."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.stop()

    def stop(self) -> None:
        self.should_exit = True
        if self._wake is not None:
            with contextlib.suppress(RuntimeError):  # the loop is over
                self._wake()


def configured(app: Starlette) -> uvicorn.Config:
    """How the app is served."""
    return uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=3,
        h11_max_incomplete_event_size=_MOST_HEADERS,
    )


@dataclass(frozen=True, slots=True)
class Started:
    """A server that listens."""

    link: str  # lets one browser in
    running: Running
    file: str | None  # where `running` is written; None where the data directory cannot be written


@dataclass(frozen=True, slots=True)
class ServeCallbacks:
    """Callbacks for events of a server."""

    started: Callable[[Started], None]
    logged_in: Callable[[], None]  # a browser opened a link
    unseen: Callable[[], None]  # the browser that was opened has not connected
    unwritten: Callable[[str], None]  # the data directory cannot be written; gets the reason


def serve(
    settings: Settings,
    narrator: ServeCallbacks,
    *,
    folder: str,
    host: str = "127.0.0.1",
    host_name: str | None = None,
    port: int | None = None,
    read_only: bool = False,
    syncing: bool = True,
    demo: bool = False,
    path: str = "/",
    browser: Callable[[str], None] | None = None,
    make: Callable[[Auth], Starlette] | None = None,
) -> None:
    """Serve until stopped. The server's own files go to `folder`; `browser` opens the address of a file.

    `make` makes another app than the one on the store of the settings.
    """
    listener = listen(host, port)
    auth = make_auth(
        listener.getsockname()[1], host, host_name, LoginFile(f"{folder}-login.json", keep_logins=settings.keep_login)
    )
    app = make(auth) if make else make_app(settings, auth, read_only=read_only, syncing=syncing, demo=demo)
    redirects: dict[str, RedirectFile] = {}  # by token

    def used(token: str) -> None:
        if token in redirects:
            redirects[token].remove()
        narrator.logged_in()

    auth.on_login = used
    with contextlib.ExitStack() as stack:

        def ready() -> None:
            token = auth.issue_token()
            link = auth.link(token, path)
            address = _EVERYWHERE.get(host, host)
            running = Running(auth.url, address, auth.port, os.getpid(), settings.home, demo, auth.api_token)
            file = redirect = None
            try:
                file = stack.enter_context(registered(folder, running))
                if browser is not None:
                    redirect = redirects[token] = RedirectFile(folder, link)
                    stack.callback(redirect.remove)
            except OSError as error:
                narrator.unwritten(str(error))
            narrator.started(Started(link, running, file))
            if redirect is not None and browser is not None:
                loop = asyncio.get_running_loop()
                loop.call_later(LINK_SECONDS, redirect.remove)
                loop.call_later(NO_BROWSER_SECONDS, lambda: narrator.unseen() if redirect.is_there() else None)
                browser(redirect.uri)

        server = Server(configured(app), ready)
        with contextlib.suppress(KeyboardInterrupt), listener:
            server.run(sockets=[listener])
    if server.failure is not None:
        raise server.failure


def make_auth(port: int, host: str, host_name: str | None = None, kept: LoginFile | None = None) -> Auth:
    """The host names of a server on an address: on loopback, a random one under `.localhost`."""
    if host_name is not None:
        return Auth(port, host_name, kept=kept)
    if canonical(host) in LOOPBACK:
        return Auth(port, random_name() if kept is None else kept.name, kept=kept)
    own = () if host in _EVERYWHERE else (host,)
    return Auth(port, _EVERYWHERE.get(host, host), aliases=(*own, *LOOPBACK), any_address=True, kept=kept)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listen(host: str, port: int | None) -> socket.socket:
    """A socket on that port, or on the first free one from the usual one on."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    wanted = [port] if port is not None else [*range(DEFAULT_PORT, DEFAULT_PORT + _TRIES), 0]
    for number in wanted:
        listener = socket.socket(
            family, socket.SOCK_STREAM, socket.IPPROTO_TCP
        )  # named, so that asyncio sets TCP_NODELAY
        if hasattr(socket, "SO_EXCLUSIVEADDRUSE"):  # Windows, where reuse lets two programs share a port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, number))
            listener.listen(128)
        except (OSError, OverflowError, UnicodeError) as error:
            listener.close()
            if port is not None or not _is_taken(error):
                raise UsageError(
                    f"cannot listen on {host}:{number} ({getattr(error, 'strerror', None) or error})."
                    " Choose another with --host or --port"
                ) from error
        else:
            listener.setblocking(False)  # noqa: FBT003 - the library's signature
            return listener
    raise UsageError(f"no free port on {host}. Choose one with --port")


def _is_taken(error: Exception) -> bool:
    import errno

    return isinstance(error, OSError) and error.errno in (errno.EADDRINUSE, errno.EACCES)


HEAD_SECONDS = 15.0  # for the head of a request, from the first byte or the last answer on


class Connection(H11Protocol):
    """uvicorn's protocol with a timeout for request heads: its keep-alive timeout ends with the first byte of a request."""

    _timer: asyncio.TimerHandle | None = None
    _is_refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Ignore the rest of a refused request."""
        if not self._is_refused:
            super().data_received(data)

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._wait()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's words are not ours
        """Refuse an invalid request in the same form as every other refusal."""
        self._is_refused = True
        method, _, target = self.conn.trailing_data[0][: _MOST_HEADERS + 1].partition(b"\n")[0].partition(b" ")
        if method.isalpha() and len(target) > MAX_QUERY:
            answer = address_refused(target.partition(b"?")[0].decode("latin-1"))
        else:
            answer = refusal("/api", 400, "bad_request", "not an HTTP request")
        headers = with_headers([*answer.raw_headers, (b"connection", b"close")])
        try:
            for event in (
                h11.Response(status_code=answer.status_code, headers=headers),
                h11.Data(data=bytes(answer.body)),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        except h11.LocalProtocolError:  # in the middle of an answer to something else
            self.transport.close()
        else:
            # Closing now, with a part of the request unread, would reset the connection before the answer is read.
            self.transport.write_eof()

    def _wait(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(HEAD_SECONDS, self._on_timeout)

    def _on_timeout(self) -> None:
        cycle: Any = self.cycle
        if (cycle is None or cycle.response_complete) and not self.transport.is_closing():
            self.transport.close()
