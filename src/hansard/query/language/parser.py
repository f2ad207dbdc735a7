"""Parse the text of a query into its tree.

Three passes, each linear. `_Lexer` splits the text into tokens and pairs the parentheses: one at the start of a term
may open a group, which is only certain once its partner is found. `_settle` turns unpaired ones back into text, and
decides which ORs are between two operands. `_build` makes the tree, with an explicit stack instead of recursion.

Anything that is not an operator is text. The only errors are invalid field values, and queries that are too long or too
deep.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime, tzinfo

from hansard.lazy_regex import lazy_compile
from hansard.query.language.error import QueryError
from hansard.query.language.fields import FIELDS, Changed, FieldValue, File
from hansard.query.language.nodes import And, Near, Node, Not, Or, Phrase, Word, several

MOST_TERMS = 200
MOST_LEVELS = 50
FARTHEST = 1000
_DISTANCE = 10

_SPACE = lazy_compile(r"\s+")
_BORDER = lazy_compile(r"[\s()]")
_NEAR = r"near\(([^(),\"“”„]*)(?:,\s*([0-9]+)\s*)?\)(?=[\s)]|$)"  # compiled on first use
_QUOTES = '"“”„'
_LONGEST = max(map(len, FIELDS))


class _Token:
    """A piece of the query; `sign` is one of ( ) - OR, or empty for a node."""

    __slots__ = ("end", "nodes", "sign", "start")

    def __init__(self, sign: str, start: int, end: int, nodes: tuple[Node, ...] = ()) -> None:
        self.sign = sign
        self.start = start
        self.end = end
        self.nodes = nodes


_BARE = "word"  # a provisional sign: `_settle` joins adjacent text into one word


def parse(text: str, *, now: datetime, zone: tzinfo | None = None) -> Node:
    """The tree of a query; days are in `zone`, or in the system's own."""
    text = text.encode("utf-8", "replace").decode()  # replace lone surrogates, which no database can look up
    return _build(text, _settle(text, _Lexer(text, now, zone).run()))


class _Lexer:
    """Splits a query into tokens."""

    def __init__(self, text: str, now: datetime, zone: tzinfo | None) -> None:
        self.text = text
        self.now = now
        self.zone = zone
        self.tokens: list[_Token] = []
        self.open: list[_Token] = []  # parentheses not yet closed
        self.terms = 0

    def run(self) -> list[_Token]:
        """All tokens from left to right."""
        text = self.text
        at = 0
        fresh = True  # operators count only at the start of a term
        while at < len(text):
            if space := _SPACE.match(text, at):
                at = space.end()
                fresh = True
                continue
            char = text[at]
            if fresh and char == "-" and at + 1 < len(text) and not (text[at + 1].isspace() or text[at + 1] in "-)"):
                self.tokens.append(_Token("-", at, at + 1))
                at += 1
                char = text[at]
            if fresh and char == "(" and not text.startswith("()", at):
                at = self._begin(at)
            elif char in _QUOTES:
                at = self._phrase(at)
                fresh = False
            elif fresh and (end := self._near(at) or self._field(at)):
                at = end
                fresh = False
            else:
                at, fresh = self._word(at, fresh=fresh)
        for token in self.open:
            token.sign = _BARE
        return self.tokens

    def _add(self, token: _Token, terms: int = 1) -> None:
        self.terms += terms
        if self.terms > MOST_TERMS:
            raise _too_many(self.text, token.start)
        self.tokens.append(token)

    def _begin(self, at: int) -> int:
        token = _Token("(", at, at + 1)
        self.tokens.append(token)
        self.open.append(token)
        return at + 1

    def _close(self, at: int) -> None:
        token = self.open.pop()
        if self.tokens[-1] is token:  # nothing in between: both are text
            token.sign = _BARE
            self._add(_Token(_BARE, at, at + 1))
        else:
            self.tokens.append(_Token(")", at, at + 1))

    def _word(self, at: int, *, fresh: bool) -> tuple[int, bool]:
        """Take a word, or the parenthesis that ends a group; the next term begins right after the latter."""
        end = self._reach(at)
        if end == at:
            self._close(at)
            return at + 1, True
        if fresh and self.text[at:end] == "OR":
            self.tokens.append(_Token("OR", at, end))
        else:
            self._add(_Token(_BARE, at, end))
        return end, False

    def _reach(self, at: int) -> int:
        """Where the word that begins here ends: at whitespace, or at the parenthesis that closes its group."""
        text = self.text
        inside = 0
        for border in _BORDER.finditer(text, at):
            sign = border[0]
            if sign == "(":
                inside += 1
            elif sign != ")":
                return border.start()
            elif inside:
                inside -= 1
            elif self.open:
                after = border.end()
                if after == len(text) or text[after].isspace() or text[after] in "()":
                    return border.start()
                self.open.pop().sign = _BARE  # `(int)x`: a pair, but not a group
        return len(text)

    def _quoted(self, at: int) -> tuple[str, bool, int]:
        """The content of the quotes that begin here, whether a star follows, and where it all ends."""
        text = self.text
        if text[at] == '"':
            close = text.find('"', at + 1)
        else:
            typographic = re.compile('["“”]').search(text, at + 1)
            close = typographic.start() if typographic else -1
        if close < 0:
            return text[at + 1 :], False, len(text)
        star = text.startswith("*", close + 1)
        return text[at + 1 : close], star, close + 1 + star

    def _phrase(self, at: int) -> int:
        inner, star, end = self._quoted(at)
        if inner and not inner.isspace():
            self._add(_Token("", at, end, (Phrase(inner, star, at, end),)))
        elif self.tokens and self.tokens[-1].sign == "-" and self.tokens[-1].end == at:
            self.tokens.pop()
        return end

    def _near(self, at: int) -> int:
        if self.text[at : at + 5].lower() != "near(":
            return 0
        found = re.compile(_NEAR, re.IGNORECASE).match(self.text, at)
        words = tuple(found[1].split()) if found else ()
        if not found or len(words) < 2:
            return 0
        number = found[2]
        distance = _DISTANCE if number is None else FARTHEST if len(number) > 4 else min(int(number), FARTHEST)
        self._add(_Token("", at, found.end(), (Near(words, distance, at, found.end()),)), len(words))
        return found.end()

    def _field(self, at: int) -> int:
        colon = self.text.find(":", at, at + _LONGEST + 1)
        field = FIELDS.get(self.text[at:colon].lower()) if colon > 0 else None
        begin = colon + 1
        if (
            not field
            or begin == len(self.text)
            or self.text[begin].isspace()
            or self.text.startswith((":", "//"), begin)
        ):
            return 0  # also `File::open` and `file:///etc`
        prefix = False
        if self.text[begin] in _QUOTES:
            value, prefix, end = self._quoted(begin)
            begin += 1
        else:
            end = self._reach(begin)
            value = self.text[begin:end]
        if not value or value.isspace():
            return 0
        given = FieldValue(value, prefix, self.text, at, end, begin, self.now, self.zone)
        nodes: tuple[Node, ...] = (*field.read(given),)
        self._add(_Token("", at, end, nodes), len(nodes))
        return end


def _settle(text: str, tokens: list[_Token]) -> list[_Token]:
    """Reduce to operators and nodes: adjacent text becomes one word, and so does an OR without two operands."""
    settled: list[_Token] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token.sign == "OR" and _between(settled, tokens[at : at + 1]):
            settled.append(token)
            continue
        if token.sign not in (_BARE, "OR"):
            settled.append(token)
            continue
        start, end = token.start, token.end
        while at < len(tokens) and tokens[at].start == end and tokens[at].sign in (_BARE, "OR"):
            end = tokens[at].end
            at += 1
        if settled and settled[-1].sign == "-" and not _findable(text[start:end]):
            start = settled.pop().start  # `->` is text, not an exclusion
        settled.append(_Token("", start, end, (_bare(text, start, end),)))
    return settled


def _between(before: list[_Token], after: list[_Token]) -> bool:
    return bool(before and after) and before[-1].sign in ("", ")") and after[0].sign not in ("OR", ")")


def _bare(text: str, start: int, end: int) -> Word:
    prefix = end - start > 1 and text[end - 1] == "*" and unicodedata.category(text[end - 2])[0] in "LNM"
    return Word(text[start : end - prefix], prefix, start, end)


def _findable(text: str) -> bool:
    """Whether a text has anything besides punctuation: letters, numbers, emoji."""
    return any(kind[0] in "LNM" or kind == "So" for kind in map(unicodedata.category, text))


def _build(text: str, tokens: list[_Token]) -> Node:
    """The tree of settled tokens."""
    group: list[list[Node]] = [[]]  # operands of OR, each a list of nodes to AND
    around: list[tuple[list[list[Node]], int | None]] = []
    negation: int | None = None
    terms = 0
    for token in tokens:
        if token.sign == "-":
            negation = token.start
            continue
        if token.sign == "OR":
            group.append([])
            continue
        if token.sign == "(":
            if len(around) == MOST_LEVELS:
                raise QueryError(
                    f"too deeply nested: parentheses go {MOST_LEVELS} deep at most; leave some out", text, token.start
                )
            around.append((group, negation))
            group, negation = [[]], None
            continue
        if token.sign == ")":
            node = _joined(group)
            group, negation = around.pop()
        else:
            node = several(Or, token.nodes)
            terms += 1
            if terms > MOST_TERMS:  # the lexer did not count what only now became text
                raise _too_many(text, token.start)
        if negation is not None:
            node = Not(node, negation, token.end)
            negation = None
        file = group[-1][-1] if group[-1] else None
        if isinstance(file, File) and isinstance(node, Word) and node.text == "changed" and not node.prefix:
            group[-1][-1] = Changed(file.value, file.start, token.end)
        else:
            group[-1].append(node)
    return _joined(group)


def _too_many(text: str, column: int) -> QueryError:
    return QueryError(
        f'too many terms: a query has at most {MOST_TERMS}; search for fewer words, or for a "phrase"', text, column
    )


def _joined(sides: list[list[Node]]) -> Node:
    return several(Or, [several(And, side) for side in sides])
