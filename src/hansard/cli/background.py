"""Start detached background processes, at most one of a kind at a time.

What a client starts many times a minute does this, so the imports are few.
"""

from __future__ import annotations

import os
import sys
import time

START = "from hansard.cli import main; main()"
_FAR = 3600  # seconds; ignore times further ahead, from a clock that was wrong


class ProcessLock:
    """A file that one process locks at a time; its modification time says when the next one may start."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor = -1

    def wait(self) -> float:
        """Seconds until the next one may start, 0 when it may."""
        try:
            ahead = os.stat(self._path).st_mtime - time.time()
        except OSError:
            return 0.0
        return ahead if 0 < ahead < _FAR else 0.0

    def put_off(self, seconds: float) -> None:
        """Delay the next one by at least this many seconds."""
        at = time.time() + max(seconds, self.wait())
        os.utime(self._path, (at, at))

    def put_off_no_longer(self) -> None:
        """Let the next one start at once."""
        os.utime(self._path)

    def acquire(self, patience: float = 0.0) -> bool:
        """Lock it, unless another process has; the system unlocks it when this process ends."""
        if self._descriptor < 0:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        until = time.monotonic() + patience
        while not _locked(self._descriptor):
            if time.monotonic() >= until:
                self.release()
                return False
            time.sleep(0.02)
        return True

    def release(self) -> None:
        os.close(self._descriptor)
        self._descriptor = -1


def _locked(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def start_once(lock: ProcessLock, arguments: list[str], pause: float) -> None:
    """Start this program in the background, unless such a process is running or was started less than `pause` seconds ago."""
    if lock.wait() or not sys.executable or not lock.acquire():
        return
    try:
        if lock.wait():
            return
        lock.put_off(pause)
    finally:
        lock.release()
    spawn([sys.executable, "-P", "-c", START, *arguments])


def spawn(command: list[str]) -> None:
    """Start a detached process (daemon): its own session, no terminal, no streams, no parent."""
    if sys.platform == "win32":
        import subprocess

        subprocess.Popen(  # noqa: S603 - our own program
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            creationflags=subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP,
        )
        return
    # Not with `subprocess`, which takes as long to import as Python to start.
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        os.closerange(3, 256)
        os.execv(command[0], command)  # noqa: S606 - our own program
    finally:
        os._exit(127)
