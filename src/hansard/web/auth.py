"""Authentication: logins, API tokens and host names, and the check in front of every request.

A link holds a one-time token. Opening it in time gives a session cookie, which is good until the server stops, or for a
month where the user wants logins to be kept (`LoginFile`). Programs send the API token in a header instead. All of them are random,
and unless they are to be kept they are in memory only and made anew at every start.

Browsers give cookies to every port of a host, so pages have a host name of their own: a random one under `.localhost`, which
browsers take to the loopback without asking anybody. Nothing else on the machine is asked by that name, so no other program's
page gets the cookie. It is the same at every start with one data directory, so that bookmarks and what a browser remembers stay good.

The server listens on this machine, and so does every page that a browser has open: another site's script can send requests
here (CSRF), and a name of its own can be made to lead here (DNS rebinding). So a request must name this server in its Host
header, come from a page of ours where it says where it comes from (Origin, Sec-Fetch-Site), and carry a session cookie or the
API token.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import re
import secrets
import time
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import msgspec

from hansard.files import make_private_folder, write_private
from hansard.web.redirect_file import LINK_SECONDS, login_link
from hansard.web.responses import HttpError, page, refusal

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOGIN_SECONDS = 30 * 86_400.0
"""For how long a kept login is good."""
_MOST_LOGINS = 50
_IS_NAME = re.compile(r"hansard-[0-9a-f]{16}\.localhost").fullmatch
_IS_COOKIE = re.compile(r"hansard-[0-9a-f]{16}").fullmatch


def random_name() -> str:
    """A host name on the loopback that nobody can guess."""
    return f"hansard-{secrets.token_hex(8)}.localhost"


def hash_session(value: str) -> str:
    """The stored form of a session cookie, which cannot be used to log in."""
    return sha256(value.encode("utf-8", "replace")).hexdigest()


class LoginFile:
    """The state that survives a restart of the server: its host name, and kept logins.

    `path` is one file per data directory, readable only by its owner. If `keep_logins` is False, earlier logins are forgotten.
    """

    def __init__(self, path: str, *, keep_logins: bool, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self.keeps_logins = keep_logins
        kept = self._read()
        self.name: str = kept["name"] if _IS_NAME(str(kept.get("name"))) else random_name()
        self.cookie = f"hansard-{secrets.token_hex(8)}"
        if keep_logins and _IS_COOKIE(str(kept.get("cookie"))):
            self.cookie = kept["cookie"]
        self._write(self._valid(kept) if keep_logins else {})

    def sessions(self) -> set[str]:
        """The hashes of the logins that are good."""
        return set(self._valid(self._read())) if self.keeps_logins else set()

    def add(self, session: str) -> None:
        """Keep a login, by its hash."""
        if self.keeps_logins:
            logins = self._valid(self._read())
            logins[session] = self._clock() + LOGIN_SECONDS
            self._write(dict(sorted(logins.items(), key=lambda item: item[1])[-_MOST_LOGINS:]))

    def _valid(self, kept: dict[str, Any]) -> dict[str, float]:
        now = self._clock()
        logins = kept.get("logins")
        if not isinstance(logins, dict):
            return {}
        return {
            session: end
            for session, end in logins.items()
            if isinstance(end, (int, float)) and now < end <= now + LOGIN_SECONDS
        }

    def _read(self) -> dict[str, Any]:
        try:
            with open(self._path, "rb") as file:
                return msgspec.json.decode(file.read(1 << 20), type=dict[str, Any])
        except (OSError, ValueError):
            return {}

    def _write(self, logins: dict[str, float]) -> None:
        try:
            make_private_folder(os.path.dirname(self._path))
            write_private(self._path, msgspec.json.encode({"name": self.name, "cookie": self.cookie, "logins": logins}))
        except OSError:
            self.keeps_logins = False  # as if not asked for; the server reports that the folder cannot be written


LOOPBACK = ("127.0.0.1", "localhost", "::1")
_MOST_LINKS = 16  # that wait to be opened


class Auth:
    """The names, tokens and cookies of one run of the server."""

    def __init__(
        self,
        port: int,
        name: str,
        *,
        aliases: Iterable[str] = (),
        any_address: bool = False,
        kept: LoginFile | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Pages are at `name`, at its `aliases`, and with `any_address` at any address that a connection came to."""
        self.port = port
        self.name = canonical(name)
        self.cookie = kept.cookie if kept is not None else f"hansard-{secrets.token_hex(8)}"
        self.api_token = secrets.token_urlsafe(32)
        self.on_login: Callable[[str], None] = lambda _: None  # hears the token that was used
        self._names = frozenset({self.name, *map(canonical, aliases)})
        self._any_address = any_address
        self._clock = clock
        self._tokens: dict[str, float] = {}  # until when each can be used
        self._kept = kept
        self._sessions = kept.sessions() if kept is not None else set()  # their hashes

    @property
    def url(self) -> str:
        host = f"[{self.name}]" if ":" in self.name else self.name
        return f"http://{host}:{self.port}"

    @property
    def cookie_seconds(self) -> int | None:
        """For how long a browser keeps its login; None for a session cookie, which ends with the browser."""
        return int(LOGIN_SECONDS) if self._kept is not None and self._kept.keeps_logins else None

    # -- one-time tokens and session cookies

    def issue_token(self) -> str:
        """A token that lets one browser in, once, within `LINK_SECONDS`."""
        now = self._clock()
        valid = [(token, end) for token, end in self._tokens.items() if end > now]
        token = secrets.token_urlsafe(24)
        self._tokens = dict([*valid[1 - _MOST_LINKS :], (token, now + LINK_SECONDS)])
        return token

    def link(self, token: str, path: str = "/") -> str:
        """The address that logs a browser in."""
        return login_link(self.url, token, path)

    def log_in(self, token: str) -> str | None:
        """The value of a new session cookie for a token, which is used up; None where the token is not valid."""
        now = self._clock()
        found = [known for known in self._tokens if _equal(token, known)]
        if not found or self._tokens.pop(found[0]) <= now:
            return None
        session = secrets.token_urlsafe(32)
        self._sessions.add(hash_session(session))
        if self._kept is not None:
            self._kept.add(hash_session(session))
        self.on_login(found[0])
        return session

    def knows_session(self, value: str) -> bool:
        """Whether a cookie's value is one that this run of the server gave, or one before it whose logins are kept."""
        hashed = hash_session(value)
        if self._kept is not None and hashed not in self._sessions:
            self._sessions |= self._kept.sessions()  # another server with this name may have given it
        return any([_equal(hashed, known) for known in self._sessions])  # noqa: C419 - all of them, in constant time

    def knows_api_token(self, value: str) -> bool:
        """Whether a program may use the API."""
        return _equal(value, self.api_token)

    # -- the Host header

    def answers_to(self, host: str, address: str | None = None) -> Literal["pages", "api"] | None:
        """What is served under the name in a Host header: pages, only the API, or nothing (against DNS rebinding).

        `address` is the local address of the connection. The API, which needs no cookie, is also served under loopback names.
        """
        try:
            name, port = split_host(host)
        except ValueError:
            return None
        if port != self.port:
            return None
        if name in self._names or (self._any_address and address is not None and name == canonical(address)):
            return "pages"
        return "api" if name in LOOPBACK else None


def split_host(host: str) -> tuple[str, int]:
    """A Host header's name and port."""
    parts = urlsplit(f"//{host}")
    if parts.netloc != host or parts.username is not None or not parts.hostname or parts.path:
        raise ValueError(host)
    return canonical(parts.hostname), parts.port or 80


def canonical(name: str) -> str:
    """The one spelling of a host name or an address."""
    name = name.casefold().rstrip(".")
    if ":" not in name and not name[-1:].isdigit():
        return name
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name
    return str(getattr(address, "ipv4_mapped", None) or address)


def _equal(given: str, known: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "replace"), known.encode())


MAX_QUERY = 8_192  # bytes of a query string
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
"""Headers of every response. `cache-control` defaults to `no-store`, so that no session text stays in a browser's cache."""
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
_HOW_TO_SIGN_IN = "run `hansard web --link` in a terminal and open the link it prints"


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
        """The response to send instead if the request is refused."""
        path: str = scope["path"]
        headers: dict[bytes, str] = {}
        for name, value in scope["headers"]:
            if name in _ONCE and name in headers:
                return refusal(path, 400, "bad_request", f"more than one {name.decode()} header")
            headers[name] = (
                f"{headers[name]}; {value.decode('latin-1')}" if name in headers else value.decode("latin-1")
            )
        if len(scope["query_string"]) > MAX_QUERY or len(scope.get("raw_path") or b"") > MAX_PATH:
            return address_refused(path)
        if not path.startswith("/") or any(sign < " " or sign == "\x7f" for sign in path):
            return refusal(
                path,
                400,
                "bad_request",
                "invalid address: it must start with a slash and contain no control characters",
            )
        there = self._auth.answers_to(headers.get(b"host", ""), (scope.get("server") or (None,))[0])
        if there is None:
            return refusal(path, 421, "wrong_host", f"this server does not serve that host name: {_HOW_TO_SIGN_IN}")
        is_program = self._has_api_token(path, headers)
        if not _is_same_origin(scope["method"], headers, is_program=is_program):
            return refusal(path, 403, "wrong_origin", "the request came from another site")
        length = headers.get(b"content-length", "0")
        if not length.isascii() or not length.isdigit() or len(length) > 9 or int(length) > MAX_BODY:
            return refusal(path, 413, "too_large", f"the request body is too large (the limit is {MAX_BODY:,} bytes)")
        if is_program or path.startswith("/static/"):
            return None
        if there == "pages":
            values = cookies(headers.get(b"cookie", ""), self._auth.cookie)
            is_known = any(self._auth.knows_session(value) for value in values)
            answer = self._log_in(scope, is_known=is_known)
            if is_known or answer is not None:
                return answer
        return refusal(path, 401, "no_token", f"this browser is not signed in: {_HOW_TO_SIGN_IN}")

    def _has_api_token(self, path: str, headers: dict[bytes, str]) -> bool:
        scheme, _, value = headers.get(b"authorization", "").partition(" ")
        return path.startswith("/api/") and scheme.lower() == "bearer" and self._auth.knows_api_token(value.strip())

    def _log_in(self, scope: Scope, *, is_known: bool) -> ASGIApp | None:
        """The answer to a link: a page that redirects to the same address without the token, and sets the session cookie.

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
            return refusal(
                scope["path"], 401, "no_token", f"this link was already used or has expired: {_HOW_TO_SIGN_IN}"
            )
        rest = urlencode([(name, value) for name, value in pairs if name != "token"])
        path = "/" + quote(scope["path"].lstrip("/\\"))  # never //elsewhere
        answer = HTMLResponse(page("login.html", target=path + (f"?{rest}" if rest else "")))
        if session is not None:
            answer.set_cookie(
                self._auth.cookie,
                session,
                max_age=self._auth.cookie_seconds,
                path="/",
                httponly=True,
                samesite="strict",
            )
        return answer


def address_refused(path: str) -> Response:
    """The answer to a request whose address is too long."""
    words = f"the address is too long: a query may have {MAX_QUERY:,} bytes, a path {MAX_PATH:,}"
    return refusal(path, 414, "too_long", words)


def with_headers(given: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers of an answer, and those that every answer has."""
    present = {name.lower() for name, _ in given}
    more = {**HEADERS, "cache-control": "no-store"}
    return [
        *given,
        *((name.encode(), value.encode()) for name, value in more.items() if name.encode() not in present),
    ]


def _is_same_origin(method: str, headers: dict[bytes, str], *, is_program: bool) -> bool:
    """Whether a request comes from one of Hansard's pages or from no page; links from elsewhere are allowed.

    A program that has the API token needs no Origin header: unlike a cookie, no browser sends a token by itself.
    """
    origin, site = headers.get(b"origin"), headers.get(b"sec-fetch-site")
    if origin is not None:
        return origin.lower() in (f"{scheme}://{headers.get(b'host', '')}".lower() for scheme in ("http", "https"))
    if method not in _SAFE:
        return site == "same-origin" or (site is None and is_program)
    return site in (None, "same-origin", "none") or headers.get(b"sec-fetch-mode") == "navigate"


def cookies(header: str, name: str) -> list[str]:
    """The values of a cookie; other programs on this machine may set what no parser accepts, or the same name."""
    pairs = (part.strip().partition("=") for part in header.split(";"))
    return [value.strip().strip('"') for key, _, value in pairs if key.strip() == name]


def _bounded(receive: Receive, is_answered: Callable[[], bool]) -> Receive:
    """A request's body, limited in size and in the time it may take."""
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
            raise HttpError(408, "timeout", "timed out waiting for the request body", {"connection": "close"}) from None
        if message["type"] != "http.request":
            if is_answered():
                return message
            raise HttpError(400, "bad_request", "the request body is incomplete")  # nobody hears it
        is_whole = not message.get("more_body", False)
        taken += len(message.get("body", b""))
        if taken > MAX_BODY:
            raise HttpError(413, "too_large", f"the request body is too large (the limit is {MAX_BODY:,} bytes)")
        return message

    return bounded
