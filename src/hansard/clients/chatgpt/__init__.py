"""Conversations of ChatGPT's export: a tree of messages, in which edited prompts and second answers are branches."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

from hansard.clients.generic import CALL, RESULT, TEXT, THINKING, Block, Record
from hansard.clients.imported import ImportedClient, json_objects
from hansard.clients.lines import Lines, LongLine, joined
from hansard.clients.objects import Objects
from hansard.clients.state import digest
from hansard.clients.tools import tools_by_kind
from hansard.clients.values import as_object, decode_object, milliseconds, string, table, tables, unknown_kinds
from hansard.lazy_regex import lazy_compile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hansard.model.tools import ToolKind

_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_MAPPING = lazy_compile(
    rb'\s*+\{(?:\s*+(?!"mapping")%b\s*+:\s*+(?:%b|[-+.\w]++|\[[^\[\]{}]*+\])\s*+,)*+\s*+"mapping"\s*+:\s*+\{'
    % (_STRING, _STRING),
    re.DOTALL,
)
_KEY = lazy_compile(rb"[\s,]*+%b\s*+:\s*+" % _STRING, re.DOTALL)


class NodeLines(Lines):
    """What comes before the tree, each node with its key, and what comes after it."""

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        data, first = joined(self._pieces), self.offset
        if isinstance(data, LongLine):
            self.rest = data
            return
        end = 0
        if first == 0:
            head = _MAPPING.match(data)
            if head is None:
                self.rest = data
                return
            end = head.end()
            yield 0, data[:end]
        place = end
        for start, stop in Objects(data[place:], max_steps=sys.maxsize):
            if data[end : place + start].strip(b", \t\r\n") and not _KEY.fullmatch(data, end, place + start):
                break  # behind the tree
            end = place + stop
            yield first + place + start, data[place + start : end]
        tail = data[end:]
        if _KEY.fullmatch(tail):  # of the next node
            self.offset, self.rest = first + end, tail
            return
        if tail.strip():
            yield first + end, tail
        self.offset = first + len(data)

    def skip_equal(self, line: bytes) -> int:  # noqa: ARG002
        return 0


_CONTENTS = frozenset(
    "text multimodal_text code execution_output thoughts reasoning_recap user_editable_context model_editable_context tether_quote"
    " tether_browsing_display tether_browsing_code sonic_webpage system_error app_pairing_content computer_output super_widget".split()
)


class ChatGPT(ImportedClient):
    """Reads `conversations.json`, or its parts `conversations-000.json`, of an export."""

    name = "chatgpt"
    speaker = "ChatGPT"
    update_field = "update_time"
    known_kinds = frozenset({"conversation", "node"})
    tools: Mapping[str, ToolKind] = tools_by_kind(
        {
            "shell": "python",
            "web_search": "browser web web.run",
        }
    )

    def parts(self, name: str, data: bytes) -> Iterator[tuple[str, bytes]]:  # noqa: ARG002
        """Each object with a tree of messages."""
        for piece, given in json_objects(data):
            if isinstance(given.get("mapping"), dict):
                made = f"{given.get('create_time')}-{digest(string(given, 'title'))[:8]}"
                yield string(given, "conversation_id", "id") or made, piece

    def lines(self, pieces: Iterable[bytes], start: int) -> NodeLines:
        """Each node of the tree."""
        return NodeLines(pieces, start)

    def decode(self, line: bytes) -> Iterator[Record]:
        """One node, or what is around the tree."""
        text = line.strip(b", \t\r\n")
        if text.startswith(b"}"):
            yield _conversation(decode_object(b'{"":{' + text))
        elif text.endswith(b"{"):
            yield _conversation(decode_object(text + b"}}"))
        else:
            yield _node(decode_object(text))


def _conversation(given: dict[str, Any]) -> Record:
    ts = milliseconds(given.get("create_time")) or milliseconds(given.get("update_time"))
    return Record("conversation", ts=ts, title=string(given, "title"))


def _node(node: dict[str, Any]) -> Record:
    message = table(node, "message")
    role, content = string(table(message, "author"), "role"), table(message, "content")
    metadata = table(message, "metadata")
    record = Record("node", ts=milliseconds(message.get("create_time")), uuid=string(node, "id"))
    record.parent_uuid = string(node, "parent")
    kind, texts = string(content, "content_type"), _texts(content)
    is_hidden = metadata.get("is_visually_hidden_from_conversation") is True or kind == "user_editable_context"
    record.unknown = unknown_kinds([content], _CONTENTS, "content_type")
    if not texts or role == "system" or is_hidden:
        return record
    record.model = string(metadata, "model_slug")
    said = "\n\n".join(texts)
    recipient = string(message, "recipient") or "all"
    if role == "user":
        record.kind, record.role, record.blocks = "user", "prompt", [Block(TEXT, said)]
    elif role == "tool":
        record.kind, record.blocks = "user", [Block(RESULT, said, call_id=record.parent_uuid)]
    elif role == "assistant" and recipient != "all":
        record.kind = "assistant"
        record.blocks = [Block(CALL, call_id=record.uuid, tool=recipient, input=as_object(said))]
        record.blocks[0].command = said if recipient == "python" else None
    elif role == "assistant":
        record.kind = "assistant"
        record.blocks = [Block(THINKING if kind in ("thoughts", "reasoning_recap") else TEXT, said)]
    return record


def _texts(content: dict[str, Any]) -> list[str]:
    """The texts of a message; pictures and other files are only named by an export."""
    parts = content.get("parts")
    if isinstance(parts, list):
        return [
            text for part in parts if (text := part if isinstance(part, str) else string(part, "text", "asset_pointer"))
        ]
    thoughts = [string(item, "content", "summary") for item in tables(content, "thoughts")]
    found = [*thoughts, string(content, "text", "result", "content")]
    return [text for text in found if text]
