"""Parameters of URLs, made from the fields of requests: how they are read and checked, and their OpenAPI schema.

A wrong value is refused with the parameter's name, never guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any, TypeVar, get_origin
from urllib.parse import parse_qsl

from msgspec import NODEFAULT, Struct

from hansard.errors import UsageError
from hansard.model.requests import RequestField, field_of

if TYPE_CHECKING:
    from starlette.requests import Request

_Request = TypeVar("_Request", bound=Struct)
Schema = dict[str, Any]
LAST_OFFSET = 1 << 40  # in a transcript
NARROWING = ("machine", "person")
"""Parameters that every address of a team's database may have."""
NARROWED = "hansard.narrowed"
"""Their values, in the scope of requests."""
_LONGEST = 2_000  # characters of a value
_MOST = 200  # values in one request
_MOST_REPEATED = 20  # values of one parameter
_LONGEST_KEY = 100  # characters of the key in name[key]
_DIGITS = 18
_FLAGS = ("0", "1", "false", "true")
_ORDERS = ("asc", "desc")
_NO_NUL = r"^[^\u0000]*$"
_EXAMPLES = {"since": ["2026-01-31", "2026-01-31T12:00:00Z", "7d"], "timezone": ["Europe/Berlin", "UTC"]}
_EXAMPLES["until"] = _EXAMPLES["since"]


class Nothing(Struct, frozen=True):
    """A request without parameters."""


class Params:
    """The query string of a request; `done` refuses names that nothing has read."""

    def __init__(self, request: Request) -> None:
        self._values: dict[str, list[str]] = {}
        pairs = request.query_params.multi_items()
        if len(pairs) > _MOST:
            raise UsageError(f"too many parameters: {len(pairs):,} (the limit is {_MOST})")
        for name, value in pairs:
            self._values.setdefault(name, []).append(value)
        self._known: set[str] = set(request.scope.get(NARROWED, ()))
        for name in self._known:
            self.text(name)

    def each(self, name: str, most: int = _MOST, longest: int = _LONGEST) -> list[str]:
        """Every value of a name as it was written, empty ones included."""
        self._known.add(name)
        found = self._values.get(name, [])
        if len(found) > most:
            raise UsageError(f"parameter {_quoted(name)} is given {len(found)} times (the limit is {most})")
        return [checked(name, value, longest) for value in found]

    def all(self, name: str, longest: int = _LONGEST) -> list[str]:
        """Every value of a name that is not empty, stripped."""
        return [value for value in map(str.strip, self.each(name, longest=longest)) if value]

    def text(self, name: str, longest: int = _LONGEST) -> str | None:
        """The only value of a name; None if it is missing or empty."""
        found = self.all(name, longest)
        if len(found) > 1:
            raise UsageError(f"parameter {_quoted(name)} is given more than once")
        return found[0] if found else None

    def mapping(self, name: str) -> dict[str, str]:
        """The values of `name[key]` by key, empty ones included."""
        found = {}
        for given in [one for one in self._values if one.startswith(f"{name}[") and one.endswith("]")]:
            values = self.each(given, 1)
            found[checked(name, given[len(name) + 1 : -1], _LONGEST_KEY)] = values[0]
        return found

    def done(self) -> None:
        """Refuse unknown names: a misspelt one must not give another answer."""
        for name in self._values:
            if name not in self._known:
                raise UsageError(
                    f"unknown parameter {_quoted(name)}; valid parameters: {', '.join(sorted(self._known)) or 'none'}"
                )


class Parameter(Struct, frozen=True):
    """A named value in the query string, the path or the body."""

    name: str
    field: RequestField

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.field.default is NODEFAULT

    @property
    def is_list(self) -> bool:
        """Whether it has several values, separated by commas."""
        return bool(self.field.extra.get("several"))

    @property
    def is_repeated(self) -> bool:
        """Whether it can be given several times."""
        return self.field.type not in (bool, int, str, datetime) and not self.is_mapping

    @property
    def is_mapping(self) -> bool:
        """Whether it is given as `name[key]=value`, any number of times."""
        return get_origin(self.field.type) is Mapping

    @property
    def longest(self) -> int:
        return int(self.field.extra.get("longest", _LONGEST))

    def read(self, asked: Params, zone: tzinfo | None) -> Any:
        """Its value in a query string, checked; days are those of the zone."""
        field, name = self.field, self.name
        if self.is_list:
            words = [word for value in asked.all(name) for word in map(str.strip, value.split(",")) if word]
            return tuple(_among(name, word, field.choices) for word in words) or field.default
        if self.is_repeated:
            most = int(field.extra.get("most", _MOST_REPEATED))
            return tuple(value or None for value in asked.each(name, most))
        if self.is_mapping:
            return asked.mapping(name)
        text = asked.text(name, self.longest)
        if text is None:
            if self.required:
                raise UsageError(f"missing parameter {_quoted(name)}")
            return field.default
        if field.type is bool:
            if field.default is not None:
                return _among(name, text, _FLAGS) in ("1", "true")
            return _among(name, text, _ORDERS) == "asc"
        if field.type is int:
            return whole(name, text, *self._limits)
        if field.type is datetime:
            return moment(text, datetime.now(UTC), zone, end=name == "until")
        return _among(name, text, field.choices) if field.choices else text

    def read_path(self, value: str) -> str | int:
        """Its value in a part of the path, checked."""
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
        schema: Schema = {"type": "string"}
        if field.type is bool:
            schema = {"type": "string", "enum": list(_ORDERS)} if field.default is None else {"type": "boolean"}
        elif field.type is int:
            low, high = self._limits
            schema = {"type": "integer", "minimum": low, "maximum": high}
        elif self.name in _EXAMPLES:
            schema |= {"maxLength": _LONGEST, "examples": _EXAMPLES[self.name]}
        elif self.is_list:
            item: Schema = {"type": "string", "enum": list(field.choices)}
            schema = {"type": "array", "items": item, "uniqueItems": True}
            return schema | {"default": [field.default]} if field.default else schema
        elif self.is_mapping:
            item = {"type": "string", "maxLength": _LONGEST, "pattern": _NO_NUL}
            return {"type": "object", "additionalProperties": item}
        elif self.is_repeated:
            item = {"type": "string", "maxLength": _LONGEST, "pattern": _NO_NUL}
            schema = {"type": "array", "items": item, "maxItems": _MOST_REPEATED}
        elif field.choices:
            schema |= {"enum": list(field.choices)}
        elif self.required:
            schema |= {"minLength": 1, "maxLength": self.longest, "pattern": r"^[^\u0000]*\S[^\u0000]*$"}
        else:
            schema |= {"maxLength": self.longest, "pattern": _NO_NUL}
        return schema | {"default": field.default} if field.default not in (None, (), NODEFAULT) else schema


def make_parameters(request: type[Struct], names: Iterable[str] | None = None) -> tuple[Parameter, ...]:
    """The parameters for some fields of a request, or for all of them."""
    fields = [field_of(request, name) for name in (request.__struct_fields__ if names is None else names)]
    return tuple(Parameter(field.extra.get("http", field.name), field) for field in fields)


def read_params(request: Request, kind: type[_Request], **known: Any) -> _Request:
    """The query string as a request of this kind: each field is a parameter unless its value is known."""
    asked = Params(request)
    parameters = make_parameters(kind, [name for name in kind.__struct_fields__ if name not in known])
    values = {one.field.name: one.read(asked, request.app.state.zone.info) for one in parameters}
    asked.done()
    return kind(**values, **known)


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form, each once."""
    fields = parse_qsl((await request.body()).decode("latin-1"), keep_blank_values=True)
    found = {name: checked(name, value) for name, value in fields}
    if len(found) != len(fields):
        raise UsageError("the form has a field more than once")
    return found


def moment(text: str, now: datetime, zone: tzinfo | None, *, end: bool) -> datetime:
    """A time as people and programs write it: 2026-01-31, 2026-01-31T12:00Z, 7d, today; `end`: when that is over."""
    from hansard.query.language.dates import parse_span

    span = parse_span(text, now, zone)
    return span.end if end else span.start


def checked(name: str, value: str, longest: int = _LONGEST) -> str:
    """A text that is not too long and has no NUL."""
    if "\x00" in value or len(value) > longest:
        raise UsageError(f"invalid {_quoted(name)}: at most {longest:,} characters, without NUL")
    return value


def whole(name: str, value: str, low: int, high: int) -> int:
    """A whole number in plain digits."""
    sign, digits = (-1, value[1:]) if value.startswith("-") else (1, value)
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS and low <= sign * int(digits) <= high):
        raise UsageError(f"invalid {_quoted(name)}: expected a number from {low} to {high}, not {_quoted(value)}")
    return sign * int(digits)


def _among(name: str, value: str, choices: Iterable[str]) -> str:
    if value not in choices:
        raise UsageError(f"invalid {_quoted(name)}: choose one of {', '.join(choices)}, not {_quoted(value)}")
    return value


def _quoted(text: str) -> str:
    return repr(text[:60])
