"""Markdown as HTML: markdown-it-py parses, a small drawing of our own writes, and nh3 cleans whatever has links in it.

Nothing loads from anywhere: images become links or words, and only addresses of the web and of mail are links.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, ClassVar

from hansard.render.highlighting import CLASSES, coloured
from hansard.render.html.escaping import marked_up, quoted, spans, visible, with_links

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import nh3
    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from markdown_it.utils import EnvType, OptionsDict


# Beyond these a text is shown as it was written: markdown-it takes some ten microseconds for each mark, and as long for a line.
LONGEST = 200_000
MANY_MARKS = 20_000

# A text in which nothing of this occurs is paragraphs and nothing else.
_MEANS_SOMETHING = re.compile(r"[*_`\[\]<>&\\#~|]|^[ \t]*(?:[-+=]|\d+[.)])|^ *(?: {2}|\t)|  $|://", re.MULTILINE)
# What a line is often made of, and what else it would take markdown-it to understand.
_CODE_OR_STRONG = re.compile(r"(?<!`)`([^`\n ](?:[^`\n]*[^`\n ])?)`(?!`)|(?<!\*)\*\*(?!\*)")
_HARDER = re.compile(r"[\\\[\]<&_~`*]|\s\n|\n\s")
_PARAGRAPHS = re.compile(r"\n[ \t]*+(?:\n[ \t]*+)++")
_WEB = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_ALIGNED = {"text-align:left": "left", "text-align:center": "center", "text-align:right": "right"}

_TAGS = frozenset(
    "a blockquote br code del div em h3 h4 h5 h6 hr li ol p pre span strong table tbody td th thead tr ul".split()
)


def prose(text: str) -> str:
    """Markdown as HTML that is safe in a page."""
    text = visible(text).strip("\n")
    if not _MEANS_SOMETHING.search(text):
        return "".join(
            f"<p>{paragraph}</p>" for part in _PARAGRAPHS.split(text) if (paragraph := marked_up(part.strip()))
        )
    if len(text) > LONGEST or sum(map(text.count, "[*_`<&\\")) > MANY_MARKS:
        return f'<pre class="wrap">{marked_up(text)}</pre>'
    drawn = _draw_blocks(text, _drawing())
    # Only addresses and titles of links get into tags. All else is tags of our own around escaped text, which cleaning would not
    # change, except that it writes spaces that do not break by their name.
    if "<a " in drawn or 'title="' in drawn or "\xa0" in drawn:
        return _cleaner().clean(drawn)
    return drawn


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Drawing)
    return parser.enable(["table", "strikethrough"]).disable(
        ["inline", "html_block", "html_inline"]
    )  # the drawing asks for that where it is needed


@cache
def _drawing() -> _Drawing:
    return _Drawing(_parser())


@cache
def _cleaner() -> nh3.Cleaner:
    import nh3

    return nh3.Cleaner(
        tags=set(_TAGS),
        clean_content_tags=set(),
        attributes={"a": {"href", "title"}, "span": {"title"}, "ol": {"start"}},
        allowed_classes={
            "span": {*CLASSES, "ref"},
            "div": {"wide"},
            "pre": {"code"},
            "th": {"left", "center", "right"},
            "td": {"left", "center", "right"},
        },
        url_schemes={"http", "https", "mailto"},
        url_relative="deny",
        link_rel="noopener noreferrer nofollow",
        strip_comments=True,
    )


class _Drawing:
    """Writes markdown-it's tokens; headings begin below those of the page."""

    __output__: ClassVar[str] = "html"
    _TAG: ClassVar[dict[str, str]] = {
        "strong_open": "<strong>", "strong_close": "</strong>", "em_open": "<em>", "em_close": "</em>", "s_open": "<del>",
        "s_close": "</del>", "softbreak": "\n", "hardbreak": "<br>", "bullet_list_open": "<ul>", "bullet_list_close": "</ul>",
        "ordered_list_close": "</ol>", "list_item_open": "<li>", "list_item_close": "</li>", "blockquote_open": "<blockquote>",
        "blockquote_close": "</blockquote>", "hr": "<hr>", "table_open": '<div class="wide"><table>', "table_close": "</table></div>",
        "thead_open": "<thead>", "thead_close": "</thead>", "tbody_open": "<tbody>", "tbody_close": "</tbody>", "tr_open": "<tr>",
        "tr_close": "</tr>", "th_close": "</th>", "td_close": "</td>",
    }  # fmt: skip

    def __init__(self, parser: MarkdownIt) -> None:
        self._parser = parser
        self._write: dict[str, Callable[[Token], str]] = {
            "paragraph_open": lambda token: "" if token.hidden else "<p>",
            "paragraph_close": lambda token: "\n" if token.hidden else "</p>",
            "heading_open": lambda token: f"<h{min(int(token.tag[1:]) + 2, 6)}>",
            "heading_close": lambda token: f"</h{min(int(token.tag[1:]) + 2, 6)}>",
            "ordered_list_open": _numbered,
            "th_open": _cell,
            "td_open": _cell,
            "fence": lambda token: _block(token.content, (token.info.split() or [""])[0]),
            "code_block": lambda token: _block(token.content, ""),
            "code_inline": lambda token: f"<code>{marked_up(token.content)}</code>",
            "image": _image,
        }

    def render(self, tokens: Sequence[Token], options: OptionsDict, env: EnvType) -> str:  # noqa: ARG002
        """All of it."""
        out: list[str] = []
        for token in tokens:
            if token.type == "inline":
                self.words(token.content, out, env)
            elif (tag := self._TAG.get(token.type)) is not None:
                out.append(tag)
            else:
                out.append(self._write.get(token.type, _text)(token))
        return "".join(out)

    def words(self, text: str, out: list[str], env: EnvType | None = None) -> None:
        """The content of a paragraph."""
        if not _simple(text, out):
            inner: list[Token] = []
            self._parser.inline.parse(text, self._parser, {} if env is None else env, inner)
            self._inline(inner, out)

    def code(self, text: str, language: str) -> str:
        """A block of code."""
        return _block(text, language)

    def anything(self, text: str) -> str:
        """Any Markdown."""
        drawn: str = self._parser.render(text)
        return drawn

    def _inline(self, tokens: Sequence[Token], out: list[str]) -> None:
        links: list[str] = []  # how each of those that are open is closed
        for token in tokens:
            kind = token.type
            if kind == "text":
                out.append(marked_up(token.content) if links else with_links(token.content))
            elif (tag := self._TAG.get(kind)) is not None:
                out.append(tag)
            elif kind == "link_open":
                opened, closed = _link(token)
                out.append(opened)
                links.append(closed)
            elif kind == "link_close":
                out.append(links.pop() if links else "")
            else:
                out.append(self._write.get(kind, _text)(token))


def _simple(text: str, out: list[str]) -> bool:
    """Write a text in which there is nothing but words, code and strong words; False where it takes more to understand it."""
    drawn: list[str] = []
    escape = with_links if "://" in text else marked_up
    last = 0
    is_open = False
    for match in _CODE_OR_STRONG.finditer(text):
        start, end = match.span()
        if last < start:
            words = text[last:start]
            if _HARDER.search(words):
                return False
            drawn.append(escape(words))
        code = match[1]
        if code is not None:
            drawn.append(f"<code>{marked_up(code)}</code>")
        else:
            opens, closes = _flanks(text[start - 1] if start else " ", text[end] if end < len(text) else " ")
            if opens is is_open or closes is not is_open:
                return False
            drawn.append("</strong>" if is_open else "<strong>")
            is_open = not is_open
        last = end
    words = text[last:]
    if is_open or (words and _HARDER.search(words)):
        return False
    out += drawn
    out.append(escape(words))
    return True


@lru_cache(maxsize=4096)
def _flanks(before: str, after: str) -> tuple[bool, bool]:
    """Whether two stars between these characters may begin, and may end, strong words."""
    from markdown_it.common.utils import isMdAsciiPunct, isPunctChar, isWhiteSpace

    space_before, space_after = isWhiteSpace(ord(before)), isWhiteSpace(ord(after))
    mark_before = isMdAsciiPunct(ord(before)) or isPunctChar(before)
    mark_after = isMdAsciiPunct(ord(after)) or isPunctChar(after)
    begins = not space_after and (not mark_after or space_before or mark_before)
    ends = not space_before and (not mark_before or space_after or mark_after)
    return begins, ends


def _text(token: Token) -> str:
    return marked_up(token.content)


def _numbered(token: Token) -> str:
    start = token.attrs.get("start")
    return f'<ol start="{int(start)}">' if start is not None else "<ol>"


def _cell(token: Token) -> str:
    side = _ALIGNED.get(str(token.attrs.get("style", "")))
    return f'<{token.tag} class="{side}">' if side else f"<{token.tag}>"


def _link(token: Token) -> tuple[str, str]:
    address = str(token.attrs.get("href", ""))
    title = str(token.attrs.get("title", ""))
    if _WEB.match(address):
        told = f' title="{quoted(title)}"' if title else ""
        return f'<a href="{quoted(address)}"{told}>', "</a>"
    return f'<span class="ref" title="{quoted(address)}">', "</span>"


def _image(token: Token) -> str:
    """An image as a link to it, or as its name: a page loads nothing."""
    address = str(token.attrs.get("src", ""))
    name = marked_up(token.content or "image")
    if _WEB.match(address):
        return f'<a href="{quoted(address)}">{name}</a>'
    return f'<span class="ref" title="{quoted(address[:200])}">{name}</span>'


def _block(text: str, language: str) -> str:
    return f'<pre class="code"><code>{spans(coloured(text.removesuffix(chr(10)), language))}</code></pre>'


# -- The blocks that models write most: paragraphs, headings, code between fences, rules and lists.
#
# A text is gone through line by line. Where a stretch is anything else, or not quite clear, all lines up to the next that surely
# begins a block of its own are left to markdown-it, so the result is the same as if it had read the whole.
#
# What that buys, measured on 2026-11-16 with and without it in turn: `export --all --format html` of the public corpus takes
# 2.95 s with it and 3.10 s without (5.5 and 5.7 s of CPU, best of 4 and 3); in an earlier run of four, markdown-it alone took
# 11 to 17 % more CPU. On the demo history there is no difference.

_MARKER = re.compile(r"(?:[-+*]|([0-9]{1,9})[.)])(?=[ \t]|$)")
_ITEM = re.compile(r"( *)(?:[-+*]|([0-9]{1,9})[.)])( {1,4})(?=[^ \t])")
_HEADING = re.compile(r"(#{1,6})(?:[ \t]++(.*+))?$")
_FENCE = re.compile(r"(`{3,}+|~{3,}+)(.*+)$")
_RULE = re.compile(r"([-*_])(?:[ \t]*+\1){2,}+[ \t]*+$")
# Makes a heading, or a table, of the line above it.
_UNDERLINE = re.compile(r"(?:=++[ \t]*+|[-:|][-:| \t]*+)$")
_PLAIN, _TITLE, _CODE, _LINE, _LIST, _OTHER = range(6)
_CODE_INDENT = 4
_DEEPEST = 8  # lists inside each other


class _Unclear(Exception):
    """A stretch that is left to markdown-it."""


def _draw_blocks(text: str, drawing: _Drawing) -> str:
    """A text as HTML; the same as `_Drawing.anything` gives of it, and faster."""
    if "]:" in text:  # what looks like a link's address counts for the whole text
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

    def __init__(self, lines: Sequence[str], drawing: _Drawing) -> None:
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
        while self.place < len(self.lines) and not _is_blank(self.lines[self.place]):
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


def _may_interrupt(bare: str) -> bool:
    """Whether an item may follow a paragraph without an empty line: not if it is empty, or numbered with another number than 1."""
    marker = _MARKER.match(bare)
    return marker is not None and bool(bare[marker.end() :].strip(" \t")) and (marker[1] is None or int(marker[1]) == 1)
