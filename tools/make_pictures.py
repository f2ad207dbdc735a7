"""Draws the pictures of the README from real runs on the demo history: `python tools/make_pictures.py`."""

from __future__ import annotations

import asyncio
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

from hansard.demo import write_history

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
WIDTH = 100
RUNS = {
    "overview": [],
    "search": ["search", "gauge tide", "--limit", "4"],
    "show": ["show", "cross-compile for the probe"],
    "status": ["status"],
    "usage": ["usage", "--chart", "bars", "--since", "30d"],
    "calendar": ["usage", "--chart", "calendar"],
    "explain": ["explain", "@last", "--limit", "1"],
}
LINES = 44
# Without the fonts that the template would fetch from elsewhere.
TEMPLATE = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL).replace(
    "Fira Code", "ui-monospace"
)


# Of the terminal app: the keys that lead to what is shown.
SCREENS: dict[str, list[str]] = {
    "tui-sessions": ["down", "down"],
    "tui-reader": ["down", "enter", "left_square_bracket"],
    "tui-search": ["3", *"tide"],
    "tui-usage": ["4", "right", "right", "right"],
}
SIZE = (140, 38)


def main() -> None:
    """Write one SVG per run."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        write_history(Path(scratch, ".claude"))
        for name, arguments in RUNS.items():
            draw(name, arguments, scratch)
        for name, keys in SCREENS.items():
            asyncio.run(draw_screen(name, keys, scratch))


async def draw_screen(name: str, keys: list[str], scratch: str) -> None:
    """Press keys in the terminal app and draw what it shows."""
    import hansard
    from hansard.model.calendar import find_zone
    from hansard.tui.app import HansardApp, Setup

    home = Path(scratch, "data")
    (home / "tui.json").unlink(missing_ok=True)
    setup = Setup(lambda: hansard.open(home), str(home), find_zone("UTC"), is_syncing=False)
    app = HansardApp(setup)
    async with app.run_test(size=SIZE) as pilot:
        for key in ["", *keys]:
            await pilot.press(*filter(None, [key]))
            for _ in range(3):
                await pilot.pause()
                await app.workers.wait_for_complete()
        app.theme = "textual-dark"
        await pilot.pause()
        console = Console(
            record=True,
            width=SIZE[0],
            height=SIZE[1],
            file=io.StringIO(),
            force_terminal=True,
            color_system="truecolor",
            legacy_windows=False,
        )
        console.print(app.screen._compositor.render_update(full=True))  # noqa: SLF001 - as Textual's own pictures are made
    path = PICTURES / f"{name}.svg"
    console.save_svg(str(path), title="hansard tui", unique_id=f"hansard-{name}", code_format=TEMPLATE)
    print(f"{name}: {', '.join(keys)}")


def draw(name: str, arguments: list[str], scratch: str) -> None:
    """Run one command and draw what it printed."""
    environment = os.environ | {"HOME": scratch, "COLUMNS": str(WIDTH), "TZ": "UTC", "HANSARD_HOME": f"{scratch}/data"}
    environment.pop("NO_COLOR", None)
    printed = subprocess.run(
        [sys.executable, "-m", "hansard", "--color", "always", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    lines = printed.replace(scratch, "~").splitlines()
    shown = "\n".join(lines[:LINES])
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text("$ hansard " + " ".join(arguments), style="bold"))
    console.print(Text.from_ansi(shown))
    path = PICTURES / f"{name}.svg"
    console.save_svg(
        str(path), title="hansard", theme=DIMMED_MONOKAI, unique_id=f"hansard-{name}", code_format=TEMPLATE
    )
    print(f"{name}: {len(lines)} lines")


if __name__ == "__main__":
    main()
