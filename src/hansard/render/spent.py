"""What each turn of a session used: its own messages, and those of the subagents that it started."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any, NamedTuple

from hansard.index.schema import OFFSET_BITS, OFFSET_MASK
from hansard.ledger.sums import Sums
from hansard.model import Tokens
from hansard.pricing.stored import rates_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable
    from decimal import Decimal

    from hansard.model import Agent
    from hansard.query.reader import Reader

_NUMBERS = "messages, lower_bounds, input, output, cache_read, cache_write_5m, cache_write_1h, web_searches, recorded, first_ts, last_ts"


class Used(NamedTuple):
    """What a stretch of a session used."""

    api_messages: int
    tokens: Tokens
    cost_usd: Decimal | None


class Spent:
    """The messages that a session owns, by the transcript and the place of their owner lines."""

    def __init__(
        self, reader: Reader, session_id: str, agents: Iterable[Agent], transcript: int = 0, start: int = 0
    ) -> None:
        """Of `transcript` only what stands at `start` or later is read."""
        self._rates = rates_of(reader.rows)
        self._left_out = (transcript, start)
        self._by_transcript: dict[int, list[tuple[int, Any]]] = {}
        low = transcript << OFFSET_BITS
        rows = reader.rows(
            f"SELECT record_id, rate, has_recorded, {_NUMBERS} FROM charges WHERE session_id = ?"
            " AND (record_id < ? OR record_id >= ?) ORDER BY record_id",
            (session_id, low, low + start),
        )
        for record_id, *numbers in rows:
            place = self._by_transcript.setdefault(record_id >> OFFSET_BITS, [])
            place.append((record_id & OFFSET_MASK, numbers))
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

    def knows(self, transcript: int, start: int) -> bool:
        """Whether all of a transcript from an offset on was read."""
        left_out, until = self._left_out
        return transcript != left_out or start >= until

    def between(
        self,
        transcript: int,
        low: int,
        high: int | None,
        agents: Iterable[str] = (),
        inside: Container[int] | None = None,
    ) -> Used:
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
        row = sums.row({}, {}, self._rates, "auto")
        tokens = Tokens(
            row.input_tokens,
            row.output_tokens,
            row.cache_read_tokens,
            row.cache_write_5m_tokens,
            row.cache_write_1h_tokens,
            row.web_searches,
        )
        return Used(row.api_messages, tokens, row.cost_usd)

    def _add(
        self, sums: Sums, transcript: int, low: int, high: int | None, inside: Container[int] | None = None
    ) -> None:
        owned = self._by_transcript.get(transcript, [])
        for place in range(bisect_left(owned, low, key=lambda item: item[0]), len(owned)):
            offset, (rate, has_recorded, *numbers) = owned[place]
            if high is not None and offset >= high:
                break
            if inside is None or offset in inside:
                sums.add(rate, has_recorded, numbers)
