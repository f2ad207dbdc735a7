"""The JSON API under /api: the machine surface of the command line, over HTTP.

Each thing it does is one `Endpoint`; routes, checks, the OpenAPI description and the table in the documentation follow from it.
"""

from __future__ import annotations

from hansard.web.api import ledger, openapi, remarks, search, secrets, server, sessions, sql, threads
from hansard.web.api.endpoint import Endpoint, routes

_ALL: tuple[Endpoint, ...] = (
    *sessions.ENDPOINTS,
    *threads.ENDPOINTS,
    *search.ENDPOINTS,
    *ledger.ENDPOINTS,
    *sql.ENDPOINTS,
    *server.ENDPOINTS,
    *secrets.ENDPOINTS,
    *remarks.ENDPOINTS,
)
ENDPOINTS = (*_ALL, openapi.endpoint_of(_ALL))
ROUTES = routes(ENDPOINTS)
