"""Markdown as HTML: markdown-it-py parses, a small drawing of our own writes, and nh3 sanitizes everything with links.

Nothing loads from anywhere: images become links or words, and only addresses of the web and of mail are links.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

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
# What a line is often made of, and what else it would take markdown-it to understand. Inside words a sign is only a sign: an
# underscore between letters, an ampersand or a bracket that begins no entity and no address. Each way begins with a character
# and looks back from there, so that `re` finds the places by their characters, many times as fast as by trying at each.
_CODE_OR_STRONG = re.compile(r"`(?<!``)([^`\n ](?:[^`\n]*[^`\n ])?)`(?!`)|\*\*(?<!\*\*\*)(?!\*)")
_HARDER = re.compile(
    r"[\\`*~_&<](?:(?<=[\\`*])|(?<=~)~|(?<=_)(?:(?<![^\W_]_)|(?![^\W_]))|(?<=&)(?:#|[A-Za-z][A-Za-z0-9]*+;)"
    r"|(?<=<)(?![^ \t\n<>:@\0]*+(?:[ \t\n<>]|\Z)))"
)
_BREAK = re.compile(r"\n(?:(?<=\s\n)|\s)")
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
    """Visible text as HTML by a parser, which is made only where the text needs one."""
    if not _MEANS_SOMETHING.search(text):
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
    return parser.enable(["table", "strikethrough"]).disable(
        ["inline", "html_block", "html_inline"]
    )  # the drawing asks for that where it is needed


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
        if (env and "[" in text) or not _simple(text, out):
            inner: list[Token] = []
            self._parser.inline.parse(text, self._parser, env, inner)
            self._inline(inner, out)

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
    if "](" in text:
        return False
    escape = with_links if "://" in text else marked_up if "&" in text or "<" in text or ">" in text else str
    if "`" not in text and "**" not in text:
        if _HARDER.search(text) or ("\n" in text and _BREAK.search(text)):
            return False
        out.append(escape(text))
        return True
    pieces: list[str | None] = _CODE_OR_STRONG.split(text)
    words: list[Any] = pieces[::2]
    said = "\0".join(words)
    if _HARDER.search(said) or ("\n" in said and _BREAK.search(said)):
        return False
    drawn: list[str] = [escape(words[0])]
    place = len(words[0])
    is_open = False
    for code, after in zip(pieces[1::2], words[1:], strict=True):
        if code is not None:
            drawn.append(f"<code>{marked_up(code)}</code>")
            place += len(code) + 2
        else:
            opens, closes = _flanks(text[place - 1] if place else " ", text[place + 2 : place + 3] or " ")
            if opens is is_open or closes is not is_open:
                return False
            drawn.append("</strong>" if is_open else "<strong>")
            is_open = not is_open
            place += 2
        drawn.append(escape(after))
        place += len(after)
    if is_open:
        return False
    out += drawn
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


def code_block(text: str, language: str) -> str:
    return f'<pre class="code"><code>{spans(coloured(text.removesuffix(chr(10)), language))}</code></pre>'
