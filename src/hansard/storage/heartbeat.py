"""When the last sync was complete, what has kept it from being so since, and how far the present one is; small files beside the databases.

A sync that finds nothing new writes no database, so its success is the modification time of a file.
"""

from __future__ import annotations

import contextlib
import os
import time

from msgspec import Struct

from hansard.files import is_alive, remove_stale_partials, write_private

_DONE, _FAILED, _GOING = "last-sync.json", "last-failure.json", "sync-progress.json"
_VERIFIED = "last-verify.json"
_CHECKED = "last-doctor.json"
_STALE_SECONDS = 60.0
_DONE_TO_FILES = {"reading": "read", "indexing": "indexed", "text": "searchable"}


class Heartbeat(Struct, frozen=True):
    """How current a store is."""

    last_sync: float | None  # seconds since 1970; None: there was no complete one yet
    problems: int  # what that one could not keep or index
    failed_at: float | None  # of a later sync that did not come to its end
    error: str | None


def beat(home: str, problems: int) -> None:
    path = os.path.join(home, _DONE)
    with contextlib.suppress(OSError):  # a store on a read-only medium is read all the same
        content = b'{"problems": %d}' % problems
        if _read(path) == content:
            os.utime(path)
        else:
            write_private(path, content)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(home, _FAILED))
        remove_stale_partials(home)


def last_problems(home: str) -> int:
    """What the last complete sync could not keep or index."""
    data = _read(os.path.join(home, _DONE)) or b""
    digits = data[len(b'{"problems": ') : -1]
    return int(digits) if digits.isdigit() else 0


def note_failure(home: str, error: BaseException) -> None:
    """Note that a sync did not come to its end."""
    text = str(error) or type(error).__name__
    import json

    with contextlib.suppress(OSError):
        write_private(os.path.join(home, _FAILED), json.dumps({"at": time.time(), "error": text[:1000]}).encode())


def heartbeat(home: str) -> Heartbeat:
    done, failed = os.path.join(home, _DONE), _object(os.path.join(home, _FAILED))
    try:
        last: float | None = os.stat(done).st_mtime
    except OSError:
        last = None
    at, error = failed.get("at"), failed.get("error")
    return Heartbeat(
        last,
        last_problems(home),
        float(at) if isinstance(at, (int, float)) else None,
        error if isinstance(error, str) else None,
    )


class SyncProgress(Struct, frozen=True):
    """How far the current sync is, in any process."""

    phase: str  # reading, indexing, text
    files: int
    files_total: int

    @property
    def words(self) -> str:
        """For people: 12 of 367 files read."""
        return f"{self.files:,} of {self.files_total:,} files {_DONE_TO_FILES[self.phase]}"


def note_progress(home: str, progress: SyncProgress) -> None:
    """Let other processes know how far this one's sync is."""
    content = b'{"pid": %d, "phase": "%s", "files": %d, "files_total": %d}'
    with contextlib.suppress(OSError):
        write_private(
            os.path.join(home, _GOING),
            content % (os.getpid(), progress.phase.encode(), progress.files, progress.files_total),
        )


def clear_progress(home: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(home, _GOING))


def sync_progress(home: str) -> SyncProgress | None:
    """How far a sync is; None when none is going on that takes long."""
    path = os.path.join(home, _GOING)
    noted = _object(path)
    pid, phase, files, total = (noted.get(name) for name in ("pid", "phase", "files", "files_total"))
    try:
        is_stale = time.time() - os.stat(path).st_mtime > _STALE_SECONDS
    except OSError:
        return None
    if isinstance(pid, int) and pid > 0 and not is_alive(pid):
        return None
    if is_stale or phase not in _DONE_TO_FILES or not isinstance(files, int) or not isinstance(total, int):
        return None
    return SyncProgress(str(phase), files, total)


class LastVerify(Struct, frozen=True):
    """What the last check of the whole record found."""

    at: float  # seconds since 1970
    mismatches: int
    first: str


def note_verify(home: str, mismatches: int, first: str) -> None:
    """Note what a check of the whole record found."""
    import json

    content = json.dumps({"at": time.time(), "mismatches": mismatches, "first": first[:1000]})
    with contextlib.suppress(OSError):
        write_private(os.path.join(home, _VERIFIED), content.encode())


def last_verify(home: str) -> LastVerify | None:
    """What the last check of the whole record found; None: there was none."""
    noted = _object(os.path.join(home, _VERIFIED))
    at, mismatches = noted.get("at"), noted.get("mismatches")
    if not isinstance(at, (int, float)) or not isinstance(mismatches, int):
        return None
    return LastVerify(at, mismatches, str(noted.get("first", "")))


def note_checked(home: str, name: str, page: int) -> None:
    """Note up to which page a database was checked, so that the next check goes on there."""
    import json

    path = os.path.join(home, _CHECKED)
    with contextlib.suppress(OSError):
        write_private(path, json.dumps({**_object(path), name: page}).encode())


def checked_up_to(home: str, name: str) -> int:
    """Up to which page a database was checked; 0: begin at the beginning."""
    page = _object(os.path.join(home, _CHECKED)).get(name)
    return page if isinstance(page, int) and page > 0 else 0


def _object(path: str) -> dict[str, object]:
    data = _read(path)
    if not data:
        return {}
    import json  # what a sync that finds nothing new can do without

    try:
        value = json.loads(data)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read(1 << 16)
    except OSError:
        return None
