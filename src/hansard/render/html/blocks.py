"""The blocks that models write most, as HTML: paragraphs, headings, code between fences, rules, lists and tables.

A text is gone through line by line. Where a stretch is anything else, or not quite clear, all lines up to the next that surely
begins a block of its own are left to markdown-it, so the result is the same as if it had read the whole.

What that buys, measured on 2026-11-16 with and without it in turn: `export --all --format html` of the public corpus takes
2.95 s with it and 3.10 s without (5.5 and 5.7 s of CPU, best of 4 and 3); in an earlier run of four, markdown-it alone took
11 to 17 % more CPU. On the demo history there is no difference.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol


class Drawing(Protocol):
    """Writes what stands in a block, or any Markdown."""

    def words(self, text: str, out: list[str]) -> None:
        """The content of a paragraph."""

    def code(self, text: str, language: str) -> str:
        """A block of code."""

    def anything(self, text: str) -> str:
        """Any Markdown."""


_DEFINES = re.compile(r"^[ \t>*+.)0-9-]*+\[", re.MULTILINE)
_MARKER = re.compile(r"(?:[-+*]|([0-9]{1,9})[.)])(?=[ \t]|$)")
_ITEM = re.compile(r"( *)(?:[-+*]|([0-9]{1,9})[.)])( {1,4})(?=[^ \t])")
_HEADING = re.compile(r"(#{1,6})(?:[ \t]++(.*+))?$")
_FENCE = re.compile(r"(`{3,}+|~{3,}+)(.*+)$")
_RULE = re.compile(r"([-*_])(?:[ \t]*+\1){2,}+[ \t]*+$")
# Makes a heading, or a table, of the line above it.
_UNDERLINE = re.compile(r"(?:=++[ \t]*+|[-:|][-:| \t]*+)$")
_PLAIN, _TITLE, _CODE, _LINE, _LIST, _OTHER = range(6)
_COLUMN = re.compile(r":?-++:?")
_SIDES = {(True, False): ' class="left"', (True, True): ' class="center"', (False, True): ' class="right"'}
_MOST_CELLS = 20_000  # beyond them markdown-it gives up filling rows that are too short
_BLANK = " \t\n\v\f\r\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"  # what it cuts from a cell
_CODE_INDENT = 4
_DEEPEST = 8  # lists inside each other


class _Unclear(Exception):
    """A stretch that is left to markdown-it."""


def draw_blocks(text: str, drawing: Drawing) -> str:
    """A text as HTML; the same as `Drawing.anything` gives of it, and faster."""
    if "]:" in text and _DEFINES.search(text):  # what looks like a link's address counts for the whole text
        return drawing.anything(text)
    lines = text.split("\n")
    sheet = _Sheet(lines, drawing)
    while sheet.place < len(lines):
        begun, drawn = sheet.place, len(sheet.out)
        try:
            sheet.block(0, 0)
        except _Unclear:
            del sheet.out[drawn:]
            sheet.place = _until(lines, begun)
            sheet.out.append(drawing.anything("\n".join(lines[begun : sheet.place])))
    return "".join(sheet.out)


def _until(lines: Sequence[str], place: int) -> int:
    """Where the next block begins that has nothing to do with this one: behind an empty line, not indented, and in no list."""
    for after in range(place, len(lines)):
        line = lines[after]
        if "```" in line or "~~~" in line:
            break
        if after > place and _is_blank(lines[after - 1]) and line and line[0] not in " \t" and not _MARKER.match(line):
            return after
    return len(lines)


def _is_blank(line: str) -> bool:
    return not line or not line.strip(" \t")


def _kind(line: str) -> int:
    """What a line begins that is not indented."""
    first = line[0]
    if first not in "-+*_#>`~0123456789":
        return _PLAIN
    if first == "#":
        return _TITLE if _HEADING.match(line) else _PLAIN
    if first in "`~":
        fence = _FENCE.match(line)
        return _PLAIN if fence is None or (first == "`" and "`" in fence[2]) else _CODE
    if first == ">":
        return _OTHER
    if first in "-*_" and _RULE.match(line):
        return _LINE
    return _LIST if first != "_" and _MARKER.match(line) else _PLAIN


class _Sheet:
    """A text that is being drawn; `place` is the line to go on with."""

    def __init__(self, lines: Sequence[str], drawing: Drawing) -> None:
        self.lines = list(lines)
        self.place = 0
        self.out: list[str] = []
        self._drawing = drawing
        self._paragraphs: list[list[int]] = []  # of the lists that are open: where their own begin and end in `out`

    def block(self, indent: int, depth: int) -> None:
        """Draw the next block in a container whose content is indented so far; empty lines go by."""
        line = self.lines[self.place]
        if _is_blank(line):
            self.place += 1
            return
        line = line[indent:]
        if line[0] in " \t":
            raise _Unclear
        kind = _kind(line)
        if kind == _PLAIN:
            if line[0] == "|" and not depth:
                self._table()
            else:
                self._paragraph(indent)
        elif kind == _LIST:
            self._list(indent, depth)
        elif kind == _CODE:
            self._fenced(line, indent)
        elif kind == _TITLE:
            self._heading(line)
        elif kind == _LINE:
            self.out.append("<hr>")
            self.place += 1
        else:
            raise _Unclear

    def _indent(self) -> tuple[int, str]:
        """How far the line is indented, and the rest of it."""
        line = self.lines[self.place]
        bare = line.lstrip(" ")
        if bare[0] == "\t":
            raise _Unclear
        return len(line) - len(bare), bare

    def _words(self, lines: Sequence[str]) -> None:
        text = "\n".join(lines).strip(" \t\n")
        if text[:1].isspace() or text[-1:].isspace():  # not everybody takes these for spaces
            raise _Unclear
        self._drawing.words(text, self.out)

    def _paragraph(self, indent: int) -> None:
        said = [self.lines[self.place][indent:]]
        self.place += 1
        while self.place < len(self.lines) and not _is_blank(line := self.lines[self.place]):
            if line[0].isalpha():
                said.append(line)
                self.place += 1
                continue
            margin, bare = self._indent()
            if margin - indent < _CODE_INDENT:
                if _UNDERLINE.match(bare):
                    raise _Unclear
                kind = _kind(bare)
                if kind == _LIST:
                    if margin < indent or _may_interrupt(bare):
                        break
                elif kind != _PLAIN:
                    break
            said.append(self.lines[self.place][min(margin, indent) :])
            self.place += 1
        if self._paragraphs:
            self._paragraphs[-1] += (len(self.out), 0)
        self.out.append("<p>")
        self._words(said)
        if self._paragraphs:
            self._paragraphs[-1][-1] = len(self.out)
        self.out.append("</p>")

    def _table(self) -> None:
        """A table whose rows all begin with a bar, up to an empty line."""
        first, lines = self.place, self.lines
        # Before its end is looked for: a hostile text begins a thousand that are none.
        if first + 1 == len(lines) or _is_blank(lines[first + 1]) or not _UNDERLINE.match(lines[first + 1]):
            self._paragraph(0)
            return
        end = next((place for place in range(first, len(lines)) if _is_blank(lines[place])), len(lines))
        rows = lines[first:end]
        if any(row[0] != "|" or "\\" in row for row in rows):
            raise _Unclear
        columns = [column.strip(_BLANK) for column in rows[1].rstrip(_BLANK).removesuffix("|")[1:].split("|")]
        names = _cells(rows[0])
        if (
            len(columns) != len(names)
            or len(columns) * len(rows) > _MOST_CELLS
            or not all(map(_COLUMN.fullmatch, columns))
        ):
            raise _Unclear
        sides = [_SIDES.get((column[0] == ":", column[-1] == ":"), "") for column in columns]
        self.out.append('<div class="wide"><table><thead>')
        self._row("th", names, sides)
        self.out.append("</thead>")
        if len(rows) > 2:
            self.out.append("<tbody>")
            for row in rows[2:]:
                self._row("td", _cells(row), sides)
            self.out.append("</tbody>")
        self.out.append("</table></div>")
        self.place = end

    def _row(self, tag: str, cells: list[str], sides: list[str]) -> None:
        """A row with as many cells as the table has columns."""
        cells = cells[: len(sides)] + [""] * (len(sides) - len(cells))
        self.out.append("<tr>")
        for cell, side in zip(cells, sides, strict=True):
            self.out.append(f"<{tag}{side}>")
            self._drawing.words(cell, self.out)
            self.out.append(f"</{tag}>")
        self.out.append("</tr>")

    def _heading(self, line: str) -> None:
        found = _HEADING.match(line)
        if found is None or line.rstrip(" \t").endswith("#"):
            raise _Unclear
        level = min(len(found[1]) + 2, 6)
        self.out.append(f"<h{level}>")
        self._words([found[2] or ""])
        self.out.append(f"</h{level}>")
        self.place += 1

    def _fenced(self, line: str, indent: int) -> None:
        found = _FENCE.match(line)
        if found is None:
            raise _Unclear
        closing = re.compile(rf" {{0,3}}{found[1]}{found[1][0]}*+[ \t]*+$")
        text: list[str] = []
        for place in range(self.place + 1, len(self.lines)):
            inner = self.lines[place]
            margin = len(inner) - len(inner.lstrip(" "))
            if "\t" in inner[:indent] or (margin < indent and not _is_blank(inner)):
                raise _Unclear
            inner = inner[min(margin, indent) :]
            if closing.match(inner):
                self.out.append(self._drawing.code("".join(text), (found[2].split() or [""])[0]))
                self.place = place + 1
                return
            text.append(inner + "\n")
        raise _Unclear

    def _list(self, outer: int, depth: int) -> None:
        """A list; whether a line is empty between its items, or inside of one, decides how its paragraphs are drawn."""
        if depth > _DEEPEST:
            raise _Unclear
        begun = len(self.out)
        is_loose = ends_empty = False
        first = ""
        own: list[int] = []
        self.out.append("")
        while self.place < len(self.lines):
            margin, bare = self._indent()
            if margin < outer or _kind(bare) != _LIST:
                break
            item = _ITEM.match(self.lines[self.place])
            if item is None or margin - outer >= _CODE_INDENT:
                raise _Unclear
            marker = self.lines[self.place][item.start(3) - 1]
            if not first:
                first = marker
                start = f' start="{int(item[2])}"' if item[2] and int(item[2]) != 1 else ""
                self.out[begun] = f"<ol{start}>" if item[2] else "<ul>"
            elif marker != first:
                break
            self.out.append("<li>")
            self._paragraphs.append(own)
            has_gap, after_gap = self._item(item.end(), depth)
            self._paragraphs.pop()
            self.out.append("</li>")
            is_loose = is_loose or ends_empty or has_gap
            ends_empty = after_gap
        if not is_loose:
            for place in own[::2]:
                self.out[place] = ""
            for place in own[1::2]:
                self.out[place] = "\n"
        self.out.append("</ul>" if first in "-+*" else "</ol>")

    def _item(self, indent: int, depth: int) -> tuple[bool, bool]:
        """The content of an item; whether lines are empty between its blocks, and whether some are behind it."""
        begun = self.place
        self.lines[begun] = " " * indent + self.lines[begun][indent:]
        has_gap = after_gap = False
        while self.place < len(self.lines):
            if _is_blank(self.lines[self.place]):
                after_gap = True
                self.place += 1
                continue
            margin, _ = self._indent()
            if margin < indent:
                break
            has_gap = has_gap or after_gap
            self.block(indent, depth + 1)
            after_gap = _is_blank(self.lines[self.place - 1])
        return has_gap, after_gap


def _cells(row: str) -> list[str]:
    """What stands between the bars of a row that begins with one."""
    cells = row.strip(_BLANK).split("|")[1:]
    if cells[-1] == "":
        cells.pop()
    return [cell.strip(_BLANK) for cell in cells]


def _may_interrupt(bare: str) -> bool:
    """Whether an item may follow a paragraph without an empty line: not if it is empty, or numbered with another number than 1."""
    marker = _MARKER.match(bare)
    return marker is not None and bool(bare[marker.end() :].strip(" \t")) and (marker[1] is None or int(marker[1]) == 1)
