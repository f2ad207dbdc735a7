"""The gate: all transcript text that leaves the library passes through it and is redacted there.

The classes that front ends get text from (the engine, threads, searches of the record) are `gated`: what their public
methods and properties return goes through `release`, so a new method cannot forget it. Exceptions are declared with `verbatim`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, wraps
from typing import Any, TypeVar, cast

import msgspec

Redact = Callable[[str], str]
VERBATIM: dict[str, list[str]] = {}
"""Exceptions that return text as it was recorded: their names, and the methods that return it."""
_AS_THEY_ARE = frozenset({"session_id", "agent_id", "uuid", "tool_use_id", "next_cursor"})  # used in later requests

_T = TypeVar("_T")
_Method = TypeVar("_Method", bound=Callable[..., Any])


def verbatim(name: str) -> Callable[[_Method], _Method]:
    """Mark a method of a gated class that returns text exactly as it was recorded."""

    def mark(method: _Method) -> _Method:
        VERBATIM.setdefault(name, []).append(method.__qualname__)
        method.__verbatim__ = name  # type: ignore[attr-defined]
        return method

    return mark


def gated(kind: type[_T]) -> type[_T]:
    """Pass everything that instances of a class return through their `redact`; None redacts nothing."""
    for name, member in list(vars(kind).items()):
        if name.startswith("_") and name != "__iter__":
            continue
        if isinstance(member, property) and member.fget is not None:
            setattr(kind, name, property(_released(member.fget), member.fset))
        elif isinstance(member, cached_property):
            passed: cached_property[Any] = cached_property(_released(member.func))
            passed.__set_name__(kind, name)
            setattr(kind, name, passed)
        elif callable(member) and not isinstance(member, type) and not hasattr(member, "__verbatim__"):
            setattr(kind, name, _released(member))
    return kind


def _released(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        answer = method(self, *args, **kwargs)
        return answer if self.redact is None else release(answer, self.redact)

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
