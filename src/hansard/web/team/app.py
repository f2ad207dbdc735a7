"""The web app on a team's database: which pages it has, and why it does not have the others."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from starlette.routing import Route

from hansard.web import app, responses
from hansard.web.engine_pool import Live, Unwatched
from hansard.web.responses import HttpError
from hansard.web.team.engine import TeamPool, narrowing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.applications import Starlette
    from starlette.requests import Request

    from hansard.config import Settings
    from hansard.web.auth import Auth
    from hansard.web.team.engine import TeamAddress

_REUSED = ("sessions", "search", "usage", "settings")
_PLACES = ("/", "/sessions", "/search", "/usage")
_ON_THE_MACHINE = "`hansard web` shows it on a machine that has the history"
_REASONS = {
    "/explain": f"a team's database has no transcripts, which an explanation refers to; {_ON_THE_MACHINE}",
    "/sql": "queries in SQL go to PostgreSQL itself, with any tool that speaks to it: see docs/team.md",
    "/health": "a team's database has no files to check; `hansard team status` lists the machines that pushed",
    "/secrets": f"findings of secrets are not pushed; {_ON_THE_MACHINE}",
    "/prompts": "prompts are found by searching for kind:prompt",
    "/blame": f"a team's database has no repositories; {_ON_THE_MACHINE}",
    "/commits": f"a team's database has no repositories; {_ON_THE_MACHINE}",
}


def make_team_app(settings: Settings, auth: Auth, place: TeamAddress, shown: str) -> Starlette:
    """The web app on a team's database, read-only; `shown` is its address as pages may show it."""
    settings = settings._replace(roots=(), limits=())
    pools = {mode: TeamPool(settings, mode, place) for mode in app.modes(settings)}
    live = Live(pools[settings.redact], syncing=False, unwatched=Unwatched())
    places = [one for one in responses.PLACES if one[0] in _PLACES]
    return app.build(
        settings,
        auth,
        pools,
        live,
        _routes(),
        read_only=True,
        places=places,
        team={"address": shown},
        around=narrowing,
    )


def _routes() -> list[Route]:
    """The routes that a team's database can answer, and a refusal for every other route of the app on a store."""
    routes: list[Any] = list(app.static_routes())
    for name in (*(f"pages.{page}" for page in _REUSED), "team.pages", "team.api"):
        routes += import_module(f"hansard.web.{name}").ROUTES
    return [*routes, *_refused({route.path for route in routes})]


def _refused(offered: set[str]) -> Iterator[Route]:
    for route in app.local_routes():
        if route.path not in offered:
            yield Route(route.path, _refuse, methods=["GET", "HEAD", "POST", "PUT", "DELETE"])


async def _refuse(request: Request) -> Any:
    path = request.url.path
    begins = "/" + path.removeprefix("/api").strip("/").partition("/")[0]
    raise HttpError(
        501, "not_in_team", _REASONS.get(begins, f"a team's database cannot answer this; {_ON_THE_MACHINE}")
    )
