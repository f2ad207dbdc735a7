"""Code in colours, by Pygments where it is short and its language is known."""

from __future__ import annotations

from functools import cache
from typing import Any

from hansard.render.terminal.spans import BLUE, CYAN, DIM, GREEN, MAGENTA, YELLOW, Span
from hansard.thread.languages import lexer_name

_STYLES = {
    "Comment": DIM,
    "Comment.Preproc": MAGENTA,
    "Keyword": MAGENTA,
    "Keyword.Constant": CYAN,
    "Operator.Word": MAGENTA,
    "Literal.String": GREEN,
    "Literal.String.Doc": DIM,
    "Literal.Number": CYAN,
    "Name.Builtin": YELLOW,
    "Name.Class": BLUE,
    "Name.Decorator": YELLOW,
    "Name.Function": BLUE,
    "Name.Tag": MAGENTA,
    "Name.Attribute": YELLOW,
    "Generic.Deleted": "31",
    "Generic.Inserted": GREEN,
}


def lines_of(text: str, language: str) -> list[list[Span]]:
    """The lines of clean code."""
    name = lexer_name(text, language)
    if not name:
        return [[("", line)] for line in text.split("\n")]
    lines: list[list[Span]] = [[]]
    for _, kind, piece in _lexer(name).get_tokens_unprocessed(text):
        style = _style(kind)
        first, *others = piece.split("\n")
        lines[-1].append((style, first))
        lines += [[(style, other)] for other in others]
    return lines


@cache
def _style(kind: object) -> str:
    name = str(kind).removeprefix("Token.")
    while name:
        if name in _STYLES:
            return _STYLES[name]
        name = name.rpartition(".")[0]
    return ""


@cache
def _lexer(language: str) -> Any:
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]

    return get_lexer_by_name(language)
