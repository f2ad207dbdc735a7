"""Pack the invented history of `tests/demo_history` into `src/hansard/demo`: `python -m tools.make_demo`.

Run it after a change to the generator; a test compares the two.
"""

from __future__ import annotations

import os
import re
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from zstandard import ZstdCompressor

from hansard.demo import DATE, ISO, MARK, MILLISECONDS, PACKED, File, History, Start
from tests.demo_history.history import Calendar, write_history

# The history is generated with each start in a period of its own, far in the future. A time then tells its start, and nothing
# else in the history looks like one.
_FUTURE = datetime(2100, 1, 1, tzinfo=UTC)
_PERIOD = timedelta(days=400)
_TIMES = re.compile(
    rb"(?P<iso>21\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)|(?P<date>21\d\d-\d\d-\d\d)|\b(?P<milliseconds>[45]\d{12})\b"
)


class _Starts(Calendar):
    """Gives each start the middle of a period, and notes how it follows from the end of the history."""

    def __init__(self) -> None:
        super().__init__(_FUTURE)
        self.noted: list[Start] = []

    def before_end(self, back: timedelta) -> datetime:
        return self._note(Start(_milliseconds(back)))

    def on_day(self, back: timedelta, into_day: timedelta) -> datetime:
        return self._note(Start(_milliseconds(back), _milliseconds(into_day)))

    def _note(self, start: Start) -> datetime:
        self.noted.append(start)
        return _FUTURE + (len(self.noted) - 0.5) * _PERIOD

    def find(self, time: datetime) -> tuple[int, int]:
        """The start that a time belongs to, and its offset from it."""
        start = (time - _FUTURE) // _PERIOD
        return start, _milliseconds(time - _FUTURE - (start + 0.5) * _PERIOD)


def pack() -> History:
    """Generate the history and put a mark in place of each time."""
    starts = _Starts()
    with tempfile.TemporaryDirectory() as scratch:
        write_history(scratch, calendar=starts)
        root = Path(scratch)
        folders = {f"projects/{path.name}": path.stat().st_mode & 0o777 for path in (root / "projects").iterdir()}
        files = [_packed(path, path.relative_to(root), starts) for path in root.rglob("*") if path.is_file()]
    files.sort(key=lambda file: file.path)
    return History(tuple(starts.noted), dict(sorted(folders.items())), tuple(files))


def _packed(path: Path, name: Path, starts: _Starts) -> File:
    status, content = path.stat(), path.read_bytes()
    if b"\x01" in content:
        raise ValueError(f"{name} holds the byte that encloses marks")

    def mark(found: re.Match[bytes]) -> bytes:
        if found["milliseconds"]:
            return MARK % (MILLISECONDS, *starts.find(_time(int(found["milliseconds"]))))
        if found["iso"]:
            return MARK % (ISO, *starts.find(datetime.fromisoformat(found["iso"].decode())))
        # A date alone is that of the record it is in, whose timestamp comes later in the line.
        timestamp = next(one["iso"] for one in _TIMES.finditer(content, found.end()) if one["iso"])
        if not timestamp.startswith(found["date"]):
            raise ValueError(f"{name} holds the date {found['date'].decode()} in a record of another day")
        return MARK % (DATE, *starts.find(datetime.fromisoformat(timestamp.decode())))

    modified = starts.find(_time(status.st_mtime_ns // 1_000_000))
    return File(name.as_posix(), status.st_mode & 0o777, *modified, _TIMES.sub(mark, content))


def _time(milliseconds: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)


def _milliseconds(span: timedelta) -> int:
    return span // timedelta(milliseconds=1)


def main() -> None:
    """Write the packed file, and print its size."""
    history = pack()
    packed = ZstdCompressor(19).compress(msgspec.msgpack.encode(history))
    Path(PACKED).write_bytes(packed)
    content = sum(len(file.content) for file in history.files)
    print(f"{os.path.relpath(PACKED)}: {len(history.files)} files, {content:,} bytes, packed {len(packed):,}")


if __name__ == "__main__":
    main()
