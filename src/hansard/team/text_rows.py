"""Rows of texts in a team's database: the places that match a plan, and what is known about each."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from math import log
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from hansard.clients.texts import KINDS
from hansard.query.compile import Condition
from hansard.query.search.blocks import TextBlock
from hansard.query.search.ranking import ASIDE_WEIGHT, KIND_WEIGHT, rarity, recency_weight, weigher
from hansard.query.search.spellings import LONGEST, SHORTEST, STOP_WORDS
from hansard.storage import OFFSET_BITS
from hansard.team.text_query import TextLeg, TextPlan
from hansard.team.texts import TEXTS
from hansard.team.words import LONGEST_WORD

if TYPE_CHECKING:
    from hansard.query.search.plan import Term
    from hansard.team.reader import TeamReader

_COMMON = 10_000  # texts up to which the uses of a word are counted
_AVERAGE = 100.0  # words of a text
_KEY = TEXTS.key
_WEIGHED = 20_000  # characters of a text
_MIDDLE = 60 * 86_400  # seconds


class Place(NamedTuple):
    """The key of a row of the texts."""

    machine: int
    transcript: int
    byte_offset: int
    block: int
    part: int


class TextRow(NamedTuple):
    """A row of the texts, without the text."""

    place: Place
    block: TextBlock
    machine: str
    person: str
    elsewhere: bool  # another machine has more of the session
    length: int
    words: str

    @property
    def age(self) -> tuple[Any, ...]:
        """Sorts originals before copies."""
        block = self.block
        at = block.at if block.at is not None else 1 << 62
        return not block.is_current, self.elsewhere or block.is_copy, at, block.path, self.machine, self.place

    @property
    def record(self) -> tuple[int, int, int]:
        """The line that it is in."""
        return self.place[:3]

    @property
    def identity(self) -> object:
        """Equal for copies of a text, in forks and on other machines."""
        block = self.block
        if block.uuid is not None:
            return block.uuid, block.number
        return block.session_id, block.agent_id, block.path if not block.transcript else "", block.offset, block.number


def sessions_of(reader: TeamReader, leg: TextLeg) -> list[str] | None:
    """The sessions that an alternative allows, None for all."""
    if not leg.sessions:
        return None
    where = " AND ".join(condition.sql for condition in leg.sessions)
    values = tuple(value for condition in leg.sessions for value in condition.values)
    return [row[0] for row in reader.rows(f"SELECT session_id FROM sessions WHERE {where}", values)]


class Matches:
    """The texts that match a plan and that the caller may read."""

    def __init__(
        self,
        reader: TeamReader,
        plan: TextPlan,
        sessions: Sequence[list[str] | None],
        machines: Sequence[int] | None = None,
    ) -> None:
        """`sessions` are those that each alternative allows, None for all."""
        self._reader = reader
        self.plan = plan
        self._machines = machines
        self._legs = [(leg, allowed) for leg, allowed in zip(plan.legs, sessions, strict=True) if allowed != []]

    def places(self, prior: Sequence[float] | None, skip: int, most: int) -> tuple[list[Place], int]:
        """Some of the places, the best by `prior` first or the newest; and how many there are."""
        legs = self._legs
        if not legs:
            return [], 0
        asked = None if prior is None else list(prior)
        if len(legs) == 1 and legs[0][0].is_indexed and not legs[0][0].rows:
            leg, sessions = legs[0]
            bounds = [None if at is None else at / 1000 for at in (leg.low, leg.high)]
            rows = self._reader.rows(
                "SELECT * FROM find_texts(?::tsquery, ?::text[], ?::integer[], to_timestamp(?::float8), to_timestamp(?::float8),"
                " ?::float8[], ?, ?)",
                (leg.wanted, sessions, self._machines, *bounds, asked, skip, most),
            )
        else:
            found = self._all(legs)
            key = ", ".join(_KEY)
            rows = self._reader.rows(
                f"SELECT {key}, count(*) OVER () FROM ({found.sql}) f"
                f" ORDER BY text_worth(kind, is_aside, at, ?::float8[]) DESC, {key} LIMIT ? OFFSET ?",
                (*found.values, asked, most, skip),
            )
        found_rows = list(rows)
        return [Place(*row[:-1]) for row in found_rows], found_rows[0][-1] if found_rows else 0

    def _all(self, legs: Sequence[tuple[TextLeg, list[str] | None]]) -> Condition:
        columns = ", ".join(f"t.{name}" for name in (*_KEY, "kind", "is_aside", "at"))
        parts = [leg.source(sessions, self._machines) for leg, sessions in legs]
        sql = " UNION ".join(f"SELECT {columns} {part.sql}" for part in parts)
        return Condition(sql, tuple(value for part in parts for value in part.values))

    def in_a_row(self, prior: Sequence[float], most: int) -> list[Place]:
        """The best of those that have the words of a query side by side; none if all the words are common."""
        if len(self._legs) != 1:
            return []
        leg, sessions = self._legs[0]
        terms = leg.terms
        if len(terms) < 2 or any(term.prefix for term in terms) or min(self._often) >= _COMMON:
            return []
        words = " ".join(word for term in terms for word in term.spellings[0])
        together = Condition("strpos(t.words, ?) > 0", (f" {words} ",))
        found = self._all([(replace(leg, rows=[*leg.rows, together]), sessions)])
        key = ", ".join(_KEY)
        rows = self._reader.rows(
            f"SELECT {key} FROM ({found.sql}) f ORDER BY text_worth(kind, is_aside, at, ?::float8[]) DESC, {key} LIMIT ?",
            (*found.values, list(prior), most),
        )
        return [Place(*row) for row in rows]

    @property
    def terms(self) -> list[Term]:
        """The words and phrases of all alternatives."""
        return [term for leg in self.plan.legs for term in leg.terms]

    @cached_property
    def _often(self) -> list[int]:
        """In how many texts that the caller may read each term occurs, as far as they are counted."""
        counted = [is_counted(term) for term in self.terms]
        asked = [one for leg in self.plan.legs for one in leg.asked]
        found = iter(self._count([one for one, is_asked in zip(asked, counted, strict=True) if is_asked]))
        return [next(found) if is_asked else 10 * _COMMON for is_asked in counted]

    def _count(self, asked: list[str]) -> list[int]:
        if not asked:
            return []
        found: list[int] = self._reader.one("SELECT count_texts(?::tsquery[], ?)", (asked, _COMMON))[0]
        return found

    def unused(self) -> list[Term]:
        """The terms that occur in no text that the caller may read."""
        return [term for term, often in zip(self.terms, self._often, strict=True) if not often]

    def weigh(self, rows: Sequence[TextRow], now: int) -> list[float]:
        """The score of each row: its words, as the local search weighs them, its kind and its age."""
        weighers = []
        often = iter(self._often if len(self.terms) > 1 else [])
        for leg in self.plan.legs:
            worths = (
                [rarity(next(often), 100 * _COMMON) for _ in leg.terms]
                if len(self.terms) > 1
                else [1.0] * len(leg.terms)
            )
            weighers.append((weigher(leg.terms, worths), [one for term in leg.terms for one in _looked_for(term)]))
        return [
            max([0.0001, *(weigh(_Words(row, phrases)) for weigh, phrases in weighers)])  # type: ignore[arg-type]
            * recency_weight(row.block.kind, row.block.at, now, is_aside=row.block.is_aside)
            for row in rows
        ]


_AT = "(extract(epoch FROM t.at) * 1000)::bigint"
OF_PLACES = "unnest(?::integer[], ?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[]) k (machine, transcript, byte_offset, block, part)"
_COLUMNS = (
    "t.kind, f.client, coalesce(t.path, f.path, ''), t.uuid, "
    f"{_AT}, t.session_id, t.agent_id, t.tool, t.is_error, t.is_aside, t.is_current, t.is_copy, f.kind"
)


def of_places(places: Sequence[Place]) -> tuple[list[int], ...]:
    """Places as the values of a statement."""
    return tuple(list(column) for column in zip(*places, strict=True)) or ([],) * len(_KEY)


def read_rows(reader: TeamReader, places: Sequence[Place]) -> list[TextRow]:
    """The rows at some places."""
    found = []
    for row in reader.rows(
        f"SELECT {', '.join(f't.{name}' for name in _KEY)}, m.label, m.owner, t.length, left(t.words, {_WEIGHED}), {_COLUMNS}"
        f" FROM {OF_PLACES} JOIN {TEXTS.name} t USING ({', '.join(_KEY)}) JOIN machines m ON m.id = t.machine"
        " LEFT JOIN pushed_transcripts f ON f.machine = t.machine AND f.transcript = t.transcript",
        of_places(places),
    ):
        place, (machine, person, length, words), rest = Place(*row[:5]), row[5:9], row[9:]
        found.append((place, machine, person, length, words, _block(place, rest)))
    homes = _homes(reader, {one[-1].session_id for one in found})
    return [
        TextRow(
            place, block, machine, person, homes.get(block.session_id, place.machine) != place.machine, length, words
        )
        for place, machine, person, length, words, block in found
    ]


def _homes(reader: TeamReader, session_ids: Collection[str]) -> dict[str, int]:
    """The machine that each session is read from."""
    sql = "SELECT session_id, machine_id FROM session_homes WHERE session_id = ANY (?)"
    return dict(reader.rows(sql, (list(session_ids),)))


def read_sessions(reader: TeamReader, columns: Sequence[str], session_ids: Collection[str]) -> Iterator[Any]:
    """The id and some columns of sessions, from the machine that each is read from; the view `sessions` adds up their usage too."""
    return reader.rows(
        f"SELECT h.session_id, {', '.join(f's.{name}' for name in columns)} FROM session_homes h JOIN pushed_sessions s"
        " ON s.machine = h.machine_id AND s.session_id = h.session_id WHERE h.session_id = ANY (?)",
        (list(session_ids),),
    )


def _block(place: Place, row: Any) -> TextBlock:
    kind, client, path, uuid, at, session_id, agent_id, tool, is_error, is_aside, is_current, is_copy, log_kind = row
    return TextBlock(
        id=(place.transcript << OFFSET_BITS) + place.byte_offset + place.block,
        kind=kind,
        transcript=place.transcript,
        client=client or "",
        path=path,
        offset=place.byte_offset if place.transcript else 0,
        length=None,
        number=place.block,
        uuid=uuid,
        at=at,
        session_id=session_id,
        agent_id=agent_id,
        tool=tool or "",
        is_error=is_error,
        is_aside=is_aside,
        is_current=is_current,
        is_copy=is_copy,
        log_kind=log_kind or "",
        is_shown=is_current and log_kind in ("main", "agent", "log"),
    )


def find_owners(reader: TeamReader, uuids: Collection[str]) -> dict[str, tuple[int, int, int]]:
    """For each message the line of its original, or of the earliest copy that the caller may read."""
    rows = list(
        reader.rows(
            f"SELECT t.uuid, t.machine, t.transcript, t.byte_offset, t.session_id, t.is_current, t.is_copy, coalesce({_AT}, 1::bigint << 62),"
            f" coalesce(t.path, f.path, ''), m.label FROM {TEXTS.name} t JOIN machines m ON m.id = t.machine"
            " LEFT JOIN pushed_transcripts f ON f.machine = t.machine AND f.transcript = t.transcript WHERE t.uuid = ANY (?)",
            (list(uuids),),
        )
    )
    homes = _homes(reader, {row[4] for row in rows})
    found: dict[str, tuple[Any, tuple[int, int, int]]] = {}
    for uuid, machine, transcript, offset, session_id, is_current, is_copy, at, path, label in rows:
        is_repeated = is_copy or homes.get(session_id, machine) != machine
        age = (not is_current, is_repeated, at, path, label, machine, transcript, offset)
        if uuid not in found or age < found[uuid][0]:
            found[uuid] = age, (machine, transcript, offset)
    return {uuid: line for uuid, (_, line) in found.items()}


def prior_at(now: int) -> list[float]:
    """What `find_texts` orders by at a time in milliseconds: kinds and ages as `ranking` weighs them."""
    fresh, old, middle = (recency_weight("reply", at, now, is_aside=False) for at in (now, None, now - _MIDDLE * 1000))
    fade = 1 - old / fresh
    decay = -log(1 - (1 - middle / fresh) / fade) / _MIDDLE
    return [now / 1000, fade, decay, ASIDE_WEIGHT, *(KIND_WEIGHT.get(kind, 0.5) for kind in KINDS)]


def is_counted(term: Term) -> bool:
    """Whether it is worth counting how often a term occurs: stop words are common."""
    return term.spellings[0][0] not in STOP_WORDS


def _looked_for(term: Term) -> Iterator[re.Pattern[str]]:
    """A pattern of each spelling in the words of a row; a word may also be several words of a name."""
    for number, row in enumerate(term.spellings):
        between = " ?" if number == 0 and len(row) == 1 and SHORTEST <= len(row[0]) <= LONGEST else ""
        tokens = [between.join(map(re.escape, token[:LONGEST_WORD])) for token in row]
        yield re.compile(f" {' '.join(tokens)}{'' if term.prefix else '(?= )'}")


class _Words:
    """A row as the functions of FTS5 show one: in the local search they weigh it."""

    row_count = 1

    def __init__(self, row: TextRow, phrases: Sequence[re.Pattern[str]]) -> None:
        self._row = row
        self._phrases = phrases

    def column_total_size(self, _: int) -> float:
        return _AVERAGE

    def column_size(self, _: int) -> int:
        return self._row.length

    def phrase_column_offsets(self, phrase: int, _: int) -> list[int]:
        """Where the words of a phrase begin, counted in words."""
        words = self._row.words
        found: list[int] = []
        place = before = 0
        for match in self._phrases[phrase].finditer(words):
            place += words.count(" ", before, match.start())
            before = match.start()
            found.append(place)
        return found
