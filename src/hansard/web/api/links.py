"""Links that let another browser in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from hansard.model.schema import Shape
from hansard.web.api.endpoint import Endpoint
from hansard.web.auth import LINK_SECONDS
from hansard.web.responses import Json

if TYPE_CHECKING:
    from starlette.requests import Request

    from hansard.web.auth import Auth


async def _link(request: Request, given: dict[str, Any]) -> Json:  # noqa: ARG001 - there is nothing to ask with
    auth: Auth = request.app.state.auth
    expires_at = datetime.now(UTC) + timedelta(seconds=LINK_SECONDS)
    return Json({"link": auth.link(auth.issue_token()), "expires_at": expires_at})


ENDPOINTS = (
    Endpoint(
        "POST",
        "/api/links",
        "A link that lets one more browser in, once, within five minutes",
        _link,
        Shape("LoginLink", fields=(("link", str), ("expires_at", datetime))),
    ),
)
