"""Answers and refusals: JSON of one shape under /api, a page elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from hansard.errors import Ambiguous, HansardError, NotFound, StoreBusy, StoreCorrupt, UsageError
from hansard.model.serialize import encoded
from hansard.web.templating import page

if TYPE_CHECKING:
    from starlette.requests import Request

_STATUS: tuple[tuple[type[HansardError], int, str], ...] = (
    (NotFound, 404, "not_found"),
    (Ambiguous, 409, "ambiguous"),
    (UsageError, 400, "bad_request"),
    (StoreBusy, 503, "busy"),
    (StoreCorrupt, 500, "damaged"),
    (HansardError, 503, "unusable"),
)
_WORDS = {
    400: "That cannot be asked",
    401: "Not let in yet",
    404: "Not found",
    405: "Not like this",
    500: "Something broke",
}


_ROUTING = {
    404: ("not_found", "there is nothing at this address"),
    405: ("method_not_allowed", "this address does not answer to that method"),
}


class HttpError(HTTPException):
    """A request that is understood and not done."""

    def __init__(self, status: int, code: str, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(status, message, headers)
        self.code = code


class Json(Response):
    """A value of the model as one JSON document."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Encode it."""
        return encoded(content)


def html(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A page, with what every page may say of the server: that it shows a demo, that it syncs, that it cannot."""
    state = request.app.state
    live = state.live
    told = {
        "demo": state.demo,
        "read_only": state.read_only,
        "syncing": live.busy,
        "trouble": live.trouble,
        "revision": live.revision,
    }
    return HTMLResponse(page(template, **told, **values), status)


def refusal(path: str, status: int, code: str, message: str) -> Response:
    """What is said instead of an answer, in the language of who asked."""
    if path == "/api" or path.startswith("/api/"):
        return Json({"error": {"status": status, "code": code, "message": message}}, status)
    title = _WORDS.get(status, "HttpError")
    return HTMLResponse(
        page("refusal.html", title=title, status=status, message=message, bare=status in (401, 421)), status
    )


def failed(request: Request, error: Exception) -> Response:
    """An error that the engine raised on purpose."""
    for kind, status, code in _STATUS:
        if isinstance(error, kind):
            return refusal(request.url.path, status, code, str(error))
    return broken(request, error)


def broken(request: Request, error: Exception) -> Response:  # noqa: ARG001 - what broke is in the server's own output
    """An error that nobody expected; the details are for the terminal, not for the page."""
    answer = refusal(request.url.path, 500, "broken", "the server made a mistake; its terminal tells more")
    answer.headers["connection"] = "close"  # uvicorn does so after an error, without a word
    return answer


def http_failed(request: Request, error: Exception) -> Response:
    """An error of the routing, or a refusal on purpose."""
    status = getattr(error, "status_code", 500)
    code, words = _ROUTING.get(status, ("bad_request", ""))
    code, words = getattr(error, "code", code), words or str(getattr(error, "detail", ""))
    answer = refusal(request.url.path, status, code, words)
    answer.headers.update(getattr(error, "headers", None) or {})
    return answer
