"""Markdown and plain text as HTML: markdown-it-py parses, `Drawing` writes, and nh3 sanitizes everything with links.

Nothing loads from anywhere: images become links or words, and only addresses of the web and of mail are links.
"""

from __future__ import annotations

import re
from functools import cache, partial
from typing import TYPE_CHECKING, ClassVar

from hansard.render.format import many
from hansard.render.highlighting import CLASSES, coloured
from hansard.render.html.escaping import marked_up, quoted, spans, visible, with_links

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import nh3
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token
    from markdown_it.utils import EnvType, OptionsDict


# Longer texts are shown verbatim: markdown-it takes about ten microseconds per mark and per line.
LONGEST = 200_000
MANY_MARKS = 20_000
LONG = 40  # lines; beyond them only the first are shown at once
FIRST = 30
LONG_TEXT = 8_000  # characters, the same
FIRST_TEXT = 5_000

# Without any of these, a text consists of plain paragraphs.
_MARKUP = re.compile(r"[*_`\[\]<>&\\#~|]|^[ \t]*(?:[-+=]|\d+[.)])|^ *(?: {2}|\t)|  $|://", re.MULTILINE)
_PARAGRAPHS = re.compile(r"\n[ \t]*+(?:\n[ \t]*+)++")
_WEB = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_ALIGNED = {"text-align:left": "left", "text-align:center": "center", "text-align:right": "right"}

_ABOVE = 2  # the level of the headings that the text is under
_TAGS = frozenset(
    "a blockquote br code del div em h3 h4 h5 h6 hr li ol p pre span strong table tbody td th thead tr ul".split()
)


def prose(text: str) -> str:
    """Markdown as HTML that is safe in a page."""
    return drawn_by(_parser, visible(text).strip("\n"))


def drawn_by(parser: Callable[[], MarkdownIt], text: str) -> str:
    """Visible text as HTML; the parser is created only if the text has Markdown in it."""
    if not _MARKUP.search(text):
        return "".join(
            f"<p>{paragraph}</p>" for part in _PARAGRAPHS.split(text) if (paragraph := marked_up(part.strip()))
        )
    if len(text) > MANY_MARKS and (len(text) > LONGEST or sum(map(text.count, "[*_`<&\\")) > MANY_MARKS):
        return f'<pre class="wrap">{marked_up(text)}</pre>'
    drawn: str = parser().render(text)
    # Only addresses and titles of links get into tags. All else is tags of our own around escaped text, which cleaning would not
    # change, except that it writes spaces that do not break by their name.
    if "<a " in drawn or 'title="' in drawn or "\xa0" in drawn:
        return _cleaner().clean(drawn)
    return drawn


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}, renderer_cls=Drawing)
    # `Drawing.words` parses what is inside of paragraphs.
    return parser.enable(["table", "strikethrough"]).disable(["inline", "html_block", "html_inline"])


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


class Drawing:
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
        self._level = _ABOVE
        self._write: dict[str, Callable[[Token], str]] = {
            "paragraph_open": lambda token: "" if token.hidden else "<p>",
            "paragraph_close": lambda token: "\n" if token.hidden else "</p>",
            "heading_open": self._heading,
            "heading_close": lambda _: f"</h{self._level}>",
            "ordered_list_open": _numbered,
            "th_open": _cell,
            "td_open": _cell,
            "fence": lambda token: code_block(token.content, (token.info.split() or [""])[0]),
            "code_block": lambda token: code_block(token.content, ""),
            "code_inline": lambda token: f"<code>{marked_up(token.content)}</code>",
            "image": _image,
        }

    def render(self, tokens: Sequence[Token], options: OptionsDict, env: EnvType) -> str:  # noqa: ARG002
        out: list[str] = []
        self._level = _ABOVE
        for token in tokens:
            if token.type == "inline":
                self.words(token.content, out, env)
            elif (tag := self._TAG.get(token.type)) is not None:
                out.append(tag)
            else:
                out.append(self._write.get(token.type, _text)(token))
        return "".join(out)

    def _heading(self, token: Token) -> str:
        """A heading at most one level below the one before it, so that no level of the page is skipped."""
        self._level = min(int(token.tag[1:]) + _ABOVE, self._level + 1, 6)
        return f"<h{self._level}>"

    def words(self, text: str, out: list[str], env: EnvType) -> None:
        """Draw the content of a paragraph."""
        inner: list[Token] = []
        self._parser.inline.parse(text, self._parser, env, inner)
        self._inline(inner, out)

    def _inline(self, tokens: Sequence[Token], out: list[str]) -> None:
        links: list[str] = []  # the closing tags of open links
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
        attribute = f' title="{quoted(title)}"' if title else ""
        return f'<a href="{quoted(address)}"{attribute}>', "</a>"
    return f'<span class="ref" title="{quoted(address)}">', "</span>"


def _image(token: Token) -> str:
    """An image as a link to it, or as its name: a page loads nothing."""
    address = str(token.attrs.get("src", ""))
    name = marked_up(token.content or "image")
    if _WEB.match(address):
        return f'<a href="{quoted(address)}">{name}</a>'
    return f'<span class="ref" title="{quoted(address[:200])}">{name}</span>'


def code_block(text: str, language: str) -> str:
    return f'<pre class="code"><code>{spans(coloured(text.removesuffix(chr(10)), language))}</code></pre>'


def plain_html(text: str) -> str:
    """Text as it was typed; the rest of a long one is folded."""
    place = first_cut(text)
    if not place:
        return f'<div class="plain" dir="auto">{with_links(text)}</div>' if text else ""
    end = place - 1 if text[place - 1] == "\n" else place
    return (
        f'<div class="plain" dir="auto">{with_links(text[:end])}</div><details class="more"><summary>{more_words(text, place)}</summary>'
        f'<div class="plain" dir="auto">{with_links(text[place:])}</div></details>'
    )


def first_cut(text: str) -> int:
    """Where a text is folded: after a newline, or inside an overlong line; 0 if it is short."""
    place = 0
    if text.count("\n") >= LONG:
        for _ in range(FIRST):
            place = text.index("\n", place) + 1
    if (place or len(text)) > LONG_TEXT:
        place = text.rfind("\n", FIRST_TEXT // 5, FIRST_TEXT) + 1 or FIRST_TEXT
    return place


def more_words(text: str, place: int) -> str:
    """How much is folded."""
    if text[place - 1] == "\n":
        return many(text.count("\n", place) + 1, "more line")
    return many(len(text) - place, "more character")


# -- prompts: Markdown as people type it, in which every character that is not layout is kept

_TYPED_MARKDOWN = re.compile(
    r"^ {0,3}(?:```|~~~|#{1,6} |[-*+] |\d{1,9}[.)] |> |\|.*\|)|(?<!`)`[^`\n]+`|\*\*[^\s*]|\[[^\[\]\n]+\]\(",
    re.MULTILINE,
)
_TYPED_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
# Inline text that Markdown would alter: underscores, stars in words, backslashes, entities, indents.
_ALTERED = re.compile(r"(?<!\w)_|_(?!\w)|\w\*\w|\\[!-/:-@\[-`{-~\n]|&#?\w+;|\n[ \t]")
_CODE_OR_STRONG = re.compile(r"(?<!`)`([^`\n]+)`(?!`)|(?<![*\w])\*\*(?![\s*])([^*\n]+)(?<!\s)\*\*(?![*\w])")
_BAR = re.compile(r"(?<!\\)\|")


def prompt_html(text: str) -> str:
    """A prompt, rendered as Markdown if it is Markdown, else verbatim; the rest of a long one is folded."""
    text = visible(text)
    if not _TYPED_MARKDOWN.search(text) or len(text) > LONGEST:
        return plain_html(text)
    if not first_cut(text):
        return _prompt_prose(text)
    place, opener = _fold_at(text)
    return (
        f'{_prompt_prose(text[:place])}<details class="more"><summary>{more_words(text, place)}</summary>'
        f"{_prompt_prose(opener + text[place:])}</details>"
    )


def _prompt_prose(text: str) -> str:
    parser = partial(_prompt_parser, tables=not _drops_cells(text))
    return f'<div class="prose" dir="auto">{drawn_by(parser, text.strip(chr(10)))}</div>'


def _fold_at(text: str) -> tuple[int, str]:
    """Where the folded rest begins, and the line that opens its code block if it begins inside one."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    tokens = _prompt_parser(tables=True).parse(text)
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
def _prompt_parser(*, tables: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}, renderer_cls=_PromptDrawing)
    parser.enable(["strikethrough", *(["table"] if tables else [])])
    parser.block.ruler.at("hr", _rule, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    return parser.disable(["inline", "html_block", "html_inline", "reference", "entity", "escape"])


def _rule(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    """A line across, unless it is of underscores: people type them for a blank to fill in."""
    from markdown_it.rules_block import hr

    start = state.bMarks[line] + state.tShift[line]
    return state.src[start : start + 1] != "_" and hr(state, line, end, silent)


class _PromptDrawing(Drawing):
    """Draws Markdown, but keeps inline text that Markdown would alter."""

    def __init__(self, parser: MarkdownIt) -> None:
        super().__init__(parser)
        self._write["fence"] = _prompt_fence

    def words(self, text: str, out: list[str], env: EnvType) -> None:
        if not _ALTERED.search(_TYPED_CODE.sub("``", text)):
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


def _prompt_fence(token: Token) -> str:
    """A code block; words after its language are shown above it."""
    language, _, more = token.info.strip().partition(" ")
    above = f'<p class="quiet">{marked_up(token.info.strip())}</p>' if more.strip() else ""
    return above + code_block(token.content, language)


def _drops_cells(text: str) -> bool:
    """Whether Markdown would drop parts of a table: cells beyond its header, backslashes before bars."""
    width = 0
    for line in text.split("\n"):
        cells = len(_BAR.findall(line.strip().strip("|")))
        if "-" in line and not line.strip("-|: \t>"):  # the delimiter row of a table
            width = cells
        elif "|" not in line:
            width = 0
        elif width and (cells > width or "\\|" in line):
            return True
    return False
