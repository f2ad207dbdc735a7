"""The files that sessions changed; enter shows the history of one with its diffs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType

from hansard.model.calls import Call, ChangedFile
from hansard.render.format import full, many, project_name, short, titled, tool_name
from hansard.render.terminal.parts import Board
from hansard.render.terminal.spans import CYAN, DIM, GREEN, RED, painted
from hansard.render.text import fit, fit_path, one_line, pad, width
from hansard.thread.tool_views import view
from hansard.tui.line_list import LineList
from hansard.tui.views.list_view import ListView, Rows

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.model.sessions import Session

_PAGE = 200
_SORTS = ("last", "changes", "lines", "path")
_RECENT = 8  # changes of a file that its preview names


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
        self._path: str | None = None  # whose history is shown
        self._place = 0  # of that file in the list
        self._sort = "last"
        self._reads = False

    def fetch(self, h: Hansard, text: str, cursor: str | None) -> Rows:
        """A page of files, or of the calls on one."""
        if self._path is not None:
            history = h.file_history(self._path, reads=self._reads, limit=_PAGE, cursor=cursor)
            head = (
                f"{history.path}: {many(history.changes, 'change')}, +{short(history.added)} -{short(history.removed)}"
                f" lines in {many(history.sessions, 'session')}"
            )
            return Rows(history.page.calls, history.page.next_cursor, head)
        page = h.files(text.strip() or None, sort=self._sort, limit=_PAGE, cursor=cursor)
        head = f"{many(page.total, 'file')}, {many(page.changes, 'change')}, +{short(page.added)} -{short(page.removed)} lines"
        return Rows(page.files, page.next_cursor, head if page.total else "no file matches")

    def draw(self, item: ChangedFile | Call, columns: int) -> Sequence[str]:
        """A file, or a call."""
        if isinstance(item, ChangedFile):
            figures = f"{short(item.changes):>5}  {pad(f'+{short(item.added)} -{short(item.removed)}', 14)}"
            path = fit_path(one_line(item.path), max(8, columns - 18 - len(figures) - 2))
            space = " " * max(1, columns - 18 - width(path) - width(figures))
            return [painted([(DIM, pad(full(item.last_at), 18)), ("", path), ("", space), (GREEN, figures)])]
        change = f"+{short(item.added)} -{short(item.removed)}" if item.change is not None else "read"
        title = fit(titled(item.title), max(8, columns - 52))
        return [
            painted(
                [
                    (DIM, pad(full(item.at), 18)),
                    (RED if item.is_error else CYAN, pad(fit(tool_name(item.tool), 14), 16)),
                    (GREEN, pad("failed" if item.is_error else change, 16)),
                    ("", title),
                ]
            )
        ]

    def session_of(self, item: ChangedFile | Call) -> str:
        """The session that changed it last, or that made the call."""
        return item.last_session_id if isinstance(item, ChangedFile) else item.session_id

    def preview_of(self, h: Hansard, item: ChangedFile | Call, columns: int) -> tuple[Sequence[str], int]:
        """What a call changed; of a file, the last changes."""
        if isinstance(item, ChangedFile):
            history = h.file_history(item.path, limit=_RECENT)
            lines = [painted([(DIM, f"last changed in {project_name(item.project, self.hansard.names)}")]), ""]
            for call in history.page.calls:
                lines += [*self.draw(call, columns), *_diff(h, call, columns, most=12), ""]
            return lines, 0
        return list(_diff(h, item, columns)), 0

    def open_item(self, item: ChangedFile | Call, session: Session) -> None:
        """The history of a file; a call where it was made."""
        if isinstance(item, ChangedFile):
            self._path, self._place = item.path, self.query_one(LineList).cursor
            self.refill(wait=False)
        else:
            self.hansard.choose(session, agent=item.agent_id or None, offset=item.offset)

    def action_clear(self) -> None:
        """Back to the files, then without a query."""
        if self._path is not None:
            self.action_up()
        else:
            super().action_clear()

    def action_up(self) -> None:
        if self._path is not None:
            self._path = None
            self.refill(wait=False, cursor=self._place)

    def action_sort(self) -> None:
        """By the last change, the number of changes, of lines, or the path."""
        if self._path is None:
            self._sort = _SORTS[(_SORTS.index(self._sort) + 1) % len(_SORTS)]
            self.refill(wait=False)
            self.say(f"sorted by {self._sort}")

    def action_reads(self) -> None:
        """With or without calls that changed nothing."""
        self._reads = not self._reads
        if self._path is not None:
            self.refill(wait=False)

    def copy_choices(self, session: Session) -> list[tuple[str, str, str]]:
        item: Any = self.query_one(LineList).current
        own = [("f", "path of the file", getattr(item, "path", "") or "")]
        return [*own, *super().copy_choices(session)]


def _diff(h: Hansard, call: Call, columns: int, most: int | None = None) -> Sequence[str]:
    """What a call changed, as the record has it."""
    read = h.listed_call(call)
    if read is None:
        return [painted([(DIM, "the change is no longer in the record")])]
    shown = view(read, "")
    board = Board(max(20, columns), colours=True)
    lines = [line for part in shown.results or shown.parts for line in board.part(part)]
    if most is not None and len(lines) > most:
        return [*lines[:most], painted([(DIM, f"… {many(len(lines) - most, 'more line')}")])]
    return lines
