"""A page as a tree of elements, to be asked with short CSS selectors: names, classes, attributes and descendants."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = frozenset({"br", "hr", "img", "input", "link", "meta", "rect", "line", "path", "circle"})
_STEP = re.compile(r"(?P<tag>[a-z0-9]*)(?P<classes>(?:\.[\w-]+)*)(?P<attributes>(?:\[[\w-]+(?:=[^\]]*)?\])*)")


@dataclass
class Element:
    """An element with what is in it."""

    tag: str
    attributes: dict[str, str]
    children: list[Element | str] = field(default_factory=list)

    def __getitem__(self, name: str) -> str:
        return self.attributes[name]

    @property
    def text(self) -> str:
        """What it says, on one line."""
        return " ".join(
            "".join(child if isinstance(child, str) else child.text + " " for child in self.children).split()
        )

    def all(self, selector: str) -> list[Element]:
        """Every element in it that fits, in order."""
        found = [self]
        for step in selector.split():
            found = list({id(one): one for above in found for one in above._inside(step)}.values())
        return found

    def one(self, selector: str) -> Element:
        """The only one that fits."""
        (found,) = self.all(selector)
        return found

    def each(self, selector: str, name: str) -> list[str]:
        """An attribute of every element that fits and has it."""
        return [one[name] for one in self.all(selector) if name in one.attributes]

    def _inside(self, step: str) -> Iterator[Element]:
        for child in self.children:
            if isinstance(child, Element):
                if child._fits(step):
                    yield child
                yield from child._inside(step)

    def _fits(self, step: str) -> bool:
        match = _STEP.fullmatch(step)
        assert match is not None, step
        classes = self.attributes.get("class", "").split()
        if match["tag"] not in ("", self.tag) or not set(match["classes"].split(".")[1:]) <= set(classes):
            return False
        for asked in re.findall(r"\[([^\]]*)\]", match["attributes"]):
            name, equals, value = asked.partition("=")
            if name not in self.attributes or (equals and self.attributes[name] != value):
                return False
        return True


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in _VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if tag not in _VOID:
            assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}> at {self.getpos()}"
            self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def read(text: str) -> Element:
    """A page; one whose elements are not closed in order is refused."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert len(reader.open) == 1, reader.open[-1]
    return reader.root
