"""An explanation laid out for a terminal: the figure, the arithmetic per rate, then message by message."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from hansard.cli.money import notes, row_cost
from hansard.cli.tables import Column, table
from hansard.cli.terminal import Paint, fit, fit_path, one_line, wrap
from hansard.cli.words import many, project_name
from hansard.model.document import money
from hansard.render.money import dollars

if TYPE_CHECKING:
    from hansard.ledger.calendar import Zone
    from hansard.model import (
        Charge,
        ExplainedClass,
        ExplainedLine,
        ExplainedMessage,
        ExplainedRate,
        Explanation,
        Rate,
        UsageRow,
    )

_NAMES = {
    "input_tokens": "input",
    "output_tokens": "output",
    "cache_read_tokens": "cache read",
    "cache_write_5m_tokens": "write 5 min",
    "cache_write_1h_tokens": "write 1 h",
    "web_searches": "web searches",
}
_SAID = {
    "input_tokens": "in",
    "output_tokens": "out",
    "cache_read_tokens": "read",
    "cache_write_tokens": "write",
    "cache_write_5m_tokens": "5 min",
    "cache_write_1h_tokens": "1 h",
    "web_searches": "searches",
}
_COPIES = {
    "fork": "copy in a fork",
    "branch": "copy in a branch",
    "replay": "replayed by a subagent",
    "resumed": "copy in a resumed session",
    "context": "copy in a subagent's context",
    "generation": "copy in another generation of the file",
    "file": "in another file of the session",
    "session": "in another session",
}
_MANY_LINES = 8
_PLAIN = ("", "standard", "not_available", "global")


def lay_out(explanation: Explanation, zone: Zone, columns: int, paint: Paint) -> list[str]:
    """The lines of the answer."""
    sheet = _Sheet(zone, columns, paint)
    return [
        *sheet.head(explanation),
        *notes(explanation.pricing, explanation.figure, columns, paint),
        *sheet.arithmetic(explanation),
        *sheet.messages(explanation),
    ]


def exact(amount: Decimal) -> str:
    """An amount with all its digits."""
    digits = money(amount)
    whole, point, rest = digits.partition(".")
    return f"${int(whole):,}{point}{rest}"


class _Sheet:
    def __init__(self, zone: Zone, columns: int, paint: Paint) -> None:
        self.zone = zone
        self.columns = columns
        self.paint = paint

    # -- the figure

    def head(self, explanation: Explanation) -> Iterator[str]:
        """What is explained, and its amount: rounded, and to the last digit."""
        figure = explanation.figure
        yield self.paint(fit(_title(explanation), self.columns), "bold")
        for sign, moment in (("since", explanation.since), ("until", explanation.until)):
            if moment is not None:
                yield f"{sign} {self._time(moment)}"
        yield self.paint(f"{row_cost(figure)}  {many(figure.api_messages, 'message')}", "green")
        yield from self._wrapped(_used(figure), "")
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
        rates = _together(explanation.rates)
        for item in rates:
            yield ""
            name = fit(one_line(item.rate.model) or "no named model", self.columns - 20)
            yield self.paint(name, "cyan") + "  " + many(item.messages, "message")
            yield from self._dim(_rate_words(item.rate), "  ")
            yield from self._charges(item.charges, item.found_by, item.cost_usd)
        if len(rates) > 1 and explanation.figure.cost_usd is not None:
            yield ""
            yield self.paint(f"together {exact(explanation.figure.cost_usd)}", "green")

    def _charges(self, charges: Iterable[Charge], found_by: str, cost: Decimal | None) -> Iterator[str]:
        rows = [(_NAMES[item.name], f"{item.count:,}", *_priced(item)) for item in charges if item.count]
        if cost is not None:
            rows.append(("recorded by the client" if found_by == "recorded" else "sum", "", "", "= " + exact(cost)))
        yield from self._table((Column(""), Column("", right=True), Column("", rank=1), Column("")), rows, "  ")
        if found_by == "unpriced":
            yield from self._dim("in no cost", "  ")

    # -- messages

    def messages(self, explanation: Explanation) -> Iterator[str]:
        """The dearest messages one by one, and what the others add up to."""
        shown, rest = explanation.shown, explanation.rest
        if not explanation.messages:
            return
        if rest.api_messages or shown.api_messages > 1:
            yield ""
            yield self.paint(_shown_words(shown.api_messages, rest.api_messages), "bold")
        for number, message in enumerate(explanation.messages, 1):
            yield ""
            yield from self._message(number, message)
        if rest.api_messages:
            yield ""
            yield from self._wrapped(f"shown: {many(shown.api_messages, 'message')}, {_known(shown.cost_usd)}", "")
            others = f"{many(rest.api_messages, 'message')}, {_known(rest.cost_usd)}, {rest.tokens:,} tokens"
            yield from self._wrapped(f"not shown: {others}", "")

    def _message(self, number: int, message: ExplainedMessage) -> Iterator[str]:
        paint = self.paint
        head = f"{number:,}. {dollars(message.cost_usd)}" + ("+" if message.is_lower_bound else "")
        at = f"  {self._time(message.at)}  "
        model = fit(one_line(message.model) or "no named model", max(8, self.columns - len(head) - len(at)))
        yield paint(head, "green") + paint(at, "dim") + paint(model, "cyan")
        indent = "   "
        yield fit(f"{indent}{one_line(message.key)}", self.columns)
        yield from self._wrapped(_belongs(message), indent)
        yield from self._wrapped(_counted_once(message), indent)
        yield from self._lines(message.lines, indent + "  ")
        yield from self._classes(message, indent)
        if message.is_lower_bound:
            yield from self._wrapped(f"output is a lower bound: {message.lower_bound}", indent, "yellow")
        if message.found_by != "recorded":
            yield from self._dim(_rate_words(message.rate, message.prompt_tokens), indent)
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
            yield from self._dim(_stated(line), indent + " " * len(number))
        if len(lines) > len(chosen):
            yield indent + f"and {many(len(lines) - len(chosen), 'line')} more that win nothing; --json has them all"

    def _place(self, line: ExplainedLine, room: int) -> str:
        told = f", generation {line.generation} ({line.state})" if line.state == "rewritten" else ""
        told += " (gone)" if line.state == "gone" else ""
        told += f", {_COPIES.get(line.copy, line.copy)}" if line.copy else ""
        return fit(fit_path(one_line(line.transcript), max(12, room - len(told))) + told, room)

    def _where(self, line: ExplainedLine) -> str:
        at = f"{self.zone.local(line.at):%H:%M:%S.%f}"[:-3] if line.at is not None else "no time"
        return f"@{line.offset} {line.length:,} B  {at}  {one_line(line.uuid or 'no uuid')}"

    def _classes(self, message: ExplainedMessage, indent: str) -> Iterator[str]:
        rows = [
            (_NAMES[item.name], f"{item.count:,}", *_priced(item), _decided(item))
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
            yield from self._dim("in no cost", indent)
        for item in message.classes:
            if item.remainder:
                text = f"{item.remainder:,} tokens: remainder of the flat cache write counted as 5 minutes"
                yield from self._dim(text, indent)

    # -- pieces

    def _table(self, layout: Sequence[Column], rows: Sequence[Sequence[str]], indent: str) -> Iterator[str]:
        for line in table(layout, rows, self.columns - len(indent), self.paint, header=False):
            yield indent + line

    def _wrapped(self, text: str, indent: str, style: str | None = None, hang: int = 0) -> Iterator[str]:
        first, *others = wrap(text, max(20, self.columns - len(indent) - hang))
        for place, line in enumerate((first, *others)):
            full = indent + (" " * hang if place else "") + line
            yield self.paint(full, style) if style else full

    def _dim(self, text: str, indent: str) -> Iterator[str]:
        return self._wrapped(text, indent, "dim")

    def _time(self, moment: datetime | None) -> str:
        return f"{self.zone.local(moment):%Y-%m-%d %H:%M:%S}" if moment is not None else "at no known time"


def _title(explanation: Explanation) -> str:
    if not explanation.key:
        return "everything" if explanation.since is None and explanation.until is None else "everything selected"
    words = ", ".join(f"{name} {one_line(value) if value else 'unknown'}" for name, value in explanation.key.items())
    about = one_line(explanation.figure.about.get("title") or explanation.figure.about.get("description") or "")
    return f"{words}  {about}".rstrip()


def _shown_words(shown: int, rest: int) -> str:
    if not rest:
        return many(shown, "message")
    return "The dearest message" if shown == 1 else f"The {shown:,} dearest messages"


def _used(figure: UsageRow) -> str:
    used = [f"{word} {getattr(figure, name):,}" for name, word in _NAMES.items() if getattr(figure, name)]
    return ", ".join(used) or "no tokens"


def _stated(line: ExplainedLine) -> str:
    said = [f"{word} {getattr(line, name):,}" for name, word in _SAID.items() if getattr(line, name)]
    if line.cache_write_tokens == line.cache_write_5m_tokens + line.cache_write_1h_tokens:
        said = [word for word in said if not word.startswith("write ")]  # the lifetimes say the same
    said += [f"cost {exact(line.recorded_usd)}"] if line.recorded_usd is not None else []
    stop = f"stop_reason {one_line(line.stop_reason)}" if line.stop_reason else "no stop_reason"
    return line.note or ", ".join([stop, *(said or ["all counts zero"])])


def _together(rates: Iterable[ExplainedRate]) -> list[ExplainedRate]:
    """Rates that differ in nothing but a tier or place without a price of its own, as one."""
    from dataclasses import replace

    from hansard.pricing.money import EXACT

    def add(one: Decimal | None, other: Decimal | None) -> Decimal | None:
        return None if one is None or other is None else EXACT.add(one, other)

    found: dict[tuple[object, ...], ExplainedRate] = {}
    for item in rates:
        prices = tuple(charge.price for charge in item.charges)
        same = (item.rate.model, item.found_by, _rate_words(item.rate), prices)
        known = found.get(same)
        found[same] = (
            item
            if known is None
            else replace(
                known,
                messages=known.messages + item.messages,
                lower_bound_messages=known.lower_bound_messages + item.lower_bound_messages,
                charges=tuple(
                    replace(one, count=one.count + other.count, cost_usd=add(one.cost_usd, other.cost_usd))
                    for one, other in zip(known.charges, item.charges, strict=True)
                ),
                cost_usd=add(known.cost_usd, item.cost_usd),
            )
        )
    return sorted(found.values(), key=lambda item: (item.cost_usd is None, -(item.cost_usd or 0)))


def _priced(item: Charge | ExplainedClass) -> tuple[str, str]:
    if item.cost_usd is None or item.price is None:
        return "", ""
    return f"x {exact(item.price)}/{'k' if item.name == 'web_searches' else 'M'}", f"= {exact(item.cost_usd)}"


def _decided(item: ExplainedClass) -> str:
    why = item.why.replace("all lines", "all").replace("maximum", "max").replace("only line", "the only one")
    return f"line {item.line}, {why}" if item.line is not None else why


def _known(amount: Decimal | None) -> str:
    return "no known cost" if amount is None else exact(amount)


def _belongs(message: ExplainedMessage) -> str:
    parts = [f"session {one_line(message.session_id)[:8]} {fit(one_line(message.title), 60)}".rstrip()]
    if message.agent_id:
        parts.append(f"subagent {one_line(message.agent_type)} {one_line(message.agent_id)}".replace("  ", " "))
    parts += [f"project {project_name(message.project)}"] if message.project else []
    parts += [f"branch {one_line(message.branch)}"] if message.branch else []
    parts += [f"calls {one_line(message.tool)}"] if message.tool else []
    return ", ".join(parts)


def _counted_once(message: ExplainedMessage) -> str:
    places = len({(line.root, line.transcript, line.generation) for line in message.lines})
    if not message.lines:
        return message.owner
    lines = f"{many(len(message.lines), 'line')} in {many(places, 'transcript')}"
    if len(message.lines) == 1:
        return lines
    return f"{lines}, counted once; line 1 owns it: {message.owner}"


def _rate_words(rate: Rate, prompt: int | None = None) -> str:
    """Which rate, since when, for which prompts, from where."""
    if rate.priced_as is None:
        return one_line("; ".join(("no price is known", *rate.notes, rate.source)))
    parts = [f"priced as {rate.priced_as}"]
    if rate.since is not None or rate.until is not None:
        since = f"from {rate.since:%Y-%m-%d} " if rate.since is not None else ""
        parts.append((since + (f"until {rate.until:%Y-%m-%d}" if rate.until is not None else "")).strip())
    size = f"above {rate.above:,}" if rate.above is not None else ""
    size += f" up to {rate.upto:,}" if rate.upto is not None else ""
    if size:
        has = f" (this one has {prompt:,})" if prompt is not None else ""
        parts.append(f"prompts {size.strip()} tokens{has}")
    for word, value in (("tier", rate.service_tier), ("speed", rate.speed), ("in", rate.inference_geo)):
        if value not in _PLAIN:
            parts.append(f"{word} {value}")
    return one_line("; ".join((", ".join(parts), rate.source, *rate.notes)))
