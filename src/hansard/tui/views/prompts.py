"""Everything that was ever typed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from hansard.model.search import Prompt
from hansard.render.format import full, project_name, prompt_counts
from hansard.render.terminal.spans import CYAN, DIM, GREEN, YELLOW, painted
from hansard.render.text import clean, fit, one_line, pad, wrap
from hansard.tui.line_list import LineList
from hansard.tui.views.list_view import ListView, Rows

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.model.sessions import Session

_PAGE = 200
_LONGEST = 1_000  # characters of a prompt that a line is made of


class PromptsView(ListView):
    """Prompts, newest first."""

    TAB = "prompts"
    PLACEHOLDER = "prompts with these words, project:name, since:7d ..."
    BINDINGS: ClassVar[list[BindingType]] = [Binding("u", "unique", "Hide duplicates")]

    def __init__(self) -> None:
        super().__init__()
        self._unique = False

    def fetch(self, h: Hansard, text: str, cursor: str | None) -> Rows:
        page = h.prompts(text.strip() or None, unique=self._unique, limit=_PAGE, cursor=cursor)
        once = ", duplicates merged" if self._unique else ""
        return Rows(page.prompts, page.next_cursor, (prompt_counts(page) + once) if page.total else "no prompt matches")

    def draw(self, item: Prompt, columns: int) -> Sequence[str]:
        """When, where and how it begins."""
        mark = "" if item.source in ("prompt", "queued") else f"[{item.source}] "
        times = f"{item.times}x " if item.times > 1 else ""
        project = pad(fit(project_name(item.project, self.hansard.names), 16), 16)
        time = pad(full(item.at), 16)
        text = fit(one_line(item.text[:_LONGEST]), max(8, columns - 36 - len(mark) - len(times)))
        return [
            painted([(DIM, time), ("", "  "), (GREEN, project), ("", "  "), (YELLOW, times), (CYAN, mark), ("", text)])
        ]

    def session_of(self, item: Prompt) -> str | None:
        """The session that it was typed in, if that is kept."""
        return item.session_id if item.session_kept else None

    def preview_of(self, h: Hansard, item: Prompt, columns: int) -> tuple[Sequence[str], int]:
        text = h.prompt_text(item.transcript, item.offset) if item.transcript else None
        head = [painted([(DIM, full(item.at))]), painted([(GREEN, fit(one_line(item.project), columns))]), ""]
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
