"""Conversations of Claude.ai's export: a list of messages, which may name the message that each answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hansard.clients.generic import CALL, RESULT, TEXT, THINKING, Block, Record
from hansard.clients.imported import ImportedClient, json_objects
from hansard.clients.tools import json_of
from hansard.clients.values import decode_object, milliseconds, string, tables, unknown_kinds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hansard.model.tools import ToolKind


_PARTS = frozenset("text thinking tool_use tool_result token_budget voice_note image flag".split())


class Memory(Struct, gc=False, omit_defaults=True):
    """The message before the next one."""

    last: str = ""


class ClaudeAi(ImportedClient):
    """Reads `conversations.json` of an export."""

    name = "claude-ai"
    speaker = "Claude"
    update_field = "updated_at"
    list_name = b"chat_messages"
    memory = Memory
    known_kinds = frozenset({"conversation"})
    tools: Mapping[str, ToolKind] = {"web_search": "web_search", "web_fetch": "fetch", "repl": "shell"}

    def parts(self, name: str, data: bytes) -> Iterator[tuple[str, bytes]]:  # noqa: ARG002
        """Each object with messages."""
        for piece, given in json_objects(data):
            if isinstance(given.get("chat_messages"), list) and string(given, "uuid"):
                yield string(given, "uuid"), piece

    def decode_next(self, line: bytes, memory: Memory) -> Iterator[Record]:
        """One message, or what is around them."""
        text = line.strip(b", \t\r\n")
        if text.startswith(b"]") or text.endswith(b"["):
            given = decode_object(b'{"":[' + text if text.startswith(b"]") else text + b"]}")
            ts = milliseconds(given.get("created_at")) or milliseconds(given.get("updated_at"))
            yield Record("conversation", ts=ts, title=string(given, "name"))
            return
        yield _message(decode_object(text), memory)


def _message(message: dict[str, Any], memory: Memory) -> Record:
    is_human = string(message, "sender") == "human"
    record = Record(
        "user" if is_human else "assistant",
        ts=milliseconds(message.get("created_at")),
        uuid=string(message, "uuid"),
        parent_uuid=string(message, "parent_message_uuid") or memory.last,
    )
    record.blocks = [
        block for number, part in enumerate(tables(message, "content")) for block in _block(part, record, number)
    ]
    record.unknown = unknown_kinds(tables(message, "content"), _PARTS)
    if not any(block.kind == TEXT for block in record.blocks) and (text := string(message, "text")):
        record.blocks.append(Block(TEXT, text))  # old exports have no content
    for file in tables(message, "attachments"):
        if text := string(file, "extracted_content"):
            record.blocks.append(Block(TEXT, f"[{string(file, 'file_name') or 'attachment'}]\n{text}"))
    if is_human:
        record.role = "prompt"
    memory.last = record.uuid or memory.last
    return record


def _block(part: dict[str, Any], record: Record, number: int) -> Iterator[Block]:
    match string(part, "type"):
        case "text" if text := string(part, "text"):
            yield Block(TEXT, text)
        case "thinking" if text := string(part, "thinking"):
            yield Block(THINKING, text)
        case "tool_use":
            key = string(part, "id") or f"{record.uuid}-{number}"
            yield Block(CALL, call_id=key, tool=string(part, "name"), input=part.get("input"))
        case "tool_result":
            key = string(part, "tool_use_id") or f"{record.uuid}-{number - 1}"
            content = part.get("content")
            texts = [string(item, "text") for item in tables(part, "content")] if isinstance(content, list) else []
            shown = "\n".join(filter(None, texts)) or (content if isinstance(content, str) else json_of(content))
            yield Block(RESULT, shown, call_id=key, is_error=part.get("is_error") is True)
