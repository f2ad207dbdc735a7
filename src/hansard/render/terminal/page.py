"""A session, a part of it, or a place in it: from the title to what was not shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from hansard.render.format import many
from hansard.render.terminal.drawing import Drawing, agent_words
from hansard.render.terminal.head import family, head
from hansard.render.terminal.parts import Board
from hansard.render.terminal.spans import BOLD
from hansard.render.text import PIPED

if TYPE_CHECKING:
    from hansard.model.display import Item
    from hansard.render.depth import Depth
    from hansard.thread.thread import Selection, Thread

WIDEST = 110  # columns: longer lines are hard to read


class Sheet(NamedTuple):
    """How a session is to be drawn; `command` is what to type to show it again."""

    columns: int
    colours: bool
    depth: Depth
    command: str

    def board(self) -> Board:
        """What to draw on."""
        return Board(self.columns if self.columns >= PIPED else min(self.columns, WIDEST), self.colours)


def draw(part: Selection, sheet: Sheet) -> Iterator[str]:
    """The lines of a session, or of a part of it."""
    board = sheet.board()
    agent = part.thread.agent
    drawing = Drawing(board, sheet.depth, sheet.command, part.thread.speaker, agent=agent)
    yield from head(part.thread.session, agent, board)
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


class Excerpt(NamedTuple):
    """Items that somebody looks for, among those around them."""

    items: Sequence[Item]
    here: range
    found: str  # what is said above them
    earlier: int  # items before the first and behind the last
    later: int


def draw_place(thread: Thread, place: Excerpt, sheet: Sheet) -> Iterator[str]:
    """The lines around a place, those of the place itself in full."""
    board = sheet.board()
    drawing = Drawing(board, sheet.depth, sheet.command, thread.speaker, agent=thread.agent)
    yield from head(thread.session, thread.agent, board)
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
