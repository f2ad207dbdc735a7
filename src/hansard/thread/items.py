"""What an entry of a thread becomes on the display: its parts, its pictures, and the facts about a call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.model.display import CallFacts, Code, Console, Part, Picture, Plain, Prose
from hansard.parse import meaning as m

if TYPE_CHECKING:
    from hansard.model.threads import Entry, ToolCall

USER = frozenset({"prompt", "command", "bash"})
ASSISTANT = frozenset({"reply", "thinking", "tool"})
_OPEN, _CLOSE = "<summary>", "</summary>"
_NOTICE = 20_000  # characters
_any = msgspec.json.Decoder().decode


def said(entry: Entry) -> tuple[Part, ...]:
    """What was said, as parts."""
    text = entry.text
    if not text:
        return ()
    if entry.kind in ("reply", "thinking", "summary"):
        return (Prose(text),)
    if entry.kind == "bash":
        return (Code(text, "bash"),)
    if entry.kind == "output":
        return (Console(text),)
    return (Plain(notice(text) if entry.kind == "notification" else text),)


def notice(text: str) -> str:
    """What a task's notification says, without the tags around it."""
    start = text.find(_OPEN, 0, _NOTICE)
    end = text.find(_CLOSE, start, _NOTICE)
    is_notice = 0 <= start < end and text.lstrip().startswith("<task-notification>")
    return text[start + len(_OPEN) : end].strip() if is_notice else text


def facts_of(call: ToolCall) -> CallFacts:
    """What is short to say about a call."""
    return CallFacts(
        change=(call.added, call.removed) if call.change is not None else None,
        duration_ms=call.duration_ms,
        outcome="failed" if call.is_error else "no result" if call.output is None else "",
        is_persisted=call.persisted,
    )


def pictures(pieces: Iterable[bytes], tool_use_id: str | None) -> tuple[Part, ...]:
    """The images and documents of the line that some bytes begin with, or of one result in it."""
    message = m.lenient(_any, msgspec.Raw(_first_line(pieces)))
    content = message.get("message", {}).get("content") if isinstance(message, dict) else None
    return tuple(_pictures_in(content, tool_use_id))


def _first_line(pieces: Iterable[bytes]) -> bytes:
    """The bytes before the first newline; no piece behind it is read."""
    parts: list[bytes] = []
    for piece in pieces:
        before, newline, _ = piece.partition(b"\n")
        parts.append(before)
        if newline:
            break
    return b"".join(parts)


def _pictures_in(content: Any, tool_use_id: str | None) -> Iterator[Picture]:
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict):
            continue
        if block.get("type") == "tool_result" and tool_use_id is not None and block.get("tool_use_id") == tool_use_id:
            yield from _pictures_in(block.get("content"), None)
        elif block.get("type") in ("image", "document") and tool_use_id is None:
            source = block.get("source")
            if isinstance(source, dict) and isinstance(source.get("data"), str):
                yield Picture(str(source.get("media_type", "")), source["data"])
