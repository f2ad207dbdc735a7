"""Who said a line, and what it says: small pure functions, one per quirk of the clients."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from hansard.clients.claude_code import wire
from hansard.clients.claude_code.decode import survivors, text_of
from hansard.clients.lines import REFUSED, ParsedLine
from hansard.clients.texts import leaf_strings
from hansard.lazy_regex import lazy_compile

if TYPE_CHECKING:
    from collections.abc import Sequence

SYNTHETIC = "<synthetic>"

_hunks = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_patch = msgspec.json.Decoder(list[dict[str, Any]]).decode

# Deeper than any real tool's input; writing a value out is recursive.
_MAX_DEPTH = 100

# What a user line says, by the text it starts with. The order matters only for readers.
_PREFIXES = (
    ("<command-name>", "command"),
    ("<command-message>", "command"),
    ("<local-command-", "command_output"),
    ("<bash-input>", "bash"),
    ("<bash-stdout>", "bash_output"),
    ("<bash-stderr>", "bash_output"),
    ("<task-notification>", "notification"),
    ('{"task_id":', "notification"),  # the same, as some clients queued it
    ("<teammate-message", "teammate"),
    ("<system-reminder>", "reminder"),
    ("<ide_", "meta"),
    ("Caveat:", "meta"),
    ("[Request interrupted", "interruption"),
)
_NOT_HUMAN_ORIGIN = {"task-notification": "notification", "peer": "teammate", "coordinator": "teammate"}
# Text blocks that an editor puts beside the prompt; the human did not type them.
_EDITOR_NOTES = ("<ide_", "<system-reminder>")

# Text by programs is in a tag whose name says so: <session-start-hook>, <agent-notification>, <ci-monitor-event>, ...
_TAG = lazy_compile(r"<[A-Za-z][A-Za-z0-9_]*-(?:[A-Za-z0-9_]+-)*+([a-z]+)(?:>| [a-z_]+=)")
_MACHINES = {"hook": "hook", "reminder": "reminder"} | dict.fromkeys(
    ("notification", "event", "update", "alert", "message"), "notification"
)
_REMINDER, _REMINDER_END = "<system-reminder>", "</system-reminder>"
_BETWEEN_OUTPUTS = lazy_compile(r"(?<=[^\n>])</bash-stdout>(?=<bash-stderr>[^<])")
_OUTPUT_TAGS = lazy_compile(r"</?(?:local-command-[a-z]+|bash-std(?:out|err))>")

_TYPE_FIRST = re.compile(rb'\{"type":"([A-Za-z0-9_-]+)"').match

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)

_string = msgspec.json.Decoder(str).decode
_any = msgspec.json.Decoder().decode
_blocks = msgspec.json.Decoder(list[wire.Block]).decode
_attachment = msgspec.json.Decoder(wire.Attachment).decode
_embedded = msgspec.json.Decoder(wire.EmbeddedLine).decode
_progress = msgspec.json.Decoder(wire.Progress).decode
_origin = msgspec.json.Decoder(wire.Origin).decode


def milliseconds(timestamp: str | None) -> int | None:
    """Parse an ISO 8601 time into epoch milliseconds, or None."""
    if not timestamp:
        return None
    try:
        moment = datetime.fromisoformat(timestamp)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return (moment - _EPOCH) // _MILLISECOND
    except (ValueError, OverflowError):
        return None


def moment(timestamp: str | None) -> datetime | None:
    """The same as an aware time in UTC."""
    if not timestamp:
        return None
    try:
        found = datetime.fromisoformat(timestamp)
        if found.tzinfo is not UTC:
            found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
        excess = found.microsecond % 1000
        return found.replace(microsecond=found.microsecond - excess) if excess else found
    except (ValueError, OverflowError):
        return None


def lenient(decoder: Any, raw: Raw) -> Any:
    """Decode a raw value into a small struct, without the fields that do not fit; None when it has another shape."""
    if not raw:
        return None
    try:
        return decoder(raw)
    except REFUSED:
        return survivors(decoder.__self__.type, raw)


def string(raw: Raw) -> str:
    """A raw JSON value as text."""
    if not raw:
        return ""
    try:
        return _string(raw)
    except REFUSED:
        return text_of(raw)


def sub_kind(body: wire.Entry) -> str | None:
    """The second half of a kind: a system record's subtype, an attachment's or a progress record's inner type."""
    if body.type == "attachment":
        return _inner_type(body.attachment)
    if body.type == "progress":
        return _inner_type(body.data)
    return body.subtype


def _inner_type(raw: Raw) -> str | None:
    """The type of a nested object; it nearly always comes first, so the rest need not be read."""
    tag = _TYPE_FIRST(memoryview(raw))
    if tag is not None:
        return str(tag[1], "ascii")
    inner = lenient(_progress, raw)
    return inner.type if inner is not None else None


def full_kind(kind: str, sub: str | None) -> str:
    """The name under which a record is counted: `system/api_error`, `attachment/file`, `user`."""
    return f"{kind}/{sub}" if sub and kind in ("system", "attachment") else kind


def attachment_of(body: wire.Entry) -> wire.Attachment | None:
    found: wire.Attachment | None = lenient(_attachment, body.attachment)
    return found


def progress_of(body: wire.Entry) -> wire.Progress | None:
    found: wire.Progress | None = lenient(_progress, body.data)
    return found


def repeated_line(body: wire.Entry) -> wire.Entry | None:
    """The line of a subagent that a progress record repeats, as if it were a line of its own."""
    progress = progress_of(body) if b'"agent_progress"' in bytes(body.data) else None
    if progress is None or progress.type != "agent_progress":
        return None
    line: wire.EmbeddedLine | None = lenient(_embedded, progress.message)
    if line is None or line.type not in ("user", "assistant") or line.message is None:
        return None
    return wire.Entry(
        type=line.type,
        session_id=body.session_id,
        agent_id=progress.agent_id,
        git_branch=body.git_branch,
        cwd=body.cwd,
        timestamp=line.timestamp or body.timestamp,
        request_id=line.request_id,
        is_sidechain=line.is_sidechain,
        stream_parent_tool=body.parent_tool_use_id or progress.type,
        is_meta=line.is_meta,
        is_api_error=line.is_api_error,
        uuid=line.uuid or body.uuid,
        cost_usd=line.cost_usd,
        message=line.message,
        tool_use_result=line.tool_use_result,
    )


def unwrapped(record: ParsedLine) -> ParsedLine:
    """The line of a subagent in place of the progress record that repeats it; any other record as it is."""
    line = repeated_line(record.body) if record.kind == "progress" else None
    return record if line is None else record._replace(kind=str(line.type), body=line)


def role(body: wire.Entry, text: str, *, has_result: bool, sidechain: bool) -> str:
    """What a user line is: a human's prompt, a command, a tool's result, an instruction to a subagent, ..."""
    if has_result:
        return "result"
    if body.is_compact_summary:
        return "compact_summary"
    if body.is_meta:
        return "meta"
    for prefix, meaning in _PREFIXES:
        if text.startswith(prefix):
            return meaning
    if body.repeats_compact_summary:
        return "compact_summary"
    tag = _TAG.match(text) if text.startswith("<") else None
    if tag is not None and tag[1] in _MACHINES:
        return _MACHINES[tag[1]]
    if body.origin:
        origin = lenient(_origin, body.origin)
        if origin is not None and origin.kind in _NOT_HUMAN_ORIGIN:
            return _NOT_HUMAN_ORIGIN[origin.kind]
    if body.prompt_source == "system":
        return "notification"
    return "instruction" if sidechain else "prompt"


def queued_says(attachment: wire.Attachment, text: str) -> str:
    """What a queued command is, by the same rules as a user line."""
    return role(wire.Entry(origin=attachment.origin), text, has_result=False, sidechain=False)


# Before this client version a prompt that was typed while the model worked is in the queue's records only.
_QUEUED_AS_ATTACHMENT = (2, 1, 90)
# No real queue is ever that long; a hostile one must not make its state grow with it.
_MAX_QUEUE = 100
_MAX_QUEUED = 1 << 20  # characters


def queue_step(queue: list[str], operation: wire.QueueOperation, version: str) -> str | None:
    """Follow the queue of waiting prompts, and give the one that leaves it without becoming a line of its own."""
    name = operation.operation
    if name == "enqueue":
        queue.append(prompt_text(operation.content))
        del queue[:-_MAX_QUEUE]
        while sum(map(len, queue)) > _MAX_QUEUED:
            del queue[0]
    elif name == "popAll":
        queue.clear()
    elif queue and name in ("dequeue", "remove"):
        text = queue.pop(0)
        human = text and role(wire.Entry(), text, has_result=False, sidechain=False) == "prompt"
        if human and name == "remove" and version_of(version) < _QUEUED_AS_ATTACHMENT:
            return text
    return None


def user_text(content: str | list[wire.Block] | None) -> str:
    """The text of a user line, without what an editor put beside it where there is more."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    texts = [string(block.text) for block in content if block.type == "text"]
    typed = [text for text in texts if not text.startswith(_EDITOR_NOTES)]
    return "\n".join(typed or texts)


def split_reminders(text: str) -> tuple[str, str]:
    """A text without what the client added for the model, and that; by hand, since a pattern looks for the end at every beginning."""
    pieces: list[str] = []
    reminders: list[str] = []
    at = 0
    while (begin := text.find(_REMINDER, at)) >= 0 and (end := text.find(_REMINDER_END, begin)) >= 0:
        pieces.append(text[at:begin].rstrip("\n"))
        reminders.append(text[begin + len(_REMINDER) : end].strip())
        at = end + len(_REMINDER_END)
        while text[at : at + 1].isspace():
            at += 1
    return "".join([*pieces, text[at:]]), "\n".join(reminders)


def prompt_text(raw: Raw) -> str:
    """A queued prompt, which is a string or a list of blocks."""
    if not raw:
        return ""
    if raw_is_string(raw):
        return string(raw)
    return user_text(lenient(_blocks, raw))


def command_of(text: str) -> str:
    """`/name arguments` of a slash command line, `!command` of a shell line."""
    shell = _between(text, "bash-input")
    if shell is not None:
        return "!" + shell
    name = _between(text, "command-name")
    return f"{name} {_between(text, 'command-args') or ''}".strip() if name else ""


def _between(text: str, tag: str) -> str | None:
    """The content of the first such tag; linear, even if a hostile text opens it many times without closing it."""
    start = text.find(f"<{tag}>")
    end = text.find(f"</{tag}>", start)
    return text[start + len(tag) + 2 : end].strip() if 0 <= start < end else None


def inner_text(text: str) -> str:
    """The text of a command's output without the tags that the client put around it."""
    return _OUTPUT_TAGS.sub("", _BETWEEN_OUTPUTS.sub("\n", text)).strip("\n")


def result_text(raw: Raw) -> str:
    """The text of a tool result, whose content is a string or a list of blocks."""
    return result_parts(raw)[0]


def result_parts(raw: Raw) -> tuple[str, bool]:
    """The text of a tool result, and whether there is an image in it."""
    if not raw:
        return "", False
    if raw_is_string(raw):
        return string(raw), False
    blocks = lenient(_blocks, raw) or ()
    text = "\n".join(string(block.text) for block in blocks if block.text)
    return text, any(block.type == "image" for block in blocks)


def raw_is_string(raw: Raw) -> bool:
    return bytes(memoryview(raw)[:1]) == b'"'


def input_text(raw: Raw) -> str:
    """A tool's input as text: its string values, one per line."""
    found: list[str] = []
    leaf_strings(lenient(_any, raw), found)
    return "\n".join(found)


def version_of(version: str) -> tuple[int, ...]:
    """A client's version as a tuple that can be compared; (0,) if it is not valid."""
    try:
        return tuple(int(part) for part in version.split("-", maxsplit=1)[0].split("."))
    except ValueError:
        return (0,)


def has_image(result: wire.Block) -> bool:
    return not raw_is_string(result.content) and b'"image"' in bytes(result.content)


def tool_input(raw: msgspec.Raw) -> Any:
    """A tool's input; as the JSON text that it is where it is nested too deep to be walked."""
    value = lenient(_any, raw)
    data = bytes(raw)
    if data.count(b"{") + data.count(b"[") <= _MAX_DEPTH:
        return value
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return value
    return string(raw)


def _inside(value: Any) -> Sequence[Any]:
    if isinstance(value, dict):
        return tuple(value.values())
    return value if isinstance(value, list) else ()


def patch_of(raw: msgspec.Raw) -> str | None:
    """The unified diff that a file-changing result carries."""
    if not raw:
        return None
    outcome = lenient(_hunks, raw)
    hunks = lenient(_patch, outcome["structuredPatch"]) if outcome and "structuredPatch" in outcome else None
    if not hunks:
        return None
    lines: list[str] = []
    for hunk in hunks:
        numbers = [hunk.get(name) for name in ("oldStart", "oldLines", "newStart", "newLines")]
        lines.append("@@ -{},{} +{},{} @@".format(*numbers))
        stated = hunk.get("lines")
        lines += [line for line in stated if isinstance(line, str)] if isinstance(stated, list) else []
    return "\n".join(lines)
