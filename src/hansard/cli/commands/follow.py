"""`hansard show --follow`: a session as it goes on."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hansard.cli.commands.show import say, sheet
from hansard.cli.context import Context, no_roots, note
from hansard.render.terminal.drawing import Drawing
from hansard.render.terminal.page import head

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.model.display import Item, Turn
    from hansard.model.sessions import Session
    from hansard.render.depth import Depth


def follow(cli: Context, name: str, agent: str | None, depth: Depth, *, newest: int) -> None:
    """Write the last turns, and then whatever is added, until ctrl-c."""
    cli.must_sync("--follow")
    with cli.engine() as h:
        if not h.roots:
            raise no_roots()
        # Ctrl-c is how it ends, so it is no failure.
        with contextlib.suppress(KeyboardInterrupt):
            told: FollowPrinter | None = None
            for _ in h.watch(threading.Event()):
                if told is None:
                    told = FollowPrinter(cli, h, h.session(name), agent, depth._replace(agents=False), newest)
                say(told.news(h))
    note("stopped")


class FollowPrinter:
    """What has been written of a session."""

    def __init__(
        self, cli: Context, h: Hansard, session: Session, agent: str | None, depth: Depth, newest: int
    ) -> None:
        self.session = session
        self.newest = newest
        thread = h.read(session, agent, pictures=False, subagents=False)
        self.agent = thread.agent
        page = sheet(cli, session, depth)
        self.board = page.board()
        self.drawing = Drawing(self.board, depth, page.command, thread.speaker, agent=self.agent)
        self.transcript = -1
        self.turn = 0  # the number of the last one
        self.offset = 0  # where it begins
        self.items: dict[str, bool] = {}  # of it, and whether each waits for a result
        self.last = ""  # the one written last

    def news(self, h: Hansard) -> Iterator[str]:
        """The lines of what is new."""
        agent = self.agent.agent_id if self.agent is not None else None
        thread = h.read(self.session, agent, pictures=False, subagents=False)
        if thread.transcript != self.transcript:  # the first look, or another file in its place
            if self.transcript < 0:
                yield from head(self.session, self.agent, self.board)
            self.transcript = thread.transcript
            starts = thread.starts
            first = max(0, len(starts) - self.newest)
            self.turn, self.offset = first, starts[first].offset if starts else 0
            self.items = {}
            turns = thread.turns(self.offset, first + 1)
        else:
            turns = thread.turns(self.offset, max(self.turn, 1))
        before: Turn | None = None
        for turn in turns:
            yield from self._turn(turn, before)
            before = turn

    def _turn(self, turn: Turn, before: Turn | None) -> Iterator[str]:
        if turn.number > self.turn:
            if before is not None:
                yield from self.drawing.closing(before)
            self.turn, self.offset, self.items = turn.number, turn.items[0].offset, {}
            yield ""
            yield self.drawing.header(turn, finished=False)
            self.drawing.forget()
        for item in turn.items:
            waits = item.facts.outcome == "no result"
            known = self.items.get(item.anchor)
            if known is None and not item.branch:
                yield from self.drawing.item(_running(item) if waits else item)
            elif known and not waits:
                yield from self.drawing.answer(item, again=self.last != item.anchor)
            else:
                continue
            self.items[item.anchor] = waits
            self.last = item.anchor


def _running(item: Item) -> Item:
    return replace(item, facts=replace(item.facts, outcome="running"))
