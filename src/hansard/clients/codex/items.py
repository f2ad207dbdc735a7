"""What was said and done in a rollout: response items, and the events that repeat prompts."""

from __future__ import annotations

import shlex
from typing import Any

import msgspec

from hansard.clients.codex.memory import MOST_PENDING, Memory, parts_of, place_record
from hansard.clients.generic import CALL, IMAGE, RESULT, TEXT, THINKING, Block, Record
from hansard.clients.patches import BEGIN, absolute, patch_blocks, patch_in, patch_of
from hansard.clients.state import digest
from hansard.clients.values import decode_object as _object
from hansard.clients.values import string
from hansard.lazy_regex import lazy_compile

_MOST_TURNS = 1000  # that can be rolled back
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


def item_of(item: dict[str, Any], memory: Memory) -> Record:
    kind = item.get("type")
    make = ITEMS.get(kind) if isinstance(kind, str) else None
    if make is None:
        return Record(str(kind) if kind in SILENT_ITEMS else f"response_item/{kind}")
    record: Record = make(item, memory)
    if record.kind == "assistant":
        record.model = memory.model
        memory.pending.clear()
    return record


def _message(item: dict[str, Any], memory: Memory) -> Record:
    content = item.get("content")
    if item.get("role") == "assistant":
        texts = [str(part.get("text") or "") for part in parts_of(content) if part.get("type") != "input_image"]
        blocks = [Block(TEXT, text) for text in texts]
        return place_record(Record("assistant", blocks=blocks), memory, "\n".join(texts)) if blocks else Record("reply")
    if item.get("role") != "user":
        return Record("context")
    passed = item.get("internal_chat_message_metadata_passthrough")
    sources = passed.get("content_item_metadata") if isinstance(passed, dict) else None
    blocks, role = [], ""
    for number, part in enumerate(parts_of(content)):
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
        return place_record(record, memory, record.text)
    if memory.is_automatic:
        record.role = "instruction"
    mark = digest(record.text)
    for number, (known, other) in enumerate(memory.pending):
        if known != form and (other == mark or len(memory.pending) == 1):
            del memory.pending[number]
            return Record("repeated_prompt")
    memory.pending = [*memory.pending[1 - MOST_PENDING :], (form, mark)]
    _, found, asked = record.text.partition(_REQUEST)
    record.asked = asked.strip() if found else ""
    memory.turns, memory.places = memory.turns + 1, {}
    memory.before_turns = [*memory.before_turns[1 - _MOST_TURNS :], memory.last]
    return place_record(record, memory, record.text)


def _reasoning(item: dict[str, Any], memory: Memory) -> Record:
    texts = [text for name in ("summary", "content") for part in parts_of(item.get(name)) if (text := part.get("text"))]
    if not texts:
        return Record("reasoning")  # encrypted
    blocks = [Block(THINKING, str(text)) for text in texts]
    return place_record(Record("assistant", blocks=blocks), memory, str(item.get("id") or texts[0]))


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
    return place_record(Record("assistant", blocks=blocks), memory, call_id or str(given)[:1000])


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
    return place_record(Record("user", blocks=[block]), memory, call_id)


def _result(output: Any) -> tuple[str, bool]:
    """The text of an output, and whether it says that the call failed."""
    if isinstance(output, dict):  # a version of 2025
        output = output.get("content") or ""
    if isinstance(output, list):
        return "\n".join(str(part.get("text") or "") for part in parts_of(output)), False
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


def _image(part: dict[str, Any]) -> Block | None:
    if part.get("type") not in ("input_image", "image"):
        return None
    url = str(part.get("image_url") or part.get("url") or "")
    head, _, data = url.partition(";base64,")
    return Block(IMAGE, data, media_type=head.removeprefix("data:")) if data else Block(IMAGE)


def agent_message(payload: dict[str, Any], memory: Memory) -> Record:
    """What one agent told another."""
    text = "\n".join(filter(None, (string(part, "text") for part in parts_of(payload.get("content")))))
    if not text:
        return Record("agent_message")  # encrypted
    role = "instruction" if memory.is_agent else "notification"
    return place_record(Record("user", role, blocks=[Block(TEXT, text)]), memory, text)


def user_message(payload: dict[str, Any], memory: Memory) -> Record:
    images = [_image({"type": "image", "url": url}) for url in payload.get("images") or ()]
    return _user_event(str(payload.get("message") or ""), [image for image in images if image], memory)


def turn_item(payload: dict[str, Any], memory: Memory) -> Record:
    item = payload.get("item")
    if not isinstance(item, dict) or item.get("type") != "UserMessage":
        kind = string(item, "type")
        return Record(f"item_completed {kind}")
    parts = parts_of(item["content"])
    texts = [str(part.get("text") or "") for part in parts if part.get("type") == "text"]
    return _user_event("\n".join(texts), [image for part in parts if (image := _image(part))], memory)


ITEMS: dict[str, Any] = {
    "message": _message,
    "agent_message": agent_message,
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
SILENT_ITEMS = frozenset(
    "ghost_snapshot compaction context_compaction compaction_trigger additional_tools other".split()
)
