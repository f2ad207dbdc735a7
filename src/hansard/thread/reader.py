"""A session's thread as a reader wants it: decoded from the verbatim record, results beside their calls."""

from __future__ import annotations

import posixpath
from collections import deque
from collections.abc import Iterable, Iterator
from copy import copy
from itertools import islice
from typing import Any, Protocol

import msgspec

from hansard.clients.claude_code import meaning as m
from hansard.clients.claude_code import wire
from hansard.clients.claude_code.decode import UNREAD, decode, is_main_progress, is_progress, items
from hansard.clients.lines import Lines
from hansard.clients.records import Issue, ParsedLine, unfinished
from hansard.errors import NotFound
from hansard.lazy_regex import lazy_compile
from hansard.model.handles import shown_id
from hansard.model.sessions import Session
from hansard.model.threads import Agent, Conversation, Entry, ToolCall
from hansard.model.time import from_milliseconds as moment
from hansard.query.reader import Reader, like
from hansard.storage.ids import OFFSET_BITS, OFFSET_MASK
from hansard.thread.structure import open_branches, typed_lines

_compact = msgspec.json.Decoder(wire.CompactMetadata).decode

_SAVED = lazy_compile(r"\s*<persisted-output>\s[^\n]*saved to: ([^\n]+)")

_RAW_BYTES = 2000  # of a line that cannot be read
_SHORT_JUNK = 64  # bytes

_UNKNOWN = (None, None, None, None, 0, 0, None, None)  # a call that the index does not have

# What a user line that is no prompt is called for a reader; the rest says nothing to one.
_SHOWN = {
    "command": "command",
    "bash": "bash",
    "command_output": "output",
    "bash_output": "output",
    "compact_summary": "summary",
    "notification": "notification",
    "teammate": "teammate",
    "interruption": "interruption",
    "instruction": "prompt",
    "prompt": "prompt",
}


class Pending:
    """A tool call that was read, and the line and the block with its result as soon as they were."""

    __slots__ = ("answer", "block", "model", "record")

    def __init__(self, record: ParsedLine, block: wire.Block, model: str | None) -> None:
        self.record = record
        self.block = block
        self.model = model
        self.answer: tuple[ParsedLine, wire.Block] | None = None


class LineSource(Protocol):
    """Gives the bytes that a thread is read from: the record, or one in which long lines are short."""

    def read(self, generation: int, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """The bytes of a transcript from `start` to `end`."""

    def read_snapshot(self, snapshot_id: int) -> bytes:
        """A file that is kept whole."""


def find_agent(reader: Reader, session_id: str, name: str) -> tuple[int, str | None, str]:
    """A subagent by the beginning or the handle of its id: its transcript, its first record where that is another thread's file, its id."""
    reader.teach("shown_id", shown_id)
    row = reader.one(
        "SELECT a.transcript, r.uuid, a.agent_id FROM agents a LEFT JOIN records r ON r.id = a.record_id"
        " WHERE a.session_id = ?1 AND (a.agent_id LIKE ?2 ESCAPE '\\' OR shown_id(a.agent_id) = ?3)"
        " ORDER BY shown_id(a.agent_id) = ?3 DESC, a.agent_id = ?3 DESC, a.agent_id",
        (session_id, like(name)[1:], name),
    )
    if row is None:
        raise NotFound(f"session {session_id} has no subagent {name!r}")
    transcript, first_uuid, agent_id = row
    return transcript, first_uuid, agent_id


def list_agents(reader: Reader, session_id: str) -> tuple[Agent, ...]:
    """A session's subagents, in the order they started."""
    rows = reader.rows(
        "SELECT a.agent_id, a.parent_agent, a.depth, a.agent_type, a.description, c.tool_use_id, a.linked_by, a.warmup,"
        " a.started_at, a.ended_at, a.messages, a.tool_calls FROM agents a LEFT JOIN tool_calls c ON c.id = a.call_id"
        " WHERE a.session_id = ? ORDER BY coalesce(a.started_at, 0), a.agent_id",
        (session_id,),
    )
    return tuple(_agent(row) for row in rows)


def _agent(row: Any) -> Agent:
    values: Any = (*row[:7], bool(row[7]), moment(row[8]), moment(row[9]), row[10], row[11])
    return Agent(*values)


class ThreadReader:
    """Reads a thread: collects entries while the transcript's lines go by."""

    def __init__(
        self,
        reader: Reader,
        record: LineSource,
        session: Session,
        transcript: int,
        agent_id: str | None,
        sidechain_root: str | None,
        agents: tuple[Agent, ...],
    ) -> None:
        self.reader = reader
        self.record = record
        self.session = session
        self.transcript = transcript
        self.agent_id = agent_id
        self.agents = agents
        self.entries: deque[Entry | Pending] = deque()  # calls that wait for a result, and what stands behind them
        self.given = 0  # how many went before
        self.not_shown: dict[str, int] = {}
        self.spawned = {agent.tool_use_id: agent.agent_id for agent in agents if agent.tool_use_id}
        row = reader.one("SELECT path, kind, indexed, issues FROM transcripts WHERE id = ?", (transcript,))
        self.path: str
        self.path, kind, indexed, issues = row
        self.is_agent_file = kind == "agent"
        self.sound = (
            0 if issues or sidechain_root else indexed
        )  # up to where every line is known to be one whole record
        self.low = transcript << OFFSET_BITS
        self.places: dict[str, int] = {}  # tool_use_id -> place of its entry
        self.fetched: set[str] = set()  # calls whose results were read before their place
        self.calls: dict[str, Any] = {}  # those that begin there or later
        self.typed = typed_lines(reader, self.low)
        self.only: set[str] | None = None  # the records of a subagent inside a main file
        self.inside: frozenset[int] | None = None  # and where they stand
        self.branches = open_branches(
            reader,
            self.low,
            [(line.uuid, line.parent_uuid) for line in self.typed if line.is_prompt and line.uuid],
        )
        if sidechain_root:
            self.only, self.inside = self._subtree(sidechain_root)
        # Before they had records of their own, prompts typed while the model worked stood in the queue's.
        self.queued: dict[int, str] = {
            row[0] - self.low: row[1]
            for row in reader.rows(
                "SELECT id, text FROM prompts WHERE id BETWEEN ? AND ? AND source = 'queued'",
                self.all_ids,
            )
        }
        # Outputs that did not fit their lines: the name of the file beside the transcript -> its snapshot.
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
        """Between which the ids of the transcript's rows are."""
        return self.low, self.low + OFFSET_MASK

    def _subtree(self, root: str) -> tuple[set[str], frozenset[int]]:
        """A sidechain inside a main transcript: its first record and whatever hangs on it, and where they stand."""
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
        """The first entry that stands before an offset (None: anywhere); nothing else is read for it."""
        return next(copy(self).stream(0, 0, end), None)

    def conversation(self) -> Conversation:
        """All of it."""
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
        """Entries from one offset up to another in reading order, each call with its result, wherever that stands.

        No more than `backlog` entries (None: any number) wait behind a call: then its result is read by itself.
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
        for record in _joined(self._decoded(start, end)):
            if isinstance(record, Issue):
                self._unread(record)
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

    def _given(self) -> Entry:
        self.given += 1
        entry = self.entries.popleft()
        return self._called(entry) if isinstance(entry, Pending) else entry

    def _fetch(self, call: Pending) -> None:
        """Read the result of a waiting call where the index says that it stands."""
        tool_use_id, place = call.block.id or "", self.low + call.record.offset
        row = self.reader.one(
            "SELECT b.id - b.n FROM tool_calls c JOIN blocks b ON b.id = c.result_id"
            " WHERE c.id BETWEEN ? AND ? AND c.tool_use_id = ?",
            (place, place + call.record.length, tool_use_id),
        )
        for record in islice(self._decoded(row[0] - self.low, None), 1) if row is not None else ():
            if isinstance(record, Issue):
                return
            for block in m.blocks_of(record):
                if block.type == "tool_result" and block.tool_use_id == tool_use_id:
                    call.answer = record, block
                    if record.offset > call.record.offset:
                        self.fetched.add(tool_use_id)
                    break

    def _take(self, record: ParsedLine) -> None:
        if record.kind in wire.ENTRY_KINDS:
            body = record.body
            if self.only is not None:
                if body.uuid in self.only:
                    self._entry(record, body)
            elif (body.is_sidechain or body.stream_parent_tool) and not self.is_agent_file:
                self._skip("sidechain")
            else:
                self._entry(record, body)
        elif record.kind == "queue-operation" and record.offset in self.queued and self.only is None:
            self._add(record, "prompt", self.queued[record.offset], queued=True)
        else:
            self._skip(record.kind or "without type")

    def _decoded(self, start: int, end: int | None) -> Iterator[ParsedLine | Issue]:
        """The records from one offset up to another, and what of the lines cannot be read."""
        lines = Lines(self.record.read(self.transcript, start, end), start)
        sound, is_idle = self.sound, is_progress if self.is_agent_file else is_main_progress
        for offset, line in lines:
            if offset < sound and is_idle(line):
                self._skip("progress")
                continue
            record = decode(line, offset)
            if record is not None:
                yield record
                continue
            found = list(filter(_is_shown, items(line, offset)))
            yield from found
            if len(line) <= _SHORT_JUNK and all(isinstance(item, Issue) for item in found):
                more = lines.skip_equal(line)
                if more:  # the last of these lines tells how far they go
                    yield from filter(_is_shown, items(line, offset + more * (len(line) + 1)))
        # An end may be inside a line, where records are glued together: what stands before it is no unfinished line.
        rest = unfinished(lines.rest, lines.offset, items) if end is None else items(lines.rest, lines.offset)
        yield from filter(_is_shown, rest)

    def _skip(self, kind: str) -> None:
        self.not_shown[kind] = self.not_shown.get(kind, 0) + 1

    def _unread(self, issue: Issue) -> None:
        """Show the bytes that nothing could be made of, or the first of them."""
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

    def _add(self, record: ParsedLine, kind: str, text: str, **more: Any) -> None:
        self.entries.append(self._said(record, kind, text, **more))

    def _said(self, record: ParsedLine, kind: str, text: str, **more: Any) -> Entry:
        uuid: str | None = getattr(record.body, "uuid", None)
        return Entry(
            kind=kind,
            at=m.moment(record.body.timestamp),
            text=text,
            uuid=uuid,
            transcript=self.path,
            offset=record.offset,
            length=record.length,
            branch=self.branches.of(uuid),
            **more,
        )

    def _entry(self, record: ParsedLine, body: wire.Entry) -> None:
        kind = record.kind
        if kind == "user":
            self._user(record, body)
        elif kind == "assistant":
            self._assistant(record, body)
        elif kind == "attachment":
            attachment = m.attachment_of(body)
            sub = attachment.type if attachment else None
            text = m.prompt_text(attachment.prompt) if attachment and sub == "queued_command" else ""
            if attachment and text:
                self._add(record, _SHOWN.get(m.queued_says(attachment, text), "note"), text, queued=True)
            else:
                self._skip(m.full_kind(kind, sub))
        elif kind == "system":
            self._system(record, body)
        else:
            self._skip(kind)

    def _user(self, record: ParsedLine, body: wire.Entry) -> None:
        content = body.message.content if body.message else None
        images = 0
        has_result = False
        if isinstance(content, list):
            for block in content:
                if block.type == "tool_result":
                    has_result = True
                    self._tool_result(record, block)
                elif block.type in ("image", "document"):
                    images += 1
        text = m.user_text(content)
        if has_result and not text:
            return
        role = m.role(body, text, has_result=False, sidechain=self.is_agent_file)
        shown = _SHOWN.get(role)
        if shown is None:
            self._skip(f"user/{role}")
        elif has_result:
            self._add(record, "note", text)  # said beside a result, so not counted as a prompt of its own
        elif shown in ("command", "bash"):
            self._add(record, shown, m.command_of(text) or text)
        else:
            self._add(record, shown, m.inner_text(text) if shown == "output" else text, images=images)

    def _assistant(self, record: ParsedLine, body: wire.Entry) -> None:
        message = body.message
        if message is None:
            self._skip("assistant")
            return
        model = message.model
        if isinstance(message.content, str):
            self._add(record, "error" if body.is_api_error else "reply", message.content, model=model)
            return
        for block in message.content or ():
            if block.type == "text":
                self._add(record, "error" if body.is_api_error else "reply", m.string(block.text), model=model)
            elif block.type == "thinking":
                thought = m.string(block.thinking)
                if thought.strip():
                    self._add(record, "thinking", thought, model=model)
                else:
                    self._skip("thinking without text")
            elif block.type in ("tool_use", "server_tool_use", "mcp_tool_use"):
                self._tool_use(record, block, model)
            elif block.type == "tool_result":
                self._tool_result(record, block)
            else:
                self._skip(f"block/{block.type}")

    def _tool_use(self, record: ParsedLine, block: wire.Block, model: str | None) -> None:
        call = Pending(record, block, model)
        if block.id:
            self.places[block.id] = self.given + len(self.entries)
        self.entries.append(call)
        result_id = self.calls.get(block.id or "", _UNKNOWN)[-1]
        if result_id is not None and result_id < self.low + record.offset:
            self._fetch(call)

    def _tool_result(self, record: ParsedLine, block: wire.Block) -> None:
        tool_use_id = block.tool_use_id or ""
        place = self.places.get(tool_use_id, -1) - self.given
        call = self.entries[place] if place >= 0 else None
        if call is None and self._is_answer(tool_use_id, record):
            return
        if isinstance(call, Pending) and call.answer is None:
            call.answer = record, block
        else:  # of a call that is not here, or that has its result already
            self._add(record, "output", m.result_text(block.content))

    def _called(self, call: Pending) -> Entry:
        """A call as an entry, with its result where there is one."""
        tool_use_id = call.block.id or ""
        ts, result_ts, path, change, added, removed, persisted, _ = self.calls.get(tool_use_id, _UNKNOWN)
        outcome: dict[str, Any] = {"output": None, "is_error": False, "patch": None, "persisted": False}
        if call.answer is not None:
            line, result = call.answer
            text = m.result_text(result.content)
            full = self._persisted(tool_use_id, persisted, text)
            outcome = {
                "output": text if full is None else full,
                "is_error": bool(result.is_error),
                "patch": m.patch_of(line.body.tool_use_result) if change else None,
                "persisted": full is not None,
                "has_image": m.has_image(result),
                "result_offset": line.offset,
            }
        made = ToolCall(
            tool_use_id=tool_use_id,
            tool=call.block.name or "",
            input=m.tool_input(call.block.input),
            at=moment(ts),
            duration_ms=max(0, result_ts - ts) if ts is not None and result_ts is not None else None,
            path=path,
            change=change,
            added=added,
            removed=removed,
            agent_id=self.spawned.get(tool_use_id),
            **outcome,
        )
        return self._said(call.record, "tool", "", model=call.model, tool=made)

    def _is_answer(self, tool_use_id: str, record: ParsedLine) -> bool:
        """Whether a line has the result of a call that was given with it, or that stands where it was not read: before or behind."""
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

    def _persisted(self, tool_use_id: str, persisted: str | None, text: str) -> str | None:
        """The whole output of a call that did not fit its line, from the file beside the transcript."""
        if not persisted:  # subagents only say it in the text
            said = _SAVED.match(text[:4000])
            persisted = said[1] if said else None
        if not persisted and not tool_use_id:
            return None
        path = persisted.replace("\\", "/") if persisted else f"{tool_use_id}.txt"
        snapshot = self.overflowed.get(posixpath.basename(path))
        if (
            snapshot is None and (start := path.rfind("/projects/")) >= 0
        ):  # of the session that this one was forked from
            row = self.reader.one(
                "SELECT id FROM side_files WHERE path = ? AND kind = 'tool_result' AND current = 1",
                (path[start + 1 :],),
            )
            snapshot = row[0] if row is not None else None
        return self.record.read_snapshot(snapshot).decode("utf-8", "replace") if snapshot is not None else None

    def _system(self, record: ParsedLine, body: wire.Entry) -> None:
        sub = body.subtype
        text = m.string(body.content)
        if sub == "compact_boundary":
            facts = m.lenient(_compact, body.compact_metadata) or wire.CompactMetadata()
            tokens = f", {facts.pre_tokens:,} tokens before" if facts.pre_tokens else ""
            self._add(record, "compaction", f"Conversation compacted ({facts.trigger or 'unknown'}{tokens})")
        elif sub == "local_command" and text:
            command = m.command_of(text)
            self._add(record, "command" if command else "output", command or m.inner_text(text))
        elif sub == "api_error":
            self._add(record, "error", text or "API error")
        elif sub in ("informational", "away_summary") and text:
            self._add(record, "note", text)
        else:
            self._skip(m.full_kind("system", sub))


def _joined(found: Iterable[ParsedLine | Issue]) -> Iterator[ParsedLine | Issue]:
    """The same, with short unreadable lines that follow each other as one: a file of junk has them by the million."""
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


def _is_shown(item: ParsedLine | Issue) -> bool:
    return isinstance(item, ParsedLine) or item.reason in UNREAD
