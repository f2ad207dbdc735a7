"""Answers that took long, kept until the store changes."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.model.requests import Dated

_Answer = TypeVar("_Answer")
_Request = TypeVar("_Request", bound="Dated")
_MOST = 12  # the largest, a report by hour of some years, has some megabytes
_LONG = 0.02  # seconds


class AnswerCache:
    """A few answers by what they answer; the one that nobody asked for longest goes first."""

    def __init__(self, most: int = _MOST, long: float | None = None) -> None:
        self._most = most
        self._long = _LONG if long is None else long
        self._answers: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def answer(self, key: Hashable, make: Callable[[], _Answer]) -> _Answer:
        """The answer to a question; the key names all that it depends on, the state of the store too."""
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
                known: _Answer = self._answers[key]
                return known
        begun = time.perf_counter()
        made = make()
        if time.perf_counter() - begun >= self._long:
            with self._lock:
                self._answers[key] = made
                while len(self._answers) > self._most:
                    self._answers.popitem(last=False)
        return made

    def ask(self, h: Hansard, question: str, request: Dated, *, timed: bool = False) -> Any:
        """What the engine answers to a request."""
        key = (question, h.state(), steady(request, timed=timed))
        return self.answer(key, lambda: getattr(h, question)(request))

    def __len__(self) -> int:
        return len(self._answers)


def steady(request: _Request, *, timed: bool = False) -> _Request:
    """The same without the time of asking; with its minute if the answer depends on it, as that to a query may."""
    now = request.now
    if now is None:
        return request
    is_timed = timed or bool(getattr(request, "query", None))
    return replace(request, now=now.replace(second=0, microsecond=0) if is_timed else None)
