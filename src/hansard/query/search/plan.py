"""Plan a query: one full-text expression and some conditions for each of its alternatives.

A query is any mixture of words and fields. Words, and the fields that are marks in the full text (kind, role, tool,
errors, images, subagents), become one FTS5 expression. Fields about sessions select transcripts; times, files and diffs
are checked row by row. If an OR mixes what FTS5 can express with what it cannot, the query is split into alternatives
(`Leg`), each an AND.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct, field

from hansard.clients.texts import KINDS
from hansard.errors import UsageError
from hansard.index.text_tags import kind_mark, tool_mark
from hansard.model.tools import MCP, OWN_SERVER
from hansard.query.compile import SESSIONS, Compiler, Condition, folder_of
from hansard.query.language import (
    And,
    Everything,
    Field,
    InSession,
    Kind,
    Near,
    Node,
    Not,
    Or,
    Phrase,
    Tool,
    Word,
    walk,
)
from hansard.query.language.nodes import several
from hansard.query.meanings import meaning_of
from hansard.query.reader import Reader
from hansard.query.search.spellings import Spelling, Vocabulary, as_typed, begun_spellings, spellings

FRIENDLY_WORDS = 8
"""In a longer query every word is taken as typed: it was probably pasted, so its spelling is right."""

MOST_TOKENS = 500
"""Of all words of a query; a longer text takes FTS5 minutes if its words are common."""

_TOLD = 5  # words named in a note
_MOST_LEGS = 32
_HIGHEST = 90  # below the stack limit of the FTS5 parser, which is 100
ANY_KIND = "mark : (" + " OR ".join(f'"{kind_mark(kind)}"' for kind in KINDS) + ")"


class Term(Struct, frozen=True):
    """One word or phrase to find: the tokens and the phrase number of each of its spellings."""

    typed: str
    spellings: tuple[Spelling, ...]
    phrases: tuple[int, ...]
    prefix: bool


class Leg(Struct):
    """One alternative of a query; everything in it must hold."""

    match: str = ""
    terms: list[Term] = field(default_factory=list)
    sessions: list[Condition] = field(default_factory=list)  # appended to a session's id: IN (...), NOT IN (...)
    transcripts: list[Condition] = field(default_factory=list)  # over `transcripts`
    rows: list[Condition] = field(default_factory=list)  # over the full text
    only_agents: bool = False  # only transcripts of subagents


class Plan(Struct):
    """All alternatives of a query, and what the user should know about it."""

    legs: list[Leg]
    notes: list[str]
    is_cut: bool = False  # it finds less than requested, as the notes say
    has_reminders: bool = False  # it names the client's reminders to the model, which are not found otherwise


class Atoms:
    """The parts of one alternative, before they become SQL."""

    __slots__ = ("fields", "texts")

    def __init__(self, texts: tuple[tuple[Node, bool], ...] = (), fields: tuple[tuple[Field, bool], ...] = ()) -> None:
        self.texts = texts
        self.fields = fields

    @property
    def said(self) -> Node:
        """The words, and the fields that the full text has marks of."""
        return _joined(self.texts)

    def __add__(self, other: Atoms) -> Atoms:
        return Atoms(self.texts + other.texts, self.fields + other.fields)


def make_plan(reader: Reader, node: Node, vocabulary: Vocabulary) -> Plan:
    """Turn a parsed query into a plan for the indexes."""
    wanted, notes = prepare(node)
    if wanted is None:
        return Plan([], notes)
    spell = Speller.for_query(wanted, vocabulary)
    with_own = names_own_tools(wanted)
    legs = [_leg(reader, atoms, spell, with_own=with_own) for atoms in alternatives(wanted)]
    has_reminders = any(isinstance(part, Kind) and part.value == "reminder" for part in walk(wanted))
    return Plan(legs, [*notes, *_cut(spell.cut)], bool(spell.cut), has_reminders)


def prepare(node: Node) -> tuple[Node | None, list[str]]:
    """The query without what finds nothing, None if nothing is left, and what the user should know about it."""
    wanted = without_empty(node)
    if wanted is not None and sum(map(_length, walk(wanted))) > MOST_TOKENS:
        raise UsageError(f"this query is too long: it has over {MOST_TOKENS} words; search for part of it")
    return wanted, list(_notes(node))


def names_own_tools(node: Node) -> bool:
    """Whether a query names Hansard's own tools, or a session to search in; otherwise their calls and results are left out.

    They repeat questions that were asked about the history, and what was found.
    """
    return any(isinstance(part, InSession) or (isinstance(part, Tool) and _may_be_own(part)) for part in walk(node))


def _may_be_own(tool: Tool) -> bool:
    mark = tool_mark(tool.value)
    return OWN_SERVER in mark or (tool.prefix and tool_mark(MCP + OWN_SERVER).startswith(mark))


def _cut(words: list[str]) -> Iterator[str]:
    """A note on prefixes for which not all words were searched."""
    if words:
        told = ", ".join(f"{word}*" for word in words[:_TOLD]) + (", …" if len(words) > _TOLD else "")
        yield f"{told}: too many words start with this; only the most frequent were searched. Add letters to find the others"


def _length(node: Node) -> int:
    """How many tokens a single word, phrase or near() has."""
    if isinstance(node, Word | Phrase):
        return len(as_typed(node.text))
    return sum(len(as_typed(word)) for word in node.words) if isinstance(node, Near) else 0


def _notes(node: Node) -> Iterator[str]:
    for part in walk(node):
        if isinstance(part, Word | Phrase) and not as_typed(part.text):
            yield f"{part.text!r} has no letters or digits to search for; use `hansard grep -F` instead"
        elif isinstance(part, Not) and isinstance(part.node, Word) and len(part.node.text) < 3:
            yield f'-{part.node.text} leaves out what has {part.node.text!r}; "-{part.node.text}" finds it'


def without_empty(node: Node) -> Node | None:
    """The query without words that have no token and without repetitions; None if nothing is left."""
    if isinstance(node, Word | Phrase):
        return node if as_typed(node.text) else None
    if isinstance(node, Near):
        words = tuple({as_typed(word): word for word in reversed(node.words) if as_typed(word)}.values())[::-1]
        if len(words) > 1:
            return Near(words, node.distance, node.start, node.end)
        return Word(words[0], prefix=False, start=node.start, end=node.end) if words else None
    if isinstance(node, Not):
        inner = without_empty(node.node)
        return None if inner is None else Not(inner, node.start, node.end)
    if isinstance(node, And | Or):
        parts = dict.fromkeys(part for part in map(without_empty, node.nodes) if part is not None)
        return several(type(node), tuple(parts)) if parts else None
    return node


# -- alternatives


def is_text(node: Node) -> bool:
    """Whether FTS5 alone can answer all of a node."""
    return all(_is_text_leaf(part) for part in walk(node))


def _is_text_leaf(node: Node) -> bool:
    if isinstance(node, Word | Phrase | Near | Not | And | Or | Everything):
        return True
    return meaning_of(node).mark is not None


def alternatives(node: Node, *, negated: bool = False) -> list[Atoms]:
    """The node as an OR of ANDs; what FTS5 can answer stays whole."""
    if is_text(node):
        return [Atoms(texts=((node, negated),))]
    if isinstance(node, Not):
        return alternatives(node.node, negated=not negated)
    if isinstance(node, And | Or):
        parts = [alternatives(part, negated=negated) for part in node.nodes]
        if isinstance(node, Or) != negated:
            found = [atoms for part in parts for atoms in part]
        else:
            found = [Atoms()]
            for part in parts:
                found = [one + other for one in found for other in part]
                _check(len(found))
        _check(len(found))
        return found
    return [Atoms(fields=((_field(node), negated),))]


def _field(node: Node) -> Field:
    if isinstance(node, Word | Phrase | Near | Not | And | Or | Everything):
        raise TypeError(node)
    return node


def _check(legs: int) -> None:
    if legs > _MOST_LEGS:
        raise UsageError(
            f"this query has over {_MOST_LEGS} alternatives that mix words and fields; split it into several queries"
        )


# -- one alternative


class Speller:
    """Finds spellings of words, each only once."""

    def __init__(self, vocabulary: Vocabulary, *, friendly: bool) -> None:
        self._vocabulary = vocabulary
        self._friendly = friendly
        self._known: dict[tuple[str, bool, bool], tuple[list[Spelling], bool]] = {}
        self.cut: list[str] = []  # prefixes for which not all words were searched

    @classmethod
    def for_query(cls, node: Node, vocabulary: Vocabulary) -> Speller:
        """A speller that takes the words of a long query as typed."""
        words = sum(isinstance(part, Word) for part in walk(node))
        return cls(vocabulary, friendly=words <= FRIENDLY_WORDS)

    def __call__(self, node: Word | Phrase) -> tuple[list[Spelling], bool]:
        """The spellings, and whether the last token of each is a prefix."""
        friendly = self._friendly and isinstance(node, Word)
        key = node.text, node.prefix, friendly
        if key not in self._known:
            self._known[key] = self._spelled(node, friendly=friendly)
        return self._known[key]

    def _spelled(self, node: Word | Phrase, *, friendly: bool) -> tuple[list[Spelling], bool]:
        if node.prefix:
            found, is_beginning = begun_spellings(node.text, self._vocabulary, divided=friendly)
            if not is_beginning:
                self.cut.append(node.text)
            return found, is_beginning
        return spellings(node.text, self._vocabulary) if friendly else [as_typed(node.text)], False


def _leg(reader: Reader, atoms: Atoms, spell: Speller, *, with_own: bool) -> Leg:
    leg = Leg()
    leg.match = _Expression(spell, leg.terms).of(atoms.said)
    if not with_own:
        leg.match = f'({leg.match} NOT mark : "{tool_mark(OWN_SERVER)}")'
    if _height(leg.match) > _HIGHEST:
        raise UsageError("this query is too deeply nested; leave some parentheses out")
    folder = folder_of(node for node, negated in atoms.fields if not negated)
    compiler = Compiler(reader, SESSIONS, folder)
    for node, negated in atoms.fields:
        _ask(compiler, leg, node, negated=negated)
    return leg


def _joined(texts: tuple[tuple[Node, bool], ...]) -> Node:
    parts: list[Node] = []
    for node, negated in texts:
        if negated:
            parts.append(Not(node))
        elif isinstance(node, And):
            parts += node.nodes
        elif not isinstance(node, Everything):
            parts.append(node)
    if not parts:
        return Everything()
    return And(tuple(parts)) if len(parts) > 1 else parts[0]


def _ask(compiler: Compiler, leg: Leg, node: Field, *, negated: bool) -> None:
    """Add the conditions of a field that is not a mark in the full text."""
    meaning = meaning_of(node)
    if meaning.text is not None:
        asked = meaning.text(compiler, node)
        leg.rows.append(asked.negated() if negated else asked)
        if negated:
            return
        if meaning.transcript is not None:
            leg.transcripts.append(meaning.transcript(compiler, node))
            return
    elif meaning.transcript is not None:
        asked = meaning.transcript(compiler, node)
        leg.transcripts.append(asked.negated() if negated else asked)
        leg.only_agents = leg.only_agents or not negated
        return
    ids = compiler.session_ids(node)  # texts without a known session match only negated fields
    leg.sessions.append(Condition(f"{'NOT ' * negated}IN ({ids.sql})", ids.values))


# -- the full-text expression


class _Expression:
    """Writes FTS5 expressions, and records which phrase belongs to which term."""

    def __init__(self, spell: Speller, terms: list[Term]) -> None:
        self._spell = spell
        self._terms = terms
        self._phrases = 0

    def of(self, node: Node, *, wanted: bool = True) -> str:
        """The expression; `wanted` is False inside a NOT, where nothing is highlighted."""
        match node:
            case Word() | Phrase():
                rows, prefix = self._spell(node)
                return self._term(node.text, rows, prefix=prefix, wanted=wanted)
            case Near(words, distance):
                rows = [as_typed(word) for word in words]
                for word, row in zip(words, rows, strict=True):
                    self._note(word, [row], prefix=False, wanted=wanted)
                return f"body : NEAR({' '.join(_phrase(row) for row in rows)}, {distance})"
            case And(nodes):
                return self._all(nodes, wanted=wanted)
            case Or(nodes):
                either = self._each(nodes, wanted=wanted)
                return either[0] if len(either) == 1 else f"({' OR '.join(either)})"
            case Not():
                return self._all((node,), wanted=wanted)
            case Everything():
                return self._marked(ANY_KIND)
            case _:
                mark = meaning_of(node).mark
                if mark is None:
                    raise TypeError(node)
                return self._marked(mark(node))

    def _each(self, nodes: Sequence[Node], *, wanted: bool) -> list[str]:
        """The expressions of several nodes, each once: `a`, `A` and `"a"` mean the same to FTS5."""
        found: dict[str, None] = {}
        for node in nodes:
            phrases, terms = self._phrases, len(self._terms)
            expression = self.of(node, wanted=wanted)
            if expression in found:
                self._phrases = phrases
                del self._terms[terms:]
            found[expression] = None
        return list(found)

    def _all(self, nodes: tuple[Node, ...], *, wanted: bool) -> str:
        yes = self._each([node for node in nodes if not isinstance(node, Not)], wanted=wanted)
        # Phrases are numbered in the order of the expression, so required terms come first there as well.
        if not yes:
            yes = [self._marked(ANY_KIND)]
        no = self._each([node.node for node in nodes if isinstance(node, Not)], wanted=False)
        asked = yes[0] if len(yes) == 1 else f"({' AND '.join(yes)})"
        if not no:
            return asked
        refused = no[0] if len(no) == 1 else f"({' OR '.join(no)})"
        return f"({asked} NOT {refused})"

    def _term(self, text: str, rows: list[Spelling], *, prefix: bool, wanted: bool) -> str:
        self._note(text, rows, prefix=prefix, wanted=wanted)
        star = " *" if prefix else ""
        return "(" + " OR ".join(f"body : {_phrase(row)}{star}" for row in rows) + ")"

    def _note(self, text: str, rows: list[Spelling], *, prefix: bool, wanted: bool) -> None:
        if wanted:
            numbers = tuple(range(self._phrases, self._phrases + len(rows)))
            self._terms.append(Term(text, tuple(rows), numbers, prefix))
        self._phrases += len(rows)

    def _marked(self, expression: str) -> str:
        self._phrases += expression.count('"') // 2
        return expression


_STEPS = r'"[^"]*"|\(|\)|\b(?:AND|OR|NOT)\b'


def _height(expression: str) -> int:
    """A parser's stack depth at the deepest point of an expression: parentheses, and operators awaiting their right side."""
    height = highest = waiting = 0
    around: list[int] = []
    for step in re.finditer(_STEPS, expression):
        if step[0] == "(":
            around.append(waiting)
            height += 1 + waiting
            waiting = 0
        elif step[0] == ")":
            waiting = around.pop()
            height -= 1 + waiting
        elif step[0][0] != '"':
            waiting = 2
        highest = max(highest, height + waiting)
    return highest


def _phrase(row: Spelling) -> str:
    return '"' + " ".join(row) + '"'


def values_of(conditions: list[Condition]) -> tuple[Any, ...]:
    """The bound values of several conditions in order."""
    return tuple(value for condition in conditions for value in condition.values)
