"""Excerpts show the place, with the hits where they are."""

from __future__ import annotations

from functools import partial
from itertools import takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.index.tokens import Token
from hansard.query.search import excerpts
from hansard.query.search.excerpts import Marker
from hansard.query.search.plan import Term
from hansard.query.search.spellings import as_typed
from tests.counting import DOUBLED, lines_run

FAR = "x y " * 200


def marked(query: str, text: str, *, prefix: bool = False, context: int = 0) -> list[str]:
    shown = Marker([Term(query, (as_typed(query),), (0,), prefix)]).excerpt(text, context=context)
    assert len(shown.text) < excerpts.WIDTH * 2
    return [shown.text[start:end] for start, end in shown.spans]


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("resume", "a résumé", ["résumé"]),
        ("resume", "a re\u0301sume\u0301 of", ["re\u0301sume\u0301"]),
        ("istanbul", "in İstanbul, İSTANBUL", ["İstanbul", "İSTANBUL"]),
        ("数据", "大数据库", ["数据"]),
        ("🎉", "a 🎉 party", ["🎉"]),
        ("parse line", "aparse line, parseLine parse_line", ["parseLine", "parse_line"]),
        ("100 ms", "in 100ms or 1100ms", ["100ms"]),
        ("C++", "C or C++", ["C++"]),
        ("failed", "\x1b[1mFAILED\x1b[0m", ["FAILED"]),
    ],
)
def test_hits_are_marked(query: str, text: str, expected: list[str]) -> None:
    assert marked(query, f"{FAR}{text} {FAR}") == expected


def test_a_beginning_is_marked_to_the_end_of_the_word() -> None:
    assert marked("migr", FAR + "emigrate migration", prefix=True) == ["migration"]


def test_looking_inside_a_dump_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []

    def look(text: str, start: int, end: int) -> list[Token]:
        looked.append(text[start:end])
        return []

    monkeypatch.setattr(excerpts, "tokens", look)
    assert marked("a", "9a8" * 100_000) == []
    assert 0 < len(looked) < 10_000


def test_context_is_lines_around_the_hit() -> None:
    text = "one\ntwo\nthree zebra\nfour\x1b[2J\nfive"
    shown = Marker([Term("zebra", (("zebra",),), (0,), prefix=False)]).excerpt(text, context=1)
    assert (shown.before, shown.after) == (("two",), ("four",))


def _spans(count: int) -> list[tuple[int, int, int]]:
    """Different terms that all stand close together, as those of a long query in a text of a few letters do."""
    return [(place % 100, place % 100 + 1, place) for place in range(count)]


def test_choosing_the_best_stretch_is_linear_in_the_hits() -> None:
    def work(count: int) -> int:
        spans = sorted(_spans(count))
        return lines_run(lambda: excerpts._best(spans, excerpts.WIDTH))

    assert work(2000) < DOUBLED * work(1000)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30), st.integers(0, 4)), max_size=12))
def test_the_best_stretch_has_the_most_different_terms(found: list[tuple[int, int, int]]) -> None:
    spans = sorted((start, start + length, term) for start, length, term in found)

    def terms(index: int) -> int:
        start = spans[index][0]
        return len({term for _, end, term in takewhile(lambda span: span[1] - start <= 20, spans[index:])})

    first, last = excerpts._best(spans, 20)
    most = max(map(terms, range(len(spans))), default=0)
    best = next((index for index in range(len(spans)) if most and terms(index) == most), None)
    if best is None:
        assert (first, last) == (0, 0)
    else:
        within = takewhile(lambda span: span[1] - first <= 20, spans[best:])
        assert (first, last) == (spans[best][0], max(end for _, end, _ in within))


def test_the_work_on_one_excerpt_does_not_grow_with_the_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0

    def look(_text: str, _start: int, _end: int) -> list[Token]:
        nonlocal looked
        looked += 1
        return []

    monkeypatch.setattr(excerpts, "tokens", look)
    letters = "abcdefghijklmnopqrstuvwxyz"
    terms = [Term(letter, ((letter,),), (number,), prefix=False) for number, letter in enumerate(letters)]
    shown = Marker(terms).excerpt("".join(f"9{letter}8" for letter in letters) * 10_000)
    assert shown.spans == ()
    assert 0 < looked < 10_000


def test_a_term_that_a_query_has_twice_is_searched_for_once() -> None:
    terms = [Term(typed, (("zebra",),), (number,), prefix=False) for number, typed in enumerate(("zebra", "Zebra"))]
    once, twice = (lines_run(partial(Marker(terms[:count]).excerpt, "a zebra " * 1000)) for count in (1, 2))
    assert once == twice
