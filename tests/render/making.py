"""Items and turns put together by hand."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from hansard.clients.claude_code.tools import tool_kind
from hansard.model.display import CallFacts, DisplayThread, Item, Part, Plain, Turn
from hansard.model.ledger import Tokens
from hansard.model.threads import Agent

NOON = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)


def item(kind: str = "reply", *parts: Part | str, **more: Any) -> Item:
    """An item; a text is a plain part."""
    values: dict[str, Any] = {
        "anchor": "0",
        "kind": kind,
        "who": "assistant",
        "at": NOON,
        "title": "",
        "subject": "",
        "facts": CallFacts(),
        "parts": tuple(Plain(part) if isinstance(part, str) else part for part in parts),
        "results": (),
        "is_error": False,
        "branch": 0,
        "forks": (),
        "model": None,
        "queued": False,
        "uuid": None,
        "transcript": "t.jsonl",
        "offset": 0,
        "length": 1,
    }
    made = Item(**(values | more))
    return replace(made, facts=replace(made.facts, kind=tool_kind(made.title)))


def turn(*items: Item, number: int = 1, cost: str | None = "0.42") -> Turn:
    """A turn of a minute."""
    tokens = Tokens(1000, 200, 40_000, 100, 0, 0)
    return Turn(number, items, NOON, NOON.replace(minute=1), 3, tokens, None if cost is None else Decimal(cost))


def agent(agent_id: str = "a497335b28b4899ad", **more: Any) -> Agent:
    """A subagent."""
    values: dict[str, Any] = {
        "agent_id": agent_id,
        "parent_agent": None,
        "depth": 1,
        "agent_type": "Explore",
        "description": "look for gulls",
        "tool_use_id": "toolu_1",
        "linked_by": "meta",
        "warmup": False,
        "started_at": NOON,
        "ended_at": NOON,
        "messages": 2,
        "tool_calls": 1,
    }
    return Agent(**(values | more))


def thread(*turns: Turn, name: str = "a497335b28b4899ad") -> DisplayThread:
    """A subagent's thread."""
    return DisplayThread(agent(name), turns, {"system/turn_duration": 2})
