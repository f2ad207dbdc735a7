"""Notes that the user wrote on sessions, found with the words of a search."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hansard.index.tokens import fold_text
from hansard.model.search import FoundNote
from hansard.model.time import from_milliseconds
from hansard.query.language import And, Has, InAgent, Is, Kind, Node, Not, Phrase, Role, Tool, Word
from hansard.query.language.fields import Changed, File
from hansard.query.language.nodes import Near, Or, several
from hansard.query.search.screening import has_text
from hansard.query.sessions import where_sessions

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hansard.query.reader import Reader

_MOST = 5
# Fields of messages and calls: a note has none of these.
_OF_TEXTS = (Changed, File, Has, InAgent, Is, Kind, Role, Tool)


def find_notes(reader: Reader, node: Node, prepare: Callable[[str], str] | None = None) -> tuple[FoundNote, ...]:
    """The newest notes with every word of a query, in sessions that match its other fields; `prepare` as in a search.

    A word matches at the beginning of a word, in any case and with any accents. Queries with alternatives, `near()` or a
    field of messages find no notes.
    """
    wanted, unwanted, sessions = [], [], list[Node]()
    for part in node.nodes if isinstance(node, And) else (node,):
        match part:
            case Word() | Phrase():
                wanted.append(_pattern(part.text))
            case Not(Word() | Phrase() as inner):
                unwanted.append(_pattern(inner.text))
            case Not(inner) if isinstance(inner, _OF_TEXTS):
                continue
            case Or() | Near() | Not() if has_text(part):
                return ()
            case _ if isinstance(part, _OF_TEXTS):
                return ()
            case _:
                sessions.append(part)
    if not wanted:
        return ()
    where, values = where_sessions(reader, several(And, sessions), debris=True)
    rows = reader.rows(
        "SELECT session_id, project, title, m.value, m.set_at FROM remarks m JOIN sessions USING (session_id)"
        f" WHERE m.kind = 'note' AND {where} ORDER BY m.id DESC",
        tuple(values),
    )
    found = []
    for session_id, project, title, note, set_at in rows:
        shown = note if prepare is None else prepare(note)  # a redacted secret cannot be searched for
        if _matches(fold_text(shown), wanted, unwanted):
            found.append(FoundNote(session_id, project, title, shown, from_milliseconds(set_at)))
            if len(found) == _MOST:
                break
    return tuple(found)


def _pattern(text: str) -> re.Pattern[str]:
    words = map(re.escape, fold_text(text).split())
    return re.compile(r"(?<!\w)" + r"\s+".join(words))


def _matches(text: str, wanted: list[Any], unwanted: list[Any]) -> bool:
    return all(one.search(text) for one in wanted) and not any(one.search(text) for one in unwanted)
