"""The gate: all transcript text that leaves the library passes through it and is redacted there.

The objects that front ends get text from (the engine, threads, searches of the record, views) put themselves behind the gate if they
have a `redact`: then what their public methods and properties return goes through `release`, so a new method cannot forget it. Exceptions are
declared with `verbatim`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property, wraps
from itertools import pairwise
from typing import Any, TypeVar, cast

import msgspec

Redact = Callable[[str], str]
VERBATIM: dict[str, list[str]] = {}
"""Exceptions that return text as it was recorded: their names, and the methods that return it."""
PREVIEW = 400
"""Characters of a text in lists: a longer one is cut, perhaps within a secret."""
_AROUND = 400  # characters of a neighbouring text in which the other part of a secret may be
_END: Any = object()
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


def count_anew(redact: Redact | None) -> None:
    """Begin to count the secrets that a redactor replaces."""
    if redact is not None and hasattr(redact, "replaced"):
        redact.replaced.clear()


def replaced(redact: Redact | None) -> frozenset[str]:
    """The fingerprints of the secrets that were replaced since the count began; empty for a redactor that does not count."""
    return frozenset(getattr(redact, "replaced", ()))


def look_at(redact: Redact | None, record: object, transcript: int | None) -> None:
    """Let a redactor find what is split over texts of a log, before any of it is redacted."""
    look = getattr(redact, "look_at", None)
    if look is not None and transcript is not None:
        look(record, transcript)


def cut(text: str, places: Sequence[int], redact: Redact | None) -> list[str]:
    """The parts of a text between ascending places, redacted before they are cut: half a secret is not recognised."""
    cut_redacted = getattr(redact, "cut", None)
    if cut_redacted is not None:
        return cast("list[str]", cut_redacted(text, places))
    parts = [text[start:end] for start, end in pairwise(places)]
    return parts if redact is None else list(map(redact, parts))


def put_behind_gate(answering: Any) -> None:
    """Pass everything that an object with a `redact` returns through it; others need no gate."""
    answering.__class__ = _behind_gate(answering.__class__)


@cache
def _behind_gate(kind: Any) -> Any:
    """A subclass whose public methods and properties release what those of a class return."""
    released: dict[str, Any] = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__slots__": ()}
    members = {name: member for base in reversed(kind.__mro__[:-1]) for name, member in vars(base).items()}
    for name, member in members.items():
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
    """Redact all texts in a value; iterators are redacted lazily.

    Texts that follow each other (fields named `text`, and the lines of a list) are redacted together if the redactor can do so:
    a secret may be split over them.
    """
    return cast("_T", _release_with(value, redact, "", ""))


def _release_with(value: Any, redact: Redact, before: str, after: str) -> Any:
    """Release a value between two texts."""
    if isinstance(value, (str, bytes)) or (many := getattr(redact, "many", None)) is None:
        return _release(value, redact, None)
    texts = list(_texts(value))
    return _release(value, redact, iter(many(texts, before, after)) if texts else None)


def _texts(value: Any) -> Iterator[str]:
    """The texts in a value that follow each other, in the order in which `_release` comes to them."""
    if isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            item = getattr(value, name)
            if name == "text" and type(item) is str:
                yield item
            elif name not in _AS_THEY_ARE:
                yield from _texts(item)
    elif isinstance(value, (list, tuple)):
        are_lines = _are_lines(value)
        for item in value:
            if are_lines:
                yield item
            else:
                yield from _texts(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)


def _are_lines(value: list[Any] | tuple[Any, ...]) -> bool:
    return len(value) > 1 and not hasattr(value, "_fields") and all(type(item) is str for item in value)


def _release(value: Any, redact: Redact, texts: Iterator[str] | None) -> Any:
    """Release a value; its texts come from `texts`, where they are redacted already."""
    if isinstance(value, str):
        return redact(value) if type(value) is str else value  # enum members are not text
    if isinstance(value, bytes):
        return _release_bytes(value, redact)
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.replace(value, **_fields(value, value.__struct_fields__, redact, texts))
    if isinstance(value, (tuple, list, set, frozenset, Mapping)):
        return _release_items(value, redact, texts)
    if hasattr(type(value), "__dataclass_fields__"):
        from dataclasses import fields, replace

        return replace(value, **_fields(value, [field.name for field in fields(value) if field.init], redact, None))
    if isinstance(value, Iterator):
        return _stream(value, redact)
    return value


def _release_items(value: Any, redact: Redact, texts: Iterator[str] | None) -> Any:
    if isinstance(value, Mapping):
        return {_release(key, redact, None): _release(item, redact, texts) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return type(value)(_release(item, redact, None) for item in value)
    if texts is not None and _are_lines(value):
        released = [next(texts) for _ in value]
    else:
        released = [_release(item, redact, texts) for item in value]
    return type(value)(*released) if hasattr(value, "_fields") else type(value)(released)


def _fields(value: Any, names: Any, redact: Redact, texts: Iterator[str] | None) -> dict[str, Any]:
    return {
        name: next(texts)
        if texts is not None and name == "text" and type(getattr(value, name)) is str
        else _release(getattr(value, name), redact, texts)
        for name in names
        if name not in _AS_THEY_ARE
    }


def _stream(items: Iterator[Any], redact: Redact) -> Iterator[Any]:
    """Release what comes one by one, each between the texts of its neighbours."""
    if not hasattr(redact, "many"):
        yield from (_release(item, redact, None) for item in items)
        return
    before = ""
    item = next(items, _END)
    while item is not _END:
        following = next(items, _END)
        yield _release_with(item, redact, before, next(_texts(following), "")[:_AROUND])
        for before in _texts(item):  # noqa: B007 - the last one
            pass
        before = before[-_AROUND:]
        item = following


def _release_bytes(value: bytes, redact: Redact) -> bytes:
    try:
        return redact(value.decode()).encode()
    except UnicodeDecodeError:
        return value  # a picture
