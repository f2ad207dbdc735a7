"""What a query means, rule by rule."""

from __future__ import annotations

import pytest

from hansard.query.language import And, Everything, Near, Node, Not, Or, Phrase, QueryError, Tool, Word, walk
from hansard.query.language.parser import FARTHEST, MOST_LEVELS, MOST_TERMS
from tests.query.language.reading import read

A, B, C = Word("a"), Word("b"), Word("c")


def words(*texts: str) -> Node:
    return And(tuple(Word(text) for text in texts)) if len(texts) > 1 else Word(texts[0])


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("", Everything()),
        (" \t\n\u3000 ", Everything()),
        ("a", A),
        ("a b", And((A, B))),
        ("  a\n\tb\u00a0c ", And((A, B, C))),
        ("a a", And((A, A))),
        ("a AND b NOT c", words("a", "AND", "b", "NOT", "c")),
    ],
)
def test_words_side_by_side_must_all_match(text: str, meant: Node) -> None:
    assert read(text) == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("a OR b", Or((A, B))),
        ("a OR b OR c", Or((A, B, C))),
        ("a b OR c", Or((And((A, B)), C))),
        ("a OR b c", Or((A, And((B, C))))),
        ("a (b OR c)", And((A, Or((B, C))))),
        ("(a OR b) OR c", Or((A, B, C))),
        ("(a b) c", And((A, B, C))),
        ("(a OR b) OR (b c)", Or((A, B, And((B, C))))),
        ("a or b", words("a", "or", "b")),
        ("OR", Word("OR")),
        ("OR a", words("OR", "a")),
        ("a OR", words("a", "OR")),
        ("(a OR) b", words("a", "OR", "b")),
        ("(OR a)", words("OR", "a")),
        ("a OR OR b", Or((words("a", "OR"), B))),
        ("OR OR OR", words("OR", "OR", "OR")),
        ('a OR ""', words("a", "OR")),
        ("a OR -b", Or((A, Not(B)))),
        ("a -OR b", And((A, Not(Word("OR")), B))),
        ('a "OR" b', And((A, Phrase("OR"), B))),
        ('"a"OR b', And((Phrase("a"), Word("OR"), B))),
    ],
)
def test_or(text: str, meant: Node) -> None:
    assert read(text) == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("-a", Not(A)),
        ('-"a b"', Not(Phrase("a b"))),
        ("-(a OR b)", Not(Or((A, B)))),
        ("-(a b)", Not(And((A, B)))),
        ("-(-a)", Not(Not(A))),
        ("-tool:Bash", Not(Tool("Bash"))),
        ("-near(a b)", Not(Near(("a", "b"), 10))),
        ("-a*", Not(Word("a", prefix=True))),
        ("(-a b)", And((Not(A), B))),
        ("--flag", Word("--flag")),
        ("---", Word("---")),
        ("-", Word("-")),
        ("a - b", words("a", "-", "b")),
        ("(a -)", words("a", "-")),
        ("-)", Word("-)")),
        ("a -> b", words("a", "->", "b")),
        ("-...", Word("-...")),
        ("-🎉", Not(Word("🎉"))),
        ("vis-timeline a-", words("vis-timeline", "a-")),
        ('-"" a', A),
        ("-(a", Not(Word("(a"))),
        ("-()", Word("-()")),
    ],
)
def test_not(text: str, meant: Node) -> None:
    assert read(text) == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('"a b"', Phrase("a b")),
        ('"a b" c', And((Phrase("a b"), C))),
        ('"a b', Phrase("a b")),
        ('c "a (b OR', And((C, Phrase("a (b OR")))),
        ('""', Everything()),
        ('"', Everything()),
        ('"  "', Everything()),
        ('"" a ""', A),
        ('it"s', Word('it"s')),
        ('foo="bar"', Word('foo="bar"')),
        ("“a b” c", And((Phrase("a b"), C))),
        ("”a b”", Phrase("a b")),
        ("„a b“", Phrase("a b")),
        ("“a b", Phrase("a b")),
        ('“a b" c', And((Phrase("a b"), C))),
        ('"a “b” c"', Phrase("a “b” c")),
        ('"foo ba"*', Phrase("foo ba", prefix=True)),
        ('"foo ba" *', And((Phrase("foo ba"), Word("*")))),
        ('"foo*"', Phrase("foo*")),
        ('("a b")', Phrase("a b")),
        ('("a) b" c)', And((Phrase("a) b"), C))),
        ('"a""b"', And((Phrase("a"), Phrase("b")))),
        ('"a"-b', And((Phrase("a"), Word("-b")))),
        ('"key":"value"', And((Phrase("key"), Word(':"value"')))),
        ('"-a"', Phrase("-a")),
        ('"kind:nonsense"', Phrase("kind:nonsense")),
    ],
)
def test_phrases(text: str, meant: Node) -> None:
    assert read(text) == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("(a)", A),
        ("((a))", A),
        ("( a )", A),
        ("(a OR b)(b OR c)", And((Or((A, B)), Or((B, C))))),
        ("(foo.bar() b)", words("foo.bar()", "b")),
        ("(a foo.bar())", words("a", "foo.bar()")),
        ("foo.bar()", Word("foo.bar()")),
        ("f(x)", Word("f(x)")),
        ("f(x y)", words("f(x", "y)")),
        ("()", Word("()")),
        ("(())", Word("()")),
        ("( )", words("(", ")")),
        ("()=>a", Word("()=>a")),
        ("(", Word("(")),
        (")", Word(")")),
        (")(", Word(")(")),
        ("(((", Word("(((")),
        ("a)", Word("a)")),
        ("(a))", words("a", ")")),
        (":)", Word(":)")),
        ("(a", Word("(a")),
        ("(a (b)", words("(a", "b")),
        ("((a)", words("(", "a")),
        ("(a OR b", Or((Word("(a"), B))),
        ("(int)a b)", words("(int)a", "b)")),
        ("(a OR b)c", Or((Word("(a"), Word("b)c")))),
        ("(a)* b", words("(a)*", "b")),
        ("(OR", Word("(OR")),
        ('("")', words("(", ")")),
        ("(a\n b)", And((A, B))),
    ],
)
def test_parentheses_group_or_are_text(text: str, meant: Node) -> None:
    assert read(text) == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("foo*", Word("foo", prefix=True)),
        ("v2*", Word("v2", prefix=True)),
        ("日本*", Word("日本", prefix=True)),
        ("नमस्ते*", Word("नमस्ते", prefix=True)),
        ("(foo*)", Word("foo", prefix=True)),
        ("*", Word("*")),
        ("**", Word("**")),
        ("foo**", Word("foo**")),
        ("*.py", Word("*.py")),
        ("foo.*", Word("foo.*")),
        ("a*b", Word("a*b")),
        ("src/*", Word("src/*")),
    ],
)
def test_a_star_after_a_word_makes_a_prefix(text: str, meant: Node) -> None:
    assert read(text) == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("near(a b)", Near(("a", "b"), 10)),
        ("near(a b, 3)", Near(("a", "b"), 3)),
        ("NEAR( a  b c ,3 )", Near(("a", "b", "c"), 3)),
        ("near(a b, 0)", Near(("a", "b"), 0)),
        ("near(a b, 2000)", Near(("a", "b"), FARTHEST)),
        (f"near(a b, {'9' * 5000})", Near(("a", "b"), FARTHEST)),
        ("(near(a b) OR c)", Or((Near(("a", "b"), 10), C))),
        ("near(foo.py a-b)", Near(("foo.py", "a-b"), 10)),
        ("near(a)", Word("near(a)")),
        ("near()", Word("near()")),
        ("near(a, b)", words("near(a,", "b)")),
        ("near(a b, -1)", And((Word("near(a"), Word("b,"), Not(Word("1)"))))),
        ("near(a b", words("near(a", "b")),
        ("near(a f(x))", words("near(a", "f(x))")),
        ("near(a b)c", words("near(a", "b)c")),
        ("near (a b)", words("near", "a", "b")),
        ("nearby(a b)", words("nearby(a", "b)")),
    ],
)
def test_near_is_an_operator_only_when_it_is_well_formed(text: str, meant: Node) -> None:
    assert read(text) == meant


@pytest.mark.parametrize(
    "text",
    [
        *(
            "vis-timeline foo.bar() C++ C# path/to/file.py:42 --flag std::vector http://x.y error: std::vector<int>"
        ).split(),
        *(
            "🎉 👩‍👩‍👧 it's ' '' ` $HOME ~/x ^ \\ \\\" % _ = == != <> | || & && ; , . … ? ! # @ {} [] [a](b) a:b:c"
        ).split(),
        *("file:///etc/passwd File::open Model::find -- --- \u2019 \x00 \x1b[31m \u202e x\u200dy 'a' \ufeff").split(),
    ],
)
def test_other_punctuation_is_text(text: str) -> None:
    assert read(text) == Word(text)


def test_terms_know_their_place() -> None:
    text = 'a -"b c"* (near(x y, 3) OR tool:Bash) (d'
    places = [node for node in walk(read(text)) if not isinstance(node, And | Or | Everything)]
    assert [(type(node).__name__, text[node.start : node.end]) for node in places] == [
        ("Word", "a"),
        ("Not", '-"b c"*'),
        ("Phrase", '"b c"*'),
        ("Near", "near(x y, 3)"),
        ("Tool", "tool:Bash"),
        ("Word", "(d"),
    ]
    negated = read("x -(a b)")
    assert isinstance(negated, And)
    assert isinstance(negated.nodes[1], Not)
    assert (negated.nodes[1].start, negated.nodes[1].end) == (2, 8)


def test_a_place_counts_for_nothing_when_nodes_are_compared() -> None:
    assert read("a") == read("   a")
    assert hash(read("a b")) == hash(read("a  b"))
    assert read("a b") != read("a OR b")
    assert read("a") != read('"a"')


def test_walking_goes_from_left_to_right() -> None:
    tree = read("a -(b OR c)")
    assert list(walk(tree)) == [tree, A, Not(Or((B, C))), Or((B, C)), B, C]


def test_nesting_has_an_end() -> None:
    assert read("(" * MOST_LEVELS + "a" + ")" * MOST_LEVELS) == A
    with pytest.raises(QueryError, match="too deeply nested") as failure:
        read("(" * 10_000 + "a" + ")" * 10_000)
    assert failure.value.column == MOST_LEVELS
    with pytest.raises(QueryError, match="too deeply nested"):
        read("-(" * 10_000 + "a" + ")" * 10_000)
    assert read("(" * 10_000) == Word("(" * 10_000)
    assert read("-" * 10_000) == Word("-" * 10_000)


@pytest.mark.parametrize("term", ["a ", "( ", "-a ", "OR ", "( ) ", '"a" ', "tool:a ", "near(a b) ", "-( ", "- "])
def test_the_number_of_terms_has_an_end(term: str) -> None:
    with pytest.raises(QueryError, match="too many terms: a query has at most 200") as failure:
        read(term * 10_000)
    assert 0 < failure.value.column < 10_000 * len(term)


def test_so_many_terms_are_allowed() -> None:
    tree = read(" OR ".join(["a"] * MOST_TERMS))
    assert isinstance(tree, Or)
    assert len(tree.nodes) == MOST_TERMS
    with pytest.raises(QueryError, match="too many terms"):
        read(" ".join(["a"] * (MOST_TERMS + 1)))
    with pytest.raises(QueryError, match="too many terms"):
        read("kind:" + "prompt," * (MOST_TERMS + 1))
