"""A screen with a query above a list, and beside it a preview of the item under the cursor."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual import work
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, Static

from hansard.errors import HansardError, NotFound
from hansard.render.text import fit, one_line
from hansard.tui.actions import SessionActions
from hansard.tui.frame import Heading, asking, problem_text
from hansard.tui.line_list import LineList
from hansard.tui.line_view import TextView
from hansard.tui.query_input import QueryInput
from hansard.tui.rows import heading_line, row_line

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.events import Resize

    from hansard.engine import Hansard
    from hansard.model.sessions import Session
    from hansard.model.table import Column

_TYPING_SECONDS = 0.03  # without a key before the list is asked for
_PREVIEW_SECONDS = 0.05
_WITH_PREVIEW = 100  # columns of the narrowest screen with one
_SLACK = 100  # rows that a list may lose when it is read again


class Rows(NamedTuple):
    """The rows of a list as far as they were read."""

    items: Sequence[Any]
    next_cursor: str | None
    head: str  # shown above the list
    about: Any = None  # what drawing them needs


class ListView(SessionActions):
    """Base of the screens that list something."""

    DEFAULT_CSS = """
    ListView #query { border: none; height: 1; padding: 0 1; }
    ListView #problem { height: auto; max-height: 3; padding: 0 1; color: $text-error; display: none; }
    ListView #list-head, ListView #columns { height: 1; padding: 0 1; }
    ListView #left { width: 3fr; }
    ListView LineList { height: 1fr; padding: 0 0 0 1; }
    ListView #preview { width: 2fr; border-left: solid $primary; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open"),
        Binding("slash", "query", "Search", priority=True),
        Binding("p", "preview", "Preview"),
        Binding("escape", "clear", "Clear the query", show=False),
    ]
    PLACEHOLDER: ClassVar[str] = ""
    ITEM_HEIGHT: ClassVar[int] = 1
    starts_typing = False

    def __init__(self) -> None:
        super().__init__()
        self.rows = Rows((), None, "")  # the first page, and the cursor of the last
        self._asked: Any = None  # the question that the list answers
        self._session: Session | None = None  # of the item under the cursor
        self._previewed: Any = None

    # -- what a screen defines

    def question(self, text: str) -> Any:
        """The question for the engine: the typed text, and what was chosen by keys."""
        return text

    def fetch(self, h: Hansard, asked: Any, cursor: str | None) -> Rows:
        """A page of the answer."""
        raise NotImplementedError

    def columns(self) -> Sequence[Column]:
        """The columns of one-line items; none if they are drawn in another way."""
        return ()

    def cells(self, item: Any) -> Sequence[Any]:
        """The values of an item in these columns."""
        raise NotImplementedError

    def draw(self, item: Any, columns: int) -> Sequence[str]:
        return [row_line(self.columns(), self.cells(item), columns, self.hansard.names)]

    def is_heading(self, item: Any) -> bool:  # noqa: ARG002 - of lists in groups
        """Whether the cursor passes over an item."""
        return False

    def session_of(self, item: Any) -> str | None:
        """The id of the session that an item belongs to."""
        raise NotImplementedError

    def preview_of(self, h: Hansard, item: Any, columns: int) -> tuple[Sequence[str], int]:
        """Lines about an item, and the first that must be visible."""
        raise NotImplementedError

    def open_item(self, item: Any, session: Session) -> None:  # noqa: ARG002 - of the others
        """Open the reader at an item."""
        self.hansard.choose(session)

    # -- parts

    def body(self) -> ComposeResult:
        """The query, the list and the preview."""
        yield QueryInput(placeholder=self.PLACEHOLDER, id="query")
        yield Static(id="problem", markup=False)
        yield Static(id="list-head", markup=False)
        with Horizontal():
            with Vertical(id="left"):
                if self.columns():
                    yield Heading(lambda columns: heading_line(self.columns(), columns), id="columns")
                yield LineList[Any](self.draw, item_height=self.ITEM_HEIGHT, is_heading=self.is_heading, id="list")
            yield TextView(id="preview")

    def on_mount(self) -> None:
        """Ask for the first page."""
        (self.query_one(QueryInput) if self.starts_typing else self.query_one(LineList)).focus()
        self.refill(wait=False)

    def on_resize(self, _: Resize) -> None:
        """Show the preview if the screen is wide enough."""
        self.place_preview()

    # -- the list

    @work(exclusive=True, group="list")
    async def refill(self, *, wait: bool = True, keep: bool = False, cursor: int = 0) -> None:
        """Read the list again; with `keep` the cursor stays with its item, else it goes to `cursor`."""
        if wait:
            await asyncio.sleep(_TYPING_SECONDS)
        asked = self.question(self.query_one(QueryInput).value)
        found = self.query_one(LineList)
        count = len(found.items) if keep else 0
        try:
            rows = await self.ask(lambda h: self._read(h, asked, count))
        except NotFound as error:
            self._head("reading your history ..." if self.hansard.is_syncing else str(error))
            found.fill(())
            return
        except HansardError as error:  # what is listed stays
            self.show_problem(error)
            return
        finally:
            self.call_after_refresh(self.hansard.start_watch)
        before = found.current if keep else None
        self.query_one("#problem").display = False
        self._asked, self.rows = asked, rows
        items = self.arranged(rows.items, None)
        if before is not None:
            known = (place for place, item in enumerate(items) if self.is_same(item, before))
            cursor = next(known, min(found.cursor, max(0, len(items) - 1)))
        found.fill(items, has_more=rows.next_cursor is not None, cursor=cursor)
        self._head(rows.head)
        self.query(Heading).refresh()
        if not items:
            self.query_one("#preview", TextView).show(())
        self.filled()

    def filled(self) -> None:
        """The list answers what was asked."""

    def _read(self, h: Hansard, asked: Any, count: int) -> Rows:
        """The first page, or about as many rows as are listed already."""
        rows = self.fetch(h, asked, None)
        while rows.next_cursor is not None and len(rows.items) < count - _SLACK:
            more = self.fetch(h, asked, rows.next_cursor)
            rows = rows._replace(items=(*rows.items, *more.items), next_cursor=more.next_cursor)
        return rows

    @work(exclusive=True, group="more")
    async def append(self) -> None:
        """Read the next page."""
        cursor, asked = self.rows.next_cursor, self._asked
        if cursor is None:
            return
        try:
            more = await self.ask(lambda h: self.fetch(h, asked, cursor))
        except HansardError as error:
            self.show_problem(error)
            return
        if cursor == self.rows.next_cursor and asked == self._asked:  # the list has not changed meanwhile
            self.rows = self.rows._replace(next_cursor=more.next_cursor)
            found = self.query_one(LineList)
            items = self.arranged(more.items, found.items[-1] if found.items else None)
            found.extend(items, has_more=more.next_cursor is not None)

    def arranged(self, items: Sequence[Any], before: Any) -> Sequence[Any]:  # noqa: ARG002 - of lists in groups
        """Items with headings among them; `before` is the item above the first."""
        return items

    def is_same(self, item: Any, other: Any) -> bool:
        """Whether two items are versions of the same thing."""
        return bool(item == other)

    def _head(self, words: str) -> None:
        room = max(20, self.size.width - 2)
        self.query_one("#list-head", Static).update(Content(fit(one_line(words), room)).stylize("dim"))

    def show_problem(self, error: HansardError) -> None:
        """Show below the query what is wrong with it; the list stays."""
        problem = self.query_one("#problem", Static)
        problem.update(Content(problem_text(error)))
        problem.display = True

    def store_changed(self) -> None:
        self._previewed = None
        self.refill(wait=False, keep=True)

    # -- the preview

    def place_preview(self) -> None:
        """Show the preview if it is wanted and there is room, drawn for its width."""
        self.query_one("#preview").display = self.hansard.state.preview and self.size.width >= _WITH_PREVIEW
        self._previewed = None
        self.call_after_refresh(lambda: self._head(self.rows.head))
        self.call_after_refresh(self.show_preview)

    def show_preview(self) -> None:
        """Show more of the item under the cursor."""
        item = self.query_one(LineList).current
        if item is not None and item != self._previewed:
            self._session = self._previewed = None
            self._preview(item)

    def on_line_list_highlighted(self, _: LineList.Highlighted) -> None:
        self.show_preview()

    @work(exclusive=True, group="preview")
    async def _preview(self, item: Any) -> None:
        await asyncio.sleep(_PREVIEW_SECONDS)
        view = self.query_one("#preview", TextView)
        columns = max(20, view.scrollable_content_region.width)
        session_id = self.session_of(item)
        try:
            if session_id:
                self._session = await self.ask(lambda h: h.session(session_id))
            if not view.display:
                return
            lines, at = await self.ask(lambda h: self.preview_of(h, item, columns))
        except HansardError as error:
            lines, at = [one_line(str(error))], 0
        self._previewed = item
        view.show(lines, at)

    def action_preview(self) -> None:
        """Show or hide the preview."""
        self.hansard.remember(preview=not self.hansard.state.preview)
        self.place_preview()

    # -- what is done

    def current_session(self) -> Session | None:
        """The session of the item under the cursor."""
        return self._session

    def action_open(self) -> Any:
        """Open the reader at the item under the cursor."""
        return self._open_current()

    @asking("act")
    async def _open_current(self) -> None:
        item = self.query_one(LineList).current
        session_id = self.session_of(item) if item is not None else None
        if item is None or not session_id:
            return
        session = await self.ask(lambda h: h.session(session_id))
        self.open_item(item, session)

    def action_query(self) -> None:
        self.set_focus(self.query_one(QueryInput))

    def action_clear(self) -> None:
        self.query_one(QueryInput).value = ""
        self.set_focus(self.query_one(LineList))

    def submit_query(self) -> None:
        self.set_focus(self.query_one(LineList))

    def leave_query(self) -> None:
        self.set_focus(self.query_one(LineList))

    # Textual calls the handlers of base classes too, so screens override the methods above instead of these.

    def on_input_changed(self, _: Input.Changed) -> None:
        self.refill()

    def on_input_submitted(self, _: Input.Submitted) -> None:
        self.submit_query()

    def on_query_input_left(self) -> None:
        self.leave_query()

    def on_query_input_moved(self, event: QueryInput.Moved) -> None:
        """Move in the list while typing."""
        found = self.query_one(LineList)
        (found.action_page if event.pages else found.action_move)(event.step)

    def on_line_list_near_end(self, _: LineList.NearEnd) -> None:
        """Read on before the list ends."""
        self.append()

    def on_line_list_selected(self, _: LineList.Selected) -> None:
        self.action_open()
