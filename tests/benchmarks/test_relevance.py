"""What counts as an answer, and the arithmetic of the scores."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import hansard
from benchmarks.relevance.known_items import KnownItem
from benchmarks.relevance.scores import Answer, Judge, Ranks, holds, measure, score
from hansard.errors import UsageError
from hansard.model.search import Hit, LineLocation, SessionHits
from tests.sync.making import FOLDER, session, user

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.sync.making import Tree

FIRST, SECOND, THIRD = session(1), session(2), session(3)


def hit(
    session_id: str,
    transcript: str,
    offset: int,
    uuid: str | None = None,
    snippet: str = "",
    others: tuple[LineLocation, ...] = (),
) -> Hit:
    return Hit(
        session_id=session_id,
        project="",
        title="",
        transcript=transcript,
        offset=offset,
        block=0,
        uuid=uuid,
        kind="prompt",
        role="user",
        tool=None,
        agent_id=None,
        is_error=False,
        is_current=True,
        timestamp=None,
        snippet=snippet,
        highlights=(),
        before=(),
        after=(),
        score=1,
        others=others,
    )


def group(session_id: str, *hits: Hit) -> SessionHits:
    return SessionHits(session_id, "", "", None, None, len(hits), 1, hits)


def path(session_id: str) -> str:
    return f"{FOLDER}/{session_id}.jsonl"


@pytest.fixture
def engine(tree: Tree) -> Iterator[hansard.Hansard]:
    tree.write(path(FIRST), [user(FIRST, "u1", "Please rename the flaky login test")])
    tree.write(path(SECOND), [user(SECOND, "u2", "They said: rename the\nFLAKY login, then parseLine(x)")])
    tree.write(path(THIRD), [user(THIRD, "u3", "Something else about parse lines"), user(THIRD, "u4", "see parseLine")])
    with hansard.open(tree.home, [tree.config]) as h:
        h.sync()
        yield h


@pytest.fixture
def judge(engine: hansard.Hansard) -> Judge:
    return Judge(engine.reader, engine.record)


ITEM = KnownItem("prompt phrase", "rename the flaky login", "rename the flaky login", FIRST, path(FIRST), 0, "u1")
NAME = KnownItem("identifier", "parseLine", "parseLine", SECOND, path(SECOND), 0, "u2")


def test_the_place_itself_answers(judge: Judge) -> None:
    assert judge.is_answer(ITEM, hit(FIRST, path(FIRST), 0, "u1"))
    assert judge.is_answer(replace(ITEM, uuid=None), hit(FIRST, path(FIRST), 0))


def test_a_copy_answers(judge: Judge) -> None:
    there = LineLocation(FIRST, path(FIRST), 0)
    assert judge.is_answer(ITEM, hit(THIRD, path(THIRD), 0, "u1"))
    assert judge.is_answer(ITEM, hit(THIRD, path(THIRD), 0, "u3", others=(there,)))


def test_the_same_passage_elsewhere_answers(judge: Judge) -> None:
    assert judge.is_answer(ITEM, hit(SECOND, path(SECOND), 0, "u2"))
    assert not judge.is_answer(ITEM, hit(THIRD, path(THIRD), 0, "u3"))


def test_a_hit_that_stands_in_no_transcript_is_judged_by_its_snippet(judge: Judge) -> None:
    assert judge.is_answer(ITEM, hit(THIRD, "gone.txt", 5, snippet="to rename the flaky login"))
    assert not judge.is_answer(ITEM, hit(THIRD, "gone.txt", 9, snippet="the flaky login"))


def test_a_title_asks_for_its_session(judge: Judge) -> None:
    item = replace(ITEM, kind="title shuffled", passage="A title", transcript="", uuid=None)
    assert judge.is_answer(item, hit(FIRST, path(FIRST), 0, "u1"))
    assert not judge.is_answer(item, hit(SECOND, path(SECOND), 0, "u2"))


def test_names_count_as_they_are_spelled(judge: Judge) -> None:
    assert holds("x = parseLine(y)", NAME)
    assert not holds("parseline, parse_line, parseLines, reparseLine", NAME)
    assert not judge.is_answer(NAME, hit(THIRD, path(THIRD), 0, "u3"))


def test_a_session_that_has_the_name_answers(judge: Judge) -> None:
    other = hit(THIRD, path(THIRD), 0, "u3")
    assert judge.is_session(NAME, group(THIRD, other))
    assert not judge.is_session(NAME, group(FIRST, hit(FIRST, path(FIRST), 0, "u1")))
    assert not judge.is_session(ITEM, group(THIRD, other))


def test_ranks_are_those_of_the_first_answers(judge: Judge) -> None:
    wrong = hit(THIRD, path(THIRD), 0, "u3")
    right = hit(FIRST, path(FIRST), 0, "u1")
    answer = Answer((wrong, wrong, right), (group(THIRD, wrong), group(FIRST, right)))
    assert judge.ranks(ITEM, answer) == Ranks("prompt phrase", 3, 2)
    assert judge.ranks(ITEM, Answer((wrong,) * 10 + (right,), ())) == Ranks("prompt phrase", None, None)


def test_the_arithmetic() -> None:
    ranks = [Ranks("a", 1, 1), Ranks("a", 2, 1), Ranks("a", 10, None), Ranks("a", None, 4)]
    found = score("a", ranks)
    assert (found.queries, found.hit_1, found.hit_10) == (4, 0.25, 0.75)
    assert found.mrr == pytest.approx((1 + 0.5 + 0.1) / 4)
    assert (found.session_hit_1, found.session_hit_10) == (0.5, 0.75)
    assert found.session_mrr == pytest.approx(2.25 / 4)
    assert score("none", []).hit_10 == 0


def test_errors_and_silence_are_misses(engine: hansard.Hansard) -> None:
    def refuse(query: str) -> Answer:
        raise UsageError(f"cannot read {query}")

    asked = measure(engine.reader, engine.record, refuse, sample=5, seed=1, misses=3)
    assert asked.overall.queries > 3
    assert asked.overall.hit_10 == 0
    assert len(asked.misses) == 3
    assert asked.misses[0].first.startswith("cannot read")
    silent = measure(engine.reader, engine.record, lambda _: Answer((), ()), sample=5, seed=1, misses=100)
    assert len(silent.misses) == silent.overall.queries
    assert {miss.first for miss in silent.misses} == {""}
    assert sum(one.queries for one in silent.classes) == silent.overall.queries
