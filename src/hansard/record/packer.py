"""Hashing and compressing full chunks in a second thread, while the first one goes on reading and decoding.

Both release the interpreter's lock, so for a backlog this uses the time in which another core has nothing to do. The chunks
come back in the order in which they went in.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from queue import SimpleQueue
from typing import NamedTuple

from hansard.record.codec import Codec, Raw, short_hash

_AHEAD = 12  # chunks in flight: 3 MiB of raw bytes at the most
# The packing thread needs the interpreter's lock for an instant twice per chunk. With the default of 5 ms it would wait for
# it ten times longer than it works.
_SWITCH_SECONDS = 0.0005


class Packed(NamedTuple):
    """A chunk that is ready to be written."""

    generation: int
    start: int
    length: int
    hash: bytes
    frame: bytes


class Packer:
    """A thread with a queue on each side; it is started by the first chunk and ends with `stop`."""

    def __init__(self) -> None:
        self._todo: SimpleQueue[Raw | None] = SimpleQueue()
        self._done: SimpleQueue[tuple[bytes, bytes] | BaseException] = SimpleQueue()
        self._waiting: deque[tuple[int, int, int]] = deque()
        self._switch = sys.getswitchinterval()
        sys.setswitchinterval(min(self._switch, _SWITCH_SECONDS))
        self._thread = threading.Thread(target=self._work, name="hansard-packer", daemon=True)
        self._thread.start()

    def put(self, generation: int, start: int, raw: Raw) -> Packed | None:
        """Hand a chunk over; gives back an earlier one when enough of them are on their way."""
        self._waiting.append((generation, start, len(raw)))
        self._todo.put(raw)
        return self.take() if len(self._waiting) > _AHEAD else None

    def take(self) -> Packed | None:
        """Wait for the oldest chunk that is on its way; None when there is none."""
        if not self._waiting:
            return None
        outcome = self._done.get()
        generation, start, length = self._waiting.popleft()
        if isinstance(outcome, BaseException):
            raise outcome
        return Packed(generation, start, length, *outcome)

    def stop(self) -> None:
        """End the thread; chunks that were not taken are dropped."""
        self._todo.put(None)
        self._thread.join()
        sys.setswitchinterval(self._switch)

    def _work(self) -> None:
        codec = Codec()
        while (raw := self._todo.get()) is not None:
            try:
                self._done.put((short_hash(raw), codec.pack(raw)))
            except BaseException as error:  # noqa: BLE001 - the waiting thread raises it
                self._done.put(error)
