"""Bytes of a log -> records, tolerant of everything: a line that is damaged costs an `Issue`, never its neighbours.

The fast path is one msgspec decode per line. Whatever it refuses goes through `_Salvage`, which in this order tries: the
same record with fields nobody has seen, odd encodings, wrong types in single fields, several objects glued together, and the
whole objects inside a torn line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from hansard.parse import wire

_strict = msgspec.json.Decoder(wire.StrictEntry).decode
_loose = msgspec.json.Decoder(wire.Entry).decode
_keys = msgspec.json.Decoder(dict[str, Raw]).decode
_tag = msgspec.json.Decoder(wire.Tail).decode
_metadata = {kind: msgspec.json.Decoder(shape).decode for kind, shape in wire.METADATA.items()}
_KNOWN_FIELDS = (
    frozenset(field.encode_name for field in msgspec.structs.fields(wire.StrictEntry)) | wire.RARE_FIELDS
)
_TAGGED = b'{"type":"'
_ENTRY_NAMES = {kind.encode(): kind for kind in wire.ENTRY_KINDS}
_METADATA_NAMES = {kind.encode(): kind for kind in wire.METADATA}

# Where a record may begin inside a damaged line: never right after `:`, `,` or `[`, where nested objects stand.
_RECORD_START = re.compile(rb'(?<![:,\[])\s*(\{"[A-Za-z]+":)')
_MAX_ATTEMPTS = 64


class Record(NamedTuple):
    """One decoded record: where it stands, what kind it is, its wire struct, and fields of it that nobody has seen."""

    offset: int
    length: int
    kind: str
    body: Any
    strange: tuple[str, ...] = ()


class Issue(NamedTuple):
    """Something in a transcript that could not be read as it should: kept, counted, reported."""

    offset: int
    length: int
    reason: str
    detail: str = ""


def decode(line: bytes, offset: int) -> Record | None:
    """Decode one intact line, or return None when it needs `salvage`."""
    try:
        if line.startswith(_TAGGED):
            end = line.find(b'"', 9)
            name = line[9:end]
            kind = _METADATA_NAMES.get(name)
            if kind is not None:
                return Record(offset, len(line), kind, _metadata[kind](line))
            if name not in _ENTRY_NAMES:
                return None
        body = _strict(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    kind = body.type
    if kind not in wire.ENTRY_KINDS:
        return None
    return Record(offset, len(line), kind, body)


def salvage(line: bytes, offset: int) -> Iterator[Record | Issue]:
    """Get what can be had from a line that `decode` refused."""
    start = len(line) - len(line.lstrip(b"\x00\xef\xbb\xbf \t\r")) if line[:1] in b"\x00\xef \t\r" else 0
    body = line[start:].rstrip(b"\x00 \t\r") if line[-1:] in b"\x00 \t\r" or start else line
    if start and line[:start].strip(b"\xef\xbb\xbf \t\r"):
        yield Issue(offset, start, "nul_bytes", "NUL bytes before the record")
    if not body:
        return
    whole = list(_one(body, offset + start, len(line) - start))
    if whole:
        yield from whole
        return
    yield from _pieces(body, offset + start)


def _one(line: bytes, offset: int, length: int) -> Iterator[Record | Issue]:
    """A single record in full, by ever slower means; yields nothing when the line is not one JSON value."""
    try:
        keys = _keys(line)
        kind = _kind(keys)
        if kind in _metadata:
            yield Record(offset, length, kind, _metadata[kind](line))
        elif kind in wire.ENTRY_KINDS:
            yield Record(offset, length, kind, _loose(line), tuple(k for k in keys if k not in _KNOWN_FIELDS))
        elif kind is None:
            yield Issue(offset, length, "no_type", "an object without a type")
            yield Record(offset, length, "", wire.Tail(), tuple(keys))
        else:
            yield Record(offset, length, kind, wire.Bare(), ("",))
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    else:
        return
    value, reason = _parse_anyhow(line)
    if reason == "not_json":
        return
    if not isinstance(value, dict):
        yield Issue(offset, length, "not_an_object", f"a JSON {type(value).__name__}")
        return
    if reason:
        yield Issue(offset, length, reason)
    yield from _by_fields(value, offset, length)


def _kind(keys: dict[str, Raw]) -> str | None:
    raw = keys.get("type")
    if raw is None:
        return None
    tag = msgspec.json.decode(raw)
    return tag if isinstance(tag, str) else None


def _parse_anyhow(line: bytes) -> tuple[Any, str]:
    """Parse a line that is JSON but for its encoding; the second value says what was wrong with it."""
    reason = ""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        text = line.decode("utf-8", "replace")
        reason = "invalid_utf8"
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None, "not_json"
    if not reason:
        try:
            msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError):
            reason = "odd_json"  # lone surrogates, NaN, numbers out of range: stdlib reads them, strict parsers do not
    return _clean(value), reason


def _clean(value: Any) -> Any:
    """Replace what no other JSON parser and no database would take (lone surrogates, NaN)."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None  # noqa: PLR0124 (NaN)
    if isinstance(value, int):
        return value if abs(value) < 1 << 63 else None
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return value


def _by_fields(value: dict[str, Any], offset: int, length: int) -> Iterator[Record | Issue]:
    """Build a record field by field, leaving out the fields whose types make no sense."""
    kind = value.get("type")
    if not isinstance(kind, str):
        yield Issue(offset, length, "no_type", "an object without a type")
        yield Record(offset, length, "", wire.Tail(), tuple(value))
        return
    wrong: list[str] = []
    if kind in wire.ENTRY_KINDS:
        body = _shape(wire.Entry, value, "", wrong)
        strange = tuple(key for key in value if key not in _KNOWN_FIELDS)
    elif kind in wire.METADATA:
        body, strange = _shape(wire.METADATA[kind], value, "", wrong), ()
    else:
        body, strange = wire.Bare(), ("",)
    if wrong:
        yield Issue(offset, length, "wrong_type", ", ".join(wrong[:8]))
    yield Record(offset, length, kind, body, strange)


_NESTED: dict[tuple[type[Any], str], type[Any]] = {
    (wire.Entry, "message"): wire.Message,
    (wire.Message, "usage"): wire.Usage,
}


def _shape(shape: type[Any], value: dict[str, Any], path: str, wrong: list[str]) -> Any:
    """Fill a struct from plain values, noting in `wrong` each field that does not fit."""
    filled: dict[str, Any] = {}
    for field in msgspec.structs.fields(shape):
        if field.encode_name not in value:
            continue
        item = value[field.encode_name]
        where = f"{path}{field.encode_name}"
        nested = _NESTED.get((shape, field.name))
        try:
            if nested is not None and isinstance(item, dict):
                filled[field.name] = _shape(nested, item, where + ".", wrong)
            elif field.type is Raw:
                filled[field.name] = Raw(msgspec.json.encode(item))
            elif shape is wire.Message and field.name == "content" and isinstance(item, list):
                filled[field.name] = [
                    _shape(wire.Block, block, f"{where}.", wrong) if isinstance(block, dict) else _text_block(block)
                    for block in item
                ]
            else:
                filled[field.name] = msgspec.convert(item, field.type)
        except (msgspec.ValidationError, ValueError, RecursionError):
            wrong.append(where)
    return shape(**filled)


def _text_block(value: Any) -> wire.Block:
    """A bare string, number or null among content blocks, as the text it is."""
    text = value if isinstance(value, str) else json.dumps(value)
    return wire.Block(type="text", text=Raw(msgspec.json.encode(text)))


def _pieces(line: bytes, offset: int) -> Iterator[Record | Issue]:
    """Glued and torn lines: every whole object in them, and an issue for each stretch that is lost to reading."""
    text = line.decode("utf-8", "surrogateescape")
    scanner = json.JSONDecoder()
    position = 0  # in bytes
    lost_from = 0
    found = 0
    for attempt, match in enumerate(_RECORD_START.finditer(line)):
        start = match.start(1)
        if start < position:
            continue
        if attempt >= _MAX_ATTEMPTS:
            break
        try:
            chars = len(line[:start].decode("utf-8", "surrogateescape"))
            _, end_chars = scanner.raw_decode(text, chars)
        except (ValueError, RecursionError):
            continue
        end = start + len(text[chars:end_chars].encode("utf-8", "surrogateescape"))
        pieces = list(_one(line[start:end], offset + start, end - start))
        if not any(isinstance(piece, Record) and piece.kind for piece in pieces):
            continue
        if line[lost_from:start].strip(b" \t\r\x00"):
            yield Issue(offset + lost_from, start - lost_from, "torn", "not JSON")
        yield from pieces
        found += 1
        position = lost_from = end
    if found > 1:
        yield Issue(offset, len(line), "glued", f"{found} records on one line")
    if line[lost_from:].strip(b" \t\r\x00"):
        yield Issue(offset + lost_from, len(line) - lost_from, "torn" if found else "not_json", "not JSON")


def text_of(raw: Raw) -> str:
    """A raw JSON value as text: a string as it is, anything else as compact JSON, nothing as the empty string."""
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value, _ = _parse_anyhow(bytes(raw))
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)
