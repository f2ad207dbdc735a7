"""What runs behind the line: the sync, the figures read again, and the lines that the shell script shows."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import TYPE_CHECKING

from hansard.cli.statusline.behind import Latch
from hansard.cli.statusline.door import MOST, phrase
from hansard.cli.statusline.known import FILE, Known, find_home, write_file
from hansard.cli.statusline.words import ClientInput

if TYPE_CHECKING:
    from hansard.cli.statusline.door import Options

SPOOL = "statusline"
BUSY = "busy"
_SHARE = 20  # a sync is let run for at most one part of the time in so many
_LONGEST = 600  # seconds until the next one, whatever the last one took
_ACTIVE = 900  # seconds for which a session's line is kept current
_FORGET = 2 * 86_400
_SECONDS = 5.0  # for reading the store: nobody waits


def refresh(wish: Options) -> None:
    """Bring lines and store up to date, unless another process is doing that; tells nobody of any trouble."""
    home = find_home(wish.home)
    if sys.platform != "win32":
        _step_aside()
    latch = Latch(home)
    try:
        if latch.hold(patience=1.0):
            _write_lines(wish, home)
            if not wish.no_sync and (not wish.every or not latch.wait()):
                _catch_up(wish, home, latch)
                _write_lines(wish, home)
    except OSError:
        return
    finally:
        _leave(home)


def _step_aside() -> None:
    """Survive the client's shell, and let whatever the user waits for go first."""
    if os.getpgrp() != os.getpid():
        os.setsid()
    os.nice(10)


def _catch_up(wish: Options, home: str, latch: Latch) -> None:
    latch.put_off(wish.every)
    before = time.monotonic()
    with contextlib.suppress(Exception):  # `hansard sync` and `hansard doctor` tell what is wrong
        _sync(wish)
    took = time.monotonic() - before
    Known.find(home, None, _now(), _SECONDS, anew=True)
    latch.put_off(max(wish.every, min(_LONGEST, took * _SHARE)))
    _tidy(home)


def _tidy(home: str) -> None:
    """Remove what was being written when the client ended the process that wrote it."""
    for name in os.listdir(home):
        path = os.path.join(home, name)
        if name.startswith(f"{FILE}.") and time.time() - os.stat(path).st_mtime > _LONGEST:
            os.unlink(path)


def _sync(wish: Options) -> None:
    from hansard import config, engine

    settings = config.load(os.environ, home=wish.home, roots=wish.roots, follow_links=wish.follow_links)
    if settings.roots:
        with engine.open(
            settings.home,
            settings.roots,
            follow_links=settings.follow_links,
            max_file=settings.max_file,
            prices=settings.prices,
        ) as h:
            h.sync(wait_seconds=0)


# -- what the shell script reads


def is_name(text: str) -> bool:
    """Whether the shell script makes files of this name."""
    return 0 < len(text) <= 64 and text.isascii() and text.replace("-", "").replace("_", "").isalnum()


def _write_lines(wish: Options, home: str) -> None:
    """Write the line of every session that asked lately, and forget those that have not for long."""
    spool = os.path.join(home, SPOOL)
    if not os.path.isdir(spool):
        return
    now = _now()
    shared = Known.find(home, None, now, _SECONDS)
    for name in os.listdir(spool):
        path = os.path.join(spool, name)
        with contextlib.suppress(Exception):  # one session's trouble is not the others'
            age = time.time() - os.stat(path).st_mtime
            stem, _, kind = name.partition(".")
            if age > _FORGET:
                os.unlink(path)
            elif kind == "in" and age < _ACTIVE and is_name(stem):
                with open(path, "rb") as file:
                    given = ClientInput(file.read(MOST))
                if given.is_understood:  # else it was caught while it was being written: the next one will do
                    has_it = given.session_id is None or given.session_id in (shared.figures or {}).get("sessions", {})
                    known = shared if has_it else Known.find(home, given.session_id, now, _SECONDS)
                    write_file(os.path.join(spool, f"{stem}.line"), phrase(wish, given, known, now) + "\n")


def _now() -> int:
    return int(time.time() * 1000)


def _leave(home: str) -> None:
    """Tell the shell script that this process is done."""
    path = os.path.join(home, SPOOL, BUSY)
    try:
        with open(path, "rb") as file:
            if file.read(32).strip() == str(os.getpid()).encode():
                os.unlink(path)
    except OSError:
        return
