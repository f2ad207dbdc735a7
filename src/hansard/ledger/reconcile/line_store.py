"""Every line that states usage, from every transcript and generation, in a separate, temporary database.

Other counting methods work on lines, so they are simulated on lines. A history can have millions, so they are stored in
a file and not in memory.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import apsw
import msgspec

from hansard.clients.claude_code import wire
from hansard.clients.claude_code.decode import entry, items
from hansard.clients.claude_code.layout import agent_of, session_of
from hansard.clients.claude_code.meaning import SYNTHETIC, milliseconds
from hansard.clients.claude_code.usage import embedded_answer, has_reusable_id, message_key, stated, streamed_answer
from hansard.clients.lines import ParsedLine, unfinished
from hansard.clients.usage import dated
from hansard.grep.file_search import FileLocation, Tally
from hansard.grep.matching_lines import whole_lines
from hansard.index.schema import QUARTER
from hansard.storage import OFFSET_BITS

if TYPE_CHECKING:
    from hansard.model.calendar import Zone
    from hansard.query.reader import Reader
    from hansard.record.store import Generation, Record

Progress = Callable[[int, int], None]

ANSWER, ADVISOR, TOLD = range(3)
"""Kinds of lines: an answer, a call to another model inside one, or a progress record with a copy of a subagent's answer."""

_COLUMNS = {
    "place": "INTEGER",  # position in the order of paths, generations and offsets
    "path": "INTEGER",  # position of the path in the order of paths
    "transcript": "INTEGER",
    "start": "INTEGER",  # offset
    "live": "INTEGER",  # 1: still in the source, where other tools see it
    "copy": "INTEGER",  # 1: its transcript copied the answer from another session
    "beside": "INTEGER",  # 1: in a subagent's file beside the sessions, not below one
    "root": "INTEGER",
    "belongs": "TEXT",  # the session of its transcript
    "session": "TEXT",  # the session it names
    "kind": "INTEGER",
    "synthetic": "INTEGER",
    "odd": "INTEGER",  # 1: strict readers reject it
    "ts": "INTEGER",
    "day": "TEXT",
    "id": "TEXT",
    "request": "TEXT",
    "run": "TEXT",  # the first of adjacent lines with the same id
    "ours": "TEXT",  # our key
    "side": "INTEGER",
    "model": "TEXT",
    "tier": "TEXT",
    "speed": "TEXT",
    "geo": "TEXT",
    "input": "INTEGER",
    "output": "INTEGER",
    "cache_read": "INTEGER",
    "cache_write": "INTEGER",
    "write_5m": "INTEGER",
    "write_1h": "INTEGER",
    "has_split": "INTEGER",
    "searches": "INTEGER",
    "recorded": "INTEGER",
}
_NAMES = ", ".join(_COLUMNS)
_SCHEMA = f"CREATE TABLE found ({', '.join(f'{name} {kind}' for name, kind in _COLUMNS.items())})"
# A transcript's earliest line about an answer decides whether it is a copy, as in `index.usage`.
_COPIES = f"""
CREATE TABLE copies AS SELECT rowid AS line, first_value(copy) OVER (PARTITION BY transcript, ours, kind = {TOLD} ORDER BY ts = 0, ts, start) AS copy
    FROM found WHERE synthetic = 0 AND transcript IN (SELECT transcript FROM found WHERE copy = 1);
UPDATE found SET copy = c.copy FROM copies c WHERE c.line = found.rowid;
DROP TABLE copies;
"""
# Lines own a message in our order: originals, then by time, path, offset and generation; lines without a time come last.
_RANK = f"""
CREATE TABLE line (rank INTEGER PRIMARY KEY, {", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items())},
    known INTEGER NOT NULL DEFAULT 0,  -- 1: a copy of an answer that has a line of its own
    daily TEXT);  -- how ccusage knows an answer: id and request; without a request, id, session and time
INSERT INTO line (rank, {_NAMES})
    SELECT row_number() OVER (ORDER BY copy, ts = 0, ts, path, start, transcript, place), {_NAMES} FROM found;
DROP TABLE found;
CREATE INDEX line_id ON line (id);
UPDATE line SET known = 1 WHERE kind = {TOLD} AND ours IN (SELECT ours FROM line WHERE kind <> {TOLD} AND synthetic = 0);
UPDATE line SET daily = CASE WHEN id = '' THEN '#' || rank WHEN request <> '' THEN id || ' ' || request
    ELSE id || ' ' || session || ' ' || ts END;
"""
# A subagent that begins with its parent's conversation repeats the parent's answers under other requests.
_REPEATED = """
UPDATE line SET daily = (SELECT o.daily FROM line o WHERE o.id = line.id AND o.session = line.session
        ORDER BY o.side, o.place LIMIT 1)
WHERE side = 1 AND (id, session) IN (
    SELECT id, session FROM line WHERE id <> '' GROUP BY id, session HAVING count(DISTINCT request) > 1 AND max(side) = 1
)
"""
_BATCH = 2000
_MARK = b'"usage"'
# ccusage skips lines with one of these null, a time in units other than milliseconds, or an invalid version.
_NULL = b'":null'
_UNSET = frozenset(
    b"id cwd model speed costUSD version sessionId requestId isApiErrorMessage cache_read_input_tokens"
    b" cache_creation_input_tokens".split()
)
_VERSION = re.compile(r"\d+\.\d+\.\d")
_TIME_LENGTHS = (20, 24)


class _Log(NamedTuple):
    """What lines need to know about their transcript."""

    id: int
    size: int
    path: str  # orders lines with equal times
    number: int
    live: bool
    copied: int
    beside: bool
    root: int
    session_id: str
    agent_id: str


class UsageLines:
    """The lines; use it in a `with`."""

    def __init__(self, reader: Reader, record: Record, zone: Zone, progress: Progress | None) -> None:
        self.bytes_read = 0
        self.damaged = 0
        self.roots = [root.path for root in record.roots()]
        self._reader = reader
        self._record = record
        self._zone = zone
        self._progress = progress
        self._days: dict[int, str] = {}
        self._run: tuple[str, int, str] = ("", -1, "")
        self._logs = self._transcripts()
        self._total = sum(log.size for log in self._logs)
        self.transcripts = len(self._logs)

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="hansard-", ignore_cleanup_errors=True)
        self.db = apsw.Connection(os.path.join(self._folder.name, "lines.db"))
        try:
            for name, value in (("journal_mode", "off"), ("synchronous", "off"), ("cache_size", -32_000)):
                self.db.pragma(name, value)
            self._fill()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        self.db.close()
        self._folder.cleanup()

    def count(self) -> int:
        return int(self.db.execute("SELECT count(*) FROM line").get)

    def _transcripts(self) -> list[_Log]:
        roots = {root.id: (number, root.path) for number, root in enumerate(self._record.roots())}
        known = {
            row[0]: row[1:] for row in self._reader.rows("SELECT id, session_id, agent_id, copied FROM transcripts")
        }
        logs = [log for log in self._record.generations() if log.kind != "history"]

        def sort_path(log: Generation) -> str:
            return f"{log.path}\x00{roots[log.root_id][1]}"

        numbers = {path: number for number, path in enumerate(sorted({sort_path(log) for log in logs}))}
        found = []
        for log in logs:
            unknown = (session_of(log.path) or "", agent_of(log.path) or "", 0)
            session_id, agent_id, copied = known.get(log.id) or unknown
            path = sort_path(log)
            live = log.current and log.state == "live"
            beside = log.kind == "agent" and log.path.count("/") == len("projects/x/agent.jsonl".split("/")) - 1
            found.append(
                _Log(
                    log.id,
                    log.size,
                    path,
                    numbers[path],
                    live,
                    copied,
                    beside,
                    roots[log.root_id][0],
                    session_id,
                    agent_id,
                )
            )
        return sorted(found, key=lambda log: (log.number, log.id))

    def _fill(self) -> None:
        self.db.execute(_SCHEMA)
        insert = f"INSERT INTO found VALUES ({','.join('?' * len(_COLUMNS))})"
        rows: list[tuple[Any, ...]] = []
        place = 0
        with self.db:
            for log in self._logs:
                tally = Tally()
                for row in self._rows(log, tally):
                    place += 1
                    rows.append((place, *row))
                    if len(rows) >= _BATCH:
                        self.db.executemany(insert, rows)
                        rows = []
                self.bytes_read += tally.searched
                self.damaged += tally.damaged
                self._tell(self.bytes_read)
            self.db.executemany(insert, rows)
            self.db.execute(_COPIES)
            self.db.execute(_RANK)
            self.db.execute(_REPEATED)

    def _rows(self, log: _Log, tally: Tally) -> Iterator[tuple[Any, ...]]:
        self._run = ("", -1, "")
        start = 0
        for block in whole_lines(tally.read(self._record, FileLocation(log.id, is_log=True, size=log.size))):
            found = block.find(_MARK)
            while found >= 0:
                begin = block.rfind(b"\n", 0, found) + 1
                end = block.find(b"\n", found)
                is_last = end < 0
                line = block[begin:] if is_last else block[begin:end]
                yield from self._line(log, line, start + begin, is_last=is_last)
                found = -1 if is_last else block.find(_MARK, end)
            start += len(block)
            self._tell(self.bytes_read + tally.searched)

    def _tell(self, done: int) -> None:
        if self._progress is not None:
            self._progress(done, self._total)

    def _line(self, log: _Log, line: bytes, offset: int, *, is_last: bool) -> Iterator[tuple[Any, ...]]:
        """The rows of one line, read as the index reads it."""
        body = None if is_last else entry(line)
        if body is not None:
            yield from self._record_rows(log, line, offset, len(line), body)
            return
        for item in unfinished(line, offset, items) if is_last else items(line, offset):
            if isinstance(item, ParsedLine) and isinstance(item.body, wire.Entry):
                yield from self._record_rows(log, line, item.offset, item.length, item.body)

    def _record_rows(
        self, log: _Log, line: bytes, offset: int, length: int, body: wire.Entry
    ) -> Iterator[tuple[Any, ...]]:
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
            )

    def _reused_key(self, record_id: int) -> str:
        """Our key of an answer that its id alone does not tell from others; empty where the index has none."""
        found = self._reader.rows(
            "SELECT m.key FROM records r JOIN messages m ON m.id = r.message_id WHERE r.id = ?", (record_id,)
        )
        return next((str(key) for (key,) in found), "")

    def _adjacent(self, log: _Log, identity: str, offset: int, length: int, uuid: str) -> str:
        """The first of adjacent lines with the same id."""
        known, end, first = self._run
        if not identity or known != identity or end != offset:
            first = uuid or f"{log.id}@{offset}"
        self._run = (identity, offset + length + 1, first)
        return first

    def _day(self, ts: int) -> str:
        quarter = ts // QUARTER
        day = self._days.get(quarter)
        if day is None:
            from datetime import UTC, datetime

            moment = datetime.fromtimestamp(quarter * QUARTER // 1000, UTC)
            day = self._days[quarter] = self._zone.local(moment).date().isoformat() if ts else ""
        return day


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
