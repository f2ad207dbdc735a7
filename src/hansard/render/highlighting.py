"""Colours of code and of console output, as runs of text with CSS classes of a small palette.

Code is coloured by Pygments' tokens, console output by its own control sequences; other sequences are removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

from hansard.lazy_regex import lazy_compile
from hansard.thread.tool_views import LANGUAGES

LONGEST = 4_000
"""Characters of code that is coloured: Pygments does about a megabyte a second."""
# Many lexers are quadratic in the length of a line, the number of lines, or runs of words without punctuation. Real code
# stays within these limits; other text is shown without colours.
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

# CSS classes of token types; subtypes inherit them.
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


# -- console output

_SEQUENCE = lazy_compile(
    "\x1b\\[([0-?]*)[ -/]*([@-~])"  # CSI; m is a colour
    "|\x9b([0-?]*)[ -/]*([@-~])"
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c|(?=[\x1b\n])|$)"  # titles, links
    "|\x1b[ -/]*[0-~]?"
)
_NUMBERS = lazy_compile(r"[0-9;:]*")
_LINE_ENDS = lazy_compile("\r++\n?")
_UNSEEN = lazy_compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_UNSEEN_BYTES = bytes([*range(9), *range(11, 32), 127])  # those of them that are ASCII

# Where the sixteen colours lie, to find the nearest of them to any other.
_PALETTE = (
    (0, 0, 0), (205, 49, 49), (13, 188, 121), (229, 229, 16), (36, 114, 200), (188, 63, 188), (17, 168, 205), (204, 204, 204),
    (102, 102, 102), (241, 76, 76), (35, 209, 139), (245, 245, 67), (59, 142, 234), (214, 112, 214), (41, 184, 219), (255, 255, 255),
)  # fmt: skip
_CUBE = (0, 95, 135, 175, 215, 255)
_MARKS = {1: "bold", 2: "dim", 3: "ital", 4: "ul", 9: "strike"}
_INVERSE = 7
_ON = {*_MARKS, _INVERSE}  # not 5, 6 and 8, which blink and hide
_OFF = {22: {1, 2}, 23: {3}, 24: {4}, 27: {_INVERSE}, 29: {9}}
_LONGEST = 500  # characters of a sequence


class ConsoleStyle(NamedTuple):
    """How a terminal draws the next character: SGR parameters."""

    marks: frozenset[int] = frozenset()
    text: tuple[int, ...] = ()
    ground: tuple[int, ...] = ()


@lru_cache(maxsize=1024)
def styled(style: ConsoleStyle, parameters: str) -> ConsoleStyle:
    """The style after an SGR sequence with these parameters."""
    marks, text, ground = style
    numbers = [int(number[:4] or 0) for number in parameters[:_LONGEST].replace(":", ";").split(";")]
    place = 0
    while place < len(numbers):
        number = numbers[place]
        place += 1
        if number == 0:
            marks, text, ground = ConsoleStyle()
        elif number in _ON:
            marks |= {number}
        elif number in _OFF:
            marks -= _OFF[number]
        elif 30 <= number < 38 or 90 <= number < 98:
            text = (number,)
        elif 40 <= number < 48 or 100 <= number < 108:
            ground = (number,)
        elif number == 39:
            text = ()
        elif number == 49:
            ground = ()
        elif number in (38, 48):
            size = {5: 2, 2: 4}.get(numbers[place] if place < len(numbers) else 0, 0)
            values = numbers[place : place + size]
            place += size or len(numbers)
            if size and len(values) == size and all(value < 256 for value in values):
                text, ground = ((number, *values), ground) if number == 38 else (text, (number, *values))
    return ConsoleStyle(marks, text, ground)


def console_runs(text: str) -> Iterable[Run]:
    """A program's output as runs, each with the classes of its colours."""
    if "\r" in text:
        text = _LINE_ENDS.sub(lambda found: "\n" * max(1, found[0].count("\r") * (found[0][-1] == "\r")), text)
    if _has_unseen(text):
        return _runs(text)
    return (("", text),) if text else ()


def _has_unseen(text: str) -> bool:
    if not text.isascii():
        return _UNSEEN.search(text) is not None
    data = text.encode()  # ten times as fast
    return len(data.translate(None, _UNSEEN_BYTES)) < len(data)


def _runs(text: str) -> Iterator[Run]:
    style = ConsoleStyle()
    last = 0
    for match in _SEQUENCE.finditer(text):
        if piece := _UNSEEN.sub("", text[last : match.start()]):
            yield _classes(style), piece
        last = match.end()
        if "m" in (match[2], match[4]):
            parameters = match[1] if match[2] else match[3]
            if _NUMBERS.fullmatch(parameters):
                style = styled(style, parameters)
    if piece := _UNSEEN.sub("", text[last:]):
        yield _classes(style), piece


@lru_cache(maxsize=1024)
def _classes(style: ConsoleStyle) -> str:
    """The classes of a style: f and a number for the text, g for the ground, swapped if inverse."""
    text, ground = map(_of_sixteen, (style.text, style.ground))
    if _INVERSE in style.marks:
        names = ["fi" if ground is None else f"f{ground}", "gi" if text is None else f"g{text}"]
    else:
        names = [f"{sign}{colour}" for sign, colour in (("f", text), ("g", ground)) if colour is not None]
    return " ".join([*names, *(name for mark, name in _MARKS.items() if mark in style.marks)])


def _of_sixteen(colour: tuple[int, ...]) -> int | None:
    """The nearest of the sixteen colours."""
    match colour:
        case (number,):
            return number % 10 + (8 if number >= 90 else 0)
        case (_, 5, number):
            return _of_256(number)
        case (_, 2, red, green, blue):
            return _nearest(red, green, blue)
        case _:
            return None


def _of_256(number: int) -> int:
    if number < 16:
        return number
    if number < 232:
        red, rest = divmod(number - 16, 36)
        green, blue = divmod(rest, 6)
        return _nearest(_CUBE[red], _CUBE[green], _CUBE[blue])
    return _nearest(*(8 + 10 * (number - 232),) * 3)


@lru_cache(maxsize=4096)
def _nearest(red: int, green: int, blue: int) -> int:
    wanted = (red, green, blue)
    if max(wanted) - min(wanted) < 20:  # a grey stays a grey
        level = sum(wanted) // 3
        return 0 if level < 50 else 8 if level < 150 else 7 if level < 230 else 15
    return min(
        (place for place in range(16) if place not in (0, 7, 8, 15)),
        key=lambda place: sum((a - b) ** 2 for a, b in zip(_PALETTE[place], wanted, strict=True)),
    )
