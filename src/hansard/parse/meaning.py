"""Who said a line, and which text in it is worth showing and finding: small pure functions, one per quirk of the clients."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from msgspec import Raw

from hansard.parse import wire
from hansard.parse.decode import REFUSED, Record, survivors, text_of

SYNTHETIC = "<synthetic>"

# What a user line says, by the text it starts with. The order matters only for readers.
_PREFIXES = (
    ("<command-name>", "command"),
    ("<command-message>", "command"),
    ("<local-command-", "command_output"),
    ("<bash-input>", "bash"),
    ("<bash-stdout>", "bash_output"),
    ("<bash-stderr>", "bash_output"),
    ("<task-notification>", "notification"),
    ("<teammate-message", "teammate"),
    ("<system-reminder>", "reminder"),
    ("Caveat:", "meta"),
    ("[Request interrupted", "interruption"),
)
_NOT_HUMAN_ORIGIN = {"task-notification": "notification", "peer": "teammate", "coordinator": "teammate"}
# Text blocks that an editor puts beside the prompt; the human did not type them.
_EDITOR_NOTES = ("<ide_", "<system-reminder>")

# Before hooks had records of their own, what they said was a user line: <session-start-hook>, <post-tool-use-hook>, ...
_HOOK = re.compile(r"<[A-Za-z][A-Za-z0-9_-]*-hook>")
_DATA_URI = re.compile(r"base64[,\"': ]{1,4}[A-Za-z0-9+/=\\]{64,}")

_TYPE_FIRST = re.compile(rb'\{"type":"([A-Za-z0-9_-]+)"').match

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)

_string = msgspec.json.Decoder(str).decode
_any = msgspec.json.Decoder().decode
_blocks = msgspec.json.Decoder(list[wire.Block]).decode
_attachment = msgspec.json.Decoder(wire.Attachment).decode
_progress = msgspec.json.Decoder(wire.Progress).decode
_origin = msgspec.json.Decoder(wire.Origin).decode


def milliseconds(timestamp: str | None) -> int | None:
    """An ISO 8601 time as milliseconds since 1970 in UTC, or None when it is none."""
    if not timestamp:
        return None
    try:
        moment = datetime.fromisoformat(timestamp)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return (moment - _EPOCH) // _MILLISECOND
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
    """The attachment of an attachment record."""
    found: wire.Attachment | None = lenient(_attachment, body.attachment)
    return found


def progress_of(body: wire.Entry) -> wire.Progress | None:
    """The inner part of a progress record."""
    found: wire.Progress | None = lenient(_progress, body.data)
    return found


def says(body: wire.Entry, text: str, *, has_result: bool, sidechain: bool) -> str:
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
    if text.startswith("<") and _HOOK.match(text):
        return "hook"
    if body.origin:
        origin = lenient(_origin, body.origin)
        if origin is not None and origin.kind in _NOT_HUMAN_ORIGIN:
            return _NOT_HUMAN_ORIGIN[origin.kind]
    if body.prompt_source == "system":
        return "notification"
    return "instruction" if sidechain else "prompt"


def queued_says(attachment: wire.Attachment, text: str) -> str:
    """What a queued command is, by the same rules as a user line."""
    return says(wire.Entry(origin=attachment.origin), text, has_result=False, sidechain=False)


def user_text(content: str | list[wire.Block] | None) -> str:
    """The text of a user line, without what an editor put beside it where there is more."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    texts = [string(block.text) for block in content if block.type == "text"]
    typed = [text for text in texts if not text.startswith(_EDITOR_NOTES)]
    return "\n".join(typed or texts)


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
    """What stands in the first such tag; linear, however often a hostile text opens it without an end."""
    start = text.find(f"<{tag}>")
    end = text.find(f"</{tag}>", start)
    return text[start + len(tag) + 2 : end].strip() if 0 <= start < end else None


def result_text(raw: Raw) -> str:
    """The text of a tool result, whose content is a string or a list of blocks."""
    if not raw:
        return ""
    if raw_is_string(raw):
        return string(raw)
    return "\n".join(string(block.text) for block in lenient(_blocks, raw) or () if block.text)


def raw_is_string(raw: Raw) -> bool:
    """Whether a raw JSON value is a string."""
    return bytes(memoryview(raw)[:1]) == b'"'


def leaf_strings(value: Any, found: list[str]) -> None:
    """Collect every string in a tool's input, at any depth, in order."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, dict):
            waiting.extend(reversed(item.values()))
        elif isinstance(item, list):
            waiting.extend(reversed(item))


def input_text(raw: Raw) -> str:
    """A tool's input as text: its string values, one per line."""
    found: list[str] = []
    leaf_strings(lenient(_any, raw), found)
    return "\n".join(found)


def without_base64(text: str) -> str:
    """The text without data URIs, which nobody searches for."""
    return _DATA_URI.sub("base64", text) if "base64" in text else text


# Attachments that carry text a reader sees; the others are reminders, listings and snapshots of prompts.
_SHOWN_ATTACHMENTS = frozenset(
    {"file", "edited_text_file", "hook_additional_context", "hook_system_message", "hook_success"}
)


def texts(record: Record, *, sidechain: bool) -> Iterator[tuple[int, str, str]]:
    """The searchable texts of a record: (block number, column, text). Base64, signatures and twins are not among them."""
    body = record.body
    kind = record.kind
    if kind in ("assistant", "user"):
        message = body.message
        if message is None or not message.content:
            return
        content = message.content
        if isinstance(content, str):
            is_prompt = kind == "user" and says(body, content, has_result=False, sidechain=sidechain) == "prompt"
            yield 0, "reply" if kind == "assistant" else "prompt" if is_prompt else "note", content
            return
        meaning = ""
        for number, block in enumerate(content):
            shown = block_text(block)
            if shown is None or not shown[1]:
                continue
            column, text = shown
            if column == "reply" and kind == "user":
                if not meaning:
                    has_result = any(other.type == "tool_result" for other in content)
                    meaning = says(body, user_text(content), has_result=has_result, sidechain=sidechain)
                column = "prompt" if meaning == "prompt" else "note"
            yield number, column, text
        return
    column, text = _side_text(record)
    if text:
        yield 0, column, text


def _side_text(record: Record) -> tuple[str, str]:
    """The text of a record that is neither the user's nor the assistant's, and its column."""
    body = record.body
    if record.kind == "attachment":
        attachment = attachment_of(body)
        if attachment is not None and attachment.type == "queued_command":
            text = prompt_text(attachment.prompt)
            return "prompt" if queued_says(attachment, text) == "prompt" else "note", text
        if attachment is not None and attachment.type in _SHOWN_ATTACHMENTS:
            return "note", without_base64(input_text(body.attachment))
    elif record.kind == "system":
        return "note", string(body.content)
    elif record.kind == "summary":
        return "note", body.summary or ""
    return "note", ""


def block_text(block: wire.Block) -> tuple[str, str] | None:
    """A block's column and text; None for a block without text."""
    kind = block.type
    if kind == "text":
        return "reply", string(block.text)
    if kind == "thinking":
        return "thinking", string(block.thinking)
    if kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
        return "call", without_base64(input_text(block.input))
    if kind == "tool_result" or (kind is not None and kind.endswith("_tool_result")):
        return "result", without_base64(result_text(block.content))
    return None


def version_of(version: str) -> tuple[int, ...]:
    """A client's version in an order that compares; (0,) where it is none."""
    try:
        return tuple(int(part) for part in version.split("-", maxsplit=1)[0].split("."))
    except ValueError:
        return (0,)
