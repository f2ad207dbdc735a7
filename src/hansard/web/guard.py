"""Checks in front of everything: no page, file or answer is reached without passing here.

The server listens on this machine, and so does every page that a browser has open: another site's script can send requests
here (CSRF), and a name of its own can be made to lead here (DNS rebinding). So a request must name this server in its Host
header, come from a page of ours where it says where it comes from (Origin, Sec-Fetch-Site), and carry a session cookie or the
API token.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, urlencode

from hansard.web.responses import HttpError, page, refusal

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from hansard.web.auth import Auth

MAX_QUERY = 8_192  # bytes of what stands behind the question mark
MAX_PATH = 4_096
MAX_BODY = 65_536
BODY_SECONDS = 30.0  # for the whole of a body
BODY_IDLE_SECONDS = 10.0  # for the next piece of it
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
        " manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
"""What every answer says; also `cache-control: no-store`, where it says nothing else: no text of a session stays in a browser's cache."""
_SAFE = frozenset({"GET", "HEAD"})
_ONCE = (
    b"host",
    b"origin",
    b"authorization",
    b"content-length",
    b"content-type",
    b"sec-fetch-site",
    b"sec-fetch-mode",
)
_COOKIE_SECONDS = 30 * 86_400  # in the browser; here it is forgotten when the server stops, unless logins are kept
_HOW = "run `hansard web --link` in a terminal and open the link that it prints"


class Guard:
    """ASGI middleware in front of everything."""

    def __init__(self, app: ASGIApp, auth: Auth) -> None:
        self._app = app
        self._auth = auth

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, refuse, or let in with a cookie."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        started = False

        async def guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message = {**message, "headers": with_headers(message["headers"])}
            await send(message)

        refused = self._check(scope)
        if refused is not None:
            await refused(scope, receive, guarded)
            return
        await self._app(scope, _bounded(receive, lambda: started), guarded)

    def _check(self, scope: Scope) -> ASGIApp | None:
        """What to answer instead, if the request may not go on."""
        path: str = scope["path"]
        headers: dict[bytes, str] = {}
        for name, value in scope["headers"]:
            if name in _ONCE and name in headers:
                return refusal(path, 400, "bad_request", f"there are two {name.decode()} headers")
            headers[name] = (
                f"{headers[name]}; {value.decode('latin-1')}" if name in headers else value.decode("latin-1")
            )
        if len(scope["query_string"]) > MAX_QUERY or len(scope.get("raw_path") or b"") > MAX_PATH:
            return refusal(path, 414, "too_long", f"a query has at most {MAX_QUERY:,} bytes, a path {MAX_PATH:,}")
        if not path.startswith("/") or any(sign < " " or sign == "\x7f" for sign in path):
            return refusal(path, 400, "bad_request", "an address begins with a slash and has no control characters")
        there = self._auth.answers_to(headers.get(b"host", ""), (scope.get("server") or (None,))[0])
        if there is None:
            return refusal(path, 421, "wrong_host", f"this server does not answer to that name; {_HOW}")
        is_program = self._has_api_token(path, headers)
        if not _is_same_origin(scope["method"], headers, is_program=is_program):
            return refusal(path, 403, "wrong_origin", "another site's page asked for this")
        length = headers.get(b"content-length", "0")
        if not length.isascii() or not length.isdigit() or len(length) > 9 or int(length) > MAX_BODY:
            return refusal(path, 413, "too_large", f"a body has at most {MAX_BODY:,} bytes")
        if is_program or path.startswith("/static/"):
            return None
        if there == "pages":
            values = _cookies(headers.get(b"cookie", ""), self._auth.cookie)
            is_known = any(self._auth.knows_session(value) for value in values)
            answer = self._log_in(scope, is_known=is_known)
            if is_known or answer is not None:
                return answer
        return refusal(path, 401, "no_token", f"this browser is not let in yet: {_HOW}")

    def _has_api_token(self, path: str, headers: dict[bytes, str]) -> bool:
        scheme, _, value = headers.get(b"authorization", "").partition(" ")
        return path.startswith("/api/") and scheme.lower() == "bearer" and self._auth.knows_api_token(value.strip())

    def _log_in(self, scope: Scope, *, is_known: bool) -> ASGIApp | None:
        """The answer to a link: a page that leads to the same address without the token, and sets the session cookie.

        No redirect: browsers keep a `SameSite=Strict` cookie back on a redirect that began at another place, such as the file
        that `hansard web` opens.
        """
        from starlette.responses import HTMLResponse

        if b"token=" not in scope["query_string"] or scope["method"] != "GET" or scope["path"].startswith("/api/"):
            return None
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        token = next((value for name, value in pairs if name == "token"), None)
        if token is None:
            return None
        session = self._auth.log_in(token)
        if session is None and not is_known:
            return refusal(scope["path"], 401, "no_token", f"this link was used already, or is too old: {_HOW}")
        rest = urlencode([(name, value) for name, value in pairs if name != "token"])
        path = "/" + quote(scope["path"].lstrip("/\\"))  # never //elsewhere
        answer = HTMLResponse(page("login.html", target=path + (f"?{rest}" if rest else "")))
        if session is not None:
            answer.set_cookie(
                self._auth.cookie, session, max_age=_COOKIE_SECONDS, path="/", httponly=True, samesite="strict"
            )
        return answer


def with_headers(given: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers of an answer, and those that every answer has."""
    present = {name.lower() for name, _ in given}
    more = {**HEADERS, "cache-control": "no-store"}
    return [
        *given,
        *((name.encode(), value.encode()) for name, value in more.items() if name.encode() not in present),
    ]


def _is_same_origin(method: str, headers: dict[bytes, str], *, is_program: bool) -> bool:
    """Whether a request comes from a page of ours or from no page at all; links from elsewhere may lead here.

    A program that has the API token needs no Origin header: unlike a cookie, no browser sends a token by itself.
    """
    origin, site = headers.get(b"origin"), headers.get(b"sec-fetch-site")
    if origin is not None:
        return origin.lower() in (f"{scheme}://{headers.get(b'host', '')}".lower() for scheme in ("http", "https"))
    if method not in _SAFE:
        return site == "same-origin" or (site is None and is_program)
    return site in (None, "same-origin", "none") or headers.get(b"sec-fetch-mode") == "navigate"


def _cookies(header: str, name: str) -> list[str]:
    """The values of a cookie; other programs on this machine may set what no parser accepts, or the same name."""
    pairs = (part.strip().partition("=") for part in header.split(";"))
    return [value.strip().strip('"') for key, _, value in pairs if key.strip() == name]


def _bounded(receive: Receive, is_answered: Callable[[], bool]) -> Receive:
    """A request's body, of which no more is read than it may have, for no longer than it may take."""
    taken = 0
    is_whole = False
    end: float | None = None

    async def bounded() -> Message:
        nonlocal taken, is_whole, end
        if is_whole:
            return await receive()
        now = asyncio.get_running_loop().time()
        end = end or now + BODY_SECONDS
        try:
            async with asyncio.timeout(max(0, min(BODY_IDLE_SECONDS, end - now))):
                message = await receive()
        except TimeoutError:
            if is_answered():
                return {"type": "http.disconnect"}
            raise HttpError(408, "timeout", "the body did not come in time", {"connection": "close"}) from None
        if message["type"] != "http.request":
            if is_answered():
                return message
            raise HttpError(400, "bad_request", "the body is not whole")  # nobody hears it
        is_whole = not message.get("more_body", False)
        taken += len(message.get("body", b""))
        if taken > MAX_BODY:
            raise HttpError(413, "too_large", f"a body has at most {MAX_BODY:,} bytes")
        return message

    return bounded
