"""A page in a browser, with eyes on everything that it should not do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Request

_WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
"""


@dataclass
class Watched:
    """A page, and what it did."""

    page: Page
    complaints: list[str] = field(default_factory=list)  # errors in the console, uncaught ones, dialogs
    requests: list[str] = field(default_factory=list)
    unanswered: set[Request] = field(default_factory=set)

    def run(self, script: str, *given: Any) -> Any:
        """What a script in the page gives back."""
        return self.page.evaluate(script, *given)

    def until(self, script: str) -> None:
        """Wait for something to be true; Playwright's own way needs `eval`, which the page forbids."""
        for _ in range(600):
            if self.run(script):
                return
            self.page.wait_for_timeout(25)
        raise AssertionError(f"never came true: {script}")

    def expect(self, script: str, value: Any, *given: Any) -> None:
        """Wait for a script to give this value, as Playwright's `expect` does for what locators find."""
        found = None
        for _ in range(600):
            found = self.run(script, *given)
            if found == value:
                return
            self.page.wait_for_timeout(25)
        raise AssertionError(f"{script} gave {found!r} and never {value!r}")

    def expect_in_view(self, selector: str) -> None:
        """Wait until the top of an element is to be seen below the bar, and nothing moves any more."""
        in_view = """(selector) => {
            const box = document.querySelector(selector)?.getBoundingClientRect();
            const bar = document.getElementById("bar").getBoundingClientRect().bottom;
            return box !== undefined && box.height > 0 && box.top >= bar - 1 && box.top < innerHeight;
        }"""
        self.expect(in_view, True, selector)
        self.settle()
        self.expect(in_view, True, selector)

    def answered(self) -> None:
        """Wait until the page has got what it asked for; Playwright's `networkidle` waits in vain for the shared worker's script."""
        self.run("() => new Promise(requestAnimationFrame)")
        for _ in range(600):
            if not self.unanswered:
                return
            self.page.wait_for_timeout(25)
        raise AssertionError(f"never answered: {[request.url for request in self.unanswered]}")

    def settle(self) -> None:
        """Wait until nothing moves any more."""
        self.run(
            """() => new Promise((done) => {
                let [last, still] = [null, 0];
                const look = () => {
                    still = scrollY === last ? still + 1 : 0;
                    last = scrollY;
                    if (still > 4) done(); else requestAnimationFrame(look);
                };
                look();
            })"""
        )

    def check(self, path: Path) -> None:
        """Nothing went wrong, nothing was asked for but the page itself, and nothing was forbidden by its policy."""
        assert self.complaints == []
        assert self.run("window.violations ?? []") == []
        assert {request.partition("#")[0] for request in self.requests if not request.startswith("data:")} == {
            path.as_uri()
        }


def watch(context: BrowserContext) -> Watched:
    """A new page of a context, with eyes on it from its beginning."""
    context.set_default_timeout(20_000)
    page = context.new_page()
    watched = Watched(page)
    page.on(
        "console",
        lambda message: watched.complaints.append(message.text) if message.type in ("error", "warning") else None,
    )
    page.on("pageerror", lambda error: watched.complaints.append(str(error)))

    def ask(request: Request) -> None:
        watched.requests.append(request.url)
        if not request.url.endswith("/shared_stream.js"):
            watched.unanswered.add(request)

    def end(request: Request) -> None:
        watched.unanswered.discard(request)

    page.on("request", ask)
    page.on("requestfinished", end)
    page.on("requestfailed", end)

    def refuse(dialog: Any) -> None:
        watched.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    page.on("dialog", refuse)
    page.add_init_script(_WATCH)
    return watched


@contextmanager
def opened(browser: Browser, path: Path, *, hash: str = "", width: int = 1440, **options: Any) -> Iterator[Watched]:  # noqa: A002
    """A page from disk in a fresh context."""
    context = browser.new_context(viewport={"width": width, "height": 900}, **options)
    watched = watch(context)
    try:
        watched.page.goto(path.as_uri() + hash)
        yield watched
    finally:
        context.close()
