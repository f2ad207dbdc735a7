"""Requests: what front ends generate from them agrees with what answers them."""

from __future__ import annotations

import msgspec
import pytest

from hansard.model import requests, store_requests
from hansard.model.questions import takes
from hansard.model.requests import SearchRequest, SessionsRequest, field_of
from hansard.query import sessions, tool_calls

KINDS = [
    kind
    for module in (requests, store_requests)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct)
]


def test_every_sort_that_is_offered_is_known() -> None:
    assert tuple(sessions.SORTS) == requests.SESSION_SORTS
    assert tuple(tool_calls.FILE_SORTS) == requests.FILE_SORTS
    assert tuple(tool_calls.SORTS) == requests.CALL_SORTS
    assert requests.CALL_KINDS == tool_calls.KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_described_fields(kind: type[msgspec.Struct]) -> None:
    described = [name for name in kind.__struct_fields__ if "about(" in str(kind.__annotations__.get(name))]
    for name in described:
        field = field_of(kind, name)
        assert field.meta.description
        defaults = field.default if isinstance(field.default, tuple) else [field.default]
        assert not field.choices or {None, *field.choices}.issuperset(defaults)


def test_a_question_takes_a_request_or_its_fields() -> None:
    class Engine:
        @takes(lambda: SearchRequest)
        def search(self, request: SearchRequest) -> SearchRequest:
            return request

    request = SearchRequest("flaky login", limit=5)
    assert Engine().search(request) is request
    assert Engine().search("flaky login", limit=5) == request


def test_a_field_of_a_base_can_be_described_anew() -> None:
    assert field_of(SessionsRequest, "since").meta.description != field_of(SearchRequest, "since").meta.description
    assert field_of(SearchRequest, "query").default is msgspec.NODEFAULT
    assert SessionsRequest(project="tide", pinned=False).given() == {"project": "tide"}
