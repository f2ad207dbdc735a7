"""The invented history of `hansard demo`: a packed file, unpacked so that its newest session has just ended.

`tools/make_demo.py` packs what `tests/demo_history` generates, with a mark in place of each time. A mark names a start and an
offset from it in milliseconds. Starts, mostly those of sessions, follow from the time of unpacking: some lie a fixed time
before it, others at a fixed time of day (UTC), so that work stays within working hours at any time of unpacking.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

PACKED = os.path.join(os.path.dirname(__file__), "history.msgpack.zst")
MARK = b"\x01%c%d,%d\x01"  # notation, start, offset
ISO, DATE, MILLISECONDS = b"idm"
PROMPTS = "history.jsonl"
_MARKS = re.compile(rb"\x01([idm])(\d+),(-?\d+)\x01")
_DAY = 86_400_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Start(msgspec.Struct, frozen=True, array_like=True):
    """A time that others are relative to, in milliseconds before the end of the history."""

    back: int
    into_day: int | None = None  # at this time of the day that `back` gives

    def at(self, end: int) -> int:
        """The start in a history that ends at a time, both as epoch milliseconds."""
        if self.into_day is None:
            return end - self.back
        return min((end - self.back) // _DAY * _DAY + self.into_day, end - _DAY // 2)


class File(msgspec.Struct, frozen=True, array_like=True):
    """A file of the history; it was modified at an offset from a start."""

    path: str
    mode: int
    start: int
    offset: int
    content: bytes


class History(msgspec.Struct, frozen=True, array_like=True):
    """Everything that the packed file holds."""

    starts: tuple[Start, ...]
    folders: dict[str, int]  # modes of project folders
    files: tuple[File, ...]


def load() -> History:
    from zstandard import ZstdDecompressor

    with open(PACKED, "rb") as file:
        return msgspec.msgpack.decode(ZstdDecompressor().decompress(file.read()), type=History)


def write_history(directory: str | os.PathLike[str], *, now: datetime | None = None) -> None:
    """Unpack the history into a directory, ending at `now`."""
    history = load()
    end = int((now or datetime.now(UTC)).timestamp()) * 1000
    starts = [start.at(end) for start in history.starts]
    for folder, mode in history.folders.items():
        path = os.path.join(directory, *folder.split("/"))
        os.makedirs(path, exist_ok=True)
        os.chmod(path, mode)
    for file in history.files:
        content = _MARKS.sub(_dated(starts), file.content)
        modified = starts[file.start] + file.offset
        if file.path == PROMPTS:  # prompts of all sessions, in an order that depends on where their starts lie
            content, modified = _in_order(content)
        path = os.path.join(directory, *file.path.split("/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as target:
            target.write(content)
        os.chmod(path, file.mode)
        os.utime(path, ns=(modified * 1_000_000, modified * 1_000_000))


def _dated(starts: list[int]) -> Callable[[re.Match[bytes]], bytes]:
    def text(mark: re.Match[bytes]) -> bytes:
        time = starts[int(mark[2])] + int(mark[3])
        if mark[1][0] == MILLISECONDS:
            return b"%d" % time
        iso = (_EPOCH + timedelta(milliseconds=time)).isoformat(timespec="milliseconds")
        return (iso[:10] if mark[1][0] == DATE else iso.replace("+00:00", "Z")).encode()

    return text


def _in_order(lines: bytes) -> tuple[bytes, int]:
    prompts = [(msgspec.json.decode(line)["timestamp"], line) for line in lines.splitlines(keepends=True)]
    prompts.sort(key=lambda prompt: prompt[0])
    return b"".join(line for _, line in prompts), prompts[-1][0]
