"""What programs and people do to a file between two syncs, or while one of them reads it."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Change = Callable[["Source"], object]

LINE = b'{"type":"progress","n":%06d,"text":"' + b"x" * 900 + b'"}\n'


def lines(start: int, count: int) -> bytes:
    """Lines, no two of them alike."""
    return b"".join(LINE % number for number in range(start, start + count))


DATA = lines(0, 1200)  # over a megabyte, four chunks: no end of it shows an edit in the middle
MORE = lines(5000, 40)
MIDDLE, HEAD, TAIL = len(DATA) // 2, 10, len(DATA) - 10


class Source:
    """A file whose every content is noted, since a record may hold no other."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.states: list[bytes] = []
        path.parent.mkdir(parents=True, exist_ok=True)
        self.put(DATA)

    def note(self) -> None:
        self.states.append(self.path.read_bytes())

    def put(self, data: bytes) -> None:
        """Write the file anew, in place."""
        self.path.write_bytes(data)
        self.note()

    def edit(self, at: int, data: bytes = b"#") -> None:
        """Change some bytes in place; at the end of the file this appends."""
        with self.path.open("r+b") as file:
            file.seek(at)
            file.write(data)
        self.note()

    def append(self, data: bytes = MORE) -> None:
        with self.path.open("ab") as file:
            file.write(data)
        self.note()

    def truncate(self, size: int) -> None:
        os.truncate(self.path, size)
        self.note()

    def replace(self, data: bytes) -> None:
        """Put another file in its place."""
        other = self.path.with_name(self.path.name + ".new")
        other.write_bytes(data)
        other.replace(self.path)
        self.note()

    def recreate(self, data: bytes) -> None:
        """Delete the file and write it again, which may give it the same inode."""
        self.path.unlink()
        self.put(data)

    def keep_date(self, change: Callable[[], object]) -> None:
        status = self.path.stat()
        change()
        os.utime(self.path, ns=(status.st_atime_ns, status.st_mtime_ns))


EDITED = DATA[:MIDDLE] + b"#" + DATA[MIDDLE + 1 :]


def _zeros_then_fill(source: Source) -> None:
    source.append(bytes(len(MORE)))
    source.edit(len(DATA), MORE)


def _hard_link(source: Source) -> None:
    other = source.path.with_name("other")
    other.write_bytes(EDITED + MORE)
    source.path.unlink()
    os.link(other, source.path)
    source.note()
    other.unlink()


def _written_through_another_name(source: Source) -> None:
    other = source.path.with_name("other")
    os.link(source.path, other)
    other.write_bytes(EDITED + MORE)
    source.note()
    other.unlink()


def _copy_on_write(source: Source) -> None:
    other = source.path.with_name("copy")
    shutil.copy2(source.path, other)
    other.write_bytes(EDITED + MORE)
    other.replace(source.path)
    source.note()


def _folder_and_back(source: Source) -> None:
    source.path.unlink()
    source.path.mkdir()
    source.path.rmdir()
    source.put(EDITED + MORE)


def _moved_away_and_back(source: Source) -> None:
    other = source.path.with_name("away")
    source.path.rename(other)
    source.put(MORE)
    other.replace(source.path)
    source.edit(MIDDLE)
    source.append()


def _then(*steps: Change) -> Callable[[Source], None]:
    def change(source: Source) -> None:
        for step in steps:
            step(source)

    return change


def _edit(at: int, data: bytes = b"#") -> Callable[[Source], None]:
    return lambda source: source.edit(at, data)


def _append(source: Source) -> None:
    source.append()


def _cut(source: Source) -> None:
    source.truncate(MIDDLE)


BETWEEN: dict[str, Change] = {
    "nothing": lambda _: None,
    "append": _append,
    "append_twice": _then(_append, _append),
    "edit_head": _edit(HEAD),
    "edit_middle": _edit(MIDDLE),
    "edit_tail": _edit(TAIL),
    "edit_head_append": _then(_edit(HEAD), _append),
    "edit_middle_append": _then(_edit(MIDDLE), _append),
    "edit_tail_append": _then(_edit(TAIL), _append),
    "append_edit_middle": _then(_append, _edit(MIDDLE)),
    "edit_two_places_append": _then(_edit(MIDDLE), _edit(MIDDLE + 3000), _append),
    "edit_middle_date_kept": lambda source: source.keep_date(lambda: source.edit(MIDDLE)),
    "edit_middle_append_date_kept": lambda source: source.keep_date(lambda: _then(_edit(MIDDLE), _append)(source)),
    "edit_middle_append_date_in_the_past": _then(
        _edit(MIDDLE), _append, lambda source: os.utime(source.path, ns=(0, 0))
    ),
    "edit_middle_append_date_in_the_future": _then(
        _edit(MIDDLE), _append, lambda source: os.utime(source.path, ns=(1 << 61, 1 << 61))
    ),
    "edit_and_back": _then(_edit(MIDDLE), _edit(MIDDLE, DATA[MIDDLE : MIDDLE + 1])),
    "edit_and_back_append": _then(_edit(MIDDLE), _edit(MIDDLE, DATA[MIDDLE : MIDDLE + 1]), _append),
    "insert_in_the_middle": lambda source: source.put(DATA[:MIDDLE] + MORE + DATA[MIDDLE:]),
    "cut_out_of_the_middle": lambda source: source.put(DATA[:MIDDLE] + DATA[MIDDLE + 500 :]),
    "cut_out_and_append": lambda source: source.put(DATA[:MIDDLE] + DATA[MIDDLE + 500 :] + MORE),
    "truncate": _cut,
    "truncate_to_nothing": lambda source: source.truncate(0),
    "truncate_grow_less": _then(_cut, _append),
    "truncate_grow_to_the_same_size": _then(_cut, lambda source: source.append(EDITED[MIDDLE:])),
    "truncate_grow_more": _then(_cut, lambda source: source.append(EDITED[MIDDLE:] + MORE)),
    "append_truncate_append_other": _then(
        _append, lambda source: source.truncate(len(DATA)), lambda source: source.append(lines(7000, 50))
    ),
    "zeros_then_fill": _zeros_then_fill,
    "hole": lambda source: source.truncate(len(DATA) + 9000),
    "hole_then_fill": _then(lambda source: source.truncate(len(DATA) + len(MORE)), _edit(len(DATA), MORE)),
    "hole_punched_and_append": _then(_edit(MIDDLE, bytes(4096)), _append),
    "rewrite_same_size": lambda source: source.put(EDITED),
    "rewrite_longer_same_ends": lambda source: source.put(EDITED + MORE),
    "rewrite_other": lambda source: source.put(lines(8000, 900)),
    "rename_over_same_bytes": lambda source: source.replace(DATA),
    "rename_over_same_size": lambda source: source.replace(EDITED),
    "rename_over_longer": lambda source: source.replace(EDITED + MORE),
    "rename_over_shorter": lambda source: source.replace(EDITED[:-500]),
    "rename_over_same_bytes_and_more": lambda source: source.replace(DATA + MORE),
    "recreate_same_size": lambda source: source.recreate(EDITED),
    "recreate_longer": lambda source: source.recreate(EDITED + MORE),
    "hard_link": _hard_link,
    "written_through_another_name": _written_through_another_name,
    "copy_on_write": _copy_on_write,
    "folder_and_back": _folder_and_back,
    "moved_away_and_back": _moved_away_and_back,
}
"""Changes that are over when the next sync begins."""


def _edit_end(source: Source) -> None:
    source.edit(source.path.stat().st_size - 10)


def _delete(source: Source) -> None:
    source.path.unlink()


DURING: dict[str, Change] = {
    "append": _append,
    "edit_what_was_read": _edit(HEAD),
    "edit_what_was_read_append": _then(_edit(HEAD), _append),
    "edit_what_comes": _edit_end,
    "edit_both": _then(_edit(HEAD), _edit_end),
    "edit_both_append": _then(_edit(HEAD), _edit_end, _append),
    "edit_middle_and_end": _then(_edit(MIDDLE), _edit_end),
    "edit_both_date_kept": lambda source: source.keep_date(lambda: _then(_edit(HEAD), _edit_end)(source)),
    "edit_both_and_delete": _then(_edit(HEAD), _edit_end, _delete),
    "truncate": lambda source: source.truncate(500),
    "truncate_and_rewrite": _then(lambda source: source.truncate(0), lambda source: source.append(lines(9000, 3000))),
    "rename_over": lambda source: source.replace(lines(9000, 3000)),
    "delete": _delete,
}
"""Changes that happen while a sync reads the file."""
