"""What stands above and below a thread: which session it is, what it used, its subagents, and what was not shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from hansard.render.format import cost, duration, many, session_cost, short, span
from hansard.render.terminal.parts import Board
from hansard.render.terminal.spans import BOLD, CYAN, DIM
from hansard.render.text import fit, one_line, width

if TYPE_CHECKING:
    from hansard.model.display import Turn
    from hansard.model.sessions import Session
    from hansard.model.threads import Agent

_TITLE_LINES = 2

_SOURCE = {
    "gone": "  (gone from the source, kept here)",
    "rewritten": "  (its file was rewritten and has less of it now, kept here)",
}


def head(session: Session, agent: Agent | None, board: Board) -> Iterator[str]:
    """The title, the place, the figures and the id."""
    title = one_line(session.title[:1000]) or "(untitled)"
    if agent is not None:
        title = f"{one_line(agent.description) or one_line(agent.agent_id)} ({one_line(agent.agent_type) or 'subagent'} of: {title})"
    yield from board.lay([(BOLD, fit("◆ " * session.pinned + title, _TITLE_LINES * board.columns - 20))])
    place = [one_line(session.project), one_line(session.branch)]
    place.append(" ".join(filter(None, (session.other_client, one_line(session.version)))))
    yield from board.lay([(DIM, "  ".join(filter(None, place)))])
    if agent is not None:
        facts = [
            span(agent.started_at, agent.ended_at),
            many(agent.messages, "message"),
            many(agent.tool_calls, "tool call"),
        ]
    else:
        failed = f" ({session.tool_errors:,} failed)" if session.tool_errors else ""
        facts = [
            span(session.started_at, session.ended_at),
            many(session.prompts, "prompt"),
            many(session.messages, "message"),
            many(session.tool_calls, "tool call") + failed,
            f"{short(session.output_tokens)} tokens out",
            *filter(None, [session_cost(session)]),
        ]
        if session.lines_added or session.lines_removed:
            facts.append(
                f"+{session.lines_added:,} -{session.lines_removed:,} lines in {many(session.files_changed, 'file')}"
            )
    if facts[0] == "-":  # a saved stream has no times
        del facts[0]
    yield from board.lay([(DIM, ", ".join(facts))])
    gone = _SOURCE.get(session.source_state, "")
    yield from board.lay([(DIM, one_line(session.session_id) + gone)])
    if session.tags:
        yield from board.lay([("", "Tags: "), (CYAN, "  ".join(map(one_line, session.tags)))])
    for note in session.notes:
        first, *others = board.narrower(6).words(note)
        yield f"Note: {first}"
        yield from (f"      {other}".rstrip() for other in others)


def measures(turn: Turn) -> list[str]:
    """How long a turn took, and what it used."""
    facts = []
    if turn.started_at is not None and turn.ended_at is not None and turn.ended_at > turn.started_at:
        facts.append(duration(int((turn.ended_at - turn.started_at).total_seconds() * 1000)))
    if turn.api_messages:
        used = turn.tokens
        given = used.input + used.cache_read + used.cache_write_5m + used.cache_write_1h
        facts += [
            f"{short(given)} in, {short(used.output)} out",
            cost(turn.cost_usd, lower_bound=turn.is_lower_bound, unpriced=False),
        ]
    return facts


def family(agents: Sequence[Agent], board: Board) -> Iterator[str]:
    """The subagents of a session, each followed by those that it made."""
    inside = _ordered([agent for agent in agents if not agent.warmup])
    if inside:
        yield ""
        yield board.paint("Subagents", BOLD)
    for agent in inside:
        words = f"{one_line(agent.agent_type) or 'subagent'}: {one_line(agent.description)}"
        counts = f"{many(agent.messages, 'message')}, {many(agent.tool_calls, 'tool call')}"
        indent = "  " * max(1, min(agent.depth, 4))
        name = fit(one_line(agent.agent_id), 20)
        room = board.columns - len(indent) - width(name) - width(counts) - 4
        yield f"{indent}{board.paint(name, CYAN)}  {fit(words, room)}  {board.paint(counts, DIM)}"


def _ordered(agents: Sequence[Agent]) -> list[Agent]:
    """In the order they started, each followed by those that it made."""
    children: dict[str | None, list[Agent]] = {}
    known = {agent.agent_id for agent in agents}
    for agent in agents:
        parent = agent.parent_agent if agent.parent_agent in known and agent.parent_agent != agent.agent_id else None
        children.setdefault(parent, []).append(agent)
    ordered: list[Agent] = []
    waiting = children.pop(None, [])[::-1]
    while waiting:
        agent = waiting.pop()
        ordered.append(agent)
        waiting += children.pop(agent.agent_id, [])[::-1]
    return ordered + [agent for left in children.values() for agent in left]  # a circle of parents is still shown
