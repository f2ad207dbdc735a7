"""The files that sessions changed; enter shows the history of one with its diffs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual.binding import Binding, BindingType

from hansard.model.calls import Call, ChangedFile
from hansard.model.table import Column, Kind
from hansard.render.format import many, project_name, short
from hansard.render.terminal.parts import Board
from hansard.thread.tool_views import view
from hansard.tui.line_list import LineList
from hansard.tui.rows import COLOURS, row_line
from hansard.tui.views.list_view import ListView, Rows

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.model.sessions import Session

_PAGE = 200
_SORTS = ("last", "changes", "lines", "path")
_RECENT = 8  # changes of a file that its preview names
_FILES = (
    Column("LAST CHANGE", Kind.TIME, width=16, style="dim"),
    Column("FILE", Kind.PATH, least=24),
    Column("CHANGES", Kind.ROUNDED, width=7),
    Column("LINES", Kind.ROUNDED_LINES, width=13, style="green"),
)
_CALLS = (
    Column("WHEN", Kind.TIME, width=16, style="dim"),
    Column("TOOL", Kind.TOOL, width=14, style="cyan"),
    Column("LINES", width=13, right=True, style="green"),
    Column("SESSION", Kind.TITLE, least=20),
)


class _Question(NamedTuple):
    text: str | None
    sort: str
    path: str | None = None  # of the file whose history is shown
    reads: bool = False


class FilesView(ListView):
    """Files, or the history of one."""

    TAB = "files"
    PLACEHOLDER = "filter: words of the path"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "sort", "Sort"),
        Binding("left,backspace", "up", "Back to the files", show=False),
        Binding("R", "reads", "Show calls that only read", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._chosen = _Question(None, "last")
        self._place = 0  # in the list, of the file whose history is shown

    def question(self, text: str) -> _Question:
        return self._chosen._replace(text=text.strip() or None)

    def fetch(self, h: Hansard, asked: _Question, cursor: str | None) -> Rows:
        """A page of files, or of the calls on one."""
        if asked.path is not None:
            history = h.file_history(asked.path, reads=asked.reads, limit=_PAGE, cursor=cursor)
            lines = f"+{short(history.added)} -{short(history.removed)} lines"
            head = f"{history.path}: {many(history.changes, 'change')}, {lines} in {many(history.sessions, 'session')}"
            return Rows(history.page.calls, history.page.next_cursor, head, _CALLS)
        page = h.files(asked.text, sort=asked.sort, limit=_PAGE, cursor=cursor)
        lines = f"+{short(page.added)} -{short(page.removed)} lines"
        head = f"{many(page.total, 'file')}, {many(page.changes, 'change')}, {lines}"
        return Rows(page.files, page.next_cursor, head if page.total else "no file matches", _FILES)

    def columns(self) -> Sequence[Column]:
        return self.rows.about or _FILES

    def draw(self, item: ChangedFile | Call, columns: int) -> Sequence[str]:
        """A file, or a call."""
        if isinstance(item, ChangedFile):
            values: tuple[Any, ...] = item.last_at, item.path, item.changes, (item.added, item.removed)
            return [row_line(_FILES, values, columns)]
        change = "failed" if item.is_error else "read"
        if item.change is not None and not item.is_error:
            change = f"+{short(item.added)} -{short(item.removed)}"
        styles = ["dim", "red" if item.is_error else "cyan"]
        return [row_line(_CALLS, (item.at, item.tool, change, item.title), columns, styles=styles)]

    def session_of(self, item: ChangedFile | Call) -> str:
        """The session that changed it last, or that made the call."""
        return item.last_session_id if isinstance(item, ChangedFile) else item.session_id

    def preview_of(self, h: Hansard, item: ChangedFile | Call, columns: int) -> tuple[Sequence[str], int]:
        """What a call changed; of a file, the last changes."""
        if not isinstance(item, ChangedFile):
            return list(_diff(h, item, columns)), 0
        lines = [COLOURS(f"last changed in {project_name(item.project, self.hansard.names)}", "dim"), ""]
        for call in h.file_history(item.path, limit=_RECENT).page.calls:
            lines += [*self.draw(call, columns), *_diff(h, call, columns, most=12), ""]
        return lines, 0

    def open_item(self, item: ChangedFile | Call, session: Session) -> None:
        """Show the history of a file, or the session of a call."""
        if isinstance(item, ChangedFile):
            self._place = self.query_one(LineList).cursor
            self._again(path=item.path)
        else:
            self.hansard.choose(session, agent=item.agent_id or None, offset=item.offset)

    def action_clear(self) -> None:
        """Back to the files, then without a query."""
        if self._chosen.path is not None:
            self.action_up()
        else:
            super().action_clear()

    def action_up(self) -> None:
        if self._chosen.path is not None:
            self._again(path=None, cursor=self._place)

    def action_sort(self) -> None:
        """By the last change, the number of changes, of lines, or the path."""
        if self._chosen.path is None:
            self._again(sort=_SORTS[(_SORTS.index(self._chosen.sort) + 1) % len(_SORTS)])
            self.say(f"sorted by {self._chosen.sort}")

    def action_reads(self) -> None:
        """With or without calls that changed nothing."""
        self._again(reads=not self._chosen.reads)

    def _again(self, cursor: int = 0, **changes: Any) -> None:
        self._chosen = self._chosen._replace(**changes)
        self.refill(wait=False, cursor=cursor)

    def copy_choices(self, session: Session) -> list[tuple[str, str, str]]:
        item: Any = self.query_one(LineList).current
        own = [("f", "path of the file", getattr(item, "path", "") or "")]
        return [*own, *super().copy_choices(session)]


def _diff(h: Hansard, call: Call, columns: int, most: int | None = None) -> Sequence[str]:
    """What a call changed, as the record has it."""
    read = h.listed_call(call)
    if read is None:
        return [COLOURS("the change is no longer in the record", "dim")]
    shown = view(read, "")
    board = Board(max(20, columns), colours=True)
    lines = [line for part in shown.results or shown.parts for line in board.part(part)]
    if most is not None and len(lines) > most:
        return [*lines[:most], COLOURS(f"… {many(len(lines) - most, 'more line')}", "dim")]
    return lines
