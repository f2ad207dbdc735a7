"""The nodes of a query: one class per operator, whose docstring is its help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from msgspec import Struct

from hansard.query.language.fields import Field, QueryPart


class _Terms(QueryPart, frozen=True, eq=False):
    """Text to be found; `start` and `end` are its columns in the query, ignored in comparisons."""

    text: str  # without the quotes or the star
    prefix: bool = False
    start: int = 0
    end: int = 0


class Word(_Terms, frozen=True):
    """A word or name in any of its forms and spellings; with a star at the end, everything that starts with it."""

    name = "word"
    examples = ("timeout", "parseLine", "migrat*")


class Phrase(_Terms, frozen=True):
    """Exactly these words in a row; quotes also turn operators into plain text."""

    name = '"a phrase"'
    examples = ('"connection refused"', '"is:open"', '"cannot read prop"*')


class Near(QueryPart, frozen=True, eq=False):
    """These words in any order with at most this many words between them; 10 by default."""

    words: tuple[str, ...]
    distance: int
    start: int = 0
    end: int = 0

    name = "near(a b, 10)"
    examples = ("near(login flaky)", "near(disk full, 3)")


class Not(QueryPart, frozen=True, eq=False):
    """Not this: a word, a phrase, a field or a group."""

    node: Node
    start: int = 0
    end: int = 0

    name = "-a"
    examples = ("cache -redis", '-"no such file"', "-tool:Bash")


class _Several(Struct, frozen=True):
    """Two or more nodes, none of this same class."""

    nodes: tuple[Node, ...]

    name: ClassVar[str]
    examples: ClassVar[tuple[str, ...]]


class And(_Several, frozen=True):
    """All of them, in any order."""

    name = "a b"
    examples = ("login flaky", "migration kind:prompt")


class Or(_Several, frozen=True):
    """At least one of them; adjacent words bind tighter, and parentheses group."""

    name = "a OR b"
    examples = ("timeout OR refused", "(flaky OR broken) login", "deploy -(staging OR test)")


class Everything(Struct, frozen=True):
    """Everything."""

    name: ClassVar[str] = ""
    examples: ClassVar[tuple[str, ...]] = ("",)


Node = Word | Phrase | Near | Not | And | Or | Everything | Field
OPERATORS = (Word, Phrase, And, Or, Not, Near)


def walk(node: Node) -> Iterator[Node]:
    """A node and all below it, from left to right."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, Not):
            waiting.append(node.node)
        elif isinstance(node, And | Or):
            waiting.extend(reversed(node.nodes))


def several(kind: type[And | Or], nodes: Sequence[Node]) -> Node:
    """Combine several nodes into one, flattening those of the same kind."""
    if not nodes:
        return Everything()
    if len(nodes) == 1:
        return nodes[0]
    flat: list[Node] = []
    for node in nodes:
        if isinstance(node, And | Or) and isinstance(node, kind):
            flat.extend(node.nodes)
        else:
            flat.append(node)
    return kind(tuple(flat))
