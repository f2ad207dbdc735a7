"""Removing from `index.db` what the record no longer has, as if it had never been indexed.

An API message that several transcripts have is one row of `usage`, merged from all of them, and the part of one cannot be
subtracted. So all transcripts that share messages with a dropped one, and those of its session, are dropped with it; those that the
record still has are read again.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import TYPE_CHECKING

from hansard.index.links import forget_records, touch_titled
from hansard.index.rows import RANGED
from hansard.index.schema import QUARTER
from hansard.index.usage import settle_sessions
from hansard.storage import OFFSET_BITS, OFFSET_MASK

if TYPE_CHECKING:
    from hansard.index.sql import Sql

_BY_TRANSCRIPT = ("agent_refs", "record_kinds", "drift", "usage_copies")
_RELATED = (
    "SELECT t.id FROM transcripts t WHERE t.session_id <> '' AND t.kind <> 'history' AND t.session_id IN (SELECT session_id FROM"
    " transcripts WHERE id IN (SELECT value FROM json_each(?1)))"
    " UNION SELECT o.id FROM transcripts t JOIN transcripts o ON o.root = t.root AND o.path = t.path WHERE t.id IN"
    " (SELECT value FROM json_each(?1))"
    " UNION SELECT o.transcript FROM usage_copies c JOIN usage_copies o ON o.key = c.key WHERE c.transcript IN"
    " (SELECT value FROM json_each(?1))"
)


def drop_transcripts(db: Sql, transcripts: Collection[int]) -> set[int]:
    """Drop transcripts and all others that must be read again; returns all their ids."""
    dropped = _with_related(db, transcripts)
    chosen = json.dumps(sorted(dropped))
    for transcript in dropped:
        touch_titled(db, transcript)
    db.execute(
        "INSERT OR IGNORE INTO dirty SELECT session_id FROM transcripts WHERE session_id <> '' AND id IN"
        " (SELECT value FROM json_each(?))",
        (chosen,),
    )
    db.execute(
        "UPDATE originals SET is_pending = 1 WHERE uuid IN (SELECT root_uuid FROM transcripts WHERE id IN (SELECT value FROM json_each(?1))"
        " UNION SELECT fork_uuid FROM transcripts WHERE id IN (SELECT value FROM json_each(?1)))",
        (chosen,),
    )
    _drop_usage(db, dropped)
    for transcript in dropped:
        low = transcript << OFFSET_BITS
        for table in RANGED:
            db.execute(f"DELETE FROM {table} WHERE id BETWEEN ? AND ?", (low, low + OFFSET_MASK))
        for table in _BY_TRANSCRIPT:
            db.execute(f"DELETE FROM {table} WHERE transcript = ?", (transcript,))
        forget_records(db, low, low + OFFSET_MASK)
        db.execute("DELETE FROM quarantine WHERE stage = 'rows' AND subject = ?", (str(transcript),))
        db.execute("DELETE FROM transcripts WHERE id = ?", (transcript,))
    return dropped


def _with_related(db: Sql, transcripts: Collection[int]) -> set[int]:
    found, last = set(transcripts), 0
    while len(found) != last:
        last = len(found)
        found.update(row[0] for row in db.execute(_RELATED, (json.dumps(sorted(found)),)))
    return found


def _drop_usage(db: Sql, dropped: Collection[int]) -> None:
    """Drop the messages of these transcripts, which no others have."""
    owned = db.execute(
        f"SELECT key, session_id, ts / {QUARTER} FROM usage WHERE record_id >> {OFFSET_BITS} IN (SELECT value FROM json_each(?))",
        (json.dumps(sorted(dropped)),),
    ).fetchall()
    db.executemany("DELETE FROM usage WHERE key = ?", ((key,) for key, _, _ in owned))
    if owned:
        db.execute("INSERT OR REPLACE INTO meta VALUES ('unused_rates', 1)")  # removed with the sums that refer to them
    db.executemany(
        "INSERT OR IGNORE INTO unsettled VALUES (?, ?)", {(session_id, quarter) for _, session_id, quarter in owned}
    )
    settle_sessions(db, {session_id for _, session_id, _ in owned})


def drop_side_files(db: Sql, kept: Collection[int]) -> None:
    """Drop small files that the record no longer has."""
    known = {row[0] for row in db.execute("SELECT id FROM side_files")}
    gone = json.dumps(sorted(known.difference(kept)))
    if gone == "[]":
        return
    db.execute(
        "INSERT OR IGNORE INTO dirty SELECT session_id FROM side_files WHERE session_id <> '' AND id IN (SELECT value FROM json_each(?1))"
        " UNION SELECT l.session_id FROM listed_titles l JOIN sessions s ON s.session_id = l.session_id WHERE l.side_file IN"
        " (SELECT value FROM json_each(?1))"
        " UNION SELECT s.session_id FROM project_folders p JOIN sessions s ON s.root = p.root AND s.project_dir = p.project_dir"
        " WHERE p.side_file IN (SELECT value FROM json_each(?1))",
        (gone,),
    )
    for table, column in (
        ("todos", "side_file"),
        ("listed_titles", "side_file"),
        ("project_folders", "side_file"),
        ("side_files", "id"),
    ):
        db.execute(f"DELETE FROM {table} WHERE {column} IN (SELECT value FROM json_each(?))", (gone,))
    db.execute(
        "DELETE FROM quarantine WHERE stage = 'side_file' AND subject IN (SELECT CAST(value AS TEXT) FROM json_each(?))",
        (gone,),
    )
