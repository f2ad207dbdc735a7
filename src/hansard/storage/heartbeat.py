"""The state of syncs, in small files beside the databases: the last complete one, a failure since, the progress of the current one.

A sync that finds nothing new writes no database, so its success is the modification time of a file.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Struct

from hansard.files import is_alive, remove_stale_partials, write_private

if TYPE_CHECKING:
    from hansard.model.health import SyncProgress

_DONE, _FAILED, _GOING = "last-sync.json", "last-failure.json", "sync-progress.json"
_VERIFIED = "last-verify.json"
_CHECKED = "last-doctor.json"
_STALE_SECONDS = 60.0
_T = TypeVar("_T")


class _Done(Struct, frozen=True):
    problems: int = 0


class _Failure(Struct, frozen=True):
    at: float | None = None
    error: str | None = None


class Heartbeat(Struct, frozen=True):
    """How current a store is."""

    last_sync: float | None  # seconds since 1970; None: none was complete yet
    problems: int  # what that one could not keep or index
    failed_at: float | None  # of a later sync that failed
    error: str | None


def beat(home: str, problems: int) -> None:
    path = os.path.join(home, _DONE)
    with contextlib.suppress(OSError):  # a store on a read-only medium can still be read
        if _load(home, _DONE, _Done) == _Done(problems):
            os.utime(path)
        else:
            write_private(path, b'{"problems": %d}' % problems)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(home, _FAILED))
        remove_stale_partials(home)


def last_problems(home: str) -> int:
    """How many files and transcripts the last complete sync could not store or index."""
    return (_load(home, _DONE, _Done) or _Done()).problems


def note_failure(home: str, error: BaseException) -> None:
    """Note that a sync failed."""
    _save(home, _FAILED, _Failure(time.time(), _text(str(error) or type(error).__name__)))


def heartbeat(home: str) -> Heartbeat:
    failed = _load(home, _FAILED, _Failure) or _Failure()
    try:
        last: float | None = os.stat(os.path.join(home, _DONE)).st_mtime
    except OSError:
        last = None
    return Heartbeat(last, last_problems(home), failed.at, failed.error)


class _Going(Struct, frozen=True):
    phase: str
    files: int
    files_total: int
    pid: int


def note_progress(home: str, progress: SyncProgress) -> None:
    """Note the progress of this process's sync for others."""
    _save(home, _GOING, _Going(progress.phase, progress.files, progress.files_total, os.getpid()))


def clear_progress(home: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(home, _GOING))


def sync_progress(home: str) -> SyncProgress | None:
    """Progress of a running sync; None if there is none, or only a short one."""
    noted = _load(home, _GOING, _Going)
    if noted is None or (noted.pid > 0 and not is_alive(noted.pid)):
        return None
    from hansard.model.health import PHASES, SyncProgress

    try:
        is_stale = time.time() - os.stat(os.path.join(home, _GOING)).st_mtime > _STALE_SECONDS
    except OSError:
        return None
    if is_stale or noted.phase not in PHASES:
        return None
    return SyncProgress(noted.phase, noted.files, noted.files_total)


class LastVerify(Struct, frozen=True):
    """What the last check of the whole record found."""

    at: float  # seconds since 1970
    mismatches: int
    first: str = ""


def note_verify(home: str, mismatches: int, first: str) -> None:
    """Note the result of a check of the whole record."""
    _save(home, _VERIFIED, LastVerify(time.time(), mismatches, _text(first)))


def last_verify(home: str) -> LastVerify | None:
    """The result of the last check of the whole record, or None."""
    return _load(home, _VERIFIED, LastVerify)


def note_checked(home: str, name: str, page: int) -> None:
    """Note the page up to which a database was checked; the next check continues there."""
    _save(home, _CHECKED, {**(_load(home, _CHECKED, dict[str, int]) or {}), name: page})


def checked_up_to(home: str, name: str) -> int:
    """The page up to which a database was checked; 0: start at the beginning."""
    return max(0, (_load(home, _CHECKED, dict[str, int]) or {}).get(name, 0))


def _text(text: str) -> str:
    return text[:1000].encode("utf-8", "replace").decode()


def _save(home: str, name: str, value: object) -> None:
    with contextlib.suppress(OSError):
        write_private(os.path.join(home, name), msgspec.json.encode(value))


def _load(home: str, name: str, kind: type[_T]) -> _T | None:
    """The content of one of the files; None if it is missing or not ours."""
    try:
        with open(os.path.join(home, name), "rb") as file:
            return msgspec.json.decode(file.read(1 << 16), type=kind)
    except (OSError, ValueError, msgspec.DecodeError):
        return None
