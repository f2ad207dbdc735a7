"""What went wrong in hooks, which have nobody to tell: a log of bounded size."""

from __future__ import annotations

import os
import time

FILE = "hooks.log"
_MOST = 64 << 10  # bytes; then it becomes the former log, and a new one begins
_LONGEST = 600  # characters of an entry


def write_log(home: str, text: str) -> None:
    """Add an entry; where that cannot be done, nothing happens."""
    path = os.path.join(home, FILE)
    line = "".join(sign if sign.isprintable() else " " for sign in text[:_LONGEST])
    try:
        os.makedirs(home, mode=0o700, exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as file:
            if os.fstat(file.fileno()).st_size > _MOST:
                os.replace(path, f"{path}.1")
            stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            file.write(f"{stamp} {line}\n".encode("utf-8", "replace"))
    except OSError:
        return


def read_log(home: str, most: int = 5) -> list[str]:
    """The last entries, the oldest first."""
    try:
        with open(os.path.join(home, FILE), encoding="utf-8", errors="replace") as file:
            return file.read(2 * _MOST).splitlines()[-most:]
    except OSError:
        return []
