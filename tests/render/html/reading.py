"""Reads a page as a browser would, and fails on whatever a page of ours may not have."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = frozenset({"br", "hr", "img", "input", "meta"})
TAGS = frozenset(
    "a article blockquote body br button code dd del details dialog div dl dt em footer form h1 h2 h3 h4 h5 h6 head header hr html"
    " i img input ins kbd label li main meta nav ol option output p pre script section select small span strong style summary table"
    " tbody td th thead time title tr ul".split()
)
ATTRIBUTES = frozenset(
    "alt aria-controls aria-current aria-hidden aria-keyshortcuts aria-label aria-labelledby aria-live aria-pressed autocomplete"
    " charset class content datetime decoding dir for height hidden href http-equiv id lang loading method name open placeholder rel"
    " role spellcheck src start tabindex title type value width".split()
)
DATA = frozenset(
    {"data-at", "data-cost", "data-do", "data-filter", "data-holds", "data-project", "data-prompts", "data-tokens"}
)
HREF = re.compile(r"(?:https?://|mailto:)[^\s\"<>]*|#[A-Za-z][A-Za-z0-9_.~-]*|[A-Za-z0-9_.%/-]+\.html", re.IGNORECASE)
SRC = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}")
CLASS = re.compile(r"[a-z][a-z0-9_-]*(?: [a-z][a-z0-9_-]*)*")
IDS = re.compile(r"[A-Za-z][A-Za-z0-9_.~-]*")


@dataclass
class Read:
    """What was in a page."""

    tags: dict[str, int] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)
    items: list[str] = field(default_factory=list)  # ids of items, in order
    classes: set[str] = field(default_factory=set)
    hrefs: list[str] = field(default_factory=list)
    text: str = ""
    inline: dict[str, str] = field(default_factory=dict)  # style and script


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.read = Read()
        self._open: list[str] = []
        self._texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        place = f"<{tag} {attrs}> at {self.getpos()}"
        assert tag in TAGS, place
        read = self.read
        read.tags[tag] = read.tags.get(tag, 0) + 1
        given = {name: value or "" for name, value in attrs}
        assert len(given) == len(attrs), place
        for name, value in given.items():
            assert name in ATTRIBUTES or name in DATA, place
            if name == "href":
                assert HREF.fullmatch(value), place
                read.hrefs.append(value)
            elif name == "src":
                assert tag == "img", place
                assert SRC.fullmatch(value), place
            elif name == "class":
                assert CLASS.fullmatch(value), place
                read.classes.update(value.split())
            elif name == "id":
                assert IDS.fullmatch(value), place
                read.ids.append(value)
                if "item" in given.get("class", "").split():
                    read.items.append(value)
        if tag == "a" and given["href"].startswith(("http", "mailto")):
            assert given.get("rel") == "noopener noreferrer nofollow", place
        if tag == "meta" and "http-equiv" in given:
            assert given["http-equiv"] == "Content-Security-Policy", place
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> at {self.getpos()} closes nothing"
        assert self._open.pop() == tag, f"</{tag}> at {self.getpos()} closes something else"

    def handle_data(self, data: str) -> None:
        inside = self._open[-1] if self._open else ""
        if inside in ("style", "script"):
            self.read.inline[inside] = self.read.inline.get(inside, "") + data
        else:
            self._texts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment at {self.getpos()}: {data!r}")

    def handle_decl(self, decl: str) -> None:
        assert decl == "doctype html"

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"at {self.getpos()}: {data!r}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"at {self.getpos()}: {data!r}")

    def close(self) -> None:
        super().close()
        assert not self._open, f"left open: {self._open}"
        self.read.text = "".join(self._texts)


def read(html: str) -> Read:
    """What is in a page or in a piece of one; fails on anything that is not allowed."""
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert len(set(reader.read.ids)) == len(reader.read.ids), "two elements have one id"
    return reader.read
