"""What was used and what it cost: a report by any dimension, charts, and down to the arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType

from hansard.model.ledger import UsageReport, UsageRow
from hansard.render.format import many, model_name, project_name, row_cost, short
from hansard.render.reports import key_names, report_notes
from hansard.render.terminal.charts import draw as draw_chart
from hansard.render.terminal.costs import bar
from hansard.render.terminal.spans import BOLD, DIM, GREEN, painted
from hansard.render.terminal.tables import note_lines
from hansard.render.text import Paint, fit, one_line, pad, width
from hansard.tui.views.list_view import ListView, Rows

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.model.sessions import Session

_BY = ("day", "week", "month", "project", "model", "session", "branch", "agent", "pr", "group")
_CHARTS = ("bars", "calendar", "share")
_COLOURS = Paint(enabled=True)
_BAR = 12


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
        self._has_groups = False
        self._chart = 0
        self._report: UsageReport | None = None
        self._names: dict[str, str] = {}

    def on_mount(self) -> None:
        """Show the report that was shown last; Textual calls the base class's handler after this one."""
        by = self.hansard.state.usage_by
        self._by = by if by in _BY else "day"

    def fetch(self, h: Hansard, text: str, cursor: str | None) -> Rows:  # noqa: ARG002 - a report is one page
        if self._by == "group" and not h.groups:
            self._by = "day"
        by, self._has_groups = self._by, bool(h.groups)
        sort, ascending = ("key", False) if by in ("day", "week", "month") else (None, None)
        report = h.usage(text.strip() or None, by=by, sort=sort, ascending=ascending)
        self._report = report
        zone = self.hansard.zone
        self._names = key_names(by, [row.key[by] or "" for row in report.rows], zone, self.hansard.names)
        totals = report.totals
        head = f"by {by}: {row_cost(totals)}, {short(totals.tokens)} tokens, {many(totals.api_messages, 'message')}"
        return Rows(report.rows, None, head if report.rows else "no usage matches")

    def _label(self, row: UsageRow) -> str:
        value = row.key[self._by]
        if not value:
            return f"(no {self._by})"
        if self._by == "session":
            return one_line(row.about.get("title", "")[:400]) or value[:8]
        if self._by == "project":
            return project_name(value, self.hansard.names)
        return model_name(value) if self._by == "model" else self._names.get(value, value)

    def draw(self, item: UsageRow, columns: int) -> Sequence[str]:
        """A row with a bar of its share."""
        most = (
            max((row.cost_usd for row in self._report.rows if row.cost_usd is not None), default=None)
            if self._report
            else None
        )
        share = item.cost_usd / most if most and item.cost_usd is not None else 0
        chart = pad(bar(share, _BAR), _BAR)
        figures = f"{row_cost(item):>11}  {short(item.tokens):>7}  "
        room = max(8, columns - width(figures) - _BAR - 2)
        return [painted([("", pad(fit(one_line(self._label(item)), room), room)), (BOLD, figures), (GREEN, chart)])]

    def session_of(self, item: UsageRow) -> str | None:
        """The session of a row by session."""
        return item.key.get("session")

    def preview_of(self, h: Hansard, item: UsageRow, columns: int) -> tuple[Sequence[str], int]:
        """A chart, what the row is made of, and what to know about the prices."""
        report = self._report
        if report is None:
            return [], 0
        today = self.hansard.zone.local(datetime.now(UTC)).date()
        kind = _CHARTS[self._chart]
        lines: list[str] = []
        if kind == "calendar" or self._by in ("day", "week", "month"):
            shown = (
                report
                if self._by in ("day", "week", "month") and kind != "calendar"
                else h.usage(self._text(), by="day")
            )
            lines += draw_chart(kind, shown, self.hansard.names, columns, _COLOURS, today, blocks=True)
        else:
            lines += draw_chart("share", report, self.hansard.names, columns, _COLOURS, today, blocks=True)
        parts = [
            ("input", item.input_tokens),
            ("output", item.output_tokens),
            ("cache read", item.cache_read_tokens),
            ("cache write 5m", item.cache_write_5m_tokens),
            ("cache write 1h", item.cache_write_1h_tokens),
            ("messages", item.api_messages),
        ]
        lines += ["", painted([(BOLD, fit(one_line(self._label(item)), columns))])]
        lines += [painted([(DIM, pad(name, 16)), ("", f"{count:>16,}")]) for name, count in parts if count]
        lines += ["", *note_lines(report_notes(report.pricing, report.totals), columns, _COLOURS)]
        return lines, 0

    def _text(self) -> str | None:
        return self._asked.strip() or None

    def open_item(self, item: UsageRow, session: Session) -> None:  # noqa: ARG002 - by its session
        """Read the session of a row."""
        self.hansard.choose(session)

    def action_open(self) -> Any:
        """Read the session of a row; explain any other."""
        return super().action_open() if self._by == "session" else self.action_explain()

    def explained(self) -> tuple[str, Callable[[Hansard], object]] | None:
        """The row under the cursor."""
        from hansard.tui.line_list import LineList

        row = self.query_one(LineList).current
        if not isinstance(row, UsageRow):
            return None
        by, key, text = self._by, [row.key[self._by]], self._text()
        return self._label(row), lambda h: h.explain(None, text, by=by, key=key)

    def action_by(self, step: int) -> None:
        by = [name for name in _BY if self._has_groups or name != "group"]
        self._by = by[(by.index(self._by) + step) % len(by)]
        self.hansard.remember(usage_by=self._by)
        self.refill(wait=False)

    def action_chart(self) -> None:
        """Bars, a year's calendar, or shares."""
        self._chart = (self._chart + 1) % len(_CHARTS)
        self.refill(wait=False, keep=True)
