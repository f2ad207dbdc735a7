"""Transcript text as Markdown that renders as that text: it cannot break out of its place or become HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hansard.model.table import Kind

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

    from hansard.model.table import Table

_FENCE = re.compile(r"(`{3,}(?=[^`]*$)|~{3,})")
_ODD_FENCE = re.compile(r"^[^`~\n]+(```|~~~)", re.MULTILINE)
_HEADING = re.compile(r"^ {0,3}#", re.MULTILINE)
_INDENTS = re.compile(r"^[ \t]*\t[ \t]*", re.MULTILINE)
_RUNS = re.compile(r"`+")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$])")  # between dollars some readers see a formula


def escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text).replace("&", "&amp;")


def table_lines(table: Table) -> Iterator[str]:
    """A table in Markdown; labels are Markdown already."""
    from hansard.render.cells import cell

    kinds = [column.kind for column in table.columns]
    yield f"| {' | '.join(column.title for column in table.columns)} |"
    yield f"|{'|'.join('--:' if column.is_right else '---' for column in table.columns)}|"
    for row in table.rows:
        texts = [
            value if kind is Kind.LABEL else escape(cell(value, kind)) for value, kind in zip(row, kinds, strict=True)
        ]
        yield f"| {' | '.join(texts)} |"


def _longest_run(text: str) -> int:
    return max(map(len, _RUNS.findall(text)), default=0)


def fenced(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any run of backticks in it."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def code_span(text: str) -> str:
    """Inline code, fenced by more backticks than it contains."""
    if not text:
        return ""
    ticks = "`" * (_longest_run(text) + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{space}{text}{space}{ticks}"


def quoted(text: str) -> str:
    """Markdown in a quotation, line by line as it was typed: nothing in it reaches beyond its end, and its HTML is text."""
    for attempt in (text, _without_tags(text)):
        if not _has_html(marked := _quotation(_broken(attempt))):
            return marked
    return _quotation(_broken(_TAG.sub("&lt;", text)))


def contained(text: str) -> str:
    """Markdown whose HTML is text and whose code blocks end with it; what cannot be closed with certainty is quoted."""
    if _has_html(text):
        escaped = _without_tags(text)
        text = escaped if not _has_html(escaped) else _TAG.sub("&lt;", text)
    if _ends(text):
        return text
    fence = "`" * max(3, _longest_run(text) + 1)
    closed = next((text + end for end in ("\n" + fence, "\n~~~~~~") if _ends(text + end)), None)
    return closed if closed is not None else _quotation(text)


def demoted(text: str, levels: int) -> str:
    """Markdown with its headings moved down by some levels, below those of the page."""
    if not _HEADING.search(text):
        return text
    lines = text.split("\n")
    for token in _tokens(text) or ():
        if token.type == "heading_open" and token.markup.startswith("#") and token.level == 0 and token.map:
            line = lines[token.map[0]]
            mark = len(line) - len(line.lstrip(" "))
            lines[token.map[0]] = line[:mark] + "#" * min(levels, 6 - len(token.markup)) + line[mark:]
    return "\n".join(lines)


def nested(text: str, levels: int) -> str:
    if not levels:
        return text
    mark = "> " * levels
    return "\n".join(mark + line if line.strip() else mark.rstrip() for line in text.split("\n"))


def prose(text: str, levels: int = 0) -> str:
    """Contained Markdown, its headings below those of the page, that stays contained inside a quotation."""
    text = _INDENTS.sub(lambda match: match[0].expandtabs(4), text)  # a quotation moves the stops of tabs
    made = nested(contained(demoted(text, 2)), levels)
    if levels and _has_html(made):
        made = nested(contained(_TAG.sub("&lt;", text)), levels)
    return made


def _quotation(text: str) -> str:
    return "\n".join(f"> {line}" if line.strip() else ">" for line in text.split("\n"))


def _broken(text: str) -> str:
    """Keep line breaks: end lines with two spaces, except in code, where breaks are kept anyway."""
    lines = text.split("\n")
    fence = ""
    for number, line in enumerate(lines[:-1]):
        mark = _FENCE.match(line)
        if fence:
            stripped = line.strip(" ")
            fence = "" if set(stripped) == {fence[0]} and len(stripped) >= len(fence) else fence
        elif mark:
            fence = mark[1]
        elif line.strip() and lines[number + 1].strip():
            kept = line.rstrip()
            lines[number] = kept + ("   " if kept.endswith("\\") else "  ")  # some readers give one to a backslash
    lines[-1] = lines[-1].rstrip()
    return "\n".join(lines)


_parser: MarkdownIt | None = None


def _tokens(text: str) -> list[Token] | None:
    """How a page with this text will be read; None where the parser gives up, as it does on some hostile text."""
    global _parser  # noqa: PLW0603 - made once, and only for Markdown, since it takes a while to import
    if _parser is None:
        from markdown_it import MarkdownIt

        _parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    try:
        return _parser.parse(text)
    except (IndexError, RecursionError, ValueError):
        return None


def _has_html(text: str) -> bool:
    if not _TAG.search(text):
        return False
    tokens = _tokens(text)
    if tokens is None:
        return True
    every = (inner for token in tokens for inner in (token, *(token.children or ())))
    return any(token.type in ("html_block", "html_inline") for token in every)


def _ends(text: str) -> bool:
    """Whether what is written after a text is outside of it: only an open code block can reach that far."""
    if "```" not in text and "~~~" not in text:
        return True
    tokens = _tokens(f"{text}\n\n## After\n")
    return tokens is not None and len(tokens) > 2 and tokens[-3].type == "heading_open" and tokens[-3].level == 0


def _without_tags(text: str) -> str:
    """Text with its tags escaped, but for code that is certain to be code.

    Fences count at the beginning of a line, in a text without any that is indented, quoted or in a list, since those may
    end early. In a text with such, every tag is escaped, also inside code.
    """
    trusted = not _ODD_FENCE.search(text)
    fence = ""
    clean_so_far = True  # whether every backtick of this paragraph has found its partner
    lines = []
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            stripped = line.strip(" ")
            if len(line) - len(line.lstrip(" ")) < 4 and set(stripped) == {fence[0]} and len(stripped) >= len(fence):
                fence = ""
            lines.append(line if trusted else _TAG.sub("&lt;", line))
            continue
        if mark:
            fence = mark[1]
            lines.append(_TAG.sub("&lt;", line))
            continue
        if not line.strip():
            clean_so_far = True
            lines.append(line)
            continue
        escaped, balanced = _escape_line(line, trust=trusted and clean_so_far and "|" not in line)
        clean_so_far = clean_so_far and balanced
        lines.append(escaped)
    return "\n".join(lines)


def _escape_line(line: str, *, trust: bool) -> tuple[str, bool]:
    """A line with its tags escaped outside inline code, and whether every run of backticks in it was paired."""
    parts: list[str] = []
    place, balanced = 0, True
    while (opening := _RUNS.search(line, place)) is not None:
        before = line[place : opening.start()]
        parts.append(_TAG.sub("&lt;", before))
        if (
            len(before) - len(before.rstrip("\\"))
        ) % 2:  # the first backtick is escaped: what the others do is uncertain
            balanced = trust = False
        closing = next((run for run in _RUNS.finditer(line, opening.end()) if len(run[0]) == len(opening[0])), None)
        if closing is None or not balanced:
            balanced = False
            parts.append(opening[0])
            place = opening.end()
            continue
        code = line[opening.start() : closing.end()]
        parts.append(code if trust else _TAG.sub("&lt;", code))
        place = closing.end()
    parts.append(_TAG.sub("&lt;", line[place:]))
    return "".join(parts), balanced
