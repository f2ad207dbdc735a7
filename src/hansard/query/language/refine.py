"""Narrow or widen a query by one field, as text: what the user sees in the input is what is searched for."""

from __future__ import annotations

import re
from datetime import datetime, tzinfo
from typing import NamedTuple

from hansard.query.language.error import QueryError
from hansard.query.language.fields import FIELDS
from hansard.query.language.nodes import And, Everything, Near, Node, Not, Or, Phrase, Word
from hansard.query.language.parser import parse

_PLAIN = re.compile(r"(?!:|//)[^\s()\"“”„]*[^\s()\"“”„*]")


class Part(NamedTuple):
    """A field of a query, and the query without it."""

    text: str
    node: Node
    rest: str


class Refining:
    """A valid query, ready to be changed."""

    def __init__(self, query: str, *, now: datetime, zone: tzinfo | None = None) -> None:
        self.query = query.strip()
        self._now = now
        self._zone = zone
        self._node = self._parse(self.query)

    def fields(self) -> list[Part]:
        """The fields that every result must match, in order."""
        found: list[Part] = []
        for node in _sides(self._node):
            span = _span(node)
            if span is not None:
                start, end = span
                before, after = self.query[:start].rstrip(), self.query[end:].lstrip()
                found.append(Part(self.query[start:end], node, f"{before} {after}".strip()))
        return found

    def narrowed(self, name: str, value: str) -> str | None:
        """The query with a field added; None if the language cannot express it."""
        field = written(name, value)
        if field is None:
            return None
        try:
            wanted = (*_sides(self._node), *_sides(self._parse(field)))
            for text in (self.query, f"({self.query})", f'{self.query}"', f'({self.query}")'):
                longer = f"{text} {field}".strip()
                if _sides(self._parse(longer)) == wanted:
                    return longer
        except QueryError:  # no such value, or too many terms
            return None
        return None

    def has(self, name: str, value: str) -> Part | None:
        """The field, if the query has it with exactly this value."""
        field = written(name, value)
        try:
            node = None if field is None else self._parse(field)
        except QueryError:
            return None
        return next((part for part in self.fields() if part.node == node), None)

    def _parse(self, text: str) -> Node:
        return parse(text, now=self._now, zone=self._zone)


def written(name: str, value: str) -> str | None:
    """A field as it is typed; None if the value cannot be quoted."""
    if name not in FIELDS or not value.strip() or '"' in value:
        return None
    return f"{name}:{value}" if _PLAIN.fullmatch(value) else f'{name}:"{value}"'


def _sides(node: Node) -> tuple[Node, ...]:
    if isinstance(node, Everything):
        return ()
    return node.nodes if isinstance(node, And) else (node,)


def _span(node: Node) -> tuple[int, int] | None:
    """The span of a field including its minus; None for anything else."""
    if isinstance(node, Not):
        return (node.start, node.end) if _span(node.node) is not None else None
    if isinstance(node, Or):  # one field with several values
        spans = {_span(part) for part in node.nodes}
        return spans.pop() if len(spans) == 1 else None
    return None if isinstance(node, Word | Phrase | Near | And | Everything) else (node.start, node.end)
