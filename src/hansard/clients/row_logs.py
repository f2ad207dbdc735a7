r"""Rows of databases as logs: what a client that keeps its sessions in a database says about them, and how rows become lines.

A session is a log. Its units, such as messages, are one line each, with all the rows that belong to a unit:

    {"id":"msg_1","message":{"id":"msg_1","data":{...}},"part":[{...},{...}]}

Other lines are facts about the session, of which the newest counts ("fact" in place of "id"), changes of a unit that mean nothing
for its records ("update"), and units that the client deleted ("deleted").

A value is a number, null or a string. A text that is itself a JSON object or list of one line stands there as it is, not as a
string, so that the text of a cell is always found again: the bytes of an object or list, or else the decoded string. A row with
blobs names their columns in "blobs". Bytes that are not UTF-8 are written as \udc80 to \udcff.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import msgspec
from msgspec import Struct

from hansard.clients.lines import REFUSED
from hansard.clients.protocol import PathInfo
from hansard.lazy_regex import lazy_compile

if TYPE_CHECKING:
    from hansard.clients.generic import Record
    from hansard.sources.foreign import ForeignDatabase

ID, FACT, UPDATE, DELETED = "id", "fact", "update", "deleted"
_SURROGATE = lazy_compile("[\ud800-\udfff]")
_NAME = lazy_compile(r"[A-Za-z0-9_][A-Za-z0-9_.$-]{0,120}")
_LONGEST_ID = 300
_encode = msgspec.json.Encoder().encode

Piece = bytes | Iterable[bytes]
Cells = Sequence[tuple[str, Any]]


class Body:
    """What a line says after its first key; long values are read again each time it is iterated."""

    def __init__(self) -> None:
        self._pieces: list[Piece] = []

    def __iter__(self) -> Iterator[bytes]:
        short: list[bytes] = []
        for piece in self._pieces:
            if isinstance(piece, bytes):
                short.append(piece)
            else:
                yield b"".join(short)
                short.clear()
                yield from _escaped(piece)
        yield b"".join(short)

    def add(self, name: str, rows: Iterable[tuple[Sequence[str], Cells]], *, is_list: bool = False) -> Body:
        """Add rows of a table, each as the names of its columns and their types and values."""
        self._put(b"," if self._pieces else b"", _encode(name), b":[" if is_list else b":")
        for number, (columns, cells) in enumerate(rows):
            self._put(b"," if number else b"", b"{")
            blobs = [column for column, (kind, _) in zip(columns, cells, strict=True) if kind == "blob"]
            if blobs:
                self._put(b'"blobs":', _encode(blobs), b",")
            for place, (column, (_, value)) in enumerate(zip(columns, cells, strict=True)):
                self._put(b"," if place else b"", _encode(column), b":")
                self._value(value)
            self._put(b"}")
        if is_list:
            self._put(b"]")
        return self

    def add_value(self, name: str, value: Any) -> Body:
        """Add what is not a row: a value that belongs to the unit or the session, as JSON."""
        self._put(b"," if self._pieces else b"", _encode(name), b":", _encode(value))
        return self

    def _value(self, value: Any) -> None:
        if isinstance(value, bytes):
            self._put(value if _is_json(value) else _string(value))
        elif value is None or isinstance(value, (int, float, str)):
            self._put(_encode(value))
        else:
            self._put(b'"')
            self._pieces.append(value)
            self._put(b'"')

    def _put(self, *parts: bytes) -> None:
        self._pieces += parts


def head(kind: str, id_: str) -> bytes:
    """The beginning of a line."""
    return b"{" + _encode(kind) + b":" + _encode(id_)


def _is_json(value: bytes) -> bool:
    """Whether a text can be copied into a line unchanged."""
    if value[:1] not in (b"{", b"[") or b"\n" in value or b"\r" in value:
        return False
    try:
        value.decode()
        msgspec.json.decode(value, type=msgspec.Raw)
    except REFUSED:
        return False
    return True


def _string(value: bytes) -> bytes:
    return b'"%b"' % _inside(value.decode("utf-8", "surrogateescape"))


def _inside(text: str) -> bytes:
    """A text as it is between the quotes of a JSON string."""
    inside = json.dumps(text, ensure_ascii=False)[1:-1]
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", inside).encode()


def _escaped(pieces: Iterable[bytes]) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    for piece in pieces:
        yield _inside(decoder.decode(piece))
    yield _inside(decoder.decode(b"", final=True))


class Content(Struct, frozen=True):
    """A unit as it is now."""

    body: Iterable[bytes]
    """Can be iterated several times."""
    is_complete: bool = True
    """False while the client is still writing the unit."""


class Unit(Struct, frozen=True):
    """A message, or a fact about the session."""

    id: str
    read: Callable[[], Content]
    updated: int | None = None
    """The time of its last change in milliseconds; None if the client does not note that."""
    is_fact: bool = False


class RowLog(Struct, frozen=True):
    """A session in a database."""

    path: str
    """Below the folder of row logs, without an ending: made with `log_path`."""
    updated: int | Callable[[], int]
    """The time of the last change in milliseconds, which is asked for only if something changed."""
    stamp: str
    """Differs when any row of the session does."""
    units: Callable[[], Iterable[Unit]]
    """In the order of the conversation, facts first."""
    is_agent: bool = False

    @property
    def time(self) -> int:
        """The time of the last change."""
        return self.updated if isinstance(self.updated, int) else self.updated()


def by_time(logs: Iterable[RowLog]) -> list[RowLog]:
    """Sessions, the one that changed last at the end."""
    return sorted(logs, key=lambda log: (log.time, log.path))


@runtime_checkable
class RowClient(Protocol):
    """A client that keeps sessions in databases."""

    def row_logs(self, path: str, place: str, database: ForeignDatabase | None) -> Iterable[RowLog]:
        """The sessions in a database, the one that changed last at the end.

        `path` is relative to the root, `place` absolute; `database` is None where it is a folder that is read like one.
        """

    def database_rank(self, path: str) -> int:
        """Which database counts if several have a session: the one with the lowest number."""

    def unread(self, database: ForeignDatabase) -> dict[str, int]:
        """The tables that it does not know, and how many rows each has."""

    def decode(self, line: bytes) -> Iterable[Record]:
        """The records of a line."""


def rows_info(path: str) -> PathInfo:
    """What the path of a log says that `log_path` made."""
    _, *ids = path.removesuffix(".jsonl").split("/")
    return PathInfo(session_id=ids[0], agent_id=ids[1] if len(ids) > 1 else "") if ids else PathInfo()


def fact(name: str, table: str, rows: Iterable[tuple[Sequence[str], Cells]], *, is_list: bool = False) -> Unit:
    """A unit that is a fact about the session."""
    body = Body().add(table, rows, is_list=is_list)
    return Unit(name, lambda: Content(body), is_fact=True)


def log_path(*ids: str) -> str:
    """The path of a session's log, from its id, or from those of the session that started it and its own."""
    return "/".join(_name(id_) for id_ in ids)


def _name(id_: str) -> str:
    from hansard.clients.state import digest

    return id_ if _NAME.fullmatch(id_) else f"id-{digest(id_)}"


def unit_id(id_: str) -> str:
    """An id of bounded length."""
    from hansard.clients.state import digest

    return id_ if len(id_) <= _LONGEST_ID else f"long-{digest(id_)}"


def text_of_cell(value: Any) -> Any:
    """A cell that holds JSON, decoded; it was kept as it is or as a string."""
    return msgspec.json.decode(value.encode()) if isinstance(value, str) else value
