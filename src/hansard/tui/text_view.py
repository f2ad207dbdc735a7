"""Lines that are scrolled and not changed: previews, explanations, raw lines, help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from hansard.tui.ansi import strip_of
from hansard.tui.keys import PAGE_KEYS


class TextView(ScrollView, can_focus=True):
    """Lines with our own colours."""

    DEFAULT_CSS = "TextView { scrollbar-size-vertical: 1; overflow-x: hidden; background: transparent; }"
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
        """What is shown."""
        return self._lines

    def show(self, lines: Sequence[str], *, at_end: bool = False) -> None:
        """Other lines, from the top or at their end."""
        self._lines = lines
        self.virtual_size = Size(self.scrollable_content_region.width, len(lines))
        high = self.scrollable_content_region.height
        self.scroll_to(y=max(0, len(lines) - high) if at_end else 0, animate=False)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One line of what is visible."""
        columns, place = self.scrollable_content_region.width, y + self.scroll_offset.y
        if place >= len(self._lines):
            return Strip.blank(columns, self.rich_style)
        return strip_of(self._lines[place]).crop_extend(0, columns, None).apply_style(self.rich_style)

    def action_scroll_by(self, lines: int) -> None:
        """Scroll by lines."""
        self.scroll_to(y=self.scroll_offset.y + lines, animate=False)

    def action_page(self, pages: float) -> None:
        """Scroll by pages."""
        self.action_scroll_by(int(pages * max(1, self.scrollable_content_region.height - 1)))

    def action_end(self, which: int) -> None:
        """Scroll to the top or to the bottom."""
        self.scroll_to(y=len(self._lines) if which else 0, animate=False)
