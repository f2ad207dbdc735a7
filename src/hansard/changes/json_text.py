"""JSON files of other programs: written as they were written before, and our part taken out again key by key."""

from __future__ import annotations

import codecs
import json
import os
import re
from typing import Any

from hansard.errors import UsageError

_INDENTS: tuple[int | str | None, ...] = (2, 4, "\t", None, 1, 3, 8)
_MISSING = object()
# Prefix of the strings that replace numbers which Python might write otherwise.
_NUMBER = f"number {os.urandom(16).hex()} "
_WRITTEN_NUMBER = re.compile(f'"{_NUMBER}([^"]*)"')
_SURROGATE = re.compile("[\ud800-\udfff]")


def load_object(data: bytes | None, path: str) -> dict[str, Any]:
    """The object in a JSON file, empty if there is no file; raises if it cannot be written back without loss."""
    if data is None or not data.strip():
        return {}
    try:
        value = _parse(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not valid JSON ({error}), so it is not changed") from None
    if not isinstance(value, dict):
        raise UsageError(f"{path}: not a JSON object, so it is not changed")
    return value


def _parse(text: str) -> Any:
    return json.loads(
        text,
        object_pairs_hook=_unique,
        parse_float=_exact_number,
        parse_int=_exact_number,
        parse_constant=_refuse_constant,
    )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _exact_number(text: str) -> int | str:
    return int(text) if len(text) < 19 and text.removeprefix("-").isdigit() and text != "-0" else _NUMBER + text


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def dump_like(value: Any, like: bytes | None) -> bytes:
    """A value of `load_object` as JSON, with the indentation, line ends and byte order mark of another file."""
    text = (like or b"").decode("utf-8-sig", "replace")
    mark = codecs.BOM_UTF8 if like and like.startswith(codecs.BOM_UTF8) else b""
    line_end = "\r\n" if "\r\n" in text else "\n"
    text = text.replace("\r\n", "\n")
    body = text.rstrip()
    end = text[len(body) :] if like else "\n"
    made = _dump_as(value, body) + end
    return mark + made.replace("\n", line_end).encode()


def _dump_as(value: Any, body: str) -> str:
    try:
        former = _parse(body) if body else None
    except ValueError:
        former = None
    for indent in _INDENTS:
        for is_ascii in (False, True):
            separators = [(", ", ": "), (",", ":")] if indent is None else [(",", ": ")]
            for pair in separators:
                if body and _dump(former, indent, pair, is_ascii=is_ascii) == body:
                    return _dump(value, indent, pair, is_ascii=is_ascii)
    return _dump(value, 2, (",", ": "), is_ascii=False)


def _dump(value: Any, indent: int | str | None, separators: tuple[str, str], *, is_ascii: bool) -> str:
    text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=is_ascii)
    text = _WRITTEN_NUMBER.sub(r"\1", text)
    return text if is_ascii else _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def take_out(current: Any, before: Any, after: Any) -> Any:
    """Undo the change from `before` to `after` in a value, where the value is still `after`.

    Keys that we added go with the values they have now: a switch that was turned off since is still our switch.
    """
    if not isinstance(current, dict) or not isinstance(after, dict) or not isinstance(before, dict):
        return before if current == after else current
    result: dict[str, Any] = {}
    for key, value in current.items():
        ours, former = after.get(key, _MISSING), before.get(key, _MISSING)
        if ours is _MISSING or ours == former:
            result[key] = value
        elif former is _MISSING:
            rest = take_out(value, {}, ours) if isinstance(value, dict) and isinstance(ours, dict) else {}
            if rest:
                result[key] = rest
        else:
            result[key] = take_out(value, former, ours)
    removed = {key: former for key, former in before.items() if key not in after and key not in current}
    return result | removed
