"""How many open secrets each session holds, for marks in lists: without the rules, so that a list costs no more than two lookups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hansard.model.secrets import OPEN
from hansard.secrets.store import FILE, LOG, REMARK, open_findings
from hansard.storage.sqlite import to_json

if TYPE_CHECKING:
    from hansard.query.reader import Reader
    from hansard.record.store import Record

_TABLES = {LOG: "transcripts", FILE: "side_files"}


def count_by_session(home: str, reader: Reader, open_record: Callable[[], Record]) -> dict[str, int]:
    """The number of open secrets of each session that holds any."""
    db = open_findings(home)
    if db is None:
        return {}
    try:
        rows: list[Any] = db.execute("SELECT DISTINCT source, ref, fingerprint FROM findings").fetchall()
    finally:
        db.close()
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
