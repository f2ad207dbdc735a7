"""An error shows the place in the query."""

from __future__ import annotations

import pickle

from hansard.errors import HansardError, UsageError
from hansard.query.language import QueryError


def lines(query: str, column: int) -> list[str]:
    return str(QueryError("it is wrong", query, column)).split("\n")


def test_the_query_stands_on_its_own_line_with_a_mark_below() -> None:
    assert lines("a kind:x", 7) == ["it is wrong", "  a kind:x", "         ^"]
    assert lines("is:x", 0) == ["it is wrong", "  is:x", "  ^"]


def test_it_is_a_usage_error() -> None:
    error = QueryError("it is wrong", "is:x", 3)
    assert isinstance(error, UsageError)
    assert isinstance(error, HansardError)
    assert error.exit_code == 2
    assert (error.problem, error.query, error.column) == ("it is wrong", "is:x", 3)


def test_a_long_query_is_cut_around_the_column() -> None:
    query = "a" * 500 + "X" + "b" * 500
    problem, line, mark = lines(query, 500)
    assert problem == "it is wrong"
    assert len(line) == 2 + 70 + 2
    assert line.startswith("  …a")
    assert line.endswith("b…")
    assert line[mark.index("^")] == "X"


def test_the_ends_of_a_long_query_are_shown_whole() -> None:
    query = "X" + "a" * 500 + "Y"
    _, line, mark = lines(query, 0)
    assert line == "  X" + "a" * 69 + "…"
    assert mark == "  ^"
    _, line, mark = lines(query, 501)
    assert line == "  …" + "a" * 69 + "Y"
    assert line[mark.index("^")] == "Y"


def test_nothing_in_it_moves_the_cursor_or_cannot_be_printed() -> None:
    _, line, mark = lines("a\tb\x1b[31m\x00\n\u202e\ud800 X", 13)
    assert line == "  a b\ufffd[31m\ufffd \ufffd\ufffd X"
    assert line[mark.index("^")] == "X"
    line.encode()


def test_wide_characters_take_two_columns_and_marks_none() -> None:
    assert lines("日本 X", 3)[2] == "  " + " " * 5 + "^"
    assert lines("e\u0301 X", 3)[2] == "  " + " " * 2 + "^"


def test_it_goes_from_process_to_process() -> None:
    error = QueryError("it is wrong", "is:x", 3)
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - made two words before
    assert (str(again), again.column) == (str(error), 3)
