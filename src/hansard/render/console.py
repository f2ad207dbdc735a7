"""What programs wrote to a terminal: their colours stay, as runs of text with CSS classes, and all else they tried is left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from hansard.lazy_regex import lazy_compile
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
_ON = {1: "bold", 2: "dim", 3: "ital", 4: "ul", 7: "inv", 9: "strike"}
_OFF = {22: ("bold", "dim"), 23: ("ital",), 24: ("ul",), 27: ("inv",), 29: ("strike",)}


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
    state: _State = ()
    classes = ""
    last = 0
    for match in _SEQUENCE.finditer(text):
        if piece := _UNSEEN.sub("", text[last : match.start()]):
            yield classes, piece
        last = match.end()
        if "m" in (match[2], match[4]):
            parameters = match[1] if match[2] else match[3]
            if _NUMBERS.fullmatch(parameters):
                state, classes = _after(state, parameters[:500])
    if piece := _UNSEEN.sub("", text[last:]):
        yield classes, piece


_State = tuple[tuple[str, str], ...]


@lru_cache(maxsize=1024)
def _after(state: _State, parameters: str) -> tuple[_State, str]:
    """What a state becomes by the numbers of a sequence, and its classes; programs write the same few again and again."""
    colours = dict(state)
    _set_colours(colours, parameters)
    return tuple(colours.items()), _console_classes(colours)


def _set_colours(state: dict[str, str], parameters: str) -> None:
    numbers = [int(number[:4] or 0) for number in parameters.replace(":", ";").split(";")]
    place = 0
    while place < len(numbers):
        number = numbers[place]
        place += 1
        if number == 0:
            state.clear()
        elif number in _ON:
            state[_ON[number]] = _ON[number]
        elif number in _OFF:
            for name in _OFF[number]:
                state.pop(name, None)
        elif number in (38, 48):
            colour, place = _extended(numbers, place)
            if colour is not None:
                state["f" if number == 38 else "g"] = str(colour)
        elif number in (39, 49):
            state.pop("f" if number == 39 else "g", None)
        elif 30 <= number < 38 or 90 <= number < 98:
            state["f"] = str(number - 30 if number < 90 else number - 82)
        elif 40 <= number < 48 or 100 <= number < 108:
            state["g"] = str(number - 40 if number < 100 else number - 92)


def _extended(numbers: list[int], place: int) -> tuple[int | None, int]:
    """The nearest of the sixteen to a colour of 256 or of any, and the place behind its numbers."""
    kind = numbers[place] if place < len(numbers) else None
    if kind == 5 and place + 1 < len(numbers):
        return _of_256(numbers[place + 1]), place + 2
    if kind == 2 and place + 3 < len(numbers):
        return _nearest(numbers[place + 1], numbers[place + 2], numbers[place + 3]), place + 4
    return None, len(numbers)


def _of_256(number: int) -> int | None:
    if number < 16:
        return number
    if number < 232:
        red, rest = divmod(number - 16, 36)
        green, blue = divmod(rest, 6)
        return _nearest(_CUBE[red], _CUBE[green], _CUBE[blue])
    return _nearest(*(8 + 10 * (number - 232),) * 3) if number < 256 else None


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


def _console_classes(state: dict[str, str]) -> str:
    """The classes of a state: f and a number for the text, g for the ground, turned round where it says so."""
    text, ground = state.get("f"), state.get("g")
    if "inv" in state:
        names = [f"f{ground}" if ground else "fi", f"g{text}" if text else "gi"]
    else:
        names = [*((f"f{text}",) if text else ()), *((f"g{ground}",) if ground else ())]
    names += [name for name in ("bold", "dim", "ital", "ul", "strike") if name in state]
    return " ".join(names)
