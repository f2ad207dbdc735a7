"""The page itself, and the thread that a request names."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Annotated, Any, Self, cast
from urllib.parse import quote

from msgspec import Struct
from starlette.responses import RedirectResponse, Response

from hansard.errors import NotFound, UsageError
from hansard.model import display
from hansard.model.requests import about
from hansard.query.activity import LIVE
from hansard.render.format import elapsed_and_active, relation, span, title_of
from hansard.render.html.threads import GROUPS
from hansard.render.text import resume_command
from hansard.thread.store import LAST_OFFSET, Budget
from hansard.web.pages.session.thread_html import (
    ThreadAddress,
    address_of,
    draw_context,
    draw_outline,
    draw_window,
    drawing_of,
    outlined,
)
from hansard.web.parameters import read_params
from hansard.web.responses import engine_route, html

if TYPE_CHECKING:
    from starlette.requests import Request

    from hansard.engine import Hansard
    from hansard.model.files import Transcript
    from hansard.model.sessions import PinnedMessage, Session
    from hansard.model.threads import Agent
    from hansard.thread.store import Window
    from hansard.thread.structure import TurnUsage
    from hansard.thread.thread import Thread

FIRST = Budget(records=48, bytes=192 << 10, turns=10)
"""Size of the first piece of a page."""
MANY = 1_000_000_000
FILES = 100
AGENTS = 200


def zone_of(request: Request) -> tzinfo:
    """The zone of displayed times; None is the system's own, as `astimezone` takes it."""
    return cast("tzinfo", request.app.state.zone.info)


class ThreadRequest(Struct, frozen=True, kw_only=True):
    """A thread and at most one position in it; -1: none."""

    session_id: str
    agent: Annotated[str | None, about("The whole id of a subagent.")] = None
    branch: Annotated[int, about("The branch that is shown.", ge=0, le=MANY)] = 0
    at: Annotated[int, about("The line that begins at this byte.", ge=0, le=LAST_OFFSET)] = -1
    turn: Annotated[int, about("The turn with this number.", ge=1, le=MANY)] = -1
    start: Annotated[int, about("What begins at this byte.", ge=0, le=LAST_OFFSET, http="from")] = -1
    until: Annotated[int, about("What ends at this byte.", ge=0, le=LAST_OFFSET)] = -1
    end: Annotated[bool, about("The end.")] = False

    @classmethod
    def of(cls, request: Request) -> Self:
        """Parse an address."""
        wanted = read_params(request, cls, session_id=request.path_params["session_id"])
        given = [wanted.at, wanted.turn, wanted.start, wanted.until, 0 if wanted.end else -1]
        if sum(value >= 0 for value in given) > 1:
            raise UsageError("name one place: at, turn, from, until or end")
        return wanted

    def thread(self, h: Hansard) -> Thread:
        """The thread; raises if there is none."""
        thread = self.thread_of(h, find_by_id(h, self.session_id))
        if not thread.has_log:
            raise NotFound("only subagents of this session remain; name one with agent=ID")
        return thread

    def thread_of(self, h: Hansard, session: Session) -> Thread:
        """The thread of a session, bounded as a page needs it."""
        return read_thread(h, session, self.agent, self.branch)

    def target(self, thread: Thread) -> int:
        """The requested offset, -1 without one; a result is shown at its call."""
        return -1 if self.at < 0 else thread.call_of(self.at)

    def window(self, thread: Thread, budget: Budget) -> Window:
        """The requested range; by default the beginning."""
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


class SessionPageRequest(ThreadRequest, frozen=True, kw_only=True):
    """The page of a session."""

    whole: Annotated[bool, about("With the whole outline and the timeline.")] = False
    q: Annotated[str | None, about("What the page itself marks.")] = None


def find_by_id(h: Hansard, session_id: str) -> Session:
    """A session by its whole id, as addresses have it."""
    session = h.session(session_id)
    if session.session_id != session_id:
        raise NotFound(f"no session has the id {session_id!r}; did you mean {session.session_id}?")
    return session


def read_thread(h: Hansard, session: Session, agent: str | None, branch: int = 0) -> Thread:
    """A thread for a page, whose address has a subagent's whole id in it."""
    thread = h.read(session, agent, branch, subagents=False, long_lines=False)
    if agent is not None and (thread.agent is None or thread.agent.agent_id != agent):
        raise NotFound(f"session {session.session_id} has no subagent {agent!r}")
    return thread


@dataclass(frozen=True, slots=True)
class AgentRow:
    """A subagent in the tree of them."""

    agent: Agent
    depth: int
    used: TurnUsage | None


@engine_route(SessionPageRequest.of)
def show(h: Hansard, request: Request, wanted: SessionPageRequest) -> Response:
    """The page of a session or subagent; addresses with a prefix of an id are redirected."""
    session, zone = h.session(wanted.session_id), zone_of(request)
    if session.session_id != wanted.session_id:
        query = f"?{request.url.query}" if request.url.query else ""
        return RedirectResponse(f"/sessions/{quote(session.session_id, safe='')}{query}", 303)
    thread = wanted.thread_of(h, session)
    agents = agent_tree(thread)
    values: dict[str, Any] = {
        **head_values(h, session, zone),
        "title": title_of(session)[:300],
        "thread": thread,
        "agent": thread.agent,
        "branch": wanted.branch,
        "agents": agents[:AGENTS],
        "more_agents": max(0, len(agents) - AGENTS),
        "neighbours": [(relation(one), one) for one in thread.neighbours()],
        "files": thread.changed_files(FILES),
        "pins": list_pins(h, session),
        "resume": resume_command(session),
        "groups": GROUPS,
        "choices": [],
        "timeline": None,
        "seen": h.revision(),
    }
    if thread.has_log:
        values |= _conversation(thread, wanted, zone)
    return html(request, "session.html", at="/sessions", **values)


def head_values(h: Hansard, session: Session, zone: tzinfo) -> dict[str, Any]:
    """Values of the head, which change as a session grows."""
    started, ended = session.started_at, session.ended_at or session.started_at
    return {
        "session": session,
        "generations": _other_generations(h, session),
        "transcripts": [(log, count) for log, count in h.other_transcripts(session.session_id) if count]
        if session.transcripts > 1
        else [],
        "span": span(started, ended, zone) if started and ended else "",
        "lasted": elapsed_and_active(ended - started, h.active_time(session.session_id))
        if started and ended and ended > started
        else "",
        "is_fresh": session.ended_at is not None and abs(datetime.now(UTC) - session.ended_at) < LIVE,
    }


def list_pins(h: Hansard, session: Session) -> list[tuple[PinnedMessage, str]]:
    """The pinned messages of a session, each with its address."""
    if not session.pinned_messages:
        return []
    pins = h.pinned_messages(session.session_id)
    return [(pin, ThreadAddress(pin.session_id, pin.agent_id).item(pin.offset)) for pin in pins]


def _other_generations(h: Hansard, session: Session) -> list[Transcript]:
    """The states of a rewritten transcript that are not shown."""
    if session.source_state != "rewritten":
        return []
    logs = [log for log in h.transcripts(session.session_id) if log.kind in ("main", "log")]
    shown = {(log.root, log.path) for log in logs if log.current}
    return [log for log in logs if not log.current and (log.root, log.path) in shown]


def _conversation(thread: Thread, wanted: SessionPageRequest, zone: tzinfo) -> dict[str, Any]:
    piece = draw_window(thread, wanted.window(thread, FIRST), zone, wanted.target(thread))
    figures = wanted.whole or thread.has_timeline()
    first, last = (1, len(thread.starts)) if wanted.whole else outlined(thread, piece.first)
    drawing = drawing_of(thread, zone)
    others = [agent for agent in thread.agents if agent.tool_use_id is None] if thread.agent is None else []
    return {
        "place": address_of(thread),
        "window": piece.html,
        "start": piece.start,
        "end": piece.end,
        "turns": len(thread.starts),
        "outline": draw_outline(thread, first, last, figures=figures),
        "outline_first": first,
        "outline_last": last,
        "has_figures": figures,
        "timeline": draw_context(thread) if wanted.whole else None,
        "choices": thread.choices(),
        "others": [drawing.thread(display.DisplayThread(agent, (), {})) for agent in others[:AGENTS]],
        "log": thread.path,
    }


def agent_tree(thread: Thread) -> list[AgentRow]:
    """Subagents, each below the one that made it."""
    known = {agent.agent_id: agent for agent in thread.agents if not agent.warmup}  # as a session counts them
    if not known:
        return []
    used = thread.agents_used()
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
