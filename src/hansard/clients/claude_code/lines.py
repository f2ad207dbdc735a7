"""What a line of a transcript or of the prompt history is, apart from what it says."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct

from hansard.clients.blanking import blank, kept, objects_naming
from hansard.model.erasing import MARKER

_BLOCK = "message.content[]."
KEPT = kept(
    *(
        "type",
        "subtype",
        "uuid",
        "parentUuid",
        "logicalParentUuid",
        "sessionId",
        "session_id",
        "leafUuid",
        "messageId",
    ),
    *("timestamp", "agentId", "requestId", "requestSessionId", "promptId", "version", "userType", "entrypoint"),
    *("cwd", "gitBranch", "operation", "level", "toolUseID", "parentToolUseID", "sourceToolAssistantUUID"),
    *("forkedFrom.sessionId", "forkedFrom.messageUuid", "attachment.type", "data.type", "data.agentId"),
    *(
        "compactMetadata.trigger",
        "compactMetadata.preTokens",
        "compactMetadata.postTokens",
        "durationMs",
        "costUSD",
    ),
    *("origin.kind", "promptSource", "permissionMode", "toolUseResult.agentId", "toolUseResult.type"),
    *("message.id", "message.type", "message.role", "message.model", "message.stop_reason", "message.usage*"),
    *(f"{_BLOCK}type", f"{_BLOCK}id", f"{_BLOCK}tool_use_id", f"{_BLOCK}name"),
    *(f"{_BLOCK}content[].type", f"{_BLOCK}source.type", f"{_BLOCK}source.media_type"),
    objects=("", "message", "message.content[]", "message.content[].content[]", "message.content[].source"),
)
"""The values that give a line its place in the tree, its kind and its share of the usage."""


_CHECKED = (b'"thinking"', b'"redacted_thinking"', b'"image"', b'"document"')


class _Names(Struct, gc=False):
    session_id: Any = msgspec.field(default=None, name="sessionId")
    uuid: Any = None
    forked_from: Any = msgspec.field(default=None, name="forkedFrom")


class _Thought(Struct, gc=False):
    thinking: str = ""


_OF_SESSION = frozenset({"sessionId", "session_id", "forkedFrom"})
_SAYING_NOTHING = frozenset(
    {"type", "subtype", "operation", "mode", "permissionMode", "timestamp", "cwd", "gitBranch", "version"}
)
_decode_all = msgspec.json.Decoder(dict[str, Any]).decode
_decode = msgspec.json.Decoder(_Names).decode
_keys = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_thought = msgspec.json.Decoder(_Thought).decode


def line_names(line: bytes) -> tuple[list[str], str]:
    """The sessions that a line names as its own or as that of its original, and its uuid."""
    try:
        names = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return [], ""
    origin = names.forked_from if isinstance(names.forked_from, dict) else {}
    stated = (names.session_id, origin.get("sessionId"))
    return [session for session in stated if isinstance(session, str)], names.uuid if isinstance(
        names.uuid, str
    ) else ""


def line_content(line: bytes) -> tuple[str, bytes]:
    """The leafUuid of a line, and its JSON without what a copy of its session has otherwise; empty if no more than its kind is left."""
    try:
        said = _decode_all(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "", b""
    about = said.get("leafUuid")
    content = {key: value for key, value in said.items() if key not in _OF_SESSION}
    if content.keys() <= _SAYING_NOTHING:
        content = {}
    return about if isinstance(about, str) else "", msgspec.json.encode(content, order="sorted") if content else b""


def blank_line(line: bytes) -> bytes:
    """A record of the conversation keeps its place; anything else, as an entry of the prompt history or a title, becomes an empty line."""
    body = line.rstrip(b"\r\n")
    if line_names(line)[1] or body[:1] != b"{":
        return usable_line(body, blank(body, KEPT)) + line[len(body) :]
    return b" " * len(body) + line[len(body) :]


def usable_line(line: bytes, changed: bytes) -> bytes:
    """A line of the same length in which blocks that the API checks are plain text if they were changed.

    It refuses thoughts that do not fit their signatures, and pictures that are none; then the session could not be resumed.
    """
    if line == changed or not any(name in line for name in _CHECKED):
        return changed
    try:
        message = bytes(_keys(line)["message"])
    except (KeyError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return changed
    result = bytearray(changed)
    first = line.find(message)
    for kind, start, end in objects_naming(message, b'"type"'):
        was, now = message[start:end], changed[first + start : first + end]
        if was == now or b'"%b"' % kind.encode() not in _CHECKED or (kind == "document" and b'"base64"' not in was):
            continue
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            text = _decode_thought(now).thinking.strip() or MARKER.decode()
            said = msgspec.json.encode({"type": "text", "text": text})
            if len(said) <= len(now):  # what the API checks is longer than anything that is added
                result[first + start : first + end] = said.ljust(len(now))
    return bytes(result)
