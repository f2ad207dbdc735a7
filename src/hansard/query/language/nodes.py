"""What a query is made of: one class per operator, each with its help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from hansard.query.language.fields import Field


@dataclass(frozen=True, slots=True)
class _Terms:
    """Text to be found; `start` and `end` are its columns in the query, and count for nothing in comparisons."""

    text: str
    prefix: bool = False
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)

    name: ClassVar[str]
    help: ClassVar[str]
    examples: ClassVar[tuple[str, ...]]


class Word(_Terms):
    """A bare word as it was typed, without the star."""

    __slots__ = ()
    name = "word"
    help = "A word or name in any of its forms and spellings; with a star at its end, all that begin so."
    examples = ("timeout", "parseLine", "migrat*")


class Phrase(_Terms):
    """The text between quotes."""

    __slots__ = ()
    name = '"a phrase"'
    help = "Exactly these words in a row; quotes also make any sign of this language plain text."
    examples = ('"connection refused"', '"is:open"', '"cannot read prop"*')


@dataclass(frozen=True, slots=True)
class Near:
    """Words close to each other, in any order."""

    words: tuple[str, ...]
    distance: int
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)

    name: ClassVar[str] = "near(a b, 10)"
    help: ClassVar[str] = "These words in any order with at most so many words between them; 10 if no number is given."
    examples: ClassVar[tuple[str, ...]] = ("near(login flaky)", "near(disk full, 3)")


@dataclass(frozen=True, slots=True)
class Not:
    """Whatever does not match."""

    node: Node
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)

    name: ClassVar[str] = "-a"
    help: ClassVar[str] = "Not this: a word, a phrase, a field or a group."
    examples: ClassVar[tuple[str, ...]] = ("cache -redis", '-"no such file"', "-tool:Bash")


@dataclass(frozen=True, slots=True)
class _Several:
    """Two or more, none of them of the same class."""

    nodes: tuple[Node, ...]

    name: ClassVar[str]
    help: ClassVar[str]
    examples: ClassVar[tuple[str, ...]]


class And(_Several):
    """All of them."""

    __slots__ = ()
    name = "a b"
    help = "All of them, in any order."
    examples = ("login flaky", "migration kind:prompt")


class Or(_Several):
    """At least one of them."""

    __slots__ = ()
    name = "a OR b"
    help = "One of them at least; words side by side bind stronger, and parentheses group."
    examples = ("timeout OR refused", "(flaky OR broken) login", "deploy -(staging OR test)")


@dataclass(frozen=True, slots=True)
class Everything:
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
    """One node for several, and those of the same kind among them as one."""
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
