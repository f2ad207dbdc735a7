"""Copilot CLI's files, and its events as neutral records."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from hansard.clients.copilot_cli.tools import KINDS, PATCH, SHELLS, changes_of, tool_input
from hansard.clients.copilot_cli.usage import Tokens
from hansard.clients.generic import (
    CALL,
    CONVERSATION,
    IMAGE,
    RESULT,
    TEXT,
    THINKING,
    Block,
    GenericClient,
    Record,
    Usage,
    stated,
)
from hansard.clients.lines import ParsedLine
from hansard.clients.patches import patch_blocks, patch_in
from hansard.clients.protocol import PathInfo, SideContent, SideFacts
from hansard.clients.state import NAME_LENGTH, digest
from hansard.clients.usage import Answer, dated
from hansard.clients.values import as_object, bare_diff, decode_object, hunks, milliseconds, string, table, tables
from hansard.lazy_regex import lazy_compile
from hansard.model.tools import MCP
from hansard.sources.roots import NOT_KEPT, FileKind, Layout, LayoutFolder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hansard.clients.tools import ToolInput

_MOST_THREADS = 100
_MOST_SEEN = 500
_KEY = 12  # characters of a digest
KNOWN = frozenset(
    {
        *(
            f"session.{name}"
            for name in (
                "start resume shutdown info warning error idle model_change mode_changed title_changed context_changed usage_record"
                " usage_checkpoint usage_info compaction_start compaction_complete task_complete snapshot_rewind truncation handoff"
                " plan_changed todos_changed workspace_file_changed permissions_changed session_limits_changed context_cleared"
                " mode_notice_delivered schedule_created schedule_cancelled schedule_rearmed autopilot_objective_changed"
                " remote_steerable_changed binary_asset auto_mode_resolved"
            ).split()
        ),
        *(
            "user.message assistant.message assistant.message_start assistant.turn_start assistant.turn_end assistant.intent"
            " assistant.reasoning assistant.usage assistant.idle tool.execution_start tool.execution_complete tool.user_requested"
            " tool.search_activated skill.invoked hook.start hook.end subagent.started subagent.configured subagent.completed"
            " subagent.failed subagent.selected subagent.deselected system.message system.notification abort permission.requested"
            " repeated permission.completed user_input.requested user_input.completed"
        ).split(),
    }
)
"""Events that are understood, or known to say nothing that others do not."""
_FIELDS = frozenset("type data id timestamp parentId agentId ephemeral debugOnly".split())


class Memory(Struct, gc=False, omit_defaults=True):
    """What an event means depends on these."""

    tokens: Tokens = field(default_factory=Tokens)
    cwd: str = ""
    last: dict[str, str] = {}  # the last record of the main thread ("") and of each subagent
    seen: dict[str, None] = {}  # the last messages

    def is_new(self, message: dict[str, Any]) -> bool:
        """Note a message; False if it was there before: the client may write one again."""
        names = [string(message, name) for name in ("messageId", "apiCallId", "content", "reasoningText")]
        if not names[0] and not names[1]:
            return True
        calls = [string(call, "toolCallId") for call in tables(message, "toolRequests")]
        key = digest(repr((*names, message.get("chunkIndex"), calls)))[:_KEY]
        if key in self.seen:
            return False
        self.seen[key] = None
        if len(self.seen) > _MOST_SEEN:
            del self.seen[next(iter(self.seen))]
        return True


def decode(line: bytes, memory: Memory) -> Iterator[Record]:
    event = decode_object(line)
    kind, data = event["type"], event["data"]
    if not isinstance(kind, str) or not isinstance(data, dict):
        raise ValueError("neither a type nor data")  # noqa: TRY004 - what is wrong with a line is a ValueError
    agent = (string(data, "parentToolCallId") or string(event, "agentId"))[:NAME_LENGTH]
    uuid = string(event, "id")[:NAME_LENGTH]
    record = Record(kind, ts=milliseconds(event.get("timestamp")), uuid=uuid, is_aside=bool(agent))
    record.unknown = [(kind, name) for name in event if name not in _FIELDS]
    tokens = memory.tokens
    match kind:
        case "session.start" | "session.resume" | "session.context_changed":
            _context(record, data, tokens, is_start=kind != "session.context_changed")
            memory.cwd = record.cwd or memory.cwd
        case "session.model_change":
            record.usage = tokens.model_known(string(data, "newModel"), "")
        case "session.title_changed":
            record.title = string(data, "title")
        case "user.message":
            is_typed = not string(data, "source") and not data.get("isAutopilotContinuation") and not agent
            record.kind, record.role = "user", "prompt" if is_typed else "instruction" if agent else "note"
            record.blocks = [Block(TEXT, string(data, "content")), *_images(data)]
        case "assistant.message":
            record.kind = "assistant"
            if not memory.is_new(data):
                yield Record("repeated", ts=record.ts)
                return
            record.model = string(data, "model") or (tokens.agent_models.get(agent, "") if agent else tokens.model)
            record.usage = tokens.message(data, agent)
            if thought := string(data, "reasoningText"):
                record.blocks.append(Block(THINKING, thought))
            if said := string(data, "content").strip():
                record.blocks.append(Block(TEXT, said))
        case "tool.execution_start":
            record.kind = "assistant"
            record.model = tokens.agent_models.get(agent, "") if agent else tokens.model
            record.blocks = _call(data, memory.cwd)
        case "tool.execution_complete":
            record.kind = "user"
            record.usage = tokens.model_known(string(data, "model"), agent)
            record.blocks = [_result(data)]
        case "session.compaction_complete":
            if summary := string(data, "summaryContent"):
                record.kind, record.role, record.blocks = "system", "compaction", [Block(TEXT, summary)]
        case "session.error":
            record.kind, record.role = "system", "note" if string(data, "errorType") == "mcp" else "error"
            record.blocks = [Block(TEXT, string(data, "message"))]
        case "system.notification":
            record.kind, record.role, record.blocks = "system", "notification", [Block(TEXT, string(data, "content"))]
        case "abort":
            record.kind, record.role = "system", "interruption"
            record.blocks = [Block(TEXT, f"Aborted: {string(data, 'reason')}".removesuffix(": "))]
        case "session.usage_record":
            record.usage = tokens.record(data, record.uuid)
            record.is_aside |= _is_of_agent(table(data, "usage") or data)
        case "session.shutdown":
            spent = tokens.shutdown(data)
            record.usage, record.more_usage = (spent[0], spent[1:]) if spent else (None, [])
    if record.kind in CONVERSATION:
        # Events of a file form one chain; records of a subagent hang on each other, so that they can be read by themselves.
        record.parent_uuid = memory.last.get(agent, "")
        record.started_by = agent if agent not in memory.last else ""
        if agent in memory.last or len(memory.last) < _MOST_THREADS:
            memory.last[agent] = record.uuid
    yield record


def _is_of_agent(usage: dict[str, Any]) -> bool:
    """Whether a usage record says that a subagent made the call."""
    return bool(string(usage, "parentToolCallId", "agentId")) or string(usage, "initiator") == "sub-agent"


def _context(record: Record, data: dict[str, Any], tokens: Tokens, *, is_start: bool) -> None:
    context = table(data, "context") or data
    record.cwd, record.branch = string(context, "cwd"), string(context, "branch")
    if is_start:
        record.session_id, record.version = string(data, "sessionId"), string(data, "copilotVersion")
        tokens.start(record.version)
        tokens.model_known(string(data, "selectedModel"), "")


def _images(data: dict[str, Any]) -> list[Block]:
    return [
        Block(IMAGE, string(item, "data"), media_type=string(item, "mimeType"))
        for item in tables(data, "attachments")
        if string(item, "mimeType").startswith("image/") and string(item, "data")
    ]


def _call(data: dict[str, Any], cwd: str) -> list[Block]:
    server, name = string(data, "mcpServerName"), string(data, "toolName")
    tool = f"{MCP}{server}__{string(data, 'mcpToolName') or name}" if server else name
    given = as_object(data.get("arguments"))
    call = Block(CALL, call_id=string(data, "toolCallId"), tool=tool, input=given)
    if isinstance(given, dict):
        call.path = string(given, "path")
        call.command = string(given, "command") or None if tool in SHELLS else None
        call.change, call.changes = changes_of(tool, given)
    patch = patch_in(given) if tool == PATCH else ""
    return patch_blocks(call, patch, cwd) if patch else [call]


def _result(data: dict[str, Any]) -> Block:
    result, error = table(data, "result"), table(data, "error")
    is_error = data.get("success") is False or bool(error)
    text = string(error, "message") if is_error else ""
    text = text or string(result, "content", "text_result_for_llm", "detailedContent")
    block = Block(RESULT, text, call_id=string(data, "toolCallId"), is_error=is_error)
    details = string(result, "detailedContent").lstrip("\n")
    if details.startswith("diff --git ") and "\ndiff --git " not in details and not is_error:
        block.patch, block.written = bare_diff(details), hunks(details)
    return block


_SESSION = LayoutFolder(
    named={"events.jsonl": FileKind.MAIN, "workspace.yaml": FileKind.TITLE, "plan.md": FileKind.PLAN},
    folders={"checkpoints": LayoutFolder(suffixes={".md": FileKind.OTHER})},
    deeper=NOT_KEPT,  # rewind snapshots, which are copies of the user's files, and a database that is made from the events
)
_SESSIONS = LayoutFolder(log=FileKind.MAIN, deeper=_SESSION)
_TITLE = lazy_compile(rb"(?m)^(name|summary):[ \t]*+(\S[^\r\n]*)")
_LONGEST = 1 << 16  # bytes of a workspace.yaml
_NOTICE = lazy_compile(r"</?system_notification>")


class CopilotCli(GenericClient):
    """Keeps a session in `~/.copilot/session-state/<session>/events.jsonl`, once in `session-state/<session>.jsonl`."""

    name = "copilot-cli"
    speaker = "Copilot"
    tools = KINDS
    memory = Memory
    known_kinds = KNOWN
    layout = Layout(main="session-state", folders={"session-state": _SESSIONS, "history-session-state": _SESSIONS})

    def default_roots(self, environ: Mapping[str, str], home: str) -> list[str]:
        """COPILOT_HOME, or `.copilot` in the home directory, on every system."""
        path = environ.get("COPILOT_HOME") or os.path.join(home, ".copilot")
        return [path] if os.path.isdir(os.path.join(path, "session-state")) else []

    def path_info(self, path: str) -> PathInfo:
        """The session is the folder, or the name of the file."""
        parts = path.split("/")
        return PathInfo(parts[1].removesuffix(".jsonl") if len(parts) > 1 else "")

    def side_file(self, kind: str, path: str, data: bytes) -> SideContent:  # noqa: ARG002
        """The name that a workspace.yaml gives to its session."""
        if kind != FileKind.TITLE or len(data) > _LONGEST:
            return SideContent()
        found = dict(_TITLE.findall(data))
        title = (found.get(b"name") or found.get(b"summary") or b"").decode("utf-8", "replace").strip()
        if title[:1] in ("'", '"') and title[-1:] == title[:1]:
            title = title[1:-1]
        return SideContent(SideFacts(title=title)) if title and title not in ("|", ">", "|-", ">-") else SideContent()

    def decode_next(self, line: bytes, memory: Memory) -> Iterator[Record]:
        return decode(line, memory)

    def answer(self, line: bytes) -> Answer | None:
        """The answer of the model that a line has; a message by itself often does not say which model gave it."""
        for item in self.items(line, 0, Memory(Tokens(model="(not stated)"))):
            if not isinstance(item, ParsedLine):
                continue
            record: Record = item.body
            if record.usage is None and any(block.kind == RESULT for block in record.blocks):
                record.usage = Usage("", is_final=False)  # it says which model gave the messages before it
            if record.usage is not None:
                reason = "end" if record.usage.is_final else None
                stating = partial(stated, record)
                return Answer(record.uuid or None, dated(record.ts), reason, "", record.is_aside, stating)
        return None

    def tool_input(self, tool: str, given: Any) -> ToolInput | None:
        return tool_input(tool, given)

    def notice(self, text: str) -> str:
        """A notification without the tags around it."""
        return _NOTICE.sub("", text).strip()
