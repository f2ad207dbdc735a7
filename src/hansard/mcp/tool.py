"""What a tool is: a name, a description for models, the types of its input and output, and the function behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.errors import UsageError
from hansard.mcp.answer import Answer, Packer, Params

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.mcp.scope import Repository

NAMES = ("search", "read", "recall", "sessions", "files", "blame", "usage")


@dataclass(slots=True)
class Ask:
    """What a tool answers with: the engine, where the client works, and the answer's budget."""

    h: Hansard
    repository: Repository
    packer: Packer
    hint: str = ""
    session_id: str = ""  # the session that asks, where the client says so

    @property
    def now(self) -> datetime:
        """The time of the answer."""
        return self.packer.now


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool, as it is listed and called."""

    name: str
    title: str
    description: str
    params: type[Params]
    answer: type[Answer]
    run: Callable[[Ask, Any], Answer]

    def listed(self) -> dict[str, Any]:
        """What `tools/list` says of it."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": _object_schema(self.params),
            "outputSchema": _object_schema(self.answer),
            "annotations": {
                "readOnlyHint": True,
                "destructiveHint": False,
                "idempotentHint": True,
                "openWorldHint": False,
            },
        }

    def read_params(self, arguments: Any) -> Params:
        """The arguments of a call; raises where they make no sense."""
        try:
            return msgspec.convert(arguments or {}, self.params, strict=False)
        except msgspec.ValidationError as error:
            raise UsageError(f"invalid arguments for {self.name}: {error}") from None


def find_tool(name: str) -> Tool:
    """The tool with that name."""
    if name not in NAMES:
        raise UsageError(f"unknown tool {name!r}; there are {', '.join(NAMES)}")
    tool = import_module(f"hansard.mcp.tools.{name}").TOOL
    if not isinstance(tool, Tool):
        raise TypeError(f"hansard.mcp.tools.{name}.TOOL is not a tool")
    return tool


def _object_schema(of: type[Any]) -> dict[str, Any]:
    """The JSON Schema of a struct, with what it refers to beside it."""
    (top,), definitions = msgspec.json.schema_components([of], ref_template="#/$defs/{name}")
    schema = definitions.pop(top["$ref"].rpartition("/")[2])
    for one in (schema, *definitions.values()):
        for noise in ("title", "description"):
            one.pop(noise, None)
    if "additionalProperties" not in schema and issubclass(of, Params):
        schema["additionalProperties"] = False
    return {**schema, **({"$defs": definitions} if definitions else {})}
