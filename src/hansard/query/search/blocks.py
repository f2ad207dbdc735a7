"""Matching blocks: the record, transcript and session each belongs to, and its text."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from hansard.clients import client_of
from hansard.clients.texts import without_base64
from hansard.clients.usage import REPEATED_LINE
from hansard.errors import StoreCorrupt
from hansard.index.schema import SNAPSHOT_TEXT
from hansard.query.compile import Condition
from hansard.record.database import DAMAGED_TEXT
from hansard.storage import OFFSET_BITS, OFFSET_MASK

if TYPE_CHECKING:
    from hansard.query.reader import Reader
    from hansard.record.store import Record

_LONGEST_LINE = 256 << 20
_BLOCK_KINDS = {"thinking": "thinking", "tool_use": "call", "server_tool_use": "call", "mcp_tool_use": "call"}
_COMMANDS = frozenset({"command", "bash", "command_output", "bash_output"})
_PRINTED = (
    "(r.role IN ('command_output', 'bash_output')"
    " OR r.sub = 'local_command' AND NOT EXISTS (SELECT 1 FROM prompts p WHERE p.id = r.id))"
)
NOT_PRINTED = Condition(
    f"NOT coalesce((SELECT {_PRINTED} FROM records r WHERE r.id BETWEEN place.id >> {OFFSET_BITS} << {OFFSET_BITS} AND place.id"
    " ORDER BY r.id DESC LIMIT 1), 0)"
)
"""Over the places of the full text: excludes output of commands the user typed."""

IS_SHOWN = "t.current AND (t.kind = 'agent' OR EXISTS (SELECT 1 FROM sessions s WHERE s.session_id = t.session_id AND s.transcript = t.id))"
"""Whether a transcript `t` is one that its session is read from; a session may have several, as in copies that were both resumed."""


class TextBlock(Struct):
    """A block of text as the indexes know it."""

    id: int
    kind: str
    transcript: int  # 0 for a file
    client: str  # empty for a file
    path: str
    offset: int
    length: int | None = None  # of its line, if known
    number: int = 0
    uuid: str | None = None
    at: int | None = None
    session_id: str = ""
    agent_id: str = ""
    tool: str = ""
    is_error: bool = False
    is_aside: bool = False
    is_current: bool = True  # False: from a former generation of its transcript
    is_copy: bool = False  # in the part its transcript copied from another session
    log_kind: str = ""  # main, agent or history; empty for a file
    is_shown: bool = False  # in the transcript that its session is read from, or in a subagent's


def describe(reader: Reader, ids: Collection[int]) -> dict[int, TextBlock]:
    """Describe these blocks; those without rows yet are missing."""
    found = _of_transcripts(reader, [id_ for id_ in ids if id_ < SNAPSHOT_TEXT])
    found.update(_of_files(reader, [id_ for id_ in ids if id_ >= SNAPSHOT_TEXT]))
    return found


def _of_transcripts(reader: Reader, ids: list[int]) -> dict[int, TextBlock]:
    if not ids:
        return {}
    rows = list(
        reader.rows(
            "SELECT c.value, r.id, r.length, r.kind, r.sub, r.role, r.ts, r.sidechain, r.uuid, b.kind, b.is_error,"
            " b.tool, r.agent_id"
            " FROM json_each(?) c LEFT JOIN records r ON r.id = (SELECT max(id) FROM records WHERE id <= c.value)"
            " LEFT JOIN blocks b ON b.id = c.value",
            (json.dumps(ids),),
        )
    )
    logs = {
        row[0]: row[1:]
        for row in reader.rows(
            f"SELECT id, client, session_id, agent_id, path, kind, first_ts, current, copied, {IS_SHOWN} FROM transcripts t"
            " WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps([*{id_ >> OFFSET_BITS for id_ in ids}]),),
        )
    }
    found: dict[int, TextBlock] = {}
    others: list[int] = []
    for id_, record_id, length, kind, sub, role, ts, sidechain, uuid, block_kind, is_error, tool, made_by in rows:
        log = logs.get(id_ >> OFFSET_BITS)
        if log is None or id_ in found:
            continue
        client, session_id, agent_id, path, log_kind, first_ts, is_current, copied, is_shown = log
        inside = record_id is not None and record_id >> OFFSET_BITS == id_ >> OFFSET_BITS
        if inside and id_ < record_id + length:
            found[id_] = TextBlock(
                id_,
                "reminder" if block_kind is None and id_ != record_id else _kind(kind, sub, role, block_kind),
                id_ >> OFFSET_BITS,
                client,
                path,
                record_id & OFFSET_MASK,
                length,
                id_ - record_id,
                uuid,
                ts if ts is not None else first_ts,
                session_id,
                made_by or agent_id,
                tool or "",
                bool(is_error) or role == "error" or sub == "api_error",
                bool(sidechain) or bool(agent_id),
                bool(is_current),
                sub == REPEATED_LINE or record_id & OFFSET_MASK < copied,
                log_kind,
                bool(is_shown),
            )
            continue
        others.append(id_)
        found[id_] = TextBlock(
            id=id_,
            kind="prompt" if log_kind == "history" else "title",
            transcript=id_ >> OFFSET_BITS,
            client=client,
            path=path,
            offset=id_ & OFFSET_MASK,
            at=ts if inside and ts is not None else first_ts,
            session_id=session_id,
            agent_id=agent_id,
            is_aside=bool(agent_id),
            is_current=bool(is_current),
            log_kind=log_kind,
            is_shown=bool(is_shown),
        )
    if others:
        _correct(reader, found, others)
    return found


def command_outputs(reader: Reader, uuids: Collection[str]) -> set[str]:
    """Which of these records are output of a command the user typed."""
    rows = reader.rows(
        f"SELECT r.uuid FROM json_each(?) v CROSS JOIN records r ON r.uuid = v.value WHERE {_PRINTED}",
        (json.dumps(list(uuids)),),
    )
    return {row[0] for row in rows}


def name_tools(reader: Reader, blocks: Iterable[TextBlock]) -> None:
    """Set the tool of each result; only for a few, since each call must be looked up."""
    results = {block.id: block for block in blocks if block.kind == "result" and not block.tool}
    if not results:
        return
    for id_, tool in reader.rows(
        "SELECT b.id, k.tool FROM json_each(?) c JOIN blocks b ON b.id = c.value"
        f" JOIN tool_calls k ON k.tool_use_id = b.tool_use_id AND k.id >> {OFFSET_BITS} = b.id >> {OFFSET_BITS}",
        (json.dumps(list(results)),),
    ):
        results[id_].tool = tool


def _kind(kind: str, sub: str | None, role: str | None, block_kind: str | None) -> str:
    if block_kind is not None and block_kind not in ("text", "image"):
        named = _BLOCK_KINDS.get(block_kind)
        return named or ("result" if block_kind.endswith("tool_result") else "note")
    if kind == "assistant":
        return "reply"
    if role == "prompt":
        return "prompt"
    return "command" if role in _COMMANDS or sub == "local_command" else "note"


def _correct(reader: Reader, found: dict[int, TextBlock], ids: Iterable[int]) -> None:
    """Correct lines that are not conversation records: prompts only in a queue or history.jsonl, titles of other sessions."""
    wanted = json.dumps(list(ids))
    for id_, ts, session_id in reader.rows(
        "SELECT p.id, p.ts, p.session_id FROM prompts p WHERE p.id IN (SELECT value FROM json_each(?))", (wanted,)
    ):
        block = found[id_]
        block.kind, block.at = "prompt", ts if ts is not None else block.at
        block.session_id = session_id or block.session_id
    for id_, session_id, ts in reader.rows(
        "SELECT s.id, t.session_id, r.ts FROM summaries s JOIN records r ON r.uuid = s.leaf_uuid"
        f" JOIN transcripts t ON t.id = r.id >> {OFFSET_BITS} WHERE s.id IN (SELECT value FROM json_each(?)) AND t.session_id <> ''"
        " ORDER BY t.current, r.ts DESC, t.path DESC",
        (wanted,),
    ):
        found[id_].session_id, found[id_].at = session_id, ts


def _of_files(reader: Reader, ids: list[int]) -> dict[int, TextBlock]:
    if not ids:
        return {}
    rows = reader.rows(
        "SELECT id, path, mtime, session_id, agent_id, current FROM side_files WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps([id_ - SNAPSHOT_TEXT for id_ in ids]),),
    )
    return {
        SNAPSHOT_TEXT + id_: TextBlock(
            id=SNAPSHOT_TEXT + id_,
            kind="result",
            transcript=0,
            client="",
            path=path,
            offset=0,
            at=mtime,
            session_id=session_id,
            agent_id=agent_id,
            is_aside=bool(agent_id),
            is_current=bool(is_current),
        )
        for id_, path, mtime, session_id, agent_id, is_current in rows
    }


class Texts:
    """Reads the text of blocks back from the record."""

    def __init__(self, reader: Reader, record: Record) -> None:
        self._reader = reader
        self._record = record

    def of(self, block: TextBlock) -> str:
        """The indexed text, or a placeholder if the record cannot return it."""
        try:
            return self._read(block)
        except StoreCorrupt:
            return DAMAGED_TEXT

    def _read(self, block: TextBlock) -> str:
        if block.transcript == 0:
            data = self._record.read_snapshot(block.id - SNAPSHOT_TEXT)
            return without_base64(data.decode("utf-8", "replace"))
        if block.length is None:
            row = self._reader.one("SELECT text FROM prompts WHERE id = ?", (block.id,))
            if row is not None:
                return str(row[0])
        line = self._line(block)
        for found in client_of(block.client).texts(line, block.offset, is_aside=block.is_aside):
            if found.offset == block.offset:
                for text in found.texts:
                    if text.number == block.number:
                        return text.text
        return ""

    def _line(self, block: TextBlock) -> bytes:
        if block.length is not None:
            return self._record.glimpse_line(block.transcript, block.offset, block.length)
        pieces = self._record.read(block.transcript, block.offset, block.offset + _LONGEST_LINE)
        lines = client_of(block.client).lines(pieces, block.offset)
        return next((line for _, line in lines), lines.rest)
