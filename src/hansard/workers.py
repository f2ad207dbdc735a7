"""Helper processes, all by one protocol: this Python again, a function in it, and messages both ways over its pipes.

    worker = Worker("hansard.grep.file_search:search_files", *job)
    worker.send(task)
    answer = worker.receive()

The function is called with a `Channel` and the job, and returns when `receive` gives None: the other side has gone, however it
ended. Messages are tuples of what `marshal` knows. An error in the function is raised by the caller's `receive`, with its class.

`concurrent.futures` is not used. Its processes import the caller's `__main__`, so a script that uses the library and has no
guard would start again in each; they outlive a caller that is killed; an answer comes when its task is done, not as it is
found; and `multiprocessing` takes 20 ms to import.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import sys
from importlib import import_module
from typing import IO, Any, cast

from hansard.errors import HansardError
from hansard.quick_imports import import_quickly

_FAILED = None  # starts the message about an error


def command() -> list[str]:
    """How a worker is started; -P keeps what lies in the working directory from being imported."""
    return [sys.executable, "-P", "-m", "hansard.workers"]


def processors() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


class Channel:
    """One end of the two pipes between a worker and its parent."""

    def __init__(self, incoming: IO[bytes], outgoing: IO[bytes]) -> None:
        self._incoming = incoming
        self._outgoing = outgoing

    def send(self, *message: Any) -> None:
        """Write one message; OSError when the other side has gone."""
        data = marshal.dumps(message)
        self._outgoing.write(len(data).to_bytes(8, "big"))
        self._outgoing.write(data)
        self._outgoing.flush()

    def receive(self) -> Any:
        """Read one message, a tuple; None when the other side has gone."""
        head = self._incoming.read(8)
        size = int.from_bytes(head, "big") if len(head) == 8 else 0
        data = self._incoming.read(size)
        return marshal.loads(data) if size and len(data) == size else None  # noqa: S302 - both sides are this program


class Worker:
    """A process that runs one function, `module:name`, on a job; OSError where none can be started."""

    def __init__(self, function: str, *job: Any) -> None:
        if not sys.executable:
            raise OSError("this Python does not know its own path")
        import subprocess  # which the workers themselves can do without

        self.process = subprocess.Popen(  # noqa: S603 - this very interpreter, no shell
            command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._pipes = cast("tuple[IO[bytes], IO[bytes]]", (self.process.stdout, self.process.stdin))
        self._channel = Channel(*self._pipes)
        self.send(function, *job)

    def send(self, *message: Any) -> bool:
        try:
            self._channel.send(*message)
        except (OSError, ValueError):  # the pipe is broken, or was closed
            return False
        return True

    def receive(self) -> Any:
        """The next message, a tuple; None when the worker has gone. An error in the worker is raised here."""
        message = self._channel.receive()
        if message is not None and message[0] is _FAILED:
            _, name, text, advice = message
            kind = find(name)
            error = kind.__new__(kind, text)
            error.advice = advice
            raise error
        return message

    def has_message(self) -> bool:
        """Whether `receive` would give something at once; where the system cannot say, assume that it would."""
        import select

        try:
            return bool(select.select([self._pipes[0]], [], [], 0)[0])
        except (OSError, ValueError):  # Windows asks sockets alone
            return True

    def kill(self) -> None:
        """Stop it; a pending receive returns None."""
        self.process.kill()

    def close(self) -> None:
        """Stop it; no thread may be waiting for a message."""
        self.process.kill()
        for pipe in self._pipes:
            with contextlib.suppress(OSError):
                pipe.close()
        self.process.wait()


def find(name: str) -> Any:
    """The object that `module:name` names."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


def main() -> None:
    """Be a worker, on standard input and output."""
    # Nothing else that writes to standard output may write into a message.
    channel = Channel(sys.stdin.buffer, open(os.dup(1), "wb"))  # noqa: SIM115 - open as long as the process
    os.dup2(2, 1)
    import_quickly("msgspec")
    # An OSError is a pipe without its other end: the parent has gone.
    with contextlib.suppress(KeyboardInterrupt, OSError):
        function, *job = channel.receive()
        try:
            find(function)(channel, *job)
        except HansardError as error:
            channel.send(_FAILED, f"{type(error).__module__}:{type(error).__qualname__}", str(error), error.advice)
        except Exception as error:  # noqa: BLE001 - reported in the parent, since no one sees this process
            channel.send(_FAILED, "hansard.errors:HansardError", f"{type(error).__name__}: {error}", "")


if __name__ == "__main__":
    main()
