"""Several machines in one database: what leaves a machine, and the SQL that counts each message once.

A machine's row of a message is the merge of its own lines. Merging is commutative, associative and idempotent (`clients/usage.py`), so
merging those rows gives what one store with the files of all machines counts: each class is the greatest that any machine knows, and
the owner is the first in the ledger's order. The SQL is standard: SQLite, DuckDB, Spark and PostgreSQL run it unchanged, as long as
texts are compared byte by byte.
"""

from __future__ import annotations

from collections.abc import Mapping

from hansard.index.schema import TOKEN_COLUMNS
from hansard.sql.view import Column, Type, View, columns_of
from hansard.storage import OFFSET_BITS, OFFSET_MASK

NAMES = frozenset(
    """
    session_id agent_id message_key uuid parent_uuid tool_use_id parent_agent source target client project model models priced_as
    unpriced_models branch branches version versions tool agent_type kind subkind role change relation trigger reason linked_by state
    source_state title_source mode decided_by service_tier speed inference_geo first_call
    """.split()
)
"""Columns of text that every row may show: ids, names and kinds. Any other text is content, which the owner of a project decides about."""


def is_content(column: Column) -> bool:
    """Whether a column holds what somebody wrote, or where their files are."""
    return column.type is Type.TEXT and column.name not in NAMES


_DIGITS = 19  # of a time in milliseconds, so that texts have the order of times
TOOL = f"substr(u.first_call, {_DIGITS + 1})"
"""The tool of a merged row `u` of `USAGE_LINES`."""
WRITTEN_5M = (
    "u.cache_write_5m_tokens + greatest(0, u.cache_write_tokens - u.cache_write_5m_tokens - u.cache_write_1h_tokens)"
)
"""The tokens that count as written to the cache for five minutes: those of which nothing is said, too."""
WRITTEN = "greatest(u.cache_write_tokens, u.cache_write_5m_tokens + u.cache_write_1h_tokens)"
PROMPT = f"u.input_tokens + u.cache_read_tokens + {WRITTEN}"
"""The size of the prompt, by which some prices differ."""
RATE_OF_LINE = f"""r.model = u.model AND r.service_tier = u.service_tier AND r.speed = u.speed AND r.inference_geo = u.inference_geo
    AND u.ts >= r.since AND u.ts < r.until AND {PROMPT} > r.above AND {PROMPT} <= r.upto"""
"""Whether a row `r` of `RATES` applies to a merged row `u`, whose `ts` is `at` in milliseconds, 0 if unknown."""
NO_USAGE = "u.api_messages IS NULL AND x.messages > x.api_messages"
"""Whether the model answered in a session `x`, and its client recorded no usage."""
SESSION_FIGURES = {
    "messages": "coalesce(u.api_messages, 0) + x.messages - x.api_messages",
    **{name: f"CASE WHEN {NO_USAGE} THEN NULL ELSE coalesce(u.{name}, 0) END" for name in TOKEN_COLUMNS},
    **{name: f"coalesce(u.{name}, 0)" for name in ("api_messages", "lower_bound_messages")},
}
"""Columns of a session `x` that come from the merged messages, of which `u` are the sums."""
USAGE_LINES = View(
    "usage_lines",
    "One row per API message as one machine knows it, with all that decides how it merges with the rows of others.",
    columns_of(
        ("message_key", "text", "u.key", "`usage.message_key`"),
        ("session_id", "text", "u.session_id", "the session that it counts for on this machine"),
        ("agent_id", "text", "u.agent_id", "the subagent; empty in the session's own thread"),
        ("transcript", "integer", f"u.record_id >> {OFFSET_BITS}", "`transcripts.transcript`"),
        ("byte_offset", "integer", f"u.record_id & {OFFSET_MASK}", "of its first line there"),
        ("at", "time", "nullif(u.ts, 0)", ""),
        ("path", "text", "coalesce(t.path, '')", "of the transcript, relative to its root"),
        ("root", "text", "coalesce(t.root, '')", ""),
        (
            "is_copied",
            "boolean",
            (
                f"coalesce((SELECT o.is_copy FROM usage_copies o WHERE o.transcript = u.record_id >> {OFFSET_BITS} AND o.key = u.key),"
                f" u.record_id & {OFFSET_MASK} < t.copied, 0)"
            ),
            "the transcript says that it copied the line from another session",
        ),
        ("is_progress_only", "boolean", "u.is_progress", "known from progress records of its parent only"),
        ("branch", "text", "u.branch", "git branch"),
        ("model", "text", "u.model", ""),
        ("input_tokens", "integer", "u.input", "the greatest that a line states, like what follows"),
        ("output_tokens", "integer", "u.output", ""),
        ("cache_read_tokens", "integer", "u.cache_read", ""),
        ("cache_write_tokens", "integer", "u.cache_write", "as stated: the two below may add up to less or more"),
        ("cache_write_5m_tokens", "integer", "u.cache_write_5m", ""),
        ("cache_write_1h_tokens", "integer", "u.cache_write_1h", ""),
        ("web_searches", "integer", "u.web_searches", ""),
        ("final_output_tokens", "integer", "u.final_output", "of lines with a stop reason; -1 without such a line"),
        ("recorded_billionths", "integer", "u.recorded", "what the client says it cost, in US dollars; -1: nothing"),
        ("service_tier", "text", "u.service_tier", ""),
        ("speed", "text", "u.speed", ""),
        ("inference_geo", "text", "u.inference_geo", ""),
        (
            "first_call",
            "text",
            f"iif(u.tool = '', NULL, printf('%0{_DIGITS}d', iif(u.tool_ts = 0, 1 << 62, u.tool_ts)) || u.tool)",
            f"when it first called a tool, in {_DIGITS} digits, and which",
        ),
    ),
    f"FROM usage u LEFT JOIN transcripts t ON t.id = u.record_id >> {OFFSET_BITS}",
)

RATES = View(
    "rates",
    "One row per price of a model: for a tier, a speed and a place, a time and a size of prompt.",
    columns_of(
        ("rate", "integer", "r.id", ""),
        ("model", "text", "r.model", "as messages name it"),
        ("service_tier", "text", "r.service_tier", ""),
        ("speed", "text", "r.speed", ""),
        ("inference_geo", "text", "r.inference_geo", ""),
        ("since", "integer", "r.since", "at or after, in milliseconds since 1970 in UTC"),
        ("until", "integer", "r.until", "before"),
        ("above", "integer", "r.above", "prompts of more tokens than this"),
        ("upto", "integer", "r.upto", "and of at most this many"),
        ("priced_as", "text", "r.priced_as", "the model in the price data; null where it has no price"),
        ("input", "money", "r.input", "per million tokens, like the next four"),
        ("output", "money", "r.output", ""),
        ("cache_read", "money", "r.cache_read", ""),
        ("cache_write_5m", "money", "r.cache_write_5m", ""),
        ("cache_write_1h", "money", "r.cache_write_1h", ""),
        ("web_search", "money", "r.web_search", "per thousand searches"),
        ("source_of_price", "text", "r.source", ""),
        ("notes", "text", "r.notes", "JSON list"),
    ),
    "FROM rates r",
    "1",
)
MAXIMA = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "cache_write_5m_tokens",
    "cache_write_1h_tokens",
    "web_searches",
    "final_output_tokens",
    "recorded_billionths",
    "service_tier",
    "speed",
    "inference_geo",
)
"""Columns of which the merged message has the greatest value; the others are the owner's."""
OWNER_ORDER = (
    "is_progress_only",
    "is_copied",
    "at IS NULL",
    "at",
    "path",
    "root",
    "byte_offset",
    "machine",
    "transcript",
    "model",
    "session_id",
    "agent_id",
    "branch",
)
"""The ledger's order, over all machines: the first row owns the message. Lines of its own come before progress records of a parent."""


def merged_usage(lines: str, more: tuple[str, ...] = ()) -> str:
    """A SELECT of each message once, from a relation of `USAGE_LINES` with a column `machine` (its name), and `more` of the owner."""
    columns = ["machine", *more]
    for column in USAGE_LINES.columns:
        if column.name == "first_call":
            columns.append("min(first_call) OVER alike AS first_call")
        elif column.name in MAXIMA:
            columns.append(f"max({column.name}) OVER alike AS {column.name}")
        else:
            columns.append(column.name)
    names = ", ".join(["machine", *more, *(column.name for column in USAGE_LINES.columns)])
    return f"""SELECT {names} FROM (
    SELECT {", ".join(columns)},
        row_number() OVER (PARTITION BY message_key ORDER BY {", ".join(OWNER_ORDER)}) AS place
    FROM {lines} unmerged
    WINDOW alike AS (PARTITION BY message_key, is_progress_only)
) merged WHERE place = 1"""


def session_homes(sessions: str, transcripts: str) -> str:
    """A SELECT of each session's id and the machine that it is read from: the one with the longest main transcript.

    The relations are those views with a column `machine` (its name). A row of another machine repeats what the home has.
    """
    return f"""SELECT session_id, machine FROM (
    SELECT s.session_id, s.machine, row_number() OVER (
        PARTITION BY s.session_id ORDER BY coalesce(t.bytes, 0) DESC, s.bytes DESC, s.source_state <> 'live', s.root, s.machine
    ) AS place
    FROM {sessions} s LEFT JOIN {transcripts} t ON t.machine = s.machine AND t.transcript = s.transcript
) homes WHERE place = 1"""


def columns_from(view: View, alias: str, others: Mapping[str, str] | None = None) -> str:
    """The columns of a view in a SELECT: those of the relation `alias`, and expressions for others."""
    others = others or {}
    return ", ".join(
        f"{others[column.name]} AS {column.name}" if column.name in others else f"{alias}.{column.name}"
        for column in view.columns
    )


def file_changes(view: View) -> str:
    """The columns of the view of file changes in a SELECT from the tool calls `c`; those without a change are none."""
    return columns_from(view, "c", {"at": "c.called_at"})
