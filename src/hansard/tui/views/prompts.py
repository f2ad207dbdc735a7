"""Everything that was ever typed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType

from hansard.model.search import Prompt
from hansard.model.table import Column, Kind
from hansard.render.format import full, prompt_counts
from hansard.render.text import clean, fit, one_line, wrap
from hansard.tui.line_list import LineList
from hansard.tui.rows import COLOURS
from hansard.tui.views.list_view import ListView, Rows

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.model.sessions import Session

_PAGE = 200
_LONGEST = 1_000  # characters of a prompt that a line is made of
_COLUMNS = (
    Column("WHEN", Kind.TIME, width=16, style="dim"),
    Column("PROJECT", Kind.PROJECT, width=16, least=8, style="green"),
    Column("PROMPT", least=36),
)


class PromptsView(ListView):
    """Prompts, newest first."""

    TAB = "prompts"
    PLACEHOLDER = "prompts with these words, project:name, since:7d ..."
    BINDINGS: ClassVar[list[BindingType]] = [Binding("u", "unique", "Hide duplicates")]

    def __init__(self) -> None:
        super().__init__()
        self._unique = False

    def question(self, text: str) -> tuple[str | None, bool]:
        return text.strip() or None, self._unique

    def fetch(self, h: Hansard, asked: tuple[str | None, bool], cursor: str | None) -> Rows:
        query, unique = asked
        page = h.prompts(query, unique=unique, limit=_PAGE, cursor=cursor)
        once = ", duplicates merged" if unique else ""
        return Rows(page.prompts, page.next_cursor, (prompt_counts(page) + once) if page.total else "no prompt matches")

    def columns(self) -> Sequence[Column]:
        return _COLUMNS

    def cells(self, item: Prompt) -> Sequence[Any]:
        """When, where and how it begins."""
        times = f"{item.times}x " if item.times > 1 else ""
        mark = "" if item.source in ("prompt", "queued") else f"[{item.source}] "
        return item.at, item.project, f"{times}{mark}{item.text[:_LONGEST]}"

    def session_of(self, item: Prompt) -> str | None:
        """The session that it was typed in, if that is kept."""
        return item.session_id if item.session_kept else None

    def preview_of(self, h: Hansard, item: Prompt, columns: int) -> tuple[Sequence[str], int]:
        text = h.prompt_text(item.transcript, item.offset) if item.transcript else None
        head = [COLOURS(full(item.at), "dim"), COLOURS(fit(one_line(item.project), columns), "green"), ""]
        return [*head, *wrap(clean(text or item.text), columns)], 0

    def open_item(self, item: Prompt, session: Session) -> None:
        self.hansard.choose(session, offset=item.offset if item.source != "history" else None)

    def copy_choices(self, session: Session) -> list[tuple[str, str, str]]:
        item = self.query_one(LineList).current
        own = [("m", "prompt", item.text)] if isinstance(item, Prompt) else []
        return [*own, *super().copy_choices(session)]

    def action_unique(self) -> None:
        """Equal prompts once, or each time."""
        self._unique = not self._unique
        self.refill(wait=False)
