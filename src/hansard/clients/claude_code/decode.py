"""Bytes of a log -> records, tolerant of everything: a line that is damaged costs an `Issue`, never its neighbours.

The fast path is one msgspec decode per line. Whatever it refuses goes through `salvage`, which in this order tries: the same
record with unknown fields, wrong types in single fields, odd encodings, several objects glued together, and the whole
objects inside a torn line. Every byte of a line ends up in a record or in an issue; only white space may be left over. What
is beyond the limits of `clients.lines` is an issue.
"""

from __future__ import annotations

import json
from types import UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin

import msgspec
from msgspec import Raw

from hansard.clients.claude_code import wire
from hansard.clients.lines import (
    BLANK,
    LONG_LINE,
    MAX_PIECES,
    MAX_SALVAGED,
    REFUSED,
    Issue,
    LongLine,
    ParsedLine,
    fit,
    is_ordinary,
)
from hansard.clients.objects import Objects
from hansard.lazy_regex import lazy_compile

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

_strict = msgspec.json.Decoder(wire.StrictEntry).decode
_loose = msgspec.json.Decoder(wire.Entry).decode
_keys = msgspec.json.Decoder(dict[str, Raw]).decode
_parts = msgspec.json.Decoder(list[Raw]).decode
_any = msgspec.json.Decoder().decode
_bare = msgspec.json.Decoder(wire.Bare).decode
_metadata = {kind: msgspec.json.Decoder(shape).decode for kind, shape in wire.METADATA.items()}
_ENTRY_FIELDS, _MESSAGE_FIELDS, _USAGE_FIELDS, _BLOCK_FIELDS = (
    frozenset(field.encode_name for field in msgspec.structs.fields(shape))
    for shape in (wire.StrictEntry, wire.StrictMessage, wire.StrictUsage, wire.StrictBlock)
)
_KNOWN_FIELDS = _ENTRY_FIELDS | wire.RARE_FIELDS
_TAGGED = b'{"type":"'
_ENTRY_NAMES = {kind.encode(): kind for kind in wire.ENTRY_KINDS}
_METADATA_NAMES = {kind.encode(): kind for kind in wire.METADATA}

_BLANKS = lazy_compile(rb"[ \t\r\n]*+")
# What may precede a record without being part of it: a byte order mark, NULs of a block that was never written.
_BEFORE = lazy_compile(rb"[\x00 \t\r\n]*+(?:\xef\xbb\xbf[\x00 \t\r\n]*+)*+")
_NULS = ("nul_bytes", "NUL bytes beside the record")
_UNREADABLE = frozenset({"not_json", "too_deep", "too_long", "too_many_values"})
_UNFIT = object()
# Short malformed lines mostly come in thousands of a few kinds, so their results are cached.
_SHORT = 64  # bytes
_MOST_SALVAGED = 1000  # lines


_salvaged: dict[bytes, tuple[ParsedLine | Issue, ...]] = {}


def entry(line: bytes) -> wire.Entry | None:
    """Decode an intact conversation record, as nearly every line is one; None for anything else."""
    if not is_ordinary(line):
        return None
    if line.startswith(_TAGGED) and line[9 : line.find(b'"', 9)] not in _ENTRY_NAMES:
        return None
    try:
        body = _strict(line)
    except REFUSED:
        return None
    if body.type not in wire.ENTRY_KINDS or _is_new_subtype(body):
        return None
    if body.type == "attachment" and _unknown({"attachment": body.attachment}, "attachment", wire.ATTACHMENT_FIELDS):
        return None
    message = body.message
    if message is not None and message.content is None:
        return None
    return body


def _is_new_subtype(body: wire.Entry) -> bool:
    return body.type == "system" and body.subtype is not None and body.subtype not in wire.SYSTEM_SUBTYPES


def is_progress(line: bytes) -> bool:
    """Whether a line is surely a progress record, without decoding it: its tag comes before any nested object."""
    tag = line.find(b'"type":"progress"', 0, 1000)
    return tag > 0 and line.find(b"{", 1, tag) < 0


def is_main_progress(line: bytes) -> bool:
    """Whether a line is surely a progress record, and of no subagent."""
    own = line.find(b'"isSidechain":false', 0, 1000)
    return own > 0 and line.find(b"{", 1, own) < 0 and is_progress(line) and b'"parent_tool_use_id"' not in line


def decode(line: bytes, offset: int) -> ParsedLine | None:
    """Decode one intact line, or return None when it needs `salvage`."""
    if line.startswith(_TAGGED):
        kind = _METADATA_NAMES.get(line[9 : line.find(b'"', 9)])
        if kind is not None:
            return _side_record(line, offset, kind) if is_ordinary(line) else None
    body = entry(line)
    return ParsedLine(offset, len(line), str(body.type), body) if body is not None else None


def _side_record(line: bytes, offset: int, kind: str) -> ParsedLine | None:
    try:
        keys = _keys(line)
        strange = tuple(key for key in keys if key not in wire.METADATA_FIELDS[kind])
        for name, known in wire.NESTED_FIELDS.get(kind, {}).items():
            strange += _unknown(keys, name, known)
        return ParsedLine(offset, len(line), kind, _metadata[kind](line), strange)
    except REFUSED:
        return None


def _unknown(keys: dict[str, Raw], name: str, known: Container[str]) -> tuple[str, ...]:
    """The unknown fields of an object among some values, as `name.field`; none if it is not an object."""
    try:
        return tuple(f"{name}.{key}" for key in _keys(keys[name]) if key not in known)
    except (KeyError, *REFUSED):
        return ()


def _unknown_in_blocks(message: dict[str, Raw]) -> tuple[str, ...]:
    """The unknown fields of a message's content blocks, each once, as `message.content.field`."""
    try:
        blocks = _parts(message["content"])
    except (KeyError, *REFUSED):
        return ()
    found = (
        name for block in blocks for name in _unknown({"message.content": block}, "message.content", _BLOCK_FIELDS)
    )
    return tuple(dict.fromkeys(found))


def salvage(line: bytes, offset: int) -> Iterator[ParsedLine | Issue]:
    """Get what can be had from a line that `decode` refused."""
    if isinstance(line, LongLine):
        yield Issue(offset, line.length, *fit(line)[1:])
        return
    before = _BEFORE.match(line)
    start = before.end() if before else 0
    if line.find(b"\x00", 0, start) >= 0:
        yield Issue(offset, start, *_NULS)
    elif line.find(b"\xef", 0, start) >= 0:
        yield Issue(offset, start, "bom", "a byte order mark")
    if start == len(line):
        return
    body = (line[start:] if start else line).rstrip(b"\x00" + BLANK)
    end = start + len(body)
    found = _one(body, offset + start)
    last = found[-1]
    yield from _pieces(body, last) if isinstance(last, Issue) and last.reason in _UNREADABLE else found
    if line.find(b"\x00", end) >= 0:
        yield Issue(offset + end, len(line) - end, *_NULS)


def items(line: bytes, offset: int) -> Iterator[ParsedLine | Issue]:
    is_short = 0 < len(line) <= _SHORT
    known = _salvaged.get(line) if is_short else None
    if known is None:
        record = decode(line, offset)
        if record is not None:
            yield record
            return
        if not is_short:
            yield from salvage(line, offset)
            return
        if len(_salvaged) >= _MOST_SALVAGED:
            _salvaged.clear()
        known = _salvaged[line] = tuple(salvage(line, 0))
    for item in known:
        yield type(item)(item[0] + offset, *item[1:])


def _one(line: bytes, offset: int) -> list[ParsedLine | Issue]:
    """A single record in full, by ever slower means, after what is odd about it; an issue alone for anything else."""
    length = len(line)
    fitting, limit, about = fit(line)
    found: list[ParsedLine | Issue] = [Issue(offset, length, limit, about)] if limit else []
    if not fitting:
        return found
    clean, reason, detail = _in_utf8(fitting)
    try:
        keys = _keys(clean)
    except REFUSED:
        clean, odd = _mended(clean)
        if odd in _UNREADABLE:
            return [Issue(offset, length, odd)]
        reason = reason or odd
        if not clean.startswith(b"{"):
            return [*found, Issue(offset, length, "not_an_object", "a JSON value that is no object")]
        keys = _keys(clean)
    if reason:
        found.append(Issue(offset, length, reason, detail))
    kind = _kind(keys)
    if kind is None:
        found.append(Issue(offset, length, "no_type", "an object without a type"))
        return [*found, ParsedLine(offset, length, "", wire.Tail(), tuple(keys))]
    is_entry = kind in wire.ENTRY_KINDS
    body: Any
    try:
        body = (_loose if is_entry else _metadata.get(kind, _bare))(clean)
    except REFUSED:
        wrong: list[str] = []
        body = _shape(wire.Entry if is_entry else wire.METADATA.get(kind, wire.Bare), keys, "", wrong)
        found.append(Issue(offset, length, "wrong_type", ", ".join(wrong[:8])))
    strange: tuple[str, ...] = ()
    if is_entry:
        strange = ("",) if _is_new_subtype(body) else ()
        strange += tuple(key for key in keys if key not in _KNOWN_FIELDS)
        strange += _unknown(keys, "attachment", wire.ATTACHMENT_FIELDS)
        if body.message is not None and body.message.content is not None:
            inner = _keys(keys["message"])
            strange += _unknown(keys, "message", _MESSAGE_FIELDS)
            strange += tuple(f"message.{name}" for name in _unknown(inner, "usage", _USAGE_FIELDS))
            strange += _unknown_in_blocks(inner)
        if body.message is not None and body.message.content is None and _unspread(body.message, keys["message"]):
            found.append(Issue(offset, length, "no_content", "a message without content"))
        if body.message is None and "message" in keys:
            text = _fit(str, keys["message"], "", [])
            body.message = wire.Message(role=kind, content=text) if isinstance(text, str) else None
    elif kind not in _metadata:
        strange = ("",)
    return [*found, ParsedLine(offset, length, kind, body, strange)]


def _in_utf8(line: bytes) -> tuple[bytes, str, str]:
    """The line in valid UTF-8, and what was wrong with it."""
    if not line.isascii():
        try:
            line.decode()
        except UnicodeDecodeError as error:
            return line.decode("utf-8", "replace").encode(), "invalid_utf8", f"first at byte {error.start}"
    return line, "", ""


def _kind(keys: dict[str, Raw]) -> str | None:
    tag = _fit(str, keys["type"], "", []) if "type" in keys else None
    return tag if isinstance(tag, str) else None


def _mended(data: bytes) -> tuple[bytes, str]:
    """Write anew what is JSON but for details, so that strict parsers take it; the second value says what was wrong."""
    try:
        value = _relaxed.decode(data.decode("utf-8", "replace"))
        try:
            _any(data)
        except REFUSED:
            # Lone surrogates, NaN, control characters, numbers out of range: the standard library reads them.
            data = msgspec.json.encode(_clean(value))
            _any(data)
            return data, "odd_json"
    except RecursionError:
        return b"", "too_deep"
    except ValueError:
        return b"", "not_json"
    return data.strip(BLANK), ""


def strict_object(data: bytes) -> bytes:
    """An object as every parser takes it; empty if it is not one."""
    clean = _in_utf8(data)[0]
    try:
        _any(clean)
    except REFUSED:
        clean = _mended(clean)[0]
    return clean if clean.startswith(b"{") else b""


def _int(digits: str) -> int | None:
    """An integer that fits into 64 bits, else nothing: Python itself refuses thousands of digits."""
    value = int(digits) if len(digits) < 24 else 1 << 64
    return value if -(1 << 63) <= value < 1 << 63 else None


_relaxed = json.JSONDecoder(strict=False, parse_int=_int)


def _clean(value: Any) -> Any:
    """Replace what no other JSON parser and no database would take (lone surrogates, NaN)."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None  # noqa: PLR0124 (NaN)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return value


def _unspread(message: wire.Message, raw: Raw) -> bool:
    """Whether a message has no content; a text that a client spread to {"0": "e", "1": "v", ...} is put together again."""
    keys = _keys(raw)
    if "content" in keys:
        return False
    letters = (_fit(str, keys[str(place)], "", []) for place in range(len(keys)) if str(place) in keys)
    message.content = "".join(letter for letter in letters if letter is not _UNFIT) or None
    return True


def survivors(kind: Any, raw: Raw) -> Any:
    """What fits of a raw value that is not quite of the type asked for, or None when nothing does."""
    clean = _in_utf8(bytes(raw))[0]
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and not clean.startswith(b"{"):
        return None
    try:
        _any(clean)
    except REFUSED:
        clean, odd = _mended(clean)
        if odd in _UNREADABLE:
            return None
    found = _fit(kind, Raw(clean), "", [])
    return None if found is _UNFIT else found


def _shape(shape: type[Any], keys: dict[str, Raw], path: str, wrong: list[str]) -> Any:
    """Fill a struct from raw values, noting in `wrong` each field that does not fit."""
    filled: dict[str, Any] = {}
    for field in msgspec.structs.fields(shape):
        raw = keys.get(field.encode_name)
        if raw is not None:
            value = _fit(field.type, raw, path + field.encode_name, wrong)
            if value is not _UNFIT:
                filled[field.name] = value
    return shape(**filled)


def _fit(kind: Any, raw: Raw, where: str, wrong: list[str]) -> Any:
    """Read a raw value as a type, leaving out the parts inside it that do not fit."""
    try:
        return raw if kind is Raw else msgspec.json.decode(raw, type=kind)
    except REFUSED:
        pass
    for choice in get_args(kind) if isinstance(kind, UnionType) else (kind,):
        try:
            if get_origin(choice) is list:
                element = get_args(choice)[0]
                fits = [_fit(element, part, f"{where}[{place}]", wrong) for place, part in enumerate(_parts(raw))]
                return [fit for fit in fits if fit is not _UNFIT]
            if isinstance(choice, type) and issubclass(choice, msgspec.Struct):
                return _shape(choice, _keys(raw), f"{where}.", wrong)
        except REFUSED:
            continue
    wrong.append(where)
    # Every block keeps its position, because blocks are identified by number.
    return _block(raw) if kind is wire.Block else _UNFIT


def _block(raw: Raw) -> wire.Block:
    """A bare string among content blocks as the text it is; anything else as a block of no type."""
    return wire.Block(type="text", text=raw) if bytes(memoryview(raw)[:1]) == b'"' else wire.Block()


def _pieces(line: bytes, whole: Issue) -> Iterator[ParsedLine | Issue]:
    """Glued and torn lines: every whole record in them, and an issue for each stretch that is lost to reading."""
    offset = whole.offset
    found: list[ParsedLine | Issue] = []
    gaps: list[tuple[int, int]] = []
    gap = records = size = 0
    objects = Objects(line)
    for number, (start, end) in enumerate(objects):
        size += min(end - start, LONG_LINE)
        if number == MAX_PIECES or size > MAX_SALVAGED:
            objects.stopped = start
            break
        pieces = _one(line[start:end], offset + start)
        if _stands_alone(pieces[-1], line, start):
            gaps.append((gap, start))
            gap = end
            found += pieces
            records += 1
    gaps.append((gap, len(line)))
    reason, detail = whole.reason, whole.detail
    if records:
        reason, detail = "torn", f"beside {records} whole records"
    elif objects.too_deep:
        reason = "too_deep"
    if objects.stopped is not None:
        detail = f"{detail}; not looked at from byte {objects.stopped:,} of the line on".removeprefix("; ")
    torn = [
        Issue(offset + start, end - start, reason, detail)
        for start, end in gaps
        if _BLANKS.fullmatch(line, start, end) is None
    ]
    if records > 1 and not torn:
        yield Issue(offset, len(line), "glued", f"{records} records on one line")
    yield from sorted([*torn, *found], key=lambda item: item.offset)


def _stands_alone(piece: ParsedLine | Issue, line: bytes, start: int) -> bool:
    """Whether an object inside a damaged line is a record of its own and no part of one."""
    if not isinstance(piece, ParsedLine) or not piece.kind:
        return False
    body = piece.body
    known = piece.kind in wire.ENTRY_KINDS or piece.kind in _metadata
    while start and line[start - 1] in BLANK:
        start -= 1
    if start and line[start - 1] in b":,[":
        # Where nested objects are. Copies of messages inside progress records have no session of their own.
        return known and bool(getattr(body, "session_id", None) or getattr(body, "stream_session", None))
    return known or bool(body.uuid or body.session_id or body.timestamp)


def text_of(raw: Raw) -> str:
    """A raw JSON value as text: a string as it is, anything else as the JSON that it is, nothing as the empty string."""
    data = bytes(raw)
    if data[:1] != b'"':
        return "" if data == b"null" else data.decode("utf-8", "replace")
    found = survivors(str, raw)
    return found if isinstance(found, str) else ""
