"""`hansard open`: the session's page, from the server that runs or from a new one."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from .conftest import SESSION, Run

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest


@contextmanager
def started(root: Path, store: Path, *command: str) -> Iterator[str]:
    """Run a command that serves; gives what it said first."""
    arguments = [sys.executable, "-m", "hansard", *command, "--home", str(store), "--root", str(root)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8") as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline()
        finally:
            process.kill()


def page_at(link: str) -> str:
    """What a browser gets at a link: a page that leads to the address without the token."""
    parts = urlsplit(link)
    address = f"http://127.0.0.1:{parts.port}{parts.path}?{parts.query}"
    with urlopen(Request(address, headers={"Host": parts.netloc})) as answer:
        text: str = answer.read().decode()
        return text


def test_the_server_that_runs_is_used(run: Run, root: Path, tmp_path: Path) -> None:
    run("sync")
    with started(root, tmp_path / "store", "web", "--no-open", "--port", "0"):
        link = run("open", SESSION[:8], "--print").stdout.strip()
        assert urlsplit(link).path == f"/sessions/{SESSION}"
        assert f"/sessions/{SESSION}" in page_at(link)
        link = run("open", SESSION, "--at", "0", "--print").stdout.strip()
        assert re.search(r"\?at=0&token=[\w-]+#\S+$", link)
        assert "at=0" in page_at(link)
        answer = json.loads(run("open", "@last", "--json").stdout)
        assert answer["session_id"] in answer["link"]


def test_without_a_server_one_is_started(root: Path, tmp_path: Path) -> None:
    with started(root, tmp_path / "store", "open", SESSION, "--print") as said:
        link = said.split()[-1]
        assert urlsplit(link).path == f"/sessions/{SESSION}"
        assert f"/sessions/{SESSION}" in page_at(link)


def test_a_browser_gets_a_file_that_leads_there(
    run: Run, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    run("sync")
    with started(root, tmp_path / "store", "web", "--no-open", "--port", "0"):
        run("open", SESSION)
    [address] = opened
    assert "token" not in address  # others can read command lines
    assert f"/sessions/{SESSION}?token=" in Path(urlsplit(address).path).read_text()


def test_an_unknown_session_starts_nothing(run: Run) -> None:
    assert "'nowhere'" in run("open", "nowhere", code=1).stderr
