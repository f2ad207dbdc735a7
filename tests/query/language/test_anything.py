"""Any text at all is a query or a clear error, and what is written back means the same."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

from hypothesis import example, given
from hypothesis import strategies as st

from hansard.query.language import (
    FIELDS,
    And,
    Before,
    Changed,
    Cost,
    Everything,
    File,
    Folder,
    Kind,
    Near,
    Node,
    Not,
    On,
    Or,
    Phrase,
    Project,
    PullRequest,
    QueryError,
    Since,
    Title,
    Tokens,
    Tool,
    Word,
    walk,
)
from tests.query.language.reading import EPOCH, NOW, at, read, written

LETTERS = st.text(st.characters(categories=["L"]), min_size=1, max_size=12).filter(lambda text: text != "OR")
NASTY = st.sampled_from(
    [
        *"\"“”„()-*:,'\\/<>=$.^~|&;%_#@{}[]`+?!\t\n\x00\x1b\u202e\ufeff🎉日é",
        " ",
        "\ud800",
        "--",
        "->",
        "()",
        "OR",
        "AND",
        "NEAR(a b, 2)",
    ]
    + [
        "near(",
        "near(a b",
        ", 10)",
        ", 9999999)",
        '"*',
        "C++",
        "::",
        "a",
        "foo",
        "x*",
        "2026-05-01",
        "7d",
        ">1",
        "100k",
    ]
    + [f"{name}:" for name in FIELDS]
    + [value for field in FIELDS.values() for value in getattr(field, "values", ())]
)
ANYTHING = st.text(max_size=60) | st.text(st.characters(), max_size=60) | st.lists(NASTY, max_size=25).map("".join)
PUNCTUATION = st.text(st.sampled_from("'\\/<>=$.^~|&;%_#@{}[]`+?!,*():-\"“” \t"), max_size=40)


def check(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()  # as the parser does with halves of characters
    try:
        tree = read(text)
    except QueryError as error:
        check_error(error, text)
        return
    for node in walk(tree):
        if isinstance(node, And | Or):
            assert len(node.nodes) >= 2
            assert not any(isinstance(part, Everything | type(node)) for part in node.nodes)
        elif isinstance(node, Everything):
            assert node is tree
        else:
            assert 0 <= node.start < node.end <= len(text)
            check_place(node, text[node.start : node.end])


def check_error(error: QueryError, text: str) -> None:
    assert 0 <= error.column < len(text)
    assert error.query == text
    assert str(error).count("\n") == 2
    str(error).encode()


def check_place(node: Node, term: str) -> None:
    match node:
        case Word():
            assert term == node.text + "*" * node.prefix
        case Phrase():
            assert node.text in term
            assert term[0] in '"“”„'
            assert term.endswith("*") or not node.prefix
        case Not():
            assert term[0] == "-"
        case Near():
            assert term.lower().startswith("near(")
            assert term.endswith(")")
            assert len(node.words) >= 2
        case And() | Or() | Everything():
            raise AssertionError
        case _:
            assert term.lower().startswith(f"{node.name}:")


@given(ANYTHING)
@example("(\x00-")
@example('-"')
@example("-(")
@example('kind:"')
@example("tool:**")
def test_any_text_is_a_query_or_a_clear_error(text: str) -> None:
    check(text)


@given(PUNCTUATION)
def test_punctuation_is_no_error(text: str) -> None:
    read(text)


@given(LETTERS)
def test_a_word_of_letters_is_a_word(text: str) -> None:
    assert read(text) == Word(text)
    assert read(f"{text}*") == Word(text, prefix=True)
    assert read(f"-({text})") == Not(Word(text))


def flat(kind: type[And | Or], nodes: list[Node]) -> Node:
    parts: list[Node] = []
    for node in nodes:
        parts.extend(node.nodes if isinstance(node, And | Or) and isinstance(node, kind) else [node])
    return kind(tuple(parts))


VALUES = st.text(st.characters(exclude_characters='"', exclude_categories=["Cs"]), min_size=1, max_size=12).filter(
    lambda text: not text.isspace()
)
SECONDS = st.integers(0, at(NOW) // 1000).map(lambda seconds: seconds * 1000)
DAYS = st.integers(0, 20_000).map(lambda day: at(EPOCH + timedelta(days=day)))
LEAVES: st.SearchStrategy[Node] = st.one_of(
    st.builds(Word, LETTERS, st.booleans()),
    st.builds(Phrase, VALUES, st.booleans()),
    st.builds(Near, st.lists(LETTERS, min_size=2, max_size=4).map(tuple), st.integers(0, 1000)),
    st.builds(Project, VALUES),
    st.builds(Folder, VALUES),
    st.builds(PullRequest, VALUES),
    st.builds(File, VALUES),
    st.builds(Changed, VALUES),
    st.builds(Title, VALUES),
    st.builds(Tool, VALUES.filter(lambda text: not text.endswith("*")), st.booleans()),
    st.builds(Kind, st.sampled_from(list(Kind.values))),
    st.builds(Before, SECONDS),
    st.builds(Since, SECONDS),
    DAYS.map(lambda first: On(first, first + 86_400_000)),
    st.builds(
        Cost, st.sampled_from(["<", "<=", ">", ">=", "="]), st.decimals(0, 10**6, places=2).map(Decimal.normalize)
    ),
    st.builds(Tokens, st.sampled_from(["<", "<=", ">", ">=", "="]), st.integers(0, 10**14)),
)
TREES = st.recursive(
    LEAVES,
    lambda nodes: st.one_of(
        st.builds(Not, nodes),
        st.lists(nodes, min_size=2, max_size=4).map(lambda parts: flat(And, parts)),
        st.lists(nodes, min_size=2, max_size=4).map(lambda parts: flat(Or, parts)),
    ),
    max_leaves=12,
)


@given(TREES)
def test_what_is_written_back_means_the_same(tree: Node) -> None:
    assert read(written(tree)) == tree
