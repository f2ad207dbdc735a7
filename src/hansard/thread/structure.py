"""A thread from the index, without decoding its lines: turns, outline, linked sessions, changed files, usage."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from hansard.model.gate import PREVIEW
from hansard.model.ledger import Tokens
from hansard.model.time import from_milliseconds as moment
from hansard.pricing.cost import SUMS, Sums, rates_of
from hansard.query.transcripts import FORK_TURN, SHOWN_RECORD
from hansard.storage import OFFSET_BITS, OFFSET_MASK
from hansard.storage.sqlite import to_json

if TYPE_CHECKING:
    from hansard.model.ledger import Rate
    from hansard.model.threads import Agent
    from hansard.query.reader import Reader
    from hansard.thread.reader import ThreadReader


_WORDS = PREVIEW  # characters of a prompt in the outline
_KINDS = {"queued": "prompt"}
# A turn ends with its last answer or result; later additions of the client, and notes for the next turn, do not prolong it.
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
    """The typed lines of a transcript, whose ids start at `low`."""
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
            continue  # it is empty
        found[line.id - thread.low] = line.uuid
    # Commands and queued prompts whose own lines do not tell their kind.
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
    """A turn in an outline."""

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
    """The turns from one number to another; `starts` are the starts of all turns of the thread."""
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
    """When a turn ended: at its last line, or later if the client was active longer.

    The client's own duration leaves out waits, even for a command of ten minutes, so it is not a span of time.
    """
    if started is None:
        return moment(last)
    return moment(max(started + (lasted or 0), last or started))


Times = tuple[int | None, int | None, int | None]  # the first line, the last answer or result, and what the client says


def _times(thread: ThreadReader, spans: list[tuple[int, int]]) -> dict[int, Times]:
    """When turns between pairs of ids began and ended, by the index of the pair."""
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
    """When the turn between two offsets ended, and how long it was active according to the client."""
    span = (thread.low + low, thread.low + (OFFSET_MASK if high is None else high - 1))
    _, last, lasted = _times(thread, [span]).get(0, (None, None, None))
    return find_end(None if started is None else round(started.timestamp() * 1000), last, lasted), lasted


def _failures(thread: ThreadReader, bounds: tuple[int, int]) -> list[int]:
    """Failures: of tool calls, and of requests."""
    rows = thread.reader.rows(
        "SELECT r.id, r.sidechain FROM tool_calls c JOIN blocks b ON b.id = c.id JOIN records r ON r.id = b.id - b.n"
        " WHERE c.id BETWEEN ?1 AND ?2 AND c.is_error = 1 UNION ALL"
        " SELECT id, sidechain FROM records WHERE id BETWEEN ?1 AND ?2 AND (role = 'error' OR sub = 'api_error')",
        bounds,
    )
    return list(_own(thread, rows))


def _own(thread: ThreadReader, rows: Iterable[tuple[int, int]]) -> Iterator[int]:
    """The offsets of the thread's own records; each with whether it is in a sidechain."""
    for record_id, sidechain in rows:
        if thread.has(record_id - thread.low, sidechain):
            yield record_id - thread.low


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
    """Another stored session, and how this one is linked with it."""

    relation: str
    leads: bool  # the link is from this session to the other
    session_id: str
    title: str
    turn: int | None  # of a fork or branch: the last copied turn


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


# -- the usage of turns

_NUMBERS = (
    "c.messages, c.lower_bounds, c.input, c.output, c.cache_read, c.cache_write_5m, c.cache_write_1h, c.web_searches,"
    " c.recorded, c.progress_only, c.first_ts, c.last_ts"
)
# The keys of a message and of its requests to advisors have the same beginning.
_MESSAGES = (
    f"SELECT m.id, c.key = m.key, c.session_id, c.record_id, c.rate, c.has_recorded, {_NUMBERS} FROM messages m"
    " CROSS JOIN charges c ON c.key >= m.key AND c.key <= m.key || '#advisor~' WHERE m.id BETWEEN ? AND ? ORDER BY 1"
)
# By the owner line, one of the lines between two ids. The plus signs keep SQLite from reading everything that the session owns.
_OWNED = (
    f"SELECT c.record_id, c.rate, c.has_recorded, {_NUMBERS} FROM records r CROSS JOIN messages m ON m.id = r.message_id"
    " CROSS JOIN charges c ON c.key >= m.key AND c.key <= m.key || '#advisor~' AND +c.record_id = r.id"
    " WHERE r.id BETWEEN ? AND ? AND +c.session_id = ?"
)


class TurnUsage(NamedTuple):
    """The usage of a turn or a subagent."""

    api_messages: int
    tokens: Tokens
    cost_usd: Decimal | None  # None if something was used and nothing has a price
    is_lower_bound: bool = False  # some messages were cut off, or have no price


class Request(Struct, frozen=True):
    """One API message of a thread."""

    offset: int  # of its first line
    prompt: int  # tokens sent: input, cache reads and cache writes
    output: int
    model: str


class ContextTimeline(Struct, frozen=True):
    """All requests of a thread, and the usage of each turn, subagents included."""

    requests: list[Request]
    turns: list[TurnUsage]


class UsageReader:
    """Reads the messages that a session owns, by the transcript and the place of their owner lines."""

    def __init__(
        self, reader: Reader, session_id: str, agents: Iterable[Agent], rates: Mapping[int, Rate] | None = None
    ) -> None:
        self._reader = reader
        self._session_id = session_id
        self._rates = rates_of(reader.rows) if rates is None else rates
        self._transcripts: dict[str, int] = {
            row[0]: row[1]
            for row in reader.rows(
                "SELECT agent_id, transcript FROM agents WHERE session_id = ? AND record_id IS NULL", (session_id,)
            )
        }
        self._children: dict[str, list[str]] = {}
        for agent in agents:
            if agent.parent_agent and agent.parent_agent != agent.agent_id:
                self._children.setdefault(agent.parent_agent, []).append(agent.agent_id)

    def between(
        self,
        transcript: int,
        low: int,
        high: int | None,
        agents: Iterable[str] = (),
        inside: Container[int] | None = None,
    ) -> TurnUsage:
        """The usage of the lines from one offset up to another, with these subagents and those that they started.

        With `inside` only lines at these offsets count, of a subagent in another thread's file.
        """
        sums = Sums()
        self._add(sums, transcript, low, high, inside)
        waiting = list(agents)
        seen: set[str] = set()
        while waiting:
            agent_id = waiting.pop()
            if agent_id not in seen:
                seen.add(agent_id)
                waiting += self._children.get(agent_id, ())
                if agent_id in self._transcripts:
                    self._add(sums, self._transcripts[agent_id], 0, None)
        return _used(sums, self._rates)

    def _add(
        self, sums: Sums, transcript: int, low: int, high: int | None, inside: Container[int] | None = None
    ) -> None:
        base = transcript << OFFSET_BITS
        own = base + low, base + (OFFSET_MASK if high is None else high - 1), self._session_id
        for record_id, rate, has_recorded, *numbers in self._reader.rows(_OWNED, own):
            if inside is None or record_id - base in inside:
                sums.add(rate, has_recorded, numbers)


def read_timeline(thread: ThreadReader, starts: Sequence[int], agents: Iterable[Agent]) -> ContextTimeline:
    """All requests and the usage of each turn of a thread whose turns start at these offsets."""
    reader, low, inside = thread.reader, thread.low, thread.inside
    rates = rates_of(reader.rows)
    aside = (
        {
            row[0]
            for row in reader.rows("SELECT id FROM records WHERE id BETWEEN ? AND ? AND sidechain = 1", thread.all_ids)
        }
        if inside is None and not thread.is_agent_file
        else set()
    )
    requests: list[Request] = []
    sums = [Sums() for _ in starts]
    session_id = thread.session.session_id
    for message_id, is_itself, owner, record_id, rate, has_recorded, *numbers in reader.rows(_MESSAGES, thread.all_ids):
        offset = message_id - low
        if inside is not None and offset not in inside:
            continue
        prompt = numbers[2] + numbers[4] + numbers[5] + numbers[6]
        if is_itself and prompt and message_id not in aside:
            requests.append(Request(offset, prompt, numbers[3], rates[rate].model))
        place = record_id - low
        if owner == session_id and record_id >> OFFSET_BITS == thread.transcript and starts:
            sums[max(0, bisect_right(starts, place) - 1)].add(rate, has_recorded, numbers)
    _add_agents(thread, starts, agents, sums)
    return ContextTimeline(requests, [_used(one, rates) for one in sums])


def agents_used(reader: Reader, session_id: str) -> dict[str, TurnUsage]:
    """The usage of each subagent with its own log, without the subagents it started."""
    rates = rates_of(reader.rows)
    return {agent_id: _used(sums, rates) for agent_id, sums in _of_agents(reader, session_id).items()}


def _of_agents(reader: Reader, session_id: str) -> dict[str, Sums]:
    sums: dict[str, Sums] = {}
    for agent_id, rate, has_recorded, *numbers in reader.rows(
        f"SELECT agent_id, rate, has_recorded, {SUMS} FROM spending WHERE session_id = ? AND agent_id <> ''"
        " GROUP BY agent_id, rate, has_recorded",
        (session_id,),
    ):
        sums.setdefault(agent_id, Sums()).add(rate, has_recorded, numbers)
    return sums


def _add_agents(thread: ThreadReader, starts: Sequence[int], agents: Iterable[Agent], sums: list[Sums]) -> None:
    """Add to each turn the usage of the subagents that it started, and of those that these started."""
    known = {agent.agent_id: agent for agent in agents}
    if not known or not starts:
        return
    session_id = thread.session.session_id
    called = {
        row[0]: row[1] - thread.low
        for row in thread.reader.rows(
            "SELECT agent_id, call_id FROM agents WHERE session_id = ? AND call_id BETWEEN ? AND ?",
            (session_id, *thread.all_ids),
        )
    }
    own = {
        row[0]
        for row in thread.reader.rows(
            "SELECT agent_id FROM agents WHERE session_id = ? AND record_id IS NULL", (session_id,)
        )
    }
    for agent_id, used in _of_agents(thread.reader, session_id).items():
        step: str | None = agent_id
        passed: set[str] = set()
        while step in known and step not in passed and known[step].parent_agent != thread.agent_id:
            passed.add(step)
            step = known[step].parent_agent
        place = called.get(step or "")
        if agent_id not in own or place is None:
            continue
        sums[max(0, bisect_right(starts, place) - 1)].merge(used)


def _used(sums: Sums, rates: Mapping[int, Rate]) -> TurnUsage:
    row = sums.row({}, {}, rates, "auto")
    tokens = Tokens(
        row.input_tokens,
        row.output_tokens,
        row.cache_read_tokens,
        row.cache_write_5m_tokens,
        row.cache_write_1h_tokens,
        row.web_searches,
    )
    return TurnUsage(row.api_messages, tokens, row.cost_usd, row.lower_bound_messages + row.unpriced_messages > 0)
