"""Any text at all is a query: it finds something, or nothing, or is refused in clear words."""

from __future__ import annotations

import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hansard.engine import Hansard
from hansard.errors import UsageError
from hansard.model.requests import SearchRequest
from hansard.query.language import QueryError
from hansard.query.search.pages import Search

WRITTEN = """
    " ' ` * ** - -- ( ) () (( )) : :: , ; . .. / \\ | || & && + ++ # ## ^ ~ $ % @ ! ? = < > [ ] { } _ OR AND NOT NEAR or not
    near(a near(a,b) near( near(a b, 5) "a "a" a" “a” a* *a a*b "a b"* body: mark: body:a mark:kindprompt {body}:a body:(a rowid:1 rank
    tool: tool:* tool:Bash* kind:prompt kind: is:error has:diff since:7d on:2026-05 before:x cost:>1 tokens:>1k project:a file:b -
    -a --a -(a -"a agent:b session:@last session:@9 title:"a b" version:2 '; DROP TABLE text; -- %s ?1 :a @a $a NULL 0x00 1e999 the
""".split()
STRANGE = [
    " ",
    "\t",
    "\n",
    "\x00",
    "\x1b[31m",
    "\u202e",
    "\ud800",
    "é",
    "e\u0301",
    "数据",
    "ไทย",
    "🎉",
    "\u200d",
    "ß",
    "İ",
    "ﬁ",
    "٣",
    "½",
]
fragments = st.sampled_from(WRITTEN + STRANGE)
PUNCTUATION = list("\"'`*-():,;./\\|&+#^~$%@!?=<>[]{}_ aA0é数🎉\x00\n")
punctuation = st.text(st.sampled_from(PUNCTUATION), max_size=30)
mixtures = st.lists(fragments, max_size=12).map("".join) | st.lists(fragments, max_size=8).map(" ".join)
anything = st.text(max_size=40) | punctuation | mixtures


def check(demo: Hansard, text: str) -> None:
    refused: UsageError | None = None
    try:
        Search(demo.reader, SearchRequest(text, limit=1)).finder.candidates()
    except UsageError as error:
        refused = error
    if isinstance(refused, QueryError):
        assert 0 <= refused.column <= len(text)


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=anything)
def test_any_text_is_answered(demo: Hansard, text: str) -> None:
    check(demo, text)


def test_thousands_of_texts_are_answered(demo: Hansard, soak: int) -> None:
    """By dice of our own, which are several times as fast as Hypothesis; the seed that pytest prints gives the same ones again."""
    dice = random.Random(random.random())
    for _ in range(4000 * soak):
        text = thrown(dice)
        try:
            check(demo, text)
        except Exception as error:
            error.add_note(f"the text: {text!r}")
            raise


def thrown(dice: random.Random) -> str:
    match dice.randrange(4):
        case 0:
            return "".join(
                chr(dice.randrange(dice.choice([0x80, 0x3000, 0x110000]))) for _ in range(dice.randrange(41))
            )
        case 1:
            return "".join(dice.choices(PUNCTUATION, k=dice.randrange(31)))
        case 2:
            return "".join(dice.choices(WRITTEN + STRANGE, k=dice.randrange(13)))
        case _:
            return " ".join(dice.choices(WRITTEN + STRANGE, k=dice.randrange(9)))


@settings(max_examples=300, deadline=None)
@given(text=anything)
def test_any_text_is_a_page_and_a_list_of_sessions(demo: Hansard, text: str) -> None:
    try:
        page = demo.search(text, limit=3, context=2, group=True, facets=True)
        sessions = demo.sessions(text, limit=3)
    except UsageError:
        return
    for hit in page.hits:
        for start, end in hit.highlights:
            assert 0 <= start < end <= len(hit.snippet)
        for line in (hit.snippet, *hit.before, *hit.after):
            assert line.isprintable()
    assert len(sessions.sessions) <= 3
