"""How the tests read a query, and how they write one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hansard.query.language import (
    After,
    And,
    Before,
    Cost,
    Everything,
    Field,
    Near,
    Node,
    Not,
    On,
    Or,
    Phrase,
    Since,
    Tokens,
    Tool,
    Word,
    parse,
)

NOW = datetime(2026, 5, 10, 12, 30, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
__all__ = ["EPOCH", "NOW", "UTC", "at", "read", "written"]


def read(text: str) -> Node:
    return parse(text, now=NOW, zone=UTC)


def at(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(milliseconds=1)


def written(node: Node) -> str:
    """A query that means this node."""
    match node:
        case Everything():
            text = ""
        case Word():
            text = node.text + "*" * node.prefix
        case Phrase():
            text = f'"{node.text}"' + "*" * node.prefix
        case Near():
            text = f"near({' '.join(node.words)}, {node.distance})"
        case Not():
            text = "-" + (f"({written(node.node)})" if isinstance(node.node, And | Or | Not) else written(node.node))
        case And():
            text = " ".join(f"({written(part)})" if isinstance(part, Or) else written(part) for part in node.nodes)
        case Or():
            text = " OR ".join(map(written, node.nodes))
        case _:
            text = f"{node.name}:{_value(node)}"
    return text


def _value(field: Field) -> str:
    match field:
        case Before() | After() | Since():
            return _iso(field.at)
        case On():
            return _iso(field.first)[:10]
        case Cost():
            return f"{field.compare}{field.amount:f}"
        case Tokens():
            return f"{field.compare}{field.amount}"
        case Tool():
            return f'"{field.value}"' + "*" * field.prefix
        case _:
            return f'"{field.value}"'


def _iso(milliseconds: int) -> str:
    return (EPOCH + timedelta(milliseconds=milliseconds)).isoformat(timespec="milliseconds")
