"""A compaction in a copy: where it may be, and the records that the client takes for one of its own."""

from __future__ import annotations

from collections import deque
from typing import Any

import msgspec
from msgspec import Raw

BOUNDARY = "compact_boundary"
_PROMPTS, _PROMPT = 50, 300  # prompts that a summary lists, and characters of each
_any = msgspec.json.Decoder().decode


class Summary:
    """Finds the places for a compaction, and lists the prompts before it."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._first = ""
        self._prompts: deque[str] = deque(maxlen=_PROMPTS)
        self._open: set[str] = set()  # calls without a result so far
        self._message: Any = None  # the id of the answer that is being read

    def take(self, kind: str, keys: dict[str, Raw], offset: int, *, is_listed: bool) -> bool:
        """Take a record; whether a conversation may begin with it: no call is open, and it begins a prompt or an answer."""
        message: Any = _any(keys["message"])
        message = message if isinstance(message, dict) else {}
        content = message.get("content")
        blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
        if kind == "assistant":
            is_place = not self._open and message.get("id") != self._message
            self._message = message.get("id")
            self._open.update(str(block.get("id")) for block in blocks if block.get("type") == "tool_use")
            return is_place
        results = [str(block.get("tool_use_id")) for block in blocks if block.get("type") == "tool_result"]
        self._open.difference_update(results)
        texts = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
        text = content if isinstance(content, str) else " ".join(texts)
        is_prompt = kind == "user" and text and not results and not text.startswith("<")
        if not is_prompt or any(bytes(keys.get(name, b"")) == b"true" for name in ("isMeta", "isCompactSummary")):
            return False
        self._open.clear()  # of an interrupted turn
        line = f"- {' '.join(text[:_PROMPT].split())} [@{offset}]"
        if is_listed and self._first:
            self._prompts.append(line)
        elif is_listed:
            self._first = line
        return True

    def text(self) -> str:
        opening = (
            f"This session is a slim copy of session {self._session_id}, which became too large. Its beginning is left out of"
            f" the context; `hansard show {self._session_id[:8]} --at N` shows the place [@N]. The prompts before this point:"
        )
        gap = ["- ..."] if len(self._prompts) == _PROMPTS else []
        return "\n".join([opening, self._first or "(none)", *gap, *self._prompts])


def compaction_records(
    common: dict[str, Raw], boundary: str, told: str, parent: str | None, tokens: int, text: str
) -> list[dict[str, Any]]:
    """The boundary and the summary behind it, with these uuids."""
    return [
        {
            "parentUuid": None,
            "logicalParentUuid": parent,
            "isSidechain": False,
            **common,
            "type": "system",
            "subtype": BOUNDARY,
            "content": "Conversation compacted",
            "isMeta": False,
            "level": "info",
            "compactMetadata": {"trigger": "manual", "preTokens": tokens},
            "uuid": boundary,
        },
        {
            "parentUuid": boundary,
            "isSidechain": False,
            **common,
            "type": "user",
            "message": {"role": "user", "content": text},
            "isVisibleInTranscriptOnly": True,
            "isCompactSummary": True,
            "uuid": told,
        },
    ]
