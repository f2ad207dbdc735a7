"""Questions are made from what sessions show, always the same ones from the same seed."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime

import pytest

import hansard
from benchmarks.relevance.known_items import (
    CLASSES,
    NAMED,
    TITLED,
    KnownItem,
    _Maker,
    _Source,
    known_items,
    shown_texts,
)
from hansard.demo import write_history

SAMPLE = 12


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> hansard.Hansard:
    place = tmp_path_factory.mktemp("known")
    write_history(place / "claude", now=datetime(2026, 11, 1, tzinfo=UTC))
    h = hansard.open(place / "store", [place / "claude"])
    h.sync()
    return h


@pytest.fixture(scope="module")
def found(engine: hansard.Hansard) -> list[KnownItem]:
    return known_items(engine.reader, engine.record, sample=SAMPLE, seed=7)


def source(passage: str) -> _Source:
    return _Source(passage, "s", "p", 0, None)


def maker(**often: int) -> _Maker:
    return _Maker(random.Random(1), Counter(often))


def test_every_class_has_questions(found: list[KnownItem]) -> None:
    counts = Counter(item.kind for item in found)
    assert set(counts) == set(CLASSES)
    assert max(counts.values()) <= SAMPLE
    assert len({(item.kind, item.query.casefold()) for item in found}) == len(found)


def test_the_same_seed_asks_the_same(engine: hansard.Hansard, found: list[KnownItem]) -> None:
    assert known_items(engine.reader, engine.record, sample=SAMPLE, seed=7) == found
    assert known_items(engine.reader, engine.record, sample=SAMPLE, seed=8) != found


def test_passages_stand_where_they_are_said_to(engine: hansard.Hansard, found: list[KnownItem]) -> None:
    for item in found:
        if item.kind == TITLED:
            assert engine.session(item.session_id).title == item.passage
            continue
        shown = [
            text.text
            for place, text in shown_texts(engine.reader, engine.record, item.session_id)
            if (place.transcript, place.offset, place.uuid) == (item.transcript, item.offset, item.uuid)
        ]
        assert any(item.passage in text for text in shown), item


def test_questions_are_what_their_class_says(found: list[KnownItem]) -> None:
    for item in found:
        words = item.query.split()
        if item.kind in ("prompt phrase", "reply", "error"):
            assert words == item.passage.split()
            assert 4 <= len(words) <= (8 if item.kind == "error" else 6)
        elif item.kind == "case":
            assert item.query != item.passage
            assert item.query.casefold().split() == item.passage.casefold().split()
        elif item.kind == "prompt words":
            assert 3 <= len(words) <= 5
            assert all(word in item.passage.lower() for word in words)
        elif item.kind == "word forms":
            assert not all(word in item.passage.lower().split() for word in words)
        elif item.kind == TITLED:
            assert sorted(words) != words or words
            assert all(word in item.passage for word in words)
        elif item.kind in NAMED and item.kind != "identifier respelled":
            assert item.query == item.passage
        elif item.kind == "identifier respelled":
            assert item.query != item.passage
            letters = [character for character in item.query.lower() if character.isalnum()]
            assert letters == [character for character in item.passage.lower() if character.isalnum()]


def test_a_phrase_is_cut_at_words() -> None:
    made = maker().phrase(source("Please rename the  flaky login test before lunch"))
    assert made is not None
    query, passage = made
    assert passage in "Please rename the  flaky login test before lunch"
    assert query.split() == passage.split()


@pytest.mark.parametrize(
    "text",
    [
        "drop -tests from the build now",
        "either this OR that other thing",
        "see project:tide for more details",
        "a b c d e f g",
    ],
)
def test_what_would_mean_something_else_is_not_asked(text: str) -> None:
    made = maker().phrase(source(text), 6, 6)
    assert made is None


def test_scripts_without_spaces_are_cut_by_characters() -> None:
    made = maker().phrase(source("请修复登录页面的超时错误"))
    assert made is not None
    assert 4 <= len(made[0]) <= 8
    assert made[0] in "请修复登录页面的超时错误"


def test_common_words_are_not_distinctive() -> None:
    counts = {"": 1000, "flaky": 2, "login": 3, "retry": 1, "should": 400}
    made = _Maker(random.Random(1), Counter(counts)).words(source("The flaky login should retry"))
    assert made is not None
    assert sorted(made[0].split()) == ["flaky", "login", "retry"]


def test_other_forms_are_words_of_the_history() -> None:
    known = maker(fixes=1, fixing=1, fixed=1, tests=4, use=2, using=1, string=9)
    assert known.forms("fixed") == ["fixes", "fixing"]
    assert known.forms("test") == ["tests"]
    assert known.forms("uses") == ["using"]
    assert known.forms("string") == []
    assert known.forms("camelCase") == []


@pytest.mark.parametrize("name", ["parseLine", "parse_line", "ParseLine", "parse.line"])
def test_names_are_respelled(name: str) -> None:
    spelled = {_Maker(random.Random(seed), Counter()).respelled(source(name)) for seed in range(40)}
    found = {made[0] for made in spelled if made}
    assert found == {"parse_line", "parse-line", "parseline", "parse line", "parseLine"} - {name}


def test_paths_end_in_one_name_or_two() -> None:
    found = {
        _Maker(random.Random(seed), Counter()).end_of_path(source("/home/mira/app/src/main.py")) for seed in range(20)
    }
    assert found == {("main.py", "main.py"), ("src/main.py", "src/main.py")}
