"""Codex's rollouts: a line is a response item, an event, or context, bare in the first versions and in an envelope since 0.32.

What people typed is there twice, as a response item and as an event, of which either may come first or be missing. Tokens are
stated after each response and again with every change of a rate limit, and a fork's totals go on from those of its parent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, Struct

from hansard.clients.codex.items import ITEMS, SILENT_ITEMS, agent_message, item_of, turn_item, user_message
from hansard.clients.codex.memory import Memory, place_record
from hansard.clients.documents import BETWEEN, around
from hansard.clients.generic import TEXT, Block, Record, Usage
from hansard.clients.values import decode_object as _object
from hansard.clients.values import milliseconds, string, table, whole

if TYPE_CHECKING:
    from collections.abc import Iterator

_SAME_RUN = 1000  # milliseconds in which a fork writes what it copied, where turns have no dates of their own
_EARLY = 500  # milliseconds by which a thread's first turn may begin before the thread
_NOBODY = Raw(b"null")


class _Line(Struct):
    type: str = ""
    timestamp: str = ""
    payload: Raw = _NOBODY
    ordinal: int | None = None


_line = msgspec.json.Decoder(_Line).decode


def decode(line: bytes, memory: Memory) -> Iterator[Record]:
    """The record of one line, or of an item of a document."""
    text = line.strip(BETWEEN)
    if (about := around(text)) is not None:  # of the first versions, whose rollouts were documents
        yield _meta(table(about, "session"), memory) if "session" in about else Record("document")
        return
    outer = _line(text)
    kind = outer.type
    if kind not in _KINDS:
        record = _bare(_object(text), memory)
        ts = None
    else:
        ts = milliseconds(outer.timestamp)
        payload = _object(outer.payload)
        is_inherited = _is_inherited(kind, payload, ts, outer.ordinal, memory)
        record = _KINDS[kind](payload, memory)
        if is_inherited:
            record.usage = None
            if memory.is_agent:  # a subagent's own work begins after it
                record = Record("inherited")
            else:
                record.is_copy = True
    record.ts = record.ts if record.ts is not None else ts
    record.is_aside = memory.is_agent
    yield record


def _bare(item: dict[str, Any], memory: Memory) -> Record:
    """A line without an envelope, as the first versions wrote it; or one of a kind that is not known yet."""
    kind = str(item.get("type") or "")
    if kind in ITEMS or kind in SILENT_ITEMS:
        return item_of(item, memory)
    if not kind and "id" in item and "timestamp" in item:
        return _meta(item, memory)
    return Record(kind or str(item.get("record_type") or ("history" if "ts" in item else "unknown")))


def _is_inherited(kind: str, payload: dict[str, Any], ts: int | None, ordinal: int | None, memory: Memory) -> bool:
    """Whether a line was copied from the thread that this one was forked from."""
    if memory.first_ordinal:
        return ordinal is not None and 0 < ordinal < memory.first_ordinal
    if kind == "session_meta":
        named = payload.get("id")
        if memory.thread and named != memory.thread and not memory.base:
            memory.is_copying, memory.copied_until = True, (ts or 0) + _SAME_RUN
            memory.owner = str(named)
        return memory.is_copying
    if not memory.is_copying:
        return False
    if kind == "turn_context" or payload.get("type") == "task_started":
        began = _uuid_time(payload.get("turn_id"))
        if began:
            memory.has_dated_turns = True
            memory.is_copying = began < memory.started - _EARLY
    if not memory.has_dated_turns and ts is not None and ts > memory.copied_until:
        memory.is_copying = False
    if not memory.is_copying:
        memory.owner = memory.thread
    return memory.is_copying


def _uuid_time(value: Any) -> int:
    """The time in a UUID of version 7, or 0."""
    text = value.replace("-", "") if isinstance(value, str) else ""
    try:
        return int(text[:12], 16) if len(text) == 32 and text[12] == "7" else 0
    except ValueError:
        return 0


def _meta(payload: dict[str, Any], memory: Memory) -> Record:
    record = Record("session_meta")
    if memory.thread:
        return record
    memory.thread = memory.owner = str(payload.get("id") or "")
    memory.started = milliseconds(payload.get("timestamp")) or 0
    memory.cwd = str(payload.get("cwd") or "")
    memory.first_ordinal = payload.get("subagent_history_start_ordinal") or 0
    memory.base = string(table(payload, "history_base"), "thread_id")
    record.ts = memory.started or None
    record.cwd, record.version = memory.cwd, string(payload, "cli_version")
    record.branch = string(table(payload, "git"), "branch")
    source = table(payload, "source")
    spawned = source.get("subagent") or source.get("internal")
    spawn = table(spawned, "thread_spawn")
    parent = string(spawn, "parent_thread_id") or string(payload, "parent_thread_id")
    memory.is_automatic = bool(spawned)
    memory.session = memory.thread
    if spawned and parent:
        names = ("agent_role", "agent_type", "agent_nickname")
        kind = spawned if isinstance(spawned, str) else string(spawned, "other")
        record.agent_type = string(payload, *names) or string(spawn, *names) or kind
        root = string(payload, "session_id")
        memory.session = root if root and root != memory.thread else parent
        memory.is_agent, record.agent_id = True, memory.thread
    else:
        record.forked_from = memory.base or string(payload, "forked_from_id")
    record.session_id = memory.session
    return record


def _context(payload: dict[str, Any], memory: Memory) -> Record:
    memory.model = str(payload.get("model") or memory.model)
    memory.cwd = str(payload.get("cwd") or memory.cwd)
    mode, words = _mode(str(payload.get("approval_policy") or ""), payload.get("sandbox_policy"))
    return Record("turn_context", cwd=memory.cwd, mode=mode, mode_words=words)


def _mode(approval: str, sandbox: Any) -> tuple[str, str]:
    """The permission mode in neutral terms, and in the client's words: its approval and its sandbox policy."""
    limits = str(sandbox.get("type") or sandbox.get("mode") or "") if isinstance(sandbox, dict) else str(sandbox or "")
    if not approval:
        return "", ""
    if approval == "never":
        mode = "bypass" if limits == "danger-full-access" else "deny" if limits == "read-only" else "auto"
    else:
        mode = "ask" if approval == "untrusted" else "auto"
    return mode, ", ".join(word[:60] for word in (approval, limits) if word)


# -- what was said and done


# -- events


def _event(payload: dict[str, Any], memory: Memory) -> Record:
    kind = str(payload.get("type") or "event")
    make = _EVENTS.get(kind)
    if make is None:
        return Record(kind if kind in _SILENT_EVENTS else f"event_msg/{kind}")
    record: Record = make(payload, memory)
    return record


def _token_count(payload: dict[str, Any], memory: Memory) -> Record:
    info = payload.get("info")
    record = Record("token_count")
    if not isinstance(info, dict):
        return record
    totals = _counts(info.get("total_token_usage"))
    if totals == memory.totals:  # stated again with a change of the rate limits
        return record
    memory.totals = totals
    if not memory.has_usage_records:
        memory.answers += 1
        rollout = f"{memory.thread}/{memory.base}" if memory.base else memory.thread
        memory.counted, memory.counts = f"{rollout}/{memory.answers}", _counts(info.get("last_token_usage"))
        record.usage = _usage(memory.counted, info.get("last_token_usage"), memory)
    return record


def _usage_record(payload: dict[str, Any], memory: Memory) -> Record:
    record = Record("token_usage_record")
    is_first, memory.has_usage_records = not memory.has_usage_records, True
    if memory.thread and payload.get("thread_id") != memory.thread:
        return record
    memory.answers += 1
    answer = string(payload, "response_id") or str(memory.answers)
    total = whole(table(payload, "thread_token_usage"), "total_tokens")  # a relay may give all answers the same id
    key = f"{memory.thread}/{answer}@{total}" if total else f"{memory.thread}/{answer}"
    if is_first and memory.counted and memory.counts[:4] == _counts(payload.get("usage"))[:4]:
        given, _, _, output, stated = memory.totals
        if total in (0, stated, given + output):
            key = memory.counted  # the token count of the same answer came before
    record.usage = _usage(key, payload.get("usage"), memory)
    return record


_COUNTS = ("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens", "total_tokens")


def _counts(usage: Any) -> list[int]:
    found = [usage.get(name) for name in _COUNTS] if isinstance(usage, dict) else []
    return [value if isinstance(value, int) and 0 <= value < 1 << 60 else 0 for value in found]


def _usage(message_id: str, usage: Any, memory: Memory) -> Usage | None:
    found = _tokens(message_id, usage, memory.model)
    if found is not None:
        found.tool, memory.tool = memory.tool, ""
    return found


def _tokens(message_id: str, usage: Any, model: str) -> Usage | None:
    counts = _counts(usage)
    if not any(counts[:4]):  # after a compaction only an estimate of the context's size is stated
        return None
    given, cached, written, output, _ = counts
    fresh = max(0, given - cached - written)
    return Usage(message_id, model, fresh, output, min(cached, given), written)


def stated_usage(line: bytes, memory: Memory) -> tuple[Usage, list[int]] | None:
    """The tokens that a line states of one answer, whether or not they count, and the totals beside them; None if it states none."""
    try:
        outer = _line(line.strip(BETWEEN))
        payload = _object(outer.payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    given: Any = None
    totals: list[int] = []
    if outer.type == "token_usage_record":
        given = payload.get("usage")
    elif outer.type == "event_msg" and payload.get("type") == "token_count":
        info = table(payload, "info")
        given, totals = info.get("last_token_usage"), _counts(info.get("total_token_usage"))
    usage = _tokens("", given, memory.model)
    return None if usage is None else (usage, totals)


def _named(payload: dict[str, Any], memory: Memory) -> Record:
    is_own = payload.get("thread_id") in (memory.thread, None)
    return Record("thread_name_updated", title=str(payload.get("thread_name") or "") if is_own else "")


def _rolled_back(payload: dict[str, Any], memory: Memory) -> Record:
    count = payload.get("num_turns")
    turns = memory.before_turns
    if isinstance(count, int) and 0 < count <= len(turns):
        memory.last = turns[-count]
        memory.before_turns = turns[:-count]
    said = f"Rolled back {count} turn{'' if count == 1 else 's'}"
    last = memory.last
    record = place_record(Record("system", "rewind", blocks=[Block(TEXT, said)]), memory, str(count))
    memory.last = last  # what follows goes on from there
    return record


def _aborted(payload: dict[str, Any], memory: Memory) -> Record:
    said = f"Turn aborted ({payload.get('reason') or 'unknown'})"
    return place_record(
        Record("system", "interruption", blocks=[Block(TEXT, said)]), memory, str(payload.get("turn_id"))
    )


def _error(payload: dict[str, Any], memory: Memory) -> Record:
    text = str(payload.get("message") or "")
    return place_record(Record("system", "error", blocks=[Block(TEXT, text)]), memory, text)


def _compacted(payload: dict[str, Any], memory: Memory) -> Record:
    text = str(payload.get("message") or "")  # `replacement_history` repeats what was said before
    blocks = [Block(TEXT, "Conversation compacted" + (f"\n\n{text}" if text else ""))]
    memory.pending.clear()
    return place_record(Record("system", "compaction", blocks=blocks), memory, text)


_EVENTS: dict[str, Any] = {
    "user_message": user_message,
    "item_completed": turn_item,
    "token_count": _token_count,
    "thread_name_updated": _named,
    "thread_rolled_back": _rolled_back,
    "turn_aborted": _aborted,
    "error": _error,
}
_KINDS: dict[str, Any] = {
    "session_meta": _meta,
    "turn_context": _context,
    "response_item": item_of,
    "event_msg": _event,
    "compacted": _compacted,
    "inter_agent_communication": agent_message,
    "token_usage_record": _usage_record,
    **{
        kind: lambda _payload, _memory, kind=kind: Record(kind)
        for kind in ("world_state", "inter_agent_communication_metadata", "security_risk_score")
    },
}
_SILENT_EVENTS = frozenset(
    "agent_message agent_reasoning agent_reasoning_raw_content agent_reasoning_section_break task_started task_complete turn_started"
    " turn_complete patch_apply_begin patch_apply_end mcp_tool_call_begin mcp_tool_call_end web_search_begin web_search_end"
    " image_generation_begin image_generation_end entered_review_mode exited_review_mode context_compacted thread_settings_applied"
    " thread_goal_updated sub_agent_activity exec_command_begin exec_command_end view_image_tool_call collab_agent_spawn_end"
    " collab_agent_interaction_end collab_waiting_end collab_close_end collab_resume_end dynamic_tool_call_request"
    " dynamic_tool_call_response guardian_assessment guardian_warning warning stream_error turn_diff plan_update hook_started"
    " hook_completed session_configured item_started background_event deprecation_notice shutdown_complete undo_completed"
    " model_reroute model_verification safety_buffering turn_moderation_metadata".split()
)
_TURN_ITEMS = frozenset(
    "UserMessage AgentMessage Reasoning CommandExecution FileChange McpToolCall CollabAgentToolCall SubAgentActivity WebSearch ImageView"
    " ImageGeneration Plan HookPrompt ContextCompaction EnteredReviewMode ExitedReviewMode DynamicToolCall Extension Sleep".split()
)
KNOWN = frozenset(
    {
        *("document context reply reasoning repeated_prompt inherited state history event".split()),
        *_KINDS,
        *ITEMS,
        *SILENT_ITEMS,
        *_EVENTS,
        *_SILENT_EVENTS,
        *(f"item_completed {kind}" for kind in _TURN_ITEMS),
    }
)
"""Records that are understood, or known to say nothing that others do not."""
