"""Lines of the record: their bytes, what they say, and the names by which copies of them are recognised."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hansard.record.erase import Patch
from hansard.record.tombstones import content_digest, content_name

if TYPE_CHECKING:
    from hansard.clients.lines import Lines
    from hansard.clients.protocol import Client
    from hansard.query.forgetting import Line
    from hansard.record.store import Record

_PIECE = 1 << 16


class NamedLine(NamedTuple):
    """A line by which its copies are recognised."""

    offset: int
    length: int
    name: str
    """Its id, or the `content_name` of a line without one."""


def named_lines(client: Client, pieces: Iterable[bytes]) -> Iterator[NamedLine]:
    """The lines of a log that have a name: all with an id, and those that say something in a log in which any has one."""
    first = ""
    waiting: list[tuple[int, int, bytes]] = []  # before the first line with an id
    for offset, line in _lines(client.lines(pieces, 0)):
        if line_id := client.line_names(line)[1]:
            if not first:
                first = line_id
                yield from (NamedLine(at, size, content_name(first, digest)) for at, size, digest in waiting)
            yield NamedLine(offset, len(line), line_id)
        elif content := client.line_content(line)[1]:
            digest = content_digest(content)
            if first:
                yield NamedLine(offset, len(line), content_name(first, digest))
            else:
                waiting.append((offset, len(line), digest))


def _lines(lines: Lines) -> Iterator[tuple[int, bytes]]:
    """Complete lines, and the rest."""
    yield from lines
    if lines.rest:
        yield lines.offset, lines.rest


def read_line(record: Record, line: Line) -> bytes:
    """The bytes of a line, without its break."""
    if line.length is not None:
        return b"".join(record.read(line.transcript, line.offset, line.offset + line.length)).rstrip(b"\r\n")
    data = b""
    start = line.offset
    while b"\n" not in data[-_PIECE:]:
        piece = b"".join(record.read(line.transcript, start, start + _PIECE))
        if not piece:
            break
        data += piece
        start += len(piece)
    return data.partition(b"\n")[0].rstrip(b"\r")


def text_of(line: bytes) -> str:
    """The texts in a line's JSON, or the whole line if it is not JSON."""
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return line.decode("utf-8", "replace")
    texts: list[str] = []
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            texts.append(item)
        elif isinstance(item, dict):
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
    return "\n".join(texts)


def apart(patches: Iterable[Patch]) -> list[Patch]:
    """Patches in order, none over another: what is overwritten as a whole needs no other marker within."""
    result: list[Patch] = []
    for patch in sorted(patches, key=lambda patch: (patch.start, -patch.end)):
        end = result[-1].end if result else 0
        if patch.start >= end:
            result.append(patch)
        elif patch.end > end:
            last = result.pop()
            result.append(Patch(last.start, last.data + patch.data[end - patch.start :]))
    return result
