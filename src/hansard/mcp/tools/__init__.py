"""A tool: its name, its description for models, the request that its arguments make, and the function that answers it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import NODEFAULT, Meta, Struct

from hansard.errors import UsageError
from hansard.mcp.answer import DEFAULT_TOKENS, MAX_TOKENS, MIN_TOKENS, Answer, Packer
from hansard.model.requests import field_of

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.mcp.store import Repository

NAMES = ("search", "read", "recall", "sessions", "files", "blame", "usage", "sql")


class Limits(Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The arguments of every tool: which sessions it may show, and how long its answer may be."""

    scope: Annotated[
        Literal["repository", "all"],
        Meta(description="repository: only sessions of the current repository; all: every project on this machine"),
    ] = "repository"
    max_tokens: Annotated[int, Meta(ge=MIN_TOKENS, le=MAX_TOKENS, description="Budget for the whole answer")] = (
        DEFAULT_TOKENS
    )


class Argument(NamedTuple):
    """A field of a request as an argument of a tool, with what differs from the request.

    Descriptions are its own: clients add them to every conversation, so they are short.
    """

    field: str
    description: str | None = None
    longest: int | None = None  # characters of a text
    name: str = ""
    most: int | None = None
    choices: tuple[str, ...] = ()
    default: Any = NODEFAULT

    def declared(self, request: type[Struct]) -> tuple[str, Any, Any]:
        """Its name, type and default value; an optional text is empty by default."""
        field = field_of(request, self.field)
        default = field.default if self.default is NODEFAULT else self.default
        kind, shortest = field.type, None
        if choices := self.choices or field.choices:
            kind = Literal[choices]
        elif kind is str:
            default = "" if default is None else default
            shortest = field.meta.min_length or (1 if default is NODEFAULT else None)
        limits: dict[str, Any] = {"ge": field.meta.ge, "le": self.most or field.meta.le}
        meta = Meta(description=self.description, min_length=shortest, max_length=self.longest, **limits)
        return self.name or self.field, Annotated[kind, meta], default


CURSOR = Argument("cursor", "next_cursor of the previous answer", 2_000)


@dataclass(slots=True)
class Ask:
    """What a tool answers with: the engine, where the client works, and the answer's scope and budget."""

    h: Hansard
    repository: Repository
    packer: Packer
    is_everywhere: bool = False  # not only the client's repository
    hint: str = ""
    session_id: str = ""  # of the client, if it says so
    redact: str = "on"

    @property
    def now(self) -> datetime:
        return self.packer.now

    @property
    def folder(self) -> str | None:
        """The folder whose sessions may be shown; None: all sessions."""
        return None if self.is_everywhere else self.repository.folder

    @property
    def scope(self) -> str:
        """The scope of the answer, in words."""
        return "all projects" if self.is_everywhere else f"repository {self.repository.folder}"


class Tool(Struct, frozen=True, dict=True):
    """One tool, as it is listed and called."""

    name: str
    title: str
    description: str
    request: type[Struct]
    takes: tuple[Argument | str, ...]  # a name alone: described in the request
    answer: type[Answer]
    run: Callable[[Ask, Any], Answer]

    @cached_property
    def arguments(self) -> type[Struct]:
        """The type of a call's arguments."""
        fields = [argument.declared(self.request) for argument in self._arguments]
        return msgspec.defstruct(self.name, fields, bases=(Limits,))

    @cached_property
    def _arguments(self) -> list[Argument]:
        return [_described(self.request, one) if isinstance(one, str) else one for one in self.takes]

    def listed(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": _object_schema(self.arguments),
            "outputSchema": _object_schema(self.answer),
            "annotations": {
                "readOnlyHint": True,
                "destructiveHint": False,
                "idempotentHint": True,
                "openWorldHint": False,
            },
        }

    def read_arguments(self, given: Any) -> tuple[Limits, Struct]:
        try:
            limits: Any = msgspec.convert(given or {}, self.arguments, strict=False)
        except msgspec.ValidationError as error:
            raise UsageError(f"invalid arguments for {self.name}: {error}") from None
        values = {one.field: getattr(limits, one.name or one.field) for one in self._arguments}
        return limits, self.request(**{name: None if value == "" else value for name, value in values.items()})


def _described(request: type[Struct], name: str) -> Argument:
    meta = field_of(request, name).meta
    return Argument(name, meta.description, meta.max_length)


def find_tool(name: str) -> Tool:
    if name not in NAMES:
        raise UsageError(f"unknown tool {name!r}; there are {', '.join(NAMES)}")
    tool = import_module(f"hansard.mcp.tools.{name}").TOOL
    if not isinstance(tool, Tool):
        raise TypeError(f"hansard.mcp.tools.{name}.TOOL is not a tool")
    return tool


def _object_schema(of: type[Any]) -> dict[str, Any]:
    """The JSON Schema of a struct, with its definitions."""
    (top,), definitions = msgspec.json.schema_components([of], ref_template="#/$defs/{name}")
    schema = definitions.pop(top["$ref"].rpartition("/")[2])
    for one in (schema, *definitions.values()):
        for noise in ("title", "description"):
            one.pop(noise, None)
    return {**schema, **({"$defs": definitions} if definitions else {})}
