"""The worker behind the hooks: one process that syncs while there are requests, urgent ones first, then searches for secrets."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from typing import TYPE_CHECKING

from hansard.cli.fast_start import decode, is_name
from hansard.cli.hook.run import (
    AGAIN,
    FAILED,
    FOLDER,
    INPUT,
    KEEP,
    KEEPING,
    RUNNING,
    SEARCHED,
    WARM,
    date_of,
    is_urgent,
    put_request,
    take_requests,
    waiting,
    worker_lock,
    write_log,
)
from hansard.errors import NotFound, StoreBusy
from hansard.files import write_private

if TYPE_CHECKING:
    from collections.abc import Collection

    from hansard.cli.hook.run import Options
    from hansard.config import Settings
    from hansard.engine import Hansard
    from hansard.sync.report import Progress

_DELAY = 1.0  # seconds; at Stop the last answer is usually not in the file yet
_SHARE = 20  # sync for at most 1/20 of the time
_LONGEST = 300  # seconds; the longest pause between syncs
_STEP = 0.05
_INPUT_BYTES = 1 << 16
_SEARCH_AFTER = (
    60  # seconds after a search before another one, unless a session has ended: loading the rules takes 0.3 s of CPU
)
_LOCK_WAIT = 600.0  # seconds for another process's sync; no user waits for this one


def work(options: Options, home: str) -> None:
    """Handle all requests, unless another process is doing so."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError):  # it leads a session already
            os.setsid()  # a client that ends a hook ends its process group
        os.nice(5)
    os.chdir(home)  # the project's folder may be moved or deleted meanwhile
    failed = date_of(os.path.join(home, FOLDER, FAILED))
    if 0 <= time.time() - failed < AGAIN and not _waiting(home, KEEP):
        return
    lock = worker_lock(home)
    is_going_on = True
    urgent: list[str] = []
    while is_going_on and lock.acquire(patience=1.0):
        try:
            is_going_on = _meet_requests(options, home, urgent)
            lock.put_off_no_longer()
        finally:
            _remove([os.path.join(home, FOLDER, RUNNING)])
            lock.release()
        # A hook that found the lock held, or the worker running, may have left a request meanwhile.
        is_going_on = is_going_on and bool(_waiting(home))
    if not os.path.exists(os.path.join(home, FOLDER, FAILED)):
        _search(options, home, must=bool(urgent))


def _search(options: Options, home: str, *, must: bool) -> None:
    """Search what is new for secrets, without the lock: a hook starts another worker meanwhile, and waits for that one only."""
    from hansard import config

    searched = os.path.join(home, FOLDER, SEARCHED)
    if not must and 0 <= time.time() - date_of(searched) < _SEARCH_AFTER:
        return
    try:
        write_private(searched, b"")
        with config.load(os.environ, home=home, roots=options.roots, follow_links=options.follow_links).open() as h:
            report = h.scan_secrets()
            while report.bytes_read and report.unscanned_bytes:  # what other workers have stored meanwhile
                report = h.scan_secrets()
    except Exception as error:  # noqa: BLE001 - everything is stored; `hansard secrets` says what was not searched
        write_log(home, f"secrets: {type(error).__name__}: {error}")


def _meet_requests(options: Options, home: str, urgent: list[str]) -> bool:
    """Sync until there are no requests, and collect the urgent ones; False when that failed."""
    pause = _DELAY
    while _waiting(home):
        until = time.monotonic() + pause
        while time.monotonic() < until and not _waiting(home, KEEP):
            write_private(os.path.join(home, FOLDER, RUNNING), str(os.getpid()).encode())
            time.sleep(_STEP)
        taken = take_requests(home)
        urgent += filter(is_urgent, taken)
        before = time.monotonic()
        failure = os.path.join(home, FOLDER, FAILED)
        try:
            _sync(options, home, taken)
        except Exception as error:  # noqa: BLE001 - of the store, the settings or the sources: logged
            write_log(home, f"sync: {type(error).__name__}: {error}")
            with contextlib.suppress(OSError), open(os.open(failure, os.O_WRONLY | os.O_CREAT, 0o600), "ab"):
                os.utime(failure)
            return False  # the requests stay for the worker that the next hook starts
        _remove([*taken, failure])
        pause = max(_DELAY, min(_LONGEST, (time.monotonic() - before) * _SHARE))
    return True


def _waiting(home: str, kind: str | None = None) -> list[str]:
    """The names of open requests, after those that the shell has left are written as such."""
    folder = os.path.join(home, FOLDER)
    for name in os.listdir(folder):
        if not name.endswith(INPUT):
            continue
        path = os.path.join(folder, name)
        with open(path, "rb") as file:
            said = file.read(_INPUT_BYTES)
        session_id = _field(said, "session_id")
        event = name.removesuffix(INPUT).rpartition("-")[2]
        request = KEEP if event in KEEPING else WARM
        put_request(home, request, session_id if is_name(session_id) else "none", _field(said, "transcript_path"))
        os.unlink(path)
    return waiting(home, kind)


def _field(said: bytes, name: str) -> str:
    """A string field of a truncated JSON object."""
    found = re.search(rb'"%b"\s*+:\s*+("(?:[^"\\]|\\.)*+")' % name.encode(), said)
    try:
        value = decode(found[1]) if found is not None else ""
    except ValueError:
        return ""
    return value if isinstance(value, str) else ""


def _sync(options: Options, home: str, taken: dict[str, str]) -> None:
    from hansard import config, engine

    settings = config.load(os.environ, home=home, roots=options.roots, follow_links=options.follow_links)
    roots = [*settings.roots]
    named = {root for transcript in taken.values() if (root := root_of(transcript)) is not None}
    recorded: list[str] = []
    if unlisted := {root for root in named if not _is_listed(root, roots)}:
        with engine.open(home) as h, contextlib.suppress(NotFound):  # nothing was synced yet
            recorded = h.known_roots()
        for root in sorted(unlisted):
            if _is_listed(root, recorded):
                roots.append(root)
            else:
                # The hook's input must not decide what is read: the root could be anything on this machine.
                write_log(home, f"not stored: {root} is not a known root. To add it: hansard sync --root {root}")
    urgent = [path for path in taken if is_urgent(path)]

    def kept(progress: Progress) -> None:
        if progress.phase != "reading":  # all that was new is in the record
            _remove(urgent)

    with settings._replace(roots=tuple(roots)).open() as h:
        report = h.sync(listener=kept, wait_seconds=_LOCK_WAIT)
        if not report.busy:
            _note_budgets(h, settings, home)
    if report.busy:
        raise StoreBusy(f"another process did not finish within {_LOCK_WAIT:g} s")


def _note_budgets(h: Hansard, settings: Settings, home: str) -> None:
    from hansard.cli.hook.budgets import note_budgets

    try:
        note_budgets(h, settings, os.path.join(home, FOLDER))
    except Exception as error:  # noqa: BLE001 - everything is stored; the next prompt asks the store
        write_log(home, f"budgets: {type(error).__name__}: {error}")


def root_of(transcript: str) -> str | None:
    """The config directory of a transcript; None if the path is not one of a transcript."""
    folder, name = os.path.split(transcript)
    projects, project = os.path.split(folder)
    root, last = os.path.split(projects)
    if last != "projects" or not project or not name.endswith(".jsonl") or not os.path.isabs(root):
        return None
    return root if os.path.isdir(projects) else None


def _is_listed(folder: str, roots: Collection[str]) -> bool:
    """Whether a config directory is read through a root: it is one, or its projects directory is."""
    places = (os.path.realpath(folder), os.path.realpath(os.path.join(folder, "projects")))
    return any(os.path.realpath(os.path.expanduser(root)) in places for root in roots)


def _remove(paths: Collection[str]) -> None:
    for path in paths:
        with contextlib.suppress(OSError):
            os.unlink(path)
