"""Excerpts show the place, with the hits where they are."""

from __future__ import annotations

import pytest

from hansard.index.tokens import Token
from hansard.query.search import excerpts
from hansard.query.search.excerpts import Marker
from hansard.query.search.plan import Term
from hansard.query.search.spellings import as_typed

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
