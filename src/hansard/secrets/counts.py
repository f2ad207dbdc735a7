"""Count open secrets by session, and what was not searched yet; loads no rules, whose import takes longer than a list."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Collection
from contextlib import closing
from typing import TYPE_CHECKING, Any

from hansard.index.store import IndexDamaged, telling
from hansard.model.secrets import OPEN
from hansard.secrets.store import FILE, LOG, NAME, REMARK, SCAN, open_findings
from hansard.storage.sqlite import to_json

if TYPE_CHECKING:
    from hansard.query.reader import Reader
    from hansard.record.store import Record

NEWEST = 16 << 20
"""The newest bytes, in which redaction looks for split secrets itself if no scan has."""
_HELD = "SELECT DISTINCT source, ref, fingerprint FROM findings"
_TABLES = {LOG: "transcripts", FILE: "side_files"}


def count_unscanned(home: str, record: Record) -> int:
    """How many bytes of the record no scan has read; what one has read with former rules counts as read, unless that is damaged."""
    sql = "SELECT (SELECT coalesce(sum(size), 0) FROM scanned), coalesce((SELECT value FROM meta WHERE name = 'snapshot'), 0)"
    try:
        found = _ask(home, sql)
    except IndexDamaged:
        found = []
    return unscanned(record, *(found[0] if found else (0, 0)))


def count_unsearched(home: str, record: Record) -> int:
    """How many bytes of the record neither a scan has read nor redaction reads itself."""
    return max(0, count_unscanned(home, record) - NEWEST)


def unscanned(record: Record, scanned: int, snapshot: int) -> int:
    """How many bytes of the record were not searched yet: `scanned` were in logs, and files up to `snapshot`."""
    return max(0, record.log_totals()[1] - scanned) + record.snapshot_bytes(snapshot)


def transcripts_of(reader: Reader, sessions: Collection[str]) -> set[int]:
    """The logs of sessions, by their ids in the record."""
    sql = "SELECT t.id FROM json_each(?) j CROSS JOIN transcripts t ON t.session_id = j.value"
    return {row[0] for row in reader.rows(sql, (to_json(list(sessions)),))}


def count_by_session(home: str, reader: Reader, open_record: Callable[[], Record]) -> dict[str, int]:
    """The number of open secrets of each session that holds any; none while the findings are damaged, which the next scan repairs."""
    try:
        rows = _ask(home, _HELD)
    except IndexDamaged:
        return {}
    if not rows:
        return {}
    record = open_record()
    decided = {secret_id for secret_id, state in record.secret_states().items() if state.state != OPEN}
    held: dict[tuple[str, int], set[str]] = defaultdict(set)
    for source, ref, fingerprint in rows:
        if fingerprint not in decided:
            held[source, ref].add(fingerprint)
    found: dict[str, set[str]] = defaultdict(set)
    for source, table in _TABLES.items():
        refs = to_json([ref for kind, ref in held if kind == source])
        sql = f"SELECT t.id, t.session_id FROM json_each(?) j CROSS JOIN {table} t ON t.id = j.value"
        for ref, session_id in reader.rows(sql, (refs,)):
            found[session_id] |= held[source, ref]
    if any(source == REMARK for source, _ in held):
        for remark in record.remarks():
            found[remark.session_id] |= held.get((REMARK, remark.id), set())
    return {session_id: len(some) for session_id, some in found.items() if session_id and some}


def is_damaged(home: str) -> bool:
    """Whether the findings cannot be read."""
    try:
        _ask(home, _HELD)
    except IndexDamaged:
        return True
    return False


def _ask(home: str, sql: str) -> list[Any]:
    """Rows of the findings; none before the first scan."""
    db = open_findings(home)
    if db is None:
        return []
    with closing(db), telling(os.path.join(home, NAME), SCAN):
        return db.execute(sql).fetchall()
