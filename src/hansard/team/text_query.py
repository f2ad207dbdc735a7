"""Queries about texts of a team's database: the words and marks of each alternative as a tsquery, and all else as SQL.

The index has words without their places. So a phrase, `near()` and whatever has one of them inside is looked up by its words, and then checked
in the rows that have these.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import permutations
from typing import Any, NamedTuple

from msgspec import Struct, field

from hansard.index.text_tags import kind_mark, tool_mark
from hansard.model.tools import OWN_SERVER
from hansard.query.compile import SESSIONS, Condition, Meaning, key_of
from hansard.query.language import And, Everything, Kind, Near, Node, Not, Or, Phrase, Word, walk
from hansard.query.language.fields import After, Before, Field, On, Since
from hansard.query.search.plan import FRIENDLY_WORDS, Atoms, Speller, Term, alternatives, names_own_tools, prepare
from hansard.query.search.spellings import LONGEST, SHORTEST, Spelling, as_typed
from hansard.team.compile import TEAM_MEANINGS, TIME, TeamCompiler
from hansard.team.reader import TeamReader
from hansard.team.texts import ANY, PRINTED, TEXTS
from hansard.team.words import LONGEST_WORD

_MARK = re.compile(r'"([^"]+)"( \*)?')
_MOST_REPEATED = 255  # in a regular expression of PostgreSQL
_MOST_NEAR, _MOST_STATES = 4, 1000  # words of near(), and repetitions in all their orders
_EVERY = f"'={ANY}'"


class TextLeg(Struct):
    """One alternative of a query; everything in it must hold."""

    wanted: str = ""  # a tsquery
    is_indexed: bool = True  # False: no word is asked for
    terms: list[Term] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)  # a tsquery for each term
    sessions: list[Condition] = field(default_factory=list)  # over the view `sessions`
    rows: list[Condition] = field(default_factory=list)  # over a row t of the texts
    low: int | None = None  # milliseconds: said at or after
    high: int | None = None  # before

    def source(self, sessions: Sequence[str] | None, machines: Sequence[int] | None) -> Condition:
        """The rest of a SELECT of the rows t that match: their places, sessions, kinds and times."""
        values: tuple[Any, ...] = (sessions, machines)
        terms = [condition.sql for condition in self.rows]
        more = tuple(value for condition in self.rows for value in condition.values)
        for sign, at in ((">=", self.low), ("<", self.high)):
            if at is not None:
                terms.append(f"t.at {sign} {TIME}")
                more += (at,)
        where = " AND ".join(terms) or "true"
        if self.is_indexed:
            joined = " t"
            if self.rows:  # each is looked up: the planner does not know how few there are
                same = " AND ".join(f"t.{name} = m.{name}" for name in TEXTS.key)
                joined = f" m CROSS JOIN LATERAL (SELECT * FROM {TEXTS.name} t WHERE {same} OFFSET 0) t"
            sql = f"FROM match_texts(?::tsquery, ?::text[], ?::integer[]){joined} WHERE {where}"
            return Condition(sql, (self.wanted, *values, *more))
        for column, wanted in (("session_id", sessions), ("machine", machines)):
            if wanted is not None:
                where += f" AND t.{column} = ANY (?)"
                more += (wanted,)
        return Condition(f"FROM {TEXTS.name} t WHERE {where}", more)


class TextPlan(Struct):
    """All alternatives of a query, and what the user should know about it."""

    legs: list[TextLeg]
    notes: list[str]


def plan_texts(reader: TeamReader, node: Node, *, command_output: bool = True) -> TextPlan:
    """What a query asks of the texts; `reader` finds the values that SQL cannot compare."""
    wanted, notes = prepare(node)
    if wanted is None:
        return TextPlan([], notes)
    spell = Speller.for_query(wanted, _NoWords())
    friendly = sum(isinstance(part, Word) for part in walk(wanted)) <= FRIENDLY_WORDS
    without = [] if names_own_tools(wanted) else [tool_mark(OWN_SERVER)]
    if not any(isinstance(part, Kind) and part.value == "reminder" for part in walk(wanted)):
        without.append(kind_mark("reminder"))
    if not command_output:
        without.append(PRINTED)
    words = _Words(spell, friendly=friendly)
    return TextPlan([_leg(reader, words, atoms, without) for atoms in alternatives(wanted)], notes)


class _NoWords:
    """The vocabulary of a database that tells nobody which words occur: no word is divided, and all of its forms are looked up."""

    def has(self, row: Spelling, times: int = 1) -> bool:  # noqa: ARG002 - the protocol's signature
        """Whether it is common; then it is not divided into three or four."""
        return times > 1

    def of(self, rows: Sequence[Spelling]) -> list[Spelling]:
        """The forms of one word; two words side by side would have to be checked in every row that has both."""
        return [row for row in rows if len(row) == 1]

    def begun(self, beginning: str) -> list[str] | None:
        """All prefixes are looked up."""
        del beginning
        return None


class _Match(NamedTuple):
    """What a part of a query asks for."""

    wanted: str  # a tsquery; empty: every text
    is_exact: bool  # False: the tsquery finds more
    check: Condition  # exact, over a row t of the texts


def _leg(reader: TeamReader, words: _Words, atoms: Atoms, without: Sequence[str]) -> TextLeg:
    leg = TextLeg()
    match = words.of(atoms.said, leg)
    if not match.is_exact:
        leg.rows.append(match.check)
    excluded = [_negated(_marked_as(f"={mark}")) for mark in without]
    leg.is_indexed = match.wanted not in ("", _EVERY)
    if leg.is_indexed:
        leg.wanted = " & ".join([match.wanted, *(part.wanted for part in excluded)])
    else:
        leg.rows += [part.check for part in excluded]
    compiler = TeamCompiler(reader, SESSIONS)
    for node, negated in atoms.fields:
        _ask(compiler, leg, node, negated=negated)
    return leg


def _ask(compiler: TeamCompiler, leg: TextLeg, node: Field, *, negated: bool) -> None:
    """Add the condition of a field that is not a mark."""
    if not negated and isinstance(node, Since | After | Before | On):
        low = node.first if isinstance(node, On) else node.at if isinstance(node, Since | After) else None
        high = node.last if isinstance(node, On) else node.at if isinstance(node, Before) else None
        leg.low = max(filter(None, (leg.low, low)), default=None)
        leg.high = min(filter(None, (leg.high, high)), default=None)
        return
    meaning: Meaning = TEAM_MEANINGS[key_of(node)]
    if meaning.text is not None:
        asked, found = meaning.text(compiler, node), leg.rows
    else:
        ids = compiler.session_ids(node)
        asked, found = Condition(f"session_id IN ({ids.sql})", ids.values), leg.sessions
    found.append(asked.negated() if negated else asked)


class _Words:
    """Writes tsqueries, with the checks that they need."""

    def __init__(self, spell: Speller, *, friendly: bool) -> None:
        self._spell = spell
        self._friendly = friendly

    def of(self, node: Node, leg: TextLeg | None) -> _Match:
        """What a node asks for; its terms are noted in `leg`, none inside of a NOT."""
        match node:
            case Word() | Phrase():
                return self._term(node, leg)
            case Near(words, distance):
                rows = [as_typed(word) for word in words]
                asked = [_spelled(row).wanted for row in rows]
                for word, row, one in zip(words, rows, asked, strict=True):
                    _note(leg, word, [row], one, prefix=False)
                wanted = " & ".join(asked)
                check = _near([" ".join(map(_cut, row)) for row in rows], distance)
                return _Match(wanted, is_exact=False, check=check)
            case And(nodes):
                return self._all(nodes, leg)
            case Or(nodes):
                return _either([self.of(part, leg) for part in nodes])
            case Not():
                return self._all((node,), leg)
            case Everything():
                return _Match(_EVERY, is_exact=True, check=Condition("true"))
            case _:
                return _marked(node)

    def _all(self, nodes: Sequence[Node], leg: TextLeg | None) -> _Match:
        parts = [self.of(node, leg) for node in nodes if not isinstance(node, Not)]
        if not any(part.wanted for part in parts):
            parts.append(
                _Match(_EVERY, is_exact=True, check=Condition("true"))
            )  # a tsquery of exclusions would read the whole index
        parts += [_negated(self.of(node.node, None)) for node in nodes if isinstance(node, Not)]
        wanted = " & ".join(part.wanted for part in parts if part.wanted)
        checks = [part.check for part in parts]
        wanted = wanted if len(parts) == 1 else f"({wanted})"
        return _Match(wanted, all(part.is_exact for part in parts), _joined(checks, " AND "))

    def _term(self, node: Word | Phrase, leg: TextLeg | None) -> _Match:
        rows, prefix = self._spell(node)
        found = [_spelled(row, prefix=prefix) for row in rows]
        name = "".join(rows[0])
        if self._friendly and isinstance(node, Word) and SHORTEST <= len(name) <= LONGEST:
            found.append(_marked_as(f"~{name}", prefix=prefix))  # in names of several words
        match = _either(found)
        _note(leg, node.text, rows, match.wanted, prefix=prefix)
        return match


def _note(leg: TextLeg | None, typed: str, rows: Sequence[Spelling], asked: str, *, prefix: bool) -> None:
    if leg is not None:
        first = sum(len(term.phrases) for term in leg.terms)
        leg.terms.append(Term(typed, tuple(rows), tuple(range(first, first + len(rows))), prefix))
        leg.asked.append(asked)


def _near(words: list[str], distance: int) -> Condition:
    """Words with a limited number of others between the first and the last."""
    exact = Condition("is_near(t.words, ?::text[], ?)", (words, distance))
    orders = list(permutations(map(re.escape, words))) if len(words) <= _MOST_NEAR else []
    if len(orders) * distance > _MOST_STATES or distance > _MOST_REPEATED or not orders:
        return exact
    # A regular expression is fifty times as fast, and says it all of two words.
    between = f" ([^ ]+ ){{0,{distance}}}"
    rough = Condition("t.words ~ ?", ("|".join(f" {between.join(order)} " for order in orders),))
    return rough if len(words) == 2 else _joined([rough, exact], " AND ")


def _spelled(row: Spelling, *, prefix: bool = False) -> _Match:
    """A word or words in a row; the last one may be the beginning of another."""
    last = len(row) - 1
    wanted = " & ".join(lexeme(token, prefix=prefix and number == last) for number, token in enumerate(row))
    text = f" {' '.join(map(_cut, row))}{'' if prefix else ' '}"
    return _Match(f"({wanted})" if last else wanted, not last, Condition("strpos(t.words, ?) > 0", (text,)))


def _marked(node: Node) -> _Match:
    mark = TEAM_MEANINGS[key_of(node)].mark  # type: ignore[arg-type]
    if mark is None:
        raise TypeError(node)
    return _either([_marked_as(f"={word}", prefix=bool(star)) for word, star in _MARK.findall(mark(node))])


def _marked_as(mark: str, *, prefix: bool = False) -> _Match:
    check = Condition("strpos(' ' || t.marks || ' ', ?) > 0", (f" {mark}{'' if prefix else ' '}",))
    return _Match(_quoted(mark, prefix=prefix), is_exact=True, check=check)


def _either(parts: list[_Match]) -> _Match:
    wanted = " | ".join(dict.fromkeys(part.wanted for part in parts)) if all(part.wanted for part in parts) else ""
    return _Match(
        f"({wanted})" if wanted else "",
        all(part.is_exact for part in parts),
        _joined([part.check for part in parts], " OR "),
    )


def _negated(part: _Match) -> _Match:
    """The opposite; what the tsquery finds too much would be excluded too much, so then it says nothing."""
    wanted = f"!{part.wanted}" if part.is_exact and part.wanted else ""
    return _Match(wanted, part.is_exact and bool(part.wanted), part.check.negated())


def _joined(checks: Sequence[Condition], word: str) -> Condition:
    return Condition(
        f"({word.join(check.sql for check in checks)})", tuple(value for check in checks for value in check.values)
    )


def _cut(token: str) -> str:
    return token[:LONGEST_WORD]


def lexeme(token: str, *, prefix: bool = False) -> str:
    """A token in a tsquery."""
    return _quoted(_cut(token), prefix=prefix)


def _quoted(lexeme: str, *, prefix: bool = False) -> str:
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'{':*' * prefix}"
