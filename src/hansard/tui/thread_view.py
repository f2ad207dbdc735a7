"""The lines of a thread, with a cursor on one of its items; more lines are loaded at both ends."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from rich.style import Style
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from hansard.tui.line_view import PAGE_KEYS, LineView, plain, strip_of
from hansard.tui.thread_lines import Look, ThreadLines

if TYPE_CHECKING:
    from textual.events import Click
    from textual.geometry import Region

    from hansard.model.display import Item, Turn

_AHEAD = 60  # lines from an end at which more is asked for
_BAR = Style.parse("bold")
_MARK = Style.parse("reverse")


class ThreadView(LineView):
    """A conversation."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", "Next item", show=False),
        Binding("up,k", "move(-1)", "Previous item", show=False),
        *PAGE_KEYS,
        Binding("home", "screen.top", "First turn", show=False),
        Binding("end", "screen.bottom", "Last turn", show=False),
        Binding("ctrl+e,J", "lines(1)", "Line down", show=False),
        Binding("ctrl+y,K", "lines(-1)", "Line up", show=False),
    ]

    class Needed(Message):
        """More lines are needed before the first or behind the last."""

        def __init__(self, *, before: bool) -> None:
            super().__init__()
            self.before = before

    class Moved(Message):
        """The cursor is on another item."""

    class Opened(Message):
        """An item was double-clicked."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.content = ThreadLines(Look(80))
        self.cursor = ""  # the anchor of the current item
        self._found: re.Pattern[str] | None = None
        self._is_held = False  # at the end as lines are added

    # -- content

    @property
    def columns(self) -> int:
        """How wide lines may be."""
        return max(20, self.scrollable_content_region.width - 2)

    @property
    def item(self) -> Item | None:
        return self.content.item(self.cursor)

    @property
    def turn(self) -> Turn | None:
        """The turn of the current item."""
        return self.content.turn(self.cursor)

    @property
    def is_at_end(self) -> bool:
        """Whether the last line can be seen."""
        return self.scroll_offset.y + self.page_height >= len(self.content.lines)

    def fit(self) -> None:
        """Redraw for the current width."""
        top = self._top_anchor()
        self.content.draw_as(self.content.look._replace(columns=self.columns))
        self.set_count(len(self.content.lines))
        if self._is_held:
            self.call_after_refresh(self._hold)
        elif top is not None:
            anchor, below = top
            self._scroll(self.content.line_of(anchor) + below)

    def changed(self, shift: int = 0) -> None:
        """Show added or removed lines; `shift` of them are at the top."""
        self.set_count(len(self.content.lines))
        if self._is_held:
            self.call_after_refresh(self._hold)
        elif shift:
            self._scroll(max(0, self.scroll_offset.y + shift))

    def _scroll(self, y: int) -> None:
        """Scroll to a line; again after layout, for lines that were just added."""
        self._target: int | None = y
        self.scroll_to(y=y, animate=False, force=True)
        if self.scroll_offset.y != y:
            self.call_after_refresh(self._scroll_again)

    def _scroll_again(self) -> None:
        if self._target is not None:
            self.scroll_to(y=self._target, animate=False, force=True)
            self._target = None

    def _hold(self) -> None:
        if self._is_held:
            self._scroll(len(self.content.lines))

    def _top_anchor(self) -> tuple[str, int] | None:
        owners, top = self.content.owners, self.scroll_offset.y
        if top < len(owners):
            return owners[top], top - self.content.line_of(owners[top])
        return None

    def mark(self, pattern: re.Pattern[str] | None) -> None:
        """Highlight matches of a pattern."""
        self._found = pattern
        self.refresh()

    # -- lines

    def render_lines(self, crop: Region) -> list[Strip]:
        """The visible lines, redrawn first if the width changed: a Resize event arrives only after the first frame."""
        if self.content.look.columns != self.columns:
            self.fit()
        return super().render_lines(crop)

    def line_at(self, place: int) -> Strip | None:
        """A line, with a bar before those of the current item."""
        if place >= len(self.content.lines):
            return None
        line = self.content.lines[place]
        strip = strip_of(line)
        if self._found is not None:
            strip = _marked(strip, plain(line), self._found)
        is_here = self.content.owners[place] == self.cursor and bool(strip.text.strip())
        bar = strip_of("▌ " if is_here else "  ")
        if is_here:
            bar = bar.apply_style(_BAR if self.has_focus else Style(dim=True))
        return Strip.join([bar, strip])

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Ask for more before an end comes into view."""
        super().watch_scroll_y(old_value, new_value)
        self.ask_around()

    def ask_around(self) -> None:
        """Ask for what is missing near what is visible."""
        if self.content.is_empty:
            return
        if self.scroll_offset.y < _AHEAD and self.content.start > 0:
            self.post_message(self.Needed(before=True))
        bottom = self.scroll_offset.y + self.page_height
        if bottom > len(self.content.lines) - _AHEAD and self.content.end is not None:
            self.post_message(self.Needed(before=False))

    # -- moving

    def go_to(self, anchor: str, *, top: bool = True) -> None:
        """Put the cursor on an item, and show it."""
        if self.content.item(anchor) is None:
            return
        self._is_held = False
        self.cursor = anchor
        start, end = self.content.span_of(anchor)
        high = self.page_height
        if top:
            self._scroll(max(0, start - 1))
        elif start < self.scroll_offset.y or end > self.scroll_offset.y + high:
            self._scroll(min(start, max(end - high, 0)) if end - start <= high else start)
        self.refresh()
        self.post_message(self.Moved())

    @property
    def here(self) -> int:
        """The offset of the current item; 0 without one."""
        return self.item.offset if self.item is not None else 0

    def go_to_offset(self, offset: int) -> None:
        """Put the cursor on the loaded item at an offset, or on the last one before it."""
        items = [item for anchor in self.content.anchors if (item := self.content.item(anchor)) is not None]
        before = [item for item in items if item.offset <= offset]
        exact = [item for item in before if item.offset == before[-1].offset] if before else items
        if exact:
            self.go_to(exact[0].anchor)

    def show_match(self, offset: int, pattern: re.Pattern[str]) -> bool:
        """Show the item at an offset that has a match, unfolded if need be; False if there is none."""
        for anchor in self.content.anchors:
            item = self.content.item(anchor)
            if item is None or item.offset != offset:
                continue
            if not pattern.search(self.content.shown_text(anchor)):
                if not pattern.search(self.content.text_of(item)):
                    continue
                self.content.fold(anchor, unfolded=True)
                self.changed()
            self.go_to(anchor)
            self._scroll_to_match(anchor, pattern)
            return True
        return False

    def _scroll_to_match(self, anchor: str, pattern: re.Pattern[str]) -> None:
        high = self.page_height
        for line in range(*self.content.span_of(anchor)):
            if pattern.search(strip_of(self.content.lines[line]).text):
                if line >= self.scroll_offset.y + high:
                    self.scroll_to(y=line - high // 3, animate=False)
                return

    def to_end(self) -> None:
        if self.content.anchors:
            self.cursor = self.content.anchors[-1]
            self._is_held = True
            self._scroll(len(self.content.lines))
            self.call_after_refresh(self._hold)
            self.refresh()
            self.post_message(self.Moved())

    def action_move(self, step: int) -> None:
        """Move to the next item; through an item that is longer than the screen line by line."""
        anchors = self.content.anchors
        if not anchors:
            return
        if self.cursor not in anchors:
            self.go_to(self._visible() or anchors[0], top=False)
            return
        start, end = self.content.span_of(self.cursor)
        top, high = self.scroll_offset.y, self.page_height
        if step > 0 and end > top + high and start <= top + 1:
            self._scroll(top + max(1, high // 2))
            return
        if step < 0 and start < top and end - start > high:
            self._scroll(top - max(1, high // 2))
            return
        place = anchors.index(self.cursor) + step
        if 0 <= place < len(anchors):
            self.go_to(anchors[place], top=False)
        self.ask_around()

    def _visible(self) -> str | None:
        """The first item that begins in view."""
        owners, top = self.content.owners, self.scroll_offset.y
        for place in range(top, min(len(owners), top + self.page_height)):
            if self.content.line_of(owners[place]) >= top:
                return owners[place]
        return owners[top] if top < len(owners) else None

    def action_page(self, pages: float) -> None:
        """Scroll by pages; the cursor comes along."""
        self.action_lines(int(pages * max(1, self.page_height - 2)))

    def action_lines(self, lines: int) -> None:
        """Scroll by lines; the cursor comes along."""
        self._is_held = False
        self._scroll(self.scroll_offset.y + lines)
        self.call_after_refresh(self._follow_scroll)

    def _follow_scroll(self) -> None:
        start, end = self.content.span_of(self.cursor) if self.cursor else (0, 0)
        top, high = self.scroll_offset.y, self.page_height
        if end <= top or start >= top + high:
            found = self._visible()
            if found is not None:
                self.cursor = found
                self.post_message(self.Moved())
                self.refresh()

    def on_click(self, event: Click) -> None:
        """Move to what is clicked; a second click opens it."""
        place = int(event.y) + self.scroll_offset.y
        if place < len(self.content.owners):
            self.cursor = self.content.owners[place]
            self.refresh()
            self.post_message(self.Moved())
            if event.chain == 2:
                self.post_message(self.Opened())


def find_pattern(needle: str) -> re.Pattern[str] | None:
    """A pattern for a text that is looked for; case counts if the text has capitals."""
    if not needle:
        return None
    return re.compile(re.escape(needle), 0 if needle != needle.lower() else re.IGNORECASE)


def _marked(strip: Strip, text: str, pattern: re.Pattern[str]) -> Strip:
    """A line with its matches highlighted."""
    from rich.cells import cell_len

    cuts: list[int] = []
    for found in pattern.finditer(text):
        if found.start() < found.end():
            cuts += [cell_len(text[: found.start()]), cell_len(text[: found.end()])]
    if not cuts:
        return strip
    pieces = list(strip.divide([*cuts, strip.cell_length]))
    return Strip.join([piece.apply_style(_MARK) if place % 2 else piece for place, piece in enumerate(pieces)])
