"""The folder of JSON files that OpenCode had before its database: the same rows, each in a file of its own.

A database that is there too was filled from it, and the folder stays as it was.
"""

from __future__ import annotations

import errno
import os
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.clients.opencode.database import ancestry, is_complete
from hansard.clients.row_logs import Body, Cells, Content, RowLog, Unit, by_time, fact, log_path, unit_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LARGE = 4 << 20  # bytes of a file that is not read in pieces
_ENDING = ".json"
_ROW = ("id", "data")
_SESSION = ("id", "parent_id", "directory", "title", "version", "data")


def tree_logs(folder: str) -> Iterator[RowLog]:
    """The sessions, the one that changed last at the end."""
    files = {
        id_: path
        for project in _names(os.path.join(folder, "session"))
        for id_, path in _json_files(os.path.join(folder, "session", project))
    }
    ids = {*files, *_names(os.path.join(folder, "message"))}
    rows = {id_: _session(id_, files.get(id_)) for id_ in ids}
    parents = {id_: row.get("parentID", "") for id_, row in rows.items()}
    logs = []
    for id_ in ids:
        messages = _json_files(os.path.join(folder, "message", id_))
        of_parts = {message: _json_files(os.path.join(folder, "part", message)) for message, _ in messages}
        own = [files[id_]] if id_ in files else []
        status = [
            _status(path)
            for path in (
                *own,
                *(path for _, path in messages),
                *(path for found in of_parts.values() for _, path in found),
            )
        ]
        path = log_path(*ancestry(id_, parents))
        newest = max((mtime for _, mtime in status), default=0)
        units = partial(_units, id_, rows[id_], files.get(id_), messages, of_parts)
        logs.append(
            RowLog(path, newest, repr((len(status), sum(size for size, _ in status), newest)), units, "/" in path)
        )
    yield from by_time(logs)


def _units(
    id_: str,
    row: dict[str, Any],
    path: str | None,
    messages: Sequence[tuple[str, str]],
    of_parts: dict[str, list[tuple[str, str]]],
) -> Iterator[Unit]:
    cells: Cells = [
        *(("text", row.get(name)) for name in ("id", "parentID", "directory", "title", "version")),
        ("text", _read(path) if path else None),
    ]
    yield (
        fact("session", "session", [(_SESSION, cells)])
        if row
        else fact("session", "session", [(("id",), [("text", id_)])])
    )
    for message, place in messages:
        parts = of_parts[message]
        newest = max(_status(file)[1] for file in (place, *(file for _, file in parts)))
        yield Unit(unit_id(message), partial(_message, message, place, parts), newest)


def _message(id_: str, path: str, parts: list[tuple[str, str]]) -> Content:
    data = _read(path)
    body = Body().add("message", [(_ROW, [("text", id_), ("text", data)])])
    body.add("part", ((_ROW, [("text", part), ("text", _read(place))]) for part, place in parts), is_list=True)
    return Content(body, is_complete(data))


def _session(id_: str, path: str | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        with open(path, "rb") as file:
            said = msgspec.json.decode(file.read(_LARGE))
    except (msgspec.DecodeError, UnicodeDecodeError, OSError):
        return {}
    return (
        {"id": id_, **{name: value for name, value in said.items() if isinstance(value, str)}}
        if isinstance(said, dict)
        else {}
    )


def _json_files(folder: str) -> list[tuple[str, str]]:
    """The files of a folder by their names without the ending, in order."""
    return [
        (name.removesuffix(_ENDING), os.path.join(folder, name))
        for name in sorted(_names(folder))
        if name.endswith(_ENDING) and name[0] != "."
    ]


def _names(folder: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if name.isprintable()]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _status(path: str) -> tuple[int, int]:
    """The size and the time in milliseconds."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return 0, 0
    return status.st_size, status.st_mtime_ns // 1_000_000


class _LargeFile:
    """A file that is read in pieces."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __iter__(self) -> Iterator[bytes]:
        with open(self._path, "rb") as file:
            while piece := file.read(1 << 20):
                yield piece


def _read(path: str) -> bytes | _LargeFile:
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGE + 1)
    except FileNotFoundError as error:  # deleted since it was listed
        raise OSError(errno.EAGAIN, "changed while it was read", path) from error
    return data if len(data) <= _LARGE else _LargeFile(path)
