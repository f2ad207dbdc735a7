"""The state of the store and of the server."""

from __future__ import annotations

from typing import Any

from hansard.model.schema import Shape
from hansard.model.sessions import Tagged
from hansard.query.health import Diagnosis, Status
from hansard.web.api.endpoint import Call, Endpoint
from hansard.web.live import News


def _status(call: Call) -> Status:
    return call.h.status()


def _doctor(call: Call) -> Diagnosis:
    return call.h.doctor()


def _tags(call: Call) -> dict[str, Any]:
    return {"tags": call.h.tags()}


def _revision(call: Call) -> News:
    return call.live.news(call.h.revision())


ENDPOINTS = (
    Endpoint(
        "GET", "/api/status", "The store at a glance, and what the client's clean-up deletes next", _status, Status
    ),
    Endpoint(
        "GET", "/api/doctor", "The store's health, bad lines, and what nobody has seen before", _doctor, Diagnosis
    ),
    Endpoint(
        "GET",
        "/api/tags",
        "Every tag and how many sessions have it",
        _tags,
        Shape("Tags", fields=(("tags", list[Tagged]),)),
        steady=True,
    ),
    Endpoint("GET", "/api/revision", "What the events tell: whether the store has changed", _revision, News),
)
