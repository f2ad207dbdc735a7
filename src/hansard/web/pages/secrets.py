"""A secret: every place of the record that holds it, and how to replace it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import Route

from hansard.model.store_requests import SecretRequest
from hansard.render.cells import with_headings
from hansard.render.html.tables import draw_table
from hansard.render.secrets import place_table
from hansard.web.parameters import read_params
from hansard.web.responses import engine_route, html
from hansard.web.urls import place, session_place

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from hansard.engine import Hansard
    from hansard.model.secrets import SecretPlace

_LISTED = 500


@engine_route(lambda request: read_params(request, SecretRequest, secret=request.path_params["secret_id"]))
def show(h: Hansard, request: Request, asked: SecretRequest) -> Response:
    """The places link to the messages that hold the secret."""
    report = h.secret(asked)
    listed = report.places[:_LISTED]
    table = draw_table(with_headings(place_table(listed, _href)), "rows")
    title, more = report.secret.title, len(report.places) - len(listed)
    return html(request, "secret.html", title=title, at="/health", report=report, table=table, more=more)


def _href(found: SecretPlace) -> str | None:
    """The message, or the session if it is in none."""
    if not found.session_id:
        return (
            place("/prompts", since=found.at.date().isoformat(), until=found.at.date().isoformat())
            if found.at
            else None
        )
    is_line = bool(found.uuid) or found.kind in ("call", "result", "prompt", "reply")
    return session_place(found.session_id, found.offset if is_line and not found.is_former else None, found.agent_id)


ROUTES = [Route("/health/secrets/{secret_id}", show)]
