"""When the last sync was complete, and what has kept it from being so since; two small files beside the databases.

A sync that finds nothing new writes no database, so its success is the modification time of a file.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import NamedTuple

_DONE, _FAILED = "last-sync.json", "last-failure.json"


class Heartbeat(NamedTuple):
    """How current a store is."""

    last_sync: float | None  # seconds since 1970; None: there was no complete one yet
    problems: int  # what that one could not keep or index
    failed_at: float | None  # of a later sync that did not come to its end
    error: str | None


def beat(home: str, problems: int) -> None:
    """Note that a sync was complete."""
    path = os.path.join(home, _DONE)
    with contextlib.suppress(OSError):  # a store on a read-only medium is read all the same
        content = b'{"problems": %d}' % problems
        if _read(path) == content:
            os.utime(path)
        else:
            _write(path, content)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(home, _FAILED))


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
        _write(os.path.join(home, _FAILED), json.dumps({"at": time.time(), "error": text[:1000]}).encode())


def heartbeat(home: str) -> Heartbeat:
    """How current a store is."""
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


def _write(path: str, content: bytes) -> None:
    partial = f"{path}.{os.getpid()}"
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
    os.replace(partial, path)
