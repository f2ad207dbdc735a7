"""The lines behind messages: found in every transcript and generation, read from the verbatim record, decoded again."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from hansard.clients import client_of
from hansard.clients.usage import NEVER, SIDECHAIN, Answer, Stated, dated
from hansard.storage import OFFSET_BITS, OFFSET_MASK

if TYPE_CHECKING:
    from hansard.query.reader import Reader
    from hansard.record.store import Record

ADVISOR = "#advisor"
UNREADABLE = "cannot be read any more: `hansard verify` shows what is damaged"
SILENT = "states no tokens"
_PIECE = 256 * 1024


class TranscriptFile(NamedTuple):
    """The transcript that a line stands in."""

    client: str
    root: str
    path: str
    generation: int
    state: str
    session_id: str
    agent_id: str
    copied: int  # bytes at its beginning that it copied from another session
    is_current: int  # 1: the generation of its file that sessions are read from

    @property
    def sort_path(self) -> str:
        """The path by which equally old lines are ordered."""
        return f"{self.path}\x00{self.root}"

    def read_answer(self, line: bytes) -> Answer | None:
        """The answer that one of its lines has."""
        return client_of(self.client).answer(line)


class Line(NamedTuple):
    """One line about a message, and what it states of it."""

    id: int
    place: TranscriptFile
    length: int
    uuid: str | None
    ts: int
    stop_reason: str | None
    agent_id: str
    stated: Stated | None
    note: str = ""
    is_copy: bool = False  # its transcript copied the message from another session

    @property
    def transcript(self) -> int:
        """The number of its transcript in the record."""
        return self.id >> OFFSET_BITS

    @property
    def offset(self) -> int:
        """Where it begins in its transcript."""
        return self.id & OFFSET_MASK

    def order(self) -> tuple[bool, int, str, int, int]:
        """The order of owners, as `Stated.owner` has it."""
        return (self.is_copy, self.ts or NEVER, self.place.sort_path, self.offset, self.id)


def lines_of(reader: Reader, record: Record, keys: Collection[str]) -> dict[str, list[Line]]:
    """The lines of each of these messages in the order of owners.

    The index of lines leads from a line to its message only, so each transcript that has one of the messages is walked once,
    from the first of their lines on.
    """
    found: dict[str, list[Line]] = {key: [] for key in keys}
    wanted: dict[int, dict[int, list[str]]] = {}  # transcript -> its message -> keys
    bases: dict[int, str] = {}
    for key in keys:
        base, numbers = _messages(reader, key)
        for number in numbers:
            bases[number] = base
            wanted.setdefault(number >> OFFSET_BITS, {}).setdefault(number, []).append(key)
        if not numbers:
            found[key] = list(_progress_lines(reader, record, key))
    for transcript, messages in sorted(wanted.items()):
        place = _place(reader, transcript)
        window = _Window(record, transcript)
        records: Iterator[Any] = reader.rows(
            "SELECT id, length, uuid, ts, message_id FROM records WHERE id BETWEEN ? AND ?"
            " AND message_id IN (SELECT value FROM json_each(?)) ORDER BY id",
            (min(messages), (transcript << OFFSET_BITS) + OFFSET_MASK, json.dumps(list(messages))),
        )
        for record_id, length, uuid, ts, message in records:
            answer = place.read_answer(window.read(record_id & OFFSET_MASK, length))
            line = Line(record_id, place, length, uuid, dated(ts), None, place.agent_id, None, UNREADABLE)
            states: dict[str, Stated] = {}
            if answer is not None:
                agent_id = answer.agent_id or place.agent_id or (SIDECHAIN if answer.is_aside else "")
                line = line._replace(stop_reason=answer.stop_reason, agent_id=agent_id, note=SILENT)
                states = dict(
                    answer.stated(bases[message], record_id, line.ts, place.sort_path, place.session_id, agent_id)
                )
            for key in messages[message]:
                statement = states.get(key)
                if statement is not None:
                    found[key].append(line._replace(stated=statement, note=""))
                elif answer is None or key == bases[message]:
                    found[key].append(line)
    return {key: _ordered(lines) for key, lines in found.items()}


def _progress_lines(reader: Reader, record: Record, key: str) -> Iterator[Line]:
    """The progress records that repeat a message of a subagent whose transcript is gone."""
    base, mark, number = key.rpartition(ADVISOR)
    base = base if mark and number.isdecimal() else key
    for record_id, length, said in reader.rows(
        "SELECT id, length, key FROM progress_answers WHERE key IN (?, ?) ORDER BY id", (key, base)
    ):
        place = _place(reader, record_id >> OFFSET_BITS)
        answer = place.read_answer(_Window(record, record_id >> OFFSET_BITS).read(record_id & OFFSET_MASK, length))
        line = Line(record_id, place, length, None, 0, None, place.agent_id, None, UNREADABLE)
        if answer is not None:
            ts, agent_id = answer.ts, answer.agent_id or place.agent_id or SIDECHAIN
            states = answer.stated(said, record_id, ts, place.sort_path, place.session_id, agent_id)
            statement = dict(states).get(key)
            line = line._replace(uuid=answer.uuid, ts=ts, stop_reason=answer.stop_reason, agent_id=agent_id)
            line = line._replace(stated=statement, note="" if statement is not None else SILENT)
        yield line


def _place(reader: Reader, transcript: int) -> TranscriptFile:
    row = reader.one(
        "SELECT client, root, path, generation, state, session_id, agent_id, copied, current FROM transcripts WHERE id = ?",
        (transcript,),
    )
    return TranscriptFile(*row)


def _ordered(lines: list[Line]) -> list[Line]:
    """Lines in the order of owners; whether a transcript copied a message, its earliest line that states something tells."""
    is_copy: dict[int, bool] = {}
    for line in sorted(lines, key=lambda line: (line.stated is None, *line.order())):
        is_copy.setdefault(line.transcript, line.offset < line.place.copied)
    marked = [line._replace(is_copy=is_copy[line.transcript]) for line in lines]
    for line in marked:
        if line.stated is not None:
            line.stated.is_copy = line.is_copy
    return sorted(marked, key=Line.order)


def _messages(reader: Reader, key: str) -> tuple[str, list[int]]:
    """The key under which lines know a message, and its first line in each transcript; advisors stand in another's lines."""
    numbers = _first_lines(reader, key)
    base, mark, number = key.rpartition(ADVISOR)
    if not numbers and mark and number.isdecimal():
        return base, _first_lines(reader, base)
    return key, numbers


def _first_lines(reader: Reader, key: str) -> list[int]:
    return [row[0] for row in reader.rows("SELECT id FROM messages WHERE key = ? ORDER BY id", (key,))]


class _Window:
    """The bytes of one transcript, read forwards a piece at a time: neighbouring lines are unpacked once."""

    def __init__(self, record: Record, transcript: int) -> None:
        self._record = record
        self._transcript = transcript
        self._start = 0
        self._bytes = b""

    def read(self, start: int, length: int) -> bytes:
        """The bytes of a line; NULs where they are damaged."""
        end = start + length
        if not self._start <= start <= end <= self._start + len(self._bytes):
            piece_end = -(-end // _PIECE) * _PIECE
            self._bytes = b"".join(self._record.read(self._transcript, start, piece_end, mend=True))
            self._start = start
        return self._bytes[start - self._start : end - self._start]
