"""The JSON Schema of a session's document, made from the values that it is made of, so that it is never out of date."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from decimal import Decimal
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from hansard.model import Agent, Session, Tokens, display

_SCALARS: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
    datetime: {"type": "string", "format": "date-time", "pattern": "Z$"},
    Decimal: {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$"},
    Any: {},
}
_NAMES = {"datetime": datetime, "Decimal": Decimal, "Session": Session, "Agent": Agent, "Tokens": Tokens}


def display_schema(*, strict: bool = False) -> dict[str, Any]:
    """The schema of `Display`; `strict` allows no field that is not in it, where others may come with later versions."""
    definitions: dict[str, Any] = {}
    top = _of(display.Display, definitions, strict=strict)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A session as Hansard shows it",
        "description": "What `hansard export --format json` writes. Fields may be added; none is removed or changes its meaning.",
        **top,
        "$defs": dict(sorted(definitions.items())),
    }


def _of(kind: Any, definitions: dict[str, Any], *, strict: bool) -> dict[str, Any]:
    if kind in _SCALARS:
        return _SCALARS[kind]
    if is_dataclass(kind) and isinstance(kind, type):
        if kind.__name__ not in definitions:
            definitions[kind.__name__] = {}  # a thread may hold itself
            definitions[kind.__name__] = _object(kind, definitions, strict=strict)
        return {"$ref": f"#/$defs/{kind.__name__}"}
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return {"anyOf": [_of(one, definitions, strict=strict) for one in inner]}
    if origin in (tuple, list):
        if origin is list or inner[-1] is Ellipsis:
            return {"type": "array", "items": _of(inner[0], definitions, strict=strict)}
        each = [_of(one, definitions, strict=strict) for one in inner]
        return {"type": "array", "prefixItems": each, "items": False, "minItems": len(each)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _of(inner[1], definitions, strict=strict)}
    raise TypeError(f"{kind!r} has no place in the schema")


def _object(kind: type, definitions: dict[str, Any], *, strict: bool) -> dict[str, Any]:
    hints = get_type_hints(kind, {**vars(display), **_NAMES})
    properties: dict[str, Any] = {}
    for field in fields(kind):
        if field.name == "part" and field.default is not MISSING:
            properties[field.name] = {"const": field.default}
        else:
            properties[field.name] = _of(hints[field.name], definitions, strict=strict)
    text = (kind.__doc__ or "").partition("\n")[0]
    closed = {"additionalProperties": False} if strict else {}
    return {"type": "object", "description": text, "properties": properties, "required": list(properties), **closed}
