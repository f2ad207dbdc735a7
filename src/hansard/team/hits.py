"""What is shown of a text that a search in a team's database found."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from hansard.model.search import LineLocation, SessionHits, TeamHit
from hansard.query.search.excerpts import WIDTH, Excerpt, Marker
from hansard.query.search.session_hits import hit_fields, session_hits
from hansard.team.text_rows import OF_PLACES, TextRow, of_places, read_sessions
from hansard.team.texts import TEXTS
from hansard.team.words import names_written_as

if TYPE_CHECKING:
    from hansard.model.requests import SearchRequest
    from hansard.query.search.blocks import TextBlock
    from hansard.query.search.plan import Term
    from hansard.team.reader import TeamReader


class Found(Struct):
    """A match that may be shown."""

    row: TextRow
    score: float

    @property
    def block(self) -> TextBlock:
        return self.row.block


class HitBuilder:
    """Turns matches into hits."""

    def __init__(self, reader: TeamReader, terms: Sequence[Term], request: SearchRequest) -> None:
        self._reader = reader
        self._terms = list(dict.fromkeys(terms))
        self._request = request
        self._sessions: dict[str, Any] = {}

    def hits(self, shown: Sequence[Found]) -> list[TeamHit]:
        """Matches with their excerpts and their other locations."""
        places = self._places({one.block.uuid for one in shown if one.block.uuid})
        self._find_sessions({one.block.session_id for one in shown})
        excerpts = self._excerpts([one.row for one in shown])
        return [self._hit(one, excerpts[one.row.place], places) for one in shown]

    def _excerpts(self, rows: Sequence[TextRow]) -> dict[Any, Excerpt]:
        texts = {
            tuple(key): text
            for *key, text in self._reader.rows(
                f"SELECT {', '.join(f't.{name}' for name in TEXTS.key)}, t.text FROM"
                f" {OF_PLACES}"
                f" JOIN {TEXTS.name} t USING ({', '.join(TEXTS.key)})",
                of_places([row.place for row in rows]),
            )
        }
        marker = Marker([term for one in self._terms for term in _with_names(one, texts.values())])
        width = self._request.width or WIDTH
        return {key: marker.excerpt(text, width=width, context=self._request.context) for key, text in texts.items()}

    def _hit(self, found: Found, excerpt: Excerpt, places: dict[str, list[tuple[Any, LineLocation]]]) -> TeamHit:
        block, row = found.block, found.row
        project, title, *_ = self._session(block.session_id)
        others = (place for line, place in places.get(block.uuid or "", ()) if line != row.record)
        fields = hit_fields(found, excerpt, project=project, title=title, others=others)
        return TeamHit(**fields, machine=row.machine, person=row.person)

    def session(self, group: Sequence[Found], best: Iterable[TeamHit]) -> SessionHits:
        """A session and the best of its hits."""
        project, title, started_at, ended_at = self._session(group[0].block.session_id)
        return session_hits(group, best, project=project, title=title, started_at=started_at, ended_at=ended_at)

    def _find_sessions(self, session_ids: Collection[str]) -> None:
        columns = ("project", "title", "started_at", "ended_at")
        for session_id, *row in read_sessions(self._reader, columns, session_ids):
            self._sessions[session_id] = row

    def _session(self, session_id: str) -> Any:
        project, title, *times = self._sessions.get(session_id, ("", "", None, None))
        return project or "", title or "", *times

    def _places(self, uuids: Collection[str]) -> dict[str, list[tuple[Any, LineLocation]]]:
        """All locations of each of these messages."""
        places: dict[str, list[tuple[Any, LineLocation]]] = {}
        for uuid, machine, transcript, offset, session_id, path in self._reader.rows(
            f"SELECT DISTINCT t.uuid, t.machine, t.transcript, t.byte_offset, t.session_id, coalesce(f.path, '') FROM {TEXTS.name} t"
            " LEFT JOIN pushed_transcripts f ON f.machine = t.machine AND f.transcript = t.transcript"
            " WHERE t.uuid = ANY (?) ORDER BY 1, 5, 6, 2, 3, 4",
            (list(uuids),),
        ):
            line = (machine, transcript, offset)
            places.setdefault(uuid, []).append((line, LineLocation(session_id, path, offset)))
        return places


def _with_names(term: Term, texts: Iterable[str]) -> list[Term]:
    """A term, and the same as the words of names in these texts."""
    if len(term.spellings[0]) > 1 or term.prefix:
        return [term]
    names = names_written_as(term.spellings[0][0], texts)
    return [replace(term, spellings=(*term.spellings, *names))]
