"""What a session's page says about the session: its subagents, its neighbours, and how to go on with it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hansard.thread.context_timeline import ContextUsage, agents_used

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.model.sessions import Session
    from hansard.model.threads import Agent
    from hansard.thread.neighbours import Neighbour

_RELATIONS = {
    "fork": ("Forked{} into", "Forked{} from"),
    "branch": ("Branched{} into", "Branched{} from"),
    "continued_in": ("Continued in", "Continues"),
    "resumed": ("Resumed in", "Resumed from"),
    "clear": ("Went on after /clear in", "Begun by /clear in"),
    "context": ("Gave its context to", "Has the context of"),
    "summary": ("Holds the title of", "Its title stands in"),
}


@dataclass(frozen=True, slots=True)
class AgentRow:
    """A subagent in the tree of them."""

    agent: Agent
    depth: int
    used: ContextUsage | None


def relation(neighbour: Neighbour) -> str:
    """How a session is linked with another, in words."""
    leading, led = _RELATIONS.get(neighbour.relation, (neighbour.relation, neighbour.relation))
    place = f" at turn {neighbour.turn}" if neighbour.turn else ""
    return (leading if neighbour.leads else led).format(place)


def agent_tree(h: Hansard, session_id: str, agents: Iterable[Agent]) -> list[AgentRow]:
    """Subagents, each below the one that made it."""
    known = {agent.agent_id: agent for agent in agents}
    if not known:
        return []
    used = agents_used(h.reader, session_id)
    children: dict[str | None, list[Agent]] = {}
    for agent in known.values():
        parent = agent.parent_agent if agent.parent_agent in known else None
        children.setdefault(None if parent == agent.agent_id else parent, []).append(agent)
    rows: list[AgentRow] = []
    waiting = [(agent, 0) for agent in reversed(children.get(None, []))]
    while waiting or known:
        agent, depth = waiting.pop() if waiting else (next(iter(known.values())), 0)  # the rest goes round in a circle
        if known.pop(agent.agent_id, None) is None:
            continue
        rows.append(AgentRow(agent, depth, used.get(agent.agent_id)))
        waiting += [(child, depth + 1) for child in reversed(children.get(agent.agent_id, []))]
    return rows


def resume_command(session: Session) -> str:
    """What goes on with a session in its directory, for a shell."""
    command = f"claude --resume {shlex.quote(session.session_id)}"
    return f"cd {shlex.quote(session.cwd)} && {command}" if session.cwd else command
