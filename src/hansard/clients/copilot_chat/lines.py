"""The requests of a file: each with all that a log says about it later, up to the next one.

A log begins with the whole session (`kind` 0). Then entries set a value (1), cut a list and append to it (2) or delete a value (3). What
they change is in the last request, as long as that is being answered.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from hansard.clients.documents import BETWEEN, DocumentLines, first_line, is_in_document, list_start
from hansard.clients.lines import Issue, Lines, LongLine, OpenLine
from hansard.clients.objects import Objects
from hansard.clients.values import decode_object, table
from hansard.lazy_regex import lazy_compile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_NAME = b"requests"
_LARGEST = 64 << 20  # bytes of a request with its changes
_MOST_ITEMS = 100_000  # of a list, where an entry sets one behind its end
SET, PUSH, DELETE = 1, 2, 3
_ENTRY = lazy_compile(rb'\s*+\{\s*+"kind"\s*+:\s*+(\d)')
_NEW = lazy_compile(
    rb'\s*+\{\s*+"kind"\s*+:\s*+[12]\s*+,\s*+"k"\s*+:\s*+\[\s*+"requests"\s*+\]\s*+,'
    rb'(?:\s*+"i"\s*+:\s*+\d++\s*+,)?+\s*+"v"\s*+:\s*+\['
)


def read_lines(pieces: Iterable[bytes], start: int) -> Lines:
    """The records of a document or of a log."""
    first, pieces = first_line(pieces)
    if is_in_document(first) if start else _is_document(first.strip()):
        return DocumentLines(pieces, start, lambda data: list_start(data, _NAME, 1))
    return RequestLines(pieces, start)


def _is_document(first: bytes) -> bool:
    # A document is indented, or has one line only.
    return first.partition(b"\n")[0].rstrip() == b"{" or (b"\n" not in first and _ENTRY.match(first) is None)


def _opening(line: bytes) -> int:
    """The end of the bracket that opens the requests of an entry, 0 if it brings none."""
    found = _ENTRY.match(line)
    if found is not None and found[1] == b"0":
        return list_start(line, _NAME, 2)
    new = _NEW.match(line)
    return new.end() if new is not None else 0


class RequestLines(Lines):
    """Entries of a log; of one with requests what comes before them, and each request. The last one goes on up to the next one.

    A reader that begins where a request begins gets the requests from there on.
    """

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        is_first = self.offset > 0
        held, start = b"", 0
        for offset, line in super().__iter__():
            behind = self.offset
            end = 0 if isinstance(line, LongLine) else _opening(line)
            is_inside = is_first and not isinstance(line, LongLine) and _ENTRY.match(line) is None
            is_first = False
            if held and not end and len(held) + len(line) < _LARGEST:
                held += b"\n" * (offset - start - len(held)) + line
                continue
            if held:
                self.offset = offset
                yield start, held
                held = b""
            if not end and not is_inside:
                self.offset = behind
                yield offset, line
                continue
            if end:
                self.offset = offset + end
                yield offset, line[:end]
            for begin, stop in _requests(line, end):
                if stop < len(line):  # another one follows
                    self.offset = offset + stop
                    yield offset + begin, line[begin:stop]
                else:
                    held, start = line[begin:], offset + begin
            self.offset = behind
        if held:
            self.rest = OpenLine(held + b"\n" * (self.offset - start - len(held)) + self.rest)
            self.offset = start

    def skip_equal(self, line: bytes) -> int:  # noqa: ARG002
        return 0


def _requests(line: bytes, end: int) -> Iterator[tuple[int, int]]:
    """Where the requests of a list begin and end; the last one with all that follows."""
    last: tuple[int, int] | None = None
    for begin, stop in Objects(line[end:], max_steps=sys.maxsize):
        behind = last[1] if last is not None else end
        if line[behind : end + begin].strip(BETWEEN):
            break
        if last is not None:
            yield last
        last = end + begin, end + stop
    if last is not None:
        yield last[0], len(line)
    elif line[end:].strip():
        yield end, len(line)


def changed(text: bytes, number: int) -> tuple[dict[str, Any], list[dict[str, Any] | Issue]]:
    """A request as it is in the end, the other entries, and what is wrong; `text` is a request with what follows it in a log."""
    begin, stop = next(iter(Objects(text, max_steps=sys.maxsize)), (1, 0))
    if begin:
        return decode_object(text), []
    request = decode_object(text[:stop])
    tail, *lines = text[stop:].split(b"\n")
    others: list[dict[str, Any] | Issue] = []
    at = stop + len(tail)
    if tail.strip() and (facts := _tail(tail)) is not None:
        others.append(facts)
        number = facts["i"] if isinstance(facts.get("i"), int) else number
    for left, line in zip(range(len(lines) - 1, -1, -1), lines, strict=True):
        begin, at = at + 1, at + 1 + len(line)
        try:
            entry = decode_object(line)
        except ValueError as error:
            if line.strip() and left:  # the last one may still be coming
                others.append(Issue(begin, len(line), "not_json", str(error)))
            continue
        path = entry.get("k")
        if isinstance(path, list) and path[:2] == ["requests", number] and len(path) > 2:
            _apply(request, path[2:], entry)
        else:
            others.append(entry)
    return request, others


def _tail(text: bytes) -> dict[str, Any] | None:
    """What an entry says behind its requests."""
    for opening in (b'{"v":{"":[', b'{"":['):
        try:
            return decode_object(opening + text)
        except ValueError:
            continue
    return None


def _apply(place: Any, path: list[Any], entry: dict[str, Any]) -> None:
    """Carry out an entry, if its path exists."""
    for name in path[:-1]:
        place = _get(place, name)
    name, kind, value = path[-1], entry.get("kind"), entry.get("v")
    if kind == PUSH:
        known = _get(place, name)
        known = known if isinstance(known, list) else []
        cut = entry.get("i")
        value = known[: cut if isinstance(cut, int) else None] + (value if isinstance(value, list) else [])
    if isinstance(place, dict) and isinstance(name, str):
        place[name] = None if kind == DELETE else value
    elif isinstance(place, list) and isinstance(name, int) and 0 <= name <= min(len(place), _MOST_ITEMS):
        place[name : name + 1] = [value]


def _get(place: Any, name: Any) -> Any:
    if isinstance(place, dict):
        return place.get(name) if isinstance(name, str) else None
    return place[name] if isinstance(place, list) and isinstance(name, int) and 0 <= name < len(place) else None


def session_of(entry: dict[str, Any]) -> dict[str, Any]:
    """What an entry says about the session."""
    if entry.get("kind") == SET and entry.get("k") == ["customTitle"]:
        return {"customTitle": entry.get("v")}
    return table(entry, "v")
