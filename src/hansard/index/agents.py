"""Subagents: the tool call that started each, at any depth, by the best available evidence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct, field

from hansard.clients import client_of
from hansard.index.record_facts import agent_facts
from hansard.index.sql import Sql
from hansard.storage import OFFSET_BITS, OFFSET_MASK

if TYPE_CHECKING:
    from hansard.index.derive import Part

_LINKED_BY = {1: "meta", 2: "result", 3: "progress", 4: "text", 5: "prompt"}
_MAX_DEPTH = 32

Owners = dict[int, tuple[str, str, str]]  # transcript -> its subagent (empty: the main thread), path and root


class _Agent(Struct):
    agent_id: str
    transcript: int
    record_id: int | None
    prompt_hash: str
    started_at: int | None
    ended_at: int | None
    messages: int
    tool_calls: int
    warmup: bool
    agent_type: str = ""
    description: str = ""
    call_id: int | None = None
    parent: str | None = None
    linked_by: str = "none"
    is_reconstructed: bool = False
    calls: set[int] = field(default_factory=set)  # of one inside a main transcript: the calls that it made


def derive_agents(db: Sql, session_id: str, parts: list[Part]) -> None:
    """Derive the rows of a session's subagents."""
    db.execute("DELETE FROM agents WHERE session_id = ?", (session_id,))
    agents = _found(db, parts)
    if not agents:
        return
    # Ids depend on the order of syncs, so paths decide between equal calls.
    owners = {part.id: (part.agent_id, part.path, part.root) for part in parts}
    mains = sorted((part.id for part in parts if not part.agent_id), key=owners.__getitem__)
    makers = {call: agent.agent_id for agent in reversed(agents.values()) for call in agent.calls}
    metas = agent_facts(db, session_id)
    claimed: set[int] = set()
    for agent in agents.values():
        meta = metas.get(agent.agent_id)
        if meta is not None:
            agent.agent_type = agent.agent_type or meta.agent_type
            agent.description = meta.description or agent.description
            agent.parent = meta.parent_agent_id if meta.parent_agent_id not in ("", agent.agent_id) else None
            if meta.tool_use_id and _link(db, agent, owners, mains, meta.tool_use_id, 1):
                claimed.add(agent.call_id or 0)
                continue
        if any(_link(db, agent, owners, mains, *ref) for ref in _refs(db, agent, mains)):
            claimed.add(agent.call_id or 0)
    _link_by_prompt(db, agents, owners, claimed)
    for agent in agents.values():
        if agent.call_id is not None:
            row = db.execute("SELECT description, agent_type FROM tool_calls WHERE id = ?", (agent.call_id,)).fetchone()
            agent.description = agent.description or row[0] or ""
            agent.agent_type = agent.agent_type or row[1] or ""
            if agent.parent is None:
                agent.parent = makers.get(agent.call_id) or owners[agent.call_id >> OFFSET_BITS][0] or None
    db.executemany(
        f"INSERT OR REPLACE INTO agents VALUES ({','.join('?' * 16)})",
        (
            (
                session_id,
                agent.agent_id,
                agent.transcript,
                agent.record_id,
                agent.call_id,
                agent.parent,
                _depth(agents, agent),
                agent.agent_type,
                agent.description,
                agent.linked_by,
                int(agent.warmup),
                agent.started_at,
                agent.ended_at,
                agent.messages,
                agent.tool_calls,
                int(agent.is_reconstructed),
            )
            for agent in agents.values()
        ),
    )


def _found(db: Sql, parts: list[Part]) -> dict[str, _Agent]:
    """Every subagent of the session: one per agent transcript, one per sidechain inside a main transcript.

    Progress records also repeat the lines of subagents that have transcripts.
    """
    agents: dict[str, _Agent] = {}
    inside: dict[str, _Agent] = {}
    sizes: dict[str, int] = {}
    for part in parts:
        state = part.state
        if part.kind == "agent":
            if sizes.get(part.agent_id, -1) < part.size:
                sizes[part.agent_id] = part.size
                own = client_of(part.client).own_agent(part.agent_id)
                agents[part.agent_id] = _Agent(
                    part.agent_id,
                    part.id,
                    None,
                    state.first_text,
                    state.first_ts,
                    state.last_ts,
                    max(state.messages, state.answers),
                    state.tool_calls,
                    # A stub is the word and at most one reply; a real task may have the same name.
                    bool(own) or (state.warmup and state.tool_calls == 0),
                    own or state.agent_type,
                    state.description,
                )
        elif part.kind == "main":
            inside.update(_inside(db, part))
    return inside | agents


def _inside(db: Sql, part: Part) -> dict[str, _Agent]:
    """The subagents inside the main transcript itself, by following their lines' parents."""
    span = (part.low, part.high)
    found: dict[str, _Agent] = {}
    by_uuid: dict[str, _Agent] = {}
    for record_id, uuid, prompt_hash, ts, named in db.execute(
        "SELECT id, uuid, prompt_hash, ts, agent_id FROM sidechains WHERE id BETWEEN ? AND ? ORDER BY id", span
    ):
        agent_id = named or f"sidechain-{uuid[:8] or record_id & OFFSET_MASK}"
        agent = _Agent(
            agent_id, part.id, record_id, prompt_hash, ts, ts, 0, 0, warmup=False, is_reconstructed=bool(named)
        )
        by_uuid[uuid] = found.setdefault(agent_id, agent)
    if not found:
        return found
    by_message: dict[int, _Agent] = {}
    for uuid, parent_uuid, ts, message_id in db.execute(
        "SELECT uuid, parent_uuid, ts, message_id FROM records WHERE id BETWEEN ? AND ? AND sidechain = 1 ORDER BY id",
        span,
    ):
        line_of = by_uuid.get(uuid) or by_uuid.get(parent_uuid)
        if line_of is None:
            continue
        by_uuid[uuid] = line_of
        line_of.ended_at = max(ts or 0, line_of.ended_at or 0) or None
        if message_id is not None and message_id not in by_message:
            by_message[message_id] = line_of
            line_of.messages += 1
    for call_id, message_id, uuid in db.execute(
        "SELECT id, message_id, (SELECT r.uuid FROM records r WHERE r.id <= c.id ORDER BY r.id DESC LIMIT 1)"
        " FROM tool_calls c WHERE id BETWEEN ? AND ? AND part = 0",
        span,
    ):
        maker = by_message.get(message_id) if message_id is not None else by_uuid.get(uuid)
        if maker is not None:
            maker.tool_calls += 1
            maker.calls.add(call_id)
    return found


def _refs(db: Sql, agent: _Agent, mains: list[int]) -> Iterator[tuple[str, int]]:
    """The calls that hints name, ranked; those of the main thread first, because every fork repeats them."""
    for rank in (2, 3, 4):
        hints = "SELECT DISTINCT tool_use_id FROM agent_refs WHERE agent_id = ? AND rank = ?"
        for transcript in mains:
            rows = db.execute(f"{hints} AND transcript = ? ORDER BY 1", (agent.agent_id, rank, transcript)).fetchall()
            yield from ((row[0], rank) for row in rows)
        rows = db.execute(f"{hints} ORDER BY 1", (agent.agent_id, rank)).fetchall()
        yield from ((row[0], rank) for row in rows)


def _link(db: Sql, agent: _Agent, owners: Owners, mains: list[int], tool_use_id: str, rank: int) -> bool:
    """Link a subagent to a call of its own session; a replay repeats calls, so the main thread's comes first."""
    calls = "SELECT id FROM tool_calls WHERE tool_use_id = ?"
    for transcript in mains:
        base = transcript << OFFSET_BITS
        found = db.execute(f"{calls} AND id BETWEEN ? AND ?", (tool_use_id, base, base + OFFSET_MASK)).fetchall()
        if _take(agent, owners, found, rank):
            return True
    return _take(agent, owners, db.execute(calls, (tool_use_id,)).fetchall(), rank)


def _take(agent: _Agent, owners: Owners, calls: list[tuple[int]], rank: int) -> bool:
    own = [call for (call,) in calls if call >> OFFSET_BITS in owners and not _made(agent, call)]
    if not own:
        return False
    agent.call_id = min(own, key=lambda call: (owners[call >> OFFSET_BITS], call & OFFSET_MASK))
    agent.linked_by = _LINKED_BY[rank]
    return True


def _made(agent: _Agent, call: int) -> bool:
    """Whether a call is the subagent's own, so that it cannot have started it."""
    return call in agent.calls if agent.record_id is not None else call >> OFFSET_BITS == agent.transcript


def _link_by_prompt(db: Sql, agents: dict[str, _Agent], owners: Owners, claimed: set[int]) -> None:
    """The oldest clients recorded only the same prompt on both sides: the n-th such agent belongs to the n-th such call."""
    waiting = sorted(
        (agent for agent in agents.values() if agent.call_id is None and agent.prompt_hash),
        key=lambda agent: (agent.started_at or 0, agent.agent_id),
    )
    for agent in waiting:
        calls = db.execute(
            "SELECT c.id, c.ts FROM json_each(?) o CROSS JOIN agent_refs r ON r.transcript = o.value CROSS JOIN tool_calls c"
            f" ON c.tool_use_id = r.tool_use_id AND c.id BETWEEN r.transcript << {OFFSET_BITS} AND (r.transcript << {OFFSET_BITS}) + {OFFSET_MASK}"
            " WHERE r.agent_id = ? AND r.rank = 5",
            (json.dumps(list(owners)), "#" + agent.prompt_hash),
        ).fetchall()
        own = [
            (ts or 0, owners[call >> OFFSET_BITS], call & OFFSET_MASK, call)
            for call, ts in calls
            if call not in claimed and not _made(agent, call)
        ]
        if own:
            agent.call_id = min(own)[3]
            agent.linked_by = _LINKED_BY[5]
            claimed.add(agent.call_id)


def _depth(agents: dict[str, _Agent], agent: _Agent) -> int:
    above = [agent.agent_id]
    parent = agent.parent
    while parent is not None and parent in agents and parent not in above and len(above) < _MAX_DEPTH:
        above.append(parent)
        parent = agents[parent].parent
    return len(above)
