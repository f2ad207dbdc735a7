"""Prompts as HTML: Markdown as a person types it, where every character that is not layout stays."""

from __future__ import annotations

import re
from functools import cache, partial
from typing import TYPE_CHECKING

from hansard.render.html.escaping import marked_up, visible, with_links
from hansard.render.html.parts import FIRST, FIRST_TEXT, first_cut, more_words, plain_html
from hansard.render.html.prose import LONGEST, Drawing, code_block, drawn_by

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from markdown_it.utils import EnvType

_MARKDOWN = re.compile(
    r"^ {0,3}(?:```|~~~|#{1,6} |[-*+] |\d{1,9}[.)] |> |\|.*\|)|(?<!`)`[^`\n]+`|\*\*[^\s*]|\[[^\[\]\n]+\]\(",
    re.MULTILINE,
)
_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
# What Markdown takes for its own inside a line: underscores, stars in words, backslashes, entities, indents.
_EATEN = re.compile(r"(?<!\w)_|_(?!\w)|\w\*\w|\\[!-/:-@\[-`{-~\n]|&#?\w+;|\n[ \t]")
_CODE_OR_STRONG = re.compile(r"(?<!`)`([^`\n]+)`(?!`)|(?<![*\w])\*\*(?![\s*])([^*\n]+)(?<!\s)\*\*(?![*\w])")
_BAR = re.compile(r"(?<!\\)\|")


def prompt_html(text: str) -> str:
    """A prompt, rendered as Markdown if it is Markdown, else verbatim; the rest of a long one is folded."""
    text = visible(text)
    if not _MARKDOWN.search(text) or len(text) > LONGEST:
        return plain_html(text)
    if not first_cut(text):
        return _prose(text)
    place, opener = _fold_at(text)
    return (
        f'{_prose(text[:place])}<details class="more"><summary>{more_words(text, place)}</summary>'
        f"{_prose(opener + text[place:])}</details>"
    )


def _prose(text: str) -> str:
    parser = partial(_parser, tables=not _drops_cells(text))
    return f'<div class="prose" dir="auto">{drawn_by(parser, text.strip(chr(10)))}</div>'


def _fold_at(text: str) -> tuple[int, str]:
    """Where the folded rest begins, and the line that opens its code block if it begins inside one."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    tokens = _parser(tables=True).parse(text)
    blocks = [token for token in tokens if token.map and (token.level == 0 or token.type == "list_item_open")]
    for token in reversed(blocks):
        begin = token.map[0] if token.map else 0
        if token.level <= 1 and 0 < begin <= FIRST and starts[begin] <= FIRST_TEXT:
            return starts[begin], ""
    place = first_cut(text)
    first = tokens[0]
    opener = lines[first.map[0]] if first.type == "fence" and first.map and place < starts[first.map[1]] else ""
    return place, opener


@cache
def _parser(*, tables: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Typed)
    parser.enable(["strikethrough", *(["table"] if tables else [])])
    return parser.disable(["inline", "html_block", "html_inline", "reference", "entity", "escape"])


class _Typed(Drawing):
    """Draws Markdown, but keeps the words of a line that Markdown would take for marks."""

    def __init__(self, parser: MarkdownIt) -> None:
        super().__init__(parser)
        self._write["fence"] = _fence

    def words(self, text: str, out: list[str], env: EnvType) -> None:
        if not _EATEN.search(_CODE.sub("``", text)):
            super().words(text, out, env)
            return
        place = 0
        for found in _CODE_OR_STRONG.finditer(text):
            out.append(with_links(text[place : found.start()]))
            code, strong = found.groups()
            out.append(
                f"<code>{marked_up(code)}</code>" if code is not None else f"<strong>{marked_up(strong)}</strong>"
            )
            place = found.end()
        out.append(with_links(text[place:]))


def _fence(token: Token) -> str:
    """A code block; words behind its language are shown above it."""
    language, _, more = token.info.strip().partition(" ")
    told = f'<p class="quiet">{marked_up(token.info.strip())}</p>' if more.strip() else ""
    return told + code_block(token.content, language)


def _drops_cells(text: str) -> bool:
    """Whether Markdown would drop something of a table: cells beyond the width of its head, backslashes before bars."""
    width = 0
    for line in text.split("\n"):
        cells = len(_BAR.findall(line.strip().strip("|")))
        if "-" in line and not line.strip("-|: \t>"):  # what ends the head of a table
            width = cells
        elif "|" not in line:
            width = 0
        elif width and (cells > width or "\\|" in line):
            return True
    return False
