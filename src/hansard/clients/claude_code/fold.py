"""The fold of one transcript: records in file order -> rows for the index, and the state to go on from.

Everything here depends on the transcript's own bytes only. What needs several transcripts (who owns a message, titles
in other files, subagents and forks) is derived from these rows in `hansard.index`.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from hansard.clients.claude_code import wire
from hansard.clients.claude_code.decode import entry, items
from hansard.clients.claude_code.edits import Edit, is_persisted, outcome_of, planned_edit, stated_edit
from hansard.clients.claude_code.forks import note_line, note_prompt
from hansard.clients.claude_code.meaning import (
    SYNTHETIC,
    attachment_of,
    command_of,
    full_kind,
    lenient,
    milliseconds,
    progress_of,
    prompt_text,
    queued_says,
    raw_is_string,
    repeated_line,
    result_text,
    role,
    string,
    sub_kind,
    user_text,
)
from hansard.clients.claude_code.permissions import decision_of, mode_of
from hansard.clients.claude_code.side_records import take_side_record
from hansard.clients.claude_code.usage import (
    CALL_BLOCKS,
    answer_key,
    first_tool,
    has_reusable_id,
    message_key,
    stated,
    streamed_answer,
)
from hansard.clients.lines import Issue, ParsedLine, unfinished
from hansard.clients.protocol import Taken
from hansard.clients.rows import AgentRef, RowFold
from hansard.clients.state import NAME_LENGTH, PATH_LENGTH, OpenCall, Result, State, countable, digest, note, preview
from hansard.clients.usage import REPEATED_LINE, SIDECHAIN, dated

_input = msgspec.json.Decoder(wire.ToolInput).decode
_number = msgspec.json.Decoder(wire.Number | float).decode
_forked = msgspec.json.Decoder(wire.ForkedFrom).decode
_compact = msgspec.json.Decoder(wire.CompactMetadata).decode

_SPAWNERS = frozenset({"Task", "Agent"})
_AGENT_ID_IN_TEXT = re.compile(r"\bagentId: ?([0-9A-Za-z_-]{4,64})")
# How many progress records are remembered as possible parents; a child follows within a few lines.
_MAX_ASIDES = 64
# Subagents of a session whose lines progress records repeat; more are never at work at a time.
_MAX_PROGRESS_THREADS = 1000
# Keys of a damaged or foreign file are not a report; the first ones say enough.
_NO_TITLE = frozenset(
    {"/clear", "/effort", "/model", "/compact", "/exit", "/login", "/logout", "/config", "/resume", "/status"}
)


class Fold(RowFold):
    """Feeds on records and issues of one transcript and fills `rows` and `state`."""

    def __init__(self, base: int, *, session_id: str, **given: Any) -> None:
        super().__init__(base, session_id=session_id, **given)
        self.named_session = session_id  # by the path; empty where that does not tell
        self._said: object = None
        self._counts = self.state  # where a line's tools, replies and images are counted

    def take(self, line: bytes, offset: int) -> Taken:
        body = entry(line)
        if body is not None:
            self.entry(offset, len(line), body)
            return Taken.INTACT
        has_records = False
        for item in items(line, offset):
            has_records |= isinstance(item, ParsedLine)
            self.feed(item)
        return Taken.RECORDS if has_records else Taken.ISSUES

    def take_rest(self, rest: bytes, offset: int) -> bool:
        """Take what follows the last newline."""
        found = unfinished(rest, offset, items)
        for item in found:
            self.feed(item)
        return bool(found)

    def feed(self, item: ParsedLine | Issue) -> None:
        """Take the next record or issue of the transcript, of any kind."""
        if isinstance(item, Issue):
            self.issues.add(item, self.rows.issues)
            return
        if item.kind in wire.ENTRY_KINDS:
            self.entry(item.offset, item.length, item.body)
        else:
            take_side_record(self, item)
        if item.strange:
            self._drift(item)

    # -- conversation records

    def entry(self, offset: int, length: int, body: wire.Entry) -> None:
        """Take the next conversation record; nearly every line is one, so this is where a sync spends its time."""
        state = self.state
        state.records += 1
        kind = body.type or ""
        record_id = self.base + offset
        if kind == "progress" and state.cwd:
            self._progress(record_id, length, body)
            return
        ts = milliseconds(body.timestamp)
        if ts is not None:
            if state.last_ts is None or ts > state.last_ts:
                state.last_ts = ts
            if state.first_ts is None or ts < state.first_ts:
                state.first_ts = ts
        if (
            body.session_id != state.session_id
            or body.version != state.version
            or body.git_branch != state.branch
            or not state.cwd
            or body.stream_session is not None
            or body.team_name is not None
            or body.forked_from
        ):
            self._context(body)
        sidechain = bool(body.is_sidechain or body.stream_parent_tool) or self.is_agent
        uuid = body.uuid or None
        # A session may begin with progress records; they have no rows, so no fork could be recognised by them.
        if uuid and not state.root_uuid and kind not in ("result", "progress"):
            state.root_uuid = uuid
        if kind in ("user", "assistant") and (not state.has_own or body.request_session_id):
            note_line(state, self.named_session, offset + length, ts, body)
        name = kind
        sub = meaning = message_id = None
        if kind == "assistant":
            meaning, message_id = self._assistant(record_id, offset, ts, body)
        elif kind == "user":
            meaning = self._user(record_id, ts, body, sidechain=sidechain)
        elif kind == "progress":
            self._progress(record_id, length, body)
            return
        else:
            sub = sub_kind(body)
            name = countable(full_kind(kind, sub), state.kinds)
            if kind == "attachment":
                meaning = self._attachment(record_id, ts, body, sub)
            elif kind == "system":
                self._system(record_id, ts, body, sub)
            elif kind == "stream_event" and body.event:
                answer = streamed_answer(body)
                if answer is not None:
                    _, message_id = self._assistant(record_id, offset, ts, answer)
            elif kind == "result" and body.model_usage:
                state.cost_state = bytes(body.model_usage).decode("utf-8", "replace")
        kinds = state.kinds
        kinds[name] = kinds.get(name, 0) + 1
        if uuid or meaning:
            parent = body.parent_uuid or body.logical_parent_uuid
            if parent in state.asides:
                parent = state.asides[parent]
            self.rows.records.append(
                (record_id, length, kind, sub, meaning, uuid, parent, ts, 1 if sidechain else 0, message_id, None)
            )

    def _context(self, body: wire.Entry) -> None:
        state = self.state
        if body.session_id is not None or body.stream_session is not None:
            self.note_session(body.session_id or body.stream_session)
            if body.stream_session and body.session_id and body.stream_session != body.session_id:
                state.process_session = state.process_session or body.stream_session
        if body.cwd and not state.cwd:
            state.cwd = body.cwd
        self.note_context(body.git_branch, body.version or body.stream_version)
        if body.forked_from and not state.forked_from:
            forked = lenient(_forked, body.forked_from)
            state.forked_from = (forked.session_id or "") if forked else ""
        if body.team_name and not state.team:
            state.team = body.team_name

    def note_session(self, session_id: str | None) -> None:
        """Take the session that a record says it is of."""
        state = self.state
        if not session_id or session_id == state.session_id:
            return
        if not state.session_id:
            state.session_id = session_id
            self.session_id = self.session_id or session_id
        elif len(state.other_sessions) < 50:
            note(state.other_sessions, session_id)

    def _user(self, record_id: int, ts: int | None, body: wire.Entry, *, sidechain: bool) -> str:
        state = self._counts
        content = body.message.content if body.message else None
        has_result = False
        if isinstance(content, list):
            for number, block in enumerate(content):
                kind = block.type
                if kind == "tool_result":
                    has_result = True
                    self._tool_result(record_id + number, number, ts, block, body)
                else:
                    if kind in ("image", "document"):
                        state.images += 1
                    self.rows.blocks.append((record_id + number, number, kind or "", None, None, 0))
        if body.permission_mode and not sidechain:
            self._mode(record_id, ts, body)
        text = "" if has_result else user_text(content)
        meaning = role(body, text, has_result=has_result, sidechain=sidechain)
        if has_result:
            return meaning
        if not state.first_text and meaning in ("prompt", "instruction"):
            state.first_text = digest(text)
            state.warmup = text.strip() == "Warmup"
        if meaning == "prompt":
            note_prompt(state, record_id - self.base, body)
            state.prompts += 1
            state.first_prompt = state.first_prompt or preview(text)
            self._prompt(record_id, "prompt", ts, text)
        elif meaning in ("command", "bash"):
            self._command(record_id, meaning, ts, text)
        elif meaning == "instruction" and not self.is_agent and not body.parent_uuid and not body.agent_id:
            # The oldest clients wrote subagents into the main file, tied to their call by nothing but the prompt's text.
            self.rows.sidechains.append((record_id, body.uuid or "", digest(text), ts, ""))
        return meaning

    def _mode(self, record_id: int, ts: int | None, body: wire.Entry) -> None:
        words = string(body.permission_mode)[:NAME_LENGTH]
        if words:
            self.note_mode(record_id, ts, mode_of(words), words)

    def _command(self, record_id: int, source: str, ts: int | None, text: str) -> None:
        state = self._counts
        command = command_of(text)
        if not command:
            return
        name = command.split(" ", 1)[0]
        if name == "/clear" and not state.prompts and not state.commands:
            state.cleared = True
        state.commands += 1
        if name not in _NO_TITLE:
            state.first_command = state.first_command or preview(command)
        self._prompt(record_id, source, ts, command)

    def _prompt(self, record_id: int, source: str, ts: int | None, text: str) -> None:
        self.rows.prompts.append((record_id, source, ts, text, None, None))

    def _assistant(self, record_id: int, offset: int, ts: int | None, body: wire.Entry) -> tuple[str, int | None]:
        state = self._counts
        message = body.message
        if message is None:
            return "reply", None
        content = message.content
        synthetic = message.model == SYNTHETIC
        message_id: int | None = None
        agent_id = body.agent_id or body.stream_agent or self.agent_id
        session_id = self.session_id or body.session_id or body.stream_session or ""
        if not synthetic:
            key = self._key(body, session_id, agent_id, offset)
            message_id = self.message_id(key, record_id, message.model, ts, self._counts)
            self._state_usage(record_id, dated(ts), body, key, session_id, agent_id)
        if isinstance(content, list):
            for number, block in enumerate(content):
                kind = block.type
                if kind in CALL_BLOCKS:
                    self._tool_call(record_id + number, number, ts, message_id, block)
                elif kind == "tool_result":
                    self._tool_result(record_id + number, number, ts, block, body)
                else:
                    if kind == "text":
                        state.replies += 1
                    self.rows.blocks.append((record_id + number, number, kind or "", None, None, 0))
        if body.is_api_error:
            state.api_errors += 1
            return "error", message_id
        return "reply", message_id

    def _key(self, body: wire.Entry, session_id: str, agent_id: str, offset: int) -> str:
        key = message_key(body, session_id, agent_id, self.path, offset)
        return answer_key(self.state, body, key) if has_reusable_id(body) else key

    def _state_usage(self, record_id: int, ts: int, body: wire.Entry, key: str, session_id: str, agent_id: str) -> None:
        message = body.message
        known = self.rows.usage.get(key)
        said = (key, message.usage, message.stop_reason, body.cost_usd) if message is not None else None
        if known is not None and said == self._said and 0 < known.ts <= ts:
            # The next line of an answer mostly repeats what the one before it stated.
            if known.tool and 0 < known.tool_ts < ts:
                return
            tool = first_tool(message.content) if message is not None else ""
            if not tool:
                return
        self._said = said
        if not agent_id and (body.is_sidechain or body.stream_parent_tool):
            agent_id = SIDECHAIN
        statements = stated(body, key, record_id, ts, self.path, session_id, agent_id)
        for _, statement in statements:
            statement.is_progress = self._counts is not self.state
        self.count_usage(statements)

    # -- tools

    def _tool_call(self, block_id: int, number: int, ts: int | None, message_id: int | None, block: wire.Block) -> None:
        name = (block.name or "")[:NAME_LENGTH]
        self._counts.tool_calls += 1
        given = lenient(_input, block.input) or wire.ToolInput()
        path = (string(given.file_path) or string(given.notebook_path))[:PATH_LENGTH] or None
        edit = planned_edit(name, block.input)
        tool_use_id = block.id or ""
        self.rows.blocks.append((block_id, number, block.type or "", tool_use_id, name, 0))
        description = agent_type = None
        if name in _SPAWNERS:
            description = string(given.description) or None
            agent_type = string(given.subagent_type) or None
            if given.prompt and tool_use_id:
                self.rows.agent_refs.add(AgentRef(self.base, tool_use_id, "#" + digest(string(given.prompt)), 5))
        self.rows.calls[block_id] = [
            block_id, tool_use_id, name, ts, message_id, path, None, None, 0, None, 0, 0, None, description, agent_type,
            0, None,
        ]  # fmt: skip
        if not tool_use_id:
            return
        change, added, removed, _ = edit or (None, 0, 0, None)
        call = OpenCall(block_id, name, ts, path, change, added, removed)
        early = self.open_call(tool_use_id, call)
        if early is not None:
            self._pair(tool_use_id, call, early)

    def _tool_result(self, block_id: int, number: int, ts: int | None, block: wire.Block, body: wire.Entry) -> None:
        state = self.state
        tool_use_id = block.tool_use_id or ""
        call = state.open_calls.pop(tool_use_id[:NAME_LENGTH], None)
        name = call.name if call is not None else None
        result = Result(block_id, ts, 1 if block.is_error else 0, None, None)
        self.rows.blocks.append((block_id, number, "tool_result", tool_use_id, name, result.is_error))
        if block.content and not raw_is_string(block.content) and b'"image"' in bytes(block.content):
            self._counts.images += 1
        if (result.is_error or body.permission_decision) and (decision := decision_of(body, block)) is not None:
            self.note_decision(block_id, ts, decision)
        may_spawn = call is None or name in _SPAWNERS
        if may_spawn or (call is not None and call.change) or is_persisted(block.content):
            result.outcome = outcome_of(body.tool_use_result)
        if may_spawn and (result.outcome is None or not result.outcome.agent_id):
            mentioned = _AGENT_ID_IN_TEXT.search(result_text(block.content))
            result.mentioned = mentioned.group(1) if mentioned else None
        if call is not None:
            self._pair(tool_use_id, call, result)
        elif tool_use_id:
            self.keep_early(tool_use_id, result)

    def _pair(self, tool_use_id: str, call: OpenCall, result: Result) -> None:
        """Bring a call and its result together, whichever of them came first."""
        outcome = result.outcome
        if call.name in _SPAWNERS:
            if outcome is not None and outcome.agent_id:
                self.rows.agent_refs.add(AgentRef(self.base, tool_use_id, outcome.agent_id, 2))
            elif result.mentioned:
                self.rows.agent_refs.add(AgentRef(self.base, tool_use_id, result.mentioned, 4))
        edit: Edit | None = None
        if call.change and not result.is_error:
            edit = stated_edit(call, outcome)
        known = (
            result.id,
            result.ts,
            result.is_error,
            edit.change if edit else None,
            edit.added if edit else 0,
            edit.removed if edit else 0,
            outcome.persisted if outcome is not None else None,
            (edit.path if edit else None) or call.path,
        )
        self.put_result(call, known)

    # -- the rest

    def _attachment(self, record_id: int, ts: int | None, body: wire.Entry, sub: str | None) -> str | None:
        if sub == "queued_command":
            attachment = attachment_of(body)
            if attachment is None:
                return None
            text = prompt_text(attachment.prompt)
            meaning = queued_says(attachment, text)
            if meaning == "prompt":
                self.note_queued(record_id, ts, text)
                return "prompt"
            return meaning
        if sub is not None and sub.startswith("hook_"):
            self.state.hooks += 1
        return None

    def note_queued(self, record_id: int, ts: int | None, text: str) -> None:
        """Take a prompt that was typed while the model worked."""
        self.state.queued += 1
        self.state.first_prompt = self.state.first_prompt or preview(text)
        self._prompt(record_id, "queued", ts, text)

    def _system(self, record_id: int, ts: int | None, body: wire.Entry, sub: str | None) -> None:
        state = self.state
        if sub == "compact_boundary":
            state.compactions += 1
            facts = lenient(_compact, body.compact_metadata) or wire.CompactMetadata()
            self.rows.compactions.append((record_id, ts, facts.trigger, facts.pre_tokens, facts.post_tokens))
        elif sub == "api_error":
            state.api_errors += 1
        elif sub == "turn_duration":
            lasted = lenient(_number, body.duration_ms)
            if lasted is not None and lasted >= 0:
                self.rows.turn_durations.append((record_id, round(lasted)))
        elif sub == "stop_hook_summary":
            state.hooks += 1
        elif body.permission_mode:
            self._mode(record_id, ts, body)
        elif sub == "local_command" and body.content:
            self._command(record_id, "command", ts, string(body.content))

    def _progress(self, record_id: int, length: int, body: wire.Entry) -> None:
        """Progress records have no rows, but others hang on them: remember where their chain leads.

        They repeat what subagents answer, and are all that is left of those whose transcripts are gone.
        """
        kinds = self.state.kinds
        kinds["progress"] = kinds.get("progress", 0) + 1
        asides = self.state.asides
        parent = body.parent_uuid
        if body.uuid and len(body.uuid) + len(parent or "") <= 2 * NAME_LENGTH:
            asides[body.uuid] = asides.get(parent, parent) if parent else None
            if len(asides) > _MAX_ASIDES:
                del asides[next(iter(asides))]
        sub = sub_kind(body)
        if sub == "agent_progress":
            progress = progress_of(body) if body.parent_tool_use_id else None
            if progress is not None and progress.agent_id:
                self.rows.agent_refs.add(AgentRef(self.base, body.parent_tool_use_id or "", progress.agent_id, 3))
            line = repeated_line(body)
            if line is not None:
                self._repeated(record_id, length, body, line)
        elif sub == "hook_progress":
            self.state.hooks += 1

    def _repeated(self, record_id: int, length: int, body: wire.Entry, line: wire.Entry) -> None:
        """Take a subagent's line that a progress record repeats, like one that the oldest clients wrote into the main file.

        It counts only where the subagent's own transcript is gone, which this transcript cannot tell. Inside a subagent's own file,
        where no client is known to write such records, nothing of it is shown.
        """
        ts = milliseconds(line.timestamp)
        agent = (line.agent_id or body.parent_tool_use_id or "")[:NAME_LENGTH]
        threads = self.state.progress_threads
        parent = threads.get(agent)
        message_id = None
        self._counts, self._said = State(), None
        if line.type == "assistant":
            meaning, message_id = self._assistant(record_id, record_id - self.base, ts, line)
        else:
            meaning = self._user(record_id, ts, line, sidechain=True)
        self._counts, self._said = self.state, None
        kind, said = ("progress", None) if self.is_agent else (line.type, meaning)
        agent_id = (line.agent_id or "")[:NAME_LENGTH]
        self.rows.records.append(
            (record_id, length, kind, REPEATED_LINE, said, line.uuid, parent, ts, 1, message_id, agent_id or None)
        )
        if self.is_agent or not line.uuid:
            return
        if parent is None:
            progress = progress_of(body)
            prompt = digest(string(progress.prompt)) if progress is not None else ""
            self.rows.sidechains.append((record_id, line.uuid, prompt, ts, agent_id))
        threads[agent] = line.uuid[:NAME_LENGTH]
        if len(threads) > _MAX_PROGRESS_THREADS:
            del threads[next(iter(threads))]

    def _drift(self, item: ParsedLine) -> None:
        version = getattr(item.body, "version", None) or self.state.version
        for field in item.strange:
            is_subtype = not field and item.kind == "system"
            kind = f"system/{item.body.subtype}" if is_subtype else item.kind
            self.note_drift(version, kind, field, item.offset)
