"""Markdown in the terminal, drawn line by line; no text is lost.

Headings, lists, tables and code are told apart by their first characters. This is not a Markdown parser: it loads instantly, and no text
can make it fail or take long. Without colours, the marks of headings, bold text and inline code are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from hansard.lazy_regex import lazy_compile
from hansard.render.terminal.spans import BOLD, CYAN, DIM, ITALIC, STRUCK, Span, code_lines, joined, lay, painted
from hansard.render.text import share, width

_MARKED = lazy_compile(r"[`*_#>|~\[]|^ *(?:[-+]|\d+[.)]) |^ *(?:---|===)", re.MULTILINE)
_FENCE = lazy_compile(r"( *)(`{3,}|~{3,}) *([A-Za-z0-9+#.-]*)([^`]*)")
_HEADING = lazy_compile(r" {0,3}#{1,6} +(?=\S)")
_RULE = lazy_compile(r" {0,3}([-*_])(?: *+\1){2,}+ *+")
_ITEM = lazy_compile(r"( *)([-*+]|\d{1,9}[.)]) +(?=\S)")
_QUOTE = lazy_compile(r" {0,3}> ?")
_DELIMITERS = lazy_compile(r" *+\|?(?: *+:?-++:? *+\|)++(?: *+:?-++:?)? *+\|? *+")
_INLINE = (
    r"(?P<ticks>`+)(?!`)(?P<code>.{1,400}?)(?<!`)(?P=ticks)(?!`)"
    r"|\*\*(?=\S)(?P<bold>[^\n]{1,400}?)(?<=\S)\*\*"
    r"|(?<!\w)__(?=\S)(?P<bold2>[^_\n]{1,400}?)(?<=\S)__(?!\w)"
    r"|(?<![\w*])\*(?=[^\s*])(?P<italic>[^*\n]{1,400}?)(?<=[^\s*])\*(?![\w*])"
    r"|(?<!\w)_(?=[^\s_])(?P<italic2>[^_\n]{1,400}?)(?<=[^\s_])_(?!\w)"
    r"|~~(?=\S)(?P<struck>[^~\n]{1,400}?)(?<=\S)~~"
    r"|!?\[(?P<label>[^\[\]\n]{1,300})\]\((?P<address>[^()\s]{1,1000})\)"
)
# Longer texts, longer lines, and lines with more marks are not parsed.
_LONG_TEXT, _LONG_LINE, _MANY_MARKS = 200_000, 2_000, 200
_MARKS = lazy_compile(r"[`*_~\[]")
_DEEPEST = 4
_RULE_COLUMNS = 40
_CODE_INDENT = 4


def draw(text: str, columns: int, *, colours: bool, base: str = "") -> list[str]:
    """Wrap clean text to lines; `base` is the colour of text without its own."""
    if len(text) > _LONG_TEXT or not _MARKED.search(text):
        return lay([("", text)], columns, colours=colours, base=base)
    return list(_Drawing(colours, base).blocks(text.expandtabs(4).split("\n"), columns, 0))


class _Drawing:
    def __init__(self, colours: bool, base: str) -> None:
        self.colours = colours
        self.base = base

    def blocks(self, lines: list[str], columns: int, depth: int) -> Iterator[str]:
        place = 0
        while place < len(lines):
            line = lines[place]
            start = place
            place += 1
            if fence := _FENCE.fullmatch(line):
                while place < len(lines) and not _closes(lines[place], fence[2]):
                    place += 1
                if fence[4].strip():  # more than the name of a language
                    yield from self._flow([(DIM, " " * _CODE_INDENT + fence[3] + fence[4])], columns)
                yield from self._code(lines[start + 1 : place], len(fence[1]), fence[3], columns)
                place += 1
            elif depth < _DEEPEST and _QUOTE.match(line):
                while place < len(lines) and _QUOTE.match(lines[place]):
                    place += 1
                inner = [_QUOTE.sub("", quoted, count=1) for quoted in lines[start:place]]
                bar = self._paint("│", DIM)
                for drawn in self.blocks(inner, max(columns - 2, 10), depth + 1):
                    yield f"{bar} {drawn}".rstrip()
            elif place < len(lines) and "|" in line and "|" in lines[place] and _DELIMITERS.fullmatch(lines[place]):
                place += 1
                while place < len(lines) and "|" in lines[place] and lines[place].strip():
                    place += 1
                yield from self._table([line, *lines[start + 2 : place]], columns)
            else:
                yield from self._line(line, columns)

    def _line(self, line: str, columns: int) -> Iterator[str]:
        if _RULE.fullmatch(line):
            yield self._paint("─" * min(columns, _RULE_COLUMNS), DIM)
        elif (heading := _HEADING.match(line)) and self.colours:
            words = line[heading.end() :].rstrip()
            without = words.rstrip("#")
            yield from self._flow(inline(without.rstrip() if without.endswith(" ") else words, BOLD), columns)
        elif item := _ITEM.match(line):
            mark = item[1][: columns // 3] + ("-" if item[2] in "*+" else item[2]) + " "
            rest = self._flow(self._inline(line[item.end() :]), max(columns - len(mark), 10))
            yield mark + rest[0]
            yield from (" " * len(mark) + more for more in rest[1:])
        else:
            yield from self._flow(self._inline(line), columns)

    def _code(self, lines: list[str], indent: int, language: str, columns: int) -> Iterator[str]:
        margin = min(indent, columns // 3)
        text = "\n".join(line[min(indent, len(line) - len(line.lstrip(" "))) :] for line in lines)
        space = " " * (margin + _CODE_INDENT)
        for spans in code_lines(text, language) if self.colours else [[("", line)] for line in text.split("\n")]:
            for drawn in self._flow(spans, max(columns - len(space), 10)):
                yield (space + drawn).rstrip()

    def _table(self, lines: list[str], columns: int) -> Iterator[str]:
        rows = [[self._inline(cell) for cell in cells(line)] for line in lines]
        rows[0] = [[(joined(BOLD, style), text) for style, text in cell] for cell in rows[0]]
        drawn = table(rows, columns, colours=self.colours, base=self.base)
        if drawn is not None:
            yield from drawn
            return
        for row in rows[1:]:  # too wide: one cell below the other
            for number, cell in enumerate(row):
                name = "".join(text for _, text in rows[0][number]) if number < len(rows[0]) else ""
                mark = "  " if number else "- "
                label = [(DIM, f"{name}: ")] if name and number else []
                first, *others = self._flow([*label, *cell], max(columns - 2, 10))
                yield mark + first
                yield from (f"  {other}" for other in others)

    def _inline(self, text: str) -> list[Span]:
        return inline(text) if self.colours else [("", text)]

    def _flow(self, spans: list[Span], columns: int) -> list[str]:
        return lay(spans, columns, colours=self.colours, base=self.base)

    def _paint(self, text: str, style: str) -> str:
        return painted([(style, text)]) if self.colours else text


def inline(text: str, style: str = "", depth: int = 0) -> list[Span]:
    """The runs of a line: its marks become colours."""
    if len(text) > _LONG_LINE or depth > _DEEPEST or len(_MARKS.findall(text)) > _MANY_MARKS:
        return [(style, text)]
    spans: list[Span] = []
    last = 0
    for match in _inline().finditer(text):
        spans.append((style, text[last : match.start()]))
        last = match.end()
        if match["code"] is not None:
            spans.append((joined(style, CYAN), match["code"].strip(" ") or match["code"]))
        elif match["label"] is not None:
            spans += inline(match["label"], style, depth + 1)
            if match["label"] != match["address"]:
                spans.append((joined(style, DIM), f" ({match['address']})"))
        elif (bold := match["bold"] or match["bold2"]) is not None:
            spans += inline(bold, joined(style, BOLD), depth + 1)
        elif (slanted := match["italic"] or match["italic2"]) is not None:
            spans += inline(slanted, joined(style, ITALIC), depth + 1)
        else:
            spans += inline(match["struck"], joined(style, STRUCK), depth + 1)
    spans.append((style, text[last:]))
    return [span for span in spans if span[1]] or [("", "")]


@cache
def _inline() -> re.Pattern[str]:
    """Compiled on first use: that takes longer than most answers."""
    return re.compile(_INLINE)


def cells(line: str) -> list[str]:
    """The cells of a table's row; a backslash before a bar makes it text."""
    parts = re.split(r"(?<!\\)\|", line.strip())
    if parts and not parts[0].strip():
        parts = parts[1:]
    if parts and not parts[-1].strip():
        parts = parts[:-1]
    return [part.strip().replace("\\|", "|") for part in parts]


def _closes(line: str, fence: str) -> bool:
    mark = line.strip(" ")
    return len(mark) >= len(fence) and set(mark) == {fence[0]}


_GAP = 2
_LEAST = 8  # columns that a cell gets at least
_WORD = 24  # a longer word may be broken


def table(rows: Sequence[Sequence[list[Span]]], columns: int, *, colours: bool, base: str = "") -> list[str] | None:
    """The lines of a table with a rule below its header; None if words would have to be broken."""
    count = max(map(len, rows))
    room = columns - _GAP * (count - 1)
    if not count or room < _LEAST * count:
        return None
    wanted = [max(1, *(width(_text(row[place])) for row in rows if place < len(row))) for place in range(count)]
    widths = share(wanted, [_LEAST] * count, room)
    for row in rows:
        for place, cell in enumerate(row):
            if widths[place] < wanted[place] and widths[place] < _longest_word(_text(cell)):
                return None
    lines: list[str] = []
    for number, row in enumerate(rows):
        shown = [lay(row[place], widths[place], colours=False) if place < len(row) else [] for place in range(count)]
        drawn = [
            lay(row[place], widths[place], colours=colours, base=base) if place < len(row) else []
            for place in range(count)
        ]
        for level in range(max(map(len, shown))):
            pieces = []
            for place in range(count):
                has = level < len(shown[place])
                space = widths[place] - (width(shown[place][level]) if has else 0)
                pieces.append((drawn[place][level] if has else "") + " " * space)
            lines.append((" " * _GAP).join(pieces).rstrip())
        if not number:
            rule = (" " * _GAP).join("─" * size for size in widths)
            lines.append(painted([(DIM, rule)]) if colours else rule)
    return lines


def _longest_word(text: str) -> int:
    return min(_WORD, max(map(width, text.split()), default=0))


def _text(cell: list[Span]) -> str:
    return "".join(text for _, text in cell)
