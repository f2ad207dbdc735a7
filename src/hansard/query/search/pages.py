"""A page of hits: from the text of a query to what is shown."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from heapq import heapify, heappop, heappush
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from hansard.clients.usage import REPEATED_LINE
from hansard.errors import UsageError
from hansard.model.requests import SEARCH_SORTS, SearchRequest
from hansard.model.search import Facets, FoundNote, Hit, LineLocation, SearchPage, SessionHits
from hansard.model.time import from_milliseconds, moment_at, to_milliseconds
from hansard.query.language import And, Everything, Near, Node, Not, Or, Phrase, Word, walk
from hansard.query.language.options import make_query
from hansard.query.reader import Reader
from hansard.query.search.blocks import IS_SHOWN, NOT_PRINTED, TextBlock, Texts, describe, name_tools
from hansard.query.search.candidates import PARTS, Finder, Stops
from hansard.query.search.excerpts import WIDTH, Excerpt, Marker
from hansard.query.search.plan import Plan, Term, make_plan
from hansard.query.search.ranking import recency_weight
from hansard.query.search.screening import Screen, without_exclusions
from hansard.query.search.session_hits import (
    HITS_PER_SESSION,
    LATEST,
    different,
    grouped,
    hit_fields,
    made_for,
    session_hits,
)
from hansard.query.search.vocabulary import IndexedWords
from hansard.storage import OFFSET_BITS, OFFSET_MASK
from hansard.storage.cursors import read_cursor, write_cursor

if TYPE_CHECKING:
    from hansard.model.gate import Redact
    from hansard.record.store import Record

_GROUPED_SHOWN = 60  # hits to group by session when each must be screened first
_GROUPED = 8  # hits to fetch per session shown on a page by time


class _Cursor(NamedTuple):
    """Where a page begins: after the first `shown` candidates of a batch of those below the ids in `stops`."""

    now: int
    stops: Stops | None
    shown: int
    before: Recency | None = None  # when sorted by time: the last one shown
    batch: int = 0


class _Found(Struct):
    """A candidate that may be shown."""

    block: TextBlock
    score: float


class _Batch(Struct):
    """What a page shows, and where the next one begins."""

    groups: list[list[_Found]]
    following: _Cursor | None
    total: int
    truncated: bool


class Search:
    """One search in a store."""

    _screen: Screen | None = None

    def __init__(
        self,
        reader: Reader,
        request: SearchRequest,
        *,
        exact: bool = False,
        node: Node | None = None,
        redact: Redact | None = None,
    ) -> None:
        """`exact`: refuse a query that would take very long, instead of leaving out part of it with a note; `node` replaces the query.

        With `redact` secrets are replaced in whole texts, before excerpts are cut.
        """
        if request.limit < 1:
            raise UsageError("a page has at least one hit")
        if request.sort not in SEARCH_SORTS:
            raise UsageError(f"cannot sort by {request.sort!r}; choose one of {', '.join(SEARCH_SORTS)}")
        self._reader = reader
        self._request = request
        self._redact = redact
        if request.cursor is None:
            self._cursor = _Cursor(to_milliseconds(request.now or datetime.now(UTC)), None, 0)
        else:
            self._cursor = _read(request.cursor, request)
        asked_at = moment_at(self._cursor.now)
        self.node = node or make_query(request.query, request, now=asked_at, zone=request.zone) or Everything()
        self.plan = Plan([], [])
        if reader.has_text:
            wanted = self.node if request.prepare is None else without_exclusions(self.node)
            self.plan = make_plan(reader, wanted, IndexedWords(reader, may_cut=not exact))
            if not request.command_output:
                for leg in self.plan.legs:
                    leg.rows.append(NOT_PRINTED)
        self.finder = Finder(reader, self.plan)

    def all_ids(self) -> Iterator[int]:
        """Every matching block, unranked; lines of the prompt history too whose prompts are in a transcript."""
        return Finder(self._reader, self.plan, all_typed=True).ids()

    def page(self, record: Record | None) -> SearchPage:
        began = time.perf_counter()
        request = self._request
        texts = Texts(self._reader, record) if record is not None else None
        if request.prepare is not None and texts is not None and self._reader.has_text:
            self._screen = Screen(self.node, IndexedWords(self._reader, may_cut=True), texts, request.prepare)
        batch = self._newest() if request.sort == "newest" else self._best()
        shown = batch.groups
        shower = _HitBuilder(self._reader, texts, self.plan, request, self._screen, self._redact)
        best = [different(group)[:HITS_PER_SESSION] for group in shown]
        hits = shower.hits([one for group in best for one in group])
        sessions: list[SessionHits] = []
        if request.group:
            waiting = iter(hits)
            sessions = [
                shower.session(group, list(islice(waiting, len(some)))) for group, some in zip(shown, best, strict=True)
            ]
        facets = None
        if request.facets:
            from hansard.query.search.facets import count_facets

            facets = count_facets(self._reader, self.finder)
        notes, partial = list(self.plan.notes), None
        # Not with screening: hints and partial matches would know the words of secrets.
        if not batch.total and self._screen is None and self._reader.has_text and request.cursor is None:
            from hansard.query.search.hints import hints, partial_matches

            notes += hints(self._reader, self.node)
            partial = partial_matches(self._reader, request, self.node, record, self._redact)
        found_notes: tuple[FoundNote, ...] = ()
        if request.cursor is None:
            from hansard.query.search.noted import find_notes

            found_notes = find_notes(self._reader, self.node, request.prepare)
        return SearchPage(
            hits=tuple(hits),
            sessions=tuple(sessions),
            total=batch.total,
            truncated=batch.truncated or self.plan.is_cut,
            next_cursor=None if batch.following is None else _write(batch.following, request),
            took_ms=round((time.perf_counter() - began) * 1000, 2),
            not_indexed_bytes=not_indexed(self._reader, record),
            notes=tuple(notes),
            facets=facets,
            partial=partial,
            found_notes=found_notes,
        )

    def facets(self, most: int) -> Facets:
        """Counts of the newest matches by project, tool and so on, over at most this many."""
        from hansard.query.search.facets import count_facets

        found = count_facets(self._reader, self.finder, most=most, zone=self._request.zone)
        return replace(found, truncated=True) if self.plan.is_cut else found

    def _best(self) -> _Batch:
        """The best of the next non-empty batch of candidates; copies alone may fill whole batches."""
        request, cursor = self._request, self._cursor
        while True:
            candidates = self.finder.candidates(cursor.stops, cursor.batch)
            weights = candidates.weights
            found = [self._weighed(block, weights) for block in distinct(describe(self._reader, weights).values())]
            found.sort(key=lambda one: (-one.score, -(one.block.at or 0), -one.block.id))
            enough = cursor.shown + request.limit + 1
            if self._screen is None:
                found = self._owned(found, len(found) if request.group else enough)
                total = candidates.total
            else:
                found = self._screened(self._owned(found, len(found)), _GROUPED_SHOWN if request.group else enough)
                total = len(found)
            groups = grouped(found, by_worth=True) if request.group else [[one] for one in found]
            truncated = candidates.has_more or cursor.stops is not None
            following: _Cursor | None = None
            if len(groups) > cursor.shown + request.limit:
                following = cursor._replace(shown=cursor.shown + request.limit)
            elif not candidates.is_last:
                following = cursor._replace(shown=0, batch=cursor.batch + 1)
            elif candidates.has_more:
                following = cursor._replace(stops=candidates.stops, shown=0, batch=0)
            shown = groups[cursor.shown : cursor.shown + request.limit]
            if shown or following is None:
                return _Batch(shown, following, total, truncated)
            if self._screen is not None and self._screen.is_tired:
                return _Batch([], None, 0, truncated=True)
            cursor = following

    def _screened(self, found: list[_Found], enough: int) -> list[_Found]:
        """The best of these that match in the shown text; redacted texts are ranked without their words."""
        screen = self._screen
        waiting = [(-one.score, -(one.block.at or 0), -one.block.id, one) for one in found]
        heapify(waiting)
        kept: list[_Found] = []
        known: set[int] = set()
        while screen is not None and waiting and len(kept) < enough and not screen.is_tired:
            *_, one = heappop(waiting)
            if one.block.id not in known and (is_redacted := screen.is_redacted(one.block)) is not False:
                if is_redacted:
                    known.add(one.block.id)
                    one.score = self._weighed(one.block, {one.block.id: 0.0}).score
                    heappush(waiting, (-one.score, -(one.block.at or 0), -one.block.id, one))
                continue
            kept.append(one)
        return kept

    def _newest(self) -> _Batch:
        """The newest matches before the last one shown."""
        request, cursor = self._request, self._cursor
        want = request.limit * (_GROUPED if request.group else 1)
        if self._screen is not None:
            return self._newest_shown(self._screen, want)
        while True:
            blocks, more = newest(self._reader, self.finder, cursor.before, want)
            found = [_Found(block, 0.0) for block in distinct(blocks)]
            found.sort(key=lambda one: place_of(one.block), reverse=True)
            found = self._owned(found, len(found))
            groups = grouped(found, by_worth=False) if request.group else [[one] for one in found]
            following: _Cursor | None = None
            if len(groups) > request.limit:
                last = groups[request.limit][0].block
                following = cursor._replace(before=(last.at or 0, last.id + 1))
            elif more:
                following = cursor._replace(before=place_of(blocks[-1]))
            if groups or following is None:
                truncated = more or cursor.before is not None
                return _Batch(groups[: request.limit], following, len(blocks), truncated)
            cursor = following

    def _newest_shown(self, screen: Screen, want: int) -> _Batch:
        """The newest matches in the shown text, and whether there are more."""
        request, before = self._request, self._cursor.before
        kept: list[_Found] = []
        groups: list[list[_Found]] = []
        more = True
        while more and len(groups) <= request.limit and not screen.is_tired:
            blocks, more = newest(self._reader, self.finder, before, want)
            found = [_Found(block, 0.0) for block in distinct(blocks)]
            found.sort(key=lambda one: place_of(one.block), reverse=True)
            kept += [one for one in self._owned(found, len(found)) if screen.is_redacted(one.block) is not None]
            groups = grouped(kept, by_worth=False) if request.group else [[one] for one in kept]
            before = place_of(blocks[-1]) if blocks else before
        following = None
        if len(groups) > request.limit:
            next_one = groups[request.limit][0].block
            following = self._cursor._replace(before=(next_one.at or 0, next_one.id + 1))
        truncated = following is not None or self._cursor.before is not None
        return _Batch(groups[: request.limit], following, len(kept[: request.limit + 1]), truncated)

    def _weighed(self, block: TextBlock, weights: dict[int, float]) -> _Found:
        value = recency_weight(block.kind, block.at, self._cursor.now, is_aside=block.is_aside)
        return _Found(block, max(weights[block.id], 0.0001) * value)

    def _owned(self, found: list[_Found], enough: int) -> list[_Found]:
        """Candidates that are not copies, in the same order: all of them, or at least `enough`."""
        # In a query with fields, the copy may match although the original does not.
        if not all(isinstance(part, Word | Phrase | Near | And | Or | Not | Everything) for part in walk(self.node)):
            return found
        kept: list[_Found] = []
        for start in range(0, len(found), max(enough, 1)):
            some = found[start : start + enough]
            owners = self._owners(one.block for one in some)
            kept += [one for one in some if owners.get(one.block.uuid or "", _record(one.block)) == _record(one.block)]
            if len(kept) >= enough:
                break
        return kept

    def _owners(self, blocks: Iterable[TextBlock]) -> dict[str, int]:
        """For each record in several transcripts, the id of its original, or of the earliest remaining copy."""
        uuids = sorted({block.uuid for block in blocks if block.uuid is not None})
        repeated = [row[0] for row in self._reader.rows(_REPEATED, (json.dumps(uuids),))]
        found: dict[str, tuple[_Age, int]] = {}
        if not repeated:
            return {}
        for uuid, record_id, at, path, is_current, is_shown, copied, sub in self._reader.rows(
            f"SELECT r.uuid, r.id, coalesce(r.ts, t.first_ts), t.path, t.current, {IS_SHOWN}, t.copied, r.sub FROM json_each(?) v"
            f" CROSS JOIN records r ON r.uuid = v.value JOIN transcripts t ON t.id = r.id >> {OFFSET_BITS}",
            (json.dumps(repeated),),
        ):
            is_copy = sub == REPEATED_LINE or record_id & OFFSET_MASK < copied
            age = (not is_current, is_copy, not is_shown, at if at is not None else 1 << 62, path, record_id)
            if uuid not in found or age < found[uuid][0]:
                found[uuid] = age, record_id
        return {uuid: record_id for uuid, (_, record_id) in found.items()}


# Nearly every record occurs once, which the index alone shows.
_REPEATED = "SELECT v.value FROM json_each(?) v WHERE (SELECT count(*) FROM records WHERE uuid = v.value) > 1"
_Age = tuple[bool, bool, bool, int, str, int]  # sorts originals first


def distinct(blocks: Iterable[TextBlock]) -> Iterable[TextBlock]:
    """Each block of a record once: the first of its copies by `_age`."""
    best: dict[object, TextBlock] = {}
    for block in blocks:
        key = (block.uuid, block.number) if block.uuid is not None else block.id
        known = best.get(key)
        if known is None or _age(block) < _age(known):
            best[key] = block
    return best.values()


def _record(block: TextBlock) -> int:
    return (block.transcript << OFFSET_BITS) + block.offset


def _age(block: TextBlock) -> _Age:
    at = block.at if block.at is not None else 1 << 62
    return not block.is_current, block.is_copy, not block.is_shown, at, block.path, block.id


class _HitBuilder:
    """Turns candidates into hits."""

    def __init__(
        self,
        reader: Reader,
        texts: Texts | None,
        plan: Plan,
        request: SearchRequest,
        screen: Screen | None,
        redact: Redact | None,
    ) -> None:
        self._reader = reader
        self._texts = texts
        self._screen = screen
        self._redact = redact
        self._request = request
        terms: dict[Term, None] = {}
        for leg in plan.legs:
            terms.update(dict.fromkeys(leg.terms))
        self._marker = Marker(list(terms))
        self._sessions: dict[str, Any] = {}

    def hits(self, shown: Sequence[_Found]) -> list[Hit]:
        """Candidates with their excerpts and their other locations."""
        places = self._places(shown)
        self._find_sessions({found.block.session_id for found in shown})
        blocks = [found.block for found in shown]
        name_tools(self._reader, blocks)
        excerpts = self._excerpts(blocks)
        return [self._hit(found, excerpts[found.block.id], places) for found in shown]

    def _excerpts(self, blocks: Sequence[TextBlock]) -> dict[int, Excerpt]:
        """The excerpt of each text; the last line of a chunk is read first, which makes the others available."""
        found: dict[int, Excerpt] = {}
        for block in sorted(blocks, key=lambda block: -block.id):
            if self._screen is not None:
                text = self._screen.text(block)
            else:
                text = self._texts.of(block) if self._texts is not None else ""
            found[block.id] = self._marker.excerpt(
                text, width=self._request.width or WIDTH, context=self._request.context, redact=self._redact
            )
        return found

    def _hit(self, found: _Found, excerpt: Excerpt, places: dict[str, list[tuple[int, LineLocation]]]) -> Hit:
        block = found.block
        project, title, *_ = self._session(block.session_id)
        here = places.get(block.uuid or "", ())
        others = (place for record_id, place in here if record_id != _record(block))
        return Hit(**hit_fields(found, excerpt, project=project, title=title, others=others))

    def session(self, group: Sequence[_Found], best: Iterable[Hit]) -> SessionHits:
        """A session and the best of its hits."""
        project, title, started_at, ended_at = self._session(group[0].block.session_id)
        times = {"started_at": from_milliseconds(started_at), "ended_at": from_milliseconds(ended_at)}
        return session_hits(group, best, project=project, title=title, **times)

    def _find_sessions(self, session_ids: Collection[str]) -> None:
        for session_id, *row in self._reader.rows(
            "SELECT s.session_id, s.project, s.title, s.started_at, s.ended_at FROM json_each(?) v"
            " CROSS JOIN sessions s ON s.session_id = v.value",
            (json.dumps([*session_ids]),),
        ):
            self._sessions[session_id] = row

    def _session(self, session_id: str) -> Any:
        return self._sessions.get(session_id, ("", "", None, None))

    def _places(self, shown: Iterable[_Found]) -> dict[str, list[tuple[int, LineLocation]]]:
        """All locations of each of these hits' records."""
        uuids = [one.block.uuid for one in shown if one.block.uuid]
        places: dict[str, list[tuple[int, LineLocation]]] = {}
        for uuid, record_id, session_id, path in self._reader.rows(
            f"SELECT r.uuid, r.id, t.session_id, t.path FROM records r JOIN transcripts t ON t.id = r.id >> {OFFSET_BITS}"
            " WHERE r.uuid IN (SELECT value FROM json_each(?)) ORDER BY t.current DESC, r.ts, t.path, r.id",
            (json.dumps(uuids),),
        ):
            places.setdefault(uuid, []).append((record_id, LineLocation(session_id, path, record_id & OFFSET_MASK)))
        return places


def not_indexed(reader: Reader, record: Record | None) -> int:
    """How many bytes of the record are not in the full text yet."""
    if record is None:
        return 0
    if not reader.has_text:
        return sum(generation.size for generation in record.generations())
    signed = reader.one("SELECT value FROM full.meta WHERE name = 'revision'")
    if signed is not None and signed[0] == record.revision():
        return 0
    known = dict(reader.rows("SELECT transcript, size FROM full.cursors"))
    logs = ("main", "agent", "log", "history")
    sizes = (
        generation.size - known.get(generation.id, 0) for generation in record.generations() if generation.kind in logs
    )
    return sum(size for size in sizes if size > 0)


# -- cursors


def _write(cursor: _Cursor, request: SearchRequest) -> str:
    return write_cursor(made_for("search", request), cursor)


def _read(text: str, request: SearchRequest) -> _Cursor:
    none = type(None)
    made = made_for("search", request)
    now, stops, shown, before, batch = read_cursor(text, made, int, (dict, none), int, (list, none), int)
    numbers = [now, shown, batch, *(stop for stop in (stops or {}).values() if stop is not None)]
    whole = all(type(number) is int and 0 <= number < 1 << 63 for number in numbers) and now <= LATEST
    named = (stops or {}).keys() <= {part.name for part in PARTS}
    placed = before is None or (len(before) == 2 and all(type(at) is int and abs(at) < 1 << 63 for at in before))
    if not (whole and named and placed):
        raise UsageError("invalid cursor: not from a search")
    return _Cursor(now, stops, shown, None if before is None else (before[0], before[1]), batch)


# -- by time, newest first, regardless of ids: a file may have been copied, or continued after later ones

_FEW = 3000  # up to this many matches are all read
_OF_ONE = 20_000  # matches of one transcript
_APART = 5000  # titles and files

Recency = tuple[int, int]
"""When something was said, and its id."""


def newest(reader: Reader, finder: Finder, before: Recency | None, want: int) -> tuple[list[TextBlock], bool]:
    """The newest `want` matches before a position, and whether there are more."""
    ids = list(islice(finder.ids(), _FEW + 1))
    if len(ids) <= _FEW:
        found = _before(describe(reader, ids).values(), before)
        return found[:want], len(found) > want
    found = _before(describe(reader, list(islice(finder.apart(), _APART))).values(), before)
    for transcript, first, last in reader.rows(
        "SELECT id, coalesce(first_ts, 0), coalesce(last_ts, 0) FROM transcripts ORDER BY coalesce(last_ts, 0) DESC, id DESC"
    ):
        if len(found) > want and place_of(found[want])[0] > last:
            break  # nothing older can be on the page
        if before is not None and first > before[0]:
            continue
        known = {block.id for block in found}
        some = [
            id_
            for id_ in islice(finder.ids(transcript << OFFSET_BITS, transcript + 1 << OFFSET_BITS), _OF_ONE)
            if id_ not in known
        ]
        found = _before([*found, *describe(reader, some).values()], before)
    return found[:want], len(found) > want


def place_of(block: TextBlock) -> Recency:
    """The sort key of matches by time."""
    return block.at or 0, block.id


def _before(blocks: Iterable[TextBlock], before: Recency | None) -> list[TextBlock]:
    found = [block for block in blocks if before is None or place_of(block) < before]
    found.sort(key=place_of, reverse=True)
    return found
