"""The texts of a transcript that are worth finding: what is indexed is what is shown.

Base64, signatures, twins of tool results and snapshots of prompts are not among them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hansard.clients.claude_code import wire
from hansard.clients.claude_code.decode import decode, is_progress, items
from hansard.clients.claude_code.meaning import (
    attachment_of,
    command_of,
    inner_text,
    input_text,
    prompt_text,
    queue_step,
    queued_says,
    result_parts,
    role,
    split_reminders,
    string,
    unwrapped,
    user_text,
)
from hansard.clients.lines import ParsedLine, unfinished
from hansard.clients.protocol import LateTool
from hansard.clients.state import MAX_EARLY_RESULTS, MAX_OPEN_CALLS, NAME_LENGTH, digest
from hansard.clients.texts import RecordTexts, Text, without_base64
from hansard.lazy_regex import lazy_compile

if TYPE_CHECKING:
    from collections.abc import Sequence

_COMMANDS = frozenset({"command", "bash"})
_REMINDED = frozenset({"prompt", "result", "note", "command"})
_OUTPUTS = frozenset({"command_output", "bash_output"})
_CALL_BLOCKS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
# Attachments that carry text a reader sees; the others are reminders, listings and snapshots of prompts.
_SHOWN_ATTACHMENTS = frozenset(
    {"file", "edited_text_file", "hook_additional_context", "hook_system_message", "hook_success"}
)


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
        self.late_tools: Sequence[LateTool] = ()

    def kept(self) -> bytes:
        """What the next fold of this transcript goes on from."""
        return _encode(self._kept)

    def take(self, line: bytes, offset: int) -> list[RecordTexts] | None:
        """The texts of the next line, None where it has no record."""
        if is_progress(line) and (self._is_agent or b'"agent_progress"' not in line):
            return []  # half of the lines of some clients, and nothing to find there
        record = decode(line, offset)
        if record is not None:
            return [self._of(record)]
        return [self._of(item) for item in items(line, offset) if type(item) is ParsedLine] or None

    def take_rest(self, rest: bytes, offset: int) -> list[RecordTexts]:
        return [self._of(item) for item in unfinished(rest, offset, items) if type(item) is ParsedLine]

    def _of(self, record: ParsedLine) -> RecordTexts:
        record = record if self._is_agent else unwrapped(record)
        return RecordTexts(record.offset, self.is_aside(record), self.texts(record))

    def is_aside(self, record: ParsedLine) -> bool:
        body = record.body
        return self._is_agent or bool(getattr(body, "is_sidechain", None) or getattr(body, "stream_parent_tool", None))

    def texts(self, record: ParsedLine) -> list[Text]:
        body = record.body
        kept = self._kept
        if record.kind == "queue-operation":
            prompt = queue_step(kept.queue, body, kept.version) if isinstance(body, wire.QueueOperation) else None
            return [Text(0, "prompt", prompt)] if prompt else []
        version = getattr(body, "version", None)
        if version:
            kept.version = version[:NAME_LENGTH]
        found = texts(record, sidechain=self.is_aside(record))
        for place, (number, kind, text, tool, is_error, has_image) in enumerate(found):
            if kind == "result":
                call_id = (body.message.content[number].tool_use_id or "")[:NAME_LENGTH]
                called = kept.calls.pop(call_id, "")
                if called:
                    found[place] = Text(number, kind, text, called, is_error, has_image)
                elif call_id and len(kept.early_results) < MAX_EARLY_RESULTS:
                    kept.early_results[call_id] = (record.offset, record.length, number)
            elif kind == "call":
                call_id = (body.message.content[number].id or "")[:NAME_LENGTH]
                early = kept.early_results.pop(call_id, None)
                if early is not None:
                    self.late_tools = [*self.late_tools, LateTool(*early, tool)]
                elif call_id and len(kept.calls) < MAX_OPEN_CALLS:
                    kept.calls[call_id] = tool
            elif kind == "title" and not self._is_new(record.kind, text):
                return []
        return found

    def _is_new(self, kind: str, title: str) -> bool:
        if kind == "summary":
            return True
        mark = digest(title)
        if self._kept.titles.get(kind) == mark:
            return False
        self._kept.titles[kind] = mark
        return True


# Escape sequences that colour a program's output: invisible, but they would become part of the words beside them.
_ESCAPES = lazy_compile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[ -/]*[0-Z\\\\^-~])")


def texts(record: ParsedLine, *, sidechain: bool) -> list[Text]:
    """The searchable texts of a record by itself, without escape sequences."""
    found = _texts(record, sidechain=sidechain)
    for text in found:
        if "\x1b" in text.text or (text.kind in _REMINDED and "<system-reminder>" in text.text):
            return _shown(record, found)
    return found


def _shown(record: ParsedLine, found: list[Text]) -> list[Text]:
    """The texts without escape sequences, and with what the client added for the model apart from them."""
    shown: list[Text] = []
    for text in found:
        said = _ESCAPES.sub("", text.text) if "\x1b" in text.text else text.text
        if text.kind not in _REMINDED or "<system-reminder>" not in said:
            shown.append(text._replace(text=said))
            continue
        rest, reminder = split_reminders(said)
        if rest or text.has_image or not reminder:
            shown.append(text._replace(text=rest))
        if reminder:
            # It has a place of its own, behind those of the line's blocks.
            content = getattr(getattr(record.body, "message", None), "content", None)
            width = len(content) if isinstance(content, list) else 1
            shown.append(Text(width + text.number, "reminder", reminder))
    return shown


def _texts(record: ParsedLine, *, sidechain: bool) -> list[Text]:
    body = record.body
    kind = record.kind
    if kind in ("assistant", "user"):
        content = body.message.content if body.message is not None else None
        if not content:
            return []
        if kind == "user":
            return _told(body, content, sidechain=sidechain)
        is_error = bool(body.is_api_error)
        if isinstance(content, str):
            return [Text(0, "reply", content, is_error=is_error)]
        found = (_block_text(block, number, is_error) for number, block in enumerate(content))
        return [text for text in found if text is not None]
    if kind == "system":
        said = string(body.content)
        if not said:
            return []
        if body.subtype == "local_command":
            return [Text(0, "command", command_of(said) or inner_text(said))]
        return [Text(0, "note", said, is_error=body.subtype == "api_error")]
    if kind == "attachment":
        return _attached(body)
    if kind == "summary":
        title = body.summary
    else:
        title = body.custom or body.agent or body.ai if isinstance(body, wire.Title) else None
    return [Text(0, "title", title)] if title else []


def _told(body: wire.Entry, content: str | list[wire.Block], *, sidechain: bool) -> list[Text]:
    """The texts of a user line: what a human, a tool or the client itself said."""
    if isinstance(content, str):
        return [_said(0, role(body, content, has_result=False, sidechain=sidechain), content, has_image=False)]
    found: list[Text] = []
    meaning = ""
    has_image = any(block.type == "image" for block in content)
    for number, block in enumerate(content):
        text = _block_text(block, number, is_error=False)
        if text is None:
            continue
        if text.kind == "reply":
            meaning = meaning or _meaning(body, content, sidechain=sidechain)
            text = _said(number, meaning, text.text, has_image=has_image)
        found.append(text)
    if has_image and not meaning:
        number = next(number for number, block in enumerate(content) if block.type == "image")
        found.append(_said(number, _meaning(body, content, sidechain=sidechain), "", has_image=True))
    return found


def _meaning(body: wire.Entry, content: list[wire.Block], *, sidechain: bool) -> str:
    has_result = any(block.type == "tool_result" for block in content)
    return role(body, user_text(content), has_result=has_result, sidechain=sidechain)


def _said(number: int, meaning: str, text: str, *, has_image: bool) -> Text:
    """A user line's text as it is shown: commands as they were typed, outputs without their tags."""
    if meaning in _COMMANDS:
        return Text(number, "command", command_of(text) or text, has_image=has_image)
    if meaning in _OUTPUTS:
        return Text(number, "command", inner_text(text), has_image=has_image)
    return Text(number, "prompt" if meaning == "prompt" else "note", text, has_image=has_image)


def _attached(body: wire.Entry) -> list[Text]:
    attachment = attachment_of(body)
    if attachment is None:
        return []
    if attachment.type == "queued_command":
        text = prompt_text(attachment.prompt)
        return [_said(0, queued_says(attachment, text), text, has_image=False)] if text else []
    if attachment.type in _SHOWN_ATTACHMENTS:
        text = without_base64(input_text(body.attachment))
        return [Text(0, "note", text)] if text else []
    return []


def _block_text(block: wire.Block, number: int, is_error: bool) -> Text | None:
    """A block's text, in a line of any role; None if there is nothing to find."""
    kind = block.type
    if kind == "tool_result" or (kind is not None and kind.endswith("_tool_result")):
        text, has_image = result_parts(block.content)
        if not text and not has_image:
            return None
        return Text(number, "result", without_base64(text), "", is_error or bool(block.is_error), has_image)
    if kind in _CALL_BLOCKS:
        text = without_base64(input_text(block.input))
        tool = (block.name or "")[:NAME_LENGTH]
        return Text(number, "call", text, tool, is_error) if text or tool else None
    if kind == "text":
        text = string(block.text)
        return Text(number, "reply", text, "", is_error) if text else None
    if kind == "thinking":
        text = string(block.thinking)
        return Text(number, "thinking", text, "", is_error) if text else None
    return None


def line_texts(line: bytes, offset: int, *, is_aside: bool) -> list[RecordTexts]:
    found = []
    for item in items(line, offset):
        if type(item) is ParsedLine:
            record = unwrapped(item)
            aside = TextFold(is_agent=is_aside).is_aside(record)
            found.append(RecordTexts(item.offset, aside, texts(record, sidechain=aside)))
    return found
