"""Each part of an item as lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from hansard.guard.sanitize import ESCAPES
from hansard.lazy_regex import lazy_compile
from hansard.model.display import Checklist, Code, Console, Diff, Facts, Part, Picture, Plain, Prose
from hansard.render.format import many
from hansard.render.highlighting import ConsoleStyle, styled
from hansard.render.terminal import prose
from hansard.render.terminal.spans import BOLD, CYAN, DIM, GREEN, RED, STRUCK, YELLOW, Span, code_lines, lay
from hansard.render.text import clean, fit, one_line, width

BRIEF_LINES = 3
DIFF_LINES = 20
_STATES = {"completed": ("✓", GREEN), "in_progress": ("▶", YELLOW), "deleted": ("✗", DIM), "chosen": ("✓", GREEN)}
_SIGNS = {"+": GREEN, "-": RED, "@": CYAN}
_NAME = 20  # columns of a fact's name


class Board(Struct, frozen=True):
    """What parts are drawn on: its width, and whether it has colours."""

    columns: int
    colours: bool

    def narrower(self, columns: int) -> Board:
        """The same with a margin."""
        return Board(max(10, self.columns - columns), self.colours)

    def lay(self, spans: list[Span], base: str = "") -> list[str]:
        return lay(spans, self.columns, colours=self.colours, base=base)

    def words(self, text: str, style: str = "") -> list[str]:
        return self.lay([(style, clean(text).strip("\n"))])

    def part(self, part: Part) -> Iterator[str]:
        match part:
            case Prose():
                yield from prose.draw(clean(part.text).strip("\n"), self.columns, colours=self.colours)
            case Plain():
                yield from self.words(part.text)
            case Code():
                yield from self._code(part)
            case Diff():
                for line in _rows(part.text):
                    yield from self.lay([(_SIGNS.get(line[:1], ""), line)])
            case Console():
                for spans in console_lines(part.text.strip("\n")):
                    yield from self.lay(spans)
            case Facts():
                yield from self._facts(part)
            case Checklist():
                yield from self._checklist(part)
            case Picture():
                yield from self.lay([(DIM, picture_words(part))])

    def brief(self, part: Part, style: str = DIM, most: int = BRIEF_LINES) -> Iterator[str]:
        """The first rows of a part, one per line, and how many are left out."""
        rows: Iterable[list[Span]]
        if isinstance(part, Diff):
            most = DIFF_LINES
            rows = ([(_SIGNS.get(line[:1], ""), line)] for line in _rows(part.text))
        elif isinstance(part, Console):
            rows = console_lines(part.text.strip("\n"))
        elif isinstance(part, (Prose, Plain, Code)):
            rows = ([("", line)] for line in _rows(part.text))
        else:
            yield from self.part(part)
            return
        base = "" if isinstance(part, Diff) else style
        shown = rest = more = 0
        for row in rows:
            is_empty = not isinstance(part, Diff) and not any(text.strip() for _, text in row)
            if shown >= most:
                rest += 1
                more = more if is_empty else rest
            elif not is_empty:  # empty lines are not worth their place here
                shown += 1
                yield from lay(self._cut(row), self.columns, colours=self.colours, base=base)
        if more:
            yield from self.lay([(DIM, f"… {many(more, 'more line')}")])

    def _cut(self, row: list[Span]) -> list[Span]:
        """A row cut to one line."""
        text = "".join(text for _, text in row).expandtabs(4)
        if width(text) <= self.columns:
            return row
        spans: list[Span] = []
        left = len(fit(text, self.columns)) - 1
        for style, piece in row:
            wide = piece.expandtabs(4)[:left]
            left -= len(wide)
            spans.append((style, wide))
        return [*spans, ("", "…")]

    def _code(self, part: Code) -> Iterator[str]:
        text = clean(part.text).expandtabs(4).removesuffix("\n")
        rows = code_lines(text, part.language) if self.colours else [[("", line)] for line in text.split("\n")]
        if not part.first_line:
            for row in rows:
                yield from self.lay(row)
            return
        digits = len(str(part.first_line + len(rows) - 1))
        inner = self.narrower(digits + 2)
        for number, row in enumerate(rows, part.first_line):
            first, *others = inner.lay(row)
            yield f"{self.paint(str(number).rjust(digits), DIM)}  {first}".rstrip()
            yield from (" " * (digits + 2) + other for other in others)

    def _facts(self, part: Facts) -> Iterator[str]:
        for name, value in part.pairs:
            label = fit(one_line(name), _NAME) + ": "
            inner = self.narrower(width(label))
            first, *others = inner.words(value)
            yield self.paint(label, DIM) + first
            yield from (" " * width(label) + other for other in others)

    def _checklist(self, part: Checklist) -> Iterator[str]:
        inner = self.narrower(2)
        for state, text in part.items:
            mark, style = _STATES.get(state, ("○", ""))
            done = {"completed": DIM, "deleted": f"{DIM};{STRUCK}", "in_progress": BOLD, "chosen": BOLD}.get(state, "")
            first, *others = inner.lay([(done, one_line(text))])
            yield f"{self.paint(mark, style)} {first}"
            yield from (f"  {other}" for other in others)

    def paint(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self.colours and style and text else text


def picture_words(part: Picture) -> str:
    """The placeholder of an image or a document."""
    kind = one_line(part.media_type) or "image or document"
    size = len(part.data) * 3 // 4
    return f"[{kind}, {size:,} bytes]" if size else f"[{kind}]"


def rows_in(part: Part) -> int:
    """How many lines the text of a part has."""
    text: str = getattr(part, "text", "")
    return text.strip("\n").count("\n") + 1 if text.strip("\n") else 0


def _rows(text: str) -> list[str]:
    return clean(text).strip("\n").split("\n")


# -- output of programs: their colours as runs of text, all other control sequences removed

_COLOUR = lazy_compile("(?:\x1b\\[|\x9b)([0-9;:]*)m")


def console_lines(text: str) -> Iterator[list[Span]]:
    """The lines of a program's output."""
    if "\x1b" not in text and "\x9b" not in text:
        yield from ([("", line)] for line in clean(text).split("\n"))
        return
    line: list[Span] = []
    for style, piece in _pieces(text):
        first, *others = piece.split("\n")
        line.append((style, first))
        for other in others:
            yield line
            line = [(style, other)]
    yield line


def _pieces(text: str) -> Iterator[Span]:
    style, last = ConsoleStyle(), 0
    for match in ESCAPES.finditer(text):
        if match.start() > last:
            yield _parameters(style), clean(text[last : match.start()])
        last = match.end()
        if (colour := _COLOUR.fullmatch(match[0])) is not None:
            style = styled(style, colour[1])
    yield _parameters(style), clean(text[last:])


def _parameters(style: ConsoleStyle) -> str:
    """The SGR parameters of a style; text in the colour of its ground would be invisible, so it loses both."""
    text, ground = style.text, style.ground
    if text and ground and (text[0] % 10, text[1:]) == (ground[0] % 10, ground[1:]):
        text = ground = ()
    return ";".join(map(str, (*sorted(style.marks), *text, *ground)))
