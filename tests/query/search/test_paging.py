"""Over all pages of a search every match comes exactly once."""

from __future__ import annotations

from collections import Counter

import pytest

from hansard.engine import Hansard
from hansard.model.requests import SearchRequest
from hansard.query.search import candidates
from hansard.query.search.pages import Search

QUERIES = [
    "the",
    "error OR project:app",
    "(the tool:Bash) OR (project:app a)",
    "kind:title OR file:py",
    "is:error OR file:README OR title:a",
    "(test since:2026-03-02) OR (fix before:2026-03-02)",
    "-the",
]
BROAD = {"the", "is:error OR file:README OR title:a", "-the"}  # that have hundreds of pages of three


@pytest.fixture
def small_parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a few blocks are weighed at a time, so that a small history has many pages."""
    sizes = {"talk": 3, "work": 2, "files": 1, "titles": 1, "reminders": 1}
    if request.node.callspec.params.get("query") in BROAD:
        sizes |= {"talk": 30, "work": 20}
    small = {
        part.name: part._replace(weighed=2 * sizes[part.name] + 1, most=sizes[part.name]) for part in candidates.PARTS
    }
    monkeypatch.setattr(candidates, "PARTS", tuple(small.values()))
    monkeypatch.setattr(candidates, "FILES", small["files"])
    monkeypatch.setattr(candidates, "TITLES", small["titles"])
    monkeypatch.setattr(candidates, "REMINDERS", small["reminders"])


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("query", QUERIES)
def test_candidates_come_once(demo: Hansard, query: str) -> None:
    finder = Search(demo.reader, SearchRequest(query)).finder
    seen: Counter[int] = Counter()
    stops: candidates.Stops | None = None
    steps = batch = 0
    while True:
        found = finder.candidates(stops, batch)
        seen.update(found.weights.keys())
        steps += 1
        if not found.is_last:
            batch += 1
        elif found.has_more:
            stops, batch = found.stops, 0
        else:
            break
    assert steps > 2
    assert set(seen.values()) == {1}
    assert set(seen) == set(finder.ids())


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("sort", ["best", "newest"])
@pytest.mark.parametrize("query", QUERIES)
def test_pages_have_every_match(demo: Hansard, query: str, sort: str) -> None:
    places: set[tuple[str, int, int]] = set()
    limit = 60 if query in BROAD else 3
    page = demo.search(query, limit=limit, sort=sort)
    while True:
        places |= {(hit.transcript, hit.offset, hit.block) for hit in page.hits}
        places |= {(other.transcript, other.offset, hit.block) for hit in page.hits for other in hit.others}
        if page.next_cursor is None:
            break
        page = demo.search(query, limit=limit, sort=sort, cursor=page.next_cursor)
    paths = dict(demo.reader.rows("SELECT id, path FROM transcripts"))
    wanted = {
        (paths[id_ >> 40], *place)
        for id_ in Search(demo.reader, SearchRequest(query)).finder.ids()
        if id_ >> 62 == 0
        for place in demo.reader.rows(
            "SELECT coalesce(r.id, ?1) & 1099511627775, ?1 - coalesce(r.id, ?1) FROM (SELECT 1) LEFT JOIN records r"
            " ON r.id = (SELECT max(id) FROM records WHERE id <= ?1) AND r.id + r.length > ?1",
            (id_,),
        )
    }
    assert wanted <= places


def test_ids_go_down(demo: Hansard) -> None:
    ids = list(Search(demo.reader, SearchRequest("the OR project:app")).finder.ids())
    inside = [id_ for id_ in ids if id_ >> 62 == 0]
    assert len(inside) > 50
    assert inside == sorted(inside, reverse=True)
