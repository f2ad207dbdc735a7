"""Links between sessions: forks and replays share uuids, the rest is stated by the lines themselves."""

from __future__ import annotations

from collections.abc import Iterable

from hansard.index.sql import Sql
from hansard.parse.state import State, load

_BULK = 5000

# Current transcripts `a` that begin with a record which also stands in `b`, where either belongs to a session; one half per
# side, so that each finds its rows by an index.
_SHARED = (
    "SELECT a.id, a.session_id, a.agent_id, b.id, b.session_id, b.agent_id FROM {order} WHERE g.uuid = a.root_uuid"
    " AND a.current = 1 AND b.current = 1 AND a.root_uuid <> '' AND a.id <> b.id AND {side}.session_id = ?1"
)
_FROM_A = "transcripts a CROSS JOIN sightings g CROSS JOIN transcripts b ON b.id = g.record_id >> 40"
_FROM_B = (
    "transcripts b CROSS JOIN sightings g ON g.record_id BETWEEN b.id << 40 AND (b.id << 40) + 1099511627775"
    " CROSS JOIN {a} ON "
)
_BEGINNINGS = (
    _SHARED.format(order=_FROM_A, side="a")
    + " UNION "
    + _SHARED.format(order=_FROM_B.format(a="transcripts a") + "a.root_uuid = g.uuid", side="b")
)
# Sessions `a` with the title of a conversation that stands in session `b`.
_TITLES = (
    "SELECT a.session_id, b.session_id FROM {order} WHERE s.leaf_uuid = g.uuid AND a.id = s.id >> 40 AND a.current = 1"
    " AND b.current = 1 AND a.session_id <> b.session_id AND a.session_id <> '' AND b.session_id <> ''"
    " AND {side}.session_id = ?1"
)
_TITLED = (
    _TITLES.format(
        order="transcripts a CROSS JOIN summaries s ON s.id BETWEEN a.id << 40 AND (a.id << 40) + 1099511627775"
        " CROSS JOIN sightings g CROSS JOIN transcripts b ON b.id = g.record_id >> 40",
        side="a",
    )
    + " UNION "
    + _TITLES.format(order=_FROM_B.format(a="summaries s") + "s.leaf_uuid = g.uuid CROSS JOIN transcripts a", side="b")
)


def see(db: Sql) -> None:
    """Note where conversation roots and summary leaves appear again, for all records that are new since the last time.

    A root or leaf may be indexed before or after the transcript that repeats it, so both directions are looked up: new roots
    and leaves among all records, new records among all roots and leaves.
    """
    waiting = db.execute("SELECT id, derived, indexed FROM transcripts WHERE derived < indexed OR tail = 1").fetchall()
    new = sum(
        db.execute("SELECT count(*) FROM records WHERE id BETWEEN ? AND ?", ((id_ << 40) + derived, (id_ << 40) + (1 << 40) - 1)
        ).fetchone()[0]
        for id_, derived, _ in waiting
    )  # fmt: skip
    every = "INSERT OR IGNORE INTO sightings SELECT {uuid}, r.id FROM {table} x JOIN records r ON r.uuid = {uuid}"
    roots = every.format(uuid="x.root_uuid", table="transcripts") + " WHERE r.id >> 40 <> x.id"
    leaves = every.format(uuid="x.leaf_uuid", table="summaries")
    if new > _BULK:
        db.execute(roots)
        db.execute(leaves)
    else:
        for id_, derived, _ in waiting:
            low, high = (id_ << 40) + derived, (id_ << 40) + (1 << 40) - 1
            db.execute(roots + " AND x.id = ?", (id_,))
            db.execute(leaves + " WHERE x.id BETWEEN ? AND ?", (low, high))
            db.execute(
                "INSERT OR IGNORE INTO sightings SELECT r.uuid, r.id FROM records r WHERE r.id BETWEEN ? AND ? AND"
                " (EXISTS (SELECT 1 FROM transcripts t WHERE t.root_uuid = r.uuid AND t.id <> r.id >> 40)"
                " OR EXISTS (SELECT 1 FROM summaries s WHERE s.leaf_uuid = r.uuid))",
                (low, high),
            )
    if waiting:
        touch_sighted(db, [row[0] for row in waiting])
        db.executemany("UPDATE transcripts SET derived = indexed WHERE id = ?", ((row[0],) for row in waiting))


def touch_sighted(db: Sql, transcripts: Iterable[int]) -> None:
    """Note that sessions are behind which hold a root or a summary's leaf of these transcripts.

    A session whose title stands in another file, or which another one forked, changes without a byte of its own.
    """
    db.executemany(
        "INSERT OR IGNORE INTO dirty SELECT t.session_id FROM sightings g JOIN transcripts t ON t.id = g.record_id >> 40"
        " WHERE g.uuid IN (SELECT root_uuid FROM transcripts WHERE id = ?1"
        "  UNION SELECT leaf_uuid FROM summaries WHERE id BETWEEN (?1 << 40) AND (?1 << 40) + 1099511627775)"
        " AND t.session_id <> ''",
        ((transcript,) for transcript in transcripts),
    )


def derive_links(db: Sql, session_id: str) -> None:
    """Make the links from and to a session again."""
    db.execute("DELETE FROM links WHERE source = ?1 OR target = ?1", (session_id,))
    found: set[tuple[str, str, str]] = set()
    stated_here = _states(db, session_id)
    for state in stated_here:
        found |= _stated(session_id, state)
    # What other sessions state about this one is lost with the DELETE above, so it is asked for again.
    others = {row[0] for row in db.execute(
        "SELECT DISTINCT session_id FROM link_claims WHERE target = ?", (session_id,)
    )}  # fmt: skip
    for other in others - {session_id}:
        for state in _states(db, other):
            found |= {link for link in _stated(other, state) if session_id in link[:2]}
    found |= _forks(db, session_id)
    found |= _summaries(db, session_id)
    db.execute("DELETE FROM link_claims WHERE session_id = ?", (session_id,))
    db.executemany(
        "INSERT OR IGNORE INTO link_claims VALUES (?, ?)",
        {
            (session_id, end)
            for state in stated_here
            for link in _stated(session_id, state)
            for end in link[:2]
            if end != session_id
        },
    )
    db.executemany(
        "INSERT OR IGNORE INTO links VALUES (?, ?, ?)",
        ((source, target, relation) for source, target, relation in found),
    )


def _states(db: Sql, session_id: str) -> list[State]:
    return [
        load(row[0])
        for row in db.execute(
            "SELECT coalesce(tail_fold, fold) FROM transcripts WHERE session_id = ? AND current = 1 AND kind IN ('main', 'agent', 'log')",
            (session_id,),
        )
    ]


def _stated(session_id: str, state: State) -> set[tuple[str, str, str]]:
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


def _forks(db: Sql, session_id: str) -> set[tuple[str, str, str]]:
    """Sessions that hold the same first record: one was copied from the other. Subagents that replay their parent."""
    found = set()
    pairs = db.execute(_BEGINNINGS, (session_id,)).fetchall()
    # `a` begins with a record that also stands in `b`.
    for a_id, a_session, a_agent, b_id, b_session, b_agent in pairs:
        if a_session == b_session:
            if a_agent and a_agent != b_agent:
                found.add((a_session, a_agent, "replay"))
            continue
        parent, child = _direction(db, a_id, a_session, b_id, b_session)
        branch = db.execute(
            "SELECT coalesce(tail_fold, fold) FROM transcripts WHERE id = ?", (a_id if child == a_session else b_id,)
        ).fetchone()
        if load(branch[0]).forked_from != parent:
            found.add((parent, child, "fork"))
    return found


def _direction(db: Sql, a_id: int, a_session: str, b_id: int, b_session: str) -> tuple[str, str]:
    """Which of two sessions with common records is the original: the stated one, else the one with nothing of its own."""
    own = []
    for one, other, session, other_session in ((a_id, b_id, a_session, b_session), (b_id, a_id, b_session, a_session)):
        row = db.execute(
            "SELECT t.first_ts, t.path, coalesce(t.tail_fold, t.fold), (SELECT min(r.ts) FROM records r WHERE r.id BETWEEN t.id << 40 AND"
            " (t.id << 40) + 1099511627775 AND r.kind IN ('user', 'assistant') AND NOT EXISTS (SELECT 1 FROM records o"
            " WHERE o.uuid = r.uuid AND o.id >> 40 = ?2)) FROM transcripts t WHERE t.id = ?1",
            (one, other),
        ).fetchone()
        states_parent = load(row[2]).forked_from == other_session
        own.append((states_parent, row[3] is not None, row[0] or 0, row[3] or 0, row[1], session))
    own.sort()
    return own[0][5], own[1][5]


def _summaries(db: Sql, session_id: str) -> set[tuple[str, str, str]]:
    """Transcripts that carry the title of another session."""
    return {(source, target, "summary") for source, target in db.execute(_TITLED, (session_id,))}
