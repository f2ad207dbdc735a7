"""Code in colours: Pygments' tokens as runs of text, each with a class of a small palette or with none."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hansard.render.html.lexing import Marks

Run = tuple[str, str]  # class, text

# Pygments does about a megabyte a second, and expressions of its lexers can be slow on purpose: long texts stay plain.
LONGEST = 4_000
_PLAIN = frozenset(
    {"", "text", "txt", "plain", "plaintext", "none", "output", "log", "console", "markdown", "md", "csv"}
)
_NAME = re.compile(r"[A-Za-z0-9_+#.-]{1,30}")

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
    """Code as runs; as one run without a class where its language is not known or it is too long."""
    if not text:
        return []
    marks_of = None if len(text) > LONGEST else _lexer(language.lower())
    if marks_of is None:
        return [("", text)]
    runs: list[Run] = []
    before, current = 0, ""
    for place, kind in marks_of(text + "\n"):
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


@lru_cache(maxsize=200)
def _lexer(language: str) -> Callable[[str], Marks] | None:
    if language in _PLAIN or not _NAME.fullmatch(language) or language not in _known():
        return None
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]

    from hansard.render.html.lexing import marks_by

    return marks_by(get_lexer_by_name(language), _class_of)


@cache
def _known() -> frozenset[str]:
    """The languages that Pygments itself knows: asked for another, it would look through everything that is installed."""
    from pygments.lexers import get_all_lexers

    return frozenset(alias for _, aliases, _, _ in get_all_lexers(plugins=False) for alias in aliases)
