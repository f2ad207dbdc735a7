"""Running the app without a terminal: keys in, lines out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.worker import WorkerCancelled

import hansard
from hansard.engine import Hansard
from hansard.model.calendar import find_zone
from hansard.tui.app import HansardApp, Outcome, Setup
from tests.web.serving import elsewhere

if TYPE_CHECKING:
    from textual.pilot import Pilot

Steps = Callable[["Driver"], Awaitable[None]]


class Driver:
    """The app as a user has it."""

    def __init__(self, app: HansardApp, pilot: Pilot[Any]) -> None:
        self.app = app
        self.pilot = pilot

    async def press(self, *keys: str) -> None:
        """Press keys, each when what the one before began is done."""
        for key in keys:
            await self.pilot.press(key)
            await self.settle()

    async def type(self, text: str) -> None:
        """Type a text without waiting between its letters."""
        await self.pilot.press(*("space" if letter == " " else letter for letter in text))
        await self.settle()

    async def settle(self) -> None:
        """Wait until nothing goes on."""
        for _ in range(3):
            await self.pilot.pause()
            while running := [worker for worker in self.app.workers if not worker.is_finished]:
                for worker in running:
                    with suppress(WorkerCancelled):  # an exclusive worker replaces the one before
                        await worker.wait()
        await self.pilot.pause()

    @property
    def lines(self) -> list[str]:
        """The screen."""
        return [strip.text for strip in self.app.screen._compositor.render_strips()]

    @property
    def text(self) -> str:
        """The screen as one text."""
        return "\n".join(self.lines)


def drive(
    home: Path,
    steps: Steps,
    *,
    size: tuple[int, int] = (80, 24),
    roots: list[Path] | None = None,
    directory: str | None = None,
    purpose: str = "",
    picks: str = "",
    browse: Callable[[str, str | None, int | None], None] | None = None,
    remembers: bool = False,
    keeps: bool = False,
    **options: Any,
) -> tuple[HansardApp, Outcome | None]:
    """Run the app on a store that is opened with these options, do something in it, and give how it ended."""
    if not (remembers or keeps):
        (home / "tui.json").unlink(missing_ok=True)

    def open_engine() -> Hansard:
        return hansard.open(home, roots=roots or (), **options)

    async def go() -> tuple[HansardApp, Outcome | None]:
        setup = Setup(
            open_engine,
            str(home),
            find_zone("UTC"),
            directory,
            is_syncing=bool(roots),
            browse=browse,
            purpose=purpose,
            picks=picks,
            remembers=remembers,
        )
        app = HansardApp(setup)
        async with app.run_test(size=size) as pilot:
            driver = Driver(app, pilot)
            await driver.settle()
            await steps(driver)
        return app, app.return_value

    return elsewhere(lambda: asyncio.run(go()))
