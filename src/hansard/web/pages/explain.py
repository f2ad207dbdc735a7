"""Explain: a figure of the ledger down to its messages, their lines, the rates and the arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from starlette.routing import Route

from hansard.errors import Ambiguous, NotFound, UsageError
from hansard.model.requests import DIMENSIONS
from hansard.render import explained
from hansard.render.format import ProjectNames, exact, local, row_cost
from hansard.render.html.tables import draw_table
from hansard.render.reports import data_words, key_names, marked_notes
from hansard.render.text import one_line
from hansard.web.caches import shared
from hansard.web.report_request import LIMITS, named_key, option, parse_explain_page
from hansard.web.responses import engine_route, html
from hansard.web.urls import place, session_place

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from hansard.engine import Hansard
    from hansard.model.calendar import Zone
    from hansard.model.explain import ExplainedLine, Explanation
    from hansard.model.sessions import Session
    from hansard.web.report_request import ExplainPageRequest, ReportPage

_MANY_LINES = 12


@engine_route(parse_explain_page)
def show(h: Hansard, request: Request, chosen: ReportPage[ExplainPageRequest]) -> Response:
    asked = chosen.request
    by, limit = tuple(asked.by or ()), asked.limit or 0
    if asked.key and not by:
        raise UsageError("'key' needs 'by', the report it is a row of; or use 'target'")
    key = named_key(h, asked, by)
    try:
        found: Explanation = request.app.state.cache.ask(h, "explain", replace(asked, key=key))
    except NotFound:
        session = _without_usage(h, asked.target, by, key)
        if session is None:
            raise
        reason = (
            f"{session.client} recorded no usage for it."
            if session.has_no_usage
            else "Its messages are not in the selection."
            if session.api_messages
            else "It has no answer of a model that counts for it."
        )
        title, back = "No usage is recorded", _back(chosen, by)
        return html(
            request, "explain_nothing.html", title=title, at="/usage", session=session, reason=reason, back=back
        )
    zone, names = chosen.span.zone, request.app.state.engines.names
    more = next((one for one in LIMITS if one > limit), None) if found.rest.api_messages else None
    again: dict[str, Any] = {"by": ",".join(by), "key": asked.key, "target": asked.target, **chosen.filters}
    return html(
        request,
        "explain.html",
        title="Explained",
        at="/usage",
        found=found,
        heading=list(_heading(found, zone, names)),
        asked=asked,
        span=chosen.span,
        figure=row_cost(found.figure),
        exactly=None if found.figure.cost_usd is None else exact(found.figure.cost_usd),
        notes=marked_notes(found.pricing, found.figure),
        prices=data_words(found.pricing.data),
        explained=explained,
        rates=explained.together(found.rates),
        belongs=lambda message: explained.belongs(message, names),
        lines=lambda message: explained.deciding_lines(message, _MANY_LINES),
        time=lambda at: f"{local(at, zone.info):%Y-%m-%d %H:%M:%S}" if at else "at an unknown time",
        clock=lambda at: f"{local(at, zone.info):%H:%M:%S.%f}"[:-3] if at else "no time",
        draw=lambda table: draw_table(table, "sum-table", with_header=False),
        place=_place,
        raw=_raw,
        session_place=session_place,
        exact=exact,
        more=None if more is None else place("/explain", **again, limit=more),
        more_count=more,
        command=_command(chosen, by, key),
        back=_back(chosen, tuple(found.by)),
    )


def _without_usage(h: Hansard, target: str | None, by: Sequence[str], key: Sequence[str | None]) -> Session | None:
    """The session that the request names, if it names one."""
    name = target if not by else key[0] if tuple(by) == ("session",) and len(key) == 1 else None
    try:
        return None if name is None else h.session(name)
    except (NotFound, Ambiguous):
        return None


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
        words = one_line(about.get("title", "") if name == "session" else about.get("description", ""))
        href = {
            "session": session_place(value),
            "project": place("/sessions", project=value),
            "day": place("/sessions", since=value, until=value),
            "tool": place("/tools", tool=value),
        }.get(name)
        yield {"name": name, "text": words[:200] or one_line(text)[:200], "title": value[:500], "href": href}


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


ROUTES = [Route("/explain", shared(show))]
