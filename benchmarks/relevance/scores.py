"""How well search finds what is known to be there: hit@1, hit@10 and MRR over questions made from the history itself.

A hit answers a question when it is the very line the question was taken from, a copy of it, or another block that holds the
same passage word for word: nobody could tell them apart. A title's question asks for the session. A session answers when it is
the one the question was taken from, or when what it shows first holds the passage; of identifiers and paths any session that
has the name, spelled as in the source.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from benchmarks.relevance.known_items import CLASSES, NAMED, SESSIONS, TITLED, KnownItem, known_items
from hansard.clients.claude_code.decode import items
from hansard.clients.claude_code.texts import texts
from hansard.clients.lines import Lines, ParsedLine
from hansard.clients.texts import leaf_strings
from hansard.errors import UsageError
from hansard.model.search import Hit, SessionHits

if TYPE_CHECKING:
    from hansard.model.search import LineLocation
    from hansard.query.reader import Reader
    from hansard.record.store import Record

DEPTH = 10
_SHOWN = 160  # characters of a passage in a report


class Answer(Struct, frozen=True):
    """The first hits and the first sessions for a question."""

    hits: Sequence[Hit]
    sessions: Sequence[SessionHits]


Ask = Callable[[str], Answer]


class Score(Struct, frozen=True):
    """How one class of questions was answered; shares of 1, a mean of 1/rank."""

    kind: str
    queries: int
    hit_1: float
    hit_10: float
    mrr: float
    session_hit_1: float
    session_hit_10: float
    session_mrr: float


class Miss(Struct, frozen=True):
    """A question that no hit among the first answered, and what came first instead."""

    kind: str
    query: str
    passage: str
    session_id: str
    transcript: str
    offset: int
    session_rank: int | None
    first: str  # its snippet; empty when nothing was found


class Relevance(Struct, frozen=True):
    """The scores of all classes that the history has questions for."""

    seed: int
    sample: int
    sessions: int  # questions were drawn from so many at most
    classes: tuple[Score, ...]
    overall: Score
    misses: tuple[Miss, ...]


class Ranks(Struct, frozen=True):
    """Where the answer to one question stood among the hits and among the sessions; None: not among the first."""

    kind: str
    hit: int | None
    session: int | None


def measure(
    reader: Reader,
    record: Record,
    ask: Ask,
    *,
    sample: int,
    seed: int,
    misses: int = 0,
) -> Relevance:
    """Make questions, ask them, and score the answers."""
    questions = known_items(reader, record, sample=sample, seed=seed)
    judge = Judge(reader, record)
    ranks: list[Ranks] = []
    missed: list[Miss] = []
    for item in questions:
        try:
            answer = ask(item.query)
        except UsageError as error:
            ranks.append(Ranks(item.kind, None, None))
            missed.append(_miss(item, None, str(error)))
            continue
        found = judge.ranks(item, answer)
        ranks.append(found)
        if found.hit is None:
            missed.append(_miss(item, found.session, answer.hits[0].snippet if answer.hits else ""))
    scored = [score(kind, [rank for rank in ranks if rank.kind == kind]) for kind in CLASSES]
    return Relevance(
        seed,
        sample,
        SESSIONS,
        tuple(one for one in scored if one.queries),
        score("overall", ranks),
        tuple(_spread(missed, misses)),
    )


def _miss(item: KnownItem, session_rank: int | None, first: str) -> Miss:
    return Miss(
        item.kind,
        item.query,
        item.passage[:_SHOWN],
        item.session_id,
        item.transcript,
        item.offset,
        session_rank,
        " ".join(first.split())[:_SHOWN],
    )


def _spread(missed: list[Miss], count: int) -> list[Miss]:
    """Some misses of every class, rather than all of one."""
    numbered: list[tuple[int, int, Miss]] = []
    seen: dict[str, int] = {}
    for place, miss in enumerate(missed):
        seen[miss.kind] = seen.get(miss.kind, 0) + 1
        numbered.append((seen[miss.kind], place, miss))
    return [miss for _, _, miss in sorted(numbered, key=lambda entry: entry[:2])[:count]]


def score(kind: str, ranks: Sequence[Ranks]) -> Score:
    """Hit@1, hit@10 and MRR of some questions."""
    hits, sessions = [rank.hit for rank in ranks], [rank.session for rank in ranks]
    return Score(kind, len(ranks), *_figures(hits), *_figures(sessions))


def _figures(ranks: Sequence[int | None]) -> tuple[float, float, float]:
    count = len(ranks) or 1
    answered = [rank for rank in ranks if rank is not None and rank <= DEPTH]
    return (
        sum(rank == 1 for rank in answered) / count,
        len(answered) / count,
        sum(1 / rank for rank in answered) / count,
    )


class Judge:
    """Tells whether a hit or a session answers a question, by reading what stands there in the record."""

    def __init__(self, reader: Reader, record: Record) -> None:
        self._reader, self._record = reader, record
        self._texts: dict[tuple[str, int, int], str] = {}
        self._named: dict[tuple[str, str], bool] = {}

    def ranks(self, item: KnownItem, answer: Answer) -> Ranks:
        """The ranks of the first hit and of the first session that answer."""
        self._texts.clear()
        hit = _first(self.is_answer(item, hit) for hit in answer.hits[:DEPTH])
        session = _first(self.is_session(item, group) for group in answer.sessions[:DEPTH])
        return Ranks(item.kind, hit, session)

    def is_answer(self, item: KnownItem, hit: Hit) -> bool:
        """Whether a hit is the item, a copy of it, or a block with the same passage."""
        places: tuple[Hit | LineLocation, ...] = (hit, *hit.others)
        if item.kind == TITLED:
            if any(place.session_id == item.session_id for place in places):
                return True
        else:
            is_copy = hit.uuid is not None and hit.uuid == item.uuid
            if is_copy or any((place.transcript, place.offset) == (item.transcript, item.offset) for place in places):
                return True
        return holds(self._text(hit), item)

    def is_session(self, item: KnownItem, group: SessionHits) -> bool:
        """Whether a session is the item's, holds a copy of it, or shows the same passage."""
        if group.session_id == item.session_id or any(self.is_answer(item, hit) for hit in group.hits):
            return True
        return item.kind in NAMED and self._has_name(group.session_id, item)

    def _text(self, hit: Hit) -> str:
        key = hit.transcript, hit.offset, hit.block
        if key not in self._texts:
            self._texts[key] = self._read(hit)
        return self._texts[key]

    def _read(self, hit: Hit) -> str:
        """What the block of a hit shows; the snippet where it stands in no transcript."""
        rows = list(
            self._reader.rows(
                "SELECT id FROM transcripts WHERE path = ? AND size > ? ORDER BY current DESC, generation DESC, id",
                (hit.transcript, hit.offset),
            )
        )
        for (transcript,) in rows:
            line = _line(self._record, transcript, hit.offset)
            found = [item for item in items(line, hit.offset) if isinstance(item, ParsedLine)]
            if hit.uuid is None or hit.uuid in {getattr(item.body, "uuid", None) for item in found}:
                shown = [
                    text.text for item in found for text in texts(item, sidechain=False) if text.number == hit.block
                ]
                return "\n".join(shown or [*_strings(line), hit.snippet])
        return hit.snippet

    def _has_name(self, session_id: str, item: KnownItem) -> bool:
        """Whether a session has a name anywhere, spelled as in the source."""
        key = session_id, item.passage
        if key not in self._named:
            name = item.passage.encode()
            rows = list(
                self._reader.rows("SELECT id FROM transcripts WHERE session_id = ? AND current = 1", (session_id,))
            )
            self._named[key] = any(
                name in line for (transcript,) in rows for _, line in Lines(self._record.read(transcript), 0)
            )
        return self._named[key]


def _first(answers: Iterable[bool]) -> int | None:
    return next((rank for rank, is_answer in enumerate(answers, 1) if is_answer), None)


def holds(text: str, item: KnownItem) -> bool:
    """Whether a text has an item's passage: names as they are spelled, other passages whatever their case and line breaks."""
    if item.kind in NAMED:
        return re.search(rf"(?<!\w){re.escape(item.passage)}(?!\w)", text) is not None
    return _plain(item.passage) in _plain(text)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _line(record: Record, transcript: int, offset: int) -> bytes:
    """The line at an offset, finished or not."""
    lines = Lines(record.read(transcript, offset), offset)
    for _, line in lines:
        return line
    return lines.rest


def _strings(line: bytes) -> list[str]:
    """Every string of a line whose meaning depends on earlier lines."""
    import msgspec

    found: list[str] = []
    try:
        leaf_strings(msgspec.json.decode(line), found)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
    return found
