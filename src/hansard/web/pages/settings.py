"""Settings: how this browser shows pages, and what the server was started with."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from starlette.responses import Response
from starlette.routing import Route

from hansard.errors import UsageError
from hansard.render.reports import data_words
from hansard.web.auth import cookies
from hansard.web.parameters import Nothing, read_params
from hansard.web.responses import answered, html

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Scope

    from hansard.engine import Hansard

_COOKIE = "hansard-redact"
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
        answer.set_cookie(_COOKIE, "1", max_age=_COOKIE_SECONDS, path="/", httponly=True, samesite="strict")
    else:
        answer.delete_cookie(_COOKIE, path="/", httponly=True, samesite="strict")
    return answer


def wants_redaction(scope: Scope) -> bool:
    """Whether a request comes from a browser that wants redacted pages."""
    if scope["type"] != "http":
        return False
    return any(
        "1" in cookies(value.decode("latin-1"), _COOKIE) for name, value in scope["headers"] if name == b"cookie"
    )


ROUTES = [Route("/settings", show), Route("/settings/redaction", set_redaction, methods=["POST"])]
