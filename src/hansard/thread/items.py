"""Entries of a thread as items for display: what a tool did in neutral terms, pictures, and the threads of subagents."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from hansard.errors import NotFound
from hansard.model.display import CallFacts, DisplayThread, Item, Part, Picture
from hansard.thread.reader import ThreadReader, long_record
from hansard.thread.tool_views import ASSISTANT, USER, facts_of, said, view

if TYPE_CHECKING:
    from hansard.model.threads import Entry, Fork
    from hansard.thread.thread import SessionContext, Thread

_DEEPEST = 30  # levels of nested subagents; deeper ones are shown separately


class ItemBuilder:
    """Makes the items of one thread."""

    def __init__(self, thread: Thread, context: SessionContext, source: ThreadReader, agent_id: str | None) -> None:
        self._thread = thread
        self._context = context
        self._source = source
        self._agent_id = agent_id
        self.begin()

    def begin(self) -> None:
        """Number the items of an offset from 0 again."""
        self._last = (-1, 0)  # offset and number of the previous item

    @cached_property
    def _forks(self) -> dict[str, Fork]:
        return {fork.uuids[0]: fork for fork in self._thread.forks}

    def item(self, entry: Entry) -> Item:
        """An entry for display."""
        context = self._context
        title, subject, facts = "", "", CallFacts()
        parts: tuple[Part, ...]
        results: tuple[Part, ...] = ()
        thread = None
        call = entry.tool
        if call is not None:
            shown = view(call, self._thread.session.cwd)
            title, subject, parts, results = shown.title, shown.subject, shown.parts, shown.results
            facts = facts_of(call)
            results += self.pictures(entry)
            if call.agent_id is not None:
                thread = self._inside(call.agent_id) if context.subagents else self._named(call.agent_id)
        else:
            parts = said(entry, self._source.client)
            parts += self.pictures(entry)
        fork = self._forks.get(entry.uuid or "")
        return Item(
            anchor=self._anchor(entry.offset),
            kind=entry.kind,
            who="user" if entry.kind in USER else "assistant" if entry.kind in ASSISTANT else "client",
            at=entry.at,
            title=title,
            subject=subject,
            facts=facts,
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

    def _inside(self, agent_id: str) -> DisplayThread | None:
        """The thread of a subagent to show at its call; None if there is none, or it is already being shown."""
        context = self._context
        if agent_id in context.open or len(context.open) >= _DEEPEST:
            return None
        context.open.add(agent_id)
        context.shown.add(agent_id)
        try:
            return self._thread.of(agent_id).whole()
        except NotFound:
            return None
        finally:
            context.open.discard(agent_id)

    def _named(self, agent_id: str) -> DisplayThread | None:
        """A subagent without its thread."""
        agent = next((agent for agent in self._thread.agents if agent.agent_id == agent_id), None)
        return DisplayThread(agent, (), {}) if agent is not None else None

    def _anchor(self, offset: int) -> str:
        before, number = self._last
        number = number + 1 if offset == before else 0
        self._last = (offset, number)
        place = f"{offset}.{number}" if number else str(offset)
        return f"{self._agent_id}-{place}" if self._agent_id else place

    def pictures(self, entry: Entry) -> tuple[Picture, ...]:
        """The images and documents of an entry: of its message, or of a call's result."""
        call = entry.tool
        if call is None:
            return self._pictures(entry.offset, None, entry.images) if entry.images else ()
        if call.has_image and call.result_offset is not None:
            return self._pictures(call.result_offset, call.tool_use_id, 1)
        return ()

    def _pictures(self, offset: int, tool_use_id: str | None, count: int) -> tuple[Picture, ...]:
        """The images and documents of a line, or of one result in it, optionally without their data."""
        if not self._context.pictures:
            return (Picture("", ""),) * count
        longest, source = self._context.longest, self._source
        if longest is not None and long_record(source.reader, source.low + offset, longest) is not None:
            return ()
        lines = source.client.lines(self._context.lines.read(self._thread.transcript, offset), offset)
        line = next((line for _, line in lines), lines.rest)
        return tuple(Picture(*found) for found in source.client.pictures(line, tool_use_id))
