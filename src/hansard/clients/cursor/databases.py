"""Cursor's databases: the conversations in them, and nothing else.

Keys that are read, of `cursorDiskKV`: `composerData:*`, `bubbleId:*`, and `composer.content.*` where an edit names one; of
`ItemTable`: the four below. Login tokens are in the same tables under other keys, and keys for encryption in `composerData`.
"""

from __future__ import annotations

import contextlib
import os
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.clients.lines import REFUSED
from hansard.clients.row_logs import Body, Content, RowLog, Unit, by_time, log_path, unit_id
from hansard.clients.values import path_of_uri
from hansard.lazy_regex import lazy_compile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hansard.sources.foreign import ForeignDatabase

CHATS = "workbench.panel.aichat.view.aichat.chatdata"
COMPOSERS = "composer.composerData"
HEADERS = "composer.composerHeaders"
PROMPTS = "aiService.prompts"
_SECRET = frozenset({"blobEncryptionKey", "speculativeSummarizationEncryptionKey"})
_COLUMNS = ("key", "value")
_LARGEST = 64 << 20  # bytes of a value that is decoded here
_CONTENT = lazy_compile(rb"composer\.content\.[0-9a-f]{64}")
_BUBBLES = """\
WITH brief AS MATERIALIZED (SELECT substr(key, 10, instr(substr(key, 10), ':') - 1) AS id, rowid AS number, octet_length(value) AS size
  FROM cursorDiskKV WHERE key >= 'bubbleId:' AND key < 'bubbleId;')
SELECT id, count(*), max(number), sum(number), sum(size) FROM brief GROUP BY id"""
_LISTED = """\
SELECT substr(key, 14), rowid, octet_length(value) FROM cursorDiskKV WHERE key >= 'composerData:' AND key < 'composerData;'
ORDER BY rowid"""
_WORKING = frozenset({"loading", "running", "pending", "generating"})


class _Composer(msgspec.Struct):
    """What decides which bubbles a conversation has; any field may be of another type one day."""

    fullConversationHeadersOnly: Any = None  # noqa: N815 - Cursor's names
    conversation: msgspec.Raw = msgspec.Raw(b"null")
    lastUpdatedAt: Any = None  # noqa: N815
    createdAt: Any = None  # noqa: N815
    status: Any = None
    generatingBubbleIds: Any = None  # noqa: N815
    workspaceIdentifier: Any = None  # noqa: N815

    @property
    def updated(self) -> int:
        return next((int(time) for time in (self.lastUpdatedAt, self.createdAt) if isinstance(time, (int, float))), 0)

    @property
    def listed(self) -> list[str]:
        """The ids of the bubbles, in the order of the conversation."""
        headers = self.fullConversationHeadersOnly
        if headers is not None and not (isinstance(headers, list) and all(isinstance(one, dict) for one in headers)):
            raise ValueError("unknown type of fullConversationHeadersOnly")
        return [str(header.get("bubbleId")) for header in headers or ()]

    @property
    def inline(self) -> list[msgspec.Raw]:
        """The bubbles of the time when they were part of their composer."""
        try:
            return msgspec.json.decode(self.conversation, type=list[msgspec.Raw] | None) or []
        except REFUSED as error:
            raise ValueError("unknown type of conversation") from error

    @property
    def generating(self) -> set[str]:
        """The ids of the bubbles that are being written."""
        ids = self.generatingBubbleIds
        return {id_ for id_ in ids if isinstance(id_, str)} if isinstance(ids, list) else set()


def database_logs(place: str, database: ForeignDatabase) -> Iterator[RowLog]:
    """The conversations, the one that changed last at the end."""
    if database.columns("ItemTable"):
        yield from by_time(_older(place, database))
    if database.columns("cursorDiskKV"):
        yield from _composers(place, database)
    database.require(("ItemTable", "cursorDiskKV"))


def _composers(place: str, database: ForeignDatabase) -> Iterator[RowLog]:
    bubbles = {row[0]: row[1:] for row in database.rows(_BUBBLES)}
    folders = cache(partial(_folders, place, database))
    headers = cache(partial(_headers, database))
    for id_, *status in list(database.rows(_LISTED)):
        if id_ not in bubbles:  # one that is empty, or of the time when a conversation was part of its composer
            with contextlib.suppress(ValueError):  # raised again for its units, where it concerns this one only
                composer = _composer(database, id_)
                if composer is None or not composer.inline:
                    continue
        stamp = repr((status, bubbles.get(id_)))
        units = partial(_units, database, id_, folders, headers)
        yield RowLog(log_path(id_), partial(_updated, database, id_), stamp, units)


def _updated(database: ForeignDatabase, id_: str) -> int:
    composer = _composer(database, id_)
    return composer.updated if composer is not None else 0


def _composer(database: ForeignDatabase, id_: str) -> _Composer | None:
    value = _value(database, "cursorDiskKV", f"composerData:{id_}")
    if value is None or value.strip() in (b"", b"null"):
        return None
    try:
        return msgspec.json.decode(value, type=_Composer)
    except REFUSED as error:
        raise ValueError(f"composerData cannot be decoded: {error}") from error


def _value(database: ForeignDatabase, table: str, key: str) -> bytes | None:
    """A value that is not too long to be decoded."""
    for row in database.cells(table, _COLUMNS, "WHERE key = ?", (key,)):
        value = row[1][1]
        if isinstance(value, bytes):
            return value
        if value is not None and not isinstance(value, (int, float)) and value.size <= _LARGEST:
            return b"".join(value)
    return None


def _units(
    database: ForeignDatabase, id_: str, folders: Callable[[], dict[str, str]], headers: Callable[[], dict[str, bytes]]
) -> Iterator[Unit]:
    composer = _composer(database, id_) or _Composer()
    is_working = composer.status == "generating" or bool(composer.generating)
    folder = "" if composer.workspaceIdentifier else folders().get(id_, "")
    facts = partial(_facts, database, id_, folder, headers().get(id_), is_complete=not is_working)
    yield Unit("composer", facts, is_fact=True)
    listed = composer.listed
    if not listed and (inline := composer.inline):
        yield from _inline(inline)
        return
    prefix = f"bubbleId:{id_}:"
    keys = database.rows(
        "SELECT key FROM cursorDiskKV WHERE key >= ? AND key < ? ORDER BY key", (prefix, f"bubbleId:{id_};")
    )
    present = [str(row[0]).removeprefix(prefix) for row in keys]
    for bubble in sorted(set(present) - set(listed)):  # of turns that were edited
        yield Unit(unit_id(f"leftover-{bubble}"), partial(_bubble, database, prefix + bubble), is_fact=True)
    known = set(present)
    working = composer.generating
    for number, bubble in enumerate(listed):
        if bubble in known:
            is_last = is_working and number == len(listed) - 1
            yield Unit(
                unit_id(bubble), partial(_bubble, database, prefix + bubble, is_working=is_last or bubble in working)
            )


def _facts(database: ForeignDatabase, id_: str, folder: str, header: bytes | None, *, is_complete: bool) -> Content:
    key = f"composerData:{id_}"
    body = Body()
    value = _value(database, "cursorDiskKV", key)
    with contextlib.suppress(*REFUSED):
        body.add("cursorDiskKV", [(_COLUMNS, [("text", key), ("text", _without_secrets(value or b"{}"))])])
    if header is not None:
        body.add("header", [(("value",), [("text", _without_secrets(header))])])
    body.add_value("folder", folder)
    return Content(body, is_complete)


def _without_secrets(value: bytes) -> bytes:
    """A JSON object without its keys for encryption."""
    said = msgspec.json.decode(value, type=dict[str, msgspec.Raw])
    return msgspec.json.encode({name: raw for name, raw in said.items() if name not in _SECRET})


def _headers(database: ForeignDatabase) -> dict[str, bytes]:
    """What the list of all composers says of each."""
    found: dict[str, bytes] = {}
    if database.columns("ItemTable"):
        for raw in _list(_value(database, "ItemTable", HEADERS), "allComposers"):
            with contextlib.suppress(*REFUSED):
                found.setdefault(str(msgspec.json.decode(raw, type=dict[str, Any]).get("composerId")), bytes(raw))
    return found


def _bubble(database: ForeignDatabase, key: str, *, is_working: bool = False) -> Content:
    body = Body()
    rows = list(database.cells("cursorDiskKV", _COLUMNS, "WHERE key = ?", (key,)))
    body.add("cursorDiskKV", [(_COLUMNS, row) for row in rows])
    value = rows[0][1][1] if rows else None
    if isinstance(value, bytes):
        contents = [
            row
            for name in dict.fromkeys(_CONTENT.findall(value))
            for row in database.cells("cursorDiskKV", _COLUMNS, "WHERE key = ?", (name.decode(),))
        ]
        body.add("contents", [(_COLUMNS, row) for row in contents], is_list=True)
        with contextlib.suppress(*REFUSED, AttributeError):
            tool = msgspec.json.decode(value).get("toolFormerData") or {}
            is_working = is_working or tool.get("status") in _WORKING
    return Content(body, not is_working)


def _inline(bubbles: list[msgspec.Raw]) -> Iterator[Unit]:
    """Bubbles inside of the composer or the tab that they belong to."""
    for number, raw in enumerate(bubbles):
        try:
            said = msgspec.json.decode(raw, type=dict[str, Any])
        except REFUSED:
            said = {}
        id_ = str(said.get("bubbleId") or said.get("id") or number)
        body = Body().add("bubble", [(("value",), [("text", bytes(raw))])])
        yield Unit(unit_id(id_), partial(Content, body))


# -- what came before


def _older(place: str, database: ForeignDatabase) -> Iterator[RowLog]:
    """Chats and composers whose text is in the list of a workspace, and what was typed there."""
    folder = workspace_folder(place)
    for key, name, id_name, bubbles in (
        (CHATS, "tabs", "tabId", "bubbles"),
        (COMPOSERS, "allComposers", "composerId", "conversation"),
    ):
        for raw in _list(_value(database, "ItemTable", key), name):
            try:
                said = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
                id_ = msgspec.json.decode(said[id_name], type=str)
                inline = msgspec.json.decode(said.pop(bubbles), type=list[msgspec.Raw])
            except (*REFUSED, KeyError):
                continue
            if inline:
                times = [said.get(time, b"0") for time in ("lastSendTime", "lastUpdatedAt", "createdAt")]
                updated = max((int(time) for time in map(bytes, times) if time.isdigit()), default=0)
                kept = {name: value for name, value in said.items() if name not in _SECRET}
                units = partial(_older_units, msgspec.json.encode(kept), inline, folder)
                yield RowLog(log_path(id_), updated, repr((hash_of(bytes(raw)), folder)), units)
    typed = _value(database, "ItemTable", PROMPTS)
    if typed and typed != b"[]":
        workspace = os.path.basename(os.path.dirname(place))
        cells = [("text", PROMPTS), ("text", typed)]
        body = Body().add("ItemTable", [(_COLUMNS, cells)]).add_value("folder", folder)
        unit = Unit("prompts", partial(Content, body), is_fact=True)
        yield RowLog(log_path(f"prompts-{workspace}"), 0, hash_of(typed), lambda: [unit])


def _older_units(facts: bytes, bubbles: list[msgspec.Raw], folder: str) -> Iterator[Unit]:
    body = Body().add("header", [(("value",), [("text", facts)])]).add_value("folder", folder)
    yield Unit("composer", partial(Content, body), is_fact=True)
    yield from _inline(bubbles)


def hash_of(data: bytes) -> str:
    from hashlib import blake2b

    return blake2b(data, digest_size=16).hexdigest()


def _list(value: bytes | None, name: str) -> list[msgspec.Raw]:
    """A list in a JSON object, undecoded."""
    if not value:
        return []
    try:
        found = msgspec.json.decode(value, type=dict[str, msgspec.Raw]).get(name)
        return msgspec.json.decode(found, type=list[msgspec.Raw]) if found is not None else []
    except REFUSED:
        return []


def workspace_folder(place: str) -> str:
    """The folder that a workspace's database is about; empty if there is none, or several."""
    try:
        with open(os.path.join(os.path.dirname(place), "workspace.json"), "rb") as file:
            return path_of_uri(str(msgspec.json.decode(file.read(1 << 20))["folder"]))
    except (OSError, KeyError, TypeError, *REFUSED):
        return ""


def _folders(place: str, database: ForeignDatabase) -> dict[str, str]:
    """The folder of each composer, from the workspaces that list it: composers of 2025 do not say it themselves."""
    found: dict[str, str] = {}
    storage = os.path.join(os.path.dirname(os.path.dirname(place)), "workspaceStorage")
    try:
        names = sorted(os.listdir(storage))
    except OSError:
        return found
    for name in names:
        other = os.path.join(storage, name, "state.vscdb")
        folder = workspace_folder(other)
        if not folder or not os.path.isfile(other):
            continue
        with contextlib.suppress(OSError), database.beside(other) as workspace:
            for raw in _list(_value(workspace, "ItemTable", COMPOSERS), "allComposers"):
                with contextlib.suppress(*REFUSED):
                    found[str(msgspec.json.decode(raw, type=dict[str, Any]).get("composerId"))] = folder
    return found
