"""Runs of text with their colours, broken into lines that fit; code with the colours that Pygments gives it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from hansard.render.text import wrap

Span = tuple[str, str]  # parameters of a colour sequence, or nothing; clean text

BOLD, DIM, ITALIC, STRUCK = "1", "2", "3", "9"
RED, GREEN, YELLOW, BLUE, MAGENTA, CYAN = "31", "32", "33", "34", "35", "36"


def lay(spans: Sequence[Span], columns: int, *, colours: bool, base: str = "") -> list[str]:
    """Wrap spans to lines; `base` is the colour of those without one."""
    lines = wrap("".join(text for _, text in spans), columns)
    if not colours or not (base or any(style for style, _ in spans)):
        return lines
    runs = _runs(spans, base)
    style, left = next(runs, (base, 0))
    made: list[str] = []
    for line in lines:
        pieces: list[Span] = []
        start = 0
        for place, character in enumerate(line):
            if character.isspace():
                continue
            if not left:
                if place > start:
                    pieces.append((style, line[start:place]))
                    start = place
                style, left = next(runs, (base, 1))
            left -= 1
        pieces.append((style, line[start:]))
        made.append(painted(pieces))
    return made


def _runs(spans: Iterable[Span], base: str) -> Iterator[tuple[str, int]]:
    """Each colour with the number of its characters; white space does not count, since breaking lines may lose it."""
    for style, text in spans:
        count = len("".join(text.split()))
        if count:
            yield joined(base, style), count


def joined(*styles: str) -> str:
    return ";".join(filter(None, styles))


def painted(spans: Iterable[Span]) -> str:
    """A line with its colours; spaces at the ends of a run have none."""
    pieces = []
    for style, text in spans:
        words = text.strip(" ")
        if style and words:
            before = len(text) - len(text.lstrip(" "))
            pieces.append(f"{text[:before]}\x1b[{style}m{words}\x1b[0m{text[before + len(words) :]}")
        else:
            pieces.append(text)
    return "".join(pieces)


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


def code_lines(text: str, language: str) -> list[list[Span]]:
    from hansard.render.highlighting import lexer_name, lexer_of

    name = lexer_name(text, language)
    if not name:
        return [[("", line)] for line in text.split("\n")]
    lines: list[list[Span]] = [[]]
    for _, kind, piece in lexer_of(name).get_tokens_unprocessed(text):
        style = _style(kind)
        first, *others = piece.split("\n")
        lines[-1].append((style, first))
        lines += [[(style, other)] for other in others]
    return lines


@cache
def _style(kind: object) -> str:
    from hansard.render.highlighting import look_up

    return look_up(kind, _STYLES)
