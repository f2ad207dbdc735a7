"""The thread of a session or subagent: every front end reads conversations through it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec import Struct, field
from msgspec.structs import replace

from hansard.clients import client_of
from hansard.errors import NotFound
from hansard.model.display import Display, DisplayThread, Item, Picture, Turn
from hansard.model.gate import look_at, put_behind_gate, release, verbatim
from hansard.thread.branches import BranchChoice, BranchLine, find_line, fork_places, list_choices
from hansard.thread.reader import ThreadReader
from hansard.thread.store import SessionContext, Window, Windows, find_agent
from hansard.thread.structure import (
    ChangedFile,
    Compaction,
    Neighbour,
    OutlineTurn,
    Start,
    TurnUsage,
    agents_used,
    end_of_turn,
    find_places,
    find_starts,
    list_changed_files,
    list_neighbours,
    read_compactions,
    read_outline,
    read_timeline,
)
from hansard.thread.tool_views import USER, ItemBuilder

if TYPE_CHECKING:
    from hansard.clients.protocol import Client
    from hansard.lru import LruCache
    from hansard.model.threads import Agent, Conversation, Entry, Fork
    from hansard.thread.calls import ModelCall, ThreadCalls
    from hansard.thread.locate import MessageLocation, RawLine
    from hansard.thread.structure import ContextTimeline

QUICK_TIMELINE = 1_500
"""The most API messages of a session whose timeline is read at once."""
_BACKLOG = 500  # entries that may wait for the result of a call before them

_T = TypeVar("_T")


class OpenedThread(Struct, frozen=True):
    """The state of a thread that all its readers share."""

    source: ThreadReader
    made: dict[str, Any] = field(default_factory=dict)  # computed values, each once


class Selection(Struct, frozen=True):
    """Some turns of a thread, and how many are before and after them."""

    thread: Thread
    turns: Iterator[Turn]
    branch: int | None = None  # None: the line that the session continued on, and a note on the rest
    earlier: int = 0
    later: int = 0


class Thread:
    """The conversation of a session or of a subagent; it is read lazily.

    If only subagents of a session remain, its thread has no log and no turns.
    """

    def __init__(
        self,
        context: SessionContext,
        agent: str | None = None,
        branch: int = 0,
        cache: LruCache[OpenedThread] | None = None,
    ) -> None:
        self._context = context
        self._cache = cache
        self.redact = context.store.redact
        self.session = context.session
        if self.redact is not None:
            self.session = release(context.session, self.redact)
            put_behind_gate(self)
        session_id = context.session.session_id
        self._sidechain_root: str | None = None
        self._agent_id: str | None = None
        if agent is None:
            row = context.reader.one("SELECT transcript FROM sessions WHERE session_id = ?", (session_id,))
            self._transcript: int | None = row[0] if row is not None else None
        else:
            self._transcript, self._sidechain_root, self._agent_id = find_agent(context.reader, session_id, agent)
        look_at(self.redact, context.store.record, self._transcript)
        self._branch = branch

    # -- identity

    @property
    def has_log(self) -> bool:
        """Whether it has a transcript; False if only subagents of the session remain."""
        return self._transcript is not None

    @property
    def agents(self) -> tuple[Agent, ...]:
        return self._source.agents if self.has_log else self._context.agents

    @cached_property
    def agent(self) -> Agent | None:
        """The subagent that the thread belongs to; None for the session's own."""
        return next((agent for agent in self.agents if agent.agent_id == self._agent_id), None)

    @property
    def transcript(self) -> int:
        if self._transcript is None:
            raise NotFound(f"session {self.session.session_id} has no transcript of its own; only its subagents remain")
        return self._transcript

    @property
    def client(self) -> Client:
        return self._source.client

    @cached_property
    def speaker(self) -> str:
        """What the model is called in the session."""
        row = self._context.reader.one("SELECT client FROM sessions WHERE session_id = ?", (self.session.session_id,))
        return client_of(row[0]).speaker

    @property
    def trace_lines(self) -> str:
        """Which lines of the session's client the Hugging Face hub reads as they are."""
        return client_of(self.session.client).trace_lines

    @property
    def path(self) -> str:
        return self._source.path

    @property
    def size(self) -> int:
        return int(self._context.reader.one("SELECT size FROM transcripts WHERE id = ?", (self.transcript,))[0])

    @cached_property
    def fingerprint(self) -> str:
        """A short digest that changes with the session, its subagents' logs and the user's remarks."""
        reader, key = self._context.reader, (self.session.session_id,)
        logs = list(
            reader.rows(
                "SELECT id, size, indexed, current, state FROM transcripts WHERE session_id = ? ORDER BY id", key
            )
        )
        files = reader.one("SELECT count(*), max(id), total(size) FROM side_files WHERE session_id = ?", key)
        from hashlib import sha256

        return sha256(repr((self.session, logs, files)).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @cached_property
    def _opened(self) -> OpenedThread:
        if self._cache is None:
            return self._open()
        key = (self._context.store.home, self.session.session_id, self._agent_id or "", self.fingerprint)
        return self._cache.get(key, self._open)

    def _open(self) -> OpenedThread:
        if self._transcript is None:
            known = ", ".join(agent.agent_id for agent in self._context.agents[:5])
            raise NotFound(
                f"only subagents of session {self.session.session_id} remain; show one with --agent ({known})"
            )
        context = self._context
        source = ThreadReader(
            context.reader,
            context.lines,
            self.session,
            self._transcript,
            self._agent_id,
            self._sidechain_root,
            context.agents,
            context.longest,
        )
        return OpenedThread(source)

    @cached_property
    def _source(self) -> ThreadReader:
        """The thread's reader, with the connections of this context even if it came from the cache."""
        source = self._opened.source
        if self._cache is not None:
            source = copy(source)
            source.reader, source.record = self._context.reader, self._context.lines
            source.longest = self._context.longest
            self._context.agents = source.agents
        return source

    def once(self, name: str, make: Callable[[], _T]) -> _T:
        """A value computed once for this state of the thread; with a cache, once for all readers."""
        return self._once(name, make)

    def _once(self, name: str, make: Callable[[], _T]) -> _T:
        made = self._opened.made
        if name not in made:
            made[name] = make()
        return cast("_T", made[name])

    # -- turns

    @property
    def starts(self) -> list[Start]:
        """The starts of its turns; the first is number 1."""
        return self._starts

    @property
    def _starts(self) -> list[Start]:  # for internal use, which is frequent: not released through the gate each time
        return self._once("starts", lambda: find_starts(self._source)) if self.has_log else []

    @property
    def not_shown(self) -> dict[str, int]:
        """The number of records that are not shown, by kind, in the turns read last."""
        return dict(sorted(self._source.not_shown.items())) if self.has_log else {}

    def turns(self, start: int = 0, number: int = 1, end: int | None = None) -> Iterator[Turn]:
        """The turns between two byte offsets: `start` begins the turn with that `number`, `end` the first turn to leave out.

        Nothing after `end` is read, except single lines with the results of earlier calls: a call always includes its result.
        """
        if not self.has_log:
            return
        items: list[Item] = []
        agents: list[str] = []
        first = start
        self._items.begin()
        for entry in self._source.stream(_BACKLOG, start, end):
            if entry.kind in USER and items:
                yield self._turn(number, items, agents, first, entry.offset)
                number, items, agents, first = number + 1, [], [], entry.offset
            if entry.tool is not None and entry.tool.agent_id is not None:
                agents.append(entry.tool.agent_id)
            items.append(self._items.item(entry))
        if items:
            yield self._turn(number, items, agents, first, end)

    def select(
        self, *, first: int = 1, last: int | None = None, newest: int = 0, branch: int | None = None
    ) -> Selection:
        """The turns from number `first` to number `last`, or the newest `newest` ones, without reading the others."""
        self.check_branch(branch)
        if first == 1 and last is None and not newest:
            return Selection(self, self.turns(), branch)
        starts = self._starts
        if newest:
            on_line = [number for number, start in enumerate(starts, 1) if start.branch == (branch or 0)]
            chosen = on_line or list(range(1, len(starts) + 1))
            first = chosen[-newest:][0] if chosen else 1
        end = len(starts) if last is None else min(last, len(starts))
        if first > len(starts):
            if newest:
                return Selection(self, iter(()), branch)
            raise NotFound(f"there is no turn {first}; the last one is {len(starts)}")
        if branch is None and {start.branch for start in starts[first - 1 : end]} != {0} and first == end:
            branch = starts[first - 1].branch
        until = starts[end].offset if end < len(starts) else None
        turns = self.turns(starts[first - 1].offset, first, until)
        return Selection(self, turns, branch, first - 1, len(starts) - end)

    def whole(self) -> DisplayThread:
        turns = tuple(self.turns())
        return DisplayThread(self.agent, turns, self.not_shown)

    def display(self) -> Display:
        thread = self.whole()
        return Display(self.session, thread, tuple(other.whole() for other in self.others()))

    def others(self) -> Iterator[Thread]:
        """Subagents that no thread read so far has called; complete once this thread was read."""
        context = self._context
        for agent in self.agents:
            if agent.agent_id not in context.shown:
                context.shown.add(agent.agent_id)
                context.open.add(agent.agent_id)
                yield self.of(agent.agent_id)
                context.open.discard(agent.agent_id)

    def of(self, agent: str) -> Thread:
        """The thread of one of the session's subagents."""
        return Thread(self._context, agent)

    def entries(self, start: int = 0, end: int | None = None) -> Iterator[Entry]:
        """Its entries from one byte offset up to another, in file order, each call with its result."""
        return self._source.stream(_BACKLOG, start, end)

    def conversation(self) -> Conversation:
        return self._source.conversation()

    def items(self, entries: Iterable[Entry]) -> Iterator[Item]:
        """Some of its entries, for display."""
        return map(self._items.item, entries)

    # -- windows and branches

    @cached_property
    def windows(self) -> Windows:
        """Ranges that are small enough to be drawn at once."""
        source = self._source
        return Windows(source.reader, source.low, [start.offset for start in self._starts], source.inside)

    def window(self, window: Window) -> Iterator[Turn]:
        """The turns of a window, on the chosen branch; the first and the last may be partial."""
        for turn in self.turns(window.start, window.turn, window.end):
            number = self.windows.number(turn.items[0].offset)
            items = turn.items
            if self._branch:
                items = tuple(replace(item, branch=self.shown_branch(item.branch, item.offset)) for item in items)
            if number != turn.number or items is not turn.items:
                turn = replace(turn, number=number, items=items)  # noqa: PLW2901
            yield self._with_usage(turn) if self._goes_on(number, window) else turn

    @cached_property
    def _line(self) -> BranchLine:
        return find_line(self._source, self._branch)

    @property
    def branch(self) -> int:
        """The branch that is read; 0 is the line that the session continued on."""
        return self._line.branch

    def shown_branch(self, branch: int, offset: int) -> int:
        """A branch's number for display: 0 for the chosen line, -1 for the line that the session continued on."""
        return 0 if self._line.holds(branch, offset) else branch or -1

    @property
    def forks(self) -> list[Fork]:
        """The forks: prompts that were replaced, and answers that were made again."""
        return self._source.branches.forks

    def check_branch(self, branch: int | None) -> None:
        """Raise an error if there is no such branch."""
        branches = sorted({0, *(number for fork in self.forks for number in fork.branches)})
        if branch is not None and branch not in branches:
            raise NotFound(f"there is no branch {branch}; this conversation has {', '.join(map(str, branches))}")

    def fork_places(self) -> dict[str, int]:
        """Where its branches begin, by the ids of their first records."""
        return self._once("forks", lambda: fork_places(self._source)) if self.forks else {}

    def choices(self) -> list[BranchChoice]:
        """All of its branches with their first words."""
        return list_choices(self._source)

    def _goes_on(self, number: int, window: Window) -> bool:
        """Whether a turn begins in a window and ends after it."""
        if window.end is None or self._starts[number - 1].offset < window.start:
            return False
        end = self._starts[number].offset if number < len(self._starts) else None
        return end is None or window.end < end

    def _with_usage(self, turn: Turn) -> Turn:
        """A part of a turn with the figures of the whole turn, unless adding them up would take long."""
        told = self.outline(turn.number, turn.number)[0]
        used = TurnUsage(0, turn.tokens, None)
        if self.has_timeline():
            used = self.timeline().turns[turn.number - 1]
        times = {"started_at": told.started_at, "ended_at": told.ended_at, "active_ms": told.active_ms}
        return replace(turn, **times, **used._asdict())

    # -- figures

    def outline(self, first: int, last: int) -> list[OutlineTurn]:
        """The outline of the turns from one number to another."""
        return read_outline(self._source, self._starts, first, last)

    def places(self, kind: str) -> list[int]:
        """The byte offsets of its errors or edits, in order."""
        return self._once(f"places of {kind}", lambda: find_places(self._source, kind)) if self.has_log else []

    def compactions(self) -> list[Compaction]:
        """The places where it was replaced by a summary."""
        return read_compactions(self._source)

    def timeline(self) -> ContextTimeline:
        return self._once(
            "timeline", lambda: read_timeline(self._source, [start.offset for start in self._starts], self.agents)
        )

    def has_timeline(self) -> bool:
        """Whether the timeline is cached, or fast to read."""
        return (
            "timeline" in self._opened.made or max(self.session.api_messages, self.session.tool_calls) <= QUICK_TIMELINE
        )

    def session_calls(self) -> list[ModelCall]:
        """All API messages that count for the session, those of its subagents and of former generations included."""
        return self._context.calls

    def calls(self) -> ThreadCalls:
        """Its API messages and tool calls according to the ledger, without text."""
        from hansard.thread.calls import read_calls

        return read_calls(self._source, self._context.calls)

    def agents_used(self) -> dict[str, TurnUsage]:
        """The usage of each subagent of the session with its own log, without the subagents it started."""
        return agents_used(self._context.reader, self.session.session_id)

    # -- around it

    def neighbours(self) -> list[Neighbour]:
        return list_neighbours(self._context.reader, self.session.session_id)

    def changed_files(self, limit: int) -> list[ChangedFile]:
        """The files that the session changed, the most changed first."""
        return list_changed_files(self._context.reader, self.session.session_id, limit)

    def locate(self, offset: int) -> MessageLocation:
        """The entries at a byte offset of its transcript, in this thread or in one inside it."""
        from hansard.thread.locate import locate

        return locate(self, self._context.store.record, offset)

    def call_of(self, offset: int) -> int:
        """The offset of the call whose result is at this offset; the same offset if there is no result."""
        from hansard.thread.locate import call_of_result

        return call_of_result(self._context.reader, self.transcript, offset)

    def raw_line(self, offset: int, path: str | None = None, generation: int | None = None) -> RawLine:
        """The line at a byte of its log, of another log of the session, or of another generation of either."""
        from hansard.thread.locate import find_log, find_raw_line

        reader = self._context.reader
        log = self.transcript
        if path is not None or generation is not None:
            log = find_log(reader, self.session.session_id, path or self.path, generation)
        return find_raw_line(reader, self._context.store.record, log, offset)

    @verbatim("raw lines")
    def raw(self, line: RawLine | None = None, limit: int | None = None) -> Iterator[bytes]:
        """The verbatim bytes of a line, or the first of them, in pieces; without a line, the whole log."""
        record = self._context.store.record
        if line is None:
            return record.read(self.transcript)
        length = line.length if limit is None else min(limit, line.length)
        return record.read(line.transcript, line.offset, line.offset + length)

    @verbatim("raw lines")
    def raw_lines(self) -> Iterator[bytes]:
        """The lines of the whole log without their newlines; blank lines, and lines too long to be read, are left out."""
        from hansard.clients.lines import Lines

        lines = Lines(self._context.store.record.read(self.transcript), 0)
        for _, line in lines:
            if line:
                yield line
        if lines.rest:
            yield lines.rest

    def pictures(self, entry: Entry) -> tuple[Picture, ...]:
        """The images and documents of an entry: of its message, or of a call's result."""
        return self._items.pictures(entry)

    @cached_property
    def _items(self) -> ItemBuilder:
        return ItemBuilder(self, self._context, self._source, self._agent_id)

    def _turn(self, number: int, items: list[Item], agents: list[str], low: int, high: int | None) -> Turn:
        times = [item.at for item in items if item.at is not None]
        used = self._context.usage.between(self.transcript, low, high, agents, self._source.inside)
        started = min(times, default=None)
        ended, active = end_of_turn(self._source, started, low, high)
        return Turn(number, tuple(items), started, ended, *used, active_ms=active)


def on_branch(turn: Turn, branch: int) -> Turn:
    """The items of a turn on one branch."""
    if all(item.branch == branch for item in turn.items):
        return turn
    return replace(turn, items=tuple(item for item in turn.items if item.branch == branch))
