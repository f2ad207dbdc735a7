"""The nodes of a query: one class per operator, each with its help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from msgspec import Struct

from hansard.query.language.fields import Field, QueryPart


class _Terms(QueryPart, frozen=True, eq=False):
    """Text to be found; `start` and `end` are its columns in the query, ignored in comparisons."""

    text: str
    prefix: bool = False
    start: int = 0
    end: int = 0

    name: ClassVar[str]
    help: ClassVar[str]
    examples: ClassVar[tuple[str, ...]]


class Word(_Terms, frozen=True):
    """A bare word as typed, without the star."""

    name = "word"
    help = "A word or name in any of its forms and spellings; with a star at the end, everything that starts with it."
    examples = ("timeout", "parseLine", "migrat*")


class Phrase(_Terms, frozen=True):
    """The text between quotes."""

    name = '"a phrase"'
    help = "Exactly these words in a row; quotes also turn operators into plain text."
    examples = ('"connection refused"', '"is:open"', '"cannot read prop"*')


class Near(QueryPart, frozen=True, eq=False):
    """Words close to each other, in any order."""

    words: tuple[str, ...]
    distance: int
    start: int = 0
    end: int = 0

    name: ClassVar[str] = "near(a b, 10)"
    help: ClassVar[str] = "These words in any order with at most this many words between them; 10 by default."
    examples: ClassVar[tuple[str, ...]] = ("near(login flaky)", "near(disk full, 3)")


class Not(QueryPart, frozen=True, eq=False):
    """Everything that does not match."""

    node: Node
    start: int = 0
    end: int = 0

    name: ClassVar[str] = "-a"
    help: ClassVar[str] = "Not this: a word, a phrase, a field or a group."
    examples: ClassVar[tuple[str, ...]] = ("cache -redis", '-"no such file"', "-tool:Bash")


class _Several(Struct, frozen=True):
    """Two or more nodes, none of this same class."""

    nodes: tuple[Node, ...]

    name: ClassVar[str]
    help: ClassVar[str]
    examples: ClassVar[tuple[str, ...]]


class And(_Several, frozen=True):
    """All of them."""

    name = "a b"
    help = "All of them, in any order."
    examples = ("login flaky", "migration kind:prompt")


class Or(_Several, frozen=True):
    """At least one of them."""

    name = "a OR b"
    help = "At least one of them; adjacent words bind tighter, and parentheses group."
    examples = ("timeout OR refused", "(flaky OR broken) login", "deploy -(staging OR test)")


class Everything(Struct, frozen=True):
    """The empty query."""

    name: ClassVar[str] = ""
    help: ClassVar[str] = "Everything."
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
