"""A screen with a query above a list, and beside it a preview of what is under the cursor."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual import work
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, Static

from hansard.errors import HansardError, NotFound
from hansard.render.text import fit, one_line
from hansard.tui.actions import SessionActions
from hansard.tui.frame import asking, problem_text
from hansard.tui.line_list import LineList
from hansard.tui.line_view import TextView
from hansard.tui.query_input import QueryInput

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.events import Resize

    from hansard.engine import Hansard
    from hansard.model.sessions import Session

_TYPING_SECONDS = 0.03  # without a key before the list is asked for
_PREVIEW_SECONDS = 0.05
_WITH_PREVIEW = 90  # columns of the narrowest screen with one


class QueriedList(SessionActions):
    """Base of the screens with a query above a list: what both do together."""

    def show_problem(self, error: HansardError) -> None:
        """Show below the query what is wrong with it; the list stays."""
        problem = self.query_one("#problem", Static)
        problem.update(Content(problem_text(error)))
        problem.display = True

    def append(self) -> object:
        raise NotImplementedError

    def action_open(self) -> Any:
        """Open what is under the cursor."""
        raise NotImplementedError

    def submit_query(self) -> None:
        self.set_focus(self.query_one(LineList))

    def leave_query(self) -> None:
        self.set_focus(self.query_one(LineList))

    # Textual calls the handlers of base classes too, so screens override the methods above instead of these.

    def on_input_submitted(self, _: Input.Submitted) -> None:
        self.submit_query()

    def on_query_input_left(self) -> None:
        self.leave_query()

    def on_query_input_moved(self, event: QueryInput.Moved) -> None:
        """Move in the list while typing."""
        found = self.query_one(LineList)
        if event.pages:
            found.action_page(event.step)
        else:
            found.action_move(event.step)

    def on_line_list_near_end(self, _: LineList.NearEnd) -> None:
        """Read on before the list ends."""
        self.append()

    def on_line_list_selected(self, _: LineList.Selected) -> None:
        self.action_open()

    def action_query(self) -> None:
        self.set_focus(self.query_one(QueryInput))

    def action_clear(self) -> None:
        self.query_one(QueryInput).value = ""
        self.set_focus(self.query_one(LineList))


class Rows(NamedTuple):
    """A page of the list."""

    items: Sequence[Any]
    next_cursor: str | None
    head: str  # what is said above the list


class ListView(QueriedList):
    """Base of the screens that list something; `item_height` lines for each."""

    DEFAULT_CSS = """
    ListView #query { border: none; height: 1; padding: 0 1; }
    ListView #list-head { height: 1; padding: 0 1; }
    ListView #problem { height: auto; max-height: 3; padding: 0 1; color: $text-error; display: none; }
    ListView LineList { width: 3fr; padding: 0 0 0 1; }
    ListView #preview { width: 2fr; border-left: solid $primary; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open"),
        Binding("slash", "query", "Search", priority=True),
        Binding("escape", "clear", "Clear the query", show=False),
    ]
    PLACEHOLDER: ClassVar[str] = ""
    ITEM_HEIGHT: ClassVar[int] = 1
    STARTS_TYPING: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self._next: str | None = None
        self._asked = ""
        self._session: Session | None = None  # of the item under the cursor

    # -- what a screen says of itself

    def fetch(self, h: Hansard, text: str, cursor: str | None) -> Rows:
        """A page of what the query asks for."""
        raise NotImplementedError

    def draw(self, item: Any, columns: int) -> Sequence[str]:
        raise NotImplementedError

    def session_of(self, item: Any) -> str | None:
        """The id of the session that an item belongs to."""
        raise NotImplementedError

    def preview_of(self, h: Hansard, item: Any, columns: int) -> tuple[Sequence[str], int]:
        """Lines about an item, and the first that is to be seen."""
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
            yield LineList[Any](self.draw, item_height=self.ITEM_HEIGHT, id="list")
            yield TextView(id="preview")

    def on_mount(self) -> None:
        """Ask for the first page."""
        (self.query_one(QueryInput) if self.STARTS_TYPING else self.query_one(LineList)).focus()
        self.refill(wait=False)

    def on_resize(self, event: Resize) -> None:
        """Show the preview if the screen is wide enough."""
        self.query_one("#preview").display = event.size.width >= _WITH_PREVIEW

    # -- the list

    @work(exclusive=True, group="list")
    async def refill(self, *, wait: bool = True, keep: bool = False, cursor: int = 0) -> None:
        """Reload the list; with `keep` the cursor stays where it is, else it goes to `cursor`."""
        if wait:
            await asyncio.sleep(_TYPING_SECONDS)
        text = self.query_one(QueryInput).value
        try:
            rows = await self.ask(lambda h: self.fetch(h, text, None))
        except NotFound as error:
            self._head(str(error))
            self.query_one(LineList).fill(())
            return
        except HansardError as error:  # what is listed stays
            self.show_problem(error)
            return
        self.query_one("#problem").display = False
        self._asked, self._next = text, rows.next_cursor
        found = self.query_one(LineList)
        cursor = found.cursor if keep else cursor
        found.fill(rows.items, has_more=rows.next_cursor is not None, cursor=cursor)
        self._head(rows.head)
        if not rows.items:
            self.query_one("#preview", TextView).show(())

    @work(exclusive=True, group="more")
    async def append(self) -> None:
        """Read the next page."""
        cursor, text = self._next, self._asked
        if cursor is None:
            return
        try:
            rows = await self.ask(lambda h: self.fetch(h, text, cursor))
        except HansardError as error:
            self.show_problem(error)
            return
        if cursor == self._next and text == self._asked:
            self._next = rows.next_cursor
            self.query_one(LineList).extend(rows.items, has_more=rows.next_cursor is not None)

    def _head(self, words: str) -> None:
        room = max(20, self.size.width - 2)
        self.query_one("#list-head", Static).update(Content(fit(one_line(words), room)).stylize("dim"))

    def store_changed(self) -> None:
        self.refill(wait=False, keep=True)

    # -- the preview

    def on_line_list_highlighted(self, event: LineList.Highlighted) -> None:
        """Show more of what is under the cursor."""
        self._session = None
        if event.list.current is not None:
            self._preview(event.list.current)

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
        view.show(lines)
        view.scroll_to(y=max(0, at - 2), animate=False)

    # -- what is done

    def current_session(self) -> Session | None:
        """The session of what is under the cursor."""
        return self._session

    def on_input_changed(self, _: Input.Changed) -> None:
        """Run the current query."""
        self.refill()

    @asking("act")
    async def action_open(self) -> None:
        """Open the reader at the item under the cursor."""
        item = self.query_one(LineList).current
        session_id = self.session_of(item) if item is not None else None
        if item is None or not session_id:
            return
        session = await self.ask(lambda h: h.session(session_id))
        self.open_item(item, session)
