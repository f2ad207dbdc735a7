"""Running the web app: a socket, a link to open, and an end by Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import signal
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

import uvicorn

from hansard.errors import UsageError
from hansard.web.app import make_app
from hansard.web.connection import Connection
from hansard.web.guard import Door

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from hansard.config import Settings

DEFAULT_PORT = 4567
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not bound
_TRIES = 20
_MOST_HEADERS = 32_768  # bytes


class Server(uvicorn.Server):
    """uvicorn's server, which sleeps until it is told to stop: nothing is to be done ten times a second."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready
        self._over = asyncio.Event()
        self._wake: Callable[[], object] | None = None
        self.failure: Exception | None = None  # nobody could be told that it is there

    async def main_loop(self) -> None:
        """Wait for the end."""
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
        """End by a signal, which is no failure; a second Ctrl-C waits for nobody."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.stop()

    def stop(self) -> None:
        """End, from any thread."""
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


def serve(
    settings: Settings,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    read_only: bool = False,
    syncing: bool = True,
    demo: bool = False,
    path: str = "/",
    opened: Callable[[str, int], None],
    again: Callable[[str], None],
) -> None:
    """Serve until told to stop. `opened` hears the link that lets one browser in, and the port; `again` the next link, each time one is used."""
    listener = listen(host, port)
    number = listener.getsockname()[1]
    shown = _EVERYWHERE.get(host, host)
    shown = f"[{shown}]" if ":" in shown else shown

    def link(token: str) -> str:
        return f"http://{shown}:{number}{path}?token={token}"

    door = Door({*_LOOPBACK, host}, number, told=lambda token: again(link(token)))
    app = make_app(settings, door, read_only=read_only, syncing=syncing, demo=demo)
    server = Server(configured(app), lambda: opened(link(door.token), number))
    with contextlib.suppress(KeyboardInterrupt), listener:
        server.run(sockets=[listener])
    if server.failure is not None:
        raise server.failure


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
                    " Name another with --host or --port"
                ) from error
        else:
            listener.setblocking(False)  # noqa: FBT003 - the library's signature
            return listener
    raise UsageError(f"no port is free on {host}. Name one with --port")


def _is_taken(error: Exception) -> bool:
    import errno

    return isinstance(error, OSError) and error.errno in (errno.EADDRINUSE, errno.EACCES)
