"""`hansard team search`: the texts of opened projects that the caller may read, the best first.

1. The server finds the texts that have the words, and gives the best of them by kind and age, and those with the words side by side.
2. These are weighed as the local search weighs its own: words, their nearness, kind and age. Copies in forks and on other machines are
   left out.
3. Texts and sessions of those that are shown are read, and their excerpts cut.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, tzinfo
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from hansard.errors import UsageError
from hansard.model.requests import SEARCH_SORTS
from hansard.model.search import PartialMatches, SearchPage, SessionHits
from hansard.model.time import moment_at, to_milliseconds
from hansard.query.language import And, Everything, Near, Node, Not, Or, Phrase, Word, walk
from hansard.query.language.options import make_query
from hansard.query.search.facets import FacetCounts
from hansard.query.search.hints import fewer_words
from hansard.query.search.session_hits import HITS_PER_SESSION, LATEST, different, grouped, made_for
from hansard.storage.cursors import read_cursor, write_cursor
from hansard.storage.sqlite import from_json
from hansard.team.hits import Found, HitBuilder
from hansard.team.reader import TeamReader
from hansard.team.text_query import plan_texts
from hansard.team.text_rows import (
    OF_PLACES,
    Matches,
    Place,
    TextRow,
    find_owners,
    of_places,
    prior_at,
    read_rows,
    read_sessions,
    sessions_of,
)
from hansard.team.texts import TEXTS

if TYPE_CHECKING:
    from hansard.model.requests import SearchRequest
    from hansard.model.search import Facets
    from hansard.team.connect import Database

_RANKED = 600  # matches that are weighed together
_SIDE_BY_SIDE = 200
_EACH = 8  # hits to fetch per session shown on a page by time
_MOST_FACETS = 20_000
_SECONDS = 20


class _Cursor(NamedTuple):
    """Where a page begins: after the first `shown` of a batch of ranked matches, or of all in the order of time."""

    now: int
    batch: int = 0
    shown: int = 0


class _Batch(NamedTuple):
    groups: list[list[Found]]
    following: _Cursor | None
    total: int
    truncated: bool


class TeamSearch:
    """One search in a team's database."""

    def __init__(
        self,
        database: Database,
        request: SearchRequest,
        *,
        machine: str | None = None,
        person: str | None = None,
        node: Node | None = None,
    ) -> None:
        """`machine` and `person` are parts of names; `node` replaces the query."""
        if request.limit < 1:
            raise UsageError("a page has at least one hit")
        if request.sort not in SEARCH_SORTS:
            raise UsageError(f"cannot sort by {request.sort!r}; choose one of {', '.join(SEARCH_SORTS)}")
        self._database = database
        self._request = request
        self._asked = {"machine": machine, "person": person}
        self._made_for = made_for("team search", request, machine, person)
        self._cursor = _Cursor(to_milliseconds(request.now or datetime.now(UTC)))
        if request.cursor is not None:
            self._cursor = _Cursor(*read_cursor(request.cursor, self._made_for, int, int, int))
            if not (0 <= self._cursor.now <= LATEST and min(self._cursor) >= 0):
                raise UsageError("invalid cursor: not from a search")
        asked_at = moment_at(self._cursor.now)
        self.node = node or make_query(request.query, request, now=asked_at, zone=request.zone) or Everything()
        reader = TeamReader(database, seconds=_SECONDS)
        plan = plan_texts(reader, self.node, command_output=request.command_output)
        sessions = [sessions_of(reader, leg) for leg in plan.legs]
        self._reader = TeamReader(database, looks_up=True, seconds=_SECONDS)
        self.matches = Matches(self._reader, plan, sessions, self._machines())

    def _machines(self) -> list[int] | None:
        if not any(self._asked.values()):
            return None
        asked = (self._asked["machine"] or "", self._asked["person"] or "")
        rows = self._reader.rows("SELECT id FROM machines WHERE strpos(label, ?) > 0 AND strpos(owner, ?) > 0", asked)
        return [row[0] for row in rows]

    def page(self) -> SearchPage:
        began = time.perf_counter()
        request = self._request
        batch = self._newest() if request.sort == "newest" else self._best()
        builder = HitBuilder(self._reader, self.matches.terms, request)
        best = [different(group)[:HITS_PER_SESSION] for group in batch.groups]
        hits = builder.hits([one for group in best for one in group])
        sessions: list[SessionHits] = []
        if request.group:
            waiting = iter(hits)
            sessions = [
                builder.session(group, list(islice(waiting, len(some))))
                for group, some in zip(batch.groups, best, strict=True)
            ]
        notes, partial = list(self.matches.plan.notes), None
        if not batch.total and request.cursor is None:
            notes += [f"{term.typed!r} occurs in no text that you may read" for term in self.matches.unused()]
            partial = self._partial()
        return SearchPage(
            hits=tuple(hits),
            sessions=tuple(sessions),
            total=batch.total,
            truncated=batch.truncated,
            next_cursor=None if batch.following is None else write_cursor(self._made_for, batch.following),
            took_ms=round((time.perf_counter() - began) * 1000, 2),
            not_indexed_bytes=0,
            notes=tuple(notes),
            facets=self.facets(_MOST_FACETS) if request.facets else None,
            partial=partial,
        )

    def facets(self, most: int) -> Facets:
        """Counts of the newest matches, up to a limit."""
        places, total = self.matches.places(None, 0, most)
        return _count_facets(self._reader, places, self._request.zone, truncated=total > len(places))

    def _best(self) -> _Batch:
        """The next of the ranked matches; copies alone may fill whole batches."""
        request, cursor = self._request, self._cursor
        prior = prior_at(cursor.now)
        while True:
            places, total = self.matches.places(prior, cursor.batch * _RANKED, _RANKED)
            if total > _RANKED or cursor.batch:
                early = self.matches.in_a_row(prior, _SIDE_BY_SIDE)
                places = [*places, *early] if cursor.batch == 0 else [one for one in places if one not in set(early)]
            found = self._weighed(dict.fromkeys(places), cursor.now)
            groups = grouped(found, by_worth=True) if request.group else [[one] for one in found]
            following: _Cursor | None = None
            if len(groups) > cursor.shown + request.limit:
                following = cursor._replace(shown=cursor.shown + request.limit)
            elif (cursor.batch + 1) * _RANKED < total:
                following = cursor._replace(batch=cursor.batch + 1, shown=0)
            shown = groups[cursor.shown : cursor.shown + request.limit]
            if shown or following is None:
                return _Batch(shown, following, total, truncated=False)
            cursor = following

    def _weighed(self, places: Iterable[Place], now: int) -> list[Found]:
        """The matches at some places without copies, the best first."""
        rows = self._originals(read_rows(self._reader, list(places)))
        scores = self.matches.weigh(rows, now)
        found = [Found(row, score) for row, score in zip(rows, scores, strict=True)]
        found.sort(key=lambda one: (-one.score, -(one.block.at or 0), one.row.place))
        return found

    def _newest(self) -> _Batch:
        """The newest matches after those that were shown."""
        request, cursor = self._request, self._cursor
        want = request.limit * (_EACH if request.group else 1)
        while True:
            places, total = self.matches.places(None, cursor.shown, want + 1)
            rows = self._originals(read_rows(self._reader, places[:want]))
            order = {place: number for number, place in enumerate(places)}
            found = [Found(row, 0.0) for row in sorted(rows, key=lambda row: order[row.place])]
            groups = grouped(found, by_worth=False) if request.group else [[one] for one in found]
            following: _Cursor | None = None
            if len(groups) > request.limit:
                following = cursor._replace(shown=cursor.shown + order[groups[request.limit][0].row.place])
            elif len(places) > want:
                following = cursor._replace(shown=cursor.shown + want)
            if groups or following is None:
                return _Batch(groups[: request.limit], following, total, truncated=False)
            cursor = following

    def _originals(self, rows: Sequence[TextRow]) -> list[TextRow]:
        """Rows without copies of a text and without further parts of it."""
        best: dict[object, TextRow] = {}
        for row in rows:
            known = best.get(row.identity)
            if known is None or row.age < known.age:
                best[row.identity] = row
        kept = list(best.values())
        # In a query with fields, the copy may match although the original does not.
        if not all(isinstance(part, Word | Phrase | Near | And | Or | Not | Everything) for part in walk(self.node)):
            return kept
        owners = find_owners(self._reader, {row.block.uuid for row in kept if row.block.uuid})
        return [row for row in kept if owners.get(row.block.uuid or "", row.record) == row.record]

    def _partial(self) -> PartialMatches | None:
        """The best matches for the most words that some text has."""
        for words, of, fewer in fewer_words(self.node):
            request = replace(self._request, facets=False)
            page = TeamSearch(self._database, request, **self._asked, node=fewer).page()
            if page.hits:
                truncated = page.truncated or page.next_cursor is not None
                return PartialMatches(words, of, page.hits, page.sessions, page.total, truncated)
        return None


def _count_facets(reader: TeamReader, places: Sequence[Place], zone: tzinfo | None, *, truncated: bool) -> Facets:
    """Count the texts at some places; days and months are in `zone`."""
    rows = list(
        reader.rows(
            "SELECT t.session_id, t.kind, t.tool, (extract(epoch FROM t.at) * 1000)::bigint FROM"
            f" {OF_PLACES}"
            f" JOIN {TEXTS.name} t USING ({', '.join(TEXTS.key)})",
            of_places(places),
        )
    )
    columns = ("project", "models", "client")
    sessions: dict[str, Any] = {
        session_id: (project or "", from_json(models) if models else [], client)
        for session_id, project, models, client in read_sessions(reader, columns, {row[0] for row in rows})
    }
    counts = FacetCounts()
    for session_id, kind, tool, at in rows:
        counts.add(*sessions.get(session_id, ("", [], "")), kind=kind, tool=tool, at=at)
    return counts.facets(zone, counted=len(rows), truncated=truncated)
