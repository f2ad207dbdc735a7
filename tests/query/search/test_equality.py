"""A search finds exactly what the slow way finds: every operator, and any mixture of them."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hansard.engine import Hansard
from hansard.index.schema import SNAPSHOT_TEXT
from hansard.model.requests import SearchRequest
from hansard.query import language as q
from hansard.query.search.pages import Search
from hansard.query.search.plan import FRIENDLY_WORDS, without_empty
from hansard.storage import OFFSET_MASK
from tests.query.search.slowly import Said, everything, fits

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


class Slowly:
    """All texts, and what each single word or field finds among them, looked up once."""

    def __init__(self, texts: list[Said]) -> None:
        self.texts = texts
        self.every = {said.place for said in texts}
        self.reminders = {said.place for said in texts if said.kind == "reminder"}
        self.known: dict[tuple[q.Node, bool], set[tuple[int, int]]] = {}
        self.counts = Counter(token for said in texts for token in set(said.tokens))

    def often(self, token: str) -> int:
        return self.counts[token]

    def __call__(self, query: str) -> set[tuple[int, int]]:
        node = without_empty(q.parse(query, now=NOW, zone=UTC))
        if node is None:
            return set()
        found = self._places(node, friendly=sum(isinstance(part, q.Word) for part in q.walk(node)) <= FRIENDLY_WORDS)
        is_named = any(isinstance(part, q.Kind) and part.value == "reminder" for part in q.walk(node))
        return found if is_named else found - self.reminders

    def _places(self, node: q.Node, *, friendly: bool) -> set[tuple[int, int]]:
        if isinstance(node, q.Not):
            return self.every - self._places(node.node, friendly=friendly)
        if isinstance(node, q.And):
            return set.intersection(*(self._places(part, friendly=friendly) for part in node.nodes))
        if isinstance(node, q.Or):
            return set.union(*(self._places(part, friendly=friendly) for part in node.nodes))
        if (node, friendly) not in self.known:
            self.known[node, friendly] = {
                said.place for said in self.texts if fits(node, said, self.often, friendly=friendly)
            }
        return self.known[node, friendly]


@pytest.fixture(scope="session")
def slow(demo: Hansard) -> Slowly:
    return Slowly(everything(demo))


def quickly(h: Hansard, query: str) -> set[tuple[int, int]]:
    finder = Search(h.reader, SearchRequest(query, now=NOW, timezone="UTC")).finder
    ids = list(finder.ids())
    assert len(ids) == len(set(ids)) == finder.count()
    return {(id_ >> 40, id_ & OFFSET_MASK) for id_ in ids if id_ < SNAPSHOT_TEXT}


FOUND = (
    """
parseline|parseLine|sTEP|tHE|PARSElINE|pathtofilepy|parse_line|parse line|parse-line|httpserver2|http server|HTTPServer|server2|server 2|HttpServer2
path/to/file.py:42|file.py|to/file|--flag|flag|vis-timeline|vistimeline|timeline|foo OR parseline
数据|据库|数据库|日本|テスト|한국|국어|검색|cafe|café|CAFÉ|naive|unicode|C++|c++|C#|100ms|100 ms|🎉|✓|sha256|sha 256
deadbeef12ab|ёлка|елка|Ελλαδα|δοκιμη|setup|"set up"|fix|fixes|test|commit|committing|xylophone|"nobody kept"
"look at this"|look this|pars*|"parse li"*|timel*|near(parse vis, 20)|near(setup tests, 7)|near(path 42 file, 3)
kind:prompt|kind:reply|kind:thinking|kind:call|kind:result|kind:title|kind:command|kind:note|kind:reminder|kind:reminder malware|kind:reminder,note|-kind:reminder|kind:reminder OR the|-parseline (-kind:reminder OR -file:.py)|kind:error|kind:prompt,title
role:user|role:assistant|role:tool|role:system|tool:Bash|tool:bash|tool:Edit|tool:mcp__git__log|tool:git|tool:log|tool:mcp__*
is:error|is:fork|is:subagent|has:image|has:diff|file:.py|file:README|changed:.py|project:app|branch:main|model:opus|version:2.1
title:hard|title:"hard words"|session:5e55|tokens:>100|tokens:<100|tokens:=30|since:2026-03-01|before:2026-03-01
tag:infra|tag:INFRA|tag:infra*|tag:client/*|tag:lost|tag:lost,client/acme|tag:straße|is:pinned|has:pin|is:live|note:mira|note:"cafe ask"|note:clock|note:CAFÉ
on:2026-03-01|on:2026-03|after:2026-02|agent:Explore|cost:>0|cost:<=0|cost:=0.0033|cost:<0.0033|cost:>=0.5|cost:<1|error|the|a OR the|test -kind:result|the -the|-the|-is:error -kind:call
""".replace("\n", "|")
    .strip("|")
    .split("|")
)
NOTHING = [
    "zzyzx",
    "kind:reminder file:.py",
    "!!!",
    "->",
    "",
    "parsel ine",
    "数库",
    "tool:None",
    '"parse the line"',
    "cost:>1000",
    "cost:<0",
    "near(a zzyzx, 5)",
    "tag:infr",
    "tag:client",
    'note:"mira clock"',
    "note:infra",
]


@pytest.mark.parametrize("query", FOUND)
def test_what_is_found(demo: Hansard, slow: Slowly, query: str) -> None:
    expected = slow(query)
    assert quickly(demo, query) == expected
    if query not in ("agent:Explore", "tokens:=30", "the -the"):
        assert expected, "a query that finds nothing proves little"


@pytest.mark.parametrize("query", NOTHING)
def test_what_is_not_found(demo: Hansard, slow: Slowly, query: str) -> None:
    if query:
        assert slow(query) == set()
        assert quickly(demo, query) == set()
    else:
        assert quickly(demo, query) == slow.every - slow.reminders


leaves = st.sampled_from(
    [query for query in FOUND if " " not in query and "(" not in query and not query.startswith("-")]
)


@st.composite
def queries(draw: st.DrawFn, depth: int = 2) -> str:
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return ("-" if draw(st.integers(0, 4)) == 0 else "") + draw(leaves)
    parts = draw(st.lists(queries(depth - 1), min_size=2, max_size=3))
    inner = draw(st.sampled_from([" ", " OR "])).join(parts)
    return draw(st.sampled_from(["({})", "-({})"])).format(inner)


@settings(max_examples=300, deadline=None)
@given(query=queries())
def test_any_mixture(demo: Hansard, slow: Slowly, query: str) -> None:
    assert quickly(demo, query) == slow(query)
