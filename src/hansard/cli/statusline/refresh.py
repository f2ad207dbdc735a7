"""The background process of the status line: updates the snapshot, syncs, and writes the lines for the shell script."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import TYPE_CHECKING

from hansard.cli.fast_start import MOST, is_name
from hansard.cli.statusline.line import ClientInput
from hansard.cli.statusline.run import line_of, refresh_lock, trouble
from hansard.cli.statusline.snapshot import BUSY, FILE, SHAPE, SPOOL, HighWaterMark, Snapshot, find_state, load
from hansard.directories import data_directory
from hansard.files import write_private

if TYPE_CHECKING:
    from hansard.cli.statusline.run import Options

_SHARE = 20  # sync for at most 1/20 of the time
_LONGEST = 600  # seconds; the longest pause between syncs
_LOOK_AGAIN = 600_000  # milliseconds between two looks at what the client deletes soon: the roots are walked for it
_ACTIVE = 900  # seconds for which a session's line is kept current
_FORGET = 2 * 86_400


def refresh(options: Options) -> None:
    """Update the snapshot, the store and the lines, unless another process is doing so; errors are silent."""
    home = data_directory(options.home, os.environ)
    if sys.platform != "win32":
        _step_aside()
    lock = refresh_lock(home)
    try:
        if lock.acquire(patience=1.0):
            snapshot = update_snapshot(home, options)
            _write_lines(options, home, snapshot)
            if not options.no_sync and _now() >= snapshot.next_sync:
                from hansard.cli.statusline.figures import sync

                pause = max(options.every, min(_LONGEST, sync(options) * _SHARE))
                snapshot = update_snapshot(home, options, next_sync=_now() + int(pause * 1000))
                _write_lines(options, home, snapshot)
                _tidy(home)
    except OSError:
        return
    finally:
        _leave(home)


def _step_aside() -> None:
    """Outlive the client's shell, at a low priority."""
    if os.getpgrp() != os.getpid():
        os.setsid()
    os.nice(10)


def _tidy(home: str) -> None:
    """Remove temporary files of writers that were killed."""
    for name in os.listdir(home):
        path = os.path.join(home, name)
        if name.startswith(f"{FILE}.") and time.time() - os.stat(path).st_mtime > _LONGEST:
            os.unlink(path)


def _now() -> int:
    return int(time.time() * 1000)


# -- the snapshot


def update_snapshot(home: str, options: Options | None = None, *, next_sync: int | None = None) -> Snapshot:
    """Update the snapshot if something has changed; the caller holds the lock."""
    has_synced = next_sync is not None
    last, state, now = load(home), find_state(home), _now()
    if next_sync is None:
        next_sync = last.next_sync if last is not None else 0
    if last is not None and not last.is_stale(state, now):
        values = {**last.values, "next_sync": next_sync}
    else:
        from hansard.cli.statusline.figures import settings_and_figures

        values = {"shape": SHAPE, "state": state, "checked": now, "next_sync": next_sync}
        values |= settings_and_figures(home, last.figures if last is not None else None)
        values |= {
            "unkept": last.unkept if last is not None else None,
            "unkept_at": last.unkept_at if last is not None else 0,
        }
    if not 0 <= now - values["unkept_at"] < _LOOK_AGAIN or (has_synced and values["unkept"]):
        from hansard.cli.statusline.figures import unkept

        values |= {"unkept": unkept(home, options), "unkept_at": now}
    if last is None or values != last.values:
        import json

        with contextlib.suppress(OSError):
            write_private(os.path.join(home, FILE), json.dumps(values).encode())
    return Snapshot(values)


# -- what the shell script reads


def _write_lines(options: Options, home: str, snapshot: Snapshot) -> None:
    """Write the line of every recently active session, and remove the files of old ones."""
    spool = os.path.join(home, SPOOL)
    if not os.path.isdir(spool):
        return
    now = _now()
    for name in os.listdir(spool):
        path = os.path.join(spool, name)
        with contextlib.suppress(Exception):  # an error in one session must not affect the others
            age = time.time() - os.stat(path).st_mtime
            stem, _, kind = name.partition(".")
            if age > _FORGET:
                os.unlink(path)
            elif kind == "in" and age < _ACTIVE and is_name(stem):
                with open(path, "rb") as file:
                    given = ClientInput(file.read(MOST))
                if given.is_understood:  # else it was only half written; the next refresh reads it
                    mark = HighWaterMark(home, given.session_id)
                    line = line_of(options, given, snapshot, snapshot.state, now, mark) + trouble(home, snapshot)
                    write_private(os.path.join(spool, f"{stem}.line"), f"{line}\n".encode("utf-8", "replace"))


def _leave(home: str) -> None:
    """Let the shell script start the next refresh."""
    path = os.path.join(home, SPOOL, BUSY)
    try:
        with open(path, "rb") as file:
            if file.read(32).strip() == str(os.getpid()).encode():
                os.unlink(path)
    except OSError:
        return
