"""Explanations in words and tables: the figure, its lines, how each class was decided, and the rates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from hansard.model.explain import ExplainedClass
from hansard.model.table import Column, Kind, Table
from hansard.render.format import ProjectNames, exact, many, project_name
from hansard.render.text import fit, one_line, short_id

if TYPE_CHECKING:
    from hansard.model.explain import (
        Charge,
        ExplainedLine,
        ExplainedMessage,
        ExplainedRate,
        Explanation,
    )
    from hansard.model.ledger import Rate, UsageRow

_CLASSES = {
    "input_tokens": "input",
    "output_tokens": "output",
    "cache_read_tokens": "cache read",
    "cache_write_5m_tokens": "write 5 min",
    "cache_write_1h_tokens": "write 1 h",
    "web_searches": "web searches",
}
_STATED = {
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
_STATES = {"gone": "gone from the source", "freed": "freed in the client's folder"}
_SUMS = (
    Column("Class"),
    Column("Count", Kind.COUNT),
    Column("Price", rank=1, css="number"),
    Column("Cost", css="number"),
    Column("Decided by", least=12, rank=2, style="dim", css="why"),
)
_PLAIN = ("", "standard", "not_available", "global")


def title_of(explanation: Explanation) -> str:
    if not explanation.key:
        return "everything" if explanation.since is None and explanation.until is None else "everything selected"
    words = ", ".join(f"{name} {one_line(value) if value else 'unknown'}" for name, value in explanation.key.items())
    about = one_line(explanation.figure.about.get("title") or explanation.figure.about.get("description") or "")
    return f"{words}  {about}".rstrip()


def shown_words(shown: int, rest: int) -> str:
    """How many of the messages are shown."""
    if not rest:
        return many(shown, "message")
    return "The most expensive message" if shown == 1 else f"The {shown:,} most expensive messages"


def used(figure: UsageRow) -> str:
    used = [f"{word} {getattr(figure, name):,}" for name, word in _CLASSES.items() if getattr(figure, name)]
    return ", ".join(used) or "no tokens"


def stated(line: ExplainedLine) -> str:
    counts = [f"{word} {getattr(line, name):,}" for name, word in _STATED.items() if getattr(line, name)]
    if line.cache_write_tokens == line.cache_write_5m_tokens + line.cache_write_1h_tokens:
        counts = [word for word in counts if not word.startswith("write ")]  # the lifetimes say the same
    counts += [f"cost {exact(line.recorded_usd)}"] if line.recorded_usd is not None else []
    stop = f"stop_reason {one_line(line.stop_reason)}" if line.stop_reason else "no stop_reason"
    return line.note or ", ".join([stop, *(counts or ["all counts zero"])])


def together(rates: Iterable[ExplainedRate]) -> list[ExplainedRate]:
    """Merge rates that differ only in a tier or region without its own price."""
    from msgspec.structs import replace

    from hansard.pricing.cost import EXACT

    def add(one: Decimal | None, other: Decimal | None) -> Decimal | None:
        return None if one is None or other is None else EXACT.add(one, other)

    found: dict[tuple[object, ...], ExplainedRate] = {}
    for item in rates:
        prices = tuple(charge.price for charge in item.charges)
        same = (item.rate.model, item.found_by, rate_words(item.rate), prices)
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


def sum_table(items: Sequence[Charge] | Sequence[ExplainedClass], total: Decimal | None, found_by: str) -> Table:
    """Each class of tokens at its price, and their sum; for a message also the line that decided the count."""
    name = "recorded by the client" if found_by == "recorded" else "sum"
    rows = [_sum(item) for item in items if item.count]
    totals = None if total is None else (name, None, "", f"= {exact(total)}", "")
    columns = _SUMS if any(isinstance(item, ExplainedClass) for item in items) else _SUMS[:-1]
    kept = len(columns)
    return Table(columns, [row[:kept] for row in rows], None if totals is None else totals[:kept])


def _sum(item: Charge | ExplainedClass) -> tuple[str, int, str, str, str]:
    price = amount = why = ""
    if item.cost_usd is not None and item.price is not None:  # computed from rates
        price = f"x {exact(item.price)}/{'k' if item.name == 'web_searches' else 'M'}"
        amount = f"= {exact(item.cost_usd)}"
    if isinstance(item, ExplainedClass):
        why = item.why.replace("all lines", "all").replace("maximum", "max").replace("only line", "the only one")
        why = f"line {item.line}, {why}" if item.line is not None else why
    return _CLASSES[item.name], item.count, price, amount, why


def message_sums(message: ExplainedMessage) -> Table:
    amount = message.recorded_usd if message.found_by == "recorded" else message.cost_usd
    return sum_table(message.classes, amount, message.found_by)


def remainders(message: ExplainedMessage) -> list[str]:
    """What was not assigned to a lifetime."""
    return [
        f"{item.remainder:,} tokens: the rest of the flat cache write, counted as 5 minutes"
        for item in message.classes
        if item.remainder
    ]


def deciding_lines(message: ExplainedMessage, most: int) -> list[ExplainedLine]:
    """The lines that own the message or decide a count, and others up to `most`."""
    deciding = [line for line in message.lines if line.is_owner or line.wins]
    others = [line for line in message.lines if not (line.is_owner or line.wins)]
    return sorted([*deciding, *others[: max(0, most - len(deciding))]], key=lambda line: line.number)


def line_words(line: ExplainedLine) -> str:
    """The state of a line's file, if it is not live, and why the line is a copy."""
    is_former = line.state == "rewritten" or not line.is_shown
    state = _STATES.get(line.state, f"generation {line.generation}, {line.state}" if is_former else "")
    return ", ".join(filter(None, (state, _COPIES.get(line.copy, line.copy) if line.copy else "")))


def known_cost(amount: Decimal | None) -> str:
    """An exact amount, or that the cost is unknown."""
    return "no known cost" if amount is None else exact(amount)


def belongs(message: ExplainedMessage, names: ProjectNames) -> str:
    parts = [f"session {short_id(message.session_id)} {fit(one_line(message.title), 60)}".rstrip()]
    if message.agent_id:
        parts.append(f"subagent {one_line(message.agent_type)} {one_line(message.agent_id)}".replace("  ", " "))
    parts += [f"project {project_name(message.project, names)}"] if message.project else []
    parts += [f"branch {one_line(message.branch)}"] if message.branch else []
    parts += [f"calls {one_line(message.tool)}"] if message.tool else []
    return ", ".join(parts)


def counted_once(message: ExplainedMessage) -> str:
    """How many lines a message has, and which one owns it."""
    places = len({(line.root, line.transcript, line.generation) for line in message.lines})
    if not message.lines:
        return message.owner
    lines = f"{many(len(message.lines), 'line')} in {many(places, 'transcript')}"
    if len(message.lines) == 1:
        return lines
    return f"{lines}, counted once; line 1 owns it: {message.owner}"


def rate_words(rate: Rate, prompt: int | None = None) -> str:
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
