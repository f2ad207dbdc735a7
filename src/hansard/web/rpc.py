"""One endpoint that hands JSON messages to a function, behind the guard: the HTTP transport of `hansard mcp`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from hansard.files import make_private_folder, write_private
from hansard.web import responses
from hansard.web.auth import Guard
from hansard.web.server import Server, configured, listen, make_auth

if TYPE_CHECKING:
    import socket

    from starlette.requests import Request
    from starlette.types import ASGIApp

    from hansard.web.auth import Auth

PATH = "/api/mcp"
TOKEN_FILE = "mcp-token"  # noqa: S105 - the name of a file

Handler = Callable[[Any], dict[str, Any] | None]


def make_rpc_app(handle: Handler, auth: Auth) -> ASGIApp:
    """The application: POST one message to `PATH`; GET is refused, since there are no streams."""
    pool = ThreadPoolExecutor(1, "answers")

    async def post(request: Request) -> Response:
        try:
            message = msgspec.json.decode(await request.body())
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "not JSON"}}
            return Response(msgspec.json.encode(error), 400, media_type="application/json")
        answer = await asyncio.get_running_loop().run_in_executor(pool, handle, message)
        if answer is None:
            return Response(status_code=202)
        return Response(msgspec.json.encode(answer), media_type="application/json")

    handlers: dict[Any, Callable[..., Any]] = {HTTPException: responses.http_error, Exception: responses.internal_error}
    return Guard(Starlette(routes=[Route(PATH, post, methods=["POST"])], exception_handlers=handlers), auth)


class _RpcServer(Server):
    """The server without the streams of pages, which need no end of their own."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await uvicorn.Server.shutdown(self, sockets)


def serve_rpc(handle: Handler, *, folder: str, port: int | None, started: Callable[[str, str], None]) -> None:
    """Serve on the loopback until stopped; `started` gets the address and the token that clients need."""
    host = "127.0.0.1"
    listener = listen(host, port)
    auth = make_auth(listener.getsockname()[1], host)
    auth.api_token = read_token(folder)
    url = f"http://{host}:{auth.port}{PATH}"
    config = configured(make_rpc_app(handle, auth))  # type: ignore[arg-type]
    config.lifespan = "off"
    server = _RpcServer(config, lambda: started(url, auth.api_token))
    with contextlib.suppress(KeyboardInterrupt), listener:
        server.run(sockets=[listener])
    if server.failure is not None:
        raise server.failure


def read_token(folder: str) -> str:
    """The token of programs, the same at every start so that clients can keep it; in a file that only its owner can read."""
    path = os.path.join(folder, TOKEN_FILE)
    with contextlib.suppress(OSError, UnicodeDecodeError), open(path, encoding="ascii") as file:
        token = file.read(200).strip()
        if len(token) >= 32:
            return token
    token = secrets.token_urlsafe(32)
    make_private_folder(folder)
    write_private(path, token.encode())
    return token
