"""The `usage` table: every API message counted once, in whichever order its lines arrive."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from msgspec.structs import replace

from hansard.clients.usage import NEVER, Stated, merge
from hansard.index.schema import QUARTER
from hansard.index.sql import Sql, Values
from hansard.storage import OFFSET_BITS, OFFSET_MASK

# Two plain look-ups, of messages and of transcripts: joined into one statement they take twenty times as long, and most keys are new.
_KNOWN = (
    "ts, record_id, model, session_id, agent_id, input, output, cache_read, cache_write, cache_write_5m, cache_write_1h,"
    " web_searches, final_output, service_tier, speed, inference_geo, branch, tool, tool_ts, recorded, is_progress, is_shared"
)
_FIND = f"SELECT {_KNOWN} FROM usage WHERE key = ?"
_AT_ONCE = 50  # one statement for each key takes five times as long
_FIND_SOME = f"SELECT key, {_KNOWN} FROM usage WHERE key IN ({','.join('?' * _AT_ONCE)})"
_PLACE = "SELECT path || char(0) || root, copied FROM transcripts WHERE id = ?"
_COLUMNS = (
    "record_id, ts, session_id, agent_id, model, input, output, cache_read, cache_write, cache_write_5m, cache_write_1h,"
    " web_searches, final_output, service_tier, speed, inference_geo, branch, tool, tool_ts, recorded, is_progress, is_shared"
)
# A message that is known keeps its place.
_PUT = (
    f"INSERT INTO usage (key, {_COLUMNS}) VALUES ({','.join('?' * 23)}) ON CONFLICT (key) DO UPDATE SET"
    f" ({_COLUMNS}) = ({', '.join('excluded.' + name for name in _COLUMNS.split(', '))})"
)
_OWNER = "is_copy, ts, path, record_id, model, session_id, agent_id, branch"
_MINE = f"SELECT {_OWNER} FROM usage_copies WHERE transcript = ? AND key = ?"
_FIRST = (
    f"SELECT {_OWNER} FROM usage_copies WHERE key = ?"
    f" ORDER BY is_copy, ts, path, record_id & {OFFSET_MASK}, record_id LIMIT 1"
)
_CLAIM = "INSERT OR REPLACE INTO usage_copies VALUES (?,?,?,?,?,?,?,?,?,?)"
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

    def merge(self, statements: dict[str, Stated], copied: int = 0) -> None:
        """Add what some lines of a transcript state to what is known; sessions that gain or lose a message become dirty.

        `copied` is how many bytes at the transcript's beginning are known to be copies.
        """
        changes = _Changes()
        rows = self._find(list(statements))
        for key, stated in statements.items():
            found = rows.get(key)
            if found is None:
                changes.put(key, None, stated, is_shared=0)
                continue
            transcript = stated.record_id >> OFFSET_BITS
            is_shared = found[-1]
            is_progress = bool(found[-2])
            if is_progress != stated.is_progress:
                # A line of its own says all that progress records repeat.
                if is_progress:
                    self._db.execute("DELETE FROM usage_copies WHERE key = ?", (key,))
                    changes.put(key, Stated(found[0], "", *found[1:-1]), stated, is_shared=0)
                continue
            is_own = found[1] >> OFFSET_BITS == transcript
            path, elsewhere = (stated.path, copied) if is_own else self._place(found[1])
            known = Stated(found[0], path, *found[1:-1])
            new = merge(known, stated)
            if is_shared or not is_own:
                if not is_shared:
                    self._claim(key, known, elsewhere)
                self._claim(key, stated, copied)
                _own(new, self._db.execute(_FIRST, (key,)).fetchone())
            if new != known or not (is_shared or is_own):
                changes.put(key, known, new, is_shared=int(is_shared or not is_own))
        self._apply(changes)

    def _find(self, keys: list[str]) -> dict[str, Any]:
        """What is known of messages, by their keys."""
        found: dict[str, Any] = {}
        for start in range(0, len(keys), _AT_ONCE):
            some: list[str | None] = [*keys[start : start + _AT_ONCE]]
            some += [None] * (_AT_ONCE - len(some))
            found |= {row[0]: row[1:] for row in self._db.execute(_FIND_SOME, tuple(some))}
        return found

    def _claim(self, key: str, stated: Stated, copied: int) -> None:
        """Note a transcript's line as a possible owner, unless an earlier one of the same transcript is noted."""
        transcript = stated.record_id >> OFFSET_BITS
        row = self._db.execute(_MINE, (transcript, key)).fetchone()
        ours = _claimed(stated, copied)
        if row is None or ours[1:] < row[1:]:
            self._db.execute(_CLAIM, (transcript, key, *ours))

    def _place(self, record_id: int) -> tuple[str, int]:
        """The path of the transcript that contains a line, and how much of it is copied."""
        row = self._db.execute(_PLACE, (record_id >> OFFSET_BITS,)).fetchone()
        return row or ("", 0)

    def recopy(self, transcript: int, copied: int) -> None:
        """Choose the owners again of what a transcript shares with others, when it turns out how much of it is copied."""
        changed = [
            (int(record_id & OFFSET_MASK < copied), transcript, key)
            for key, record_id, is_copy in self._db.execute(
                "SELECT key, record_id, is_copy FROM usage_copies WHERE transcript = ?", (transcript,)
            )
            if is_copy != (record_id & OFFSET_MASK < copied)
        ]
        self._db.executemany("UPDATE usage_copies SET is_copy = ? WHERE transcript = ? AND key = ?", changed)
        changes = _Changes()
        for _, _, key in changed:
            found = self._db.execute(_FIND, (key,)).fetchone()
            known = Stated(found[0], "", *found[1:-1])
            new = replace(known)
            _own(new, self._db.execute(_FIRST, (key,)).fetchone())
            if new.record_id != known.record_id:
                changes.put(key, known, new, is_shared=1)
        self._apply(changes)

    def _apply(self, changes: _Changes) -> None:
        self._db.executemany(_PUT, changes.rows)
        self._db.executemany(_UNSETTLE, changes.unsettled)
        self._db.executemany(_ADD, ((session_id, *amounts) for session_id, amounts in changes.sums.items()))
        self._settle(changes.sums)

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
        self._db.execute(
            "UPDATE usage_copies SET session_id = ? WHERE session_id = ? AND transcript = ?",
            (session_id, former, transcript),
        )
        settle_sessions(self._db, (former, session_id))

    def _settle(self, sessions: Iterable[str]) -> None:
        changed = [(session_id,) for session_id in sessions]
        self._db.executemany("DELETE FROM session_usage WHERE session_id = ? AND api_messages = 0", changed)
        _touch(self._db, changed)


def settle_sessions(db: Sql, sessions: Collection[str]) -> None:
    """Make the sums of sessions again whose messages went elsewhere."""
    changed = [(session_id,) for session_id in sessions]
    db.executemany("DELETE FROM session_usage WHERE session_id = ?", changed)
    db.executemany(_SUM, changed)
    _touch(db, changed)


def _touch(db: Sql, sessions: Iterable[Values]) -> None:
    db.executemany("INSERT OR IGNORE INTO dirty VALUES (?)", (row for row in sessions if row[0]))


class _Changes:
    """Rows of `usage` to write, and what they change in the sums."""

    def __init__(self) -> None:
        self.rows: list[Values] = []
        self.unsettled: set[tuple[str, int]] = set()
        self.sums: dict[str, list[int]] = {}

    def put(self, key: str, known: Stated | None, new: Stated, *, is_shared: int) -> None:
        if known is not None:
            self._add(known, -1)
        self._add(new, 1)
        self.rows.append(
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
                int(new.is_progress),
                is_shared,
            )
        )

    def _add(self, stated: Stated, sign: int) -> None:
        self.unsettled.add((stated.session_id, stated.ts // QUARTER))
        amounts = self.sums.setdefault(stated.session_id, [0] * 6)
        amounts[0] += sign
        amounts[1] += sign * stated.is_lower_bound
        amounts[2] += sign * stated.input
        amounts[3] += sign * stated.output
        amounts[4] += sign * stated.cache_read
        amounts[5] += sign * max(stated.cache_write, stated.cache_write_5m + stated.cache_write_1h)


def _claimed(stated: Stated, copied: int) -> Values:
    """The columns of `usage_copies` by which a line can own a message."""
    return (
        int(stated.record_id & OFFSET_MASK < copied),
        stated.ts or NEVER,
        stated.path,
        stated.record_id,
        stated.model,
        stated.session_id,
        stated.agent_id,
        stated.branch,
    )


def _own(message: Stated, claim: Values) -> None:
    """Give a message to the owner that was chosen."""
    _, ts, message.path, message.record_id, message.model, message.session_id, message.agent_id, message.branch = claim
    message.ts = ts if ts != NEVER else 0
