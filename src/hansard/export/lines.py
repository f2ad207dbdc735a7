"""A session as lines of JSON: one for each thing said or done, subagents' included, for jq and data frames."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from hansard.model import plain
from hansard.model.display import Item

if TYPE_CHECKING:
    from hansard.model.display import Turn
    from hansard.render.tree import Tree

_FIELDS = tuple(field.name for field in fields(Item) if field.name != "thread")


def lines(tree: Tree) -> Iterator[bytes]:
    """The lines of a session; what a subagent did follows the call that made it."""
    main = tree.main()
    if main is not None:
        yield from _thread(tree, None, main.turns())
    for other in tree.others():
        yield from _thread(tree, other.agent.agent_id if other.agent else None, other.turns())


def _thread(tree: Tree, agent_id: str | None, turns: Iterable[Turn]) -> Iterator[bytes]:
    for turn in turns:
        for item in turn.items:
            made = item.thread.agent.agent_id if item.thread is not None and item.thread.agent is not None else None
            yield _line(
                {
                    "session_id": tree.session.session_id,
                    "project": tree.session.project,
                    "agent_id": agent_id,
                    "turn": turn.number,
                    **{name: plain(getattr(item, name)) for name in _FIELDS},
                    "made_agent_id": made,
                }
            )
            if item.thread is not None:
                yield from _thread(tree, made, item.thread.turns)


def _line(value: dict[str, Any]) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:  # half a character is fine in JSON, as an escape
        return json.dumps(value).encode() + b"\n"
