"""The gate: all text of transcripts that leaves the library passes it, and redaction is applied there.

The classes that front ends get texts from (the engine, threads, searches of the record) are `gated`: what any of their public
methods and properties returns is passed through `release`. So a new method cannot forget it. What must be verbatim says so by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, wraps
from typing import Any, TypeVar, cast

import msgspec

Redact = Callable[[str], str]
VERBATIM: dict[str, list[str]] = {}
"""What is given out as it was recorded: the exceptions by name, and the methods that give it."""
_AS_THEY_ARE = frozenset({"session_id", "agent_id", "uuid", "tool_use_id", "next_cursor"})  # ask for something again

_T = TypeVar("_T")
_Method = TypeVar("_Method", bound=Callable[..., Any])


def verbatim(name: str) -> Callable[[_Method], _Method]:
    """Mark a method of a gated class that gives texts exactly as they were recorded."""

    def mark(method: _Method) -> _Method:
        VERBATIM.setdefault(name, []).append(method.__qualname__)
        method.__verbatim__ = name  # type: ignore[attr-defined]
        return method

    return mark


def gated(kind: type[_T]) -> type[_T]:
    """Pass everything that instances of a class give out through their gate: `redact`, None where nothing is redacted."""
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
    """A value with all texts in it redacted; what is iterated is redacted on the way."""
    return cast("_T", _release(value, redact))


def _release(value: Any, redact: Redact) -> Any:
    if isinstance(value, str):
        return redact(value) if type(value) is str else value  # a member of an enumeration is not text
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
