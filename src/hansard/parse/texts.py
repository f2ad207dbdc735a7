"""The texts of a transcript that are worth finding: what is indexed is what is shown.

Base64, signatures, twins of tool results and snapshots of prompts are not among them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from hansard.parse import wire
from hansard.parse.decode import ParsedLine
from hansard.parse.meaning import (
    attachment_of,
    command_of,
    inner_text,
    input_text,
    prompt_text,
    queue_step,
    queued_says,
    result_parts,
    says,
    split_reminders,
    string,
    user_text,
    without_base64,
)
from hansard.parse.state import MAX_EARLY_RESULTS, MAX_OPEN_CALLS, NAME_LENGTH, digest

KINDS = ("prompt", "reply", "thinking", "call", "result", "title", "command", "note", "reminder")

_COMMANDS = frozenset({"command", "bash"})
_REMINDED = frozenset({"prompt", "result", "note", "command"})
_OUTPUTS = frozenset({"command_output", "bash_output"})
_CALL_BLOCKS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
# Attachments that carry text a reader sees; the others are reminders, listings and snapshots of prompts.
_SHOWN_ATTACHMENTS = frozenset(
    {"file", "edited_text_file", "hook_additional_context", "hook_system_message", "hook_success"}
)


class Text(NamedTuple):
    """A text of one record: the number of its block, what kind of text it is, and what it says."""

    number: int
    kind: str  # one of KINDS
    text: str
    tool: str = ""  # of calls and results
    is_error: bool = False
    has_image: bool = False


class TextState(msgspec.Struct, gc=False, omit_defaults=True):
    """What must be remembered of a transcript's earlier lines; a pure function of its bytes up to a line border."""

    calls: dict[str, str] = {}  # tool calls without a result so far: id -> tool
    queue: list[str] = []
    version: str = ""
    early_results: dict[str, tuple[int, int, int]] = {}  # results before their calls: id -> offset, length, block
    titles: dict[str, str] = {}  # kind of title -> digest of the last one: they are written again and again


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(TextState).decode


class TextFold:
    """Goes through the records of one transcript in order and gives their texts."""

    def __init__(self, kept: bytes = b"", *, is_agent: bool) -> None:
        self._kept = _decode(kept) if kept else TextState()
        self._is_agent = is_agent
        self.late_tools: list[
            tuple[int, int, int, str]
        ] = []  # offset, length, block and tool of results whose calls came later

    def kept(self) -> bytes:
        """What the next fold of this transcript goes on from."""
        return _encode(self._kept)

    def is_aside(self, record: ParsedLine) -> bool:
        """Whether a record belongs to a subagent."""
        body = record.body
        return self._is_agent or bool(getattr(body, "is_sidechain", None) or getattr(body, "stream_parent_tool", None))

    def texts(self, record: ParsedLine) -> Iterator[Text]:
        """The texts of the next record."""
        body = record.body
        kept = self._kept
        if record.kind == "queue-operation":
            prompt = queue_step(kept.queue, body, kept.version) if isinstance(body, wire.QueueOperation) else None
            if prompt:
                yield Text(0, "prompt", prompt)
            return
        version = getattr(body, "version", None)
        if version:
            kept.version = version[:NAME_LENGTH]
        for text in texts(record, sidechain=self.is_aside(record)):
            if text.kind == "title" and not self._is_new(record.kind, text.text):
                continue
            if text.kind == "result":
                call_id = (body.message.content[text.number].tool_use_id or "")[:NAME_LENGTH]
                tool = kept.calls.pop(call_id, "")
                if not tool and call_id and len(kept.early_results) < MAX_EARLY_RESULTS:
                    kept.early_results[call_id] = (record.offset, record.length, text.number)
                yield text._replace(tool=tool)
                continue
            if text.kind == "call":
                call_id = (body.message.content[text.number].id or "")[:NAME_LENGTH]
                early = kept.early_results.pop(call_id, None)
                if early is not None:
                    self.late_tools.append((*early, text.tool))
                elif call_id and len(kept.calls) < MAX_OPEN_CALLS:
                    kept.calls[call_id] = text.tool
            yield text

    def _is_new(self, kind: str, title: str) -> bool:
        if kind == "summary":
            return True
        mark = digest(title)
        if self._kept.titles.get(kind) == mark:
            return False
        self._kept.titles[kind] = mark
        return True


# What a program sends to colour its output; nobody sees it, and it would stick to the words beside it.
_ESCAPES = re.compile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[ -/]*[0-Z\\\\^-~])")


def texts(record: ParsedLine, *, sidechain: bool) -> Iterator[Text]:
    """The searchable texts of a record by itself, without escape sequences."""
    for text in _texts(record, sidechain=sidechain):
        shown = text._replace(text=_ESCAPES.sub("", text.text)) if "\x1b" in text.text else text
        if shown.kind in _REMINDED and "<system-reminder>" in shown.text:
            rest, reminder = split_reminders(shown.text)
            if rest or shown.has_image or not reminder:
                yield shown._replace(text=rest)
            if reminder:
                # It has a place of its own, behind those of the line's blocks.
                content = getattr(getattr(record.body, "message", None), "content", None)
                width = len(content) if isinstance(content, list) else 1
                yield Text(width + text.number, "reminder", reminder)
        else:
            yield shown


def _texts(record: ParsedLine, *, sidechain: bool) -> Iterator[Text]:
    body = record.body
    kind = record.kind
    if kind == "assistant":
        message = body.message
        if message is not None and message.content:
            is_error = bool(body.is_api_error)
            if isinstance(message.content, str):
                yield Text(0, "reply", message.content, is_error=is_error)
            else:
                yield from _answered(message.content, is_error=is_error)
    elif kind == "user":
        message = body.message
        if message is not None and message.content:
            yield from _told(body, message.content, sidechain=sidechain)
    elif kind == "system":
        text = string(body.content)
        if text:
            if body.subtype == "local_command":
                yield Text(0, "command", command_of(text) or inner_text(text))
            else:
                yield Text(0, "note", text, is_error=body.subtype == "api_error")
    elif kind == "attachment":
        yield from _attached(body)
    elif kind == "summary":
        if body.summary:
            yield Text(0, "title", body.summary)
    elif isinstance(body, wire.Title):
        title = body.custom or body.agent or body.ai
        if title:
            yield Text(0, "title", title)


def _answered(content: list[wire.Block], *, is_error: bool) -> Iterator[Text]:
    for number, block in enumerate(content):
        text = block_text(block)
        if text is not None and (text.text or text.has_image or text.tool):
            yield text._replace(number=number, is_error=is_error or text.is_error)


def _told(body: wire.Entry, content: str | list[wire.Block], *, sidechain: bool) -> Iterator[Text]:
    """The texts of a user line: what a human, a tool or the client itself said."""
    if isinstance(content, str):
        yield _said(0, says(body, content, has_result=False, sidechain=sidechain), content, has_image=False)
        return
    meaning = ""
    has_text = False
    has_image = any(block.type == "image" for block in content)
    for number, block in enumerate(content):
        text = block_text(block)
        if text is None:
            continue
        if text.kind != "reply":
            if text.text or text.has_image or text.tool:
                yield text._replace(number=number)
            continue
        if text.text:
            meaning = meaning or _meaning(body, content, sidechain=sidechain)
            has_text = True
            yield _said(number, meaning, text.text, has_image=has_image)
    if has_image and not has_text:
        number = next(number for number, block in enumerate(content) if block.type == "image")
        yield _said(number, _meaning(body, content, sidechain=sidechain), "", has_image=True)


def _meaning(body: wire.Entry, content: list[wire.Block], *, sidechain: bool) -> str:
    has_result = any(block.type == "tool_result" for block in content)
    return says(body, user_text(content), has_result=has_result, sidechain=sidechain)


def _said(number: int, meaning: str, text: str, *, has_image: bool) -> Text:
    """A user line's text as it is shown: commands as they were typed, outputs without their tags."""
    if meaning in _COMMANDS:
        return Text(number, "command", command_of(text) or text, has_image=has_image)
    if meaning in _OUTPUTS:
        return Text(number, "command", inner_text(text), has_image=has_image)
    return Text(number, "prompt" if meaning == "prompt" else "note", text, has_image=has_image)


def _attached(body: wire.Entry) -> Iterator[Text]:
    attachment = attachment_of(body)
    if attachment is None:
        return
    if attachment.type == "queued_command":
        text = prompt_text(attachment.prompt)
        if text:
            yield _said(0, queued_says(attachment, text), text, has_image=False)
    elif attachment.type in _SHOWN_ATTACHMENTS:
        text = without_base64(input_text(body.attachment))
        if text:
            yield Text(0, "note", text)


def block_text(block: wire.Block) -> Text | None:
    """A block's text, whoever's line it stands in; None for a block without one."""
    kind = block.type
    if kind == "text":
        return Text(0, "reply", string(block.text))
    if kind == "thinking":
        return Text(0, "thinking", string(block.thinking))
    if kind in _CALL_BLOCKS:
        return Text(0, "call", without_base64(input_text(block.input)), tool=(block.name or "")[:NAME_LENGTH])
    if kind == "tool_result" or (kind is not None and kind.endswith("_tool_result")):
        text, has_image = result_parts(block.content)
        return Text(0, "result", without_base64(text), is_error=bool(block.is_error), has_image=has_image)
    return None
