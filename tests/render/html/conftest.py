"""The hard session, and a real browser where there is one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hansard
from hansard.demo.history import write_hard_session

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from hansard.engine import Hansard
    from hansard.model.sessions import Session

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


@pytest.fixture(scope="session")
def hard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Hansard, Session]]:
    """A store with the demo's hard session."""
    place = tmp_path_factory.mktemp("hard")
    name = write_hard_session(place / "claude")
    with hansard.open(place / "home", [place / "claude"]) as store:
        store.sync()
        yield store, store.session(name)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The system's own Chromium, driven by Playwright; nothing is downloaded."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed: pip install playwright"
    )
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is on PATH")
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"] if as_root else [])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to write pages into."""
    return tmp_path_factory.mktemp("pages")
