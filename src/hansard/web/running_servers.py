"""Servers that run: a file for each in the data directory, by which its owner's other programs find it and may use its API."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from hansard.errors import NotFound
from hansard.files import make_private_folder, write_private
from hansard.web.redirect_file import login_link

_SECONDS = 10.0  # for an answer
_SUFFIX = ".json"


@dataclass(frozen=True, slots=True)
class Running:
    """A server, as its file describes it."""

    url: str  # of its pages
    address: str  # where programs reach it
    port: int
    pid: int
    home: str  # the store that it shows
    demo: bool
    api_token: str

    def is_alive(self) -> bool:
        """Whether it still answers to its API token; one that is too slow to answer counts."""
        try:
            return self._ask("GET", "/api/revision")[0] in (200, 503)
        except TimeoutError:
            return True
        except (OSError, ValueError):
            return False

    def new_link(self, path: str = "/") -> dict[str, Any]:
        """A login link for another browser: `link` and `expires_at`."""
        try:
            status, answer = self._ask("POST", "/api/links")
        except (OSError, ValueError) as error:
            raise NotFound(f"the server on port {self.port} is not responding: {error}") from error
        # Another program may have taken the port of a server that died; it does not know the name.
        if status != 200 or not str(answer.get("link")).startswith(f"{self.url}/"):
            raise NotFound(f"the server on port {self.port} returned no link; stop it and start it again")
        token = answer["link"].rpartition("token=")[2]
        return {"link": login_link(self.url, token, path), "expires_at": answer["expires_at"]}

    def _ask(self, method: str, path: str) -> tuple[int, dict[str, Any]]:
        from http.client import HTTPConnection, HTTPException

        connection = HTTPConnection(self.address, self.port, timeout=_SECONDS)
        try:
            connection.request(method, path, headers={"authorization": f"Bearer {self.api_token}"})
            answer = connection.getresponse()
            return answer.status, msgspec.json.decode(answer.read(1 << 16), type=dict[str, Any])
        except HTTPException as error:
            raise ValueError(str(error)) from error
        finally:
            connection.close()


def path_of(folder: str, port: int) -> str:
    """The file of the server on a port."""
    return os.path.join(folder, f"{port}{_SUFFIX}")


@contextlib.contextmanager
def registered(folder: str, running: Running) -> Iterator[str]:
    """Have a server's file as long as it runs; only its owner can read it."""
    path = path_of(folder, running.port)
    make_private_folder(folder)
    write_private(path, msgspec.json.encode(running))
    try:
        yield path
    finally:
        if _read(path) == running:
            with contextlib.suppress(OSError):
                os.unlink(path)


def find(folder: str) -> list[Running]:
    """The servers that run, by port; files of others are removed."""
    found = []
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        for name in sorted(os.listdir(folder)):
            if not name.endswith(_SUFFIX) or (running := _read(os.path.join(folder, name))) is None:
                continue
            if running.is_alive():
                found.append(running)
            else:
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(folder, name))
    return sorted(found, key=lambda one: one.port)


def _read(path: str) -> Running | None:
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(), type=Running)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
