"""Every screen as a picture, compared with what was looked at and found good.

HANSARD_GOLDEN=write writes the files anew; look at the difference before you keep it.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hansard.engine import Hansard
from hansard.tui.frame import TABS
from tests.tui.conftest import DEMO_NOW
from tests.tui.driving import Driver, drive

GOLDEN = Path(__file__).parent / "golden"
KEYS: dict[str, tuple[str, ...]] = {
    "reader": ("1", "enter"),
    "search": ("3", *"cache", "enter"),
    "usage": ("4",),
    "files": ("5", "enter"),
}
_FONTS = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)


class _Frozen(datetime):
    """A clock that stands at the end of the demo history."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        return DEMO_NOW.astimezone(tz)


@pytest.fixture
def _same_everywhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No clock, zone, path or size of the machine."""
    for name in TABS:
        __import__(f"hansard.tui.views.{name}")
    for name, module in list(sys.modules.items()):
        if name.startswith("hansard.tui.") and getattr(module, "datetime", None) is datetime:
            monkeypatch.setattr(module, "datetime", _Frozen)
    search, status = Hansard.search, Hansard.status

    def instant_search(h: Hansard, *args: Any, **options: Any) -> Any:
        return msgspec.structs.replace(search(h, *args, **options), took_ms=0.0)

    def same_status(h: Hansard) -> Any:
        sizes = {"record_bytes": 900_000, "index_bytes": 2_000_000, "text_bytes": 1_000_000}
        return msgspec.structs.replace(status(h), home="/home/mira/.hansard", last_sync=DEMO_NOW, roots=(), **sizes)

    monkeypatch.setattr(Hansard, "search", instant_search)
    monkeypatch.setattr(Hansard, "status", same_status)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.skipif(os.name == "nt", reason="the zone cannot be set there")
@pytest.mark.parametrize("size", [(80, 24), (200, 50)], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", TABS)
@pytest.mark.usefixtures("_same_everywhere")
def test_screen(demo: Path, name: str, size: tuple[int, int]) -> None:
    pictures = []

    async def steps(driver: Driver) -> None:
        await driver.press(*KEYS.get(name, (str(TABS.index(name) + 1),)))
        pictures.append(driver.app.export_screenshot(title=f"Hansard: {name}"))

    drive(demo, steps, size=size)
    picture = "\n".join(line.rstrip() for line in _FONTS.sub("", pictures[0]).splitlines()) + "\n"
    path = GOLDEN / f"{name}_{size[0]}x{size[1]}.svg"
    if os.environ.get("HANSARD_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(picture.encode())
    assert picture == path.read_bytes().decode()
