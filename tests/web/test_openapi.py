"""The OpenAPI description is true: what it allows is answered as it says, and what it forbids is refused."""

from __future__ import annotations

import json
import re
import shutil
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import UNSET, UnsetType, field

from hansard.model import display, explain, ledger, search
from hansard.model.display import Part
from hansard.model.schema import schema_components
from hansard.model.sessions import Remarks
from hansard.web.api import ENDPOINTS, ROUTES
from hansard.web.api.endpoint import JSON, Endpoint
from hansard.web.api.openapi import described
from tests.web.serving import Site, site

if TYPE_CHECKING:
    import httpx
    from schemathesis import BaseSchema

MODULES = (display, explain, ledger, search)
DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
EXAMPLES = 7  # of each operation, in both ways; the same ones in every run
# Examples name what is there by luck.
_RARE = (
    "/api/sql",
    "/api/files/history",
    "/api/secrets/{secret}",  # whose ids are random
    "/api/sessions/{session}/notes/{number}",
    "/api/sessions/{session}/pins/{message}",
)
_TOO_MUCH = (413, 414)  # a refusal before anybody looks at what is asked


@pytest.fixture(scope="module")
def own(demo_store: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server on a copy of the demo's store, which may be changed."""
    root, home = demo_store
    copy = tmp_path_factory.mktemp("web-described") / "home"
    shutil.copytree(home, copy)
    with site(copy, root) as running:
        yield running


@dataclass(frozen=True)
class Described:
    """The description as a server gives it, and names that it answers to."""

    site: Site
    schema: BaseSchema
    sessions: list[str]


@pytest.fixture(scope="module")
def api(own: Site) -> Described:
    schemathesis = pytest.importorskip("schemathesis")
    with own.client() as client:
        given = client.get("/api/openapi.json").json()
        sessions = [item["session_id"] for item in client.get("/api/sessions?sort=tokens&limit=8").json()["sessions"]]
    del given["security"]  # every request has the token
    schema = schemathesis.openapi.from_dict(given)
    schema.validate()
    return Described(own, schema, [*sessions, "@last"])


def label(endpoint: Endpoint) -> str:
    return f"{endpoint.method} {described_path(endpoint)}"


def described_path(endpoint: Endpoint) -> str:
    return re.sub(r":\w+\}", "}", endpoint.path)


ASKED = [endpoint for endpoint in ENDPOINTS if endpoint.path != "/api/events"]  # which never ends


@pytest.mark.parametrize("endpoint", ASKED, ids=label)
def test_what_is_allowed_is_answered_as_described(api: Described, endpoint: Endpoint) -> None:
    checks = [
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
    ]
    _ask(api, endpoint, checks, is_allowed=True)


@pytest.mark.parametrize(
    "endpoint", [one for one in ASKED if one.parameters or one.body or "{tag" in one.path], ids=label
)
def test_what_is_forbidden_is_refused(api: Described, endpoint: Endpoint) -> None:
    checks = ["not_a_server_error", "status_code_conformance", "response_schema_conformance", "negative_data_rejection"]
    _ask(api, endpoint, checks, is_allowed=False)


def _ask(api: Described, endpoint: Endpoint, names: list[str], *, is_allowed: bool) -> None:
    from schemathesis import GenerationMode, checks

    mode = GenerationMode.POSITIVE if is_allowed else GenerationMode.NEGATIVE
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = api.schema[described_path(endpoint)][endpoint.method].as_strategy(mode)
    headers = {"authorization": f"Bearer {api.site.auth.api_token}"}
    chosen: list[Any] = [getattr(checks, name) for name in names]
    statuses: set[int] = set()

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def ask(data: st.DataObject) -> None:
        case = data.draw(cases)
        if is_allowed and "session" in case.path_parameters:
            case.path_parameters["session"] = data.draw(st.sampled_from(api.sessions))
        answer = case.call(base_url=f"http://127.0.0.1:{api.site.auth.port}", headers=headers)
        if any(str(value).strip() == "" for value in case.query.values()):
            return  # an empty value is none
        statuses.add(answer.status_code)
        if answer.status_code not in _TOO_MUCH:
            case.validate_response(answer, checks=chosen, headers=headers)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ask()
    # Otherwise nothing but refusals was looked at, or nothing but answers.
    assert (200 in statuses if is_allowed else statuses != {200}) or endpoint.path in _RARE


def test_real_answers_fit_their_schemas(own: Site) -> None:
    """Every session, with all that belongs to it: more than examples come upon."""
    with own.client() as client:
        told = client.get("/api/openapi.json").json()
        sessions = client.get("/api/sessions?limit=500&all=true").json()["sessions"]
        for endpoint in ENDPOINTS:
            if endpoint.method != "GET" or endpoint.kind != JSON or "{secret}" in endpoint.path:
                continue
            answer = told["paths"][described_path(endpoint)]["get"]["responses"]["200"]
            schema = answer["content"][JSON]["schema"] | {"components": told["components"]}
            validator = jsonschema.Draft202012Validator(schema)
            names = [item["session_id"] for item in sessions[::12]] if endpoint.path_parameters else [""]
            for name in names:
                found = client.get(endpoint.path.replace("{session}", name), params=_useful(endpoint, client))
                assert found.status_code == 200, found.text
                validator.validate(found.json())


def _useful(endpoint: Endpoint, client: httpx.Client) -> dict[str, Any]:
    """Parameters that make an answer have everything it can have."""
    flags = ("breakdown", "work", "group", "facets", "agents", "pictures", "reads", "subjects", "outputs")
    wanted: dict[str, Any] = {one.name: "true" for one in endpoint.parameters if one.name in flags}
    if any(one.name == "limit" for one in endpoint.parameters):
        wanted["limit"] = 50
    if endpoint.path == "/api/search":
        wanted |= {"q": "list", "context": 2}
    if endpoint.path == "/api/sql":
        wanted["question"] = "expensive-turns"
    if endpoint.path == "/api/files/history":
        wanted["path"] = client.get("/api/files?sort=changes&limit=1").json()["files"][0]["path"]
    return wanted


def test_every_endpoint_is_described_and_every_route_is_an_endpoint() -> None:
    told = described(ENDPOINTS, "hansard-1")

    assert {(path, method.upper()) for path, methods in told["paths"].items() for method in methods} == {
        (described_path(endpoint), endpoint.method) for endpoint in ENDPOINTS
    }
    assert {route.path for route in ROUTES} == {endpoint.path for endpoint in ENDPOINTS}
    ids = [operation["operationId"] for methods in told["paths"].values() for operation in methods.values()]
    assert len(set(ids)) == len(ids) == len(ENDPOINTS)
    for methods in told["paths"].values():
        for operation in methods.values():
            assert operation["summary"]
            assert all(one["description"].endswith(".") for one in operation.get("parameters", ()))


def test_path_parameters_are_those_of_the_path() -> None:
    for endpoint in ENDPOINTS:
        assert re.findall(r"\{(\w+)[:}]", endpoint.path) == [one.name for one in endpoint.path_parameters]


def test_the_description_names_the_servers_own_cookie(own: Site) -> None:
    with own.client() as client:
        told = client.get("/api/openapi.json").json()
    assert told["openapi"].startswith("3.1")
    assert told["components"]["securitySchemes"]["cookie"]["name"] == own.cookie
    jsonschema.Draft202012Validator.check_schema(told["components"]["schemas"])


def test_the_table_in_the_documentation_is_the_api() -> None:
    page = (DOCS / "web.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if re.match(r"\| (GET|PUT|POST|DELETE) \|", line)]
    assert lines == [_line(endpoint) for endpoint in ENDPOINTS]


def _line(endpoint: Endpoint) -> str:
    names = ", ".join(f"`{one.name}`" for one in (*endpoint.parameters, *endpoint.body))
    return f"| {endpoint.method} | `{described_path(endpoint)}` | {endpoint.summary} | {names} |"


# -- schemas of values


def test_a_value_fits_its_schema_and_a_wrong_one_does_not(own: Site) -> None:
    from hansard import engine
    from hansard.model.ledger import UsageReport
    from hansard.model.serialize import encoded
    from hansard.model.sessions import Session

    with engine.open(own.settings.home) as h:
        session, report = h.session("@last"), h.usage(by=("day", "model"), breakdown=True, work=True)
    for kind, value in ((Session, session), (UsageReport, report)):
        (top,), definitions = schema_components([kind])
        validator = jsonschema.Draft202012Validator({**top, "$defs": definitions})
        plain = json.loads(encoded(value))
        validator.validate(plain)
        for name in plain:
            assert not validator.is_valid({key: item for key, item in plain.items() if key != name})
            assert not validator.is_valid(plain | {name: {"no": {"such": "value"}}})


def test_fields_with_a_default_are_always_there_and_unset_ones_may_be_missing() -> None:
    class More(Remarks, frozen=True):
        extra: int = 3
        others: dict[str, int] = field(default_factory=dict)
        rare: int | UnsetType = UNSET

    _, definitions = schema_components([More])
    assert definitions["More"]["properties"]["extra"] == {"type": "integer"}
    assert definitions["More"]["required"] == [*Remarks.__struct_fields__, "extra", "others"]
    assert "rare" in definitions["More"]["properties"]


def test_every_value_that_is_written_in_its_own_way_is_described_so() -> None:
    """`as_plain` is code: msgspec knows the fields and not what it makes of them."""
    definitions = described(ENDPOINTS, "hansard-1")["components"]["schemas"]
    assert all(name.isidentifier() for name in definitions), "two classes have the same name"
    parts = {part.__name__ for part in get_args(Part)}  # whose `as_plain` only adds the tag
    kinds = [kind for module in MODULES for kind in vars(module).values() if hasattr(kind, "as_plain")]
    assert {kind.__name__ for kind in kinds} & set(definitions) - parts == {"CallFacts", "Hit", "Pricing", "UsageRow"}
