"""Qwen Code's files, and its records as neutral ones.

Tokens are stated twice: with an answer, and in a telemetry record of each API response, which covers calls in the background and of
subagents too. The telemetry counts; an answer counts by itself only if no telemetry record states the same numbers.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from hansard.clients.gemini.tools import (
    KINDS,
    bare_output,
    change_of,
    denied_by,
    output_of,
    path_of,
    tool_input,
    tool_name,
    written,
)
from hansard.clients.generic import CALL, IMAGE, RESULT, TEXT, THINKING, Block, GenericClient, Record, Usage
from hansard.clients.protocol import PathInfo, SideContent, SideFacts
from hansard.clients.state import NAME_LENGTH
from hansard.clients.tools import ToolUse
from hansard.clients.values import decode_object, milliseconds, string, table, tables, whole
from hansard.sources.roots import NOT_KEPT, FileKind, Layout, LayoutFolder, Root

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hansard.clients.tools import ToolInput

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


_AGENTS = LayoutFolder(
    patterns=(("agent-", ".jsonl", FileKind.AGENT), ("agent-", ".meta.json", FileKind.AGENT_META)), deeper=None
)
_PROJECT = LayoutFolder(
    folders={"chats": LayoutFolder(log=FileKind.MAIN, deeper=NOT_KEPT), "subagents": LayoutFolder(deeper=_AGENTS)},
    named={"meta.json": FileKind.OTHER},
    deeper=NOT_KEPT,
)
_PROJECTS = LayoutFolder(deeper=_PROJECT)
_SUBAGENT_PARTS = 5  # projects/<project>/subagents/<session>/agent-<id>.jsonl


class QwenCode(GenericClient):
    """Keeps a session in `~/.qwen/projects/<project>/chats/<session>.jsonl`, once in `~/.qwen/tmp/<hash>/chats`."""

    name = "qwen"
    speaker = "Qwen"
    tools = KINDS
    memory = Memory
    known_kinds = KNOWN
    permission_facts = frozenset({"denials"})
    layout = Layout(main="projects", folders={"projects": _PROJECTS, "tmp": _PROJECTS})

    def default_roots(self, environ: Mapping[str, str], home: str) -> list[str]:
        """QWEN_RUNTIME_DIR, QWEN_HOME, or `.qwen` in the home directory, on every system."""
        places = (environ.get("QWEN_RUNTIME_DIR"), environ.get("QWEN_HOME") or os.path.join(home, ".qwen"))
        return [path for path in places if path and self.open_root(path) is not None]

    def open_root(self, path: str) -> Root | None:
        """A directory with `projects`, which Gemini CLI's has not."""
        return super().open_root(path) if os.path.isdir(os.path.join(os.path.expanduser(path), "projects")) else None

    def path_info(self, path: str) -> PathInfo:
        """A chat is named after its session; a subagent's file is in a folder named so."""
        parts = path.split("/")
        project = parts[1] if len(parts) > 2 else ""
        name = parts[-1].removesuffix(".jsonl").removesuffix(".meta.json")
        if len(parts) == _SUBAGENT_PARTS and parts[2] == "subagents":
            return PathInfo(parts[3], name.removeprefix("agent-"), project)
        return PathInfo(name if "chats" in parts else "", project_dir=project)

    def side_file(self, kind: str, path: str, data: bytes) -> SideContent:  # noqa: ARG002
        """What the file beside a subagent's transcript says about it."""
        if kind != FileKind.AGENT_META:
            return SideContent()
        try:
            meta = msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return SideContent()
        return SideContent(
            SideFacts(
                agent_type=string(meta, "agentType", "subagentName"),
                description=string(meta, "description"),
                parent_agent_id=string(meta, "parentAgentId"),
                tool_use_id=string(meta, "toolUseId"),
            )
        )

    def decode_next(self, line: bytes, memory: Memory) -> Iterator[Record]:
        return decode(line, memory)

    def tool_input(self, tool: str, given: Any) -> ToolInput | None:
        return tool_input(tool, given)

    def tool_use(self, tool: str, given: Any, output: str) -> ToolUse:
        """What a call was given and gave, without what the client adds to outputs."""
        return ToolUse(tool_input(tool, given), output, bare_output(output))
