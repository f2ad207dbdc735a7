"""The list of sessions with a preview of the one under the cursor; also the picker of other commands."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType

from hansard.model.sessions import Session
from hansard.render.format import many, project_name, weekday_text
from hansard.tui.line_list import LineList
from hansard.tui.query_input import QueryInput
from hansard.tui.session_list import (
    COLUMNS,
    GROUPS,
    SORTS,
    Filter,
    Group,
    ListFacts,
    group_row,
    project_of,
    session_row,
)
from hansard.tui.views.list_view import ListView, Rows

if TYPE_CHECKING:
    from textual.widgets import Input

    from hansard.engine import Hansard
    from hansard.errors import HansardError
    from hansard.model.table import Column

_SORT_NAMES = {"ended": "last active"}
_SCOPES = {
    "project": "in {}",
    "all": "in all projects",
    "pinned": "pinned",
    "deleted": "deleted by the client, kept here",
    "everything": "in all projects, empty ones included",
}


class SessionsView(ListView):
    """Sessions, and how the one under the cursor ends."""

    TAB = "sessions"
    PLACEHOLDER = "filter: words, project:name, since:7d, tool:Bash, is:error ..."
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "query", "Filter", priority=True),
        Binding("s", "scope", "Scope"),
        Binding("o", "sort", "Sort"),
        Binding("O", "reverse", "Reverse the order", show=False),
        Binding("v", "group", "Group"),
    ]

    def __init__(self, purpose: str = "") -> None:
        super().__init__()
        self._purpose = purpose  # of a picker
        self.starts_typing = bool(purpose)
        self._filter = Filter(scope="project" if purpose else "all")
        self._is_chosen = False  # Enter was pressed before the list was there

    def on_mount(self) -> None:
        """Show what was left; Textual calls the base class's handler after this one."""
        state = self.hansard.state
        if not self._purpose:
            sort = state.sort if state.sort in SORTS else "ended"
            scope = state.scope if state.scope in _SCOPES else "all"
            self._filter = Filter("", scope, sort, group=state.group if state.group in GROUPS else "")
            self.query_one(QueryInput).value = state.query

    # -- what is listed

    def question(self, text: str) -> Filter:
        return self._filter._replace(text=text)

    def fetch(self, h: Hansard, asked: Filter, cursor: str | None) -> Rows:
        directory = self.hansard.directory
        project = project_of(h, directory) if directory else None
        page = asked.ask(h, cursor, project)
        if cursor is not None:
            return Rows(page.sessions, page.next_cursor, "")
        groups = _groups(h, asked, self.hansard.zone.asked) if asked.group else {}
        facts = ListFacts(datetime.now(UTC), h.cleanup_periods(), h.secret_counts(), groups, project)
        return Rows(page.sessions, page.next_cursor, self._head_words(asked, page.total, project), facts)

    def _head_words(self, asked: Filter, total: int, project: str | None) -> str:
        is_all = asked.scope == "all" or (asked.scope == "project" and project is None)
        scope = (
            _SCOPES["all"] if is_all else _SCOPES[asked.scope].format(project_name(project or "", self.hansard.names))
        )
        if total:
            found = many(total, "session")
        elif asked.text.strip() or not is_all:
            found = "no session matches" + ":" * (not is_all)
        else:
            found = "reading your history ..." if self.hansard.is_syncing else "no sessions yet"
        order = f"by {_SORT_NAMES.get(asked.sort, asked.sort)}" + (" ↑" if asked.ascending else "")
        group = f", grouped by {asked.group}" if asked.group else ""
        return f"{self._purpose}: " * bool(self._purpose) + f"{found} {scope}, {order}{group}"

    def arranged(self, items: Sequence[Session], before: Any) -> Sequence[Session | Group]:
        """Sessions with a heading before each group."""
        by = self._asked.group
        if not by:
            return items
        rows: list[Session | Group] = []
        key = self._key(before, by) if isinstance(before, Session) else None
        for session in items:
            if (new := self._key(session, by)) != key:
                key = new
                rows.append(self.rows.about.groups.get(new) or Group(_group_name(new, by, self.hansard.names), None))
            rows.append(session)
        return rows

    def _key(self, session: Session, by: str) -> str:
        if by == "project":
            return session.project
        return "" if session.ended_at is None else self.hansard.zone.local(session.ended_at).date().isoformat()

    # -- what is drawn

    def columns(self) -> Sequence[Column]:
        return COLUMNS

    def draw(self, item: Session | Group, columns: int) -> list[str]:
        if isinstance(item, Group):
            return [group_row(item, columns)]
        return [session_row(item, self.rows.about, columns, self.hansard.names)]

    def is_heading(self, item: Session | Group) -> bool:
        return isinstance(item, Group)

    def is_same(self, item: Session | Group, other: Session) -> bool:
        return isinstance(item, Session) and item.session_id == other.session_id

    def session_of(self, item: Session) -> None:
        """None to look up: items are sessions."""

    def preview_of(self, h: Hansard, item: Session, columns: int) -> tuple[Sequence[str], int]:
        from hansard.tui.thread_lines import session_preview

        lines = session_preview(h, item, columns)
        return lines, len(lines)

    # -- what is done

    def current_session(self) -> Session | None:
        """The session under the cursor."""
        found = self.query_one(LineList).current
        return found if isinstance(found, Session) else None

    def on_input_changed(self, _: Input.Changed) -> None:
        """Remember the filter."""
        self._is_chosen = False
        if not self._purpose:
            self.hansard.remember(query=self.query_one(QueryInput).value)

    def show_problem(self, error: HansardError) -> None:
        """Show below the filter what is wrong with it; nothing is chosen then."""
        self._is_chosen = False
        super().show_problem(error)

    def filled(self) -> None:
        if self._is_chosen:
            self.action_open()

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

    def action_open(self) -> None:
        """Read the session under the cursor, or choose it; once the list answers what was typed."""
        if self._purpose:
            self._is_chosen = self._asked != self.question(self.query_one(QueryInput).value)
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
        has_project = self.rows.about is not None and self.rows.about.project is not None
        scopes = [scope for scope in _SCOPES if scope != "project" or has_project]
        scope = self._filter.scope if self._filter.scope in scopes else "all"
        self._again(scope=scopes[(scopes.index(scope) + 1) % len(scopes)])

    def action_sort(self) -> None:
        self._again(sort=SORTS[(SORTS.index(self._filter.sort) + 1) % len(SORTS)], ascending=None, group="")

    def action_reverse(self) -> None:
        text = self._filter.sort in ("title", "project")
        self._again(ascending=not (text if self._filter.ascending is None else self._filter.ascending))

    def action_group(self) -> None:
        """By day, by project, or not at all."""
        group = GROUPS[(GROUPS.index(self._filter.group) + 1) % len(GROUPS)]
        self._again(group=group, sort="project" if group == "project" else "ended", ascending=None)

    def _again(self, **changes: object) -> None:
        self._filter = self._filter._replace(**changes)  # type: ignore[arg-type]
        if not self._purpose:
            self.hansard.remember(sort=self._filter.sort, scope=self._filter.scope, group=self._filter.group)
        self.refill()


def _groups(h: Hansard, asked: Filter, timezone: str | None) -> dict[str, Group]:
    """The headings of groups, with what their sessions add up to where the list has all of them."""
    names = h.project_names() if asked.group == "project" else {}
    query, title = asked.query()
    is_whole = title is None and asked.scope not in ("project", "everything")
    found = h.session_groups(query, by=asked.group, each=1, limit=5_000, timezone=timezone)
    return {
        group.key: Group(_group_name(group.key, asked.group, names), group if is_whole else None)
        for group in found.groups
    }


def _group_name(key: str, by: str, names: Any) -> str:
    if by == "project":
        return project_name(key, names) if key else "(no project)"
    return weekday_text(datetime.fromisoformat(key)) if key else "(no date)"
