"""What each turn of a session used: its own messages, and those of the subagents that it started."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hansard.index.schema import OFFSET_BITS, OFFSET_MASK
from hansard.ledger.sums import Sums
from hansard.model.ledger import Tokens
from hansard.pricing.stored import rates_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping
    from decimal import Decimal

    from hansard.model.ledger import Rate
    from hansard.model.threads import Agent
    from hansard.query.reader import Reader

_COLUMNS = (
    "c.record_id, c.rate, c.has_recorded, c.messages, c.lower_bounds, c.input, c.output, c.cache_read, c.cache_write_5m,"
    " c.cache_write_1h, c.web_searches, c.recorded, c.first_ts, c.last_ts"
)
# By its owner line, which is one of the lines between two ids: a message's key, and those of what it asked advisors, begin alike.
# The plus signs keep SQLite from reading all that the session owns.
_OWNED = (
    f"SELECT {_COLUMNS} FROM records r CROSS JOIN messages m ON m.id = r.message_id"
    " CROSS JOIN charges c ON c.key >= m.key AND c.key <= m.key || '#advisor~' AND +c.record_id = r.id"
    " WHERE r.id BETWEEN ? AND ? AND +c.session_id = ?"
)


class TurnUsage(NamedTuple):
    """What a stretch of a session used."""

    api_messages: int
    tokens: Tokens
    cost_usd: Decimal | None


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
        row = sums.row({}, {}, self._rates, "auto")
        tokens = Tokens(
            row.input_tokens,
            row.output_tokens,
            row.cache_read_tokens,
            row.cache_write_5m_tokens,
            row.cache_write_1h_tokens,
            row.web_searches,
        )
        return TurnUsage(row.api_messages, tokens, row.cost_usd)

    def _add(
        self, sums: Sums, transcript: int, low: int, high: int | None, inside: Container[int] | None = None
    ) -> None:
        base = transcript << OFFSET_BITS
        own = base + low, base + (OFFSET_MASK if high is None else high - 1), self._session_id
        for record_id, rate, has_recorded, *numbers in self._reader.rows(_OWNED, own):
            if inside is None or record_id - base in inside:
                sums.add(rate, has_recorded, numbers)
