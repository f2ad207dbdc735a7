"""Settings: how this browser shows pages, and what the server was started with."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from starlette.responses import Response
from starlette.routing import Route

from hansard.errors import UsageError
from hansard.render.reports import data_words
from hansard.web.engine_pool import REDACTION_COOKIE
from hansard.web.parameters import Nothing, read_params
from hansard.web.responses import answered, html

if TYPE_CHECKING:
    from starlette.requests import Request

    from hansard.engine import Hansard

_COOKIE_SECONDS = 365 * 24 * 3600


async def show(request: Request) -> Response:
    read_params(request, Nothing)

    def answer(h: Hansard) -> Response:
        state = request.app.state
        return html(
            request,
            "settings.html",
            title="Settings",
            settings=state.settings,
            zone=state.zone.name,
            prices=data_words(h.price_data()),
        )

    return await answered(request, answer)


async def set_redaction(request: Request) -> Response:
    """Redact secrets in the pages of this browser, or no longer; the guard has checked where the form comes from."""
    read_params(request, Nothing)
    fields = parse_qsl((await request.body()).decode("latin-1"), keep_blank_values=True)
    if fields not in ([("redact", "")], [("redact", "1")]):
        raise UsageError("the form must have one field: redact, 1 or empty")
    answer = Response(status_code=204)
    if fields[0][1]:
        answer.set_cookie(REDACTION_COOKIE, "1", max_age=_COOKIE_SECONDS, path="/", httponly=True, samesite="strict")
    else:
        answer.delete_cookie(REDACTION_COOKIE, path="/", httponly=True, samesite="strict")
    return answer


ROUTES = [Route("/settings", show), Route("/settings/redaction", set_redaction, methods=["POST"])]
