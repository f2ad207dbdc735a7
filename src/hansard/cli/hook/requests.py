"""What hooks ask of the process behind them: small files in a folder, one for each session, so that many hooks make few requests."""

from __future__ import annotations

import os

from hansard.cli.background import ProcessLock
from hansard.files import write_private

FOLDER = "hooks"
KEEP, WARM = "keep", "sync"
"""Kinds of request: keep what is there at once, and bring the index up to date when there is time."""
_TAKEN = ".taken"
_LOCK = "lock"


def worker_lock(home: str) -> ProcessLock:
    """The lock that the worker holds."""
    return ProcessLock(os.path.join(home, FOLDER, _LOCK))


def put_request(home: str, kind: str, session_id: str, transcript: str) -> str:
    """Leave a request; gives the path that is gone, with and without `.taken`, when it has been met."""
    folder = os.path.join(home, FOLDER)
    for place in (home, folder):  # two hooks may make it at once
        os.makedirs(place, mode=0o700, exist_ok=True)
    path = os.path.join(folder, f"{session_id}.{kind}")
    write_private(path, transcript.encode("utf-8", "replace"))
    return path


def is_pending(path: str) -> bool:
    """Whether a request has not been met yet."""
    return os.path.exists(path) or os.path.exists(path + _TAKEN)


def waiting(home: str, kind: str | None = None) -> list[str]:
    """The names of requests that nobody has met, also those that a worker took before it died."""
    kinds = (KEEP, WARM) if kind is None else (kind,)
    names = os.listdir(os.path.join(home, FOLDER))
    return sorted(name for name in names if name.removesuffix(_TAKEN).rpartition(".")[2] in kinds)


def take_requests(home: str) -> dict[str, str]:
    """Take every request: the transcript that each names, by the path of what is to be removed when it has been met.

    A taken one has another name, so that the same session can ask again meanwhile.
    """
    taken = {}
    for name in waiting(home):
        path = os.path.join(home, FOLDER, name)
        target = path if name.endswith(_TAKEN) else path + _TAKEN
        if target != path:
            os.replace(path, target)
        with open(target, encoding="utf-8", errors="replace") as file:
            taken[target] = file.read(1 << 16)
    return taken


def is_urgent(path: str) -> bool:
    """Whether somebody waits for a request that was taken."""
    return path.endswith(f".{KEEP}{_TAKEN}")
