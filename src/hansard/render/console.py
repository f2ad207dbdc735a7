"""Output of programs for a terminal: its colours, as runs of text with CSS classes; other control sequences are removed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from hansard.lazy_regex import lazy_compile

if TYPE_CHECKING:
    from hansard.render.highlighting import Run

_SEQUENCE = lazy_compile(
    "\x1b\\[([0-?]*)[ -/]*([@-~])"  # CSI; m is a colour
    "|\x9b([0-?]*)[ -/]*([@-~])"
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c|(?=[\x1b\n])|$)"  # titles, links
    "|\x1b[ -/]*[0-~]?"
)
_NUMBERS = lazy_compile(r"[0-9;:]*")
_LINE_ENDS = lazy_compile("\r++\n?")
_UNSEEN = lazy_compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_UNSEEN_BYTES = bytes([*range(9), *range(11, 32), 127])  # those of them that are ASCII

# Where the sixteen colours lie, to find the nearest of them to any other.
_PALETTE = (
    (0, 0, 0), (205, 49, 49), (13, 188, 121), (229, 229, 16), (36, 114, 200), (188, 63, 188), (17, 168, 205), (204, 204, 204),
    (102, 102, 102), (241, 76, 76), (35, 209, 139), (245, 245, 67), (59, 142, 234), (214, 112, 214), (41, 184, 219), (255, 255, 255),
)  # fmt: skip
_CUBE = (0, 95, 135, 175, 215, 255)
_MARKS = {1: "bold", 2: "dim", 3: "ital", 4: "ul", 9: "strike"}
_INVERSE = 7
_ON = {*_MARKS, _INVERSE}  # not 5, 6 and 8, which blink and hide
_OFF = {22: {1, 2}, 23: {3}, 24: {4}, 27: {_INVERSE}, 29: {9}}
_LONGEST = 500  # characters of a sequence


class ConsoleStyle(NamedTuple):
    """How a terminal draws the next character: SGR parameters."""

    marks: frozenset[int] = frozenset()
    text: tuple[int, ...] = ()
    ground: tuple[int, ...] = ()


@lru_cache(maxsize=1024)
def styled(style: ConsoleStyle, parameters: str) -> ConsoleStyle:
    """The style after an SGR sequence with these parameters."""
    marks, text, ground = style
    numbers = [int(number[:4] or 0) for number in parameters[:_LONGEST].replace(":", ";").split(";")]
    place = 0
    while place < len(numbers):
        number = numbers[place]
        place += 1
        if number == 0:
            marks, text, ground = ConsoleStyle()
        elif number in _ON:
            marks |= {number}
        elif number in _OFF:
            marks -= _OFF[number]
        elif 30 <= number < 38 or 90 <= number < 98:
            text = (number,)
        elif 40 <= number < 48 or 100 <= number < 108:
            ground = (number,)
        elif number == 39:
            text = ()
        elif number == 49:
            ground = ()
        elif number in (38, 48):
            size = {5: 2, 2: 4}.get(numbers[place] if place < len(numbers) else 0, 0)
            values = numbers[place : place + size]
            place += size or len(numbers)
            if size and len(values) == size and all(value < 256 for value in values):
                text, ground = ((number, *values), ground) if number == 38 else (text, (number, *values))
    return ConsoleStyle(marks, text, ground)


def console_runs(text: str) -> Iterable[Run]:
    """A program's output as runs, each with the classes of its colours."""
    if "\r" in text:
        text = _LINE_ENDS.sub(lambda found: "\n" * max(1, found[0].count("\r") * (found[0][-1] == "\r")), text)
    if _has_unseen(text):
        return _runs(text)
    return (("", text),) if text else ()


def _has_unseen(text: str) -> bool:
    if not text.isascii():
        return _UNSEEN.search(text) is not None
    data = text.encode()  # ten times as fast
    return len(data.translate(None, _UNSEEN_BYTES)) < len(data)


def _runs(text: str) -> Iterator[Run]:
    style = ConsoleStyle()
    last = 0
    for match in _SEQUENCE.finditer(text):
        if piece := _UNSEEN.sub("", text[last : match.start()]):
            yield _classes(style), piece
        last = match.end()
        if "m" in (match[2], match[4]):
            parameters = match[1] if match[2] else match[3]
            if _NUMBERS.fullmatch(parameters):
                style = styled(style, parameters)
    if piece := _UNSEEN.sub("", text[last:]):
        yield _classes(style), piece


@lru_cache(maxsize=1024)
def _classes(style: ConsoleStyle) -> str:
    """The classes of a style: f and a number for the text, g for the ground, swapped if inverse."""
    text, ground = map(_of_sixteen, (style.text, style.ground))
    if _INVERSE in style.marks:
        names = ["fi" if ground is None else f"f{ground}", "gi" if text is None else f"g{text}"]
    else:
        names = [f"{sign}{colour}" for sign, colour in (("f", text), ("g", ground)) if colour is not None]
    return " ".join([*names, *(name for mark, name in _MARKS.items() if mark in style.marks)])


def _of_sixteen(colour: tuple[int, ...]) -> int | None:
    """The nearest of the sixteen colours."""
    match colour:
        case (number,):
            return number % 10 + (8 if number >= 90 else 0)
        case (_, 5, number):
            return _of_256(number)
        case (_, 2, red, green, blue):
            return _nearest(red, green, blue)
        case _:
            return None


def _of_256(number: int) -> int:
    if number < 16:
        return number
    if number < 232:
        red, rest = divmod(number - 16, 36)
        green, blue = divmod(rest, 6)
        return _nearest(_CUBE[red], _CUBE[green], _CUBE[blue])
    return _nearest(*(8 + 10 * (number - 232),) * 3)


@lru_cache(maxsize=4096)
def _nearest(red: int, green: int, blue: int) -> int:
    wanted = (red, green, blue)
    if max(wanted) - min(wanted) < 20:  # a grey stays a grey
        level = sum(wanted) // 3
        return 0 if level < 50 else 8 if level < 150 else 7 if level < 230 else 15
    return min(
        (place for place in range(16) if place not in (0, 7, 8, 15)),
        key=lambda place: sum((a - b) ** 2 for a, b in zip(_PALETTE[place], wanted, strict=True)),
    )
