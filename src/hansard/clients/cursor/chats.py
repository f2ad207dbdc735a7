"""The databases of Cursor's command line: one for each chat, `chats/<hash of the directory>/<id>/store.db`.

A message is a blob of JSON under the hash of its content. The newest root, which `meta` names, lists the messages of the conversation in
Protocol Buffers; other blobs are not read. Beside a database may be a file with the working directory.
"""

from __future__ import annotations

import contextlib
import os
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.clients.lines import REFUSED
from hansard.clients.row_logs import Body, Content, RowLog, Unit, log_path
from hansard.clients.values import path_of_uri, string, whole
from hansard.lazy_regex import lazy_compile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hansard.sources.foreign import ForeignDatabase

FOLDER, NAME, BESIDE = "chats", "store.db", "meta.json"
_COLUMNS = ("id", "data")
_LARGEST = 4 << 20  # bytes of a file or a root
_MESSAGE_FIELDS = frozenset({1, 2})
_WORKSPACE_FIELD = 9
_BYTES = 2  # the wire type of texts, bytes and messages
_FIXED = {1: 8, 5: 4}  # the length of values of the other wire types
_HASH = 32  # bytes
_WORKSPACE = lazy_compile(r"Workspace Path: *([^\n<]+)")


def chat_files(root: str) -> Iterator[str]:
    """The databases of chats, relative to the directory around `chats`."""
    for folder in names_in(os.path.join(root, FOLDER)):
        for chat in names_in(os.path.join(root, FOLDER, folder)):
            if os.path.isfile(os.path.join(root, FOLDER, folder, chat, NAME)):
                yield f"{FOLDER}/{folder}/{chat}/{NAME}"


def chat_facts(root: str, chat: str) -> dict[str, Any]:
    """What a file beside a chat says of it."""
    for folder in names_in(os.path.join(root, FOLDER)):
        if facts := _beside(os.path.join(root, FOLDER, folder, chat)):
            return facts
    return {}


def chat_logs(place: str, database: ForeignDatabase) -> Iterator[RowLog]:
    """The conversation in a database."""
    if not {"id", "data"} <= set(database.columns("blobs")) or not database.columns("meta"):
        database.require(("blobs", "meta"))
        return
    meta = _meta(database)
    root = _blob(database, string(meta, "latestRootBlobId"))
    messages, workspace = _root(root or b"")
    if messages:
        facts = {**meta, "workspace": workspace, **_beside(os.path.dirname(place))}
        id_ = string(meta, "agentId") or os.path.basename(os.path.dirname(place))
        updated = max(whole(facts, "updatedAtMs"), whole(facts, "createdAt"))
        units = partial(_units, database, facts, messages)
        yield RowLog(log_path(id_), updated, repr(facts), units)


def _units(database: ForeignDatabase, facts: dict[str, Any], messages: list[str]) -> Iterator[Unit]:
    yield Unit("chat", lambda: Content(Body().add_value("chat", facts)), is_fact=True)
    seen: dict[str, int] = {}
    for message in messages:
        seen[message] = number = seen.get(message, 0) + 1
        rows = list(database.cells("blobs", _COLUMNS, "WHERE id = ?", (message,)))
        if rows and _is_message(rows[0][1][1]):
            body = Body().add("blobs", ((_COLUMNS, row) for row in rows))
            yield Unit(message if number == 1 else f"{message}#{number}", partial(Content, body))


def _is_message(data: Any) -> bool:
    return not isinstance(data, bytes) or data.lstrip()[:1] == b"{"


def _meta(database: ForeignDatabase) -> dict[str, Any]:
    """What the chat says about itself: JSON, written in hexadecimal digits."""
    for (value,) in database.rows("SELECT value FROM meta WHERE key = '0'"):
        with contextlib.suppress(*REFUSED, ValueError, TypeError):
            text = value if isinstance(value, str) else bytes(value).decode()
            data = text.encode() if text.lstrip().startswith("{") else bytes.fromhex(text)
            return msgspec.json.decode(data, type=dict[str, Any])
    return {}


def _blob(database: ForeignDatabase, id_: str) -> bytes | None:
    sql = f"SELECT data FROM blobs WHERE id = ? AND octet_length(data) <= {_LARGEST}"
    return next((bytes(row[0]) for row in database.rows(sql, (id_,)) if isinstance(row[0], bytes)), None)


def _root(data: bytes) -> tuple[list[str], str]:
    """The messages that a root lists, and the directory of the workspace."""
    messages, workspace = [], ""
    for field, value in _fields(data):
        if field in _MESSAGE_FIELDS and len(value) == _HASH:
            messages.append(value.hex())
        elif field == _WORKSPACE_FIELD and not workspace:
            address = value.decode("utf-8", "replace")
            workspace = path_of_uri(address) or (address if address.startswith("/") else "")
    return messages, workspace


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The numbers and the bytes of the fields of a message in Protocol Buffers, as far as it can be read."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind = tag & 7
        size = _FIXED.get(kind, 0)
        if kind == _BYTES:
            size, at = _varint(data, at)
            if at + size <= len(data):
                yield tag >> 3, data[at : at + size]
        elif kind == 0:
            _, at = _varint(data, at)
        elif not size:
            return
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        value, at, shift = value | (byte & 0x7F) << shift, at + 1, shift + 7
        if byte < 0x80:
            return value, at
    return 0, len(data)


def _beside(folder: str) -> dict[str, Any]:
    try:
        with open(os.path.join(folder, BESIDE), "rb") as file:
            return msgspec.json.decode(file.read(_LARGEST), type=dict[str, Any])
    except (OSError, *REFUSED):
        return {}


def workspace_in(text: str) -> str:
    """The directory that the first message of a chat names."""
    found = _WORKSPACE.search(text, 0, 20_000)
    return found[1].strip() if found else ""


def names_in(folder: str) -> list[str]:
    """The files and folders in a folder, except hidden ones."""
    try:
        return sorted(name for name in os.listdir(folder) if name[0] != "." and name.isprintable() and "/" not in name)
    except OSError:
        return []
