"""One declaration for each thing that the API does: routing, checking and the description all follow from it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.routing import Route

from hansard.errors import UsageError
from hansard.model.serialize import encoded
from hansard.web.parameters import Nothing, Parameter, Params, checked, make_parameters
from hansard.web.responses import HttpError

if TYPE_CHECKING:
    from datetime import tzinfo

    from msgspec import Struct
    from starlette.requests import Request

    from hansard.config import Settings
    from hansard.engine import Hansard
    from hansard.web.auth import Auth
    from hansard.web.engine_pool import Live

JSON = "application/json"
_SENDING = ("PUT", "POST")  # methods with a body


@dataclass(frozen=True, slots=True)
class Call:
    """A checked request, with the engine that answers it."""

    h: Hansard
    request: Any  # of the type that the endpoint names
    settings: Settings
    zone: tzinfo | None
    live: Live
    auth: Auth


@dataclass(frozen=True)
class Endpoint:
    """A method at a path.

    `handler` takes a `Call` and runs on the threads of the engine pool, in one state of the store unless it writes. Answers that
    are not JSON (`kind`), or do not need the store, come from a coroutine, which takes the request and the parameters.
    """

    path: str
    summary: str
    handler: Callable[..., Any]
    answer: Any  # the type that describes what the handler gives
    request: type[Struct] = Nothing
    names: str = ""  # of the fields of the request that can be given; empty: all
    writes: bool = False
    has_etag: bool = False  # the answer depends on the store only, not on the time
    kind: str = JSON
    method: str = "GET"

    @cached_property
    def path_parameters(self) -> tuple[Parameter, ...]:
        """The parameters that are parts of the path."""
        return make_parameters(self.request, re.findall(r"\{(\w+)", self.path))

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters behind the question mark."""
        return () if self.method in _SENDING else self._others()

    @cached_property
    def body(self) -> tuple[Parameter, ...]:
        """The fields of the JSON object that must be sent."""
        return self._others() if self.method in _SENDING else ()

    def _others(self) -> tuple[Parameter, ...]:
        names = self.names.split() or self.request.__struct_fields__
        in_path = {one.name for one in self.path_parameters}
        return make_parameters(self.request, [name for name in names if name not in in_path])

    async def respond(self, request: Request) -> Response:
        state = request.app.state
        if self.writes and state.read_only:
            raise HttpError(403, "read_only", "this server is read-only (started with --read-only)")
        given = self.request(**self._given(request, state.zone.info), **await self._sent(request))
        if iscoroutinefunction(self.handler):
            other: Awaitable[Response] = self.handler(request, given)
            return await other

        def answer(h: Hansard) -> bytes:
            found = self.handler(Call(h, given, state.settings, state.zone.info, state.live, state.auth))
            return found if isinstance(found, bytes) else encoded(found)

        if self.writes:
            content = await state.engines.write(answer)
            await state.live.look()
            return Response(content, media_type=JSON)
        if not self.has_etag:
            return Response(await state.engines.read(answer), media_type=JSON)
        known = request.headers.get("if-none-match", "")

        def news(h: Hansard) -> tuple[str, bytes | None]:
            # Before the first question, which settles the state of the store: a tag may be older than the answer, never newer.
            tag = f'"{state.edition}-{state.engines.fingerprint()}"'
            is_known = any(part.strip().removeprefix("W/") in (tag, "*") for part in known.split(","))
            return tag, None if is_known else answer(h)

        tag, found = await state.engines.read(news)
        if found is None:
            return Response(status_code=304, headers={"etag": tag})
        return Response(found, media_type=JSON, headers={"etag": tag})

    def _given(self, request: Request, zone: tzinfo | None) -> dict[str, Any]:
        given: dict[str, Any] = {one.name: one.read_path(request.path_params[one.name]) for one in self.path_parameters}
        asked = Params(request)
        for parameter in sorted(self.parameters, key=lambda one: one.name != "timezone"):
            value = given[parameter.field.name] = parameter.read(asked, zone)
            if parameter.name == "timezone" and value is not None:
                from hansard.model.calendar import find_zone

                zone = find_zone(value).info
        asked.done()
        if "timezone" in self.request.__struct_fields__ and given.get("timezone") is None:
            given["timezone"] = request.app.state.settings.timezone
        return given

    async def _sent(self, request: Request) -> dict[str, str]:
        """The fields of the body, all of them and no other."""
        if self.method == "GET":
            return {}
        content = await request.body()
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if (content or self.body) and kind != JSON:
            raise HttpError(415, "wrong_type", f"the content type must be {JSON}")
        if not self.body:
            if content:
                raise UsageError("this request takes no body")
            return {}
        fields = _decoded(content)
        names = [field.name for field in self.body]
        if sorted(fields) != sorted(names):
            raise UsageError(f"the body must be an object with {' and '.join(names)} only")
        for field in self.body:
            value = fields[field.name]
            if not isinstance(value, str):
                raise UsageError(f"invalid {field.name!r}: expected a string")
            checked(field.name, value, field.longest)
        return fields


def _decoded(content: bytes) -> dict[str, Any]:
    import msgspec

    try:
        return msgspec.json.decode(content, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"the body is not a JSON object: {error}") from error


def routes(endpoints: Iterable[Endpoint]) -> list[Route]:
    """One route for each path, which knows every method that it answers to."""
    by_path: dict[str, dict[str, Endpoint]] = {}
    for endpoint in endpoints:
        by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint

    def route(path: str, methods: dict[str, Endpoint]) -> Route:
        async def respond(request: Request) -> Response:
            return await methods["GET" if request.method == "HEAD" else request.method].respond(request)

        return Route(path, respond, methods=list(methods))

    return [route(path, methods) for path, methods in by_path.items()]
