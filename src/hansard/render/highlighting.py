"""Syntax highlighting: Pygments' tokens as runs of text, each with a CSS class of a small palette or with none."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from hansard.lazy_regex import lazy_compile
from hansard.thread.tool_views import LANGUAGES

LONGEST = 4_000
"""Characters of code that is coloured: Pygments does about a megabyte a second."""
# Many lexers take time with the square of a long line, of many lines, or of many words without a sign between them. Code
# that looks like code stays within these; what is beyond them is shown without colours.
_WIDEST = 300
_MOST_LINES = 250
_MOST_WORDS = 1_500_000  # the sum of the squares of their lengths
_WORDS = lazy_compile(r"[\w\s&*.,:<>-]+")
_NOT_CODE = frozenset({"", "text", "markdown"})
_ANY_OTHER = frozenset({"rst"})  # inside it the lexer of any language is asked for by its name
_NEVER_END = frozenset({"fish", "scala"})  # on some twenty backslashes behind a quote
_OTHERS = frozenset(
    "asm awk cython django emacs-lisp fortran glsl hlsl html+jinja jinja llvm matlab mysql nasm nginx pascal postgresql pycon"
    " scheme tcl verilog vim".split()
)

Run = tuple[str, str]  # class, text

# What a type of token is drawn as; those of its kind that are not named follow it.
_CLASSES = {
    "Comment": "c",
    "Comment.Preproc": "k",
    "Keyword": "k",
    "Keyword.Constant": "m",
    "Keyword.Type": "t",
    "Operator.Word": "k",
    "Literal.String": "s",
    "Literal.String.Doc": "c",
    "Literal.String.Interpol": "v",
    "Literal.String.Regex": "m",
    "Literal.Number": "m",
    "Literal.Date": "m",
    "Name.Builtin": "b",
    "Name.Class": "t",
    "Name.Constant": "m",
    "Name.Decorator": "d",
    "Name.Exception": "t",
    "Name.Function": "f",
    "Name.Attribute": "d",
    "Name.Tag": "k",
    "Name.Variable": "v",
    "Generic.Deleted": "del",
    "Generic.Inserted": "ins",
    "Generic.Heading": "h",
    "Generic.Subheading": "h",
    "Generic.Strong": "h",
}
CLASSES = frozenset(_CLASSES.values())


def coloured(text: str, language: str) -> list[Run]:
    """Code as runs; as one run without a class where it is not to be coloured."""
    if not text:
        return []
    name = lexer_name(text, language)
    if not name:
        return [("", text)]
    runs: list[Run] = []
    before, current = 0, ""
    for place, kind in _lexer(name)(text + "\n"):
        if place > before:
            runs.append((current, text[before:place]))
            before = place
        current = kind
    if before < len(text):
        runs.append((current, text[before:]))
    return runs


def lexer_name(text: str, language: str) -> str:
    """The name of the lexer that colours a piece of code, empty where it is not to be coloured."""
    language = language.lower()
    if len(text) > LONGEST or language not in _lexed():
        return ""
    if language == "json":  # by hand and in linear time
        return language
    lines = text.split("\n")
    is_code = (
        len(lines) <= _MOST_LINES
        and max(map(len, lines)) <= _WIDEST
        and (len(text) ** 2 <= _MOST_WORDS or sum(len(words) ** 2 for words in _WORDS.findall(text)) <= _MOST_WORDS)
    )
    return language if is_code else ""


@cache
def _lexed() -> frozenset[str]:
    """The names of the languages that may be coloured, as Pygments has them."""
    from pygments.lexers import LEXERS  # type: ignore[import-untyped]

    wanted = (LANGUAGES | _OTHERS) - _NOT_CODE - _NEVER_END - _ANY_OTHER
    return frozenset(name for _, _, names, _, _ in LEXERS.values() if wanted.intersection(names) for name in names)


@cache
def _class_of(kind: object) -> str:
    return look_up(kind, _CLASSES)


def look_up(kind: object, styles: Mapping[str, str]) -> str:
    """The style of a type of token; types that are not named follow the one that they are a kind of."""
    name = str(kind).removeprefix("Token.").removeprefix("Token")
    while name:
        if name in styles:
            return styles[name]
        name = name.rpartition(".")[0]
    return ""


@cache
def _lexer(language: str) -> Callable[[str], Marks]:
    from pygments.lexer import RegexLexer  # type: ignore[import-untyped]
    from pygments.lexers import find_lexer_class_by_name

    kind = find_lexer_class_by_name(language)
    if issubclass(kind, RegexLexer) and "_tokens" not in vars(kind) and not getattr(kind, "token_variants", False):
        kind._all_tokens, kind._tmpname, kind._tokens = {}, 0, _StatesOnDemand(kind)  # noqa: SLF001 - as its metaclass does
    return marks_by(kind(), _class_of)


class _StatesOnDemand(dict[str, Any]):
    """The states of a lexer, whose expressions are compiled when they are first needed: most text needs few of them."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self._defined = kind.get_tokendefs()
        self._lock = threading.Lock()

    def __missing__(self, state: str) -> Any:
        with self._lock:
            made: dict[str, Any] = {}
            self._kind._process_state(self._defined, made, state)  # noqa: SLF001 - the metaclass' own way
            self.update(made)
        return self[state]


# -- Pygments' lexers, faster: a rule is only tried where the next character can begin a match of it.
#
# A lexer tries every rule of its state in turn, forty and more in some, at each token. The set of characters that a rule's
# expression can begin with is computed once (any, where that is not certain), and each state gets a list of rules per character,
# in their order. The tokens are exactly those of Pygments; only the places where their CSS classes change are kept.
#
# It reaches into private parts of `re` and Pygments, and falls back to plain Pygments where these have another shape.
# docs/decisions/0042-syntax-highlighting.md has the measurement. To measure again: `make bench ARGS="--only reading"`, once as
# it is and once with `marks_by` always returning `_plainly`.

Classes = Callable[[object], str]  # of a type of token
Marks = list[tuple[int, str]]  # where a class begins

# Sets of characters as bits: one for each of ASCII, the last for any other character and for the end of the text.
_OTHER = 128
_BEYOND = 1 << _OTHER
_ANY = (1 << _OTHER + 1) - 1
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_IGNORECASE = int(re.IGNORECASE)  # a number: members of an enumeration take ten times as long


def _bits(matches: Callable[[str], object]) -> int:
    return sum(1 << code for code in range(128) if matches(chr(code)))


_CATEGORIES = {
    name: bits
    for kind, pattern in (("DIGIT", r"\d"), ("WORD", r"\w"), ("SPACE", r"\s"))
    for bits in (_bits(re.compile(pattern).match),)
    for name, bits in ((f"CATEGORY_{kind}", bits | _BEYOND), (f"CATEGORY_NOT_{kind}", _ANY & ~bits))
}


def marks_by(lexer: Any, class_of: Classes) -> Callable[[str], Marks]:
    """What finds the places in a text where the class of its tokens changes; white space belongs to what stands before it."""
    from pygments.lexer import RegexLexer

    if type(lexer).get_tokens_unprocessed is RegexLexer.get_tokens_unprocessed:
        try:
            return _Tables(lexer, class_of).marks
        except (AttributeError, ImportError):  # Python's own parser of expressions has no promised shape
            pass
    return lambda text: _plainly(lexer, class_of, text)


def _plainly(lexer: Any, class_of: Classes, text: str) -> Marks:
    """The same by a lexer that has a way of its own."""
    marks: Marks = []
    current = ""
    for position, token, value in lexer.get_tokens_unprocessed(text):
        found = class_of(token)
        if value and found != current and not value[0].isspace():
            marks.append((position, found))
            current = found
    return marks


class _Tables:
    """A lexer's rules by state and by the character at hand: the match, the class or what else is to be done, the next state."""

    def __init__(self, lexer: Any, class_of: Classes) -> None:
        self._lexer = lexer
        self._class_of = class_of
        self._rules: dict[str, Any] = lexer._tokens  # noqa: SLF001 - where RegexLexer keeps them
        self._by_state: dict[str, _Table] = {}
        self._table("root")

    def _table(self, state: str) -> _Table:
        table = self._by_state.get(state)
        if table is None:
            table = self._by_state[state] = _Table(self._rules[state], self._class_of)
        return table

    def marks(self, text: str) -> Marks:
        """The places, by the rules of RegexLexer.get_tokens_unprocessed."""
        marks: Marks = []
        current = ""
        stack = ["root"]
        table = self._table("root")
        tables = self._by_state
        codes = (text if text.isascii() else _NOT_ASCII.sub("\x80", text)).encode("latin-1") + b"\x80"
        position, end = 0, len(text)
        while True:
            code = codes[position]
            rules = table[code]
            if rules is _LEAVE:
                stack.pop()
                table = tables.get(stack[-1]) or self._table(stack[-1])
                continue
            for matches, found, action, then in rules:
                match = matches(text, position)
                if match is None:
                    continue
                after = match.end()
                if found is not None:
                    if found != current and position < after and not text[position].isspace():
                        marks.append((position, found))
                        current = found
                elif action is not None:
                    for place, token, value in action(self._lexer, match):
                        kind = self._class_of(token)
                        if kind != current and value and not value[0].isspace():
                            marks.append((place, kind))
                            current = kind
                position = after
                if then is not None:
                    if then.__class__ is str:  # nearly always
                        stack.append(then)
                    else:
                        _move(stack, then)
                    table = tables.get(stack[-1]) or self._table(stack[-1])
                break
            else:
                if position >= end:
                    return marks
                if code == 10:
                    stack = ["root"]
                    table = self._table("root")
                elif current and not text[position].isspace():
                    marks.append((position, ""))
                    current = ""
                position += 1


_LEAVE: list[Any] = []
"""In a table: at this character there is nothing to be done but to go back to the state before."""


class _Table(dict[int, list[Any]]):
    """The rules of a state by the character at hand, each list made when its character is first met."""

    def __init__(self, rules: Iterable[Any], class_of: Classes) -> None:
        from pygments.token import _TokenType  # type: ignore[import-untyped]

        self._rules: list[tuple[int, Any]] = []
        for matches, action, then in rules:
            is_type = isinstance(action, _TokenType)
            rule = matches, class_of(action) if is_type else None, None if is_type else action, _next(then)
            self._rules.append((_beginnings(matches.__self__), rule))

    def __missing__(self, code: int) -> list[Any]:
        rules = [rule for bits, rule in self._rules if bits >> code & 1]
        self[code] = made = _LEAVE if rules and _leaves(*rules[0]) else rules
        return made


def _leaves(matches: Any, found: str | None, action: Any, then: Any) -> bool:
    """Whether a rule matches nothing, everywhere, and ends the state, which is never the first."""
    return found is None and action is None and then == -1 and not matches.__self__.pattern


def _next(then: Any) -> Any:
    """What a rule does to the stack: a text where that is a state to go to, else what `_move` takes."""
    states = (then,) if isinstance(then, str) else then
    return states[0] if isinstance(states, tuple) and len(states) == 1 and states[0][0] != "#" else states


def _move(stack: list[str], then: int | tuple[str, ...]) -> None:
    """Change the stack of states as a rule says."""
    if isinstance(then, int):
        if abs(then) >= len(stack):
            del stack[1:]
        else:
            del stack[then:]
        return
    for state in then:
        if state == "#pop":
            if len(stack) > 1:
                stack.pop()
        elif state == "#push":
            stack.append(stack[-1])
        else:
            stack.append(state)


@cache
def _beginnings(pattern: re.Pattern[str]) -> int:
    """The characters that a match can begin with, and more where that is hard to tell."""
    import re._parser as parser  # type: ignore[import-not-found]

    try:
        parsed = parser.parse(pattern.pattern, pattern.flags)
        bits, may_be_empty = _first(parsed, pattern.flags)
        return (_ANY if may_be_empty else bits) & _looked_ahead(parsed, pattern.flags)
    except (ValueError, TypeError, KeyError):
        return _ANY


def _looked_ahead(sequence: Any, flags: int) -> int:
    """The characters that the lookaheads at the beginning of a sequence allow."""
    bits = _ANY
    for operator, value in sequence:
        name = str(operator)
        if name not in ("AT", "ASSERT", "ASSERT_NOT"):
            break
        if name == "ASSERT" and value[0] > 0:
            more, may_be_empty = _first(value[1], flags)
            bits &= _ANY if may_be_empty else more
    return bits


def _first(sequence: Any, flags: int) -> tuple[int, bool]:
    """The characters that a sequence can begin with, and whether it can be empty."""
    bits = 0
    for operator, value in sequence:
        name = str(operator)
        if name in ("AT", "ASSERT", "ASSERT_NOT"):
            continue
        more, empty = _one(name, value, flags)
        bits |= more
        if not empty:
            return bits, False
    return bits, True


def _one(name: str, value: Any, flags: int) -> tuple[int, bool]:
    if name == "LITERAL":
        return _character(value, flags), False
    if name == "IN":
        return _class(value, flags), False
    if name == "BRANCH":
        found = [_first(branch, flags) for branch in value[1]]
        bits = 0
        for more, _ in found:
            bits |= more
        return bits, any(empty for _, empty in found)
    if name == "SUBPATTERN":
        _, added, dropped, inner = value
        return _first(inner, (flags | added) & ~dropped)
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        least, _, inner = value
        bits, empty = _first(inner, flags)
        return bits, empty or least == 0
    return _ANY, name not in ("ANY", "NOT_LITERAL")


def _character(code: int, flags: int) -> int:
    if code >= _OTHER:
        return _ANY if flags & _IGNORECASE else _BEYOND
    bits = 1 << code
    if flags & _IGNORECASE and chr(code).isalpha():
        bits |= 1 << ord(chr(code).lower()) | 1 << ord(chr(code).upper()) | _BEYOND
    return bits


def _class(members: Any, flags: int) -> int:
    if flags & _IGNORECASE and any(str(operator) == "RANGE" for operator, _ in members):
        return _ANY
    bits, negated = 0, False
    for operator, value in members:
        name = str(operator)
        if name == "NEGATE":
            negated = True
        elif name == "LITERAL":
            bits |= _character(value, flags)
        elif name == "RANGE":
            low, high = value
            bits |= sum(1 << code for code in range(low, min(high, _OTHER - 1) + 1)) | (
                _BEYOND if high >= _OTHER else 0
            )
        elif name == "CATEGORY":
            bits |= _CATEGORIES[str(value)]
        else:
            return _ANY
    if negated:
        return _ANY if flags & _IGNORECASE else _ANY & ~bits | _BEYOND
    return bits
