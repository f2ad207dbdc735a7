"""What was used and what it cost: a report by any dimension, charts, and down to the arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual.binding import Binding, BindingType

from hansard.model.ledger import UsageReport, UsageRow
from hansard.model.table import Column, Kind
from hansard.render.format import many, model_name, project_name, row_cost, short
from hansard.render.reports import key_names, nothing_found, report_notes, usage_cost
from hansard.render.terminal.charts import draw as draw_chart
from hansard.render.terminal.costs import bar
from hansard.render.terminal.tables import note_lines
from hansard.render.text import fit, one_line, pad
from hansard.tui.line_list import LineList
from hansard.tui.rows import COLOURS
from hansard.tui.views.list_view import ListView, Rows

if TYPE_CHECKING:
    from decimal import Decimal

    from hansard.engine import Hansard
    from hansard.model.explain import Explanation
    from hansard.model.sessions import Session

_BY = ("day", "week", "month", "project", "model", "session", "branch", "agent", "pr", "group")
_TIMES = ("day", "week", "month")
_CHARTS = ("bars", "calendar", "share")
_BAR = 12
_FIGURES = (
    Column("COST", Kind.COST, width=11, style="bold"),
    Column("TOKENS", Kind.ROUNDED, width=7, style="bold"),
    Column("", Kind.LABEL, width=_BAR, style="green"),
)


class _Listed(NamedTuple):
    report: UsageReport
    names: dict[str, str]  # of its keys
    has_groups: bool
    most: Decimal | None  # the largest cost

    @property
    def by(self) -> str:
        return self.report.by[0]


class UsageView(ListView):
    """Rows of a report beside a chart of it."""

    TAB = "usage"
    PLACEHOLDER = "only: project:name, model:opus, since:30d, 2026-05 ..."
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,l", "by(1)", "Next dimension"),
        Binding("left,h", "by(-1)", "Previous dimension", show=False),
        Binding("c", "chart", "Chart"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._by = "day"
        self._chart = 0

    def on_mount(self) -> None:
        """Show the report that was shown last; Textual calls the base class's handler after this one."""
        by = self.hansard.state.usage_by
        self._by = by if by in _BY else "day"

    def question(self, text: str) -> tuple[str, str | None]:
        return self._by, text.strip() or None

    def fetch(self, h: Hansard, asked: tuple[str, str | None], cursor: str | None) -> Rows:  # noqa: ARG002 - one page
        by, query = asked
        if by == "group" and not h.groups:
            by = "day"
        sort, ascending = ("key", False) if by in _TIMES else (None, None)
        report = h.usage(query, by=by, sort=sort, ascending=ascending)
        names = key_names(by, [row.key[by] or "" for row in report.rows], self.hansard.zone, self.hansard.names)
        most = max((row.cost_usd for row in report.rows if row.cost_usd is not None), default=None)
        totals = report.totals
        head = f"by {by}: {row_cost(totals)}, {short(totals.tokens)} tokens, {many(totals.api_messages, 'message')}"
        listed = _Listed(report, names, bool(h.groups), most)
        return Rows(report.rows, None, head if report.rows else nothing_found(report), listed)

    def columns(self) -> Sequence[Column]:
        by = self.rows.about.by if self.rows.about is not None else self._by
        return Column(by.upper(), least=16), *_FIGURES

    def cells(self, item: UsageRow) -> Sequence[Any]:
        """Its name, its figures, and a bar of its share."""
        most = self.rows.about.most
        share = item.cost_usd / most if most and item.cost_usd is not None else 0
        return self._label(item), usage_cost(item), item.tokens, pad(bar(share, _BAR), _BAR)

    def _label(self, row: UsageRow) -> str:
        by = self.rows.about.by
        value = row.key[by]
        if not value:
            return f"(no {by})"
        if by == "session":
            return one_line(row.about.get("title", "")[:400]) or value[:8]
        if by == "project":
            return project_name(value, self.hansard.names)
        return model_name(value) if by == "model" else self.rows.about.names.get(value, value)

    def session_of(self, item: UsageRow) -> str | None:
        """The session of a row by session."""
        return item.key.get("session")

    def preview_of(self, h: Hansard, item: UsageRow, columns: int) -> tuple[Sequence[str], int]:
        """A chart, what the row is made of, and what to know about the prices."""
        listed: _Listed = self.rows.about
        report, kind = listed.report, _CHARTS[self._chart]
        if kind == "calendar" and listed.by != "day":
            report = h.usage(self._asked[1], by="day")
        elif kind == "bars" and listed.by not in _TIMES:
            kind = "share"
        today = self.hansard.zone.local(datetime.now(UTC)).date()
        parts = {
            "input": item.input_tokens,
            "output": item.output_tokens,
            "cache read": item.cache_read_tokens,
            "cache write 5m": item.cache_write_5m_tokens,
            "cache write 1h": item.cache_write_1h_tokens,
            "messages": item.api_messages,
        }
        return [
            *draw_chart(kind, report, self.hansard.names, columns, COLOURS, today, blocks=True),
            "",
            COLOURS(fit(one_line(self._label(item)), columns), "bold"),
            *(f"{COLOURS(pad(name, 16), 'dim')}{count:>16,}" for name, count in parts.items() if count),
            "",
            *note_lines(report_notes(report.pricing, report.totals), columns, COLOURS),
        ], 0

    def open_item(self, item: UsageRow, session: Session) -> None:  # noqa: ARG002 - by its session
        """Read the session of a row."""
        self.hansard.choose(session)

    def action_open(self) -> Any:
        """Read the session of a row; explain any other."""
        return super().action_open() if self.rows.about.by == "session" else self.action_explain()

    def explained(self) -> tuple[str, Callable[[Hansard], Explanation]] | None:
        """The row under the cursor."""
        row = self.query_one(LineList).current
        if not isinstance(row, UsageRow):
            return None
        (_, query), by = self._asked, self.rows.about.by
        return self._label(row), lambda h: h.explain(None, query, by=by, key=[row.key[by]])

    def action_by(self, step: int) -> None:
        has_groups = self.rows.about is not None and self.rows.about.has_groups
        by = [name for name in _BY if has_groups or name != "group"]
        shown = by.index(self._by) if self._by in by else 0
        self._by = by[(shown + step) % len(by)]
        self.hansard.remember(usage_by=self._by)
        self.refill(wait=False)

    def action_chart(self) -> None:
        """Bars, a year's calendar, or shares."""
        self._chart = (self._chart + 1) % len(_CHARTS)
        self._previewed = None
        self.show_preview()
