"""Settings: how this browser shows pages, and what the server was started with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response
from starlette.routing import Route

from hansard.errors import UsageError
from hansard.render.reports import data_words
from hansard.web.engine_pool import REDACTION_COOKIE
from hansard.web.parameters import Nothing, read_form, read_params
from hansard.web.responses import engine_route, html

if TYPE_CHECKING:
    from starlette.requests import Request

    from hansard.engine import Hansard

_COOKIE_SECONDS = 365 * 24 * 3600


@engine_route()
def show(h: Hansard, request: Request, _: Nothing) -> Response:
    state = request.app.state
    prices = data_words(h.price_data())
    return html(
        request, "settings.html", title="Settings", settings=state.settings, zone=state.zone.name, prices=prices
    )


async def set_redaction(request: Request) -> Response:
    """Redact secrets in the pages of this browser, or no longer; the guard has checked where the form comes from."""
    read_params(request, Nothing)
    fields = await read_form(request)
    modes = request.app.state.settings.redact, "on", "strict"
    if fields.keys() != {"redact"} or fields["redact"] not in modes:
        raise UsageError(f"the form must have one field: redact, one of {', '.join(dict.fromkeys(modes))}")
    answer = Response(status_code=204)
    if fields["redact"] != modes[0]:
        answer.set_cookie(
            REDACTION_COOKIE, fields["redact"], max_age=_COOKIE_SECONDS, path="/", httponly=True, samesite="strict"
        )
    else:
        answer.delete_cookie(REDACTION_COOKIE, path="/", httponly=True, samesite="strict")
    return answer


ROUTES = [Route("/settings", show), Route("/settings/redaction", set_redaction, methods=["POST"])]
