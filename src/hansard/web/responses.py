"""Responses and refusals: JSON of one shape under /api, a page made from a template elsewhere, at once or in two pieces.

Everything in a template is escaped unless `render.html` made it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import UTC, datetime
from functools import cache, wraps
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response, StreamingResponse

from hansard import __version__
from hansard.errors import Ambiguous, HansardError, NotFound, StoreBusy, StoreCorrupt, UsageError
from hansard.model.serialize import encoded
from hansard.render import format as formatting
from hansard.render.format import dollars
from hansard.render.html.escaping import cut_line, visible
from hansard.web.parameters import Nothing, read_params
from hansard.web.static_files import address

if TYPE_CHECKING:
    from jinja2 import Environment
    from jinja2.runtime import Context
    from msgspec import Struct
    from starlette.requests import Request

    from hansard.engine import Hansard
    from hansard.web.engine_pool import EnginePool

_HERE = Markup("<!--here-->")  # no text of a transcript can be this: in a page it would be escaped
_STATUS: tuple[tuple[type[HansardError], int, str], ...] = (
    (NotFound, 404, "not_found"),
    (Ambiguous, 409, "ambiguous"),
    (UsageError, 400, "bad_request"),
    (StoreBusy, 503, "busy"),
    (StoreCorrupt, 500, "damaged"),
    (HansardError, 503, "unusable"),
)
_WORDS = {
    400: "Invalid request",
    401: "Not signed in",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    408: "Timed out",
    409: "Ambiguous",
    413: "Too large",
    414: "Address too long",
    415: "Wrong content type",
    421: "Wrong address",
    500: "Internal error",
    501: "Not in a team's database",
    503: "Not available",
}
_ROUTING = {
    404: ("not_found", "there is no page at this address"),
    405: ("method_not_allowed", "this address does not support that method"),
}
Page = Callable[["Request"], Awaitable[Response]]

PLACES = (
    ("/", "Overview", "o"),
    ("/sessions", "Sessions", "s"),
    ("/search", "Search", "f"),
    ("/usage", "Usage", "u"),
    ("/files", "Files", "i"),
    ("/tools", "Tools", "t"),
    ("/prompts", "Prompts", "p"),
    ("/sql", "SQL", "q"),
    ("/health", "Health", "h"),
)
"""The pages of the navigation, each with the key that opens it after g."""


class HttpError(HTTPException):
    """A request that is refused."""

    def __init__(self, status: int, code: str, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(status, message, headers)
        self.code = code


def refuse_verbatim(request: Request) -> None:
    """Refuse bytes as they were recorded while secrets are redacted."""
    if request.app.state.redacts:
        raise HttpError(
            403,
            "redacted",
            "this is verbatim, and secrets are redacted here: allow them in Settings, or add redact=off",
        )


class Json(Response):
    """A value of the model as one JSON document."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return encoded(content)


def html(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A page with the values that every page has: whether this is a demo, read-only or redacted, and the state of the sync."""
    state = request.app.state
    news = state.live.state
    common = {
        "demo": state.demo,
        "places": state.places,
        "team": state.team,
        "read_only": state.read_only,
        "redacts": state.redacts,
        "syncing": news.syncing,
        "progress": news.progress,
        "trouble": news.trouble,
        "revision": news.revision,
        "names": state.engines.names,
    }
    return HTMLResponse(page(template, **common, **values), status)


def refusal(path: str, status: int, code: str, message: str, **values: Any) -> Response:
    """A refusal: JSON for the API, a page for browsers; `values` are for its template."""
    if path == "/api" or path.startswith("/api/"):
        return Json({"error": {"status": status, "code": code, "message": message}}, status)
    title = _WORDS.get(status, "Request failed")
    values = {"title": title, "status": status, "message": message, "bare": status in (401, 421), **values}
    return HTMLResponse(page("refusal.html", **values), status)


def engine_error(request: Request, error: Exception) -> Response:
    """An error that the engine raised on purpose."""
    for kind, status, code in _STATUS:
        if isinstance(error, kind):
            return refusal(request.url.path, status, code, error.message, places=_places(request))
    return internal_error(request, error)


def internal_error(request: Request, error: Exception) -> Response:  # noqa: ARG001 - what broke is in the server's own output
    """An unexpected error; its details go to the terminal, not to the page."""
    answer = refusal(request.url.path, 500, "broken", "internal error; see the server's terminal")
    answer.headers["connection"] = "close"  # uvicorn does so after an error, without a word
    return answer


def _places(request: Request) -> Sequence[tuple[str, str, str]]:
    """The pages of the application; the MCP server has none of its own."""
    return getattr(request.app.state, "places", PLACES)


def http_error(request: Request, error: Exception) -> Response:
    """An error of the routing, or a refusal on purpose."""
    status = getattr(error, "status_code", 500)
    code, message = _ROUTING.get(status, ("bad_request", ""))
    code, message = getattr(error, "code", code), message or str(getattr(error, "detail", ""))
    answer = refusal(request.url.path, status, code, message, places=_places(request))
    answer.headers.update(getattr(error, "headers", None) or {})
    return answer


# -- asking the engine


def engine_route(
    parse: type[Struct] | Callable[[Request], Any] = Nothing,
) -> Callable[[Callable[[Hansard, Request, Any], Response]], Page]:
    """Make a route of a function that answers from one state of the store, on a thread of the engine pool.

    The address is parsed first: by a function, or into a request of the given type.
    """

    def decorate(answer: Callable[[Hansard, Request, Any], Response]) -> Page:
        @wraps(answer)
        async def route(request: Request) -> Response:
            asked = read_params(request, parse) if isinstance(parse, type) else parse(request)
            engines: EnginePool = request.app.state.engines
            return await engines.read(lambda h: answer(h, request, asked))

        return route

    return decorate


async def stream_page(
    request: Request, template: str, rest: Callable[[Hansard], str], **values: Any
) -> StreamingResponse:
    """Stream a page; `rest` draws what follows at `{{ rest }}`.

    The status is sent with the first piece: invalid parameters must be refused before.
    """
    whole = bytes(html(request, template, rest=_HERE, **values).body)
    head, _, foot = whole.partition(_HERE.encode())

    async def pieces() -> AsyncIterator[bytes]:
        yield head
        mistake: Exception | None = None
        try:
            yield (await request.app.state.engines.read(rest)).encode("utf-8", "replace")
        except (HansardError, HttpError) as error:
            words = error.message if isinstance(error, HansardError) else error.detail
            yield page("piece_refused.html", message=words).encode("utf-8", "replace")
        except Exception as error:  # noqa: BLE001 - the page must end well; then it is raised, for the terminal
            mistake = error
            yield page("piece_refused.html", message="Internal error; see the server's terminal.").encode()
        yield foot
        if mistake is not None:
            raise mistake

    return StreamingResponse(pieces(), media_type="text/html; charset=utf-8")


# -- templates


def page(template: str, **values: Any) -> str:
    """Render a template; `at` is the current page of the navigation."""
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context

    env = Environment(
        loader=PackageLoader("hansard.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        finalize=_shown,
    )
    env.globals.update(
        places=PLACES,
        address=address,
        version=__version__,
        at=None,
        bare=False,
        demo=False,
        team=None,
        read_only=False,
        redacts=False,
        syncing=False,
        trouble=None,
    )
    env.filters.update(
        money=dollars,
        short=formatting.short,
        size=formatting.size,
        duration=formatting.duration,
        project_name=pass_context(_project_name),
        model_name=formatting.model_name,
        tool_name=formatting.tool_name,
        full=formatting.full,
        ago=lambda moment: formatting.ago(moment, datetime.now(UTC)),
        ahead=lambda moment: formatting.ahead(moment, datetime.now(UTC)),
        agent_counts=formatting.agent_counts,
        attributed_cost=formatting.attributed_cost,
        listed_cost=formatting.listed_cost,
        many=formatting.many,
        machine=formatting.machine,
        line=cut_line,
        segment=lambda text: quote(str(text), safe=""),
    )
    return env


def _project_name(context: Context, path: str) -> str:
    """The display name of a project on this page."""
    return formatting.project_name(path, context["names"])


def _shown(value: Any) -> Any:
    """Make control characters visible before text is escaped."""
    return visible(value) if type(value) is str else value
