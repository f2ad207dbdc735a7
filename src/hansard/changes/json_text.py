"""JSON files of other programs: written as they were written before, and our part taken out again key by key."""

from __future__ import annotations

import json
from typing import Any

from hansard.errors import UsageError

_INDENTS: tuple[int | str | None, ...] = (2, 4, "\t", None, 1, 3, 8)
_MISSING = object()


def load_object(data: bytes | None, path: str) -> dict[str, Any]:
    """The object in a JSON file, an empty one where there is no file; raises where it cannot be written again without loss."""
    if data is None or not data.strip():
        return {}
    try:
        value = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not valid JSON ({error}), so it is not changed") from None
    if not isinstance(value, dict):
        raise UsageError(f"{path}: not a JSON object, so it is not changed")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found


def dump_like(value: Any, like: bytes | None) -> bytes:
    """A value as JSON, indented as another file is."""
    text = (like or b"").decode("utf-8-sig", "replace")
    body = text.rstrip()
    end = text[len(body) :] if like else "\n"
    try:
        former = json.loads(body) if body else None
    except ValueError:
        former = None
    for indent in _INDENTS:
        for is_ascii in (False, True):
            separators = [(", ", ": "), (",", ":")] if indent is None else [(",", ": ")]
            for pair in separators:
                if body and json.dumps(former, indent=indent, ensure_ascii=is_ascii, separators=pair) == body:
                    made = json.dumps(value, indent=indent, ensure_ascii=is_ascii, separators=pair)
                    return (made + end).encode("utf-8", "surrogatepass")
    return (json.dumps(value, indent=2, ensure_ascii=False) + end).encode("utf-8", "surrogatepass")


def take_out(current: Any, before: Any, after: Any) -> Any:
    """A value without what we changed from `before` to `after`, where it is still as we left it."""
    if not isinstance(current, dict) or not isinstance(after, dict) or not isinstance(before, dict):
        return before if current == after else current
    result: dict[str, Any] = {}
    for key, value in current.items():
        ours, former = after.get(key, _MISSING), before.get(key, _MISSING)
        if ours is _MISSING or ours == former:
            result[key] = value
        elif former is _MISSING:
            rest = take_out(value, {}, ours) if isinstance(value, dict) else value
            if value != ours and rest != {}:
                result[key] = rest
        else:
            result[key] = take_out(value, former, ours)
    removed = {key: former for key, former in before.items() if key not in after and key not in current}
    return result | removed
