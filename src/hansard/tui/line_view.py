"""Scrolled lines, drawn only where visible: the base of lists and threads, plain texts, and lines of `render.terminal` as strips."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar

from rich.ansi import SGR_STYLE_MAP
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

_COLOUR = re.compile("\x1b\\[([0-9;]*)m")
_EXTENDED = {38: "", 48: "on "}
_BEFORE = 2  # lines above the one that must be visible
PAGE_KEYS: list[BindingType] = [
    Binding("pagedown,ctrl+f,space", "page(1)", "Page down", show=False),
    Binding("pageup,ctrl+b", "page(-1)", "Page up", show=False),
    Binding("ctrl+d", "page(0.5)", "Half a page down", show=False),
    Binding("ctrl+u", "page(-0.5)", "Half a page up", show=False),
]


class LineView(ScrollView, can_focus=True):
    """Lines of any number; `line_at` draws one."""

    # The gutter is stable: lines are drawn for a fixed width, which the scroll bar must not change.
    DEFAULT_CSS = """
    LineView { scrollbar-size-vertical: 1; scrollbar-gutter: stable; overflow: hidden auto; background: transparent; }
    """

    @property
    def page_height(self) -> int:
        """How many lines are visible."""
        return self.scrollable_content_region.height

    def line_at(self, place: int) -> Strip | None:
        """A line; None below the last."""
        raise NotImplementedError

    def render_line(self, y: int) -> Strip:
        """One line of what is visible."""
        columns = self.scrollable_content_region.width
        strip = self.line_at(y + self.scroll_offset.y)
        if strip is None:
            return Strip.blank(columns, self.rich_style)
        return strip.crop_extend(0, columns, None).apply_style(self.rich_style)

    def set_count(self, count: int) -> None:
        """Set the number of lines, and redraw."""
        self.virtual_size = Size(self.scrollable_content_region.width, count)
        self.refresh()


class TextView(LineView):
    """Lines that do not change: previews, explanations, raw lines, help."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "scroll_by(1)", "Down", show=False),
        Binding("up,k", "scroll_by(-1)", "Up", show=False),
        *PAGE_KEYS,
        Binding("home,g", "end(0)", "Top", show=False),
        Binding("end,G", "end(1)", "Bottom", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._lines: Sequence[str] = ()

    @property
    def lines(self) -> Sequence[str]:
        return self._lines

    def show(self, lines: Sequence[str], at: int = 0) -> None:
        """Show other lines, with a few before the one at `at`, or with the end."""
        self._lines = lines
        self.set_count(len(lines))
        self.scroll_to(y=max(0, min(at - _BEFORE, len(lines) - self.page_height)), animate=False)

    def line_at(self, place: int) -> Strip | None:
        """A line in our own colours."""
        return strip_of(self._lines[place]) if place < len(self._lines) else None

    def action_scroll_by(self, lines: int) -> None:
        self.scroll_to(y=self.scroll_offset.y + lines, animate=False)

    def action_page(self, pages: float) -> None:
        self.action_scroll_by(int(pages * max(1, self.page_height - 1)))

    def action_end(self, which: int) -> None:
        """Scroll to the top or to the bottom."""
        self.scroll_to(y=len(self._lines) if which else 0, animate=False)


# -- lines as `render.terminal` draws them, clean text with our own colour sequences


def strip_of(line: str) -> Strip:
    """One line; control sequences other than colours are left out."""
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
