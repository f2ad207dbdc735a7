"""Small tables, as models write them: columns below each other, long cells on several lines."""

from __future__ import annotations

from collections.abc import Sequence

from hansard.render.terminal.spans import DIM, Span, lay, painted
from hansard.render.text import width

_GAP = 2
_LEAST = 8  # columns that a cell gets at least
_WORD = 24  # a longer word may be broken


def table(rows: Sequence[Sequence[list[Span]]], columns: int, *, colours: bool, base: str = "") -> list[str] | None:
    """The lines of a table, its first row above a rule; None where its words would not fit."""
    count = max(map(len, rows))
    room = columns - _GAP * (count - 1)
    if not count or room < _LEAST * count:
        return None
    wanted = [max(1, *(width(_text(row[place])) for row in rows if place < len(row))) for place in range(count)]
    widths = _shares(wanted, room)
    for row in rows:
        for place, cell in enumerate(row):
            if widths[place] < wanted[place] and widths[place] < _longest_word(_text(cell)):
                return None
    lines: list[str] = []
    for number, row in enumerate(rows):
        shown = [lay(row[place], widths[place], colours=False) if place < len(row) else [] for place in range(count)]
        drawn = [
            lay(row[place], widths[place], colours=colours, base=base) if place < len(row) else []
            for place in range(count)
        ]
        for level in range(max(map(len, shown))):
            pieces = []
            for place in range(count):
                has = level < len(shown[place])
                space = widths[place] - (width(shown[place][level]) if has else 0)
                pieces.append((drawn[place][level] if has else "") + " " * space)
            lines.append((" " * _GAP).join(pieces).rstrip())
        if not number:
            rule = (" " * _GAP).join("─" * size for size in widths)
            lines.append(painted([(DIM, rule)]) if colours else rule)
    return lines


def _longest_word(text: str) -> int:
    return min(_WORD, max(map(width, text.split()), default=0))


def _text(cell: list[Span]) -> str:
    return "".join(text for _, text in cell)


def _shares(wanted: list[int], room: int) -> list[int]:
    """How wide each column may be: narrow ones as they are, the others share what is left."""
    widths = dict.fromkeys(range(len(wanted)), 0)
    waiting = sorted(widths, key=lambda place: wanted[place])
    while waiting:
        place = waiting.pop(0)
        widths[place] = min(wanted[place], room // (len(waiting) + 1))
        room -= widths[place]
    return list(widths.values())
