"""The child process of a page's figures: an exported file in the system's own Chromium."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_TIMES = """() => new Promise((done) => {
    const tell = () => {
        const [page] = performance.getEntriesByType("navigation");
        const paint = performance.getEntriesByName("first-contentful-paint")[0];
        done({load: page.loadEventEnd, paint: paint ? paint.startTime : null, elements: document.querySelectorAll("*").length});
    };
    requestAnimationFrame(() => setTimeout(tell, 200));
})"""


def load(page: str, times: str) -> dict[str, Any]:
    """Open a page so many times, each in a fresh window, and tell in milliseconds when it was there."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return {"missing": "Playwright is not installed"}
    path = next((found for name in _BROWSERS if (found := shutil.which(name))), None)
    if path is None:
        return {"missing": f"none of {', '.join(_BROWSERS)} is on PATH"}
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    told: dict[str, list[float]] = {"load": [], "paint": [], "elements": []}
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"] if as_root else [])
        for _ in range(int(times)):
            context = browser.new_context(viewport={"width": 1440, "height": 900})
            window = context.new_page()
            window.goto(Path(page).as_uri(), wait_until="load", timeout=300_000)
            found = window.evaluate(_TIMES)
            for name, values in told.items():
                if found[name] is not None:
                    values.append(found[name])
            context.close()
        browser.close()
    return told
