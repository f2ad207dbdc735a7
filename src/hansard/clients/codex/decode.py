"""Codex's rollouts: a line is a response item, an event, or context, bare in the first versions and in an envelope since 0.32.

What people typed is there twice, as a response item and as an event, of which either may come first or be missing. Tokens are
stated after each response and again with every change of a rate limit, and a fork's totals go on from those of its parent.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Raw, Struct

from hansard.clients.documents import BETWEEN, around
from hansard.clients.generic import CALL, IMAGE, RESULT, TEXT, THINKING, Block, Record, Usage
from hansard.clients.patches import BEGIN, absolute, patch_blocks, patch_in, patch_of
from hansard.clients.state import digest
from hansard.clients.values import decode_object as _object
from hansard.clients.values import milliseconds, string, table, whole
from hansard.lazy_regex import lazy_compile

_MOST_PENDING = 20
_MOST_TURNS = 1000  # that can be rolled back
_SAME_RUN = 1000  # milliseconds in which a fork writes what it copied, where turns have no dates of their own
_EARLY = 500  # milliseconds by which a thread's first turn may begin before the thread
_NOBODY = Raw(b"null")

# What the client itself says in the user's name.
_TAG = lazy_compile(r"\s*<([a-z][a-z0-9_]*)[ >]")
_CWD = lazy_compile(r"<cwd>([^<\n]*+)</cwd>")
_INSTRUCTIONS = ("# AGENTS.md instructions", "# Instructions for ")
_REQUEST = "## My request for Codex:"  # after what an editor adds to a prompt
_ROLES = {"subagent_notification": "notification", "turn_aborted": "interruption", "user_shell_command": "bash"}
_EXIT = lazy_compile(r"(?:Exit code: |Process exited with code )(-?\d+)")
_FAILED = (
    "apply_patch verification failed",
    "exec command rejected",
    "write_stdin failed",
    "execution error",
    "unsupported call",
)
_REJECTED = ("exec command rejected by user", "patch rejected by user")
_HEAD = 300  # characters of an output in which its exit code is


class Memory(Struct, omit_defaults=True):
    """What lines say about those after them."""

    thread: str = ""
    started: int = 0
    session: str = ""
    is_agent: bool = False
    is_automatic: bool = False  # nobody typed its prompts
    owner: str = ""  # the thread that the next line was written for
    first_ordinal: int = 0  # of a subagent: what comes before is its parent's
    base: str = ""  # the rollout that a fork or a revert goes on from instead of copying it
    is_copying: bool = False
    copied_until: int = 0
    has_dated_turns: bool = False
    model: str = ""
    cwd: str = ""
    totals: list[int] = []  # as they were stated last
    answers: int = 0
    has_usage_records: bool = False
    counted: str = ""  # the key of the last answer that a token count stated, and its tokens
    counts: list[int] = []
    tool: str = ""  # the first that the answer so far calls
    pending: list[tuple[str, str]] = []  # prompts that may come once more: item or event, and their digest
    turns: int = 0
    places: dict[str, int] = {}  # of the last records of this turn: how often each came
    before_turns: list[str] = []  # the record before each turn that can be rolled back
    last: str = ""  # the last record


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
    if kind in _ITEMS or kind in _SILENT_ITEMS:
        return _item(item, memory)
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


def _item(item: dict[str, Any], memory: Memory) -> Record:
    kind = item.get("type")
    make = _ITEMS.get(kind) if isinstance(kind, str) else None
    if make is None:
        return Record(str(kind) if kind in _SILENT_ITEMS else f"response_item/{kind}")
    record: Record = make(item, memory)
    if record.kind == "assistant":
        record.model = memory.model
        memory.pending.clear()
    return record


def _placed(record: Record, memory: Memory, key: str) -> Record:
    """A record in the chain of those that a rollback goes back in; the same in the original and in a copy of it."""
    name = digest(f"{memory.owner or memory.thread}\n{memory.turns}\n{record.kind}\n{key}")
    times = memory.places.pop(name, 0)
    memory.places[name] = times + 1
    if len(memory.places) > _MOST_PENDING:
        del memory.places[next(iter(memory.places))]
    record.uuid = digest(f"{name}\n{times}") if times else name  # the model may say the same again
    record.parent_uuid = memory.last
    record.cwd = memory.cwd
    memory.last = record.uuid
    return record


def _message(item: dict[str, Any], memory: Memory) -> Record:
    content = item.get("content")
    if item.get("role") == "assistant":
        texts = [str(part.get("text") or "") for part in _parts(content) if part.get("type") != "input_image"]
        blocks = [Block(TEXT, text) for text in texts]
        return _placed(Record("assistant", blocks=blocks), memory, "\n".join(texts)) if blocks else Record("reply")
    if item.get("role") != "user":
        return Record("context")
    passed = item.get("internal_chat_message_metadata_passthrough")
    sources = passed.get("content_item_metadata") if isinstance(passed, dict) else None
    blocks, role = [], ""
    for number, part in enumerate(_parts(content)):
        if (image := _image(part)) is not None:
            blocks.append(image)
            continue
        text = str(part.get("text") or "")
        said = _own_role(text) if _is_user(sources, number) else "context"
        if said == "context" and (cwd := _CWD.search(text)):
            memory.cwd = memory.cwd or cwd[1]
        elif said != "context" and text.strip():
            role = role or said
            blocks.append(Block(TEXT, _shell_line(text) if said == "bash" else text))
    if not role and not blocks:
        return Record("context", cwd=memory.cwd)
    return _said(Record("user", role or "prompt", blocks=blocks), memory, "item")


def _is_user(sources: Any, number: int) -> bool:
    if not isinstance(sources, list) or number >= len(sources) or not isinstance(sources[number], dict):
        return True
    origin = sources[number].get("provenance")
    return not isinstance(origin, dict) or origin.get("type", "user") == "user"


def _own_role(text: str) -> str:
    """What a text in the user's name is: context, where the client put it there."""
    if text.startswith(_INSTRUCTIONS):
        return "context"
    tag = _TAG.match(text)
    if tag is None:
        return "prompt"
    if tag[1] in _ROLES:
        return _ROLES[tag[1]]
    is_whole = text.rstrip().endswith(f"</{tag[1]}>") and ("_" in tag[1] or tag[1] == "skill")
    return "context" if is_whole or tag[1].startswith(("external_", "codex_internal", "hook_prompt")) else "prompt"


def _shell_line(text: str) -> str:
    command, closed, _ = text.partition("<command>")[2].partition("</command>")
    return command.strip() if closed else text


def _user_event(text: str, images: list[Block], memory: Memory) -> Record:
    return _said(Record("user", "prompt", blocks=[Block(TEXT, text), *images]), memory, "event")


def _said(record: Record, memory: Memory, form: str) -> Record:
    """A prompt, unless the other form of it was there already."""
    if record.role != "prompt":
        return _placed(record, memory, record.text)
    if memory.is_automatic:
        record.role = "instruction"
    mark = digest(record.text)
    for number, (known, other) in enumerate(memory.pending):
        if known != form and (other == mark or len(memory.pending) == 1):
            del memory.pending[number]
            return Record("repeated_prompt")
    memory.pending = [*memory.pending[1 - _MOST_PENDING :], (form, mark)]
    _, found, asked = record.text.partition(_REQUEST)
    record.asked = asked.strip() if found else ""
    memory.turns, memory.places = memory.turns + 1, {}
    memory.before_turns = [*memory.before_turns[1 - _MOST_TURNS :], memory.last]
    return _placed(record, memory, record.text)


def _reasoning(item: dict[str, Any], memory: Memory) -> Record:
    texts = [text for name in ("summary", "content") for part in _parts(item.get(name)) if (text := part.get("text"))]
    if not texts:
        return Record("reasoning")  # encrypted
    blocks = [Block(THINKING, str(text)) for text in texts]
    return _placed(Record("assistant", blocks=blocks), memory, str(item.get("id") or texts[0]))


def _function_call(item: dict[str, Any], memory: Memory) -> Record:
    name, given = str(item.get("name") or ""), item.get("arguments", item.get("input"))
    if isinstance(given, str) and item.get("type") == "function_call":
        try:
            given = msgspec.json.decode(given)
        except (msgspec.DecodeError, RecursionError):
            given = {"arguments": given}
    namespace = str(item.get("namespace") or "")
    if namespace.startswith("mcp__"):  # those of its own tools are left out
        name = f"{namespace.rstrip('_')}__{name}"
    if "__" in name and not name.startswith("mcp__"):
        name = f"mcp__{name}"
    return _call(str(item.get("call_id") or item.get("id") or ""), name, given, memory)


def _shell_call(item: dict[str, Any], memory: Memory) -> Record:
    action = item.get("action")
    given = (
        {"command": action.get("command"), "workdir": action.get("working_directory")}
        if isinstance(action, dict)
        else {}
    )
    return _call(str(item.get("call_id") or item.get("id") or ""), "local_shell", given, memory)


def _own_call(item: dict[str, Any], memory: Memory) -> Record:
    """A tool that the provider runs itself; most of these have no result."""
    given = item.get("action") or {
        name: item[name] for name in ("arguments", "query", "revised_prompt") if name in item
    }
    return _call(str(item.get("call_id") or item.get("id") or ""), str(item["type"]), given, memory)


def _call(call_id: str, tool: str, given: Any, memory: Memory) -> Record:
    memory.tool = memory.tool or tool
    command = command_of(given)
    patch = patch_in(given)
    if BEGIN in command:
        patch = patch_of(command)
    if patch:
        call = Block(CALL, call_id=call_id, tool="apply_patch", input={"patch": patch})
        blocks = patch_blocks(call, patch, str(_get(given, "workdir") or memory.cwd))
    else:
        block = Block(CALL, call_id=call_id, tool=tool, input=given, command=command or None)
        if tool == "view_image":
            block.path = absolute(memory.cwd, str(_get(given, "path")))
        elif tool == "spawn_agent":
            block.description = str(_get(given, "message") or _get(given, "prompt"))[:200].split("\n")[0]
            block.agent_type = str(_get(given, "agent_type"))
        blocks = [block]
    return _placed(Record("assistant", blocks=blocks), memory, call_id or str(given)[:1000])


def _get(given: Any, name: str) -> Any:
    return (given.get(name) or "") if isinstance(given, dict) else ""


def command_of(given: Any) -> str:
    """The command line that a call gives to a shell."""
    command = _get(given, "command") or _get(given, "cmd")
    if not isinstance(command, list):
        return command if isinstance(command, str) else ""
    words = [str(word) for word in command]
    if len(words) == 3 and words[1] in ("-lc", "-c", "-Command"):
        return words[2]
    return "\n".join(words) if words[:1] == ["apply_patch"] else shlex.join(words)


def _output(item: dict[str, Any], memory: Memory) -> Record:
    call_id, output = str(item.get("call_id") or ""), item.get("output")
    text, is_error = _result(output)
    agent_id = ""
    if text.startswith('{"agent_id"'):
        try:
            agent_id = str(_object(text).get("agent_id") or "")
        except msgspec.DecodeError:
            agent_id = ""
    denied_by = "user" if text.startswith(_REJECTED) else ""
    block = Block(RESULT, text, call_id=call_id, is_error=is_error, denied_by=denied_by, agent_id=agent_id)
    return _placed(Record("user", blocks=[block]), memory, call_id)


def _result(output: Any) -> tuple[str, bool]:
    """The text of an output, and whether it says that the call failed."""
    if isinstance(output, dict):  # a version of 2025
        output = output.get("content") or ""
    if isinstance(output, list):
        return "\n".join(str(part.get("text") or "") for part in _parts(output)), False
    text = str(output or "")
    if text.startswith('{"output"'):
        try:
            given = _object(text)
            facts = given.get("metadata")
            return str(given["output"]), isinstance(facts, dict) and facts.get("exit_code") not in (0, None)
        except (msgspec.DecodeError, KeyError):
            return text, False
    code = _EXIT.search(text, 0, _HEAD)
    return text, code[1] != "0" if code else text.startswith(_FAILED)


def _parts(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"text": content}]
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _image(part: dict[str, Any]) -> Block | None:
    if part.get("type") not in ("input_image", "image"):
        return None
    url = str(part.get("image_url") or part.get("url") or "")
    head, _, data = url.partition(";base64,")
    return Block(IMAGE, data, media_type=head.removeprefix("data:")) if data else Block(IMAGE)


# -- events


def _event(payload: dict[str, Any], memory: Memory) -> Record:
    kind = str(payload.get("type") or "event")
    make = _EVENTS.get(kind)
    if make is None:
        return Record(kind if kind in _SILENT_EVENTS else f"event_msg/{kind}")
    record: Record = make(payload, memory)
    return record


def _agent_message(payload: dict[str, Any], memory: Memory) -> Record:
    """What one agent told another."""
    text = "\n".join(filter(None, (string(part, "text") for part in _parts(payload.get("content")))))
    if not text:
        return Record("agent_message")  # encrypted
    role = "instruction" if memory.is_agent else "notification"
    return _placed(Record("user", role, blocks=[Block(TEXT, text)]), memory, text)


def _user_message(payload: dict[str, Any], memory: Memory) -> Record:
    images = [_image({"type": "image", "url": url}) for url in payload.get("images") or ()]
    return _user_event(str(payload.get("message") or ""), [image for image in images if image], memory)


def _completed(payload: dict[str, Any], memory: Memory) -> Record:
    item = payload.get("item")
    if not isinstance(item, dict) or item.get("type") != "UserMessage":
        kind = string(item, "type")
        return Record(f"item_completed {kind}")
    parts = _parts(item["content"])
    texts = [str(part.get("text") or "") for part in parts if part.get("type") == "text"]
    return _user_event("\n".join(texts), [image for part in parts if (image := _image(part))], memory)


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
    record = _placed(Record("system", "rewind", blocks=[Block(TEXT, said)]), memory, str(count))
    memory.last = last  # what follows goes on from there
    return record


def _aborted(payload: dict[str, Any], memory: Memory) -> Record:
    said = f"Turn aborted ({payload.get('reason') or 'unknown'})"
    return _placed(Record("system", "interruption", blocks=[Block(TEXT, said)]), memory, str(payload.get("turn_id")))


def _error(payload: dict[str, Any], memory: Memory) -> Record:
    text = str(payload.get("message") or "")
    return _placed(Record("system", "error", blocks=[Block(TEXT, text)]), memory, text)


def _compacted(payload: dict[str, Any], memory: Memory) -> Record:
    text = str(payload.get("message") or "")  # `replacement_history` repeats what was said before
    blocks = [Block(TEXT, "Conversation compacted" + (f"\n\n{text}" if text else ""))]
    memory.pending.clear()
    return _placed(Record("system", "compaction", blocks=blocks), memory, text)


_ITEMS: dict[str, Any] = {
    "message": _message,
    "agent_message": _agent_message,
    "reasoning": _reasoning,
    "function_call": _function_call,
    "custom_tool_call": _function_call,
    "local_shell_call": _shell_call,
    "web_search_call": _own_call,
    "tool_search_call": _own_call,
    "image_generation_call": _own_call,
    "function_call_output": _output,
    "custom_tool_call_output": _output,
    "tool_search_output": _output,
}
_EVENTS: dict[str, Any] = {
    "user_message": _user_message,
    "item_completed": _completed,
    "token_count": _token_count,
    "thread_name_updated": _named,
    "thread_rolled_back": _rolled_back,
    "turn_aborted": _aborted,
    "error": _error,
}
_KINDS: dict[str, Any] = {
    "session_meta": _meta,
    "turn_context": _context,
    "response_item": _item,
    "event_msg": _event,
    "compacted": _compacted,
    "inter_agent_communication": _agent_message,
    "token_usage_record": _usage_record,
    **{
        kind: lambda _payload, _memory, kind=kind: Record(kind)
        for kind in ("world_state", "inter_agent_communication_metadata", "security_risk_score")
    },
}
_SILENT_ITEMS = frozenset(
    "ghost_snapshot compaction context_compaction compaction_trigger additional_tools other".split()
)
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
        *_ITEMS,
        *_SILENT_ITEMS,
        *_EVENTS,
        *_SILENT_EVENTS,
        *(f"item_completed {kind}" for kind in _TURN_ITEMS),
    }
)
"""Records that are understood, or known to say nothing that others do not."""
