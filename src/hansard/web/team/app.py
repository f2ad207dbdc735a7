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
_NO_REPOSITORIES = "a team's database has no repositories"
_NOT_PUSHED = "single calls of tools are not listed from a team's database"
_REASONS = {
    "/explain": ("Explanations", "a team's database has no transcripts, which an explanation refers to"),
    "/files": ("Files", _NOT_PUSHED),
    "/tools": ("Tools", f"{_NOT_PUSHED}; the usage report counts them by tool"),
    "/prompts": ("Prompts", "prompts are found by searching for kind:prompt"),
    "/sql": ("SQL", "queries in SQL go to PostgreSQL itself, with any tool that speaks to it: see docs/team.md"),
    "/health": (
        "Health",
        "a team's database has no files to check; `hansard team status` lists the machines that pushed",
    ),
    "/secrets": ("Secrets", "findings of secrets are not pushed"),
    "/blame": ("Blame", _NO_REPOSITORIES),
    "/commits": ("Commits", _NO_REPOSITORIES),
}
"""Pages that a team's database cannot answer, each with its name and the reason."""
_FIGURES = (
    ("Active time", "it needs the times of all lines, which are not pushed"),
    ("The current block", "a team's database is not live; the usage report has blocks of all machines together"),
    ("Budgets", "the limits of the configuration are those of one person"),
)
"""Parts of the local overview that a team's has not."""


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
        team={"address": shown, "elsewhere": (*_FIGURES, *_REASONS.values())},
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
    _, reason = _REASONS.get(begins, ("", "a team's database cannot answer this"))
    raise HttpError(501, "not_in_team", f"{reason}. `hansard web` shows it on a machine that has the history")
