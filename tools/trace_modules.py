"""Which of our modules a request for a session's page enters: serves the demo history in this process, asks for it, and prints them.

The server has shown another session before, so its connections are open; this one is asked for the first time. What is only
imported does not count; what runs on the threads that answer does.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import threading
from datetime import UTC, datetime
from inspect import CO_OPTIMIZED
from types import FrameType
from typing import Any

import httpx

import hansard
from hansard.config import Settings
from hansard.demo import write_history
from hansard.web.app import make_app
from hansard.web.server import make_auth

_STORE = ("model", "storage", "sources", "record", "parse", "index", "pricing")
_PACKAGE = os.path.dirname(hansard.__file__) + os.sep


def main() -> None:
    """Print the modules, by room."""
    with tempfile.TemporaryDirectory() as folder:
        root, home = os.path.join(folder, "claude"), os.path.join(folder, "home")
        write_history(root, now=datetime.now(UTC))
        with hansard.open(home, [root]) as h:
            h.sync()
            first, second, *_ = sorted(h.sessions(limit=None).sessions, key=lambda session: -session.bytes)
        entered = asyncio.run(_trace(home, root, f"/sessions/{second.session_id}", f"/sessions/{first.session_id}"))
    rooms: dict[str, list[str]] = {}
    for path in sorted(entered):
        room, _, name = path.removesuffix(".py").partition(os.sep)
        rooms.setdefault(room, []).append(name.replace(os.sep, "."))
    for room, names in rooms.items():
        print(f"{room:8} {' '.join(filter(None, names))}")
    store = sum(map(len, (rooms.get(room, []) for room in _STORE)))
    print(f"{len(entered)} modules, {store} of them in the rooms of the store")


async def _trace(home: str, root: str, before: str, page: str) -> set[str]:
    """The files with functions that a GET of the page called."""
    auth = make_auth(80, "127.0.0.1", "127.0.0.1")
    key = auth.log_in(auth.issue_token())
    app = make_app(Settings(home, (root,), 64 << 20, timezone="UTC"), auth, syncing=False)
    cookies = {auth.cookie: key or ""}
    entered: set[str] = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:  # noqa: ARG001 - the signature of a profiler
        code = frame.f_code
        # Optimized code is a function's; a module's or a class's own runs when it is imported.
        if event == "call" and code.co_flags & CO_OPTIMIZED and code.co_filename.startswith(_PACKAGE):
            entered.add(code.co_filename.removeprefix(_PACKAGE))

    threading.setprofile(note)  # before the first question, so before there are threads that answer
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=auth.url, cookies=cookies) as client:
        await client.get(before)
        entered.clear()
        sys.setprofile(note)
        answer = await client.get(page)
        sys.setprofile(None)
    threading.setprofile(None)
    app.state.engines.close()
    answer.raise_for_status()
    return {path for path in entered if path.endswith(".py")}  # templates are compiled under their own names


if __name__ == "__main__":
    main()
