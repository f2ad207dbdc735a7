"""A view that refreshes itself on the terminal's other screen, and leaves the first one as it was."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import TYPE_CHECKING

from hansard.errors import StoreBusy, StoreUnusable
from hansard.render.text import fit, one_line

if TYPE_CHECKING:
    from hansard.cli.context import Context
    from hansard.engine import Hansard

_ENTER = "\x1b[?1049h\x1b[?25l"  # the other screen, without a cursor
_LEAVE = "\x1b[?25h\x1b[?1049l"
_HOME, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"


def is_terminal() -> bool:
    """Whether somebody looks at what is written, on a terminal that can redraw."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def show_live(cli: Context, h: Hansard, interval: float, draw: Callable[[int], Iterable[str]]) -> None:
    """Bring the store up to date and draw, again and again until ctrl-c; `draw` gets the columns."""
    with _other_screen(), contextlib.suppress(KeyboardInterrupt):
        while True:
            trouble = "" if cli.no_sync else _sync(h)
            size = shutil.get_terminal_size()
            head = fit(trouble or f"every {interval:g} s, ctrl-c ends", size.columns)
            lines = [cli.paint()(head, "yellow" if trouble else "dim"), "", *draw(size.columns)]
            _write(lines[: max(1, size.lines - 1)])
            time.sleep(interval)


def _write(lines: Iterable[str]) -> None:
    # One write for a frame, and no line erased before it is drawn over: nothing flickers.
    sys.stdout.write(_HOME + "".join(f"{line}{_CLEAR_LINE}\n" for line in lines) + _CLEAR_BELOW)
    sys.stdout.flush()


def _sync(h: Hansard) -> str:
    """Keep what is new; what hinders it is told in the frame, and the figures are from what is indexed."""
    try:
        report = h.sync(wait_seconds=0.2)
    except (StoreBusy, StoreUnusable) as error:
        return one_line(str(error))
    return "another process is syncing" if report.busy else ""


@contextlib.contextmanager
def _other_screen() -> Iterator[None]:
    """Draw elsewhere; whatever ends it, also a signal, leads back."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    is_main = threading.current_thread() is threading.main_thread()
    former = signal.signal(signal.SIGTERM, end) if is_main else None
    sys.stdout.write(_ENTER)
    try:
        yield
    finally:
        sys.stdout.write(_LEAVE)
        sys.stdout.flush()
        if is_main:
            signal.signal(signal.SIGTERM, former)
