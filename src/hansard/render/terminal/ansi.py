"""What programs wrote: their colours as runs of text, whatever else they tried left out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hansard.render.terminal.spans import Span
from hansard.render.text import ESCAPES, clean

_COLOUR = re.compile("(?:\x1b\\[|\x9b)([0-9;:]*)m")
_LONGEST = 200  # characters of one sequence
_ON = {1, 2, 3, 4, 7, 9}  # not 5, 6 and 8, which blink and hide
_OFF = {22: {1, 2}, 23: {3}, 24: {4}, 27: {7}, 29: {9}}


class _State:
    """How a terminal would draw the next character."""

    def __init__(self) -> None:
        self.marks: set[int] = set()
        self.text = ""
        self.ground = ""

    def style(self) -> str:
        """Its parameters; text in the colour of its ground would not be seen, so that loses both."""
        hidden = bool(self.text) and self.text.replace("9", "3", 1)[1:] == self.ground.replace("10", "4", 1)[1:]
        colours = () if hidden else (self.text, self.ground)
        return ";".join(filter(None, (*map(str, sorted(self.marks)), *colours)))


def lines_of(text: str) -> Iterator[list[Span]]:
    """The lines of a program's output."""
    if "\x1b" not in text and "\x9b" not in text:
        yield from ([("", line)] for line in clean(text).split("\n"))
        return
    line: list[Span] = []
    for style, piece in _pieces(text):
        first, *others = piece.split("\n")
        line.append((style, first))
        for other in others:
            yield line
            line = [(style, other)]
    yield line


def _pieces(text: str) -> Iterator[Span]:
    state = _State()
    style, last = "", 0
    for match in ESCAPES.finditer(text):
        if match.start() > last:
            yield style, clean(text[last : match.start()])
        last = match.end()
        colour = _COLOUR.fullmatch(match[0])
        if colour is not None and len(colour[1]) < _LONGEST:
            _set(state, [int(number[:4] or 0) for number in colour[1].replace(":", ";").split(";")])
            style = state.style()
    yield style, clean(text[last:])


def _set(state: _State, numbers: list[int]) -> None:
    place = 0
    while place < len(numbers):
        number = numbers[place]
        place += 1
        if number == 0:
            state.marks, state.text, state.ground = set(), "", ""
        elif number in _ON:
            state.marks = state.marks | {number}
        elif number in _OFF:
            state.marks = state.marks - _OFF[number]
        elif 30 <= number < 38 or 90 <= number < 98:
            state.text = str(number)
        elif 40 <= number < 48 or 100 <= number < 108:
            state.ground = str(number)
        elif number == 39:
            state.text = ""
        elif number == 49:
            state.ground = ""
        elif number in (38, 48):
            size = {5: 2, 2: 4}.get(numbers[place] if place < len(numbers) else 0, 0)
            values = numbers[place : place + size]
            place += size or len(numbers)
            if size and len(values) == size and all(value < 256 for value in values):
                colour = ";".join(map(str, (number, *values)))
                state.text, state.ground = (colour, state.ground) if number == 38 else (state.text, colour)
