"""Where a session, or a text, is in the logs: what an erasure has to reach, found by the index."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from hansard.errors import Ambiguous, NotFound
from hansard.index.schema import SNAPSHOT_TEXT
from hansard.query.language.nodes import And, Everything, Near, Node, Not, Or, Phrase, Word, walk
from hansard.query.search.blocks import describe
from hansard.query.search.excerpts import Marker
from hansard.query.search.pages import Search
from hansard.query.search.plan import Term, alternatives, without_empty
from hansard.query.search.spellings import as_typed
from hansard.storage import OFFSET_BITS, OFFSET_MASK

if TYPE_CHECKING:
    from hansard.model.requests import SearchRequest
    from hansard.query.reader import Reader

_AT_ONCE = 500
_LISTED = "(SELECT value FROM json_each(?1))"
# Lines of a session's own, without those that it copied from another one.
_OWN = (
    f"transcripts t CROSS JOIN records r ON r.id BETWEEN (t.id << {OFFSET_BITS}) + t.copied AND (t.id << {OFFSET_BITS}) + {OFFSET_MASK}"
    f" WHERE t.session_id IN {_LISTED} AND t.kind <> 'history' AND r.uuid IS NOT NULL"
)


# These sessions, and those that they are forks of.
_ORIGINS = (
    "WITH RECURSIVE origin (id) AS (SELECT value FROM json_each(?1) UNION SELECT l.source FROM origin o JOIN links l"
    " ON l.target = o.id WHERE l.relation IN ('fork', 'branch', 'resumed')) SELECT id FROM origin"
)


class Line(NamedTuple):
    """A line of a log."""

    transcript: int
    """The generation in the record."""
    offset: int
    length: int | None
    """None: up to the line break."""
    uuid: str | None


def find_project(reader: Reader, name: str) -> str:
    """The path of a project that is named by its path or by its folder's name; no part of a name is enough."""
    paths = [
        row[0] for row in reader.rows("SELECT DISTINCT project FROM sessions WHERE project <> '' ORDER BY project")
    ]
    wanted = name.rstrip("/\\") or name
    found = [path for path in paths if path == wanted] or [
        path for path in paths if path.replace("\\", "/").rpartition("/")[2] == wanted
    ]
    if not found:
        raise NotFound(f"no project is called {name!r}: give the path of its folder, or the folder's name")
    if len(found) > 1:
        raise Ambiguous(f"several projects are called {name!r}: {', '.join(found)}. Give the whole path")
    return str(found[0])


def sessions_of(reader: Reader, project: str) -> list[str]:
    """The sessions of a project, those without a conversation too."""
    return [
        row[0]
        for row in reader.rows("SELECT session_id FROM sessions WHERE project = ? ORDER BY session_id", (project,))
    ]


def project_folders(reader: Reader, project: str) -> set[tuple[str, str]]:
    """The history folders that only this project has: root and name."""
    rows = reader.rows(
        "SELECT root, project_dir FROM sessions WHERE project_dir <> '' GROUP BY root, project_dir HAVING count(DISTINCT project) = 1"
        " AND min(project) = ?",
        (project,),
    )
    return {(root, folder) for root, folder in rows}


def paths_of(reader: Reader, sessions: Collection[str]) -> set[tuple[str, str]]:
    """The transcripts of sessions: root and path."""
    rows = reader.rows(
        f"SELECT DISTINCT root, path FROM transcripts WHERE session_id IN {_LISTED} AND kind <> 'history'",
        (_json(sessions),),
    )
    return {(root, path) for root, path in rows}


def clients_of(reader: Reader, sessions: Collection[str]) -> set[tuple[str, str]]:
    """The clients of sessions, with their ids."""
    rows = reader.rows(
        f"SELECT DISTINCT client, session_id FROM transcripts WHERE session_id IN {_LISTED}", (_json(sessions),)
    )
    return {(client, session_id) for client, session_id in rows}


def typed_lines(reader: Reader, sessions: Collection[str], project: str | None) -> list[Line]:
    """The lines of prompt histories that belong to sessions, or to a project and to no known session of another one."""
    rows = reader.rows(
        "SELECT p.id FROM prompts p WHERE p.source = 'history' AND (p.session_id IN (SELECT value FROM json_each(?1)) OR"
        " (p.project = ?2 AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.session_id = p.session_id AND s.project <> ?2)))",
        (_json(sessions), project),
    )
    return [_line(row[0], None, None) for row in rows]


def title_lines(reader: Reader, sessions: Collection[str]) -> list[Line]:
    """The lines elsewhere that give these sessions a title."""
    rows = reader.rows(
        f"SELECT DISTINCT s.id FROM {_OWN.replace(' WHERE ', ' CROSS JOIN summaries s ON s.leaf_uuid = r.uuid WHERE ')}",
        (_json(sessions),),
    )
    return [_line(row[0], None, None) for row in rows if not _is_of(reader, row[0], sessions)]


def copied_lines(reader: Reader, sessions: Collection[str]) -> list[Line]:
    """The lines of other sessions that are copies of lines of these; a session that these are forks of has no copies."""
    rows = reader.rows(
        f"SELECT DISTINCT o.id, o.length, o.uuid FROM {_OWN.replace(' WHERE ', ' CROSS JOIN records o ON o.uuid = r.uuid WHERE ')}"
        f" AND NOT EXISTS (SELECT 1 FROM transcripts x WHERE x.id = o.id >> {OFFSET_BITS} AND x.session_id IN ({_ORIGINS}))",
        (_json(sessions),),
    )
    return [_line(*row) for row in rows]


def own_lines(reader: Reader, sessions: Collection[str]) -> dict[int, int]:
    """The transcripts of sessions, and where in each the lines begin that it did not copy from another session."""
    sql = f"SELECT id, copied FROM transcripts WHERE session_id IN {_LISTED} AND kind <> 'history'"
    return dict(reader.rows(sql, (_json(sessions),)))


class Sweep(NamedTuple):
    """A search for lines that the full text does not have: repeated titles, records without texts, small files."""

    pattern: str
    """A regular expression that every such line matches, in any case."""
    holds: Callable[[str], bool]
    """Whether a text has all words of one alternative of the query."""
    is_limited: bool
    """The query has other conditions: only what they hold for counts."""


def sweeps(reader: Reader, request: SearchRequest) -> list[Sweep]:
    """The searches for a query's words, one for each of its alternatives; none for one with fields of single texts, which lines have not."""
    search = Search(reader, request, exact=True)
    wanted = without_empty(search.node)
    found = []
    for atoms, leg in zip(alternatives(wanted) if wanted is not None else (), search.plan.legs, strict=True):
        said = atoms.said
        if not all(isinstance(part, Word | Phrase | Near | Not | And | Or | Everything) for part in walk(said)):
            continue
        # A word that is not wanted has only the spelling that was typed.
        terms = {word: Term(word, (as_typed(word),), (), prefix) for word, prefix in _words(said)}
        terms.update((term.typed, term) for term in leg.terms)
        literals = _needed(said, terms)
        if literals:
            # A line of JSON may have other letters escaped.
            escaped = {json.dumps(word)[1:-1] for word in literals}
            is_limited = bool(leg.sessions or leg.transcripts or leg.rows or leg.only_agents)
            pattern = "|".join(map(re.escape, sorted(literals | escaped)))
            markers = {word: Marker([term]) for word, term in terms.items()}
            found.append(Sweep(pattern, partial(_says, said, markers), is_limited))
    return found


def _words(node: Node) -> Iterator[tuple[str, bool]]:
    """The words and phrases of a query, and whether each is only a beginning."""
    for part in walk(node):
        if isinstance(part, Word | Phrase):
            yield part.text, part.prefix
        elif isinstance(part, Near):
            yield from ((word, False) for word in part.words)


def _needed(node: Node, terms: Mapping[str, Term]) -> set[str]:
    """Words one of which is in every text that a query finds; none if there are no such words."""
    match node:
        case Word() | Phrase():
            return {max(spelling, key=len) for spelling in terms[node.text].spellings}
        case Near(words):
            return _needed(And(tuple(map(Word, words))), terms)
        case And(nodes):
            each = [found for part in nodes if (found := _needed(part, terms))]
            return max(each, key=lambda words: min(map(len, words)), default=set())
        case Or(nodes):
            either = [_needed(part, terms) for part in nodes]
            return set().union(*either) if all(either) else set()
    return set()


def _says(node: Node, markers: Mapping[str, Marker], text: str) -> bool:
    """Whether a text is one that the words of a query find."""
    match node:
        case Word() | Phrase():
            return markers[node.text].finds(text)
        case Near(words):
            return all(markers[word].finds(text) for word in words)
        case And(nodes):
            return all(_says(part, markers, text) for part in nodes)
        case Or(nodes):
            return any(_says(part, markers, text) for part in nodes)
        case Not(inner):
            return not _says(inner, markers, text)
    return True


class Matches(NamedTuple):
    """What a query finds."""

    lines: list[Line]
    snapshots: list[int]


def matching(reader: Reader, request: SearchRequest) -> Matches:
    """Every line and file that a query finds, in all generations and in the prompt history."""
    search = Search(reader, request, exact=True)
    ids = search.all_ids()
    lines: dict[tuple[int, int], Line] = {}
    snapshots: list[int] = []
    while some := list(islice(ids, _AT_ONCE)):
        snapshots += [id_ - SNAPSHOT_TEXT for id_ in some if id_ >= SNAPSHOT_TEXT]
        for block in describe(reader, [id_ for id_ in some if id_ < SNAPSHOT_TEXT]).values():
            line = Line(block.transcript, block.offset, block.length, block.uuid)
            lines[line[:2]] = line
    return Matches([*lines.values()], snapshots)


def same_lines(reader: Reader, uuids: Collection[str]) -> list[Line]:
    """Every line with one of these uuids."""
    rows = reader.rows(f"SELECT id, length, uuid FROM records WHERE uuid IN {_LISTED}", (_json(uuids),))
    return [_line(*row) for row in rows]


def sessions_at(reader: Reader, transcripts: Collection[int]) -> dict[int, str]:
    """The sessions of transcripts."""
    rows = reader.rows(
        f"SELECT id, session_id FROM transcripts WHERE id IN {_LISTED}", (json.dumps(sorted(transcripts)),)
    )
    return dict(rows)


def _is_of(reader: Reader, row_id: int, sessions: Collection[str]) -> bool:
    row = reader.one("SELECT session_id FROM transcripts WHERE id = ?", (row_id >> OFFSET_BITS,))
    return row is not None and row[0] in sessions


def _line(row_id: int, length: int | None, uuid: str | None) -> Line:
    return Line(row_id >> OFFSET_BITS, row_id & OFFSET_MASK, length, uuid)


def _json(values: Collection[str]) -> str:
    return json.dumps(sorted(values))


def ids_of(lines: Iterable[Line]) -> Iterator[str]:
    """The uuids of lines that have one."""
    return (line.uuid for line in lines if line.uuid)
