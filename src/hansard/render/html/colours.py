"""Code in colours: Pygments' tokens as runs of text, each with a class of a small palette or with none."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from hansard.thread.languages import lexer_name

if TYPE_CHECKING:
    from hansard.render.html.lexing import Marks

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


@cache
def _class_of(kind: object) -> str:
    name = str(kind).removeprefix("Token.").removeprefix("Token")
    while name:
        if name in _CLASSES:
            return _CLASSES[name]
        name = name.rpartition(".")[0]
    return ""


@cache
def _lexer(language: str) -> Callable[[str], Marks]:
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]

    from hansard.render.html.lexing import marks_by

    return marks_by(get_lexer_by_name(language), _class_of)
