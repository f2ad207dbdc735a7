"""The help is made from the classes, and what it says is so."""

from __future__ import annotations

import pytest

from hansard.query import language
from hansard.query.language import (
    FIELDS,
    OPERATORS,
    And,
    Field,
    Near,
    Not,
    Or,
    Phrase,
    Word,
    help_of,
    syntax_help,
    syntax_markdown,
    walk,
)
from tests.query.language.reading import read

Operator = Word | Phrase | And | Or | Not | Near
DOCUMENTED = [*OPERATORS, *FIELDS.values()]


@pytest.mark.parametrize("documented", DOCUMENTED)
def test_each_example_shows_its_class(documented: type[Operator | Field]) -> None:
    assert 1 <= len(documented.examples) <= 3
    for example in documented.examples:
        assert any(isinstance(node, documented) for node in walk(read(example)))


@pytest.mark.parametrize("documented", DOCUMENTED)
def test_everything_is_on_both_pages(documented: type[Operator | Field]) -> None:
    terminal = " ".join(syntax_help().split())
    for text in (help_of(documented), *documented.examples):
        assert text in terminal
        assert text in syntax_markdown()
    for value in getattr(documented, "values", ()):
        assert f" {value} " in terminal
        assert f"| `{value}` |" in syntax_markdown()


def test_operators_come_before_fields() -> None:
    for page in (syntax_help(), syntax_markdown()):
        assert page.index("near(") < page.index("Fields") < page.index("kind:prompt,reply")


def test_the_page_fits_a_terminal() -> None:
    assert max(map(len, syntax_help().splitlines())) < 80


def test_tables_have_as_many_cells_as_heads() -> None:
    for line in syntax_markdown().splitlines():
        assert not line.startswith("|") or line.count("|") in {3, 4}


def test_every_public_name_is_there() -> None:
    for cls in (*FIELDS.values(), *OPERATORS):
        assert getattr(language, cls.__name__) is cls
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = language.nothing
