"""Which sessions a query selects: the same language, asked of whole sessions.

Words must stand together in one text of the session, as in a search; every field is asked of the session as a whole, so
`flaky login tool:Bash` selects sessions that talk about a flaky login and use Bash, wherever they do.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING

from hansard.index.schema import SNAPSHOT_TEXT
from hansard.query.compile import Condition, of_whole_session
from hansard.query.language import And, Everything, Field, Kind, Near, Node, Not, Or, Phrase, Role, Word, parse, walk
from hansard.query.search.candidates import Finder
from hansard.query.search.plan import make_plan, without_empty
from hansard.query.search.vocabulary import IndexedWords

if TYPE_CHECKING:
    from hansard.query.reader import Reader

_NOTHING = Condition("0")
Ask = Callable[["Reader", Field], Condition | None]


def of_query(
    reader: Reader, query: str, *, now: datetime, zone: tzinfo | None = None, ask: Ask = of_whole_session
) -> Condition:
    """A query as a condition over the `sessions` table, or over another with a `session_id` whose fields `ask` knows."""
    node = without_empty(parse(query, now=now, zone=zone))
    return _NOTHING if node is None else _of(reader, node, ask)


def _of(reader: Reader, node: Node, ask: Ask) -> Condition:
    if isinstance(node, Everything):
        return Condition("1")
    if isinstance(node, And):
        return _all(reader, node.nodes, ask)
    if isinstance(node, Not):
        return _of(reader, node.node, ask).negated()
    if _is_said(node):
        return _said(reader, node)
    if isinstance(node, Or):
        return _joined([_of(reader, part, ask) for part in node.nodes], " OR ")
    if isinstance(node, Word | Phrase | Near):
        raise TypeError(node)
    found = ask(reader, node)
    if found is None:
        raise TypeError(node)
    return found


def _all(reader: Reader, nodes: tuple[Node, ...], ask: Ask) -> Condition:
    """Words that are all asked for belong to one text; what is not wanted must stand in none."""
    said = tuple(node for node in nodes if _is_said(node))
    parts = [_of(reader, node, ask) for node in nodes if not _is_said(node)]
    if said:
        parts.insert(0, _said(reader, And(said) if len(said) > 1 else said[0]))
    return _joined(parts, " AND ")


def _joined(parts: list[Condition], word: str) -> Condition:
    sql = word.join(part.sql for part in parts)
    return Condition(f"({sql})", tuple(value for part in parts for value in part.values))


def _is_said(node: Node) -> bool:
    """Whether a node is about what a text says and what kind of text it is, and nothing else."""
    return not isinstance(node, Not) and all(
        isinstance(part, Word | Phrase | Near | And | Or | Not | Kind | Role) for part in walk(node)
    )


def _said(reader: Reader, node: Node) -> Condition:
    if not reader.has_text:
        return _NOTHING
    found = Finder(reader, make_plan(reader, node, IndexedWords(reader))).transcripts()
    sessions = {
        row[0]
        for row in reader.rows(
            "SELECT session_id FROM transcripts WHERE id IN (SELECT value FROM json_each(?1))"
            f" UNION SELECT session_id FROM side_files WHERE id + {SNAPSHOT_TEXT} IN (SELECT value FROM json_each(?1))",
            (json.dumps(sorted(found)),),
        )
    }
    return Condition("session_id IN (SELECT value FROM json_each(?))", (json.dumps(sorted(sessions)),))
