"""Authentication: who was let in, and by which names the server may be asked.

A link holds a one-time token. Whoever opens it in time gets a session cookie, which is good until the server stops, or for a
month where the user wants logins to be kept (`login_file`). Programs send the API token in a header instead. All of them are random,
and unless they are to be kept they are in memory only and made anew at every start.

Browsers give cookies to every port of a host, so pages have a host name of their own: a random one under `.localhost`, which
browsers take to the loopback without asking anybody. Nothing else on the machine is asked by that name, so no other program's
page gets the cookie. It is the same at every start with one data directory, so that bookmarks and what a browser remembers stay good.
"""

from __future__ import annotations

import ipaddress
import secrets
import time
from collections.abc import Callable, Iterable
from typing import Literal
from urllib.parse import urlsplit

from hansard.web.login_file import LoginFile, hash_session

LINK_SECONDS = 300.0
"""For how long a link can be opened."""
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
        """Pages are at `name`, at its `aliases`, and with `any_address` at whatever address a connection came to."""
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
        """Where the pages are."""
        host = f"[{self.name}]" if ":" in self.name else self.name
        return f"http://{host}:{self.port}"

    # -- one-time tokens and session cookies

    def issue_token(self) -> str:
        """A token that lets one browser in, once, within `LINK_SECONDS`."""
        now = self._clock()
        valid = [(token, end) for token, end in self._tokens.items() if end > now]
        token = secrets.token_urlsafe(24)
        self._tokens = dict([*valid[1 - _MOST_LINKS :], (token, now + LINK_SECONDS)])
        return token

    def link(self, token: str, path: str = "/") -> str:
        """What to open to be let in."""
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
        """What there is at the name in a Host header: pages and all, the API, or nothing, against DNS rebinding.

        `address` is where the connection came to. The API, which needs no cookie, is also at the loopback's own names.
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


def login_link(url: str, token: str, path: str) -> str:
    """A page's address that lets a browser in; `path` may have a query and a fragment."""
    page, sign, fragment = path.partition("#")
    return f"{url}{page}{'&' if '?' in page else '?'}token={token}{sign}{fragment}"


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
