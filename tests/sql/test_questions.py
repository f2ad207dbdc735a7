"""The named questions: each runs in both engines, with the same answer."""

from __future__ import annotations

import pytest

from hansard.engine import Hansard
from hansard.errors import NotFound
from hansard.sql.questions import QUESTIONS, find_question
from tests.sql.here import here
from tests.sql.test_query import ENGINES, rows

pytest.importorskip("duckdb")


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_has_one_answer_in_both_engines(hard: tuple[Hansard, str], name: str) -> None:
    question = QUESTIONS[name]
    assert question.title.endswith("?")
    assert question.about.endswith((".", "`."))
    first, second = (
        sorted(map(repr, rows(here(hard[0], question.sql, parameters=question.parameters, engine=engine))))
        for engine in ENGINES
    )
    assert first == second


def test_most_questions_have_an_answer(hard: tuple[Hansard, str]) -> None:
    answered = {
        name for name, question in QUESTIONS.items() if here(hard[0], question.sql, parameters=question.parameters).rows
    }
    assert len(answered) > len(QUESTIONS) / 2


def test_the_beginning_of_a_name_suffices() -> None:
    assert find_question("failing").name == "failing-tools"
    for name in ("cost", "nothing", ""):
        with pytest.raises(NotFound, match="--list"):
            find_question(name)
