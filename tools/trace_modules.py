"""Which of our modules a request enters: a session's page, `hansard search`, `hansard usage`, and a sync after an append.

Each is asked of the demo history in this process. The page is that of a session asked for the first time, on a server that has
shown another one. Modules that are only imported do not count; those that run on the threads that answer do.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from inspect import CO_OPTIMIZED
from types import FrameType
from typing import Any

import httpx

import hansard
from hansard.cli import main as run_cli
from hansard.config import Settings
from hansard.demo import write_history
from hansard.web.app import make_app
from hansard.web.server import make_auth

_PACKAGE = os.path.dirname(hansard.__file__) + os.sep


def main() -> None:
    """Print the modules of each request, by package."""
    with tempfile.TemporaryDirectory() as folder:
        root, home = os.path.join(folder, "claude"), os.path.join(folder, "home")
        write_history(root, now=datetime.now(UTC))
        with hansard.open(home, [root]) as h:
            h.sync()
            first, second, *_ = sorted(h.sessions(limit=None).sessions, key=lambda session: -session.bytes)
            transcript = h.read(first).path
        page = asyncio.run(_page(home, root, f"/sessions/{second.session_id}", f"/sessions/{first.session_id}"))
        _show("session page", page)
        options = ["--home", home, "--root", root]
        _show("search", _command(*options, "--no-sync", "search", "fix"))
        _show("usage", _command(*options, "--no-sync", "usage"))
        with open(os.path.join(root, transcript), "r+b") as file:
            last = file.readlines()[-1]
            file.seek(0, os.SEEK_END)
            file.write(last)
        _show("append", _command(*options, "sync"))


def _show(title: str, entered: set[str]) -> None:
    packages: dict[str, list[str]] = {}
    for path in sorted(entered):
        package, _, name = path.removesuffix(".py").partition(os.sep)
        packages.setdefault(package, []).append(name.replace(os.sep, "."))
    print(f"{title}: {len(entered)} modules")
    for package, names in packages.items():
        print(f"  {package:8} {' '.join(filter(None, names))}")


@contextlib.contextmanager
def _traced(entered: set[str]) -> Iterator[None]:
    """Add the files whose functions are called by this thread and by those that it starts."""

    def note(frame: FrameType, event: str, argument: Any) -> None:  # noqa: ARG001 - the signature of a profiler
        code = frame.f_code
        # Optimized code is a function's; a module's or a class's own runs when it is imported.
        if event == "call" and code.co_flags & CO_OPTIMIZED and code.co_filename.startswith(_PACKAGE):
            entered.add(code.co_filename.removeprefix(_PACKAGE))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        entered -= {path for path in entered if not path.endswith(".py")}  # templates have names of their own


def _command(*words: str) -> set[str]:
    """The files that a command enters, options and output included."""
    entered: set[str] = set()
    sys.argv = ["hansard", *words]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit), _traced(entered):
        run_cli()
    return entered


async def _page(home: str, root: str, before: str, page: str) -> set[str]:
    """The files that a GET of the page enters."""
    auth = make_auth(80, "127.0.0.1", "127.0.0.1")
    key = auth.log_in(auth.issue_token())
    app = make_app(Settings(home, (root,), 64 << 20, timezone="UTC"), auth, syncing=False)
    cookies = {auth.cookie: key or ""}
    entered: set[str] = set()
    transport = httpx.ASGITransport(app)
    with _traced(entered):  # before the first question, so before there are threads that answer
        async with httpx.AsyncClient(transport=transport, base_url=auth.url, cookies=cookies) as client:
            await client.get(before)
            entered.clear()
            answer = await client.get(page)
    app.state.engines.close()
    answer.raise_for_status()
    return entered


if __name__ == "__main__":
    main()
