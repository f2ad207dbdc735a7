"""What a generic client's `Record`s become: rows of the index, texts for search, and entries for a reader."""

from __future__ import annotations

from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from hansard.clients.entries import (
    Answered,
    Called,
    Change,
    Content,
    Hunk,
    Part,
    Readable,
    Said,
    Skipped,
    read_lines,
)
from hansard.clients.generic import (
    CALL,
    CONVERSATION,
    FILE,
    IMAGE,
    NOTHING,
    PROMPT_KINDS,
    RESULT,
    TEXT,
    THINKING,
    stated,
)
from hansard.clients.lines import Issue, Lines, ParsedLine, unfinished
from hansard.clients.protocol import LateTool, Taken
from hansard.clients.rows import AgentRef, Decision, RowFold
from hansard.clients.state import (
    MAX_OPEN_CALLS,
    NAME_LENGTH,
    PATH_LENGTH,
    OpenCall,
    Result,
    countable,
    digest,
    note,
    preview,
)
from hansard.clients.texts import RecordTexts, Text, leaf_strings, without_base64
from hansard.clients.usage import FIRST_OF_ANSWER, SIDECHAIN, dated
from hansard.model.permissions import DENIED
from hansard.model.time import from_milliseconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hansard.clients.generic import Block, GenericClient, Record


class GenericFold(RowFold):
    """Turns records into rows."""

    def __init__(self, client: GenericClient, base: int, **given: Any) -> None:
        super().__init__(base, **given)
        self._client = client
        self.state.memory = self._memory = client.recall(self.state.memory)
        self.agent_id = self.agent_id or self.state.agent_id

    def take(self, line: bytes, offset: int) -> Taken:
        return Taken.RECORDS if self._take(self._client.items(line, offset, self._memory)) else Taken.ISSUES

    def take_rest(self, rest: bytes, offset: int) -> bool:
        """Take what follows the last line and is not finished yet."""
        found = unfinished(rest, offset, partial(self._client.items, memory=self._memory))
        self._take(found)
        return bool(found)

    def feed(self, item: Issue) -> None:
        self.issues.add(item, self.rows.issues)

    def _take(self, found: Iterable[ParsedLine | Issue]) -> bool:
        has_records = False
        for item in found:
            if isinstance(item, Issue):
                self.feed(item)
            else:
                has_records = True
                self._record(item.offset, item.length, item.body)
        return has_records

    def _record(self, offset: int, length: int, record: Record) -> None:
        state, record_id = self.state, self.base + offset
        state.records += 1
        name = countable(record.kind, state.kinds)
        state.kinds[name] = state.kinds.get(name, 0) + 1
        self._context(record)
        self._note_unknown(offset, record)
        if record.mode:
            self.note_mode(record_id, record.ts, record.mode, record.mode_words or record.mode)
        if record.is_copy:
            state.copied = offset + length
        is_aside = record.is_aside or self.is_agent
        message_id = self._message(record_id, record)
        if record.kind not in CONVERSATION:
            if message_id is not None:
                self.rows.records.append(
                    (
                        record_id,
                        length,
                        record.kind,
                        None,
                        "usage",
                        None,
                        None,
                        record.ts,
                        int(is_aside),
                        message_id,
                        None,
                    )
                )
            return
        if record.uuid and not state.root_uuid:
            state.root_uuid = record.uuid
        begins_answer = self._count_answer(record)
        has_result = False
        blocks = record.blocks[: max(1, length)]
        for number, block in enumerate(blocks):
            if block.kind == CALL:
                files = list(takewhile(lambda other: other.kind == FILE, blocks[number + 1 :]))
                self._call(record_id + number, number, record, block, files, message_id)
            elif block.kind == RESULT:
                has_result = True
                self._result(record_id + number, number, record, block)
            elif block.kind not in (NOTHING, FILE):
                state.images += block.kind == IMAGE
                state.replies += block.kind == TEXT and (record.kind == "assistant" or block.is_reply)
                self.rows.blocks.append((record_id + number, number, block.kind, None, None, 0))
        role = record.role or ("result" if has_result else "reply" if record.kind == "assistant" else "note")
        if has_result and record.kind == "user" and not record.text:
            role = "result"
        elif role == "prompt" and is_aside:
            role = "instruction"
        if record.started_by and not self.is_agent:
            self.rows.sidechains.append((record_id, record.uuid, digest(record.text), record.ts, ""))
            self.rows.agent_refs.add(AgentRef(self.base, record.started_by, f"sidechain-{record.uuid[:8]}", 2))
        state.api_errors += role == "error"
        if role == "compaction":
            state.compactions += 1
            self.rows.compactions.append((record_id, record.ts, None, None, None))
        if role in ("prompt", "instruction") and not state.first_text:
            state.first_text = digest(record.text)
        if role == "prompt":
            state.prompts += 1
            state.first_prompt = state.first_prompt or preview(record.asked or record.text)
        elif role in ("command", "bash"):
            state.commands += 1
            state.first_command = state.first_command or preview(record.text)
        if role in PROMPT_KINDS:
            self.rows.prompts.append((record_id, role, record.ts, record.asked or record.text, None, None))
        self.rows.records.append(
            (
                *(record_id, length, record.kind, FIRST_OF_ANSWER if begins_answer else None, role),
                *(record.uuid or None, record.parent_uuid or None, record.ts, int(is_aside), message_id, None),
            )
        )

    def _note_unknown(self, offset: int, record: Record) -> None:
        known = self._client.known_kinds
        if known is not None and record.kind not in known and record.kind not in CONVERSATION:
            self.note_drift(self.state.version, record.kind, "", offset)
        for kind, field in record.unknown:
            self.note_drift(self.state.version, kind, field, offset)

    def _context(self, record: Record) -> None:
        state = self.state
        if record.ts is not None:
            state.last_ts = record.ts if state.last_ts is None else max(record.ts, state.last_ts)
            state.first_ts = record.ts if state.first_ts is None else min(record.ts, state.first_ts)
        if record.session_id and not state.session_id:
            state.session_id = record.session_id
            self.session_id = self.session_id or record.session_id
        if record.agent_id and not state.agent_id:
            state.agent_id = record.agent_id
            self.agent_id = self.agent_id or record.agent_id
        state.agent_type = state.agent_type or record.agent_type
        state.description = state.description or record.description
        state.forked_from = state.forked_from or record.forked_from
        state.cwd = state.cwd or record.cwd
        self.note_context(record.branch, record.version)
        if record.model and record.kind == "assistant" and record.usage is None and not record.is_copy:
            note(state.models, record.model)
        state.custom_title = record.title or state.custom_title

    def _count_answer(self, record: Record) -> bool:
        """Whether an answer of the model begins here: whatever it says until its calls have results."""
        state = self.state
        is_answer = record.kind == "assistant" or any(block.is_reply for block in record.blocks)
        is_new = not state.is_answering or record.kind == "user"  # a prompt with its answer
        begins = is_answer and is_new and not record.is_copy
        state.answers += begins
        state.is_answering = is_answer and not any(block.kind == RESULT for block in record.blocks)
        return begins

    def _message(self, record_id: int, record: Record) -> int | None:
        if record.usage is None:
            return None
        agent_id = self.agent_id or (SIDECHAIN if record.is_aside else "")
        messages = []
        for number, usage in enumerate((record.usage, *record.more_usage)):
            place = "" if usage.is_shared else f"{self.session_id}/"
            key = f"{self._client.name}/{place}{usage.message_id}"
            key = key if len(key) <= NAME_LENGTH else digest(key)
            messages.append(self.message_id(key, record_id + number, usage.model or record.model or None, record.ts))
            owner = (record_id, dated(record.ts), self.path, self.session_id, agent_id)
            self.count_usage(stated(record, key, *owner, usage))
        return messages[0]

    def _call(
        self, block_id: int, number: int, record: Record, block: Block, files: list[Block], message_id: int | None
    ) -> None:
        self.state.tool_calls += 1
        name, ts = block.tool[:NAME_LENGTH], _time(record, block)
        calls = []
        for part, changed in enumerate((block, *files)):
            path = changed.path[:PATH_LENGTH] or None
            self.rows.blocks.append((block_id + part, number + part, changed.kind, changed.call_id, name, 0))
            self.rows.calls[block_id + part] = [
                block_id + part, changed.call_id, name, ts, message_id, path, None, None, 0, None, 0, 0, None,
                changed.description or None, changed.agent_type or None, part,
                (record.model[:NAME_LENGTH] or None) if message_id is None else None,
            ]  # fmt: skip
            added, removed = _lines_changed(changed.changes)
            calls.append(OpenCall(block_id + part, name, ts, path, changed.change or None, added, removed))
        if not block.call_id:
            return
        if block.task:
            self.rows.agent_refs.add(AgentRef(self.base, block.call_id, f"#{digest(block.task)}", 5))
        call, *call.files = calls
        early = self.open_call(block.call_id, call)
        if early is not None:
            self._pair(call, early)

    def _result(self, block_id: int, number: int, record: Record, block: Block) -> None:
        call = self.state.open_calls.pop(block.call_id[:NAME_LENGTH], None)
        is_beside = call is not None and call.id >= block_id - number  # then the record's time is the call's
        at = _time(record, block) if block.ts is not None or not is_beside else None
        result = Result(block_id, at, int(block.is_error), None, None)
        if block.denied_by:
            self.note_decision(block_id, at, Decision(DENIED, block.denied_by))
        if block.agent_id:
            self.rows.agent_refs.add(AgentRef(self.base, block.call_id, block.agent_id, 2))
        name = call.name if call is not None else None
        self.rows.blocks.append((block_id, number, RESULT, block.call_id, name, result.is_error))
        if call is not None:
            if block.written is not None and not call.files:
                call.added, call.removed = _lines_changed(block.written)
            self._pair(call, result)
        elif block.call_id:
            self.keep_early(block.call_id, result)

    def _pair(self, call: OpenCall, result: Result) -> None:
        if call.files:
            changes = {file.change for file in call.files if file.change is not None}
            call.change = changes.pop() if len(changes) == 1 else "edit" if changes else None
            call.added = sum(file.added for file in call.files)
            call.removed = sum(file.removed for file in call.files)
        for file in (call, *call.files):
            is_done = file.change is not None and not result.is_error
            known: tuple[Any, ...] = (
                *(result.id, result.ts, result.is_error, file.change if is_done else None),
                *(file.added if is_done else 0, file.removed if is_done else 0, None, file.path),
            )
            self.put_result(file, known)


def _time(record: Record, block: Block) -> int | None:
    return record.ts if block.ts is None else block.ts or None


def _lines_changed(changes: Sequence[Change]) -> tuple[int, int]:
    added = removed = 0
    for change in changes:
        if isinstance(change, Hunk):
            added += sum(line.startswith("+") for line in change.lines)
            removed += sum(line.startswith("-") for line in change.lines)
        elif isinstance(change, Content):
            added += len(change.lines)
        else:
            added += len(change.new.splitlines())
            removed += len(change.old.splitlines())
    return added, removed


_SHOWN = {
    "instruction": "prompt",
    **{
        name: name
        for name in ("prompt", "command", "bash", "error", "compaction", "summary", "notification", "interruption")
    },
}


class _TextState(Struct, gc=False, omit_defaults=True):
    calls: dict[str, str] = {}  # tool calls without a result so far: id -> tool
    title: str = ""  # digest of the last one
    memory: Any = None


class GenericTexts:
    """Gives the texts of records."""

    late_tools: Sequence[LateTool] = ()

    def __init__(self, client: GenericClient, kept: bytes, *, is_agent: bool) -> None:
        self._client, self._is_agent = client, is_agent
        self._kept = msgspec.msgpack.decode(kept, type=_TextState) if kept else _TextState()
        self._kept.memory = client.recall(self._kept.memory)

    def kept(self) -> bytes:
        """What the next fold of this transcript goes on from."""
        return msgspec.msgpack.encode(self._kept)

    def take(self, line: bytes, offset: int) -> list[RecordTexts] | None:
        return self._of(self._client.items(line, offset, self._kept.memory)) or None

    def take_rest(self, rest: bytes, offset: int) -> list[RecordTexts]:
        return self._of(unfinished(rest, offset, partial(self._client.items, memory=self._kept.memory)))

    def _of(self, found: Iterable[ParsedLine | Issue]) -> list[RecordTexts]:
        return [
            RecordTexts(item.offset, item.body.is_aside or self._is_agent, list(self._texts(item.body)))
            for item in found
            if isinstance(item, ParsedLine)
        ]

    def _texts(self, record: Record) -> Iterator[Text]:
        is_error = record.role == "error"
        for number, block in enumerate(record.blocks):
            if block.kind == TEXT and block.text:
                is_reply = record.kind == "assistant" or block.is_reply
                kind = "reply" if is_reply else PROMPT_KINDS.get(record.role, "note")
                yield Text(number, kind, block.text, is_error=is_error)
            elif block.kind == THINKING and block.text:
                yield Text(number, "thinking", block.text)
            elif block.kind == CALL:
                if block.call_id and len(self._kept.calls) < MAX_OPEN_CALLS:
                    self._kept.calls[block.call_id[:NAME_LENGTH]] = block.tool[:NAME_LENGTH]
                given: list[str] = []
                leaf_strings(block.input, given)
                yield Text(number, "call", without_base64("\n".join(given)), block.tool[:NAME_LENGTH])
            elif block.kind == RESULT and block.text:
                tool = self._kept.calls.pop(block.call_id[:NAME_LENGTH], "")
                yield Text(number, "result", without_base64(block.text), tool, block.is_error)
        if record.title and digest(record.title) != self._kept.title:
            self._kept.title = digest(record.title)
            yield Text(len(record.blocks), "title", record.title)


class GenericEntries:
    """Reads records for a reader."""

    def __init__(self, client: GenericClient, *, is_agent: bool) -> None:
        self._client, self._is_agent = client, is_agent

    @property
    def remembers(self) -> bool:
        return self._client.remembers

    def remember(self, lines: Lines, kept: bytes) -> bytes:
        memory = self._client.recall(msgspec.msgpack.decode(kept) if kept else None)
        for offset, line in lines:
            for _ in self._client.items(line, offset, memory):
                pass
        return msgspec.msgpack.encode(memory)

    def records(
        self,
        lines: Lines,
        sound: int,  # noqa: ARG002
        *,
        is_whole: bool,
        kept: bytes = b"",
    ) -> Iterator[Readable | Skipped | Issue]:
        memory = self._client.recall(msgspec.msgpack.decode(kept) if kept else None)
        read = partial(self._client.items, memory=memory)

        def rest(line: bytes, offset: int) -> Iterable[Readable | Issue]:
            if is_whole:
                return self._read(unfinished(line, offset, read))
            # Before the next record of a document are a comma and perhaps its key, which are no record.
            return self._read(item for item in read(line, offset) if isinstance(item, ParsedLine))

        return read_lines(lines, lambda _line, _offset: None, lambda line, offset: self._read(read(line, offset)), rest)

    def line(self, line: bytes, offset: int) -> Iterable[Readable | Issue]:
        return self._read(self._client.items(line, offset))

    def _read(self, found: Iterable[ParsedLine | Issue]) -> Iterator[Readable | Issue]:
        for item in found:
            if isinstance(item, Issue):
                yield item
                continue
            record: Record = item.body
            yield Readable(
                item.offset,
                item.length,
                from_milliseconds(record.ts),
                record.uuid or None,
                record.is_aside and not self._is_agent,
                record.kind in CONVERSATION,
                partial(self._parts, record),
                record.cwd,
            )

    def _parts(self, record: Record) -> Iterator[Part]:
        if record.kind not in CONVERSATION:
            yield Skipped(record.kind)
            return
        images = sum(block.kind == IMAGE for block in record.blocks)
        said = "reply" if record.kind == "assistant" and record.role != "error" else _SHOWN.get(record.role, "note")
        if images and not any(block.kind == TEXT for block in record.blocks):
            yield Said(said, "", images=images)
        for number, block in enumerate(record.blocks):
            if block.kind == TEXT:
                yield Said("reply" if block.is_reply else said, block.text, images=images, model=record.model or None)
                images = 0
            elif block.kind == THINKING:
                yield Said("thinking", block.text, model=record.model or None)
            elif block.kind in (CALL, FILE):
                yield Called(
                    number,
                    block.call_id,
                    block.tool,
                    partial(_same, block.input),
                    record.model or None,
                    partial(_same, block.command),
                    partial(_same, block.changes),
                    block.kind == FILE,
                )
            elif block.kind == RESULT:
                yield Answered(
                    number,
                    block.call_id,
                    partial(_same, block.text),
                    block.is_error,
                    patch=partial(_same, block.patch or None),
                    written=partial(_same, block.written),
                )


def _same(value: Any) -> Any:
    return value
