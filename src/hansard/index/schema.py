"""The schema of `index.db` and `text.db`; the tables are in `index.sql` and `text.sql`, and the documentation page is made from these.

Ids contain their place: `id = transcript << 40 | byte offset` (plus the number of the block in its line). So a row's
transcript is `id >> 40`, its byte offset `id & 1099511627775`, and a transcript's rows are one range of ids. Times are milliseconds since 1970 in UTC.

There are no migrations: after a change of `VERSION` the file is made again from the record.
"""

from __future__ import annotations

import os

from hansard.storage import OFFSET_BITS, OFFSET_MASK

VERSION = 28
QUARTER = 900_000  # milliseconds
SNAPSHOT_TEXT = 1 << 62
"""Added to the id of a snapshot, gives the id and the rowid of its text."""
TEXT_BITS = 24
"""Bits of a text's number in its transcript, in the rowids of the full text."""
TEXT_MASK = (1 << TEXT_BITS) - 1

INDEXES = """
CREATE INDEX IF NOT EXISTS transcripts_session ON transcripts (session_id);
CREATE INDEX IF NOT EXISTS transcripts_history ON transcripts (id) WHERE kind = 'history';
CREATE INDEX IF NOT EXISTS transcripts_root_uuid ON transcripts (root_uuid);
CREATE INDEX IF NOT EXISTS transcripts_fork_uuid ON transcripts (fork_uuid) WHERE fork_uuid <> '';
CREATE INDEX IF NOT EXISTS transcripts_state ON transcripts (current, state, root, kind, issues);
CREATE INDEX IF NOT EXISTS transcripts_waiting ON transcripts (id, derived) WHERE derived < size;
CREATE INDEX IF NOT EXISTS records_uuid ON records (uuid);
CREATE INDEX IF NOT EXISTS messages_key ON messages (key);
CREATE INDEX IF NOT EXISTS usage_session ON usage (session_id, ts);
CREATE INDEX IF NOT EXISTS usage_ts ON usage (ts);
CREATE INDEX IF NOT EXISTS rates_of ON rates (model, service_tier, speed, inference_geo, since);
CREATE INDEX IF NOT EXISTS spending_session ON spending (session_id);
CREATE INDEX IF NOT EXISTS tool_calls_use ON tool_calls (tool_use_id);
CREATE INDEX IF NOT EXISTS tool_calls_path ON tool_calls (path) WHERE path IS NOT NULL;
CREATE INDEX IF NOT EXISTS tool_calls_parts ON tool_calls (part) WHERE part > 0;
CREATE INDEX IF NOT EXISTS prompts_ts ON prompts (ts);
CREATE INDEX IF NOT EXISTS session_files_path ON session_files (path, changes);
CREATE INDEX IF NOT EXISTS summaries_leaf ON summaries (leaf_uuid);
CREATE INDEX IF NOT EXISTS sightings_record ON sightings (record_id);
CREATE INDEX IF NOT EXISTS shared_records_record ON shared_records (record_id);
CREATE INDEX IF NOT EXISTS originals_pending ON originals (uuid) WHERE is_pending = 1;
CREATE INDEX IF NOT EXISTS links_target ON links (target, relation);
CREATE INDEX IF NOT EXISTS side_files_path ON side_files (path);
CREATE INDEX IF NOT EXISTS side_files_session ON side_files (session_id);
CREATE INDEX IF NOT EXISTS remarks_session ON remarks (session_id);
CREATE INDEX IF NOT EXISTS remarks_folded ON remarks (kind, folded);
CREATE INDEX IF NOT EXISTS sessions_ended ON sessions (ended_at);
CREATE INDEX IF NOT EXISTS sessions_project ON sessions (project);
"""

RATE_OF_CALL = "(SELECT min(r.id) FROM rates r WHERE r.model = c.model)"
"""A rate of the model that made a call `c`, if the client does not say which answer that was."""

RATE_APPLIES = (
    "r.model = u.model AND r.service_tier = u.service_tier AND r.speed = u.speed AND r.inference_geo = u.inference_geo"
    " AND u.ts >= r.since AND u.ts < r.until"
    " AND u.input + u.cache_read + max(u.cache_write, u.cache_write_5m + u.cache_write_1h) > r.above"
    " AND u.input + u.cache_read + max(u.cache_write, u.cache_write_5m + u.cache_write_1h) <= r.upto"
)
"""Whether a row r of `rates` is the price of a row u of `usage`."""
WRITTEN_5M = "u.cache_write_5m + max(0, u.cache_write - u.cache_write_5m - u.cache_write_1h)"
"""Cache writes of a row u of `usage` that count as five-minute writes, including those without a stated lifetime."""

LAST_INDEX = "sessions_project"
MADE_LATE = (
    "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql LIKE 'CREATE INDEX%' AND name <> 'usage_copies_owner'"
)
"""Lists the indexes that a first sync creates at its end."""


def tables() -> str:
    return _read("index.sql").format(
        OFFSET_BITS=OFFSET_BITS,
        OFFSET_MASK=OFFSET_MASK,
        QUARTER=QUARTER,
        RATE_APPLIES=RATE_APPLIES,
        WRITTEN_5M=WRITTEN_5M,
    )


def text_tables() -> str:
    return _read("text.sql").format(TEXT_BITS=TEXT_BITS)


def _read(name: str) -> str:
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        return file.read()


NO_USAGE = "(messages > 0 AND api_messages = 0)"
"""A condition over `sessions`: the model answered, and the client recorded no usage."""
TOKEN_COLUMNS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


def recorded(value: str, table: str = "") -> str:
    """A figure of a session; null if its client recorded no usage, since 0 would say that nothing was used."""
    return f"CASE WHEN {table}messages > 0 AND {table}api_messages = 0 THEN NULL ELSE {value} END"


def recorded_sum(value: str, table: str = "") -> str:
    """The sum of a figure over sessions; null if usage is recorded for none in which the model answered."""
    return f"CASE WHEN sum({table}messages) > 0 AND sum({table}api_messages) = 0 THEN NULL ELSE sum({value}) END"
