"""A field of a request as an HTTP parameter: how it is read from a URL, and its OpenAPI schema."""

from __future__ import annotations

from datetime import datetime, tzinfo
from typing import Any

from msgspec import NODEFAULT, Struct

from hansard.model.requests import RequestField, field_of
from hansard.web.params import LONGEST, Params, checked, whole

Schema = dict[str, Any]
_ORDERS = ("asc", "desc")
_NO_NUL = r"^[^\u0000]*$"
_MOST_REPEATED = 20
_EXAMPLES = {"since": ["2026-01-31", "2026-01-31T12:00:00Z", "7d"], "timezone": ["Europe/Berlin", "UTC"]}
_EXAMPLES["until"] = _EXAMPLES["since"]


class Parameter(Struct, frozen=True):
    """A named value behind the question mark, in the path or in the body."""

    name: str
    field: RequestField

    @property
    def required(self) -> bool:
        """Whether there is no answer without it."""
        return self.field.default is NODEFAULT

    @property
    def is_list(self) -> bool:
        """Whether it has several values, with commas between them."""
        return bool(self.field.extra.get("several"))

    @property
    def is_repeated(self) -> bool:
        """Whether it can be given several times."""
        return self.field.type not in (bool, int, str, datetime)

    @property
    def longest(self) -> int:
        """The length of a text."""
        return int(self.field.extra.get("longest", LONGEST))

    def read(self, asked: Params, zone: tzinfo | None) -> Any:
        """The value that a request gives it, checked; days are those of the zone."""
        field, name = self.field, self.name
        if field.type is bool:
            if field.default is not None:
                return asked.flag(name)
            order = asked.choice(name, _ORDERS, "")
            return order == "asc" if order else None
        if field.type is int:
            return asked.number(name, field.default, *self._limits)
        if field.type is datetime:
            return asked.moment(name, zone, end=name == "until")
        if self.is_repeated:
            return tuple(value or None for value in asked.each(name, _MOST_REPEATED))
        if self.is_list:
            return asked.words(name, field.choices) or field.default
        if field.choices:
            return asked.choice(name, field.choices, "") or field.default
        return asked.needed(name, self.longest) if self.required else asked.text(name, self.longest)

    def read_path(self, value: str) -> str | int:
        """The value of a part of the path."""
        if self.field.type is int:
            return whole(self.name, value, *self._limits)
        return checked(self.name, value, self.longest)

    @property
    def _limits(self) -> tuple[int, int]:
        meta = self.field.meta
        return int(meta.ge or 0), int(meta.le or 0)

    def schema(self) -> Schema:
        """The values that may be given, as JSON Schema."""
        field = self.field
        told: Schema = {"type": "string"}
        if field.type is bool:
            told = {"type": "string", "enum": list(_ORDERS)} if field.default is None else {"type": "boolean"}
        elif field.type is int:
            low, high = self._limits
            told = {"type": "integer", "minimum": low, "maximum": high}
        elif self.name in _EXAMPLES:
            told |= {"maxLength": LONGEST, "examples": _EXAMPLES[self.name]}
        elif self.is_repeated:
            item = {"type": "string", "maxLength": LONGEST, "pattern": _NO_NUL}
            told = {"type": "array", "items": item, "maxItems": _MOST_REPEATED}
        elif self.is_list:
            item = {"type": "string", "enum": list(field.choices)}
            told = {"type": "array", "items": item, "uniqueItems": True}
            return told | {"default": [field.default]} if field.default else told
        elif field.choices:
            told |= {"enum": list(field.choices)}
        elif self.required:
            told |= {"minLength": 1, "maxLength": self.longest, "pattern": r"^[^\u0000]*\S[^\u0000]*$"}
        else:
            told |= {"maxLength": self.longest, "pattern": _NO_NUL}
        return told | {"default": field.default} if field.default not in (None, (), NODEFAULT) else told


def make_parameter(request: type[Struct], name: str) -> Parameter:
    """The parameter for a field of a request."""
    field = field_of(request, name)
    return Parameter(field.extra.get("http", name), field)
