"""The OpenAPI description, made from the endpoints' declarations."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from hansard import __version__
from hansard.model.schema import Schema, schema_components
from hansard.web.api.endpoint import JSON, Call, Endpoint
from hansard.web.parameters import Parameter

_PLACE = "#/components/schemas/"
_REFUSALS = {
    400: (("bad_request",), "A parameter, the query, a cursor or the body is invalid"),
    401: (("no_token",), "The session cookie and the API token are missing, or from another run"),
    403: (
        ("wrong_origin", "read_only", "redacted"),
        "The request came from another site, the server is read-only, or the answer is verbatim while secrets are redacted",
    ),
    404: (("not_found",), "Nothing matches"),
    408: (("timeout",), "Timed out waiting for the body"),
    409: (("ambiguous",), "The name is ambiguous"),
    413: (("too_large",), "The body is too large"),
    414: (("too_long",), "The path or the query is too long"),
    415: (("wrong_type",), "The body is not application/json"),
    421: (("wrong_host",), "The Host header names another server"),
    500: (("broken", "damaged"), "Internal error, or a damaged store"),
    503: (
        ("busy", "unusable"),
        "Another process holds the store too long, too many requests at once, or the store cannot be read",
    ),
}
_ALWAYS = (400, 401, 403, 413, 414, 421, 500, 503)
_NAMES = ("session", "target", "path", "secret")  # parameters that name one thing, which may not be there
_OTHERS = ("method_not_allowed",)  # returned for undocumented methods of documented paths


def described(endpoints: Iterable[Endpoint], cookie: str) -> Schema:
    """The description of a server whose cookie has that name."""
    endpoints = tuple(endpoints)
    answers, definitions = schema_components([one.answer for one in endpoints], _PLACE)
    paths: dict[str, Schema] = {}
    for endpoint, answer in zip(endpoints, answers, strict=True):
        path = re.sub(r":\w+\}", "}", endpoint.path)
        paths.setdefault(path, {})[endpoint.method.lower()] = _operation(endpoint, path, answer)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Hansard",
            "version": __version__,
            "description": (
                "The history of coding agents. Answers are those of the commands with `--json`: times are ISO 8601 in UTC, money is a"
                " decimal string in US dollars, null if no price is known. Fields may be added; none is removed or changes its"
                " meaning. Every address takes `redact=on|off|strict`: how secrets are redacted in the answer."
            ),
        },
        "security": [{"cookie": []}, {"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "cookie": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": cookie,
                    "description": "Set by the link that `hansard web` prints. Requests that change something must also name the"
                    " server in an Origin header.",
                },
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The `api_token` in the file that a running server keeps in the data directory.",
                },
            },
            "responses": {str(status): _refusal(status) for status in _REFUSALS},
            "schemas": definitions | {"Error": _error()},
        },
    }


def _operation(endpoint: Endpoint, path: str, content: Schema) -> Schema:
    words = [word.strip("{}") for word in path.removeprefix("/api/").replace(".", "/").split("/")]
    given = [_parameter(one, "path") for one in endpoint.path_parameters]
    given += [_parameter(one, "query") for one in endpoint.parameters]
    schema = {} if endpoint.answer is bytes else {"schema": content}
    answer: Schema = {"description": "The answer", "content": {endpoint.kind: schema}}
    if endpoint.has_etag:
        answer["headers"] = {"ETag": {"description": "For If-None-Match.", "schema": {"type": "string"}}}
    responses: Schema = {"200": answer}
    if endpoint.has_etag:
        responses["304"] = {"description": "Not changed since the answer that If-None-Match names"}
    named = any(one.name in _NAMES for one in (*endpoint.path_parameters, *endpoint.parameters))
    statuses = {*_ALWAYS, *((404, 409) if named else ()), *((415,) if endpoint.body else ())}
    if endpoint.method != "GET":
        statuses.add(408)
    responses |= {str(status): {"$ref": f"#/components/responses/{status}"} for status in sorted(statuses)}
    operation: Schema = {
        "operationId": "_".join([endpoint.method.lower(), *words]),
        "summary": endpoint.summary,
        "responses": responses,
    }
    if given:
        operation["parameters"] = given
    if endpoint.body:
        operation["requestBody"] = {"required": True, "content": {JSON: {"schema": _sent(endpoint.body)}}}
    return operation


def _parameter(one: Parameter, place: str) -> Schema:
    schema = one.schema()
    if place == "path" and schema["type"] == "string":
        schema.pop("minLength", None)
        schema |= {"pattern": r"^[^\u0000-\u001f\u007f]+$", "minLength": 1}
    parameter: Schema = {
        "name": one.name,
        "in": place,
        "required": place == "path" or one.required,
        "description": one.field.meta.description,
        "schema": schema,
    }
    if place == "query" and not one.required:
        parameter["allowEmptyValue"] = True  # as if it were not given
    if one.is_list:
        parameter |= {"style": "form", "explode": False}
    if one.is_repeated:
        parameter |= {"style": "form", "explode": True}
    if one.is_mapping:
        parameter |= {"style": "deepObject", "explode": True}
    return parameter


def _sent(fields: tuple[Parameter, ...]) -> Schema:
    return {
        "type": "object",
        "properties": {one.name: one.schema() | {"description": one.field.meta.description} for one in fields},
        "required": [one.name for one in fields],
        "additionalProperties": False,
    }


def _refusal(status: int) -> Schema:
    codes, words = _REFUSALS[status]
    return {
        "description": f"{words}: {', '.join(codes)}",
        "content": {JSON: {"schema": {"$ref": f"{_PLACE}Error"}}},
    }


def _error() -> Schema:
    codes = [code for codes, _ in _REFUSALS.values() for code in codes]
    fields = {
        "status": {"type": "integer", "description": "The same as the response's."},
        "code": {"type": "string", "enum": [*codes, *_OTHERS]},
        "message": {"type": "string", "description": "For people: what is wrong, and what to do."},
    }
    inner = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    return {
        "type": "object",
        "description": "An error.",
        "properties": {"error": inner},
        "required": ["error"],
        "additionalProperties": False,
    }


def endpoint_of(endpoints: tuple[Endpoint, ...]) -> Endpoint:
    """The endpoint that describes these endpoints and itself."""

    def description(call: Call) -> Schema:
        return described((*endpoints, own), call.auth.cookie)

    own = Endpoint("/api/openapi.json", "This description, for programs", description, dict[str, Any], has_etag=True)
    return own
