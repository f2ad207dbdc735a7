"""The gate: all transcript text that leaves the library passes through it and is redacted there.

The objects that front ends get text from (the engine, threads, searches of the record, views) put themselves behind the gate if they
have a `redact`: then what their public methods and properties return goes through `release`, so a new method cannot forget it. Exceptions are
declared with `verbatim`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property, wraps
from typing import Any, TypeVar, cast

import msgspec

Redact = Callable[[str], str]
VERBATIM: dict[str, list[str]] = {}
"""Exceptions that return text as it was recorded: their names, and the methods that return it."""
_AS_THEY_ARE = frozenset({"session_id", "agent_id", "uuid", "tool_use_id", "next_cursor"})  # used in later requests

_T = TypeVar("_T")
_Method = TypeVar("_Method", bound=Callable[..., Any])


def verbatim(name: str) -> Callable[[_Method], _Method]:
    """Mark a method behind the gate that returns text exactly as it was recorded."""

    def mark(method: _Method) -> _Method:
        VERBATIM.setdefault(name, []).append(method.__qualname__)
        method.__verbatim__ = name  # type: ignore[attr-defined]
        return method

    return mark


def put_behind_gate(answering: Any) -> None:
    """Pass everything that an object with a `redact` returns through it; others need no gate."""
    answering.__class__ = _behind_gate(answering.__class__)


@cache
def _behind_gate(kind: Any) -> Any:
    """A subclass whose public methods and properties release what those of a class return."""
    released: dict[str, Any] = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__slots__": ()}
    for name, member in vars(kind).items():
        if name.startswith("_") and name != "__iter__":
            continue
        if isinstance(member, property) and member.fget is not None:
            released[name] = property(_released(member.fget), member.fset)
        elif isinstance(member, cached_property):
            released[name] = cached_property(_released(member.func))
        elif callable(member) and not isinstance(member, type) and not hasattr(member, "__verbatim__"):
            released[name] = _released(member)
    return type(kind.__name__, (kind,), released)


def _released(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return release(method(self, *args, **kwargs), self.redact)

    return call


def release(value: _T, redact: Redact) -> _T:
    """Redact all texts in a value; iterators are redacted lazily."""
    return cast("_T", _release(value, redact))


def _release(value: Any, redact: Redact) -> Any:
    if isinstance(value, str):
        return redact(value) if type(value) is str else value  # enum members are not text
    if isinstance(value, bytes):
        return _release_bytes(value, redact)
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.replace(value, **_fields(value, value.__struct_fields__, redact))
    if isinstance(value, tuple):
        released = [_release(item, redact) for item in value]
        return type(value)(*released) if hasattr(value, "_fields") else tuple(released)
    if isinstance(value, (list, set, frozenset)):
        return type(value)(_release(item, redact) for item in value)
    if isinstance(value, Mapping):
        return {_release(key, redact): _release(item, redact) for key, item in value.items()}
    if hasattr(type(value), "__dataclass_fields__"):
        from dataclasses import fields, replace

        return replace(value, **_fields(value, [field.name for field in fields(value) if field.init], redact))
    if isinstance(value, Iterator):
        return (_release(item, redact) for item in value)
    return value


def _fields(value: Any, names: Any, redact: Redact) -> dict[str, Any]:
    return {name: _release(getattr(value, name), redact) for name in names if name not in _AS_THEY_ARE}


def _release_bytes(value: bytes, redact: Redact) -> bytes:
    try:
        return redact(value.decode()).encode()
    except UnicodeDecodeError:
        return value  # a picture
