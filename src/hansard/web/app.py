"""The application: every route, behind the guard."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import AsyncIterator, Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Route

from hansard.errors import HansardError
from hansard.model.calendar import find_zone
from hansard.web import responses, static_files
from hansard.web.auth import Guard
from hansard.web.caches import AnswerCache, PageCache
from hansard.web.engine_pool import EnginePool, Live, by_redaction

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from hansard.config import Settings
    from hansard.web.auth import Auth

_PAGES = (
    "overview",
    "sessions",
    "session",
    "downloads",
    "search",
    "usage",
    "explain",
    "files",
    "tools",
    "prompts",
    "health",
    "git",
    "settings",
)


def make_app(
    settings: Settings, auth: Auth, *, read_only: bool = False, syncing: bool = True, demo: bool = False
) -> Starlette:
    """The web app on one store; requests find what they need in `request.app.state`."""
    engines, redacting = EnginePool(settings), EnginePool(settings, redact=True)
    live = Live(engines, syncing=syncing)

    @contextlib.asynccontextmanager
    async def running(app: Starlette) -> AsyncIterator[None]:  # noqa: ARG001 - Starlette's signature
        await live.start()
        engines.prepare(_warm_up)
        try:
            yield
        finally:
            await live.finish()
            engines.close()
            redacting.close()

    handlers: dict[Any, Callable[..., Any]] = {
        HansardError: responses.failed,
        HTTPException: responses.http_failed,
        Exception: responses.broken,
    }
    app = _Guarded(routes=_routes(), exception_handlers=handlers, lifespan=running)
    # Redacted pages have engines and caches of their own, so that no text can get from one kind of page to the other.
    app.state.redacted = Starlette(routes=app.routes, exception_handlers=handlers)
    for one, pool in ((app, engines), (app.state.redacted, redacting)):
        one.state.engines = pool
        one.state.live = live
        one.state.auth = auth
        one.state.settings = settings
        one.state.read_only = read_only
        one.state.demo = demo
        one.state.redacts = pool is redacting
        one.state.edition = secrets.token_hex(4)  # of answers: another run may have other settings
        one.state.zone = find_zone(settings.timezone)
        one.state.cache = AnswerCache()
        one.state.pages = PageCache(pool, live)
    return app


def _warm_up() -> None:
    """Load what draws conversations, so that the first reader need not wait for it."""
    from hansard.render.highlighting import coloured
    from hansard.render.html.prose import prose

    prose("**ready**")
    coloured("ready = True", "python")


class _Guarded(Starlette):
    """An application whose guard also covers its own error pages."""

    def build_middleware_stack(self) -> ASGIApp:
        """Everything, inside of the guard; requests of browsers that want redacted pages go to the other application."""
        return Guard(by_redaction(super().build_middleware_stack(), self.state.redacted), self.state.auth)


def _routes() -> list[Route]:
    routes = [Route("/static/{edition}/{name}", static_files.serve), Route("/favicon.ico", static_files.favicon)]
    for name in (*(f"pages.{page}" for page in _PAGES), "api"):
        routes += import_module(f"hansard.web.{name}").ROUTES
    return routes
