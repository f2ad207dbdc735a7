"""Which thread of a session a request asks for, and which stretch of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import tzinfo
from typing import TYPE_CHECKING, cast

from hansard.errors import NotFound, UsageError
from hansard.index.schema import OFFSET_MASK
from hansard.thread.raw_lines import call_of_result
from hansard.web.reading import Reading, open_reading

if TYPE_CHECKING:
    from starlette.requests import Request

    from hansard.engine import Hansard
    from hansard.model.sessions import Session
    from hansard.thread.windows import Budget, Window
    from hansard.web.params import Params

MANY = 1_000_000_000


def zone_of(request: Request) -> tzinfo:
    """The zone that times are told in; the system's own is None, as `astimezone` wants it."""
    return cast("tzinfo", request.app.state.zone.info)


@dataclass(frozen=True, slots=True)
class ThreadRequest:
    """A thread and a place in it; of the places at most one is given."""

    session_id: str
    agent: str | None
    branch: int
    at: int  # -1: not asked for, like the others
    turn: int
    start: int
    until: int
    end: bool

    @classmethod
    def of(cls, request: Request, asked: Params) -> ThreadRequest:
        """What the parameters say."""
        wanted = cls(
            request.path_params["session_id"],
            asked.text("agent"),
            asked.number("branch", 0, 0, MANY),
            asked.number("at", -1, 0, OFFSET_MASK),
            asked.number("turn", -1, 1, MANY),
            asked.number("from", -1, 0, OFFSET_MASK),
            asked.number("until", -1, 0, OFFSET_MASK),
            asked.flag("end"),
        )
        given = [wanted.at, wanted.turn, wanted.start, wanted.until, 0 if wanted.end else -1]
        if sum(value >= 0 for value in given) > 1:
            raise UsageError("name one place: at, turn, from, until or end")
        return wanted

    def session(self, h: Hansard) -> Session:
        """The session; the address of a page has a whole id in it."""
        session = h.session(self.session_id)
        if session.session_id != self.session_id:
            raise NotFound(f"no session has the id {self.session_id!r}; do you mean {session.session_id}?")
        return session

    def reading(self, h: Hansard) -> Reading:
        """The thread; an error where there is none."""
        reading = self.open(h, self.session(h))
        if reading is None:
            raise NotFound("only subagents are left of this session; name one with agent=ID")
        return reading

    def open(self, h: Hansard, session: Session) -> Reading | None:
        """The thread of a session."""
        return open_reading(h, session, self.agent, self.branch)

    def target(self, reading: Reading) -> int:
        """The place that is asked for, -1 where it is none; that of a result is where its call stands."""
        if self.at < 0:
            return -1
        return call_of_result(reading.source.reader, reading.source.transcript, self.at)

    def window(self, reading: Reading, budget: Budget) -> Window:
        """The stretch that is asked for; the beginning where none is."""
        windows = reading.windows
        if self.at >= 0:
            return windows.around(self.target(reading), budget)
        if self.turn > 0:
            number = min(self.turn, max(1, len(reading.starts)))
            return windows.after(reading.starts[number - 1].offset if reading.starts else 0, budget)
        if self.until >= 0:
            return windows.before(self.until, budget)
        if self.end:
            return windows.end(budget)
        return windows.after(max(0, self.start), budget)
