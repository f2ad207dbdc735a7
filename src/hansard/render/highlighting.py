"""Syntax highlighting: Pygments' tokens as runs of text, each with a CSS class of a small palette or with none."""

from __future__ import annotations

from collections.abc import Mapping
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
    """Code as runs; a single run without a class if it is not highlighted."""
    if not text:
        return []
    name = lexer_name(text, language)
    if not name:
        return [("", text)]
    runs: list[Run] = []
    before, current = 0, ""
    for place, token, value in lexer_of(name).get_tokens_unprocessed(text + "\n"):
        kind = _class_of(token)
        if kind == current or not value or value[0].isspace():
            continue  # white space belongs to what is before it
        if place > before:
            runs.append((current, text[before:place]))
            before = place
        current = kind
    if before < len(text):
        runs.append((current, text[before:]))
    return runs


def lexer_name(text: str, language: str) -> str:
    """The name of the lexer for a piece of code, or empty if it is not highlighted."""
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
def lexer_of(language: str) -> Any:
    """The lexer that `lexer_name` chose."""
    from pygments.lexers import get_lexer_by_name

    return get_lexer_by_name(language)
