"""An explanation laid out for a terminal: the figure, the arithmetic per rate, then message by message."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from hansard.model.table import Column, Table
from hansard.render.explained import (
    CLASSES,
    COPIES,
    arithmetic,
    belongs,
    counted_once,
    decided,
    known_cost,
    rate_words,
    shown_words,
    stated,
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
    from hansard.model.explain import Charge, ExplainedLine, ExplainedMessage, Explanation
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
            yield from self._charges(item.charges, item.found_by, item.cost_usd)
        if len(rates) > 1 and explanation.figure.cost_usd is not None:
            yield ""
            yield self.paint(f"together {exact(explanation.figure.cost_usd)}", "green")

    def _charges(self, charges: Iterable[Charge], found_by: str, cost: Decimal | None) -> Iterator[str]:
        rows = [(CLASSES[item.name], f"{item.count:,}", *arithmetic(item)) for item in charges if item.count]
        if cost is not None:
            rows.append(("recorded by the client" if found_by == "recorded" else "sum", "", "", "= " + exact(cost)))
        yield from self._table((Column(""), Column("", right=True), Column("", rank=1), Column("")), rows, "  ")
        if found_by == "unpriced":
            yield from self._dim("not in the cost", "  ")

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
        yield from self._lines(message.lines, indent + "  ")
        yield from self._classes(message, indent)
        if message.is_lower_bound:
            yield from self._wrapped(f"output is a lower bound: {message.lower_bound}", indent, "yellow")
        if message.found_by != "recorded":
            yield from self._dim(rate_words(message.rate, message.prompt_tokens), indent)
        for text in message.notes:
            yield from self._wrapped(one_line(text), indent, "dim" if message.agrees else "yellow")

    def _lines(self, lines: Sequence[ExplainedLine], indent: str) -> Iterator[str]:
        chosen = [line for line in lines if line.is_owner or line.wins]
        room = max(0, _MANY_LINES - len(chosen))
        chosen += [line for line in lines if not (line.is_owner or line.wins)][:room]
        chosen.sort(key=lambda line: line.number)
        place: tuple[str, str, int] | None = None
        for line in chosen:
            if (line.root, line.transcript, line.generation) != place:
                place = line.root, line.transcript, line.generation
                yield self.paint(indent + self._place(line, self.columns - len(indent)), "dim")
            number = f"{line.number}  "
            yield from self._wrapped(number + self._where(line), indent, hang=len(number))
            yield from self._dim(stated(line), indent + " " * len(number))
        if len(lines) > len(chosen):
            yield (
                indent + f"and {many(len(lines) - len(chosen), 'more line')} that decide nothing; --json lists them all"
            )

    def _place(self, line: ExplainedLine, room: int) -> str:
        told = f", generation {line.generation} ({line.state})" if line.state == "rewritten" else ""
        told += " (gone)" if line.state == "gone" else ""
        told += f", {COPIES.get(line.copy, line.copy)}" if line.copy else ""
        return fit(fit_path(one_line(line.transcript), max(12, room - len(told))) + told, room)

    def _where(self, line: ExplainedLine) -> str:
        at = f"{self.zone.local(line.at):%H:%M:%S.%f}"[:-3] if line.at is not None else "no time"
        return f"@{line.offset} {line.length:,} B  {at}  {one_line(line.uuid or 'no uuid')}"

    def _classes(self, message: ExplainedMessage, indent: str) -> Iterator[str]:
        rows = [
            (CLASSES[item.name], f"{item.count:,}", *arithmetic(item), decided(item))
            for item in message.classes
            if item.count
        ]
        if message.found_by == "recorded" and message.recorded_usd is not None:
            rows.append(("recorded by the client", "", "", "= " + exact(message.recorded_usd), ""))
        elif message.cost_usd is not None:
            rows.append(("sum", "", "", "= " + exact(message.cost_usd), ""))
        layout = (Column(""), Column("", right=True), Column(""), Column(""), Column("", least=12, rank=1, style="dim"))
        yield from self._table(layout, rows, indent)
        if message.found_by == "unpriced":
            yield from self._dim("not in the cost", indent)
        for item in message.classes:
            if item.remainder:
                text = f"{item.remainder:,} tokens: remainder of the flat cache write counted as 5 minutes"
                yield from self._dim(text, indent)

    # -- pieces

    def _table(self, layout: Sequence[Column], rows: Sequence[Sequence[str]], indent: str) -> Iterator[str]:
        yield from draw_table(Table(layout, rows), self.columns, self.paint, header=False, indent=indent)

    def _wrapped(self, text: str, indent: str, style: str | None = None, hang: int = 0) -> Iterator[str]:
        first, *others = wrap(text, max(20, self.columns - len(indent) - hang))
        for place, line in enumerate((first, *others)):
            full = indent + (" " * hang if place else "") + line
            yield self.paint(full, style) if style else full

    def _dim(self, text: str, indent: str) -> Iterator[str]:
        return self._wrapped(text, indent, "dim")

    def _time(self, moment: datetime | None) -> str:
        return f"{self.zone.local(moment):%Y-%m-%d %H:%M:%S}" if moment is not None else "at an unknown time"
