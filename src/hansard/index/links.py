"""Links between sessions: forks and replays share records, other links are stated in lines.

A fork has one parent: the session of the original among all transcripts with the last record that it copied. These
are ordered (`shared_records`): the original is the first, and another fork does not affect the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.clients.usage import NEVER
from hansard.index.sql import Sql
from hansard.storage import OFFSET_BITS, OFFSET_MASK

if TYPE_CHECKING:
    from collections.abc import Collection

    from hansard.clients.state import State
    from hansard.index.derive import Part

Link = tuple[str, str, str]  # source, target, relation

_BULK = 5000
_NEW = f"BETWEEN (?1 << {OFFSET_BITS}) + ?2 AND (?1 << {OFFSET_BITS}) + {OFFSET_MASK}"  # ids of a transcript's records from an offset on
_ALL = f"BETWEEN (?1 << {OFFSET_BITS}) AND (?1 << {OFFSET_BITS}) + {OFFSET_MASK}"

_SHARE = (
    f"INSERT OR IGNORE INTO shared_records SELECT r.uuid, 1 - t.current, r.id & {OFFSET_MASK} < t.copied,"
    f" coalesce(r.ts, {NEVER}), t.path || char(0) || t.root, r.id FROM "
)
_HOLDERS = f"records r CROSS JOIN transcripts t ON t.id = r.id >> {OFFSET_BITS}"
_EVERY_SHARED = (
    f"{_SHARE} (SELECT root_uuid AS uuid FROM transcripts WHERE root_uuid <> '' UNION SELECT fork_uuid FROM transcripts"
    f" WHERE fork_uuid <> '') x CROSS JOIN records r CROSS JOIN transcripts t ON t.id = r.id >> {OFFSET_BITS} WHERE r.uuid = x.uuid"
    f" AND (SELECT min(id) >> {OFFSET_BITS} FROM records WHERE uuid = x.uuid) <> (SELECT max(id) >> {OFFSET_BITS} FROM records WHERE uuid = x.uuid)"
)
_EVERY_LEAF = (
    "INSERT OR IGNORE INTO sightings SELECT r.uuid, r.id FROM summaries s CROSS JOIN records r ON r.uuid = s.leaf_uuid"
)
_PENDING = "INSERT INTO originals VALUES (?, '', 1) ON CONFLICT (uuid) DO UPDATE SET is_pending = 1"
_MEMBERS = (
    "SELECT session_id FROM transcripts WHERE root_uuid = ?1 AND session_id <> ''"
    " UNION SELECT session_id FROM transcripts WHERE fork_uuid = ?1 AND fork_uuid <> '' AND session_id <> ''"
)
# Sessions `a` with the title of a conversation that is in session `b`; one half per side, so that each finds its rows by an index.
_TITLES = (
    f"SELECT a.session_id, b.session_id FROM {{order}} WHERE s.leaf_uuid = g.uuid AND a.id = s.id >> {OFFSET_BITS} AND a.current = 1"
    " AND b.current = 1 AND a.session_id <> b.session_id AND a.session_id <> '' AND b.session_id <> ''"
    " AND {side}.session_id = ?1"
)
_TITLED = (
    _TITLES.format(
        order=f"transcripts a CROSS JOIN summaries s ON s.id BETWEEN a.id << {OFFSET_BITS} AND (a.id << {OFFSET_BITS}) + {OFFSET_MASK}"
        f" CROSS JOIN sightings g CROSS JOIN transcripts b ON b.id = g.record_id >> {OFFSET_BITS}",
        side="a",
    )
    + " UNION "
    + _TITLES.format(
        order=f"transcripts b CROSS JOIN sightings g ON g.record_id BETWEEN b.id << {OFFSET_BITS} AND (b.id << {OFFSET_BITS}) + {OFFSET_MASK}"
        " CROSS JOIN summaries s ON s.leaf_uuid = g.uuid CROSS JOIN transcripts a",
        side="b",
    )
)


def see(db: Sql) -> set[str]:
    """Note where shared records and summary leaves are, for all new records.

    Returns sessions whose links are stale although they did not change: the original of their copies is another.
    A root or leaf may be indexed before or after the transcript that repeats it, so both directions are looked up: new roots
    and leaves among all records, new records among all roots and leaves.
    """
    waiting = db.execute("SELECT id, derived FROM transcripts WHERE derived < size").fetchall()
    for transcript, _ in waiting:
        _find_fork(db, transcript)
    new = sum(
        db.execute(f"SELECT count(*) FROM records WHERE id {_NEW}", (transcript, derived)).fetchone()[0]
        for transcript, derived in waiting
    )
    if new > _BULK:
        db.execute(_EVERY_SHARED)
        db.executemany(_PENDING, db.execute("SELECT DISTINCT uuid FROM shared_records").fetchall())
        db.execute(_EVERY_LEAF)
    else:
        for transcript, derived in waiting:
            _see_shared(db, transcript, derived)
            _see_leaves(db, transcript, derived)
    for transcript, _ in waiting:
        touch_titled(db, transcript)
    db.executemany("UPDATE transcripts SET derived = size WHERE id = ?", ((transcript,) for transcript, _ in waiting))
    return _choose_originals(db)


def _find_fork(db: Sql, transcript: int) -> None:
    """Note the last record that a transcript copied."""
    former, copied = db.execute("SELECT fork_uuid, copied FROM transcripts WHERE id = ?", (transcript,)).fetchone()
    last = db.execute(
        f"SELECT uuid FROM records WHERE id >= ?1 << {OFFSET_BITS} AND id < (?1 << {OFFSET_BITS}) + ?2 AND kind IN ('user', 'assistant')"
        " AND uuid IS NOT NULL ORDER BY id DESC LIMIT 1",
        (transcript, copied),
    ).fetchone()
    fork_uuid = last[0] if last is not None else ""
    if fork_uuid != former:
        db.execute("UPDATE transcripts SET fork_uuid = ? WHERE id = ?", (fork_uuid, transcript))
        db.execute("UPDATE originals SET is_pending = 1 WHERE uuid = ?", (former,))


def _see_shared(db: Sql, transcript: int, derived: int) -> None:
    """Note which new records of a transcript others have too, if one of them begins with it or copied up to it."""
    wanted = {
        uuid
        for row in db.execute("SELECT root_uuid, fork_uuid FROM transcripts WHERE id = ?", (transcript,))
        for uuid in row
        if uuid
    }
    wanted |= {
        row[0]
        for row in db.execute(
            f"SELECT uuid FROM records r WHERE id {_NEW} AND uuid IS NOT NULL AND (EXISTS (SELECT 1 FROM transcripts t"
            " WHERE t.root_uuid = r.uuid AND t.id <> ?1) OR EXISTS (SELECT 1 FROM transcripts t WHERE t.fork_uuid = r.uuid"
            " AND t.fork_uuid <> '' AND t.id <> ?1))",
            (transcript, derived),
        )
    }
    for uuid in wanted:
        if db.execute("SELECT 1 FROM originals WHERE uuid = ?", (uuid,)).fetchone() is not None:
            # All the others are noted already.
            holders = db.execute(
                f"{_SHARE} {_HOLDERS} WHERE r.uuid = ?3 AND r.id {_NEW} RETURNING uuid", (transcript, derived, uuid)
            )
        else:
            first, last = db.execute("SELECT min(id), max(id) FROM records WHERE uuid = ?", (uuid,)).fetchone()
            if first is None or first >> OFFSET_BITS == last >> OFFSET_BITS:
                continue
            holders = db.execute(f"{_SHARE} {_HOLDERS} WHERE r.uuid = ? RETURNING uuid", (uuid,))
        if holders.fetchall():
            db.execute(_PENDING, (uuid,))


def _see_leaves(db: Sql, transcript: int, derived: int) -> None:
    db.execute(f"{_EVERY_LEAF} WHERE s.id {_NEW}", (transcript, derived))
    db.execute(
        f"INSERT OR IGNORE INTO sightings SELECT r.uuid, r.id FROM records r WHERE r.id {_NEW}"
        " AND EXISTS (SELECT 1 FROM summaries s WHERE s.leaf_uuid = r.uuid)",
        (transcript, derived),
    )


def _choose_originals(db: Sql) -> set[str]:
    """Choose the original of every shared record whose holders changed; returns the affected sessions."""
    concerned: set[str] = set()
    for uuid, former in db.execute("SELECT uuid, session_id FROM originals WHERE is_pending = 1").fetchall():
        is_wanted = db.execute(_MEMBERS + " LIMIT 1", (uuid,)).fetchone() is not None
        first = db.execute(
            f"SELECT record_id >> {OFFSET_BITS} FROM shared_records WHERE uuid = ? LIMIT 1", (uuid,)
        ).fetchone()
        is_shared = (
            first is not None
            and db.execute(
                f"SELECT 1 FROM shared_records WHERE uuid = ? AND record_id >> {OFFSET_BITS} <> ? LIMIT 1",
                (uuid, first[0]),
            ).fetchone()
        )
        if not (is_wanted and is_shared):
            db.execute("DELETE FROM shared_records WHERE uuid = ?", (uuid,))
            db.execute("DELETE FROM originals WHERE uuid = ?", (uuid,))
            session_id = ""
        else:
            original = db.execute(
                f"SELECT t.session_id FROM shared_records s CROSS JOIN transcripts t ON t.id = s.record_id >> {OFFSET_BITS}"
                " WHERE s.uuid = ? AND s.is_former = 0 AND t.session_id <> ''"
                " ORDER BY s.uuid, s.is_former, s.is_copy, s.ts, s.path, s.record_id LIMIT 1",
                (uuid,),
            ).fetchone()
            session_id = original[0] if original is not None else ""
            db.execute("UPDATE originals SET session_id = ?, is_pending = 0 WHERE uuid = ?", (session_id, uuid))
        if session_id != former:
            concerned.update(row[0] for row in db.execute(_MEMBERS, (uuid,)))
    return concerned


def reorder_shared(db: Sql, transcript: int) -> None:
    """Reorder a transcript's shared records after it became a former one, or more of it turned out to be copied."""
    moved = db.execute(
        f"UPDATE shared_records SET is_former = 1 - t.current, is_copy = record_id & {OFFSET_MASK} < t.copied FROM transcripts t"
        f" WHERE t.id = ?1 AND record_id {_ALL} AND (is_former, is_copy) <> (1 - t.current, record_id & {OFFSET_MASK} < t.copied)"
        " RETURNING uuid",
        (transcript,),
    ).fetchall()
    db.executemany("UPDATE originals SET is_pending = 1 WHERE uuid = ?", moved)


def touch_shared(db: Sql, transcript: int) -> None:
    """Note that the originals of shared records may differ because a transcript belongs to another session now."""
    db.execute(
        f"UPDATE originals SET is_pending = 1 WHERE uuid IN (SELECT uuid FROM shared_records WHERE record_id {_ALL})",
        (transcript,),
    )


def forget_records(db: Sql, low: int, high: int) -> None:
    """Remove the notes about records that are read again."""
    db.execute("DELETE FROM sightings WHERE record_id BETWEEN ? AND ?", (low, high))
    gone = db.execute(
        "DELETE FROM shared_records WHERE record_id BETWEEN ? AND ? RETURNING uuid", (low, high)
    ).fetchall()
    db.executemany("UPDATE originals SET is_pending = 1 WHERE uuid = ?", gone)


def touch_titled(db: Sql, transcript: int) -> None:
    """Mark sessions whose title may be in this transcript: they change without new bytes of their own."""
    db.execute(
        "INSERT OR IGNORE INTO dirty SELECT t.session_id FROM summaries s CROSS JOIN sightings g ON g.uuid = s.leaf_uuid"
        f" CROSS JOIN transcripts t ON t.id = g.record_id >> {OFFSET_BITS} WHERE s.id {_ALL} AND t.session_id <> ''",
        (transcript,),
    )


def derive_links(db: Sql, session_id: str, parts: Collection[Part], lead: Part | None) -> None:
    """Derive the links that a session's transcripts state, and those of titles from both ends; `lead` is its main part."""
    db.execute(
        "DELETE FROM links WHERE target = ? AND relation IN ('branch', 'fork', 'context', 'clear', 'resumed', 'summary')",
        (session_id,),
    )
    db.execute(
        "DELETE FROM links WHERE source = ? AND relation IN ('continued_in', 'replay', 'summary')", (session_id,)
    )
    found: set[Link] = set()
    for part in parts:
        found |= _stated(session_id, part.state)
    if lead is not None and not any(relation == "branch" for _, _, relation in found):
        parent = _parent(db, session_id, lead)
        if parent:
            found.discard((parent, session_id, "resumed"))
            found.add((parent, session_id, "fork"))
    found |= _replays(db, session_id, parts)
    found |= {(source, target, "summary") for source, target in db.execute(_TITLED, (session_id,))}
    db.executemany("INSERT OR IGNORE INTO links VALUES (?, ?, ?)", found)


def _stated(session_id: str, state: State) -> set[Link]:
    """Links that a transcript's own lines state."""
    found = set()
    if state.forked_from and state.forked_from != session_id:
        found.add((state.forked_from, session_id, "branch"))
    if state.continued_in and state.continued_in != session_id:
        found.add((session_id, state.continued_in, "continued_in"))
    if state.context_from and state.context_from != session_id:
        found.add((state.context_from, session_id, "context"))
    if state.cleared and state.process_session and state.process_session != session_id:
        found.add((state.process_session, session_id, "clear"))
    for other in state.other_sessions:
        if other not in (session_id, state.forked_from):
            found.add((other, session_id, "resumed"))
    return found


def _parent(db: Sql, session_id: str, lead: Part) -> str:
    """The session that one was forked from: the original of the last record it copied, else of its first."""
    for uuid in (lead.fork_uuid, lead.root_uuid):
        row = db.execute("SELECT session_id FROM originals WHERE uuid = ?", (uuid,)).fetchone() if uuid else None
        if row is not None and row[0] not in ("", session_id):
            return str(row[0])
    return ""


def _replays(db: Sql, session_id: str, parts: Collection[Part]) -> set[Link]:
    """Subagents that begin with a record of another transcript of their session."""
    agents = {part.id: part.agent_id for part in parts}
    mains = [part for part in parts if not part.agent_id]
    found = set()
    for part in parts:
        if not part.agent_id or not part.root_uuid:
            continue
        is_replay = any(
            db.execute(
                "SELECT 1 FROM records WHERE uuid = ? AND id BETWEEN ? AND ?", (part.root_uuid, main.low, main.high)
            ).fetchone()
            for main in mains
        )
        if not is_replay:
            holders = db.execute(f"SELECT id >> {OFFSET_BITS} FROM records WHERE uuid = ?", (part.root_uuid,))
            is_replay = any(agents.get(holder, part.agent_id) != part.agent_id for (holder,) in holders)
        if is_replay:
            found.add((session_id, part.agent_id, "replay"))
    return found
