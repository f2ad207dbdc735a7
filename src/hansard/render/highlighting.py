"""Syntax highlighting: Pygments' tokens as runs of text, each with a CSS class of a small palette or with none.

Of what programs wrote to a terminal the colours stay, as such runs, and everything else they tried is left out.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

from hansard.lazy_regex import lazy_compile
from hansard.thread.views import LANGUAGES

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
# It reaches into private parts of `re` and Pygments, and falls back to plain Pygments where these have another shape. What that
# buys, measured on 2026-11-16 by turning it off in turn with it: plain Pygments takes 17 % more CPU time for the HTML of the public
# corpus (4.7 against 4.0 s, 206 sessions) and 39 % more for the demo history; its session pages take 25 % longer, those of the public corpus 6 %. To measure again:
# `make bench ARGS="--only reading"`, once as it is and once with `marks_by` always returning `_plainly`.

Classes = Callable[[object], str]  # of a type of token
Marks = list[tuple[int, str]]  # where a class begins

# Sets of characters as bits: one for each of ASCII, the last for any other character and for the end of the text.
_OTHER = 128
_BEYOND = 1 << _OTHER
_ANY = (1 << _OTHER + 1) - 1
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


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
        self._by_state: dict[str, list[list[Any]]] = {}
        self._table("root")

    def _table(self, state: str) -> list[list[Any]]:
        table = self._by_state.get(state)
        if table is None:
            from pygments.token import _TokenType  # type: ignore[import-untyped]

            rules = [
                (
                    (
                        matches,
                        self._class_of(action) if isinstance(action, _TokenType) else None,
                        None if isinstance(action, _TokenType) else action,
                        then,
                    ),
                    _beginnings(matches.__self__),
                )
                for matches, action, then in self._rules[state]
            ]
            table = [[rule for rule, bits in rules if bits >> code & 1] for code in range(_OTHER + 1)]
            self._by_state[state] = table
        return table

    def marks(self, text: str) -> Marks:
        """The places, by the rules of RegexLexer.get_tokens_unprocessed."""
        marks: Marks = []
        current = ""
        stack = ["root"]
        table = self._table("root")
        codes = (text if text.isascii() else _NOT_ASCII.sub("\x80", text)).encode("latin-1") + b"\x80"
        position, end = 0, len(text)
        while True:
            code = codes[position]
            for matches, found, action, then in table[code]:
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
                    if then == -1 and len(stack) > 1:
                        stack.pop()
                    else:
                        _move(stack, then)
                    table = self._by_state.get(stack[-1]) or self._table(stack[-1])
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


def _move(stack: list[str], then: Any) -> None:
    """Change the stack of states as a rule says."""
    if isinstance(then, int):
        if abs(then) >= len(stack):
            del stack[1:]
        else:
            del stack[then:]
        return
    for state in then if isinstance(then, tuple) else (then,):
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
        return _ANY if flags & re.IGNORECASE else _BEYOND
    bits = 1 << code
    if flags & re.IGNORECASE and chr(code).isalpha():
        bits |= 1 << ord(chr(code).lower()) | 1 << ord(chr(code).upper()) | _BEYOND
    return bits


def _class(members: Any, flags: int) -> int:
    if flags & re.IGNORECASE and any(str(operator) == "RANGE" for operator, _ in members):
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
        return _ANY if flags & re.IGNORECASE else _ANY & ~bits | _BEYOND
    return bits


# -- what programs wrote to a terminal

_SEQUENCE = lazy_compile(
    "\x1b\\[([0-?]*)[ -/]*([@-~])"  # CSI; m is a colour
    "|\x9b([0-?]*)[ -/]*([@-~])"
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c|(?=[\x1b\n])|$)"  # titles, links
    "|\x1b[ -/]*[0-~]?"
)
_NUMBERS = lazy_compile(r"[0-9;:]*")
_LINE_ENDS = lazy_compile("\r++\n?")
_UNSEEN = lazy_compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")

# Where the sixteen colours lie, to find the nearest of them to any other.
_PALETTE = (
    (0, 0, 0), (205, 49, 49), (13, 188, 121), (229, 229, 16), (36, 114, 200), (188, 63, 188), (17, 168, 205), (204, 204, 204),
    (102, 102, 102), (241, 76, 76), (35, 209, 139), (245, 245, 67), (59, 142, 234), (214, 112, 214), (41, 184, 219), (255, 255, 255),
)  # fmt: skip
_CUBE = (0, 95, 135, 175, 215, 255)
_ON = {1: "bold", 2: "dim", 3: "ital", 4: "ul", 7: "inv", 9: "strike"}
_OFF = {22: ("bold", "dim"), 23: ("ital",), 24: ("ul",), 27: ("inv",), 29: ("strike",)}


def console_runs(text: str) -> Iterable[Run]:
    """A program's output as runs, each with the classes of its colours."""
    if "\r" in text:
        text = _LINE_ENDS.sub(lambda found: "\n" * max(1, found[0].count("\r") * (found[0][-1] == "\r")), text)
    if "\x1b" not in text and not _UNSEEN.search(text):
        return (("", text),) if text else ()
    return _runs(text)


def _runs(text: str) -> Iterator[Run]:
    state: dict[str, str] = {}
    classes = ""
    last = 0
    for match in _SEQUENCE.finditer(text):
        if piece := _UNSEEN.sub("", text[last : match.start()]):
            yield classes, piece
        last = match.end()
        if "m" in (match[2], match[4]):
            parameters = match[1] if match[2] else match[3]
            if _NUMBERS.fullmatch(parameters):
                _set_colours(state, parameters)
                classes = _console_classes(state)
    if piece := _UNSEEN.sub("", text[last:]):
        yield classes, piece


def _set_colours(state: dict[str, str], parameters: str) -> None:
    numbers = [int(number[:4] or 0) for number in parameters[:500].replace(":", ";").split(";")]
    place = 0
    while place < len(numbers):
        number = numbers[place]
        place += 1
        if number == 0:
            state.clear()
        elif number in _ON:
            state[_ON[number]] = _ON[number]
        elif number in _OFF:
            for name in _OFF[number]:
                state.pop(name, None)
        elif number in (38, 48):
            colour, place = _extended(numbers, place)
            if colour is not None:
                state["f" if number == 38 else "g"] = str(colour)
        elif number in (39, 49):
            state.pop("f" if number == 39 else "g", None)
        elif 30 <= number < 38 or 90 <= number < 98:
            state["f"] = str(number - 30 if number < 90 else number - 82)
        elif 40 <= number < 48 or 100 <= number < 108:
            state["g"] = str(number - 40 if number < 100 else number - 92)


def _extended(numbers: list[int], place: int) -> tuple[int | None, int]:
    """The nearest of the sixteen to a colour of 256 or of any, and the place behind its numbers."""
    kind = numbers[place] if place < len(numbers) else None
    if kind == 5 and place + 1 < len(numbers):
        return _of_256(numbers[place + 1]), place + 2
    if kind == 2 and place + 3 < len(numbers):
        return _nearest(numbers[place + 1], numbers[place + 2], numbers[place + 3]), place + 4
    return None, len(numbers)


def _of_256(number: int) -> int | None:
    if number < 16:
        return number
    if number < 232:
        red, rest = divmod(number - 16, 36)
        green, blue = divmod(rest, 6)
        return _nearest(_CUBE[red], _CUBE[green], _CUBE[blue])
    return _nearest(*(8 + 10 * (number - 232),) * 3) if number < 256 else None


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


def _console_classes(state: dict[str, str]) -> str:
    """The classes of a state: f and a number for the text, g for the ground, turned round where it says so."""
    text, ground = state.get("f"), state.get("g")
    if "inv" in state:
        names = [f"f{ground}" if ground else "fi", f"g{text}" if text else "gi"]
    else:
        names = [*((f"f{text}",) if text else ()), *((f"g{ground}",) if ground else ())]
    names += [name for name in ("bold", "dim", "ital", "ul", "strike") if name in state]
    return " ".join(names)
