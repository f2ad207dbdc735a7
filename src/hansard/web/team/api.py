"""The part of the JSON API that a team's database can answer: the same answers, with machines and people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from hansard.model.requests import SessionsRequest, about
from hansard.team import OFFERED, TeamSession, TeamSessionPage, TeamStatus
from hansard.web.api import ENDPOINTS as LOCAL
from hansard.web.api import openapi
from hansard.web.api.endpoint import Endpoint, routes
from hansard.web.api.ledger import UsageParameters
from hansard.web.api.search import SearchParameters

if TYPE_CHECKING:
    from msgspec import Struct

_MACHINE = about("Only machines whose name contains this.")
_PERSON = about("Only people whose login contains this.")


class TeamUsageParameters(UsageParameters, frozen=True, kw_only=True):
    """A report over the machines of a team."""

    by: Annotated[
        str | Sequence[str], about("What to group rows by; several with commas.", choices=OFFERED, several=True)
    ] = "day"
    machine: Annotated[str | None, _MACHINE] = None
    person: Annotated[str | None, _PERSON] = None


class TeamSessionsParameters(SessionsRequest, frozen=True, kw_only=True):
    """A page of a team's sessions."""

    machine: Annotated[str | None, _MACHINE] = None
    person: Annotated[str | None, _PERSON] = None


class TeamSearchParameters(SearchParameters, frozen=True, kw_only=True):
    """A page of what is found in a team's texts."""

    machine: Annotated[str | None, _MACHINE] = None
    person: Annotated[str | None, _PERSON] = None


def _adapted(path: str, request: type[Struct], **changed: Any) -> Endpoint:
    known = _BY_PATH[path]
    return replace(known, request=request, names=f"{known.names} machine person", has_etag=False, **changed)


_BY_PATH = {endpoint.path: endpoint for endpoint in LOCAL}
_ALL = (
    Endpoint(
        "/api/team", "Who you are there, and the machines that have pushed", lambda call: call.h.status(), TeamStatus
    ),
    _adapted("/api/sessions", TeamSessionsParameters, answer=TeamSessionPage),
    replace(_BY_PATH["/api/sessions/{session}"], answer=TeamSession, has_etag=False),
    _adapted("/api/search", TeamSearchParameters),
    _adapted("/api/usage", TeamUsageParameters),
    *(_BY_PATH[path] for path in ("/api/revision", "/api/events", "/api/links")),
)
ENDPOINTS = (*_ALL, replace(openapi.endpoint_of(_ALL), has_etag=False))
ROUTES = routes(ENDPOINTS)
