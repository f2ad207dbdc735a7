"""Searching as you type, with facets and the place of the hit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from hansard.model.search import FoundNote, Hit
from hansard.render.format import full, many, project_name, titled, tool_name
from hansard.render.terminal.hits import snippet_lines
from hansard.render.terminal.spans import CYAN, DIM, GREEN, RED, painted
from hansard.render.text import Paint, fit, one_line, width, wrap
from hansard.tui.frame import asking
from hansard.tui.line_list import LineList
from hansard.tui.query_input import QueryInput
from hansard.tui.session_list import typed_query
from hansard.tui.thread_lines import ThreadKey, hit_preview, session_preview
from hansard.tui.views.list_view import ListView, Rows

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.model.search import Facets
    from hansard.model.sessions import Session

_PAGE = 40
_EACH = 9  # values of a facet that are offered
_FACETS = ("project", "kind", "tool", "model", "month")


class SearchView(ListView):
    """What was ever said or done."""

    TAB = "search"
    PLACEHOLDER = 'search: words, "a phrase", tool:Bash, is:error, project:name, since:7d ...'
    ITEM_HEIGHT = 3
    STARTS_TYPING = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "sort", "Best or newest"),
        Binding("f", "facets", "Narrow down"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._sort = "best"

    def fetch(self, h: Hansard, text: str, cursor: str | None) -> Rows:
        query, word = typed_query(text)
        query = " ".join(filter(None, (query, f"{word}*" if word and len(word) > 1 else word)))
        if not query:
            return Rows((), None, "Type to search everything that was ever said or done.")
        page = h.search(query, limit=_PAGE, cursor=cursor, sort=self._sort)
        total = f"more than {page.total:,} matches" if page.truncated else many(page.total, "match", "matches")
        notes = "  ".join(page.notes)
        head = (
            f"{total}, {self._sort} first, {page.took_ms:.0f} ms  {notes}" if page.hits else f"nothing matches  {notes}"
        )
        if page.partial is not None:
            return Rows((*page.found_notes, *page.partial.hits), None, f"{page.partial.heading}  {notes}")
        return Rows((*page.found_notes, *page.hits), page.next_cursor, head)

    def draw(self, item: Hit | FoundNote, columns: int) -> Sequence[str]:
        """Where it is, and the words around it."""
        if isinstance(item, FoundNote):
            text = wrap(one_line(item.note), max(20, columns - 2))
            return [self._head_of(item, "your note", item.at, columns, CYAN), *text[:2]]
        label = tool_name(item.tool) if item.tool else item.kind
        head = self._head_of(item, label, item.timestamp, columns, RED if item.is_error else CYAN)
        return [head, *snippet_lines(item, max(20, columns - 2), 2, Paint(enabled=True))]

    def _head_of(self, item: Hit | FoundNote, label: str, at: datetime | None, columns: int, style: str) -> str:
        time = full(at)
        left = f"{project_name(item.project, self.hansard.names)}  "
        room = columns - width(left) - width(label) - width(time) - 4
        title = fit(titled(item.title), max(8, room))
        space = " " * max(1, columns - width(left) - width(title) - width(label) - width(time) - 3)
        return painted([(GREEN, left), ("", title), ("", space), (style, label), ("", "  "), (DIM, time)])

    def session_of(self, item: Hit | FoundNote) -> str:
        """The session of a hit."""
        return item.session_id

    def preview_of(self, h: Hansard, item: Hit | FoundNote, columns: int) -> tuple[Sequence[str], int]:
        if isinstance(item, FoundNote):
            return session_preview(h, h.session(item.session_id), columns), 0
        return hit_preview(h, ThreadKey(item.session_id, item.agent_id or None), item.offset, columns)

    def open_item(self, item: Hit | FoundNote, session: Session) -> None:
        """Read at the hit, with what was found marked; for a note, the session."""
        if isinstance(item, FoundNote):
            self.hansard.choose(session)
            return
        marked = [item.snippet[start:end] for start, end in item.highlights]
        self.hansard.choose(
            session, agent=item.agent_id or None, offset=item.offset, find=max(marked, key=len, default="")
        )

    def current_place(self) -> tuple[str | None, int | None]:
        """The subagent and the offset of the hit under the cursor."""
        item = self.query_one(LineList).current
        return (item.agent_id or None, item.offset) if isinstance(item, Hit) else (None, None)

    def action_sort(self) -> None:
        """The best or the newest first."""
        self._sort = {"best": "newest", "newest": "oldest"}.get(self._sort, "best")
        self.refill(wait=False)

    @asking("act")
    async def action_facets(self) -> None:
        """Narrow the search by project, kind, tool, model or month."""
        query = self.query_one(QueryInput).value.strip()
        if not query:
            return
        entries = list(_entries(await self.ask(lambda h: h.facets(query))))

        def narrow(place: int) -> None:
            self.query_one(QueryInput).value = f"{query} {entries[place][1]}"

        self.pick("Only", [("", f"{count:>7,}  {condition}") for count, condition in entries], narrow)


def _entries(facets: Facets) -> Sequence[tuple[int, str]]:
    """The conditions that a search can be narrowed by, each with how many texts it leaves."""
    found: list[tuple[int, str]] = []
    for name in _FACETS:
        for value, count in getattr(facets, name)[:_EACH]:
            if value and name == "month":
                found.append((count, f"since:{value} before:{_next_month(value)}"))
            elif value:
                found.append((count, f'{name}:"{value}"' if " " in value or ":" in value else f"{name}:{value}"))
    return found


def _next_month(month: str) -> str:
    year, number = map(int, month.split("-")[:2])
    return f"{year + number // 12:04}-{number % 12 + 1:02}"
