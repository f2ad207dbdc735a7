"""Finds whole JSON objects in a damaged line: one scan that builds no values, linear in the line's length.

An object may begin wherever `{` is followed by a quote. Read from there, either it comes to its end, or something is wrong, and
then every object that is open at that place has none. So the objects met on the way are known with it, and are not read again.
A beginning that was not met is at the end of a string; from there on quotes change sides. That is the only other way to read
a stretch, so no byte is read more than twice.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from hansard.clients.lines import MAX_DEPTH, MAX_STEPS
from hansard.lazy_regex import lazy_compile

if TYPE_CHECKING:
    from collections.abc import Iterator

_SPACE = rb"[ \t\r\n]*+"
_STRING = rb'"[^"\\]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\]*+)*+"'
_NUMBER = rb"-?+(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][-+]?+[0-9]++)?+"
_BEGINNING = lazy_compile(rb'\{[ \t\r\n]*+"')
_VALUE = lazy_compile(rb"(?:([{\[])|%b|%b|true|false|null|NaN|-?Infinity)%b" % (_STRING, _NUMBER, _SPACE))
_KEY = lazy_compile(rb"%b%b:%b" % (_STRING, _SPACE, _SPACE))
_AFTER = lazy_compile(rb"([,}\]])%b" % _SPACE)
_LIST = -1


class Objects:
    """The outermost whole objects of a line, from the left to the right; raw control characters and NaN are let pass."""

    def __init__(self, line: bytes, max_depth: int = MAX_DEPTH, max_steps: int = MAX_STEPS) -> None:
        self.too_deep = False  # something is nested deeper than is read
        self.stopped: int | None = None  # where the work became too much
        self.steps = 0  # values and separators that were looked at
        self.scanned = 0  # bytes
        self._line = line
        self._max_depth = max_depth
        self._max_steps = max_steps
        self._ends: dict[int, int] = {}  # where an object begins -> where it ends, or 0: nowhere

    def __iter__(self) -> Iterator[tuple[int, int]]:
        position = 0
        while found := _BEGINNING.search(self._line, position):
            start = found.start()
            if start not in self._ends:
                self._scan(start)
                if self.steps >= self._max_steps:
                    self.stopped = start
                    return
            end = self._ends[start]
            if end:
                yield start, end
            position = end or start + 1

    def _scan(self, start: int) -> None:
        """Read on from the beginning of an object, until it ends or something is wrong."""
        # Where open objects begin, and _LIST for lists; those that are too deep are not closed, and dropped at the left.
        open_: deque[int] = deque()
        at = start
        steps, most = self.steps, self._max_steps
        value, key, after, line = _VALUE.match, _KEY.match, _AFTER.match, self._line
        while steps < most and (found := value(line, at)):
            steps += 1
            if found[1]:
                if len(open_) == self._max_depth:
                    self.too_deep = True
                    self._ends[open_.popleft()] = 0
                is_object = found[1] == b"{"
                open_.append(at if is_object else _LIST)
                at = found.end()
                if not line.startswith(b"}" if is_object else b"]", at):
                    if not is_object:
                        continue
                    found = key(line, at)
                    if not found:
                        break
                    at = found.end()
                    continue
            else:
                at = found.end()
            while found := after(line, at):
                steps += 1
                at = found.end()
                if found[1] == b",":
                    break
                if (found[1] == b"]") != (open_[-1] == _LIST):
                    found = None
                    break
                self._ends[open_.pop()] = found.end(1)
                if not open_:
                    found = None
                    break
            if not found:
                break
            if open_[-1] != _LIST:
                found = key(line, at)
                if not found:
                    break
                at = found.end()
        for begun in open_:
            self._ends[begun] = 0
        self.steps = steps
        self.scanned += at - start
