"""What the turns of a thread used: one turn where it is drawn, or all of them at once, with the size of each request."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from hansard.model.ledger import Tokens
from hansard.pricing.cost import SUMS, Sums, rates_of
from hansard.storage import OFFSET_BITS, OFFSET_MASK

if TYPE_CHECKING:
    from hansard.model.ledger import Rate
    from hansard.model.threads import Agent
    from hansard.query.reader import Reader
    from hansard.thread.reader import ThreadReader

_NUMBERS = (
    "c.messages, c.lower_bounds, c.input, c.output, c.cache_read, c.cache_write_5m, c.cache_write_1h, c.web_searches,"
    " c.recorded, c.progress_only, c.first_ts, c.last_ts"
)
# A message's key, and those of what it asked advisors, begin alike.
_MESSAGES = (
    f"SELECT m.id, c.key = m.key, c.session_id, c.record_id, c.rate, c.has_recorded, {_NUMBERS} FROM messages m"
    " CROSS JOIN charges c ON c.key >= m.key AND c.key <= m.key || '#advisor~' WHERE m.id BETWEEN ? AND ? ORDER BY 1"
)
# By its owner line, which is one of the lines between two ids. The plus signs keep SQLite from reading all that the session owns.
_OWNED = (
    f"SELECT c.record_id, c.rate, c.has_recorded, {_NUMBERS} FROM records r CROSS JOIN messages m ON m.id = r.message_id"
    " CROSS JOIN charges c ON c.key >= m.key AND c.key <= m.key || '#advisor~' AND +c.record_id = r.id"
    " WHERE r.id BETWEEN ? AND ? AND +c.session_id = ?"
)


class TurnUsage(NamedTuple):
    """What a turn or a subagent used."""

    api_messages: int
    tokens: Tokens
    cost_usd: Decimal | None  # None where something was used and nothing of it has a price
    is_lower_bound: bool = False  # some messages were cut off, or have no price


class Request(Struct, frozen=True):
    """One API message of a thread."""

    offset: int  # of its first line
    prompt: int  # tokens that it sent: input, and what was read from and written to the cache
    output: int
    model: str


class ContextTimeline(Struct, frozen=True):
    """All requests of a thread, and what each of its turns used, subagents included."""

    requests: list[Request]
    turns: list[TurnUsage]


class UsageReader:
    """The messages that a session owns, asked for by the transcript and the place of their owner lines."""

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
        """What the lines from one offset up to another used, with these subagents and those that they made.

        With `inside` only lines at these offsets count: those of a subagent in another thread's file.
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
    """All requests and the usage of each turn of a thread whose turns begin at these offsets."""
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
    """Give each turn what the subagents used that it started, and those that these made."""
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
