"""What outlasts a run of the server, in a file that only its owner can read: the name of its pages and, if wanted, the logins."""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import msgspec

from hansard.export.files import NotWritten, make_folder, write_file

LOGIN_SECONDS = 30 * 86_400.0
"""For how long a kept login is good."""
_MOST_LOGINS = 50
_IS_NAME = re.compile(r"hansard-[0-9a-f]{16}\.localhost").fullmatch
_IS_COOKIE = re.compile(r"hansard-[0-9a-f]{16}").fullmatch


def random_name() -> str:
    """A host name on the loopback that nobody can guess."""
    return f"hansard-{secrets.token_hex(8)}.localhost"


def hash_session(value: str) -> str:
    """What is kept of a session cookie: who reads it cannot log in with it."""
    return sha256(value.encode("utf-8", "replace")).hexdigest()


class LoginFile:
    """The file at `path`, one for a data directory; `keep_logins` False forgets the logins that were kept before."""

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
            make_folder(os.path.dirname(self._path))
            write_file(self._path, [msgspec.json.encode({"name": self.name, "cookie": self.cookie, "logins": logins})])
        except NotWritten:
            self.keeps_logins = False  # it is as if nobody had asked; the server says that the folder cannot be written
