"""Messages of Cline's `ui_messages.json` as neutral records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from hansard.clients.cline import sessions
from hansard.clients.documents import BETWEEN, around
from hansard.clients.entries import Change, Content, Hunk, Replacement, lines_of
from hansard.clients.generic import CALL, CONVERSATION, IMAGE, NOTHING, RESULT, TEXT, THINKING, Block, Record, Usage
from hansard.clients.state import NAME_LENGTH
from hansard.clients.values import as_object, hunks, milliseconds, string, table, tables, whole
from hansard.lazy_regex import lazy_compile
from hansard.model.tools import MCP

if TYPE_CHECKING:
    from collections.abc import Iterator

_decode = msgspec.json.Decoder(list[dict[str, Any]]).decode
_CWD = lazy_compile(r"# Current Work(?:ing|space) Directory \(")
_RESULT = lazy_compile(r"\[[a-z_]{1,40}(?: for '[^\n]{0,4096}')?\] Result:\n?")
_AROUND = ("<environment_details>", "<task>", "<feedback>", "<user_message>", "<file_content")
_LONGEST_PATH = 4096
_SEARCHED = 1 << 20  # characters of a request
EDITS = frozenset({"editedExistingFile", "appliedDiff", "insertContent", "searchAndReplace", "fileDeleted"})
SHELL = "execute_command"


_SAID = frozenset(
    "task text user_feedback user_feedback_diff completion_result plan_mode_respond followup reasoning tool command command_output"
    " use_mcp_server mcp_server_response browser_action_launch browser_action browser_action_result api_req_started api_req_finished"
    " api_req_retried api_req_retry_delayed api_req_failed api_req_deleted deleted_api_reqs subagent_usage condense_context"
    " condense_context_error compaction sliding_window_truncation error error_retry diff_error clineignore_error rooignore_error"
    " subtask_result info checkpoint_created checkpoint_saved task_progress resume_task resume_completed_task hook_status"
    " mcp_server_request_started mcp_notification shell_integration_warning shell_warning load_mcp_documentation generate_explanation"
    " mistake_limit_reached auto_approval_max_req_reached new_task condense report_bug summarize_task conditional_rules_applied"
    " use_subagents subagent codebase_search_result image user_edit_todos act_mode_respond inspect_site".split()
)
KNOWN = frozenset({"list", "session", "message", *(f"{kind}/{said}" for kind in ("ask", "say") for said in _SAID)})
"""Messages that are understood, or known to say nothing that others do not."""


class Memory(Struct, gc=False, omit_defaults=True):
    """What a message means depends on these."""

    last: str = ""  # the record before it
    model: str = ""
    is_session: bool = False  # of the command line from version 3 on
    asked: str = ""  # the call that the user was last asked about: it is repeated if it was approved


def decode(line: bytes, memory: Memory) -> Iterator[Record]:
    """One message with the outputs that follow it, or what is around them."""
    text = line.strip(BETWEEN)
    if text in (b"[", b"]"):
        yield Record("list")
        return
    if (facts := around(text)) is not None:
        memory.is_session = True
        yield sessions.about(facts)
        return
    message, *outputs = _decode(b"[%b]" % text)
    if "role" in message and _is_of_session(message, memory):
        record = sessions.message(message, memory.last)
        memory.last = record.uuid or memory.last
        yield record
        return
    if "role" in message:
        results = list(_results(message))
        yield Record("user" if results else "message", blocks=results)
        return
    said = string(message, "say", "ask")
    record = Record(
        f"{string(message, 'type')}/{said}",
        ts=milliseconds(message.get("ts")),
        uuid=str(message.get("ts") or "")[:NAME_LENGTH],
    )
    memory.model = record.model = string(table(message, "modelInfo"), "modelId")[:NAME_LENGTH] or memory.model
    _fill(record, said, message, memory)
    printed = [
        output for output in outputs if string(output, "say", "ask") != said
    ]  # without the call itself, approved
    if printed and record.blocks:
        shown = "\n".join(filter(None, (string(output, "text") for output in printed)))
        ts = milliseconds(printed[-1].get("ts"))
        record.blocks.append(Block(RESULT, shown, call_id=record.uuid, ts=ts))
    if record.kind in CONVERSATION:
        record.parent_uuid, memory.last = memory.last, record.uuid
    yield record


def _is_of_session(message: dict[str, Any], memory: Memory) -> bool:
    """Whether a message of the API is one of a session, and not one beside those of a task that are shown."""
    return memory.is_session or ("id" in message and "tokens" not in table(message, "metrics"))


def _results(message: dict[str, Any]) -> Iterator[Block]:
    """The results of tools in a message to the model; whatever else it says is in the messages that are shown."""
    is_result = False
    for part in tables(message, "content") if string(message, "role") == "user" else ():
        text = string(part, "text")
        if string(part, "type") == "tool_result":
            content = part.get("content")
            shown = (
                content
                if isinstance(content, str)
                else "\n".join(string(one, "text") for one in tables(part, "content"))
            )
            yield Block(RESULT, shown, call_id=string(part, "tool_use_id"), is_error=part.get("is_error") is True)
        elif text.startswith(_AROUND):
            is_result = False
        elif (head := _RESULT.match(text)) is not None:  # of versions without calls of the API's own
            is_result = True
            if rest := text[head.end() :]:
                yield Block(RESULT, rest)
        elif is_result and text:
            yield Block(RESULT, text)


def _fill(record: Record, said: str, message: dict[str, Any], memory: Memory) -> None:
    text = string(message, "text")
    match said:
        case "task" | "user_feedback" | "text" if said != "text" or not memory.last:
            record.kind, record.role = "user", "prompt"
            record.blocks = [Block(TEXT, text), *_images(message)]
        case "text" | "completion_result" | "plan_mode_respond" | "followup":
            if text := _reply(text):
                record.kind, record.blocks = "assistant", [Block(TEXT, text)]
        case "reasoning":
            if text := text or string(message, "reasoning"):
                record.kind, record.blocks = "assistant", [Block(THINKING, text)]
        case "tool":
            record.kind = "assistant"
            record.blocks = _tool(as_object(text), record.uuid)
            _once(record, text, memory, is_ask=string(message, "type") == "ask")
        case "command" | "use_mcp_server" | "browser_action_launch" | "browser_action":
            record.kind, record.blocks = "assistant", [_call(said, text, record.uuid)]
        case "command_output" | "mcp_server_response" | "browser_action_result" if text:
            record.kind, record.role, record.blocks = "system", "note", [Block(TEXT, text)]
        case "api_req_started" | "deleted_api_reqs" | "subagent_usage":
            _request(record, as_object(text))
        case "condense_context" | "compaction" | "sliding_window_truncation":
            record.kind, record.role = "system", "compaction"
            record.blocks = [Block(TEXT, string(table(message, "contextCondense"), "summary") or text)]
        case "error" | "error_retry" | "api_req_failed" | "diff_error" | "clineignore_error" if text:
            record.kind, record.role, record.blocks = "system", "error", [Block(TEXT, text)]
        case "user_feedback_diff" | "subtask_result" | "info" if text:
            record.kind, record.role, record.blocks = "system", "note", [Block(TEXT, text)]


def _once(record: Record, call: str, memory: Memory, *, is_ask: bool) -> None:
    """Pass over a call that repeats the one that the user was asked about just before."""
    if not is_ask and memory.asked == call[:2000]:
        for block in record.blocks:
            block.kind = NOTHING
    memory.asked = call[:2000] if is_ask else ""


def _reply(text: str) -> str:
    given = as_object(text) if text.startswith("{") else None
    found = string(given, "response", "question")
    return found or text.removesuffix("HAS_CHANGES").strip()


def _images(message: dict[str, Any]) -> Iterator[Block]:
    images = message.get("images")
    for image in images if isinstance(images, list) else ():
        if isinstance(image, str) and image.startswith("data:"):
            kind, _, data = image.removeprefix("data:").partition(";base64,")
            yield Block(IMAGE, data, media_type=kind)


def _tool(given: Any, key: str) -> list[Block]:
    """A call that the client carried out itself, and what it says of the result."""
    if not isinstance(given, dict):
        raise ValueError("a tool call that is not an object")  # noqa: TRY004 - what is wrong with a line is a ValueError
    tool, path = string(given, "tool"), string(given, "path")
    call = Block(CALL, call_id=key, tool=tool, input=given, path=path)
    content, diff = string(given, "content"), string(given, "diff")
    if tool == "newFileCreated":
        call.change, call.changes = "create", [Content(lines_of(content))]
        return [call, Block(RESULT, "", call_id=key)]
    if tool in EDITS:
        call.change, call.changes = "edit", _edits(diff or content)
        return [call, Block(RESULT, "", call_id=key)]
    shown = "" if tool == "readFile" else content  # of a file that is read it is the path
    return [call, Block(RESULT, shown, call_id=key)] if shown or tool == "readFile" else [call]


def _edits(text: str) -> list[Change]:
    return list(_replacements(text)) or hunks(text) or [Hunk([])]


def _replacements(text: str) -> Iterator[Change]:
    """The blocks of a text that say what is searched for and what replaces it."""
    old: list[str] = []
    new: list[str] = []
    lines: list[str] | None = None
    for line in text.splitlines(keepends=True):
        sign, _, word = line.rstrip("\r\n").partition(" ")
        if word in ("SEARCH", "SEARCH>") and _is_sign(sign, "-<"):
            old, new = [], []
            lines = old
        elif lines is old and sign == "=======":
            lines = new
        elif lines is new and word.startswith("REPLACE") and _is_sign(sign, "+>"):
            yield Replacement("".join(old), "".join(new))
            lines = None
        elif lines is old and not old and (line.startswith(":start_line:") or not line.strip("-\r\n")):
            continue
        elif lines is not None:
            lines.append(line)


def _is_sign(sign: str, signs: str) -> bool:
    return len(sign) >= 3 and sign[0] in signs and not sign.strip(sign[0])


def _call(said: str, text: str, key: str) -> Block:
    if said == "command":
        command = text.removesuffix("REQ_APP")
        return Block(CALL, call_id=key, tool=SHELL, input={"command": command}, command=command)
    given = as_object(text)
    if said == "use_mcp_server":
        tool = f"{MCP}{string(given, 'serverName')}__{string(given, 'toolName', 'uri')}"
        return Block(CALL, call_id=key, tool=tool, input=as_object(string(given, "arguments")) or given)
    return Block(CALL, call_id=key, tool="browser_action", input=given)


def _request(record: Record, given: Any) -> None:
    """The tokens of a request, which are written into its message when they are known, and the working directory."""
    names = ("tokensIn", "tokensOut", "cacheReads", "cacheWrites")
    read, wrote, cached, stored = (whole(given, name) for name in names)
    if read or wrote or cached or stored:
        cost = given.get("cost", given.get("totalCost"))
        record.usage = Usage(record.uuid, record.model, read, wrote, cached, stored)
        if isinstance(cost, (int, float)) and 0 <= cost < 1e6:
            record.usage.cost = round(cost * 1e9)
    request = string(given, "request")[:_SEARCHED]
    if found := _CWD.search(request):
        path, closed, _ = request[found.end() : found.end() + _LONGEST_PATH].partition(")")
        record.cwd = path if closed and "\n" not in path else ""
