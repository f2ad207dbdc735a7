"""The `usage` table: every API message counted once, whatever the order in which its lines arrive."""

from __future__ import annotations

from collections.abc import Iterable

from hansard.index.schema import OFFSET_BITS, OFFSET_MASK, QUARTER
from hansard.index.sql import Sql
from hansard.parse.usage import Stated, merge

# Two plain look-ups: joined into one statement they take twenty times as long, and most keys are new.
_FIND = (
    "SELECT ts, record_id, model, session_id, agent_id, input, output, cache_read, cache_write, cache_write_5m, cache_write_1h,"
    " web_searches, final_output, service_tier, speed, inference_geo, branch, tool, tool_ts, recorded"
    " FROM usage WHERE key = ?"
)
_PATH = "SELECT path || char(0) || root FROM transcripts WHERE id = ?"
_PUT = "INSERT OR REPLACE INTO usage VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
_ADD = (
    "INSERT INTO session_usage VALUES (?,?,?,?,?,?,?) ON CONFLICT (session_id) DO UPDATE SET"
    " api_messages = api_messages + excluded.api_messages,"
    " lower_bound_messages = lower_bound_messages + excluded.lower_bound_messages,"
    " input_tokens = input_tokens + excluded.input_tokens, output_tokens = output_tokens + excluded.output_tokens,"
    " cache_read_tokens = cache_read_tokens + excluded.cache_read_tokens,"
    " cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens"
)
_UNSETTLE = "INSERT OR IGNORE INTO unsettled VALUES (?, ?)"
# Sums as `_add` makes them.
_SUM = (
    "INSERT INTO session_usage SELECT session_id, count(*), sum(final_output < output), sum(input), sum(output), sum(cache_read),"
    " sum(max(cache_write, cache_write_5m + cache_write_1h)) FROM usage WHERE session_id = ? GROUP BY session_id"
)


class UsageTable:
    """Merges statements into `usage`, keeps the sums per session in step and notes whose `spending` is behind."""

    def __init__(self, db: Sql) -> None:
        self._db = db

    def merge(self, statements: dict[str, Stated]) -> None:
        """Add what some lines state to what is known; sessions that gain or lose a message become dirty."""
        sums: dict[str, list[int]] = {}
        unsettled: set[tuple[str, int]] = set()
        rows = []
        for key, stated in statements.items():
            found = self._db.execute(_FIND, (key,)).fetchone()
            new = stated
            if found is not None:
                known = Stated(found[0], self._path(found[1], stated), *found[1:])
                # The same line may stand at the same place in two generations of a file: the older one owns it.
                new = merge(known, stated) if known.record_id <= stated.record_id else merge(stated, known)
                if new == known:
                    continue
                _add(sums, known, -1)
                unsettled.add((known.session_id, known.ts // QUARTER))
            _add(sums, new, 1)
            unsettled.add((new.session_id, new.ts // QUARTER))
            rows.append(
                (
                    key,
                    new.record_id,
                    new.ts,
                    new.session_id,
                    new.agent_id,
                    new.model,
                    new.input,
                    new.output,
                    new.cache_read,
                    new.cache_write,
                    new.cache_write_5m,
                    new.cache_write_1h,
                    new.web_searches,
                    new.final_output,
                    new.service_tier,
                    new.speed,
                    new.inference_geo,
                    new.branch,
                    new.tool,
                    new.tool_ts,
                    new.recorded,
                )
            )
        self._db.executemany(_PUT, rows)
        self._db.executemany(_UNSETTLE, unsettled)
        self._db.executemany(_ADD, ((session_id, *amounts) for session_id, amounts in sums.items()))
        self._settle(sums)

    def _path(self, record_id: int, stated: Stated) -> str:
        """The path of the transcript that owns a message; the one that is being read may have no row yet."""
        if record_id >> OFFSET_BITS == stated.record_id >> OFFSET_BITS:
            return stated.path
        row = self._db.execute(_PATH, (record_id >> OFFSET_BITS,)).fetchone()
        return row[0] if row else stated.path

    def move(self, transcript: int, former: str, session_id: str) -> None:
        """Give the messages that a transcript owns to another session."""
        base = transcript << OFFSET_BITS
        for changed in (former, session_id):
            self._db.execute(
                f"INSERT OR IGNORE INTO unsettled SELECT ?, ts / {QUARTER} FROM usage"
                " WHERE session_id = ? AND record_id BETWEEN ? AND ?",
                (changed, former, base, base + OFFSET_MASK),
            )
        self._db.execute(
            "UPDATE usage SET session_id = ? WHERE session_id = ? AND record_id BETWEEN ? AND ?",
            (session_id, former, base, base + OFFSET_MASK),
        )
        for changed in (former, session_id):
            self._db.execute("DELETE FROM session_usage WHERE session_id = ?", (changed,))
            self._db.execute(_SUM, (changed,))
        self._settle((former, session_id))

    def _settle(self, sessions: Iterable[str]) -> None:
        changed = [(session_id,) for session_id in sessions]
        self._db.executemany("DELETE FROM session_usage WHERE session_id = ? AND api_messages = 0", changed)
        self._db.executemany("INSERT OR IGNORE INTO dirty VALUES (?)", (row for row in changed if row[0]))


def _add(sums: dict[str, list[int]], stated: Stated, sign: int) -> None:
    amounts = sums.setdefault(stated.session_id, [0] * 6)
    write = max(stated.cache_write, stated.cache_write_5m + stated.cache_write_1h)
    for place, amount in enumerate(
        (1, int(stated.is_lower_bound), stated.input, stated.output, stated.cache_read, write)
    ):
        amounts[place] += sign * amount
