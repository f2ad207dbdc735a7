"""A session, some of its turns, or the context of one line, with title and a count of what is not shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from hansard.model.display import Item
from hansard.render.depth import Depth
from hansard.render.format import agent_counts, changed_lines, many, relation, session_cost, session_counts, short, span
from hansard.render.terminal.drawing import Drawing, agent_words
from hansard.render.terminal.parts import Board
from hansard.render.terminal.spans import BOLD, CYAN, DIM
from hansard.render.text import PIPED, fit, one_line, short_id, width

if TYPE_CHECKING:
    from hansard.model.sessions import Session
    from hansard.model.threads import Agent
    from hansard.thread.thread import Selection, Thread

_TITLE_LINES = 2
_ORIGINS = frozenset({"fork", "branch", "continued_in", "resumed", "clear"})

_SOURCE = {
    "gone": "  (gone from the source, kept here)",
    "freed": "  (freed in the client's folder, kept here)",
    "rewritten": "  (its file was rewritten and now holds less; kept here)",
}


def head(session: Session, agent: Agent | None, board: Board) -> Iterator[str]:
    title = one_line(session.title[:1000]) or "(untitled)"
    if agent is not None:
        title = f"{one_line(agent.name)} (subagent of: {title})"
    yield from board.lay([(BOLD, fit("◆ " * session.pinned + title, _TITLE_LINES * board.columns - 20))])
    place = [one_line(session.project), one_line(session.branch)]
    place.append(" ".join(filter(None, (session.other_client, one_line(session.version)))))
    yield from board.lay([(DIM, "  ".join(filter(None, place)))])
    if agent is not None:
        facts = [span(agent.started_at, agent.ended_at), *agent_counts(agent)]
    else:
        facts = [
            span(session.started_at, session.ended_at),
            *session_counts(session),
            *([] if session.output_tokens is None else [f"{short(session.output_tokens)} tokens out"]),
            *filter(None, [session_cost(session)]),
            *changed_lines(session),
        ]
    if facts[0] == "-":  # a saved stream has no times
        del facts[0]
    yield from board.lay([(DIM, ", ".join(facts))])
    gone = _SOURCE.get(session.source_state, "")
    yield from board.lay([(DIM, one_line(session.session_id) + gone)])
    if session.tags:
        yield from board.lay([("", "Tags: "), (CYAN, "  ".join(map(one_line, session.tags)))])
    if session.pinned_messages:
        yield from board.lay([("", "Pinned messages: "), (CYAN, "  ".join(one[:8] for one in session.pinned_messages))])
    for note in session.notes:
        first, *others = board.narrower(6).words(note)
        yield f"Note: {first}"
        yield from (f"      {other}".rstrip() for other in others)


def origins(thread: Thread, board: Board) -> Iterator[str]:
    """The sessions that this one was forked or continued from."""
    for other in thread.neighbours():
        if not other.leads and other.relation in _ORIGINS:
            title = one_line(other.title[:200])
            yield from board.lay([(DIM, f"{relation(other)} {short_id(other.session_id)}  {title}".rstrip())])


def family(agents: Sequence[Agent], board: Board) -> Iterator[str]:
    """The subagents of a session, each followed by its own."""
    inside = _ordered([agent for agent in agents if not agent.warmup])
    if inside:
        yield ""
        yield board.paint("Subagents", BOLD)
    for agent in inside:
        words = one_line(agent.name)
        counts = ", ".join(agent_counts(agent))
        indent = "  " * max(1, min(agent.depth, 4))
        name = fit(one_line(agent.agent_id), 20)
        room = board.columns - len(indent) - width(name) - width(counts) - 4
        yield f"{indent}{board.paint(name, CYAN)}  {fit(words, room)}  {board.paint(counts, DIM)}"
    if own := Counter(agent.agent_type for agent in agents if agent.warmup):
        yield ""
        kinds = ", ".join(many(number, one_line(kind) or "warm-up") for kind, number in own.items())
        yield board.paint(f"The client's own subagents: {kinds}", DIM)


def _ordered(agents: Sequence[Agent]) -> list[Agent]:
    """Subagents in the order they started, each followed by its own."""
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


WIDEST = 110  # columns: longer lines are hard to read


class Sheet(Struct, frozen=True):
    """How a session is to be drawn; `command` is what to type to show it again."""

    columns: int
    colours: bool
    depth: Depth
    command: str

    def board(self) -> Board:
        return Board(self.columns if self.columns >= PIPED else min(self.columns, WIDEST), self.colours)


def draw(part: Selection, sheet: Sheet) -> Iterator[str]:
    """The lines of a session, or of a part of it."""
    board = sheet.board()
    agent = part.thread.agent
    drawing = Drawing(board, sheet.depth, sheet.command, part.thread.speaker, agent=agent)
    yield from head(part.thread.session, agent, board)
    if agent is None:
        yield from origins(part.thread, board)
    if part.branch:
        yield ""
        yield drawing.rule(f"branch {part.branch}, which the session did not continue on")
    if part.earlier:
        yield ""
        yield drawing.rule(f"… {many(part.earlier, 'earlier turn')}: --turn {_numbers(1, part.earlier)}")
    last = part.earlier
    for turn in part.turns:
        last = turn.number
        yield from drawing.turn(turn, branch=part.branch)
    if part.later:
        yield ""
        yield drawing.rule(f"… {many(part.later, 'later turn')}: --turn {_numbers(last + 1, last + part.later)}")
    is_whole = not part.earlier and not part.later
    if agent is None and is_whole:
        if sheet.depth.agents:
            for other in part.thread.others():
                yield ""
                inner = Drawing(board, sheet.depth, sheet.command, drawing.speaker, agent=other.agent)
                if other.agent is not None:
                    yield inner.rule(f"{agent_words(other.agent)}, whose call is not here", style=BOLD)
                for turn in other.turns():
                    yield from inner.turn(turn)
                yield from inner.left_out(other.not_shown)
        else:
            yield from family(part.thread.agents, board)
    yield from drawing.left_out(part.thread.not_shown)


def _numbers(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


class Excerpt(Struct, frozen=True):
    """The items to show, with those around them."""

    items: Sequence[Item]
    here: range
    found: str  # the heading above them
    earlier: int  # items before the first and behind the last
    later: int


def draw_place(thread: Thread, place: Excerpt, sheet: Sheet) -> Iterator[str]:
    """The context of a line, and the line itself in full."""
    board = sheet.board()
    drawing = Drawing(board, sheet.depth, sheet.command, thread.speaker, agent=thread.agent)
    yield from head(thread.session, thread.agent, board)
    if thread.agent is None:
        yield from origins(thread, board)
    if place.earlier:
        yield ""
        yield drawing.rule(f"… {many(place.earlier, 'earlier entry', 'earlier entries')}")
    for number, item in enumerate(place.items):
        here = number in place.here
        if number in (place.here.start, place.here.stop):
            drawing.forget()
            if here:
                yield ""
                yield drawing.rule(place.found, "▶ ", BOLD)
        yield from drawing.item(item, whole=here)
    if place.later:
        yield ""
        yield drawing.rule(f"… {many(place.later, 'later entry', 'later entries')}")
