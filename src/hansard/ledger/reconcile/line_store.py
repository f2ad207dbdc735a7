"""Every line that states usage, from every transcript and generation, in a separate, temporary database.

Other counting methods work on lines, so they are simulated on lines. A history can have millions, so they are stored in
a file and not in memory.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import apsw

from hansard.clients import client_of
from hansard.clients.statements import StatingClient
from hansard.clients.usage import dated, token_count
from hansard.grep.file_search import FileLocation, Tally
from hansard.index.schema import QUARTER

if TYPE_CHECKING:
    from hansard.clients.lines import Lines
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
    # Of other clients, whose files say themselves what they repeat:
    "repeats": "TEXT",  # which of the client's repetitions a line is; empty where it counts
    "orphan": "INTEGER",  # 1: copied from a session that is not in the store
    "reasoning": "INTEGER",  # tokens of the output that the client states beside it
    "message": "TEXT",  # the message that it follows, in its session
}
Row = tuple[Any, ...]
NOT_OTHERS = ("", 0, 0, "")
"""The last columns of a line of Claude Code."""
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


class Log(NamedTuple):
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


class Source(Protocol):
    """Reads the lines of a client's transcripts."""

    def rows(self, log: Log, pieces: Iterable[bytes]) -> Iterator[Row]:
        """The rows of one transcript, without their place."""


class UsageLines:
    """The lines of a client; use it in a `with`."""

    def __init__(self, reader: Reader, record: Record, zone: Zone, client: str) -> None:
        self.client = client
        self.progress: Callable[[int], None] = _nobody
        self.bytes_read = 0
        self.damaged = 0
        self._roots = {
            root.id: (number, root.path)
            for number, root in enumerate(root for root in record.roots() if root.client == client)
        }
        self.roots = [path for _, path in self._roots.values()]
        self._reader = reader
        self._record = record
        self._zone = zone
        self._days: dict[int, str] = {}
        self._logs = self._transcripts()
        self.size = sum(log.size for log in self._logs)
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

    def _transcripts(self) -> list[Log]:
        roots = self._roots
        known = {
            row[0]: row[1:] for row in self._reader.rows("SELECT id, session_id, agent_id, copied FROM transcripts")
        }
        logs = [log for log in self._record.generations() if log.kind != "history" and log.root_id in roots]

        def sort_path(log: Generation) -> str:
            return f"{log.path}\x00{roots[log.root_id][1]}"

        numbers = {path: number for number, path in enumerate(sorted({sort_path(log) for log in logs}))}
        found = []
        for log in logs:
            info = client_of(self.client).path_info(log.path)
            session_id, agent_id, copied = known.get(log.id) or (info.session_id, info.agent_id, 0)
            path = sort_path(log)
            live = log.current and log.state == "live"
            beside = log.kind == "agent" and log.path.count("/") == len("projects/x/agent.jsonl".split("/")) - 1
            found.append(
                Log(
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
        rows: list[Row] = []
        place = 0
        source = self._source()
        with self.db:
            for log in self._logs:
                tally = Tally()
                pieces = tally.read(self._record, FileLocation(log.id, is_log=True, size=log.size))
                for row in source.rows(log, self._counted(pieces)):
                    place += 1
                    rows.append((place, *row))
                    if len(rows) >= _BATCH:
                        self.db.executemany(insert, rows)
                        rows = []
                self.bytes_read += tally.searched
                self.damaged += tally.damaged
                self.progress(self.bytes_read)
            self.db.executemany(insert, rows)
            self.db.execute(_COPIES)
            self.db.execute(_RANK)
            self.db.execute(_REPEATED)

    def _source(self) -> Source:
        client = client_of(self.client)
        if isinstance(client, StatingClient):
            return StatementLines(client, self._reader, self._day)
        from hansard.ledger.reconcile.claude_lines import ClaudeLines

        return ClaudeLines(self._reader, self._day)

    def _counted(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """The pieces, with progress."""
        done = self.bytes_read
        for piece in pieces:
            yield piece
            done += len(piece)
            self.progress(done)

    def _day(self, ts: int) -> str:
        quarter = ts // QUARTER
        day = self._days.get(quarter)
        if day is None:
            from datetime import UTC, datetime

            moment = datetime.fromtimestamp(quarter * QUARTER // 1000, UTC)
            day = self._days[quarter] = self._zone.local(moment).date().isoformat() if ts else ""
        return day


def _nobody(done: int) -> None:
    """Report to nobody."""


class StatementLines:
    """Reads the statements of one transcript after the other."""

    def __init__(self, client: StatingClient, reader: Reader, day_of: Callable[[int], str]) -> None:
        self._client = client
        self._reader = client.statement_reader()
        self._day = day_of
        rows = reader.rows("SELECT iif(agent_id = '', session_id, agent_id) FROM transcripts WHERE current = 1")
        self._known = {name for (name,) in rows}
        self._shared: set[str] = set()

    def rows(self, log: Log, pieces: Iterable[bytes]) -> Iterator[Row]:
        """The rows of one transcript, without their place."""
        for number, said in enumerate(self._reader.read(_whole(self._client.lines(pieces, 0)))):
            usage = said.usage
            repeats = said.repeats
            if usage.is_shared and not repeats:
                repeats = self._reader.copied if usage.message_id in self._shared else ""
                self._shared.add(usage.message_id)
            ts = dated(said.ts)
            own = f"{log.session_id}/{usage.message_id}" if not repeats else f"{log.id}/{said.offset}/{number}"
            yield (
                *(log.number, log.id, said.offset, int(log.live and not said.is_gone), 0, 0, log.root),
                *(log.session_id, log.session_id, ANSWER, 0, 0, ts, self._day(ts), usage.message_id, "", "", own, 0),
                *(usage.model, "", "", "", token_count(usage.input), token_count(usage.output)),
                *(token_count(usage.cache_read), token_count(usage.cache_write), 0, 0, 0, 0, usage.cost),
                *(repeats, int(bool(said.origin) and said.origin not in self._known), said.reasoning),
                f"{log.session_id}/{log.agent_id}/{said.message}" if said.message else "",
            )


def _whole(lines: Lines) -> Iterator[tuple[int, bytes]]:
    """The lines, and what follows the last newline."""
    yield from lines
    if lines.rest:
        yield lines.offset, lines.rest
