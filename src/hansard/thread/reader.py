"""Reading a session's thread: decoded from the verbatim record, results next to their calls."""

from __future__ import annotations

import posixpath
from collections import deque
from collections.abc import Iterable, Iterator
from copy import copy
from itertools import islice
from typing import Any, Protocol

from hansard.clients import client_of
from hansard.clients.entries import Answered, Called, QueuedPrompt, Readable, Said, Skipped
from hansard.clients.lines import Issue
from hansard.model.sessions import Session
from hansard.model.threads import Agent, Conversation, Entry, ToolCall
from hansard.model.time import from_milliseconds as moment
from hansard.query.reader import Reader
from hansard.storage import OFFSET_BITS, OFFSET_MASK
from hansard.thread.branches import open_branches
from hansard.thread.structure import typed_lines

_RAW_BYTES = 2000  # of a line that cannot be read
_SHORT_JUNK = 64  # bytes

_STEP = 2 << 20  # bytes between places at which the state of a client's decoder is kept
_MEMORIES = 8  # transcripts
_LONG_USER = {"compact_summary": "summary", "command_output": "output", "bash_output": "output"}
_LONG_SYSTEM = {"local_command": "output", "api_error": "error", "informational": "note", "away_summary": "note"}

_UNKNOWN = (None, None, None, None, 0, 0, None, None)  # a call that the index does not have


class Pending:
    """A tool call that was read, and the record with its result once that was read."""

    __slots__ = ("answer", "call", "record")

    def __init__(self, record: Readable, call: Called) -> None:
        self.record = record
        self.call = call
        self.answer: tuple[Readable, Answered] | None = None


class LineSource(Protocol):
    """The bytes that a thread is read from."""

    def read(self, generation: int, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """The bytes of a transcript from `start` to `end`."""

    def read_snapshot(self, snapshot_id: int) -> bytes:
        """A small file, by its snapshot."""


class ThreadReader:
    """Reads a thread: collects entries while it reads the transcript's lines."""

    def __init__(
        self,
        reader: Reader,
        record: LineSource,
        session: Session,
        transcript: int,
        agent_id: str | None,
        sidechain_root: str | None,
        agents: tuple[Agent, ...],
        longest: int | None = None,
    ) -> None:
        self.reader = reader
        self.longest = longest
        self.record = record
        self.session = session
        self.transcript = transcript
        self.agent_id = agent_id
        self.agents = agents
        self.entries: deque[Entry | Pending] = deque()  # calls that wait for a result, and what follows them
        self.given = 0  # how many came before
        self.not_shown: dict[str, int] = {}
        self.spawned = {agent.tool_use_id: agent.agent_id for agent in agents if agent.tool_use_id}
        row = reader.one("SELECT path, client, kind, indexed, issues FROM transcripts WHERE id = ?", (transcript,))
        self.path: str
        self.path, client, kind, indexed, issues = row
        self.client = client_of(client)
        self.is_agent_file = kind == "agent"
        self.entry_reader = self.client.entry_reader(is_agent=self.is_agent_file)
        self.sound = (
            0 if issues or sidechain_root else indexed
        )  # up to where every line is known to be one whole record
        self.low = transcript << OFFSET_BITS
        self.places: dict[str, int] = {}  # tool_use_id -> place of its entry
        self.fetched: set[str] = set()  # calls whose results were read ahead of their place
        self.calls: dict[str, Any] = {}  # those that begin there or later
        self.typed = typed_lines(reader, self.low)
        self.only: set[str] | None = None  # the records of a subagent inside a main file
        self.inside: frozenset[int] | None = None  # and their offsets
        self.branches = open_branches(
            reader, self.low, [(line.uuid, line.parent_uuid) for line in self.typed if line.is_prompt and line.uuid]
        )
        if sidechain_root:
            self.only, self.inside = self._subtree(sidechain_root)
        # Prompts typed while the model worked were in queue records before they had their own.
        self.queued: dict[int, str] = {
            row[0] - self.low: row[1]
            for row in reader.rows(
                "SELECT id, text FROM prompts WHERE id BETWEEN ? AND ? AND source = 'queued'", self.all_ids
            )
        }
        # Outputs too large for their lines: the name of the file beside the transcript -> its snapshot.
        self.overflowed: dict[str, int] = {
            posixpath.basename(row[0]): row[1]
            for row in reader.rows(
                "SELECT path, id FROM side_files WHERE session_id = ? AND kind = 'tool_result' AND current = 1"
                " ORDER BY path DESC, root DESC",
                (session.session_id,),
            )
        }

    @property
    def all_ids(self) -> tuple[int, int]:
        """The range of the ids of the transcript's rows."""
        return self.low, self.low + OFFSET_MASK

    def has(self, offset: int, sidechain: int) -> bool:
        """Whether the record at an offset belongs to this thread, and not to another in the same file."""
        return self.is_agent_file or (not sidechain if self.inside is None else offset in self.inside)

    def _subtree(self, root: str) -> tuple[set[str], frozenset[int]]:
        """A sidechain inside a main transcript: its first record and all descendants, and their offsets."""
        children: dict[str | None, list[str]] = {}
        places: dict[str, list[int]] = {}
        for record_id, uuid, parent in self.reader.rows(
            "SELECT id, uuid, parent_uuid FROM records WHERE id BETWEEN ? AND ? AND uuid IS NOT NULL ORDER BY id",
            self.all_ids,
        ):
            children.setdefault(parent, []).append(uuid)
            places.setdefault(uuid, []).append(record_id - self.low)
        inside = {root}
        waiting = [root]
        while waiting:
            new = [uuid for uuid in children.get(waiting.pop(), ()) if uuid not in inside]
            inside.update(new)
            waiting += new
        return inside, frozenset(place for uuid in inside for place in places.get(uuid, ()))

    def first(self, end: int | None) -> Entry | None:
        """The first entry before an offset (None: anywhere); nothing else is read."""
        entry = next(copy(self).stream(0, 0, end), None)
        # A part of a document that ends inside an element gives the whole element.
        return entry if entry is None or end is None or entry.offset < end else None

    def conversation(self) -> Conversation:
        entries = tuple(self.stream(None))
        return Conversation(
            self.session.session_id,
            self.agent_id,
            entries,
            tuple(self.branches.forks),
            self.agents,
            dict(sorted(self.not_shown.items())),
        )

    def stream(self, backlog: int | None, start: int = 0, end: int | None = None) -> Iterator[Entry]:
        """Entries from one offset up to another in reading order, each call with its result, wherever that is.

        At most `backlog` entries (None: any number) wait behind a call; then its result is read separately.
        """
        self.entries, self.places, self.not_shown, self.given = deque(), {}, {}, 0
        self.fetched = set()
        self.calls = {
            row[0]: row[1:]
            for row in self.reader.rows(
                "SELECT tool_use_id, ts, result_ts, path, change, added, removed, persisted, result_id FROM tool_calls"
                " WHERE id BETWEEN ? AND ?",
                (self.low + start, self.low + (OFFSET_MASK if end is None else end - 1)),
            )
        }
        entries = self.entries
        for record in _joined(self._decoded(*self._bounds(start, end))):
            if isinstance(record, Issue):
                self._unread(record)
            elif isinstance(record, Skipped):
                self._skip(record.kind)
            else:
                self._take(record)
            while entries:
                if isinstance(entries[0], Pending) and entries[0].answer is None:
                    if backlog is None or len(entries) <= backlog:
                        break
                    self._fetch(entries[0])
                yield self._given()
        if end is not None:
            for entry in entries:
                if isinstance(entry, Pending) and entry.answer is None:
                    self._fetch(entry)
        while entries:
            yield self._given()

    def _bounds(self, start: int, end: int | None) -> tuple[int, int | None]:
        """The range to read between two offsets: a subagent inside another thread's file is a small part of it."""
        if not self.inside:
            return start, end
        last = self.low + max(self.inside)
        row = self.reader.one("SELECT length FROM records WHERE id = ?", (last,))
        behind = max(self.inside) + row[0] + 1
        start = max(start, min(self.inside))
        return start, max(start, behind if end is None else min(end, behind))

    def _given(self) -> Entry:
        self.given += 1
        entry = self.entries.popleft()
        return self._called(entry) if isinstance(entry, Pending) else entry

    def _fetch(self, call: Pending) -> None:
        """Read the result of a waiting call at the offset that the index gives."""
        tool_use_id, place = call.call.id, self.low + call.record.offset
        row = self.reader.one(
            "SELECT b.id - b.n FROM tool_calls c JOIN blocks b ON b.id = c.result_id"
            " WHERE c.id BETWEEN ? AND ? AND c.tool_use_id = ?",
            (place, place + call.record.length, tool_use_id),
        )
        for record in islice(self._decoded(row[0] - self.low, None, is_alone=True), 1) if row is not None else ():
            if not isinstance(record, Readable):
                return
            for part in record.parts():
                if isinstance(part, Answered) and part.call_id == tool_use_id:
                    call.answer = record, part
                    if record.offset > call.record.offset:
                        self.fetched.add(tool_use_id)
                    break

    def _take(self, record: Readable) -> None:
        if self.only is not None and record.is_entry and record.uuid not in self.only:
            return
        if self.only is None and record.is_aside:
            self._skip(record.aside_kind)
            return
        for part in record.parts():
            if isinstance(part, Said):
                self._add(record, part)
            elif isinstance(part, Called):
                if not part.is_part:
                    self._call(record, part)
            elif isinstance(part, Answered):
                self._answer(record, part)
            elif isinstance(part, QueuedPrompt) and record.offset in self.queued and self.only is None:
                self._add(record, Said("prompt", self.queued[record.offset], queued=True))
            else:
                self._skip(part.kind)

    def _decoded(self, start: int, end: int | None, *, is_alone: bool = False) -> Iterator[Readable | Skipped | Issue]:
        """The records from one offset up to another, and the unreadable parts of lines.

        `is_alone`: without the state that earlier lines give.
        """
        if (long := self.too_long(start)) is not None:
            yield long
            start += long.length + 1
            if end is not None and start >= end:
                return
        lines = self.client.lines(self.record.read(self.transcript, start, end), start)
        kept = self._remembered(start) if self.entry_reader.remembers and not is_alone else b""
        yield from self.entry_reader.records(lines, self.sound, is_whole=end is None, kept=kept)

    def too_long(self, offset: int) -> Readable | None:
        """The record at an offset if its line is too long to be drawn, from the index: the same parts, without their text.

        Windows begin and end at such lines, and results are looked up by the start of their lines, so a long line is only ever
        requested by its first byte.
        """
        if self.longest is None:
            return None
        record_id = self.low + offset
        row = self.reader.one(
            "SELECT length, kind, sub, role, uuid, ts, sidechain FROM records WHERE id = ? AND length > ?",
            (record_id, self.longest),
        )
        if row is None:
            return None
        length, kind, sub, role, uuid, ts, sidechain = row
        note = f"This line has {length:,} bytes, too many to show here; open its raw form."
        parts: list[Said | Called | Answered | Skipped] = []
        if kind in ("user", "assistant"):
            said = Said("reply" if kind == "assistant" else _LONG_USER.get(role, "prompt"), note)
            for number, block, call_id, tool, is_error in self.reader.rows(
                "SELECT n, kind, tool_use_id, tool, is_error FROM blocks WHERE id BETWEEN ? AND ? AND kind <> 'file_change'"
                " ORDER BY id LIMIT 1000",
                (record_id, record_id + length),
            ):
                if block == "tool_result":
                    parts.append(Answered(number, call_id or "", lambda: note, bool(is_error)))
                elif block.endswith("tool_use"):
                    parts.append(Called(number, call_id or "", tool or "", lambda: {"note": note}))
                elif block == "thinking":
                    parts.append(Said("thinking", note))
                elif kind == "assistant" or said not in parts:
                    parts.append(said)
            parts = parts or [said]
            if role == "meta":
                parts = [Skipped("user/meta") if part == said else part for part in parts]
        else:
            shown = _LONG_SYSTEM.get(sub) if kind == "system" else None
            parts.append(Said(shown, note) if shown else Skipped(f"{kind}/{sub}" if sub else kind))
        return Readable(offset, length, moment(ts), uuid, bool(sidechain), is_entry=True, parts=lambda: parts)

    def _remembered(self, start: int) -> bytes:
        """The decoder state after the lines before an offset; cached at steps, so that any window of a long thread is equally fast."""
        known: dict[int, dict[int, bytes]] = self.reader.per_revision("memories", lambda _reader: {})
        if len(known) > _MEMORIES and self.transcript not in known:
            known.clear()
        places = known.setdefault(self.transcript, {0: b""})
        place = max(place for place in places if place <= start)
        kept, step = places[place], _STEP
        while place < start:
            end = min(place + step, start)
            lines = self.client.lines(self.record.read(self.transcript, place, end), place)
            kept = self.entry_reader.remember(lines, kept)
            if lines.offset == place:  # it ends inside a line
                if end == start:
                    break
                step *= 2
            else:
                place, step = lines.offset, _STEP
                places[place] = kept
        return kept

    def _skip(self, kind: str) -> None:
        self.not_shown[kind] = self.not_shown.get(kind, 0) + 1

    def _unread(self, issue: Issue) -> None:
        """Show unreadable bytes, or the first of them."""
        if self.only is not None:
            return
        end = issue.offset + min(issue.length, _RAW_BYTES)
        data = b"".join(self.record.read(self.transcript, issue.offset, end))
        more = f"\n... {issue.length - len(data):,} more bytes" if issue.length > len(data) else ""
        self.entries.append(
            Entry(
                kind="unreadable",
                at=None,
                text=f"{issue.reason.replace('_', ' ')}: {data.decode('utf-8', 'replace')}{more}",
                uuid=None,
                transcript=self.path,
                offset=issue.offset,
                length=issue.length,
                branch=0,
            )
        )

    def _add(self, record: Readable, said: Said) -> None:
        entry = self._said(record, said.kind, said.text, images=said.images, queued=said.queued, model=said.model)
        self.entries.append(entry)

    def _said(self, record: Readable, kind: str, text: str, **more: Any) -> Entry:
        return Entry(
            kind=kind,
            at=record.at,
            text=text,
            uuid=record.uuid,
            transcript=self.path,
            offset=record.offset,
            length=record.length,
            branch=self.branches.of(record.uuid),
            **more,
        )

    def _call(self, record: Readable, part: Called) -> None:
        call = Pending(record, part)
        if part.id:
            self.places[part.id] = self.given + len(self.entries)
        self.entries.append(call)
        result_id = self.calls.get(part.id, _UNKNOWN)[-1]
        if result_id is not None and result_id < self.low + record.offset:
            self._fetch(call)

    def _answer(self, record: Readable, part: Answered) -> None:
        place = self.places.get(part.call_id, -1) - self.given
        call = self.entries[place] if place >= 0 else None
        if call is None and self._is_answer(part.call_id, record):
            return
        if isinstance(call, Pending) and call.answer is None:
            call.answer = record, part
        else:  # its call is not here, or already has a result
            self._add(record, Said("output", part.text()))

    def _called(self, call: Pending) -> Entry:
        """A call as an entry, with its result if there is one."""
        tool_use_id = call.call.id
        ts, result_ts, path, change, added, removed, persisted, _ = self.calls.get(tool_use_id, _UNKNOWN)
        outcome: dict[str, Any] = {"output": None, "is_error": False, "patch": None, "persisted": False}
        if call.answer is not None:
            line, result = call.answer
            text = result.text()
            full = self._persisted(tool_use_id, persisted or result.saved_as(text))
            outcome = {
                "output": text if full is None else full,
                "is_error": result.is_error,
                "patch": result.patch() if change else None,
                "persisted": full is not None,
                "has_image": result.has_image(),
                "result_offset": line.offset,
            }
        made = ToolCall(
            client=self.client.name,
            tool_use_id=tool_use_id,
            tool=call.call.tool,
            input=call.call.input(),
            at=moment(ts),
            duration_ms=max(0, result_ts - ts) if ts is not None and result_ts is not None else None,
            path=path,
            change=change,
            added=added,
            removed=removed,
            agent_id=self.spawned.get(tool_use_id),
            **outcome,
        )
        return self._said(call.record, "tool", "", model=call.call.model, tool=made)

    def _is_answer(self, tool_use_id: str, record: Readable) -> bool:
        """Whether a line has the result of a call that was already returned, or that is outside the range being read."""
        if tool_use_id in self.fetched:
            self.fetched.remove(tool_use_id)
            return True
        if not tool_use_id or tool_use_id in self.places:
            return False
        first = self.low + record.offset
        row = self.reader.one(
            "SELECT 1 FROM tool_calls WHERE tool_use_id = ? AND id BETWEEN ? AND ? AND result_id BETWEEN ? AND ?",
            (tool_use_id, *self.all_ids, first, first + record.length),
        )
        return row is not None

    def _persisted(self, tool_use_id: str, persisted: str) -> str | None:
        """The whole output of a call that was too large for its line, from the file beside the transcript."""
        if not persisted and not tool_use_id:
            return None
        path = persisted.replace("\\", "/") if persisted else f"{tool_use_id}.txt"
        snapshot = self.overflowed.get(posixpath.basename(path))
        if (
            snapshot is None and (start := path.rfind(f"/{self.client.layout.main}/")) >= 0
        ):  # of the session that this one was forked from
            row = self.reader.one(
                "SELECT id FROM side_files WHERE path = ? AND kind = 'tool_result' AND current = 1",
                (path[start + 1 :],),
            )
            snapshot = row[0] if row is not None else None
        return self.record.read_snapshot(snapshot).decode("utf-8", "replace") if snapshot is not None else None


def _joined(found: Iterable[Readable | Skipped | Issue]) -> Iterator[Readable | Skipped | Issue]:
    """The same, with consecutive short unreadable lines joined: a file of junk has millions."""
    run: Issue | None = None
    for item in found:
        junk = item if isinstance(item, Issue) and item.length <= _SHORT_JUNK else None
        if run is not None and junk is not None and junk.reason == run.reason:
            run = Issue(run.offset, junk.offset + junk.length - run.offset, run.reason, run.detail)
            continue
        if run is not None:
            yield run
        run = junk
        if junk is None:
            yield item
    if run is not None:
        yield run
