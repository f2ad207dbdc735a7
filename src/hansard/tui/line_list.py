"""A list of any length, drawn only where visible."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from rich.style import Style
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from hansard.tui.line_view import PAGE_KEYS, LineView, strip_of

if TYPE_CHECKING:
    from textual.events import Click

T = TypeVar("T")
_AHEAD = 100  # items behind the cursor, below which more are asked for


class LineList(LineView, Generic[T]):
    """Items of equal height; `draw` gives an item's lines for a width, `is_heading` says which ones the cursor passes over."""

    DEFAULT_CSS = """
    LineList > .line-list--cursor { background: $block-cursor-background; color: $block-cursor-foreground; }
    LineList > .line-list--cursor-blurred { text-style: reverse; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"line-list--cursor", "line-list--cursor-blurred"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j,ctrl+n", "move(1)", "Down", show=False),
        Binding("up,k", "move(-1)", "Up", show=False),
        *PAGE_KEYS,
        Binding("home,g", "end(0)", "First", show=False),
        Binding("end,G", "end(-1)", "Last", show=False),
        Binding("enter", "select", "Open", show=False),
    ]

    class Highlighted(Message):
        """The cursor is on another item."""

        def __init__(self, list_: LineList[Any]) -> None:
            super().__init__()
            self.list = list_

        @property
        def control(self) -> LineList[Any]:
            return self.list

    class Selected(Highlighted):
        """An item was opened."""

    class NearEnd(Highlighted):
        """The cursor is near the last item that is there, and there are more."""

    def __init__(
        self,
        draw: Callable[[T, int], Sequence[str]],
        *,
        item_height: int = 1,
        is_heading: Callable[[T], bool] = lambda _: False,
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        super().__init__(id=id)
        self._draw = draw
        self._height = item_height
        self._is_heading = is_heading
        self._items: list[T] = []
        self._drawn: dict[int, list[Strip]] = {}
        self._cursor = 0
        self._wants_last = False
        self.has_more = False

    # -- items

    @property
    def items(self) -> Sequence[T]:
        """The rows loaded so far."""
        return self._items

    @property
    def cursor(self) -> int:
        """The place of the current item."""
        return self._cursor

    @property
    def current(self) -> T | None:
        """The item under the cursor."""
        if self._cursor < len(self._items) and not self._is_heading(self._items[self._cursor]):
            return self._items[self._cursor]
        return None

    def fill(self, items: Iterable[T], *, has_more: bool = False, cursor: int = 0) -> None:
        """Other items; the cursor goes to `cursor`."""
        self._items = list(items)
        self.has_more = has_more
        self._changed()
        self.move_to(cursor)
        self.post_message(self.Highlighted(self))

    def extend(self, items: Iterable[T], *, has_more: bool) -> None:
        """More items at the end."""
        self._items += items
        self.has_more = has_more
        self._changed()
        if self._wants_last:
            self.action_end(-1)

    def redraw(self) -> None:
        self._changed()

    def _changed(self) -> None:
        self._drawn.clear()
        self.set_count(len(self._items) * self._height)

    # -- lines

    def line_at(self, place: int) -> Strip | None:
        """A line of an item, across the whole width if the cursor is on it."""
        columns = self.scrollable_content_region.width
        place, row = divmod(place, self._height)
        if place >= len(self._items):
            return None
        if place not in self._drawn:
            if len(self._drawn) > 500:
                self._drawn.clear()
            self._drawn[place] = [strip_of(line) for line in self._draw(self._items[place], columns)]
        lines = self._drawn[place]
        strip = (lines[row] if row < len(lines) else Strip.blank(0)).crop_extend(0, columns, None)
        if place == self._cursor and not self._is_heading(self._items[place]):
            is_plain = self.app.no_color
            name = "line-list--cursor" if self.has_focus and not is_plain else "line-list--cursor-blurred"
            cursor = self.get_component_rich_style(name)
            if is_plain and self.has_focus:
                cursor += Style(bold=True)
            if self.has_focus:
                return Strip([type(part)(part.text, cursor) for part in strip], strip.cell_length)
            return strip.apply_style(cursor)
        return strip

    def on_resize(self) -> None:
        """Draw for the new width, with the cursor in view."""
        self._changed()
        self._show_cursor()

    def on_focus(self) -> None:
        """Show where the cursor is."""
        self.refresh()

    def on_blur(self) -> None:
        """Show that the focus is elsewhere."""
        self.refresh()

    # -- moving

    def move_to(self, place: int, step: int = 1) -> None:
        """Put the cursor on an item, or on the next one in a direction that is not a heading."""
        last = len(self._items) - 1
        place = max(0, min(place, last))
        while 0 <= place <= last and self._is_heading(self._items[place]):
            place += step
        if not 0 <= place <= last:
            if step < 0 and last >= 0:  # only headings before it
                self.scroll_to(y=0, animate=False)
            return
        if place != self._cursor:
            self._cursor = place
            self.post_message(self.Highlighted(self))
        self._show_cursor()
        self.refresh()
        if self.has_more and place >= last - _AHEAD:
            self.post_message(self.NearEnd(self))

    def _show_cursor(self) -> None:
        high = self.page_height
        top = self._cursor * self._height
        if self._cursor and self._is_heading(self._items[self._cursor - 1]):
            top -= self._height
        bottom = (self._cursor + 1) * self._height
        if top < self.scroll_offset.y:
            self.scroll_to(y=top, animate=False)
        elif bottom > self.scroll_offset.y + high:
            self.scroll_to(y=bottom - high, animate=False)

    def action_move(self, step: int) -> None:
        self._wants_last = False
        self.move_to(self._cursor + step, step)

    def action_page(self, pages: float) -> None:
        self._wants_last = False
        step = max(1, int(abs(pages) * self.page_height) // self._height)
        self.move_to(self._cursor + (step if pages > 0 else -step), 1 if pages > 0 else -1)

    def action_end(self, which: int) -> None:
        """Move to the first or the last item; missing items are loaded."""
        self._wants_last = which < 0 and self.has_more
        self.move_to(0 if which == 0 else len(self._items) - 1, 1 if which == 0 else -1)

    def action_select(self) -> None:
        if self.current is not None:
            self.post_message(self.Selected(self))

    def on_click(self, event: Click) -> None:
        """Move to what is clicked; a second click opens it."""
        place = (int(event.y) + self.scroll_offset.y) // self._height
        if place < len(self._items) and not self._is_heading(self._items[place]):
            self.move_to(place)
            if event.chain == 2:
                self.action_select()
