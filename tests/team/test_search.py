"""A search in a team's database finds what the local search finds in the texts that were pushed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import hansard
from hansard.engine import Hansard
from hansard.errors import UsageError
from hansard.index.schema import SNAPSHOT_TEXT
from hansard.model.requests import SearchRequest, SessionsRequest
from hansard.query.language import QueryError
from hansard.query.search.blocks import describe
from hansard.query.search.pages import Search
from hansard.sql.local_rows import PAGE_BITS
from hansard.storage import OFFSET_BITS
from hansard.team.search import TeamSearch
from hansard.team.store import Team
from hansard.team.words import PART, joined_names, parts, tokens_of
from tests.query.search.conftest import demo  # noqa: F401 - a fixture
from tests.query.search.test_equality import FOUND, NOTHING, NOW
from tests.sync.making import assistant, main_path, session, user
from tests.team.conftest import Place, Twice, everything_of, push

DIVIDED = {"setup", "pathtofilepy"}
"""Words that a text has as several, which are not a name."""
NAMED = {"parsel", "parseline", "http server", "server 2"}


class Pushed:
    """A history, and a team's database that has it."""

    def __init__(self, h: Hansard, place: Place) -> None:
        self.h = h
        self.place = place
        self.database = place.database()
        assert h.reader.has_text
        self.ids = {
            (row[0] << OFFSET_BITS) + row[1] + row[2] if row[0] else SNAPSHOT_TEXT + (row[1] >> PAGE_BITS)
            for row in self.database.rows("SELECT transcript, byte_offset, block FROM pushed_texts")
        }

    def here(self, query: str, **given: Any) -> set[int]:
        """What the local search finds of the texts that were pushed."""
        return self.ids.intersection(
            Search(self.h.reader, SearchRequest(query, now=NOW, timezone="UTC", **given)).finder.ids()
        )

    def there(self, query: str, **given: Any) -> set[int]:
        """What the team's database finds."""
        matches = TeamSearch(self.database, SearchRequest(query, now=NOW, timezone="UTC", **given)).matches
        places, total = matches.places(None, 0, 1_000_000)
        assert total == len(places) == len(set(places))
        return {
            (one.transcript << OFFSET_BITS) + one.byte_offset + one.block
            if one.transcript
            else SNAPSHOT_TEXT + (one.byte_offset >> PAGE_BITS)
            for one in places
        }


@pytest.fixture(scope="module")
def pushed(demo: Hansard, make_place: Callable[[], Place]) -> Iterator[Pushed]:  # noqa: F811
    place = make_place()
    push(demo, place, "laptop", opened=everything_of(demo))
    found = Pushed(demo, place)
    yield found
    found.database.close()


def test_every_text_of_a_session_is_there(pushed: Pushed) -> None:
    """Only lines of the prompt history, and titles that lie in files of other sessions, stay behind."""
    indexed = {
        row[0]
        for table in ("talk", "work", "titles", "reminders")
        for row in pushed.h.reader.rows(f"SELECT p.id FROM full.{table}_docsize d JOIN full.places p ON p.doc = d.id")
    }
    assert pushed.ids <= indexed
    missing = describe(pushed.h.reader, indexed - pushed.ids).values()
    assert {block.kind if block.log_kind == "main" else block.log_kind for block in missing} == {"history", "title"}


@pytest.mark.parametrize("query", [*FOUND, *NOTHING])
def test_what_is_found(pushed: Pushed, query: str) -> None:
    here, there = pushed.here(query), pushed.there(query)
    if query in DIVIDED:
        assert there < here
    else:
        assert there == here


leaves = st.sampled_from(
    [query for query in FOUND if " " not in query and "(" not in query and query[0] != "-" and query not in DIVIDED]
)


@st.composite
def queries(draw: st.DrawFn, depth: int = 2) -> str:
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return ("-" if draw(st.integers(0, 4)) == 0 else "") + draw(leaves)
    some = draw(st.lists(queries(depth - 1), min_size=2, max_size=3))
    return draw(st.sampled_from(["({})", "-({})"])).format(draw(st.sampled_from([" ", " OR "])).join(some))


@settings(max_examples=60, deadline=None)
@given(query=queries())
def test_any_mixture(pushed: Pushed, query: str) -> None:
    assert pushed.there(query) == pushed.here(query)


@settings(max_examples=60, deadline=None)
@given(query=st.text(max_size=30) | st.text(st.sampled_from("ab*\"'\\()-&|!<>:%?$ \0\n=~.@数é"), max_size=20))
def test_any_text_is_a_query(pushed: Pushed, query: str) -> None:
    """None of it is syntax to the server."""
    try:
        found = pushed.there(query)
    except QueryError:
        return
    assert found <= pushed.ids


def test_hits_are_those_of_the_local_search(pushed: Pushed) -> None:
    """The same fields with the same values, but scores, which count words in each table of the index."""
    for query in (
        "parse line",
        "timeout OR error",
        "kind:prompt",
        "数据库",
        '"look at this"',
        "tool:Edit -error",
        "fix",
    ):
        request = SearchRequest(query, now=NOW, timezone="UTC", limit=100, context=1)
        with pushed.place.team() as team:
            there = {(hit.transcript, hit.offset, hit.block): hit for hit in team.search(request).hits}
        here = {(hit.transcript, hit.offset, hit.block): hit for hit in pushed.h.search(request).hits}
        both = there.keys() & here.keys()
        assert both
        for place in both:
            ours, theirs = here[place].as_plain(), there[place].as_plain()
            assert (theirs.pop("machine"), theirs.pop("person")) == ("keeper@laptop", "keeper")
            for found in (ours, theirs):
                found.pop("score")
                found["others"] = {(other.transcript, other.offset) for other in found["others"]}
            assert theirs == ours


def pages(team: Team, request: SearchRequest) -> list[Any]:
    found: list[Any] = []
    while True:
        page = team.search(request)
        found.append(page)
        if page.next_cursor is None:
            return found
        request = replace(request, cursor=page.next_cursor)


@pytest.mark.parametrize("sort", ["best", "newest"])
@pytest.mark.parametrize("query", ["the", "error", "kind:prompt since:2025-01-01", "test OR fix"])
def test_pages_show_every_match_once(pushed: Pushed, query: str, sort: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hansard.team.search._RANKED", 70)
    request = SearchRequest(query, now=NOW, timezone="UTC", sort=sort, limit=30)
    with pushed.place.team() as team:
        found = pages(team, request)
        hits = [hit for page in found for hit in page.hits]
        assert len({(hit.uuid or hit.offset, hit.session_id, hit.block, hit.transcript) for hit in hits}) == len(hits)
        known = {(hit.transcript, hit.offset, hit.block) for hit in hits}
        known |= {(other.transcript, other.offset, hit.block) for hit in hits for other in hit.others}
        paths = dict(pushed.h.reader.rows("SELECT id, path FROM transcripts"))
        assert {(hit[0], hit[1]) for hit in known} >= {
            (paths[block.transcript], block.offset)
            for block in describe(pushed.h.reader, pushed.here(query)).values()
            if block.transcript
        }
        if sort == "newest":
            times = [hit.timestamp for hit in hits if hit.timestamp]
            assert times == sorted(times, reverse=True)
        with pytest.raises(UsageError, match="another listing"):
            team.search(replace(request, query="other", cursor=found[0].next_cursor or "x"))


def test_sessions_and_facets(pushed: Pushed) -> None:
    request = SearchRequest("error", now=NOW, timezone="UTC", group=True, facets=True, limit=50)
    with pushed.place.team() as team:
        page = team.search(request)
        local = pushed.h.search(request)
        assert {one.session_id for one in page.sessions} >= {one.session_id for one in local.sessions}
        assert page.facets is not None
        assert local.facets is not None
        for name in ("project", "kind", "tool", "day", "month", "model", "client"):
            assert dict(getattr(page.facets, name)) == dict(getattr(local.facets, name)), name
        fewer = team.search(SearchRequest("error zzyzx timeout", now=NOW))
        assert fewer.notes == ("'zzyzx' occurs in no text that you may read",)
        assert fewer.partial is not None
        assert fewer.partial.words == 2
        assert not team.search(replace(request, cursor=None), person="nobody").hits
        assert team.search(request, machine="lap", person="keep").total == page.total


def test_words_select_sessions_and_usage(pushed: Pushed) -> None:
    """Also in lists and reports, where they mean the sessions that have a text with them."""
    with pushed.place.team() as team:
        for query in ("parseline", "xylophone", '"look at this" kind:prompt', "-the is:error"):
            asked = SessionsRequest(query=query, limit=None, debris=True)
            here = {one.session_id for one in pushed.h.sessions(asked).sessions}
            history = {"the"} & set(re.findall(r"\w+", query))
            there = {one.session_id for one in team.sessions(asked).sessions}
            assert there == here or history


PUBLIC = (
    "timeout",
    "parse_line OR connect*",
    '"no such file" -tool:Read',
    "near(test fail, 4)",
    "kind:prompt error since:2025-06-01",
    "is:error tool:Bash",
    "file:.py changed:test has:diff",
    "model:sonnet is:subagent -kind:result",
)


def test_real_transcripts_are_found(twice: Callable[[str], Twice]) -> None:
    found = Pushed(*twice("public"))
    with found.database:
        for query in PUBLIC:
            assert found.there(query) == found.here(query) != set(), query


def test_copies_on_two_machines_are_one_hit(pushed: Pushed, make_place: Callable[[], Place]) -> None:
    place = make_place()
    for machine in ("laptop", "desktop"):
        push(pushed.h, place, machine, opened=everything_of(pushed.h))
    with place.team() as team:
        for query in ("xylophone", "parse line", "kind:title", "the"):
            request = SearchRequest(query, now=NOW, timezone="UTC", limit=100)
            with pushed.place.team() as once:
                wanted = [(hit.transcript, hit.offset, hit.block) for hit in once.search(request).hits]
            assert [(hit.transcript, hit.offset, hit.block) for hit in team.search(request).hits] == wanted


def test_a_long_text_is_found_in_parts(tmp_path: Path, place: Place) -> None:
    name = session(1)
    words = "".join(f"line {number} of the log\n" for number in range(20_000))
    lines = [user(name, "u1", f"first{words}middle{words}last"), assistant(name, "a1", "m1", "short", 1, "u1")]
    path = tmp_path / "claude" / main_path(name)
    path.parent.mkdir(parents=True)
    import json

    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as h:
        h.sync()
        push(h, place, "laptop", opened=everything_of(h))
        with place.team() as team:
            assert len(place.rows("SELECT part FROM pushed_texts WHERE kind = 'prompt'")) > 5
            for query in ("first*", "middle*", "last", "log"):
                (hit,) = team.search(SearchRequest(query, now=NOW)).hits
                assert (hit.offset, hit.block) == (0, 0)
                assert hit.highlights
    assert "".join(parts(words)) == words
    assert max(map(len, parts("x" * 5 * PART))) == PART


def test_names_are_joined() -> None:
    assert joined_names("getUserId and parse_line, not x-y") == ["getuser", "getuserid", "parseline", "userid"]
    assert joined_names("sha256 HTTPServer2 plain Words ÀÉ") == ["httpserver", "httpserver2", "server2", "sha256"][:3]
    assert tokens_of("x" * 1000 + " y") == ["x" * 400, "y"]
