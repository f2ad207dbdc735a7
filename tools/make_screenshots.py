"""Make the pictures of the web app in docs/pictures: the demo history in a real Chromium. Needs `make install` and a browser."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import hansard
from hansard.demo import write_history

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
BROWSERS = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)
# The scratch folder's own name is of no interest.
_NAMELESS = """(place) => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) walker.currentNode.data = walker.currentNode.data.replaceAll(place, "~");
}"""
WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
TALL = {"width": 1440, "height": 1450}


def main() -> None:
    """Write every picture, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only these, without web- and .png")
    wanted = set(parser.parse_args().names)
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if path is None:
        sys.exit(f"no browser: none of {', '.join(BROWSERS)} is on PATH")
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as place:
        root, home = Path(place, ".claude"), Path(place, "hansard")
        write_history(root)
        with hansard.open(home, [root]) as h:
            h.sync()
            told = next(s for s in h.sessions(sort="cost", limit=20).sessions if s.agents)
            session = told.session_id
            h.pin(session)
            h.tag(session, "release")
        views = {
            "overview": ("/", TALL, "light"),
            "overview-dark": ("/", TALL, "dark"),
            "sessions": ("/sessions", WIDE, "light"),
            "session": (f"/sessions/{session}", WIDE, "light"),
            "session-dark": (f"/sessions/{session}", WIDE, "dark"),
            "session-phone": (f"/sessions/{session}", PHONE, "light"),
            "search": ("/search?q=tide", WIDE, "light"),
            "usage": ("/usage?by=day,model", WIDE, "light"),
            "files": ("/files", WIDE, "light"),
            "tools": ("/tools", WIDE, "light"),
            "sql": ("/sql?question=cost-by-model-and-month", WIDE, "light"),
            "health": ("/health", WIDE, "dark"),
        }
        command = [
            sys.executable,
            "-m",
            "hansard",
            "web",
            "--no-open",
            "--port",
            "0",
            "--home",
            str(home),
            "--root",
            str(root),
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
            try:
                link = (server.stdout.readline() if server.stdout else "").rpartition(" ")[2].strip()
                with sync_playwright() as driver:
                    browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--hide-scrollbars"])
                    take(
                        browser,
                        link,
                        place,
                        {name: view for name, view in views.items() if not wanted or name in wanted},
                    )
                    browser.close()
            finally:
                server.terminate()


def take(browser: Browser, link: str, place: str, views: dict[str, tuple[str, dict[str, int], str]]) -> None:
    """One picture for each view, in a browser that the link has let in."""
    address = link.partition("/?")[0]
    first = browser.new_context()
    page = first.new_page()
    page.goto(link)
    cookies = first.cookies()
    for name, (path, size, theme) in views.items():
        context = browser.new_context(viewport=size, color_scheme=theme)  # type: ignore[arg-type]
        context.add_cookies(cookies)  # type: ignore[arg-type]
        page = context.new_page()
        page.goto(address + path)
        page.wait_for_load_state("load")
        page.wait_for_timeout(700)  # what is fetched after the page
        page.evaluate(_NAMELESS, place)
        target = PICTURES / f"web-{name}.png"
        page.screenshot(path=target)
        print(f"{target.name}: {target.stat().st_size:,} bytes")
        context.close()
    first.close()


if __name__ == "__main__":
    main()
