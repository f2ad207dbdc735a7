"""Qwen Code's records as neutral ones.

Tokens are stated twice: with an answer, and in a telemetry record of each API response, which covers calls in the background and of
subagents too. The telemetry counts; an answer counts by itself only if no telemetry record states the same numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hansard.clients.gemini.tools import change_of, denied_by, output_of, path_of, tool_name, written
from hansard.clients.generic import CALL, IMAGE, RESULT, TEXT, THINKING, Block, Record, Usage
from hansard.clients.state import NAME_LENGTH
from hansard.clients.values import decode_object, milliseconds, string, table, tables, whole

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_OPEN = 50
_HUMAN = frozenset({"", "mid_turn_user_message", "real_user"})
_RESPONSE = "qwen-code.api_response"
_CONTEXT = ("<session_context>", "<hook_context>", "<system-reminder>")


class Memory(Struct, gc=False, omit_defaults=True):
    """Token counts that were stated once so far, by telemetry or by answers: input, output, and the key that they count under."""

    reported: list[tuple[int, int, str]] = []
    answered: list[tuple[int, int, str]] = []

    def key(self, given: int, output: int, own: str, *, is_answer: bool) -> str:
        """The key of some counts: that of the other source if it stated them before."""
        others, mine = (self.reported, self.answered) if is_answer else (self.answered, self.reported)
        for number, (one, two, key) in enumerate(others):
            if (one, two) == (given, output):
                del others[number]
                return key
        mine.append((given, output, own[:NAME_LENGTH]))
        del mine[:-_MOST_OPEN]
        return own[:NAME_LENGTH]


KNOWN = frozenset(
    f"system/{name}"
    for name in (
        "chat_compression ui_telemetry attribution_snapshot rewind custom_title parent_session slash_command at_command notification"
        " cron mid_turn_user_message session_model agent_launch_prompt file_history_snapshot branch_checkpoint"
        " background_task_completed"
    ).split()
)
_FIELDS = frozenset(
    "uuid parentUuid sessionId timestamp type subtype cwd version gitBranch message model usageMetadata toolCallResult systemPayload"
    " forkedFrom isSidechain agentId agentName agentType agentColor parentToolCallId".split()
)


def decode(line: bytes, memory: Memory) -> Iterator[Record]:
    """One record."""
    given = decode_object(line)
    kind, sub = given["type"], string(given, "subtype")
    if not isinstance(kind, str):
        raise ValueError("no type")  # noqa: TRY004 - what is wrong with a line is a ValueError
    record = Record(
        f"{kind}/{sub}" if sub else kind,
        ts=milliseconds(given.get("timestamp")),
        uuid=string(given, "uuid"),
        parent_uuid=string(given, "parentUuid"),
        session_id=string(given, "sessionId"),
        cwd=string(given, "cwd"),
        branch=string(given, "gitBranch"),
        version=string(given, "version"),
        is_aside=given.get("isSidechain") is True,
    )
    record.unknown = [(record.kind, name) for name in given if name not in _FIELDS]
    if source := string(table(given, "forkedFrom"), "sessionId"):
        record.forked_from, record.is_copy = source, True
    payload = table(given, "systemPayload")
    parts = tables(table(given, "message"), "parts")
    if kind == "system":
        _system(record, sub, payload, memory)
    elif kind == "assistant":
        record.kind, record.model = "assistant", string(given, "model")
        record.blocks = [block for part in parts for block in _said(part)]
        record.usage = _answer(given, record, memory)
    elif kind == "tool_result":
        record.kind = "user"
        record.blocks = [block for part in parts for block in _given(part, table(given, "toolCallResult"))]
    elif kind == "user":
        record.kind = "user"
        record.blocks = [block for part in parts for block in _given(part, {})]
        shown = string(payload, "displayText")
        if shown and record.text:
            rest = [block for block in record.blocks if block.kind != TEXT]
            record.blocks = [Block(TEXT, shown), *rest]
        said = record.text.lstrip()
        if string(given, "agentId") or record.is_aside or sub == "agent_launch_prompt":
            record.role = "instruction"
        elif sub in ("notification", "background_task_completed", "cron"):
            record.role = "notification"
        elif sub not in _HUMAN or said.startswith(_CONTEXT):
            record.role = "note"
        elif said:
            record.role = "command" if said.startswith("/") and "\n" not in said else "prompt"
    yield record


def _system(record: Record, sub: str, payload: dict[str, Any], memory: Memory) -> None:
    match sub:
        case "custom_title":
            record.title = string(payload, "customTitle")
        case "slash_command" if string(payload, "phase") == "invocation" and not payload.get("sentToModel"):
            if said := string(payload, "rawCommand"):
                record.kind, record.role, record.blocks = "user", "command", [Block(TEXT, said)]
        case "chat_compression":
            record.kind, record.role = "system", "compaction"
            first = next(iter(tables(payload, "compressedHistory")), {})
            record.blocks = [Block(TEXT, text) for part in tables(first, "parts") if (text := string(part, "text"))]
        case "ui_telemetry":
            event = table(payload, "uiEvent")
            if string(event, "event.name") == _RESPONSE and not record.is_copy:
                _telemetry(record, event, memory)


def _telemetry(record: Record, event: dict[str, Any], memory: Memory) -> None:
    given, total = whole(event, "input_token_count"), whole(event, "total_token_count")
    output = total - given if total > given else whole(event, "output_token_count")
    # A relay may give the same id to all answers.
    own = "@".join(filter(None, (string(event, "response_id"), string(event, "event.timestamp")))) or record.uuid
    record.is_aside = "#" in string(event, "prompt_id")
    key = own if record.is_aside else memory.key(given, output, own, is_answer=False)
    record.usage = _usage(key, string(event, "model"), given, output, whole(event, "cached_content_token_count"))


def _answer(given: dict[str, Any], record: Record, memory: Memory) -> Usage | None:
    """The tokens of an answer; those of subagents are in the telemetry of their session."""
    tokens = table(given, "usageMetadata")
    if not tokens or record.is_aside or record.is_copy:
        return None
    prompt, total = whole(tokens, "promptTokenCount"), whole(tokens, "totalTokenCount")
    output = total - prompt if total > prompt else whole(tokens, "candidatesTokenCount")
    key = memory.key(prompt, output, record.uuid, is_answer=True)
    return _usage(key, record.model, prompt, output, whole(tokens, "cachedContentTokenCount"))


def _usage(key: str, model: str, given: int, output: int, cached: int) -> Usage:
    return Usage(key, model, max(0, given - cached), output, cached)


def _said(part: dict[str, Any]) -> Iterator[Block]:
    """The blocks of a model's part."""
    if call := table(part, "functionCall"):
        tool, args = string(call, "name"), call.get("args")
        block = Block(CALL, call_id=string(call, "id"), tool=tool_name(tool), input=args)
        if isinstance(args, dict):
            block.path = path_of(args)
            block.change, block.changes = change_of(tool, args)
            block.command = string(args, "command") or None if tool == "run_shell_command" else None
            if tool in ("agent", "task"):
                block.description, block.agent_type = string(args, "description"), string(args, "subagent_type")
        yield block
    elif text := string(part, "text"):
        yield Block(THINKING if part.get("thought") is True else TEXT, text)


def _given(part: dict[str, Any], result: dict[str, Any]) -> Iterator[Block]:
    """The blocks of a user's part, or of a tool's answer."""
    if response := table(part, "functionResponse"):
        display = result.get("resultDisplay")
        diff, _, changes = written(display)
        yield Block(
            RESULT,
            output_of(response, display),
            call_id=string(response, "id") or string(result, "callId"),
            is_error=string(result, "status") in ("error", "cancelled") or "error" in table(response, "response"),
            denied_by=denied_by(output_of(response, display)) if string(result, "status") == "cancelled" else "",
            patch=diff,
            written=changes or None,
        )
    elif data := table(part, "inlineData"):
        yield Block(IMAGE, string(data, "data"), media_type=string(data, "mimeType"))
    elif text := string(part, "text"):
        yield Block(TEXT, text)
