"""Which thread of a session a request asks for, and which stretch of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import tzinfo
from typing import TYPE_CHECKING, cast

from hansard.errors import NotFound, UsageError
from hansard.thread.windows import LAST_OFFSET

if TYPE_CHECKING:
    from starlette.requests import Request

    from hansard.engine import Hansard
    from hansard.model.sessions import Session
    from hansard.thread.thread import Thread
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
            asked.number("at", -1, 0, LAST_OFFSET),
            asked.number("turn", -1, 1, MANY),
            asked.number("from", -1, 0, LAST_OFFSET),
            asked.number("until", -1, 0, LAST_OFFSET),
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

    def thread(self, h: Hansard) -> Thread:
        """The thread; an error where there is none."""
        thread = self.thread_of(h, self.session(h))
        if not thread.has_log:
            raise NotFound("only subagents are left of this session; name one with agent=ID")
        return thread

    def thread_of(self, h: Hansard, session: Session) -> Thread:
        """The thread of a session, bounded as a page needs it."""
        return read_thread(h, session, self.agent, self.branch)

    def target(self, thread: Thread) -> int:
        """The place that is asked for, -1 where it is none; that of a result is where its call stands."""
        return -1 if self.at < 0 else thread.call_of(self.at)

    def window(self, thread: Thread, budget: Budget) -> Window:
        """The stretch that is asked for; the beginning where none is."""
        windows = thread.windows
        if self.at >= 0:
            return windows.around(self.target(thread), budget)
        if self.turn > 0:
            number = min(self.turn, max(1, len(thread.starts)))
            return windows.after(thread.starts[number - 1].offset if thread.starts else 0, budget)
        if self.until >= 0:
            return windows.before(self.until, budget)
        if self.end:
            return windows.end(budget)
        return windows.after(max(0, self.start), budget)


def read_thread(h: Hansard, session: Session, agent: str | None, branch: int = 0) -> Thread:
    """A thread for a page, whose address has a subagent's whole id in it."""
    thread = h.read(session, agent, branch, subagents=False, long_lines=False)
    if agent is not None and (thread.agent is None or thread.agent.agent_id != agent):
        raise NotFound(f"session {session.session_id} has no subagent {agent!r}")
    return thread
