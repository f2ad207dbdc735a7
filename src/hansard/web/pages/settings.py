"""Settings: how this browser shows pages, and what the server was started with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import Route

from hansard.render.reports import data_words
from hansard.web.parameters import Nothing, read_params
from hansard.web.responses import answered, html

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from hansard.engine import Hansard


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


ROUTES = [Route("/settings", show)]
