"""Who may ask, and what a browser may do with an answer; nothing behind it is reached without passing here.

The server listens on this machine, and so does every page that a browser has open: another site's script can send requests
here, and a name of its own can be made to lead here. So a request must name a host that is ours, come from a page that is
ours where it says where it comes from, and carry the cookie that the printed link gave, whose token works once.
"""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from hansard.web.answers import Refused, refusal

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
_ONCE = (b"host", b"origin", b"content-length", b"content-type", b"sec-fetch-site", b"sec-fetch-mode")
_YEAR = 31_536_000


class Door:
    """The tokens and cookies of one run of the server."""

    def __init__(self, hosts: Iterable[str], port: int, *, told: Callable[[str], None] | None = None) -> None:
        """`told` hears of each new token, whose link can be opened once."""
        self.hosts = frozenset(host.casefold().rstrip(".") for host in hosts)
        self.port = port
        self.cookie = f"hansard-{port}"  # cookies do not tell ports apart
        self._told = told or (lambda _: None)
        self._keys: set[str] = set()
        self.token = secrets.token_urlsafe(24)

    def enter(self, token: str) -> str | None:
        """The key that a token opens the door with, once; the next visitor needs the next token."""
        if not secrets.compare_digest(token.encode("utf-8", "replace"), self.token.encode()):
            return None
        self.token = secrets.token_urlsafe(24)
        key = secrets.token_urlsafe(32)
        self._keys.add(key)
        self._told(self.token)
        return key

    def knows(self, key: str | None) -> bool:
        """Whether a cookie's value is one that was given."""
        given = (key or "").encode("utf-8", "replace")
        return any([secrets.compare_digest(given, known.encode()) for known in self._keys])  # noqa: C419 - all of them, always

    def is_ours(self, host: str) -> bool:
        """Whether a Host header names this server: an address, since only names can be made to lead elsewhere, or a known name."""
        try:
            name, port = split_host(host)
        except ValueError:
            return False
        return port == self.port and (name in self.hosts or _is_address(name))


def split_host(host: str) -> tuple[str, int]:
    """A Host header's name and port."""
    parts = urlsplit(f"//{host}")
    if parts.netloc != host or parts.username is not None or not parts.hostname or parts.path:
        raise ValueError(host)
    return parts.hostname.casefold().rstrip("."), parts.port or 80


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """ASGI middleware in front of everything."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app = app
        self._door = door

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

        refused = self._judge(scope)
        if refused is not None:
            await refused(scope, receive, guarded)
            return
        await self._app(scope, _bounded(receive, lambda: started), guarded)

    def _judge(self, scope: Scope) -> ASGIApp | None:
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
        if not self._door.is_ours(headers.get(b"host", "")):
            return refusal(
                path, 421, "wrong_host", "this server has another name; open the link that `hansard web` printed"
            )
        if not _is_same_origin(scope["method"], headers):
            return refusal(path, 403, "wrong_origin", "another site's page asked for this")
        length = headers.get(b"content-length", "0")
        if not length.isascii() or not length.isdigit() or len(length) > 9 or int(length) > MAX_BODY:
            return refusal(path, 413, "too_large", f"a body has at most {MAX_BODY:,} bytes")
        known = any(self._door.knows(key) for key in _cookies(headers.get(b"cookie", ""), self._door.cookie))
        entering = self._entering(scope, known=known)
        if entering is not None:
            return entering
        if not known and not path.startswith("/static/"):
            return refusal(
                path,
                401,
                "no_token",
                "open the link that `hansard web` printed in the terminal: it lets this browser in",
            )
        return None

    def _entering(self, scope: Scope, *, known: bool) -> ASGIApp | None:
        """The answer to a link with a token: the same address without it, and a cookie where the token was right."""
        from starlette.responses import RedirectResponse

        if b"token=" not in scope["query_string"] or scope["method"] != "GET" or scope["path"].startswith("/api/"):
            return None
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        token = next((value for name, value in pairs if name == "token"), None)
        if token is None:
            return None
        key = None if known else self._door.enter(token)
        if key is None and not known:
            return refusal(
                scope["path"],
                401,
                "no_token",
                "this link was used already, or is of another run; the terminal shows the one that works",
            )
        rest = urlencode([(name, value) for name, value in pairs if name != "token"])
        path = "/" + quote(scope["path"].lstrip("/\\"))  # never //elsewhere
        answer = RedirectResponse(path + (f"?{rest}" if rest else ""), 303)
        if key is not None:
            answer.set_cookie(self._door.cookie, key, max_age=_YEAR, httponly=True, samesite="strict")
        return answer


def with_headers(given: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers of an answer, and those that every answer has."""
    present = {name.lower() for name, _ in given}
    more = {**HEADERS, "cache-control": "no-store"}
    return [
        *given,
        *((name.encode(), value.encode()) for name, value in more.items() if name.encode() not in present),
    ]


def _is_same_origin(method: str, headers: dict[bytes, str]) -> bool:
    """Whether a request comes from a page of ours or from no page at all; links from elsewhere may lead here."""
    origin, site = headers.get(b"origin"), headers.get(b"sec-fetch-site")
    if origin is not None:
        return origin.lower() in (f"{scheme}://{headers.get(b'host', '')}".lower() for scheme in ("http", "https"))
    if method not in _SAFE:
        return site == "same-origin"
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
            raise Refused(408, "timeout", "the body did not come in time", {"connection": "close"}) from None
        if message["type"] != "http.request":
            if is_answered():
                return message
            raise Refused(400, "bad_request", "the body is not whole")  # nobody hears it
        is_whole = not message.get("more_body", False)
        taken += len(message.get("body", b""))
        if taken > MAX_BODY:
            raise Refused(413, "too_large", f"a body has at most {MAX_BODY:,} bytes")
        return message

    return bounded
