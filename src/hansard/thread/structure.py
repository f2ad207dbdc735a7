"""The structure of a thread, read from the index without decoding its lines: turns, outline, linked sessions, changed files."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from hansard.model.time import from_milliseconds as moment
from hansard.query.transcripts import FORK_TURN, SHOWN_RECORD
from hansard.storage import OFFSET_MASK, to_json

if TYPE_CHECKING:
    from hansard.query.reader import Reader
    from hansard.thread.reader import ThreadReader


_WORDS = 400  # characters of a prompt in the outline
_KINDS = {"queued": "prompt"}
# A turn ends with its last answer or result; what the client adds later, and notes that come for the next one, do not prolong it.
_ENDS = (
    "r.message_id IS NOT NULL OR r.role IN ('result', 'error', 'prompt', 'instruction', 'command', 'bash', 'command_output',"
    " 'bash_output', 'interruption') OR r.sub IN ('compact_boundary', 'local_command')"
)


class Start(NamedTuple):
    """Where a turn begins."""

    offset: int
    branch: int


class Typed(Struct, frozen=True):
    """A typed line, or the instructions of a subagent."""

    id: int
    uuid: str | None
    parent_uuid: str | None
    kind: str
    role: str
    sidechain: int

    @property
    def is_prompt(self) -> bool:
        """Whether it is a separate line, which may replace another."""
        return self.kind == "user" and self.role == "prompt"


def typed_lines(reader: Reader, low: int) -> list[Typed]:
    """Those of a transcript, whose ids begin at `low`."""
    rows = reader.rows(
        "SELECT id, uuid, parent_uuid, kind, role, sidechain FROM records WHERE id BETWEEN ? AND ?"
        " AND role IN ('prompt', 'instruction', 'command', 'bash') ORDER BY id",
        (low, low + OFFSET_MASK),
    )
    return [Typed(*row) for row in rows]


def find_starts(thread: ThreadReader) -> list[Start]:
    """Where each turn of a thread begins; only its first entry is read."""
    found: dict[int, str | None] = {}
    for line in thread.typed:
        if thread.only is not None:
            if line.uuid not in thread.only:
                continue
        elif line.sidechain and not thread.is_agent_file:
            continue
        if (line.kind, line.role) == ("attachment", "prompt") and not thread.queued.get(line.id - thread.low):
            continue  # there is nothing in it
        found[line.id - thread.low] = line.uuid
    # Commands and queued prompts whose own lines do not say what they are.
    for record_id, kind, uuid, role, sidechain in thread.reader.rows(
        "SELECT p.id, r.kind, r.uuid, r.role, coalesce(r.sidechain, 0) FROM prompts p LEFT JOIN records r ON r.id = p.id"
        " WHERE p.id BETWEEN ? AND ?",
        thread.all_ids,
    ):
        is_inside = uuid in thread.only if thread.only is not None else thread.is_agent_file or not sidechain
        if role is None and is_inside and (kind is not None or record_id - thread.low in thread.queued):
            found[record_id - thread.low] = uuid
    starts = [Start(offset, thread.branches.of(found[offset])) for offset in sorted(found)]
    first = thread.first(starts[0].offset if starts else None)
    if first is not None:
        starts.insert(0, Start(first.offset, first.branch))
    return starts


class OutlineTurn(Struct, frozen=True):
    """A turn as an outline names it."""

    number: int
    offset: int
    branch: int
    kind: str  # prompt, command, bash; empty: no prompt
    text: str
    failed: bool
    started_at: datetime | None
    ended_at: datetime | None
    active_ms: int | None


class Compaction(Struct, frozen=True):
    """Where a conversation was replaced by its summary."""

    offset: int
    at: datetime | None
    trigger: str
    tokens_before: int | None


def read_outline(thread: ThreadReader, starts: Sequence[Start], first: int, last: int) -> list[OutlineTurn]:
    """The turns from one number to another; `starts` are where all of the thread's begin."""
    chosen = list(starts[first - 1 : last])
    if not chosen:
        return []
    reader, low = thread.reader, thread.low
    ends = [start.offset for start in starts[first : last + 1]]
    bounds = low + chosen[0].offset, low + (ends[-1] - 1 if len(ends) == len(chosen) else OFFSET_MASK)
    said = {
        row[0] - low: row[1:]
        for row in reader.rows(
            f"SELECT id, source, substr(text, 1, {_WORDS}), ts FROM prompts WHERE id BETWEEN ? AND ?", bounds
        )
    }
    offsets = [start.offset for start in chosen]
    failed = {bisect_right(offsets, place) - 1 for place in _failures(thread, bounds)}
    spans = [(low + start, low + end - 1) for start, end in zip(offsets, [*ends, OFFSET_MASK + 1], strict=False)]
    times = _times(thread, spans)
    told_to = {
        line.id for line in thread.typed if line.role == "instruction"
    }  # subagent instructions are not human prompts
    told = []
    for place, start in enumerate(chosen):
        source, text, asked = said.get(start.offset, ("", "", None))
        number = first + place
        if not source and low + start.offset in told_to:
            source = "prompt"
        first_ts, last_ts, lasted = times.get(place, (None, None, None))
        stamps = [stamp for stamp in (asked, first_ts) if stamp is not None]
        begun = min(stamps, default=None)
        ended = find_end(begun, last_ts, lasted)
        kind = _KINDS.get(source, source)
        told.append(
            OutlineTurn(number, start.offset, start.branch, kind, text, place in failed, moment(begun), ended, lasted)
        )
    return told


def find_end(started: int | None, last: int | None, lasted: int | None) -> datetime | None:
    """When a turn ended: with its last line, or later if the client was active for longer.

    The client's own duration leaves out waits, even for a command of ten minutes, so it is not a span of time.
    """
    if started is None:
        return moment(last)
    return moment(max(started + (lasted or 0), last or started))


Times = tuple[int | None, int | None, int | None]  # the first line, the last answer or result, and what the client says


def _times(thread: ThreadReader, spans: list[tuple[int, int]]) -> dict[int, Times]:
    """When turns between ids began and ended, by the place of the pair."""
    if thread.inside is None:
        sides = "" if thread.is_agent_file else " AND r.sidechain = 0"
        rows = thread.reader.rows(
            f"SELECT s.key, min(CASE WHEN {SHOWN_RECORD} THEN r.ts END), max(CASE WHEN {_ENDS} THEN r.ts END),"
            " (SELECT sum(d.ms) FROM turn_durations d WHERE d.id BETWEEN s.value ->> 0 AND s.value ->> 1)"
            " FROM json_each(?) s CROSS JOIN records r ON r.id BETWEEN s.value ->> 0 AND s.value ->> 1"
            f" WHERE ({SHOWN_RECORD} OR {_ENDS}){sides} GROUP BY s.key",
            (to_json(spans),),
        )
        return {row[0]: row[1:] for row in rows}
    found: dict[int, Times] = {}
    for place, span in enumerate(spans):
        rows = thread.reader.rows(
            f"SELECT r.id, CASE WHEN {SHOWN_RECORD} THEN r.ts END, CASE WHEN {_ENDS} THEN r.ts END FROM records r"
            f" WHERE r.id BETWEEN ? AND ? AND ({SHOWN_RECORD} OR {_ENDS})",
            span,
        )
        stamps = [row[1:] for row in rows if row[0] - thread.low in thread.inside]
        first, last = (
            ([ts for ts in column if ts is not None] for column in zip(*stamps, strict=True)) if stamps else ([], [])
        )
        found[place] = min(first, default=None), max(last, default=None), None
    return found


def end_of_turn(
    thread: ThreadReader, started: datetime | None, low: int, high: int | None
) -> tuple[datetime | None, int | None]:
    """When the turn between two offsets ended, and how long the client says it was active."""
    span = (thread.low + low, thread.low + (OFFSET_MASK if high is None else high - 1))
    _, last, lasted = _times(thread, [span]).get(0, (None, None, None))
    return find_end(None if started is None else round(started.timestamp() * 1000), last, lasted), lasted


def _failures(thread: ThreadReader, bounds: tuple[int, int]) -> list[int]:
    """Where something failed: calls of tools, and requests."""
    rows = thread.reader.rows(
        "SELECT r.id, r.sidechain FROM tool_calls c JOIN blocks b ON b.id = c.id JOIN records r ON r.id = b.id - b.n"
        " WHERE c.id BETWEEN ?1 AND ?2 AND c.is_error = 1 UNION ALL"
        " SELECT id, sidechain FROM records WHERE id BETWEEN ?1 AND ?2 AND (role = 'error' OR sub = 'api_error')",
        bounds,
    )
    return list(_own(thread, rows))


def _own(thread: ThreadReader, rows: Iterable[tuple[int, int]]) -> Iterator[int]:
    """The offsets of those records that are the thread's own; each with whether it is a sidechain's."""
    for record_id, sidechain in rows:
        place = record_id - thread.low
        if thread.is_agent_file or (not sidechain if thread.inside is None else place in thread.inside):
            yield place


def find_places(thread: ThreadReader, kind: str) -> list[int]:
    """The offsets of the `errors` or the `edits` of a thread, in order."""
    bounds = thread.low, thread.low + OFFSET_MASK
    if kind == "errors":
        return sorted(set(_failures(thread, bounds)))
    rows = thread.reader.rows(
        "SELECT r.id, r.sidechain FROM tool_calls c JOIN blocks b ON b.id = c.id JOIN records r ON r.id = b.id - b.n"
        " WHERE c.id BETWEEN ? AND ? AND c.change IS NOT NULL",
        bounds,
    )
    return sorted(set(_own(thread, rows)))


def read_compactions(thread: ThreadReader) -> list[Compaction]:
    """Where a thread was compacted."""
    return [
        Compaction(record_id - thread.low, moment(ts), trigger or "", before)
        for record_id, ts, trigger, before in thread.reader.rows(
            "SELECT id, ts, trigger, pre_tokens FROM compactions WHERE id BETWEEN ? AND ? ORDER BY id", thread.all_ids
        )
        if thread.inside is None or record_id - thread.low in thread.inside
    ]


# -- around it


class Neighbour(Struct, frozen=True):
    """Another session that is kept, and how this one is linked with it."""

    relation: str
    leads: bool  # the link goes from this session to the other
    session_id: str
    title: str
    turn: int | None  # of a fork or branch: the last turn that it copied


class ChangedFile(Struct, frozen=True):
    """A file that a session changed."""

    path: str
    changes: int
    added: int  # lines
    removed: int


def list_neighbours(reader: Reader, session_id: str) -> list[Neighbour]:
    """The sessions that one is linked with."""
    rows = reader.rows(
        f"SELECT l.relation, l.source = ?1, s.session_id, s.title, {FORK_TURN} FROM links l JOIN sessions s"
        " ON s.session_id = iif(l.source = ?1, l.target, l.source)"
        " WHERE (l.source = ?1 OR l.target = ?1) AND s.session_id <> ?1 ORDER BY l.relation, s.started_at, s.session_id",
        (session_id,),
    )
    return [Neighbour(relation, bool(leads), other, title, turn) for relation, leads, other, title, turn in rows]


def list_changed_files(reader: Reader, session_id: str, limit: int) -> list[ChangedFile]:
    """The files that a session changed, the most changed first."""
    rows = reader.rows(
        "SELECT path, changes, added, removed FROM session_files WHERE session_id = ? AND changes > 0"
        " ORDER BY added + removed DESC, path LIMIT ?",
        (session_id, limit),
    )
    return [ChangedFile(*row) for row in rows]
