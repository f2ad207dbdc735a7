"""An explanation laid out for a terminal: the figure, the arithmetic per rate, then message by message."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from hansard.model.table import Table
from hansard.render.explained import (
    belongs,
    counted_once,
    deciding_lines,
    known_cost,
    line_words,
    message_sums,
    rate_words,
    remainders,
    shown_words,
    stated,
    sum_table,
    title_of,
    together,
    used,
)
from hansard.render.format import dollars, exact, many, row_cost
from hansard.render.reports import report_notes
from hansard.render.terminal.tables import draw_table, note_lines
from hansard.render.text import Paint, fit, fit_path, one_line, wrap

if TYPE_CHECKING:
    from hansard.model.calendar import Zone
    from hansard.model.explain import ExplainedLine, ExplainedMessage, Explanation
    from hansard.render.format import ProjectNames

_MANY_LINES = 8


def lay_out(explanation: Explanation, zone: Zone, names: ProjectNames, columns: int, paint: Paint) -> list[str]:
    sheet = _Layout(zone, names, columns, paint)
    return [
        *sheet.head(explanation),
        *note_lines(report_notes(explanation.pricing, explanation.figure), columns, paint),
        *sheet.arithmetic(explanation),
        *sheet.messages(explanation),
    ]


class _Layout:
    def __init__(self, zone: Zone, names: ProjectNames, columns: int, paint: Paint) -> None:
        self.zone = zone
        self.names = names
        self.columns = columns
        self.paint = paint

    # -- the figure

    def head(self, explanation: Explanation) -> Iterator[str]:
        """What is explained, and its amount: rounded, and to the last digit."""
        figure = explanation.figure
        yield self.paint(fit(title_of(explanation), self.columns), "bold")
        for sign, moment in (("since", explanation.since), ("until", explanation.until)):
            if moment is not None:
                yield f"{sign} {self._time(moment)}"
        yield self.paint(f"{row_cost(figure)}  {many(figure.api_messages, 'message')}", "green")
        yield from self._wrapped(used(figure), "")
        found = "no known cost" if figure.cost_usd is None else f"exactly {exact(figure.cost_usd)}"
        yield from self._wrapped(
            f"{found}; mode {explanation.pricing.mode}, times in {one_line(explanation.timezone)}", ""
        )
        for text in explanation.notes:
            yield from (self.paint(line, "yellow") for line in wrap(one_line(text), self.columns))

    def arithmetic(self, explanation: Explanation) -> Iterator[str]:
        """Tokens times rate for the whole figure, rate by rate."""
        if explanation.figure.api_messages == len(explanation.messages) == 1:
            return  # the message says the same
        rates = together(explanation.rates)
        for item in rates:
            yield ""
            name = fit(one_line(item.rate.model) or "unnamed model", self.columns - 20)
            yield self.paint(name, "cyan") + "  " + many(item.messages, "message")
            yield from self._dim(rate_words(item.rate), "  ")
            yield from self._sums(sum_table(item.charges, item.cost_usd, item.found_by), item.found_by, "  ")
        if len(rates) > 1 and explanation.figure.cost_usd is not None:
            yield ""
            yield self.paint(f"together {exact(explanation.figure.cost_usd)}", "green")

    def _sums(self, table: Table, found_by: str, indent: str) -> Iterator[str]:
        rows = [*table.rows, table.totals] if table.totals is not None else table.rows
        yield from draw_table(Table(table.columns, rows), self.columns, self.paint, header=False, indent=indent)
        if found_by == "unpriced":
            yield from self._dim("not in the cost", indent)

    # -- messages

    def messages(self, explanation: Explanation) -> Iterator[str]:
        """The most expensive messages one by one, and what the others add up to."""
        shown, rest = explanation.shown, explanation.rest
        if not explanation.messages:
            return
        if rest.api_messages or shown.api_messages > 1:
            yield ""
            yield self.paint(shown_words(shown.api_messages, rest.api_messages), "bold")
        for number, message in enumerate(explanation.messages, 1):
            yield ""
            yield from self._message(number, message)
        if rest.api_messages:
            yield ""
            yield from self._wrapped(f"shown: {many(shown.api_messages, 'message')}, {known_cost(shown.cost_usd)}", "")
            others = f"{many(rest.api_messages, 'message')}, {known_cost(rest.cost_usd)}, {rest.tokens:,} tokens"
            yield from self._wrapped(f"not shown: {others}", "")

    def _message(self, number: int, message: ExplainedMessage) -> Iterator[str]:
        paint = self.paint
        head = f"{number:,}. {dollars(message.cost_usd)}" + ("+" if message.is_lower_bound else "")
        at = f"  {self._time(message.at)}  "
        model = fit(one_line(message.model) or "unnamed model", max(8, self.columns - len(head) - len(at)))
        yield paint(head, "green") + paint(at, "dim") + paint(model, "cyan")
        indent = "   "
        yield fit(f"{indent}{one_line(message.key)}", self.columns)
        yield from self._wrapped(belongs(message, self.names), indent)
        yield from self._wrapped(counted_once(message), indent)
        yield from self._lines(message, indent + "  ")
        yield from self._sums(message_sums(message), message.found_by, indent)
        for text in remainders(message):
            yield from self._dim(text, indent)
        if message.is_lower_bound:
            yield from self._wrapped(f"output is a lower bound: {message.lower_bound}", indent, "yellow")
        if message.found_by != "recorded":
            yield from self._dim(rate_words(message.rate, message.prompt_tokens), indent)
        for text in message.notes:
            yield from self._wrapped(one_line(text), indent, "dim" if message.agrees else "yellow")

    def _lines(self, message: ExplainedMessage, indent: str) -> Iterator[str]:
        lines = deciding_lines(message, _MANY_LINES)
        place: tuple[str, str, int] | None = None
        for line in lines:
            if (line.root, line.transcript, line.generation) != place:
                place = line.root, line.transcript, line.generation
                yield self.paint(indent + self._place(line, self.columns - len(indent)), "dim")
            number = f"{line.number}  "
            yield from self._wrapped(number + self._where(line), indent, hang=len(number))
            yield from self._dim(stated(line), indent + " " * len(number))
        if left := len(message.lines) - len(lines):
            yield f"{indent}and {many(left, 'more line')} that decide nothing; --json lists them all"

    def _place(self, line: ExplainedLine, room: int) -> str:
        about = f", {words}" if (words := line_words(line)) else ""
        return fit(fit_path(one_line(line.transcript), max(12, room - len(about))) + about, room)

    def _where(self, line: ExplainedLine) -> str:
        at = f"{self.zone.local(line.at):%H:%M:%S.%f}"[:-3] if line.at is not None else "no time"
        return f"@{line.offset} {line.length:,} B  {at}  {one_line(line.uuid or 'no uuid')}"

    # -- pieces

    def _wrapped(self, text: str, indent: str, style: str | None = None, hang: int = 0) -> Iterator[str]:
        first, *others = wrap(text, max(20, self.columns - len(indent) - hang))
        for place, line in enumerate((first, *others)):
            full = indent + (" " * hang if place else "") + line
            yield self.paint(full, style) if style else full

    def _dim(self, text: str, indent: str) -> Iterator[str]:
        return self._wrapped(text, indent, "dim")

    def _time(self, moment: datetime | None) -> str:
        return f"{self.zone.local(moment):%Y-%m-%d %H:%M:%S}" if moment is not None else "at an unknown time"
