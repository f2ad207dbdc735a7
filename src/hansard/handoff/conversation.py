"""A session in plain words for another client: prompts, replies and one line for each tool call, without secrets.

Everything is untrusted text: secrets, invisible characters and markup that a client takes for its own are removed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from hansard.clients.protocol import Said
from hansard.errors import NotFound
from hansard.guard.passages import cut_to_tokens, estimate_tokens, safe_text
from hansard.model.display import Checklist, Code, Console, Diff, Plain, Prose
from hansard.render.format import many
from hansard.thread.tool_views import USER

if TYPE_CHECKING:
    from hansard.model.display import Item
    from hansard.model.sessions import Session
    from hansard.thread.thread import Thread

_LONGEST = 200_000  # characters of a message that are looked at
LINE = 240  # characters of something that has one line
_SUBJECT = 160
_SHARE = 4  # no message takes more than this part of the budget


class Step(NamedTuple):
    """Something said or done on the branch that the session continued."""

    kind: str  # prompt, reply, call, summary
    text: str
    turn: int
    offset: int
    at: datetime | None
    item: Item


def read_steps(thread: Thread) -> Iterator[Step]:
    """The steps of a session in order."""
    turn = 0
    for item in thread.items(thread.entries()):
        if item.branch:
            continue
        if item.kind in USER:
            turn += 1
        kind = (
            "prompt" if item.kind in USER else {"tool": "call", "reply": "reply", "summary": "summary"}.get(item.kind)
        )
        if kind is None:
            continue
        text = call_line(item) if kind == "call" else safe_text(words(item)[:_LONGEST])
        # Commands without arguments (/clear, /compact) are about the client, not about the work.
        if text.strip() and not (item.kind == "command" and len(text.split()) == 1):
            yield Step(kind, clean(text), turn, item.offset, item.at, item)


def words(item: Item, *, results: bool = False) -> str:
    """The text of an item, or of its results."""
    shown = item.results if results else item.parts
    texts = [part.text for part in shown if isinstance(part, (Prose, Plain, Code, Console, Diff))]
    texts += [text for part in shown if isinstance(part, Checklist) for _, text in part.items]
    return "\n\n".join(texts)


def on_one_line(text: str, longest: int = LINE) -> str:
    """A text on one line, cut if it is too long."""
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def call_line(item: Item) -> str:
    """A tool call on one line: what was called, about what, and whether it failed."""
    subject = on_one_line(safe_text(item.subject[:2_000]), _SUBJECT)
    outcome = f" ({item.facts.outcome or 'failed'})" if item.is_error or item.facts.outcome else ""
    return f"{safe_text(item.title)} {subject}".strip() + outcome


def clean(text: str) -> str:
    """A text that any JSON writer takes."""
    return text.encode("utf-8", "replace").decode()


def title_of(session: Session) -> str:
    return clean(" ".join(safe_text(session.title).split()))


def compose_messages(session: Session, steps: Iterable[Step], tokens: int) -> tuple[list[Said], int]:
    """The conversation within a budget, and how many messages were left out: the first prompt and the newest messages stay."""
    start = session.started_at or datetime(1970, 1, 1, tzinfo=UTC)
    room = tokens
    first: Said | None = None
    newest: deque[tuple[Said, int]] = deque()
    left_out = 0
    for said in _merged(steps, start):
        text = cut_to_tokens(said.text, tokens // _SHARE)
        if text != said.text:
            text += "\n[… cut]"
        message, size = Said(said.role, text, said.at), estimate_tokens(text)
        if first is None:
            first = message
            room -= size
            continue
        newest.append((message, size))
        room -= size
        while room < 0 and newest:
            _, size = newest.popleft()
            room += size
            left_out += 1
    if first is None:
        raise NotFound(f"nothing was said in session {session.session_id}")
    opening = Said("note", _opening(session, left_out), start)
    return [opening, first, *(message for message, _ in newest)], left_out


def _merged(steps: Iterable[Step], start: datetime) -> Iterator[Said]:
    """Messages: a prompt, or everything that the model said and did up to the next one."""
    texts: list[str] = []
    calls: list[str] = []
    at = start

    def flush() -> None:
        if calls:
            texts.append("(Tool calls: " + "; ".join(calls) + ")")
            calls.clear()

    for step in steps:
        at = step.at or at
        if step.kind == "call":
            calls.append(step.text)
            continue
        flush()
        if step.kind == "reply":
            texts.append(step.text)
            continue
        if texts:
            yield Said("assistant", "\n\n".join(texts), at)
            texts.clear()
        yield Said("user", step.text, at)
    flush()
    if texts:
        yield Said("assistant", "\n\n".join(texts), at)


def _opening(session: Session, left_out: int) -> str:
    gap = (
        f" {many(left_out, 'message after the first prompt is', 'messages after the first prompt are')} left out."
        if left_out
        else ""
    )
    return (
        f"This conversation began in {session.client}, session {session.session_id}; `hansard handoff` continues it here."
        f" Tool calls are named, without their results: read files again before you change them.{gap}"
        f" `hansard show {session.session_id}` shows everything."
    )
