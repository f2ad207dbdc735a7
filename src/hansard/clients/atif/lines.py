"""A trajectory as lines: its head up to its steps, each step, and the same for the trajectories embedded in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hansard.clients.lines import Lines, LongLine, joined
from hansard.lazy_regex import lazy_compile

if TYPE_CHECKING:
    from collections.abc import Iterator

BETWEEN = b", \t\r\n"
_TOKEN = lazy_compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?(\s*+:)?+|[{}\[\]]', re.DOTALL)  # a string may be cut off
_TRAJECTORY, _STEPS, _STEP, _EMBEDDED, _OTHER = range(5)
_LISTS = {b'"steps"': _STEPS, b'"subagent_trajectories"': _EMBEDDED}
_AROUND = {_STEPS: _TRAJECTORY, _TRAJECTORY: _EMBEDDED, _EMBEDDED: _TRAJECTORY}


class TrajectoryLines(Lines):
    """A reader that begins in the middle, where a step begins or one ended, gets the steps from there on."""

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        data = joined(self._pieces)
        first = self.offset
        if isinstance(data, LongLine):
            self.rest = data
            return
        end = 0
        for start, stop in _parts(data, [_STEPS] if first else []):
            end = max(end, stop)
            if data[start:stop].strip(BETWEEN):
                self.offset = first + stop
                yield first + start, data[start:stop]
        self.offset = first + end
        self.rest = data[end:]

    def skip_equal(self, line: bytes) -> int:  # noqa: ARG002
        return 0


def _parts(data: bytes, stack: list[int]) -> Iterator[tuple[int, int]]:
    """Where lines begin and end; `stack` says what the first byte is inside of. What is not complete comes in no part."""
    cut, name = 0, b""
    for found in _TOKEN.finditer(data):
        token = found[0]
        kind = stack[-1] if stack else -1
        if token[:1] == b'"':
            if kind == _TRAJECTORY and found[1] is not None:
                name = token[: len(token) - len(found[1])]
        elif token in (b"[", b"{"):
            if token == b"[":
                inside = _LISTS.get(name, _OTHER) if kind == _TRAJECTORY else _OTHER
            else:
                inside = {-1: _TRAJECTORY, _EMBEDDED: _TRAJECTORY, _STEPS: _STEP}.get(kind, _OTHER)
            if inside in (_STEP, _TRAJECTORY):
                yield cut, found.start()
                cut = found.start()
            elif inside == _STEPS:
                yield cut, found.end()
                cut = found.end()
            stack.append(inside)
            name = b""
        elif stack:
            closed = stack.pop()
            if closed == _STEP:
                yield cut, found.end()
                cut = found.end()
            elif not stack and not data[found.end() :].strip():
                yield cut, len(data)
                return
            elif not stack and closed in _AROUND:  # it began in the middle
                stack.append(_AROUND[closed])
