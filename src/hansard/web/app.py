"""The application: every route, behind the guard."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Route

from hansard.errors import HansardError
from hansard.guard.redaction import MODES
from hansard.model.calendar import find_zone
from hansard.web import responses, static_files
from hansard.web.auth import Guard
from hansard.web.caches import AnswerCache, PageCache
from hansard.web.engine_pool import EnginePool, Live, by_redaction

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from hansard.config import Settings
    from hansard.guard.redaction import Mode
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
    "sql",
    "health",
    "secrets",
    "git",
    "settings",
)


def make_app(
    settings: Settings, auth: Auth, *, read_only: bool = False, syncing: bool = True, demo: bool = False
) -> Starlette:
    """The web app on one store."""
    pools = {mode: EnginePool(settings, mode) for mode in modes(settings)}
    live = Live(pools[settings.redact], syncing=syncing)
    return build(settings, auth, pools, live, local_routes(), read_only=read_only, demo=demo)


def modes(settings: Settings) -> Sequence[Mode]:
    """The redactions that pages can have: the configured one, and stricter ones."""
    return MODES[MODES.index(settings.redact) :]


def build(
    settings: Settings,
    auth: Auth,
    pools: Mapping[Mode, EnginePool],
    live: Live,
    routes: Sequence[Route],
    *,
    read_only: bool = False,
    demo: bool = False,
    places: Sequence[tuple[str, str, str]] = responses.PLACES,
    team: Mapping[str, Any] | None = None,
    around: Callable[[ASGIApp], ASGIApp] = lambda app: app,
) -> Starlette:
    """An app of these routes, behind the guard; requests find what they need in `request.app.state`.

    Pages have engines and caches of their own for each redaction, so that no text can get from one kind of page to another.
    `around` is put around the app, inside of the guard.
    """
    engines = pools[settings.redact]

    @contextlib.asynccontextmanager
    async def running(app: Starlette) -> AsyncIterator[None]:  # noqa: ARG001 - Starlette's signature
        await live.start()
        engines.prepare(_warm_up)
        try:
            yield
        finally:
            await live.finish()
            for pool in pools.values():
                pool.close()

    handlers: dict[Any, Callable[..., Any]] = {
        HansardError: responses.engine_error,
        HTTPException: responses.http_error,
        Exception: responses.internal_error,
    }
    app = _Guarded(routes=routes, exception_handlers=handlers, lifespan=running)
    app.state.around = around
    app.state.by_redaction = {
        mode: app if pool is engines else Starlette(routes=app.routes, exception_handlers=handlers)
        for mode, pool in pools.items()
    }
    for mode, one in app.state.by_redaction.items():
        pool = one.state.engines = pools[mode]
        one.state.outgoing = pools[max(mode, settings.redact_outgoing, key=MODES.index)]
        one.state.live = live
        one.state.auth = auth
        one.state.settings = settings
        one.state.read_only = read_only
        one.state.demo = demo
        one.state.places = places
        one.state.team = team  # what is known of a team's database; None for a store
        one.state.redacts = mode != "off"
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
        stack = super().build_middleware_stack()
        apps = {mode: stack if one is self else one for mode, one in self.state.by_redaction.items()}
        return Guard(self.state.around(by_redaction(apps)), self.state.auth)


def static_routes() -> list[Route]:
    """Style, scripts and icons."""
    return [Route("/static/{edition}/{name}", static_files.serve), Route("/favicon.ico", static_files.favicon)]


def local_routes() -> list[Route]:
    """Every route of the app on a store."""
    routes = static_routes()
    for name in (*(f"pages.{page}" for page in _PAGES), "api"):
        routes += import_module(f"hansard.web.{name}").ROUTES
    return routes
