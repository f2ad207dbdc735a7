"""The list of sessions with a preview of the one under the cursor; also the picker of other commands."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, Static

from hansard.errors import HansardError, NotFound
from hansard.model.sessions import Session, SessionPage
from hansard.query.activity import LIVE
from hansard.render.format import ProjectNames, many, project_name, weekday_text
from hansard.render.text import fit, one_line
from hansard.tui.frame import Heading
from hansard.tui.line_list import LineList
from hansard.tui.line_view import TextView
from hansard.tui.query_input import QueryInput
from hansard.tui.session_list import (
    GROUPS,
    PAGE,
    SORTS,
    Filter,
    Group,
    RowStyle,
    group_row,
    heading,
    project_of,
    session_row,
)
from hansard.tui.views.list_view import QueriedList

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.events import Resize

    from hansard.engine import Hansard

_TYPING_SECONDS = 0.03  # without a key before the list is asked for
_PREVIEW_SECONDS = 0.06
_WITH_PREVIEW = 100  # columns of the narrowest screen with one
_SORT_NAMES = {"ended": "last active", "started": "started"}


class SessionsView(QueriedList):
    """Sessions, and how the one under the cursor ends."""

    TAB = "sessions"
    DEFAULT_CSS = """
    SessionsView #filter { border: none; height: 1; padding: 0 1; }
    SessionsView #head { height: 1; padding: 0 1; }
    SessionsView #columns { padding: 0 1 0 1; }
    SessionsView #problem { height: auto; max-height: 3; padding: 0 1; color: $text-error; display: none; }
    SessionsView #list { width: 1fr; }
    SessionsView #left { width: 3fr; }
    SessionsView LineList { height: 1fr; padding: 0 0 0 1; }
    SessionsView #preview { width: 2fr; border-left: solid $primary; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open"),
        Binding("slash", "query", "Filter", priority=True),
        Binding("s", "scope", "Scope"),
        Binding("o", "sort", "Sort"),
        Binding("O", "reverse", "Reverse the order", show=False),
        Binding("v", "group", "Group"),
        Binding("p", "preview", "Preview"),
        Binding("escape", "clear", "Clear the filter", show=False),
    ]

    def __init__(self, purpose: str = "") -> None:
        super().__init__()
        self._purpose = purpose  # of a picker
        self._filter = Filter()
        self._listed: Filter | None = None
        self._style = RowStyle(datetime.now(UTC), {})
        self._next: str | None = None
        self._total = 0
        self._is_chosen = False  # Enter came before the list
        self._previewed: str | None = None
        self._has_preview = True
        self._groups: dict[str, Group] = {}

    def body(self) -> ComposeResult:
        """A filter above a list and a preview."""
        yield Static(id="head", markup=False)
        yield QueryInput(placeholder="filter: words, project:name, since:7d, tool:Bash, is:error ...", id="filter")
        yield Static(id="problem", markup=False)
        with Horizontal():
            with Vertical(id="left"):
                yield Heading(heading, id="columns")
                yield LineList[Session | Group](self._draw, is_heading=lambda row: isinstance(row, Group), id="list")
            yield TextView(id="preview")

    def on_mount(self) -> None:
        """Ask for the first page."""
        state = self.hansard.state
        if not self._purpose:
            self._filter = self._filter._replace(
                sort=state.sort if state.sort in SORTS else "ended", group=state.group if state.group in GROUPS else ""
            )
            self._has_preview = state.preview
            self.query_one(QueryInput).value = state.query
        (self.query_one(QueryInput) if self._purpose else self.query_one(LineList)).focus()
        self._refill(first=True)

    # -- what is listed

    @work(exclusive=True, group="list")
    async def _refill(self, *, first: bool = False, keep: bool = False) -> None:
        try:
            await self._list(first=first, keep=keep)
        finally:
            if first:
                self.call_after_refresh(self.hansard.start_watch)

    async def _list(self, *, first: bool, keep: bool) -> None:
        if not first:
            await asyncio.sleep(_TYPING_SECONDS)
        wanted = self._filter._replace(text=self.query_one(QueryInput).value)
        try:
            if first or (keep and wanted.project is None and self.hansard.directory):
                wanted = await self._first(wanted)
            count = len(self.query_one(LineList).items) if keep else 0
            timezone = self.hansard.zone.asked
            page, groups = await self.ask(lambda h: _read(h, wanted, count, timezone))
        except NotFound:
            if not self.hansard.is_syncing:
                self.query_one("#head", Static).update("Nothing has been synced yet.")
            return
        except HansardError as error:  # what is listed stays
            self.show_problem(error)
            return
        self.query_one("#problem", Static).display = False
        self._listed, self._next, self._total = wanted, page.next_cursor, page.total
        self._groups = groups
        self._put(page, keep=keep)
        self._draw_head()
        if self._is_chosen:
            self.action_open()

    async def _first(self, wanted: Filter) -> Filter:
        """The filter with the project of the directory, which a picker begins with."""
        directory = self.hansard.directory
        project, periods = await self.ask(
            lambda h: (project_of(h, directory) if directory else None, h.cleanup_periods())
        )
        scope = self.hansard.state.scope if not self._purpose else "project"
        known = wanted._replace(project=project)
        self._filter = self._filter._replace(project=project, scope=scope if scope in known.scopes() else "all")
        self._style = RowStyle(datetime.now(UTC), periods)
        return known._replace(scope=self._filter.scope)

    def _put(self, page: SessionPage, *, keep: bool) -> None:
        found = self.query_one(LineList)
        before = found.current if keep else None
        now = datetime.now(UTC)
        live = frozenset(one.session_id for one in page.sessions if one.ended_at and now - one.ended_at < LIVE)
        self._style = self._style._replace(now=now, live=live)
        rows = self._rows(page, None)
        cursor = 0
        if isinstance(before, Session):
            places = (
                n for n, row in enumerate(rows) if isinstance(row, Session) and row.session_id == before.session_id
            )
            cursor = next(places, min(found.cursor, max(0, len(rows) - 1)))
        found.fill(rows, has_more=page.next_cursor is not None, cursor=cursor)

    def _rows(self, page: SessionPage, before: Session | None) -> list[Session | Group]:
        """Sessions with a heading before each group; `before` is the session above the first."""
        if not self._filter.group:
            return list(page.sessions)
        rows: list[Session | Group] = []
        key = None if before is None else self._key(before)
        for session in page.sessions:
            if (new := self._key(session)) != key:
                key = new
                rows.append(
                    self._groups.get(new) or Group(_group_name(new, self._filter.group, self.hansard.names), None)
                )
            rows.append(session)
        return rows

    def _key(self, session: Session) -> str:
        if self._filter.group == "project":
            return session.project
        return "" if session.ended_at is None else self.hansard.zone.local(session.ended_at).date().isoformat()

    @work(exclusive=True, group="more")
    async def append(self) -> None:
        """Read the next page."""
        cursor, wanted = self._next, self._listed
        if cursor is None or wanted is None:
            return
        try:
            page = await self.ask(lambda h: wanted.ask(h, cursor))
        except HansardError as error:
            self.show_problem(error)
            return
        if cursor == self._next and wanted == self._listed:  # the list has not changed meanwhile
            self._next = page.next_cursor
            found = self.query_one(LineList)
            last = found.items[-1] if found.items else None
            rows = self._rows(page, last if isinstance(last, Session) else None)
            found.extend(rows, has_more=page.next_cursor is not None)

    def show_problem(self, error: HansardError) -> None:
        """Show below the filter what is wrong with it; nothing is selected then."""
        self._is_chosen = False
        super().show_problem(error)

    # -- what is drawn

    def _draw(self, row: Session | Group, columns: int) -> list[str]:
        style = self._style._replace(names=self.hansard.names)  # which come after the first list
        return [group_row(row, columns) if isinstance(row, Group) else session_row(row, style, columns)]

    def _draw_head(self) -> None:
        wanted = self._filter
        scope = {
            "project": f"in {project_name(wanted.project or '', self.hansard.names)}",
            "all": "in all projects",
            "pinned": "pinned",
            "deleted": "deleted by the client, kept here",
            "everything": "in all projects, empty ones included",
        }[wanted.scope]
        is_filtered = self._listed is not None and bool(self._listed.text.strip())
        nothing = "no session matches" if is_filtered or wanted.scope != "all" else "no sessions yet"
        if self.hansard.is_syncing and nothing == "no sessions yet":
            nothing = "reading your history ..."
        found = many(self._total, "session") if self._total else f"{nothing}:" if wanted.scope != "all" else nothing
        order = f"by {_SORT_NAMES.get(wanted.sort, wanted.sort)}" + (" ↑" if wanted.ascending else "")
        group = f", grouped by {wanted.group}" if wanted.group else ""
        line = f"{self._purpose}: " * bool(self._purpose) + f"{found} {scope}, {order}{group}"
        self.query_one("#head", Static).update(Content(fit(one_line(line), max(20, self.size.width - 2))))

    def on_resize(self, event: Resize) -> None:
        """Show the preview if the screen is wide enough."""
        self._place_preview(event.size.width)

    def _place_preview(self, columns: int) -> None:
        preview = self.query_one("#preview")
        preview.display = self._has_preview and columns >= _WITH_PREVIEW
        self._previewed = None
        self.call_after_refresh(self._draw_head)
        self.call_after_refresh(self._show_preview)

    @work(exclusive=True, group="preview")
    async def _preview(self, session: Session) -> None:
        await asyncio.sleep(_PREVIEW_SECONDS)
        from hansard.tui.thread_lines import session_preview

        view = self.query_one("#preview", TextView)
        columns = view.scrollable_content_region.width
        try:
            lines = await self.ask(lambda h: session_preview(h, session, columns))
        except HansardError as error:
            lines = [one_line(str(error))]
        self._previewed = session.session_id
        view.show(lines, at_end=True)

    # -- what is done

    def store_changed(self) -> None:
        """Rows move as files grow."""
        self._previewed = None
        self._refill(keep=True)

    def current_session(self) -> Session | None:
        """The session under the cursor."""
        found = self.query_one(LineList).current
        return found if isinstance(found, Session) else None

    def on_input_changed(self, _: Input.Changed) -> None:
        """Apply the current filter text."""
        self._is_chosen = False
        if not self._purpose:
            self.hansard.remember(query=self.query_one(QueryInput).value)
        self._refill()

    def submit_query(self) -> None:
        """Go to the list, or choose."""
        if self._purpose:
            self.action_open()
        else:
            super().submit_query()

    def leave_query(self) -> None:
        """Go back to the list, or leave the picker."""
        if self._purpose:
            self.hansard.exit(None)
        else:
            super().leave_query()

    def on_query_input_scoped(self) -> None:
        self.action_scope()

    def on_line_list_highlighted(self, _: LineList.Highlighted) -> None:
        """Show how the session ends."""
        self._show_preview()

    def _show_preview(self) -> None:
        session = self.current_session()
        if session is not None and self.query_one("#preview").display and session.session_id != self._previewed:
            self._preview(session)

    def action_open(self) -> None:
        """Read the session under the cursor, or choose it; once the list answers what was typed."""
        if self._purpose:
            self._is_chosen = self._listed != self._filter._replace(text=self.query_one(QueryInput).value)
            if self._is_chosen:
                return
        if (session := self.current_session()) is not None:
            self.hansard.choose(session)

    def action_clear(self) -> None:
        if self._purpose and not self.query_one(QueryInput).value:
            self.hansard.exit(None)
        super().action_clear()

    def action_scope(self) -> None:
        """This directory's project, all, pinned, deleted by the client, or everything there is."""
        scopes = self._filter.scopes()
        scope = self._filter.scope
        scope = scopes[(scopes.index(scope) + 1) % len(scopes)] if scope in scopes else "all"
        self._again(scope=scope)

    def action_sort(self) -> None:
        self._again(sort=SORTS[(SORTS.index(self._filter.sort) + 1) % len(SORTS)], ascending=None, group="")

    def action_reverse(self) -> None:
        text = self._filter.sort in ("title", "project")
        now = text if self._filter.ascending is None else self._filter.ascending
        self._again(ascending=not now)

    def action_group(self) -> None:
        """By day, by project, or not at all."""
        group = GROUPS[(GROUPS.index(self._filter.group) + 1) % len(GROUPS)]
        self._again(group=group, sort="project" if group == "project" else "ended", ascending=None)

    def _again(self, **changes: object) -> None:
        self._filter = self._filter._replace(**changes)  # type: ignore[arg-type]
        if not self._purpose:
            self.hansard.remember(sort=self._filter.sort, scope=self._filter.scope, group=self._filter.group)
        self._refill()

    def action_preview(self) -> None:
        """Show or hide the preview."""
        self._has_preview = not self._has_preview
        self.hansard.remember(preview=self._has_preview)
        self._place_preview(self.size.width)


def _read(h: Hansard, wanted: Filter, count: int, timezone: str | None) -> tuple[SessionPage, dict[str, Group]]:
    """The first page, or as many sessions as are listed already; and the headings of groups."""
    from msgspec.structs import replace

    page = wanted.ask(h)
    while len(page.sessions) < count - PAGE // 2 and page.next_cursor is not None:
        more = wanted.ask(h, page.next_cursor)
        page = replace(more, sessions=(*page.sessions, *more.sessions))
    if not wanted.group:
        return page, {}
    names = h.project_names() if wanted.group == "project" else {}
    query, title = wanted.query()
    is_whole = title is None and wanted.scope not in ("project", "everything")
    found = h.session_groups(query, by=wanted.group, each=1, limit=5_000, timezone=timezone)
    named = {
        group.key: Group(_group_name(group.key, wanted.group, names), group if is_whole else None)
        for group in found.groups
    }
    return page, named


def _group_name(key: str, by: str, names: ProjectNames) -> str:
    if by == "project":
        return project_name(key, names) if key else "(no project)"
    return weekday_text(datetime.fromisoformat(key)) if key else "(no date)"
