"""JSON Schema of the model's values as `serialize.plain` writes them, made from the classes so that it is never out of date."""

from __future__ import annotations

import pkgutil
import sys
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import datetime
from decimal import Decimal
from importlib import import_module
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from hansard import model
from hansard.model.display import CallFacts, Display
from hansard.model.ledger import PriceData, Pricing, UsageRow

Schema = dict[str, Any]
MONEY = {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$"}
TIME = {"type": "string", "format": "date-time", "pattern": "Z$"}
_SCALARS: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
    datetime: TIME,
    Decimal: MONEY,
    Any: {},
}


@dataclass(frozen=True, slots=True)
class Shape:
    """An object that is no value of the model: fields beside those of one, or some that may be missing."""

    name: str
    base: type | None = None
    fields: tuple[tuple[str, Any], ...] = ()
    optional: frozenset[str] = frozenset()


class Schemas:
    """Collects the definitions that schemas refer to."""

    def __init__(self, place: str = "#/$defs/", *, strict: bool = False) -> None:
        """`place` is where the definitions will stand in the document; `strict` allows no field that they do not name."""
        self._place = place
        self._closed = {"additionalProperties": False} if strict else {}
        self.definitions: dict[str, Schema] = {}
        self._kinds: dict[str, Any] = {}

    def of(self, kind: Any) -> Schema:
        """The schema of a type, or of a `Shape`."""
        if kind is CallFacts:
            kind = list[str]
        if isinstance(kind, Shape) or (is_dataclass(kind) and isinstance(kind, type)):
            name = kind.name if isinstance(kind, Shape) else kind.__name__
            if self._kinds.setdefault(name, kind) != kind:
                raise TypeError(f"two kinds are called {name}")
            if name not in self.definitions:
                self.definitions[name] = {}  # a thread may hold itself
                self.definitions[name] = self._shape(kind) if isinstance(kind, Shape) else self._object(kind)
            return {"$ref": self._place + name}
        if kind in _SCALARS:
            return dict(_SCALARS[kind])
        origin, inner = get_origin(kind), get_args(kind)
        if origin in (Union, UnionType):
            return {"anyOf": [self.of(one) for one in inner]}
        if origin is list or (origin is tuple and inner[-1] is Ellipsis):
            return {"type": "array", "items": self.of(inner[0])}
        if origin is tuple:
            each = [self.of(one) for one in inner]
            return {"type": "array", "prefixItems": each, "items": False, "minItems": len(each)}
        if origin is dict:
            return {"type": "object", "additionalProperties": self.of(inner[1])}
        raise TypeError(f"{kind!r} has no schema")

    def _shape(self, shape: Shape) -> Schema:
        told: Schema = self._object(shape.base) if shape.base is not None else {"type": "object", "properties": {}}
        told["properties"] |= {name: self.of(kind) for name, kind in shape.fields}
        told["required"] = [name for name in told["properties"] if name not in shape.optional]
        return told

    def _object(self, kind: type) -> Schema:
        hints = get_type_hints(kind, _names() | vars(sys.modules[kind.__module__]))
        properties = {item.name: self.of(hints[item.name]) for item in fields(kind)}
        for item in fields(kind):
            if item.name == "part" and item.default is not MISSING:
                properties[item.name] = {"const": item.default}
        text = (kind.__doc__ or "").partition("\n")[0]
        told: Schema = {"type": "object", "description": text, "properties": properties}
        told |= {"required": list(properties), **self._closed}
        if not hasattr(kind, "as_plain"):
            return told
        if kind is Pricing:
            return self._pricing(told)
        if kind is UsageRow:
            return _row(told)
        raise TypeError(f"{kind.__name__} says in `as_plain` how it is written, and nothing here knows")

    def _pricing(self, told: Schema) -> Schema:
        flat = self._object(PriceData)["properties"] | told["properties"]
        del flat["data"]
        return told | {"properties": flat, "required": list(flat)}


def _row(told: Schema) -> Schema:
    """A row has its key and what is known of it as fields of its own."""
    properties = {name: schema for name, schema in told["properties"].items() if name not in ("key", "about")}
    return told | {
        "properties": properties,
        "required": [name for name in properties if name not in ("work", "breakdown")],
        "additionalProperties": {"type": ["string", "null"]},
    }


def _names() -> dict[str, Any]:
    """What annotations name that modules import for type checkers only."""
    values = {"datetime": datetime, "Decimal": Decimal}
    for module in pkgutil.iter_modules(model.__path__):
        if module.name not in ("schema", "serialize"):
            values |= vars(import_module(f"{model.__name__}.{module.name}"))
    return values


def display_schema(*, strict: bool = False) -> dict[str, Any]:
    """The schema of `Display`; `strict` allows no field that is not in it, where others may come with later versions."""
    schemas = Schemas(strict=strict)
    top = schemas.of(Display)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A session as Hansard shows it",
        "description": "What `hansard export --format json` writes. Fields may be added; none is removed or changes its meaning.",
        **top,
        "$defs": dict(sorted(schemas.definitions.items())),
    }
