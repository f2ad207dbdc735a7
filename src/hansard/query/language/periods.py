"""Queries of reports: bare dates are periods, and other bare words are refused.

A word in a search finds texts; in a report it would silently count only the sessions that contain it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo

from hansard.errors import UsageError
from hansard.model.time import to_milliseconds
from hansard.query.language.dates import parse_span
from hansard.query.language.error import QueryError, shown
from hansard.query.language.fields import On
from hansard.query.language.nodes import And, Near, Node, Not, Or, Phrase, Word, several
from hansard.query.language.parser import parse

_MOST_WORDS = 3  # of a date: `3 days ago`


def parse_report_query(text: str, *, now: datetime, zone: tzinfo | None = None) -> Node:
    """The tree of a report's query."""
    return _Periods(text, now, zone).read(parse(text, now=now, zone=zone))


class _Periods:
    """Reads the bare words of a query."""

    def __init__(self, text: str, now: datetime, zone: tzinfo | None) -> None:
        self.text = text
        self.now = now
        self.zone = zone

    def read(self, node: Node) -> Node:
        """The node with its bare words replaced by the periods that they name."""
        match node:
            case And(nodes):
                return several(And, self._read_all(nodes))
            case Or(nodes):
                return Or(tuple(map(self.read, nodes)))
            case Not(inner, start, end):
                return Not(self.read(inner), start, end)
            case Word():
                return self._period((node,)) or self._refuse(node)
            case Phrase() | Near():
                self._refuse(node)
        return node

    def _read_all(self, nodes: tuple[Node, ...]) -> list[Node]:
        """A sequence of nodes; up to three words in it may form one date."""
        found: list[Node] = []
        at = 0
        while at < len(nodes):
            for count in range(_MOST_WORDS, 1, -1):
                words = [node for node in nodes[at : at + count] if isinstance(node, Word)]
                if len(words) == count and (period := self._period(words)):
                    found.append(period)
                    at += count
                    break
            else:
                found.append(self.read(nodes[at]))
                at += 1
        return found

    def _period(self, words: Sequence[Word]) -> On | None:
        start, end = words[0].start, words[-1].end
        name = " ".join(self.text[start:end].split())
        try:
            span = parse_span(name, self.now, self.zone)
        except UsageError as error:
            if len(words) == 1 and name[0].isdigit():
                raise QueryError(str(error), self.text, start) from None
            return None
        if span.start == span.end:
            quoted = f'"{name}"' if " " in name else name
            raise QueryError(f"{shown(name)} is a point in time; use since:{quoted} or on:{quoted}", self.text, start)
        return On(to_milliseconds(span.start), to_milliseconds(span.end), start, end)

    def _refuse(self, node: Word | Phrase | Near) -> Node:
        typed = self.text[node.start : node.end]
        fields = f"model:{typed}, project:{typed}, branch:{typed} or tool:{typed}"
        raise QueryError(
            f"reports do not search for words: instead of {shown(typed)} use a field such as"
            f" {fields if isinstance(node, Word) else 'model:, project:, branch: or tool:'},"
            " or --match to count only sessions in which it occurs",
            self.text,
            node.start,
        )
