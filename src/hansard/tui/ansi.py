"""Lines as `render.terminal` draws them, clean text with our own colour sequences, as strips of a Textual widget."""

from __future__ import annotations

import re
from functools import lru_cache

from rich.ansi import SGR_STYLE_MAP
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

_COLOUR = re.compile("\x1b\\[([0-9;]*)m")
_EXTENDED = {38: "", 48: "on "}


def strip_of(line: str) -> Strip:
    """One line; whatever else a terminal would obey is left out."""
    if "\x1b" not in line:
        return Strip([Segment(_printable(line))])
    pieces = _COLOUR.split(line)
    segments = [Segment(_printable(pieces[0]))] if pieces[0] else []
    for parameters, text in zip(pieces[1::2], pieces[2::2], strict=True):
        if text:
            segments.append(Segment(_printable(text), style_of(parameters)))
    return Strip(segments)


def plain(line: str) -> str:
    """A line without its colours."""
    return _COLOUR.sub("", line)


@lru_cache(512)
def style_of(parameters: str) -> Style:
    """The style that a colour sequence means."""
    codes = iter(int(code) for code in parameters.split(";") if code)
    found = Style.null()
    for code in codes:
        if code in _EXTENDED:
            found += _extended(_EXTENDED[code], [*codes])
            break
        if code in SGR_STYLE_MAP:
            found += Style.parse(SGR_STYLE_MAP[code])
    return found


def _extended(prefix: str, codes: list[int]) -> Style:
    match codes:
        case [5, number, *rest] if number <= 255:
            found = Style.parse(f"{prefix}color({number})")
        case [2, red, green, blue, *rest] if max(red, green, blue) <= 255:
            found = Style.parse(f"{prefix}rgb({red},{green},{blue})")
        case _:
            return Style.null()
    return found + style_of(";".join(map(str, rest)))


def _printable(text: str) -> str:
    return text if text.isprintable() else "".join(filter(str.isprintable, text))
