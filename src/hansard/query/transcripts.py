"""The logs, small files and messages behind sessions: listing them, and finding one by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hansard.errors import Ambiguous, NotFound
from hansard.model.files import Link, SideFile, Todo, Transcript
from hansard.model.names import is_handle, shown_id
from hansard.model.time import from_milliseconds
from hansard.query.reader import Reader
from hansard.query.sessions import find_session, in_folder
from hansard.storage import OFFSET_BITS, OFFSET_MASK

if TYPE_CHECKING:
    from hansard.record.store import Record

_COLUMNS = (
    "t.root, t.path, t.kind, t.generation, t.current, t.state, t.size, t.session_id, t.agent_id, t.lines, t.records, t.issues, t.version,"
    " t.first_ts, t.last_ts"
)

AGENT_OF_CALL = "coalesce((SELECT agent_id FROM records WHERE id = c.message_id), t.agent_id)"
"""The subagent that made a tool call `c` of a transcript `t`; empty for the session itself."""
SHOWN_RECORD = (
    "r.kind = 'assistant' OR r.role IN ('prompt', 'instruction', 'command', 'bash', 'command_output', 'bash_output',"
    " 'compact_summary', 'notification', 'teammate', 'interruption', 'note', 'error', 'compaction', 'summary')"
    " OR r.sub IN ('compact_boundary', 'api_error', 'local_command', 'informational', 'away_summary')"
)
"""A record `r` that a thread shows; the others do not count for when a turn began."""
FORK_TURN = (
    f"(SELECT nullif(count(*), 0) FROM sessions f JOIN transcripts t ON t.id = f.transcript JOIN prompts p ON p.id >= t.id << {OFFSET_BITS}"
    f" AND p.id < (t.id << {OFFSET_BITS}) + t.copied WHERE f.session_id = l.target AND l.relation IN ('fork', 'branch'))"
)
"""For a row `l` of links: after how many turns a fork diverged; null if its lines do not show it."""


def list_transcripts(reader: Reader, session_id: str | None) -> list[Transcript]:
    """The logs of a session or of the whole store, including former generations."""
    wanted = (
        "" if session_id is None else "WHERE session_id = ?"
    )  # a condition on the parameter would keep SQLite from using the index
    rows = reader.rows(
        f"SELECT {_COLUMNS} FROM transcripts t {wanted} ORDER BY agent_id <> '', path, root, generation",
        () if session_id is None else (session_id,),
    )
    return [_transcript(row) for row in rows]


def find_transcript(reader: Reader, name: str, generation: int | None = None) -> tuple[int, Transcript]:
    """Find a transcript by path, path suffix or subagent id, or a session's main one; with its id in the record."""
    path = name.replace("\\", "/")
    chosen = "current = 1" if generation is None else f"generation = {int(generation)}"
    rows = list(
        reader.rows(
            f"SELECT id, {_COLUMNS} FROM transcripts t WHERE {chosen} AND"
            " (path = ?1 OR root || '/' || path = ?1 OR substr(path, -length(?2)) = ?2 OR agent_id = ?3) ORDER BY path, root, generation DESC",
            (path, "/" + path.lstrip("/"), name.removeprefix("agent-")),
        )
    )
    if not rows:
        session_id = find_session(reader, name).session_id
        rows = list(
            reader.rows(
                f"SELECT id, {_COLUMNS} FROM transcripts t WHERE {chosen} AND session_id = ? AND kind IN ('main', 'log')"
                " ORDER BY size DESC, path, root LIMIT 1",
                (session_id,),
            )
        )
        if not rows and generation is not None:
            raise NotFound(f"the transcript of session {session_id} has no generation {generation}")
        if not rows:
            raise NotFound(f"session {session_id} has no such transcript; `hansard show` lists its subagents")
    if len({row[1:3] for row in rows}) == 1:
        del rows[1:]  # its generations belong to different sessions: take the latest
    if len(rows) > 1:
        shown = "\n".join(f"  {row[2]}" for row in rows[:8])
        raise Ambiguous(f"{len(rows)} transcripts match {name!r}:\n{shown}")
    return rows[0][0], _transcript(rows[0][1:])


def read_generation(reader: Reader, session_id: str, generation: int) -> None:
    """Make this generation of its file a session's main transcript, for all further queries of this reader."""
    _read_instead(reader, find_transcript(reader, session_id, generation)[0])


def read_transcript(reader: Reader, session_id: str, path: str) -> None:
    """Make another of a session's transcripts, by its path or the end of it, the main one for all further queries of this reader."""
    others = [(id_, log) for id_, log, _ in other_transcripts(reader, session_id)]
    end = "/" + path.replace("\\", "/").lstrip("/")
    found = [id_ for id_, log in others if f"/{log.root}/{log.path}".endswith(end)]
    if not found:
        listed = "".join(f"\n  {log.root}/{log.path}" for _, log in others) or " no others"
        raise NotFound(f"session {session_id} has no other transcript {path!r}; it has{listed}")
    if len(found) > 1:
        raise Ambiguous(f"{len(found)} transcripts of session {session_id} match {path!r}: name one with its root")
    _read_instead(reader, found[0])


def other_transcripts(reader: Reader, session_id: str) -> list[tuple[int, Transcript, int]]:
    """A session's transcripts besides the one that is shown: id, transcript, and the number of messages the shown one lacks.

    A session has several after a copy of its file was resumed, as on another machine whose folders are synced.
    """
    rows = reader.rows(
        f"SELECT t.id, {_COLUMNS}, (SELECT count(*) FROM records r WHERE r.id BETWEEN t.id << {OFFSET_BITS} AND (t.id << {OFFSET_BITS}) + {OFFSET_MASK}"
        f" AND r.uuid IS NOT NULL AND r.kind IN ('user', 'assistant') AND NOT EXISTS (SELECT 1 FROM records m WHERE m.uuid = r.uuid"
        f" AND m.id BETWEEN s.transcript << {OFFSET_BITS} AND (s.transcript << {OFFSET_BITS}) + {OFFSET_MASK}))"
        " FROM sessions s JOIN transcripts t USING (session_id)"
        " WHERE s.session_id = ? AND t.kind IN ('main', 'log') AND t.current = 1 AND t.id <> s.transcript ORDER BY t.path, t.root",
        (session_id,),
    )
    return [(row[0], _transcript(row[1:-1]), row[-1]) for row in rows]


def _read_instead(reader: Reader, chosen: int) -> None:
    columns = [str(row[1]) for row in reader.rows("PRAGMA main.table_info(sessions)")]
    columns[columns.index("transcript")] = (
        f"iif(session_id = (SELECT session_id FROM main.transcripts WHERE id = {chosen}), {chosen}, transcript) AS transcript"
    )
    # A temporary view takes precedence over the table of the same name.
    reader.one(f"CREATE TEMP VIEW sessions AS SELECT {', '.join(columns)} FROM main.sessions")


def fuller_generations(reader: Reader, record: Record) -> dict[int, int]:
    """For each file whose last generation has less of its session than an earlier one: the record's file and that generation."""
    rows = reader.rows(
        "SELECT f.id FROM transcripts l JOIN transcripts f ON f.session_id = l.session_id AND f.path = l.path AND f.root = l.root"
        " WHERE l.generation > 1 AND l.state <> 'rewritten' AND f.unique_records > l.unique_records"
        " ORDER BY f.unique_records, f.generation"
    )
    return {record.generation(id_).file_id: id_ for (id_,) in rows}


def _transcript(row: Any) -> Transcript:
    values: Any = (*row[:4], bool(row[4]), *row[5:13], from_milliseconds(row[13]), from_milliseconds(row[14]))
    return Transcript(*values)


def list_links(reader: Reader, session_id: str) -> list[Link]:
    rows = reader.rows(
        f"SELECT source, target, relation, {FORK_TURN} FROM links l WHERE source = ?1 OR target = ?1"
        " ORDER BY relation, source, target",
        (session_id,),
    )
    return [Link(*row) for row in rows]


def list_todos(reader: Reader, session_id: str) -> list[Todo]:
    """A session's todos and tasks, from the latest version of their files."""
    rows = reader.rows(
        "SELECT t.session_id, t.agent_id, t.status, t.content FROM todos t JOIN side_files f ON f.id = t.side_file"
        " WHERE t.session_id = ? ORDER BY f.path, t.n",
        (session_id,),
    )
    return [Todo(*row) for row in rows]


def list_side_files(reader: Reader, kind: str | None, session_id: str | None) -> list[SideFile]:
    """Small files that are kept whole: of one kind, of one session, or all."""
    rows = reader.rows(
        "SELECT root, path, kind, session_id, agent_id, size, mtime FROM side_files WHERE current = 1"
        " AND (?1 IS NULL OR kind = ?1) AND (?2 IS NULL OR session_id = ?2) ORDER BY path, root",
        (kind, session_id),
    )
    return [
        SideFile(root, path, of_kind, of_session, agent_id, size, from_milliseconds(mtime))
        for root, path, of_kind, of_session, agent_id, size, mtime in rows
    ]


def read_side_file(reader: Reader, record: Record, file: SideFile) -> bytes:
    """The content of a small file as it was last seen."""
    row = reader.one("SELECT id FROM side_files WHERE current = 1 AND root = ? AND path = ?", (file.root, file.path))
    if row is None:
        raise NotFound(f"no such file in the record: {file.path}")
    return record.read_snapshot(row[0])


_SHORTEST = 8  # minimum letters of a uuid prefix
_UUID = "-".join("[0-9A-Fa-f]" * length for length in (8, 4, 4, 4, 12))


class MessagePlace(Struct, frozen=True):
    """The location of a message."""

    uuid: str
    session_id: str
    agent_id: str | None
    transcript: str
    offset: int


def find_message(reader: Reader, uuid: str, folder: str | None = None) -> MessagePlace:
    """Find a message by uuid, unique uuid prefix or handle, in the projects of a folder; originals take precedence over copies."""
    if len(uuid) < _SHORTEST:
        raise NotFound(f"no message matches {uuid!r}: give at least {_SHORTEST} characters of its uuid")
    inside, values = in_folder(folder)
    for where, wanted in _readings(reader, uuid):
        rows = list(
            reader.rows(
                f"SELECT r.uuid, t.session_id, coalesce(r.agent_id, t.agent_id), t.path, r.id & ? FROM records r"
                f" JOIN transcripts t ON t.id = r.id >> {OFFSET_BITS}"
                f" WHERE {where} AND t.session_id IN (SELECT session_id FROM sessions WHERE {inside})"
                " ORDER BY r.uuid, t.current DESC, r.agent_id IS NOT NULL, r.id & ? < t.copied, r.id LIMIT 200",
                (OFFSET_MASK, *wanted, *values, OFFSET_MASK),
            )
        )
        if rows:
            break
    else:
        raise NotFound(f"no message matches {uuid!r}")
    if len({row[0] for row in rows}) > 1 and rows[0][0] != uuid:
        raise Ambiguous(f"several messages match {uuid!r}: give more of the uuid")
    found, session_id, agent_id, path, offset = rows[0]
    return MessagePlace(found, session_id, agent_id or None, path, offset)


def _readings(reader: Reader, uuid: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What a name can mean, as conditions over `records r`."""
    if is_handle(uuid):
        # Nearly all uuids are well-formed: SQLite skips those by itself, using only the index.
        reader.teach("shown_id", shown_id)
        yield f"r.uuid NOT GLOB '{_UUID}' AND shown_id(r.uuid) = ? AND r.uuid <> ?", (uuid, uuid)
    yield "r.uuid >= ? AND r.uuid < ?", (uuid, uuid + "\U0010ffff")
