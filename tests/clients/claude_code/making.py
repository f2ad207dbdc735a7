"""Lines as clients write them, and what the parse room makes of bytes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hansard.clients.claude_code.decode import items
from hansard.clients.claude_code.fold import Fold
from hansard.clients.claude_code.texts import texts
from hansard.clients.lines import Issue, Lines, ParsedLine
from hansard.clients.state import State

if TYPE_CHECKING:
    from collections.abc import Iterable

SESSION = "0e6f1a2b-0000-4000-8000-000000000001"
TIME = "2026-03-04T05:06:07.891Z"
BLANK = b" \t\r\n"


def line(value: Any) -> bytes:
    """One line as a client writes it: compact, not escaped, without its newline."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def entry(kind: str, /, **fields: Any) -> dict[str, Any]:
    """A conversation record; a field given as None is null in it."""
    common = {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/u/p",
        "sessionId": SESSION,
        "version": "2.1.112",
        "gitBranch": "main",
        "type": kind,
        "uuid": f"uuid-of-{kind}",
        "timestamp": TIME,
    }
    return {**common, **fields}


def user(content: Any, /, **fields: Any) -> dict[str, Any]:
    return entry("user", **{"message": {"role": "user", "content": content}, **fields})


def assistant(*blocks: Any, usage: Any = None, **fields: Any) -> dict[str, Any]:
    message = {
        "model": fields.pop("model", "claude-opus-4-1"),
        "id": fields.pop("id", "msg_01abc"),
        "type": "message",
        "role": "assistant",
        "content": list(blocks),
        "stop_reason": fields.pop("stop_reason", "end_turn"),
        "usage": {"input_tokens": 3, "output_tokens": 5} if usage is None else usage,
    }
    return entry("assistant", **{"message": message, "requestId": "req_1", **fields})


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def tool_use(name: str, given: Any, identity: str = "toolu_1") -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": name, "input": given}


def tool_result(content: Any, identity: str = "toolu_1", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": identity, "content": content, **fields}


def read(data: bytes, offset: int = 0) -> list[ParsedLine | Issue]:
    """Everything in a log, in file order."""
    lines = Lines([data if data.endswith(b"\n") else data + b"\n"], offset)
    return [item for start, found in lines for item in items(found, start)]


def records(data: bytes, offset: int = 0) -> list[ParsedLine]:
    return [item for item in read(data, offset) if isinstance(item, ParsedLine)]


def issues(data: bytes, offset: int = 0) -> list[Issue]:
    return [item for item in read(data, offset) if isinstance(item, Issue)]


def only(data: bytes) -> ParsedLine:
    """The one record of a line, whatever issues it has."""
    (record,) = records(data)
    return record


def uncovered(data: bytes, found: Iterable[ParsedLine | Issue], offset: int = 0) -> bytes:
    """The bytes that are neither in a record nor in an issue nor white space."""
    left = []
    position = offset
    for start, end in sorted((item.offset, item.offset + item.length) for item in found):
        left.append(data[position - offset : max(position, start) - offset])
        position = max(position, end)
    assert position <= offset + len(data), "something reaches beyond the end"
    left.append(data[position - offset :])
    return b"".join(left).strip(BLANK).translate(None, BLANK)


def folding(state: State | None = None, *, is_agent: bool = False, base: int = 0, path: str = "p/a.jsonl") -> Fold:
    return Fold(
        base,
        path=path,
        session_id="",
        agent_id="a1" if is_agent else "",
        is_agent=is_agent,
        state=state or State(),
        seen_message=lambda _key: None,
    )


def fold(*values: Any, is_agent: bool = False, base: int = 0) -> Fold:
    """Fold a transcript of these records (or, given bytes, of these lines)."""
    folded = folding(is_agent=is_agent, base=base)
    for item in read(b"\n".join(value if isinstance(value, bytes) else line(value) for value in values)):
        folded.feed(item)
    return folded


def said(value: Any, *, sidechain: bool = False) -> list[tuple[int, str, str]]:
    """The searchable texts of the one record in a line."""
    found = texts(only(value if isinstance(value, bytes) else line(value)), sidechain=sidechain)
    return [(text.number, text.kind, text.text) for text in found]


def assert_storable(folded: Fold) -> None:
    """Every value in the rows must fit a database: 64 bits, and text that is valid Unicode."""
    rows = folded.rows
    tables: list[Iterable[Iterable[Any]]] = [
        rows.records,
        rows.blocks,
        rows.messages,
        rows.calls.values(),
        rows.call_results,
        rows.prompts,
        rows.compactions,
        rows.summaries,
        rows.sidechains,
        rows.issues.values(),
        rows.agent_refs,
        [[value for stated in rows.usage.values() for value in (stated.model, stated.input, stated.output, stated.ts)]],
    ]
    for table in tables:
        for row in table:
            for value in row:
                if isinstance(value, str):
                    value.encode()
                elif value is not None:
                    assert isinstance(value, int)
                    assert -(1 << 63) <= value < 1 << 63
