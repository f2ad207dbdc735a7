"""Sessions and trees made by hand, for what no client would write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, cast

from msgspec.structs import replace

from hansard.clients.claude_code.tools import tool_kind
from hansard.model.display import CallFacts, DisplayThread, Item, Part, Plain, Turn
from hansard.model.ledger import Tokens
from hansard.model.sessions import Session
from hansard.thread.thread import Thread

START = datetime(2026, 5, 1, 10, tzinfo=UTC)


def session(**values: Any) -> Session:
    """A session of which only what is given is told."""
    empty: dict[str, Any] = {"str": "", "int": 0, "bool": False}
    made: dict[str, Any] = {
        name: empty.get(kind, () if kind.startswith("tuple") else None)
        for name, kind in Session.__annotations__.items()
    }
    made |= {"session_id": "5e551011", "project": "/src/tide", "title": "High water", "source_state": "live"}
    return Session(**{**made, **values})


def item(anchor: str = "0", kind: str = "reply", *parts: Part, **values: Any) -> Item:
    """An item that says nothing but what is given."""
    made = Item(
        anchor=anchor,
        kind=kind,
        who="client",
        at=START,
        title="",
        subject="",
        facts=CallFacts(),
        parts=parts,
        results=(),
        is_error=False,
        branch=0,
        forks=(),
        model=None,
        queued=False,
        uuid=None,
        transcript="x.jsonl",
        offset=0,
        length=1,
    )
    made = replace(made, **values)
    return replace(made, facts=replace(made.facts, kind=tool_kind(made.title)))


def turn(number: int, *items: Item) -> Turn:
    """A turn of a minute."""
    at = START + timedelta(minutes=number)
    return Turn(number, items, at, at + timedelta(minutes=1), 1, Tokens(1, 2, 3, 4), Decimal("0.012"))


class _Other:
    def __init__(self, thread: DisplayThread) -> None:
        self._thread = thread

    def whole(self) -> DisplayThread:
        return self._thread


class _Thread:
    def __init__(
        self, about: Session, turns: Iterable[Turn] | None, others: Iterable[DisplayThread], not_shown: dict[str, int]
    ) -> None:
        self.session = about
        self.has_log = turns is not None
        self._turns = turns or ()
        self._others = others
        self.not_shown = not_shown
        self.redact = None

    def turns(self) -> Iterator[Turn]:
        yield from self._turns

    def others(self) -> Iterator[_Other]:
        yield from map(_Other, self._others)


def tree(
    turns: Iterable[Turn] | None = (),
    *,
    others: Iterable[DisplayThread] = (),
    not_shown: dict[str, int] | None = None,
    **values: Any,
) -> Thread:
    """A thread of these turns."""
    return cast("Thread", _Thread(session(**values), turns, others, not_shown or {}))


def long_turns(turns: int, items: int) -> Iterator[Turn]:
    """Many turns, each with a prompt and so many items in all, made when they are asked for."""
    for number in range(1, turns + 1):
        said = [item(f"{number}000", "prompt", Plain(f"Question {number}: when is high water?"))]
        for place in range(1, items):
            kind = "tool" if place % 3 else "reply"
            said.append(
                item(
                    f"{number}{place:03}",
                    kind,
                    Plain(f"Water {number}.{place} stands at the gauge.\n" * 3),
                    title="Bash" if kind == "tool" else "",
                    subject=f"gauge --read {number}.{place}",
                    facts=CallFacts(duration_ms=12),
                )
            )
        yield turn(number, *said)
