"""An LRU cache for servers, whose threads share it."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

_Value = TypeVar("_Value")


class LruCache(Generic[_Value]):
    """The values used last, up to a limit; those made in less than `worth` seconds are not kept."""

    def __init__(self, most: int, worth: float = 0.0) -> None:
        self._most = most
        self._worth = worth
        self._values: OrderedDict[Hashable, _Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], _Value]) -> _Value:
        """The cached value of a key, or a new one from `make`."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        begun = time.perf_counter()
        made = make()
        if time.perf_counter() - begun >= self._worth:
            with self._lock:
                self._values[key] = made
                while len(self._values) > self._most:
                    self._values.popitem(last=False)
        return made

    def __len__(self) -> int:
        return len(self._values)
