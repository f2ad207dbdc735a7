"""Code in colours, by Pygments where it is short and its language is known."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from hansard.render.terminal.spans import BLUE, CYAN, DIM, GREEN, MAGENTA, YELLOW, Span

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST = 8_000  # characters: a lexer does about a megabyte a second, and some are slow on purpose
_PLAIN = frozenset(
    {"", "text", "txt", "plain", "plaintext", "none", "output", "log", "console", "markdown", "md", "csv"}
)
_NAME = re.compile(r"[a-z0-9+#-]{1,30}")
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
    lexer = _lexer(language.lower()) if len(text) <= LONGEST else None
    if lexer is None:
        return [[("", line)] for line in text.split("\n")]
    lines: list[list[Span]] = [[]]
    for _, kind, piece in lexer.get_tokens_unprocessed(text):
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
    if language in _PLAIN or not _NAME.fullmatch(language):
        return None
    from pygments.lexers import LEXERS, get_lexer_by_name  # type: ignore[import-untyped]

    known: Mapping[str, tuple[str, str, tuple[str, ...], object, object]] = LEXERS
    if not any(language in entry[2] for entry in known.values()):
        return None  # asking by name would go on to look for plug-ins
    return get_lexer_by_name(language)
