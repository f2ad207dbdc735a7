"""The display tree of a session, made turn by turn, so that a long session need not be in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.model.display import Code, Console, Display, Item, Part, Picture, Plain, Prose, Thread, Turn
from hansard.parse import meaning as m
from hansard.thread.notices import notice
from hansard.thread.reader import ThreadReader, list_agents, open_thread
from hansard.thread.tool_views import view
from hansard.thread.turn_starts import Start, find_starts
from hansard.thread.turn_usage import UsageReader

if TYPE_CHECKING:
    from hansard.model.ledger import Rate
    from hansard.model.sessions import Session
    from hansard.model.threads import Agent, Entry, Fork
    from hansard.query.reader import Reader
    from hansard.record.store import Record

_USER = frozenset({"prompt", "command", "bash"})
_ASSISTANT = frozenset({"reply", "thinking", "tool"})
_BACKLOG = 500  # entries that may wait behind a call for its result
_DEEPEST = 30  # subagents inside each other; what is deeper is shown beside them
_any = msgspec.json.Decoder().decode


class Tree:
    """Makes the tree of one session; `pictures` and `agents` (what subagents did) are read only if they are wanted.

    Whoever makes many trees may give the `rates` of the index, which are read otherwise.
    """

    def __init__(
        self,
        reader: Reader,
        record: Record,
        session: Session,
        *,
        pictures: bool = True,
        agents: bool = True,
        rates: Mapping[int, Rate] | None = None,
    ) -> None:
        self.reader = reader
        self.record = record
        self.session = session
        self.pictures = pictures
        self.agents = agents
        self._rates = rates
        self._spent: UsageReader | None = None
        self._open: set[str] = set()  # subagents that are being read, so that a circle ends
        self._drawn: set[str] = set()  # those that were shown where they were called

    def display(self) -> Display:
        """All of it."""
        main = self.main()
        thread = Thread(None, (), {}) if main is None else main.whole()
        return Display(self.session, thread, tuple(other.whole() for other in self.others()))

    def main(self) -> ThreadTree | None:
        """The session's own thread, to be read turn by turn; None where only subagents are left of it."""
        row = self.reader.one("SELECT transcript FROM sessions WHERE session_id = ?", (self.session.session_id,))
        return None if row is None or row[0] is None else self.read()

    def others(self) -> Iterator[ThreadTree]:
        """Subagents that no thread read so far has called; ask when these have been read."""
        for agent in list_agents(self.reader, self.session.session_id):
            if agent.agent_id not in self._drawn:
                self._drawn.add(agent.agent_id)
                self._open.add(agent.agent_id)
                yield self.read(agent.agent_id)
                self._open.discard(agent.agent_id)

    def thread(self, agent_id: str | None = None) -> Thread:
        """A thread with all of its turns."""
        return self.read(agent_id).whole()

    def read(self, agent_id: str | None = None) -> ThreadTree:
        """A thread to be read turn by turn."""
        return ThreadTree(self, open_thread(self.reader, self.record, self.session, agent_id))

    def spent(self, agents: Iterable[Agent]) -> UsageReader:
        """What the session's messages used; `agents` are all that it has."""
        if self._spent is None:
            self._spent = UsageReader(self.reader, self.session.session_id, agents, self._rates)
        return self._spent

    def of_agent(self, agent_id: str | None) -> Thread | None:
        """The thread of a subagent, to be shown where it was called; None where there is none, or it is open already."""
        from hansard.errors import NotFound

        if agent_id is None or agent_id in self._open or len(self._open) >= _DEEPEST:
            return None
        self._open.add(agent_id)
        self._drawn.add(agent_id)
        try:
            return self.thread(agent_id)
        except NotFound:
            return None
        finally:
            self._open.discard(agent_id)


class ThreadTree:
    """One thread, turn by turn; `not_shown` is complete when the last turn has been given."""

    def __init__(self, tree: Tree, source: ThreadReader) -> None:
        self._tree = tree
        self._source = source
        self._forks: dict[str, Fork] = {fork.uuids[0]: fork for fork in source.branches.forks}
        self._last = (-1, 0)  # offset and number of the item before
        self.agents = source.agents  # of the whole session
        self.agent = next((agent for agent in source.agents if agent.agent_id == source.agent_id), None)

    @property
    def not_shown(self) -> dict[str, int]:
        """Records that say nothing to a reader, by kind, as far as `turns` was last read."""
        return dict(sorted(self._source.not_shown.items()))

    @property
    def branches(self) -> list[int]:
        """The numbers of its branches; 0 is what the session went on with."""
        return sorted({0, *(branch for fork in self._source.branches.forks for branch in fork.branches)})

    @property
    def transcript(self) -> int:
        """The id of the transcript that it stands in."""
        return self._source.transcript

    def whole(self) -> Thread:
        """All of it."""
        turns = tuple(self.turns())
        return Thread(self.agent, turns, self.not_shown)

    def starts(self) -> list[Start]:
        """Where its turns begin, for `turns`: the first of them is number 1."""
        return find_starts(self._source)

    def turns(self, start: int = 0, number: int = 1, end: int | None = None) -> Iterator[Turn]:
        """The turns from one byte offset up to another: the beginnings of the turn with that number, and of the first not wanted.

        Nothing behind `end` is read, except single lines with results of calls before it: a call has its result with it, wherever
        that stands.
        """
        items: list[Item] = []
        agents: list[str] = []
        first = start
        self._last = (-1, 0)
        for entry in self._source.stream(_BACKLOG, start, end):
            if entry.kind in _USER and items:
                yield self._turn(number, items, agents, first, entry.offset)
                number, items, agents, first = number + 1, [], [], entry.offset
            if entry.tool is not None and entry.tool.agent_id is not None:
                agents.append(entry.tool.agent_id)
            items.append(self._item(entry))
        if items:
            yield self._turn(number, items, agents, first, end)

    def items(self, entries: Iterable[Entry]) -> Iterator[Item]:
        """Some of its entries, as they are shown."""
        return map(self._item, entries)

    def _turn(self, number: int, items: list[Item], agents: list[str], low: int, high: int | None) -> Turn:
        times = [item.at for item in items if item.at is not None]
        used = self._tree.spent(self.agents).between(self._source.transcript, low, high, agents, self._source.inside)
        return Turn(number, tuple(items), min(times, default=None), max(times, default=None), *used)

    def _item(self, entry: Entry) -> Item:
        tree = self._tree
        title, subject, facts = "", "", []
        parts: tuple[Part, ...]
        results: tuple[Part, ...] = ()
        thread = None
        call = entry.tool
        if call is not None:
            title, subject, parts, results = view(call, tree.session.cwd)
            facts = _facts(entry)
            if call.has_image and call.result_offset is not None:
                results += self._pictures(call.result_offset, call.tool_use_id, 1)
            thread = tree.of_agent(call.agent_id) if tree.agents else self._named(call.agent_id)
        else:
            parts = _said(entry)
            if entry.images:
                parts += self._pictures(entry.offset, None, entry.images)
        fork = self._forks.get(entry.uuid or "")
        return Item(
            anchor=self._anchor(entry.offset),
            kind=entry.kind,
            who="user" if entry.kind in _USER else "assistant" if entry.kind in _ASSISTANT else "client",
            at=entry.at,
            title=title,
            subject=subject,
            facts=tuple(facts),
            parts=parts,
            results=results,
            is_error=entry.kind == "error" or (call is not None and call.is_error),
            branch=entry.branch,
            forks=fork.branches[1:] if fork is not None else (),
            model=entry.model,
            queued=entry.queued,
            uuid=entry.uuid,
            transcript=entry.transcript,
            offset=entry.offset,
            length=entry.length,
            thread=thread,
        )

    def _named(self, agent_id: str | None) -> Thread | None:
        """A subagent without what it did."""
        agent = next((agent for agent in self._source.agents if agent.agent_id == agent_id), None)
        return Thread(agent, (), {}) if agent is not None else None

    def _anchor(self, offset: int) -> str:
        before, number = self._last
        number = number + 1 if offset == before else 0
        self._last = (offset, number)
        place = f"{offset}.{number}" if number else str(offset)
        return f"{self._source.agent_id}-{place}" if self._source.agent_id else place

    def _pictures(self, offset: int, tool_use_id: str | None, count: int) -> tuple[Part, ...]:
        """The images and documents of a line, or of one result in it; without their data where that is not wanted."""
        if not self._tree.pictures:
            return (Picture("", ""),) * count
        line = _first_line(self._tree.record.read(self._source.transcript, offset))
        message = m.lenient(_any, msgspec.Raw(line))
        content = message.get("message", {}).get("content") if isinstance(message, dict) else None
        return tuple(_pictures_in(content, tool_use_id))


def _first_line(pieces: Iterable[bytes]) -> bytes:
    """The bytes before the first newline; no piece behind it is read."""
    parts: list[bytes] = []
    for piece in pieces:
        before, newline, _ = piece.partition(b"\n")
        parts.append(before)
        if newline:
            break
    return b"".join(parts)


def _pictures_in(content: Any, tool_use_id: str | None) -> Iterator[Picture]:
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict):
            continue
        if block.get("type") == "tool_result" and tool_use_id is not None and block.get("tool_use_id") == tool_use_id:
            yield from _pictures_in(block.get("content"), None)
        elif block.get("type") in ("image", "document") and tool_use_id is None:
            source = block.get("source")
            if isinstance(source, dict) and isinstance(source.get("data"), str):
                yield Picture(str(source.get("media_type", "")), source["data"])


def _facts(entry: Entry) -> list[str]:
    call = entry.tool
    facts: list[str] = []
    if call is None:
        return facts
    if call.change is not None:
        facts.append(f"+{call.added} -{call.removed}")
    if call.duration_ms is not None:
        facts.append(f"{call.duration_ms} ms")
    if call.is_error:
        facts.append("failed")
    if call.output is None:
        facts.append("no result")
    if call.persisted:
        facts.append("whole output from a file beside the transcript")
    return facts


def _said(entry: Entry) -> tuple[Part, ...]:
    text = entry.text
    if not text:
        return ()
    if entry.kind in ("reply", "thinking", "summary"):
        return (Prose(text),)
    if entry.kind == "bash":
        return (Code(text, "bash"),)
    if entry.kind == "output":
        return (Console(text),)
    return (Plain(notice(text) if entry.kind == "notification" else text),)
