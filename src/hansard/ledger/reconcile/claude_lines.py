"""The lines of Claude Code's transcripts that state usage, as the index reads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from hansard.clients.claude_code import wire
from hansard.clients.claude_code.decode import entry, items
from hansard.clients.claude_code.meaning import SYNTHETIC, milliseconds
from hansard.clients.claude_code.usage import embedded_answer, has_reusable_id, message_key, stated, streamed_answer
from hansard.clients.lines import ParsedLine, unfinished
from hansard.clients.usage import dated
from hansard.grep.matching_lines import whole_lines
from hansard.ledger.reconcile.line_store import ADVISOR, ANSWER, NOT_OTHERS, TOLD, Log, Row
from hansard.storage import OFFSET_BITS

if TYPE_CHECKING:
    from hansard.query.reader import Reader

_MARK = b'"usage"'
# ccusage skips lines with one of these null, a time in units other than milliseconds, or an invalid version.
_NULL = b'":null'
_UNSET = frozenset(
    b"id cwd model speed costUSD version sessionId requestId isApiErrorMessage cache_read_input_tokens"
    b" cache_creation_input_tokens".split()
)
_VERSION = re.compile(r"\d+\.\d+\.\d")
_TIME_LENGTHS = (20, 24)


class ClaudeLines:
    """Reads the lines of one transcript after the other."""

    def __init__(self, reader: Reader, day_of: Callable[[int], str]) -> None:
        self._reader = reader
        self._day = day_of
        self._run: tuple[str, int, str] = ("", -1, "")

    def rows(self, log: Log, pieces: Iterable[bytes]) -> Iterator[Row]:
        """The rows of one transcript, without their place."""
        self._run = ("", -1, "")
        start = 0
        for block in whole_lines(pieces):
            found = block.find(_MARK)
            while found >= 0:
                begin = block.rfind(b"\n", 0, found) + 1
                end = block.find(b"\n", found)
                is_last = end < 0
                line = block[begin:] if is_last else block[begin:end]
                yield from self._line(log, line, start + begin, is_last=is_last)
                found = -1 if is_last else block.find(_MARK, end)
            start += len(block)

    def _line(self, log: Log, line: bytes, offset: int, *, is_last: bool) -> Iterator[Row]:
        """The rows of one line, read as the index reads it."""
        body = None if is_last else entry(line)
        if body is not None:
            yield from self._record_rows(log, line, offset, len(line), body)
            return
        for item in unfinished(line, offset, items) if is_last else items(line, offset):
            if isinstance(item, ParsedLine) and isinstance(item.body, wire.Entry):
                yield from self._record_rows(log, line, item.offset, item.length, item.body)

    def _record_rows(self, log: Log, line: bytes, offset: int, length: int, body: wire.Entry) -> Iterator[Row]:
        kind = ANSWER
        if body.type == "progress":
            kind = TOLD
            told = embedded_answer(body)
            if told is None:
                return
            body = told
        elif body.type == "stream_event" and (answer := streamed_answer(body)) is not None:
            body = answer
        elif body.type != "assistant":
            return
        message = body.message
        if message is None or message.usage is None:
            return
        agent_id = body.agent_id or body.stream_agent or log.agent_id
        session_id = log.session_id or body.session_id or body.stream_session or ""
        record_id = (log.id << OFFSET_BITS) + offset
        key = self._reused_key(record_id) if has_reusable_id(body) else ""
        key = key or message_key(body, session_id, agent_id, log.path, offset)
        ts = dated(milliseconds(body.timestamp))
        synthetic = message.model == SYNTHETIC
        if synthetic:
            # It states nothing to us; read what it would state as if it were an answer without a model.
            body = msgspec.structs.replace(body, message=msgspec.structs.replace(message, model=""))
        odd = not _is_strict(body, line)
        run = self._adjacent(log, message.id or "", offset, length, body.uuid or "")
        side = bool(body.is_sidechain or (body.stream_parent_tool and kind != TOLD))
        for counted, said in stated(body, key, record_id, ts, log.path, session_id, agent_id):
            advises = counted != key
            yield (
                log.number,
                log.id,
                offset,
                int(log.live),
                int(offset < log.copied),
                int(log.beside),
                log.root,
                log.session_id,
                body.session_id or body.stream_session or log.session_id,
                ADVISOR if advises and kind == ANSWER else kind,
                int(synthetic),
                int(odd),
                ts,
                self._day(ts),
                (message.id or "") + counted[len(key) :],
                body.request_id or "",
                run + counted[len(key) :],
                counted,
                int(side),
                SYNTHETIC if synthetic else said.model,
                said.service_tier,
                said.speed,
                said.inference_geo,
                said.input,
                said.output,
                said.cache_read,
                said.cache_write,
                said.cache_write_5m,
                said.cache_write_1h,
                int(
                    said.cache_write_5m + said.cache_write_1h > 0
                    if advises
                    else message.usage.cache_creation is not None
                ),
                said.web_searches,
                said.recorded,
                *NOT_OTHERS,
            )

    def _reused_key(self, record_id: int) -> str:
        """Our key of an answer that its id alone does not tell from others; empty where the index has none."""
        found = self._reader.rows(
            "SELECT m.key FROM records r JOIN messages m ON m.id = r.message_id WHERE r.id = ?", (record_id,)
        )
        return next((str(key) for (key,) in found), "")

    def _adjacent(self, log: Log, identity: str, offset: int, length: int, uuid: str) -> str:
        """The first of adjacent lines with the same id."""
        known, end, first = self._run
        if not identity or known != identity or end != offset:
            first = uuid or f"{log.id}@{offset}"
        self._run = (identity, offset + length + 1, first)
        return first


def _is_strict(body: wire.Entry, line: bytes) -> bool:
    time = body.timestamp or ""
    return (
        len(time) in _TIME_LENGTHS
        and time[-1] == "Z"
        and (body.version is None or _VERSION.match(body.version) is not None)
        and not _is_unset(line)
    )


def _is_unset(line: bytes) -> bool:
    """Whether one of the fields is null at any depth: lines are long, so one pass checks all fields."""
    at = line.find(_NULL)
    while at >= 0:
        quote = line.rfind(b'"', 0, at)
        if quote >= 0 and line[quote + 1 : at] in _UNSET:
            return True
        at = line.find(_NULL, at + len(_NULL))
    return False
