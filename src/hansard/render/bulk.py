"""A session as requests for the `_bulk` interface of Elasticsearch and OpenSearch: for each text a line that names the document, and the document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from hansard.model.display import Checklist, Facts, Picture
from hansard.model.serialize import json_bytes

if TYPE_CHECKING:
    from hansard.model.display import DisplayThread, Item, Part, Turn
    from hansard.model.sessions import Session
    from hansard.thread.thread import Thread

NOT_INCLUDED = (
    "pictures",
    "records that are not shown to a reader",
    "figures: tokens, cost, durations",
    "recorded diffs beside what the call says",
    "notes and pins",
)
_LONGEST = 1 << 20  # characters of a document's text: a longer one is several documents
_KEYWORD = {"type": "keyword", "ignore_above": 1024}
_TEXT = {"type": "text", "index_options": "offsets"}
MAPPING: dict[str, Any] = {
    "mappings": {
        "dynamic": "strict",
        "properties": {
            **dict.fromkeys(("session_id", "project", "client", "branch", "agent_id", "kind", "tool"), _KEYWORD),
            "title": {"type": "text", "fields": {"raw": _KEYWORD}},
            "at": {"type": "date"},
            "turn": {"type": "integer"},
            "is_error": {"type": "boolean"},
            "is_taken_back": {"type": "boolean"},
            **dict.fromkeys(("model", "uuid", "transcript", "tags"), _KEYWORD),
            "offset": {"type": "long"},
            "part": {"type": "integer"},
            "subject": {"type": "text"},
            "text": _TEXT,
        },
    }
}
"""What the index must know of the documents' fields."""


def lines(thread: Thread) -> Iterator[bytes]:
    """The documents of one session, each with its action, on two lines; what subagents said follows the calls that made them."""
    session = thread.session
    yield from _documents(
        session, None, 0, "title", {"kind": "title", "at": session.started_at}, session.title, offset=0
    )
    yield from _turns(session, None, thread.turns())
    for other in thread.others():
        yield from _turns(session, other.agent.agent_id if other.agent is not None else None, other.turns())


def _turns(session: Session, agent_id: str | None, turns: Iterable[Turn]) -> Iterator[bytes]:
    for turn in turns:
        for item in turn.items:
            yield from _item(session, agent_id, turn.number, item)
            if item.thread is not None:
                yield from _thread(session, item.thread)


def _thread(session: Session, thread: DisplayThread) -> Iterator[bytes]:
    yield from _turns(session, thread.agent.agent_id if thread.agent is not None else None, thread.turns)


def _item(session: Session, agent_id: str | None, turn: int, item: Item) -> Iterator[bytes]:
    is_tool = item.kind == "tool"
    values = {
        "at": item.at,
        "tool": item.title if is_tool else "",
        "is_taken_back": item.branch > 0,
        "model": item.model,
        "uuid": item.uuid,
        "transcript": item.transcript,
        "subject": item.subject,
    }
    said = values | {"kind": "call" if is_tool else item.kind, "is_error": item.is_error and not is_tool}
    yield from _documents(session, agent_id, turn, item.anchor, said, _text(item.parts), offset=item.offset)
    results = _text(item.results)
    if results:
        returned = values | {"kind": "result", "is_error": item.is_error}
        yield from _documents(session, agent_id, turn, f"{item.anchor} result", returned, results, offset=item.offset)


def _documents(
    session: Session, agent_id: str | None, turn: int, anchor: str, values: dict[str, Any], text: str, *, offset: int
) -> Iterator[bytes]:
    """A text as a document, or as several with a part of it each."""
    for part, start in enumerate(range(0, len(text) or 1, _LONGEST)):
        # Depends on where the text is, not on what it is: a second load replaces the documents of the first.
        place = "\0".join((session.session_id, agent_id or "", anchor, str(part)))
        name = blake2b(place.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        document = {
            "session_id": session.session_id,
            "project": session.project,
            "title": session.title,
            "client": session.client,
            "branch": session.branch,
            "tags": session.tags,
            "agent_id": agent_id,
            "turn": turn,
            "tool": "",
            "is_error": False,
            "is_taken_back": False,
            "model": None,
            "uuid": None,
            "transcript": "",
            "subject": "",
            "offset": offset,
            "part": part,
            **values,
            "text": text[start : start + _LONGEST],
        }
        yield json_bytes({"index": {"_id": name}}) + b"\n" + json_bytes(document) + b"\n"


def _text(parts: Iterable[Part]) -> str:
    """What parts say, as plain text."""
    return "\n".join(filter(None, map(_part, parts)))


def _part(part: Part) -> str:
    if isinstance(part, Picture):
        return ""
    if isinstance(part, Facts):
        return "\n".join(f"{name}: {value}" for name, value in part.pairs)
    if isinstance(part, Checklist):
        return "\n".join(f"[{state}] {text}" for state, text in part.items)
    return part.text
