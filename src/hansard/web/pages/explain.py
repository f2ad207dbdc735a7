"""Explain: a figure of the ledger down to its messages, their lines, the rates and the arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from starlette.routing import Route

from hansard.errors import UsageError
from hansard.model.explain import ExplainedClass
from hansard.model.requests import DIMENSIONS
from hansard.render.explained import (
    CLASSES,
    COPIES,
    arithmetic,
    counted_once,
    decided,
    rate_words,
    shown_words,
    stated,
    together,
    used,
)
from hansard.render.format import ProjectNames, exact, row_cost
from hansard.render.reports import data_words, key_names, marked_notes
from hansard.render.text import one_line
from hansard.web.caches import shared
from hansard.web.report_request import LIMITS, named_key, option, parse_explain_page
from hansard.web.responses import answered, html
from hansard.web.urls import place, session_place

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from hansard.engine import Hansard
    from hansard.model.calendar import Zone
    from hansard.model.explain import Charge, ExplainedLine, ExplainedMessage, ExplainedRate, Explanation
    from hansard.web.report_request import ExplainPageRequest, ReportPage

_MANY_LINES = 12


@dataclass(frozen=True, slots=True)
class Sum:
    """A line of arithmetic: a count, a price, an amount."""

    name: str
    count: str
    price: str
    amount: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class RateShown:
    """A rate and what the messages at it come to."""

    model: str
    messages: int
    words: str
    sums: tuple[Sum, ...]
    total: str | None
    how: str


@dataclass(frozen=True, slots=True)
class LineShown:
    """A line of a transcript about a message."""

    number: int
    path: str  # empty where it is that of the line before
    told: str
    at: str
    offset: int
    length: int
    stated: str
    href: str | None
    raw: str | None


@dataclass(frozen=True, slots=True)
class MessageShown:
    """A message with everything behind its cost."""

    message: ExplainedMessage
    at: str
    cost: str
    tokens: int
    href: str | None
    counted: str
    lines: tuple[LineShown, ...]
    more_lines: int
    sums: tuple[Sum, ...]
    total: str | None
    how: str
    rate: str
    remainders: tuple[str, ...]


async def show(request: Request) -> Response:
    chosen = parse_explain_page(request)
    asked = chosen.request
    by, limit = tuple(asked.by or ()), asked.limit or 0
    if asked.key and not by:
        raise UsageError("'key' needs 'by', the report it is a row of; or use 'target'")

    def answer(h: Hansard) -> Response:
        key = named_key(h, asked, by)
        found: Explanation = request.app.state.cache.ask(h, "explain", replace(asked, key=key))
        zone = chosen.span.zone
        more = next((one for one in LIMITS if one > limit), None) if found.rest.api_messages else None
        again: dict[str, Any] = {"by": ",".join(by), "key": asked.key, "target": asked.target, **chosen.filters}
        return html(
            request,
            "explain.html",
            title="Explained",
            at="/usage",
            found=found,
            heading=list(_heading(found, zone, request.app.state.engines.names)),
            asked=asked,
            span=chosen.span,
            figure=row_cost(found.figure),
            exactly=None if found.figure.cost_usd is None else exact(found.figure.cost_usd),
            used=used(found.figure),
            notes=marked_notes(found.pricing, found.figure),
            prices=data_words(found.pricing.data),
            rates=[_rate(item) for item in together(found.rates)],
            messages=[_message(item, zone) for item in found.messages],
            shown_words=shown_words(found.shown.api_messages, found.rest.api_messages),
            shown=None if found.shown.cost_usd is None else exact(found.shown.cost_usd),
            rest=None if found.rest.cost_usd is None else exact(found.rest.cost_usd),
            more=None if more is None else place("/explain", **again, limit=more),
            more_count=more,
            command=_command(chosen, by, key),
            back=_back(chosen, tuple(found.by)),
        )

    return await answered(request, answer)


def _command(chosen: ReportPage[ExplainPageRequest], by: Sequence[str], key: Sequence[str | None]) -> str:
    """The same explanation in a terminal."""
    asked = chosen.request
    query = option("--query", asked.query) if asked.query else []
    values = [asked.target] if asked.target is not None else ["-" if value is None else value for value in key]
    words = ["--by", ",".join(by)] if by else []
    return chosen.command("explain", *words, then=[*query, "--limit", str(asked.limit)], values=values)


def _back(chosen: ReportPage[ExplainPageRequest], names: Sequence[str]) -> str:
    """The report that the figure is a row of."""
    by = [name for name in names if name in DIMENSIONS and name != "total"]
    return place("/usage", by=",".join(by) or "day", **chosen.filters, range=chosen.span.name)


def _heading(found: Explanation, zone: Zone, names: ProjectNames) -> Iterator[dict[str, str | None]]:
    """The parts of the explained key, each with its name and link."""
    for name, value in found.key.items():
        if value is None:
            yield {"name": name, "text": f"(no {name})", "title": "", "href": None}
            continue
        text = value if name == "message" else key_names(name, [value], zone, names)[value]
        about = found.figure.about
        told = one_line(about.get("title", "") if name == "session" else about.get("description", ""))
        href = {
            "session": session_place(value),
            "project": place("/sessions", project=value),
            "day": place("/sessions", since=value, until=value),
            "tool": place("/tools", tool=value),
        }.get(name)
        yield {"name": name, "text": told[:200] or one_line(text)[:200], "title": value[:500], "href": href}


def _rate(item: ExplainedRate) -> RateShown:
    return RateShown(
        one_line(item.rate.model) or "unnamed model",
        item.messages,
        rate_words(item.rate),
        tuple(_sums(item.charges)),
        None if item.cost_usd is None else exact(item.cost_usd),
        item.found_by,
    )


def _sums(items: Sequence[Charge] | Sequence[ExplainedClass]) -> Iterator[Sum]:
    for item in items:
        if item.count:
            price, amount = arithmetic(item)
            why = decided(item) if isinstance(item, ExplainedClass) else ""
            yield Sum(CLASSES[item.name], f"{item.count:,}", price.removeprefix("x "), amount.removeprefix("= "), why)


def _message(message: ExplainedMessage, zone: Zone) -> MessageShown:
    lines = [line for line in message.lines if line.is_owner or line.wins]
    others = [line for line in message.lines if not (line.is_owner or line.wins)]
    shown = sorted([*lines, *others[: max(0, _MANY_LINES - len(lines))]], key=lambda line: line.number)
    owner = message.lines[0] if message.lines else None
    amount = message.recorded_usd if message.found_by == "recorded" else message.cost_usd
    return MessageShown(
        message=message,
        at=_time(message.at, zone, "%Y-%m-%d %H:%M:%S"),
        cost="?" if message.cost_usd is None else exact(message.cost_usd) + "+" * message.is_lower_bound,
        tokens=sum(item.count for item in message.classes if item.name != "web_searches"),
        href=_place(owner) if owner is not None else session_place(message.session_id),
        counted=counted_once(message),
        lines=tuple(_lines(shown, zone)),
        more_lines=len(message.lines) - len(shown),
        sums=tuple(_sums(message.classes)),
        total=None if amount is None else exact(amount),
        how=message.found_by,
        rate="" if message.found_by == "recorded" else rate_words(message.rate, message.prompt_tokens),
        remainders=tuple(
            f"{item.remainder:,} tokens: rest of the undivided cache write, counted as 5 minutes"
            for item in message.classes
            if item.remainder
        ),
    )


def _lines(lines: Sequence[ExplainedLine], zone: Zone) -> Iterator[LineShown]:
    before: tuple[str, str, int] | None = None
    for line in lines:
        here = line.root, line.transcript, line.generation
        told = f"generation {line.generation}, {line.state}" if line.state == "rewritten" or not line.is_shown else ""
        told = "gone from the source" if line.state == "gone" else told
        copied = COPIES.get(line.copy, line.copy) if line.copy else ""
        yield LineShown(
            number=line.number,
            path="" if here == before else one_line(line.transcript),
            told=", ".join(filter(None, (told, copied))),
            at=_time(line.at, zone, "%H:%M:%S.%f")[:-3] if line.at is not None else "no time",
            offset=line.offset,
            length=line.length,
            stated=stated(line),
            href=_place(line),
            raw=_raw(line),
        )
        before = here


def _place(line: ExplainedLine) -> str | None:
    """Where a line is read, if it is in the generation of its file that is shown."""
    if not line.is_shown or not line.session_id:
        return None
    return session_place(line.session_id, line.offset, line.agent_id)


def _raw(line: ExplainedLine) -> str | None:
    if not line.session_id:
        return None
    generation = None if line.is_shown else line.generation
    address = f"{session_place(line.session_id)}/raw"
    return place(address, transcript=line.transcript, generation=generation, offset=str(line.offset))


def _time(at: datetime | None, zone: Zone, form: str) -> str:
    if at is None:
        return "at an unknown time"
    try:
        return f"{zone.local(at):{form}}"
    except (OverflowError, ValueError, OSError):
        return f"{at:{form}}"


ROUTES = [Route("/explain", shared(show))]
