"""Search as you type, with facets and the context of each hit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from hansard.model.search import FoundNote, Hit
from hansard.model.table import Column, Kind
from hansard.render.format import many, tool_name
from hansard.render.terminal.hits import snippet_lines
from hansard.render.text import one_line, wrap
from hansard.tui.frame import asking
from hansard.tui.line_list import LineList
from hansard.tui.query_input import QueryInput
from hansard.tui.rows import COLOURS, row_line
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
_HEAD = (
    Column("PROJECT", Kind.PROJECT, width=16, least=8, style="green"),
    Column("TITLE", Kind.TITLE, least=20),
    Column("WHAT", width=12, right=True, style="cyan"),
    Column("WHEN", Kind.TIME, width=16, style="dim", rank=1),
)


class SearchView(ListView):
    """What was ever said or done."""

    TAB = "search"
    PLACEHOLDER = 'search: words, "a phrase", tool:Bash, is:error, project:name, since:7d ...'
    ITEM_HEIGHT = 3
    starts_typing = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "sort", "Best or newest"),
        Binding("f", "facets", "Narrow down"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._sort = "best"

    def question(self, text: str) -> tuple[str, str]:
        query, word = typed_query(text)
        return " ".join(filter(None, (query, f"{word}*" if word and len(word) > 1 else word))), self._sort

    def fetch(self, h: Hansard, asked: tuple[str, str], cursor: str | None) -> Rows:
        query, sort = asked
        if not query:
            return Rows((), None, "Type to search everything that was ever said or done.")
        page = h.search(query, limit=_PAGE, cursor=cursor, sort=sort)
        total = f"more than {page.total:,} matches" if page.truncated else many(page.total, "match", "matches")
        notes = "  ".join(page.notes)
        head = f"{total}, {sort} first, {page.took_ms:.0f} ms  {notes}" if page.hits else f"nothing matches  {notes}"
        if page.partial is not None:
            return Rows((*page.found_notes, *page.partial.hits), None, f"{page.partial.heading}  {notes}")
        return Rows((*page.found_notes, *page.hits), page.next_cursor, head)

    def draw(self, item: Hit | FoundNote, columns: int) -> Sequence[str]:
        """Where it is, and the words around it."""
        room, names = max(20, columns - 2), self.hansard.names
        if isinstance(item, FoundNote):
            values = item.project, item.title, "your note", item.at
            return [row_line(_HEAD, values, columns, names), *wrap(one_line(item.note), room)[:2]]
        values = item.project, item.title, tool_name(item.tool) if item.tool else item.kind, item.timestamp
        styles = ["green", None, "red" if item.is_error else "cyan"]
        return [row_line(_HEAD, values, columns, names, styles), *snippet_lines(item, room, 2, COLOURS)]

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
        """The best, the newest or the oldest first."""
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


def _entries(facets: Facets) -> Iterator[tuple[int, str]]:
    """The conditions that a search can be narrowed by, each with how many texts it leaves."""
    for name in _FACETS:
        for value, count in getattr(facets, name)[:_EACH]:
            if value and name == "month":
                yield count, f"since:{value} before:{_next_month(value)}"
            elif value:
                yield count, f'{name}:"{value}"' if " " in value or ":" in value else f"{name}:{value}"


def _next_month(month: str) -> str:
    year, number = map(int, month.split("-")[:2])
    return f"{year + number // 12:04}-{number % 12 + 1:02}"
