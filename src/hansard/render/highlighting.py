"""Syntax highlighting: Pygments' tokens as runs of text, each with a CSS class of a small palette or with none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import groupby
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
    from pygments.lexers import find_lexer_class_by_name

    return marks_by(find_lexer_class_by_name(language)(), _class_of)


# -- Pygments' lexers, faster: all rules of a state are one expression.
#
# A lexer tries every rule of its state in turn, forty and more in some, at each token. As alternatives of one expression
# they are tried in the same order, without leaving `re`, which skips those that cannot begin with the next character; an
# empty group after each shows which one matched. The tokens are exactly those of Pygments; only the places where their
# CSS classes change are kept. docs/decisions/0042-syntax-highlighting.md has the measurement.

Classes = Callable[[object], str]  # of a type of token
Marks = list[tuple[int, str]]  # where a class begins
_ALONE = re.compile(r"\\[1-9]|\(\?(?:P|\(|[aiLmsux]+\))")  # refers to its own groups, or sets flags for all of them


def marks_by(lexer: Any, class_of: Classes) -> Callable[[str], Marks]:
    """What finds the places in a text where the class of its tokens changes; white space belongs to what is before it."""
    from pygments.lexer import RegexLexer  # type: ignore[import-untyped]

    if type(lexer).get_tokens_unprocessed is RegexLexer.get_tokens_unprocessed:
        return _StateMachine(lexer, class_of).marks
    return lambda text: _plainly(lexer, class_of, text)


def _plainly(lexer: Any, class_of: Classes, text: str) -> Marks:
    """The same for a lexer that does not use these rules."""
    marks: Marks = []
    current = ""
    for position, token, value in lexer.get_tokens_unprocessed(text):
        found = class_of(token)
        if value and found != current and not value[0].isspace():
            marks.append((position, found))
            current = found
    return marks


class _StateMachine:
    """A lexer's states, each made when it is first needed: most text needs few of them."""

    def __init__(self, lexer: Any, class_of: Classes) -> None:
        self._lexer = lexer
        self._class_of = class_of
        self._states: dict[str, list[_Choice]] = {}

    def _state(self, name: str) -> list[_Choice]:
        state = self._states.get(name)
        if state is None:
            state = self._states[name] = list(_choices(self._lexer._tokens[name], self._class_of))  # noqa: SLF001 - where RegexLexer keeps its rules
        return state

    def marks(self, text: str) -> Marks:
        """The places, by the rules of RegexLexer.get_tokens_unprocessed."""
        marks: Marks = []
        current = ""
        stack = ["root"]
        state = self._state("root")
        position, end = 0, len(text)
        while True:
            for matches, rules in state:
                match = matches(text, position)
                if match is None:
                    continue
                again, found, action, then = rules[match.lastindex] if len(rules) > 1 else rules[None]
                after = match.end()
                if found is not None:
                    if found != current and position < after and not text[position].isspace():
                        marks.append((position, found))
                        current = found
                elif action is not None:
                    for place, token, value in action(self._lexer, again(text, position)):
                        kind = self._class_of(token)
                        if kind != current and value and not value[0].isspace():
                            marks.append((place, kind))
                            current = kind
                position = after
                if then is not None:
                    _move(stack, then)
                    state = self._state(stack[-1])
                break
            else:
                if position >= end:
                    return marks
                if text[position] == "\n":
                    stack = ["root"]
                    state = self._state("root")
                elif current and not text[position].isspace():
                    marks.append((position, ""))
                    current = ""
                position += 1


_Rule = tuple[Any, str | None, Any, Any]  # its own match, its class or else its callback, and the states that follow
_Choice = tuple[Callable[[str, int], re.Match[str] | None], dict[int | None, _Rule]]


def _choices(rules: Iterable[Any], class_of: Classes) -> Iterator[_Choice]:
    """The rules of a state as few expressions, each with its rules by the number of the group that ends them."""
    from pygments.token import _TokenType  # type: ignore[import-untyped]

    for (is_alone, flags), some in groupby(rules, lambda rule: _kind(rule[0].__self__)):
        made: dict[int | None, _Rule] = {}
        sources: list[str] = []
        count = 0
        for matches, action, then in some:
            is_type = isinstance(action, _TokenType)
            rule = matches, class_of(action) if is_type else None, None if is_type else action, then
            if is_alone:
                yield matches, {None: rule}
                continue
            count += matches.__self__.groups + 1
            made[count] = rule
            sources.append(f"(?:{matches.__self__.pattern})()")
        if len(made) == 1:
            yield next(iter(made.values()))[0], {None: next(iter(made.values()))}
        elif made:
            yield re.compile("|".join(sources), flags).match, made


def _kind(pattern: re.Pattern[str]) -> tuple[bool, int]:
    return _ALONE.search(pattern.pattern) is not None, pattern.flags


def _move(stack: list[str], then: str | int | tuple[str, ...]) -> None:
    """Change the stack of states as a rule says."""
    if isinstance(then, int):
        del stack[1 if abs(then) >= len(stack) else then :]
        return
    for state in (then,) if isinstance(then, str) else then:
        if state == "#pop":
            if len(stack) > 1:
                stack.pop()
        else:
            stack.append(stack[-1] if state == "#push" else state)
