"""The public views of a lake, over the rows of all machines: the same SQL for DuckDB and for Spark, from `hansard.sql.merging`.

`pushed_NAME` is what machines wrote. Messages are merged; of a session that several machines have, the rows of the machine with the most of
it count, and those of the others are copies. Every view has the machine and the person in front.
"""

from __future__ import annotations

from hansard.index.schema import QUARTER, TOKEN_COLUMNS, recorded_sum
from hansard.lake.relations import RISK_COLUMNS
from hansard.sql.merging import (
    NO_USAGE,
    RATE_OF_LINE,
    SESSION_FIGURES,
    TOOL,
    USAGE_LINES,
    WRITTEN_5M,
    columns_from,
    file_changes,
    merged_usage,
    session_homes,
)
from hansard.sql.tables import OTHERS
from hansard.sql.views import VIEWS

_KEY = "model, service_tier, speed, inference_geo"
_LINES = ", ".join(f"u.{column.name}" for column in USAGE_LINES.columns)

_CURRENT_RATES = f"""
SELECT row_number() OVER (ORDER BY {_KEY}, since, above, rate) AS id, ranked.* FROM (
    SELECT r.*, dense_rank() OVER (PARTITION BY {_KEY} ORDER BY m.price_data DESC, m.machine) AS place
    FROM pushed_rates r JOIN pushed_machines m ON m.machine = r.machine
) ranked WHERE place = 1"""

# Names of the figures are those of `charges` in the index, so that the ledger's sums apply.
_CHARGES = f"""
SELECT u.machine, u.person, {_LINES}, u.ts, u.ts - u.ts % {QUARTER} AS quarter_began, h.project, h.client, coalesce(r.id, 0) AS rate, r.priced_as,
    CAST(CASE WHEN u.recorded_billionths >= 0 THEN 1 ELSE 0 END AS BIGINT) AS has_recorded, CAST(1 AS BIGINT) AS messages,
    CAST(CASE WHEN u.final_output_tokens < u.output_tokens THEN 1 ELSE 0 END AS BIGINT) AS lower_bounds,
    u.input_tokens AS input, u.output_tokens AS output, u.cache_read_tokens AS cache_read, {WRITTEN_5M} AS cache_write_5m,
    u.cache_write_1h_tokens AS cache_write_1h, greatest(u.recorded_billionths, 0) AS recorded,
    CAST(CASE WHEN u.is_progress_only THEN 1 ELSE 0 END AS BIGINT) AS progress_only, u.ts AS first_ts, u.ts AS last_ts,
    {TOOL} AS tool
FROM merged_usage u LEFT JOIN session_places h ON h.session_id = u.session_id LEFT JOIN current_rates r ON {RATE_OF_LINE}"""


def _price(name: str) -> str:
    return f"CAST(coalesce(r.{name}, 0) AS DECIMAL(20, 12))"


# Exact in 38 digits: counts below 10**11, prices with up to 12 decimals per million tokens.
_BY_RATE = " + ".join(
    f"CAST(c.{tokens} AS DECIMAL(11, 0)) * {_price(price)}"
    for tokens, price in (
        ("input", "input"),
        ("output", "output"),
        ("cache_read", "cache_read"),
        ("cache_write_5m", "cache_write_5m"),
        ("cache_write_1h", "cache_write_1h"),
    )
)
_COST = f"""CASE WHEN c.has_recorded = 1 THEN CAST(CAST(c.recorded AS DECIMAL(18, 0)) * 0.000000001 AS DECIMAL(38, 18))
        WHEN c.priced_as IS NOT NULL THEN CAST(CAST({_BY_RATE} AS DECIMAL(31, 12)) * 0.000001 AS DECIMAL(38, 18))
            + CAST(CAST(c.web_searches AS DECIMAL(9, 0)) * {_price("web_search")} * 0.001 AS DECIMAL(38, 18)) END"""
_USAGE = {
    "project": "coalesce(c.project, '')",
    "model": "nullif(c.model, '')",
    "cache_write_5m_tokens": "c.cache_write_5m",
    "cost_usd": _COST,
    "is_recorded": "c.has_recorded = 1",
    "is_lower_bound": "c.lower_bounds = 1",
}
_USED = """
SELECT session_id, count(*) AS api_messages, sum(lower_bounds) AS lower_bound_messages, sum(input) AS input_tokens,
    sum(output) AS output_tokens, sum(cache_read) AS cache_read_tokens,
    sum(greatest(cache_write_tokens, cache_write_5m_tokens + cache_write_1h_tokens)) AS cache_write_tokens
FROM charges GROUP BY session_id"""
_COSTS = """
SELECT session_id, sum(cost_usd) AS cost_usd, CAST(count(CASE WHEN cost_usd IS NULL THEN 1 END) AS BIGINT) AS unpriced_messages
FROM usage GROUP BY session_id"""
_FROM_USAGE = {
    **SESSION_FIGURES,
    "cost_usd": f"CASE WHEN {NO_USAGE} THEN NULL WHEN u.api_messages IS NULL THEN 0 ELSE k.cost_usd END",
}


def _columns(view: str, alias: str, others: dict[str, str] | None = None) -> str:
    return columns_from(VIEWS[view], alias, others)


_ANY = "LEFT JOIN session_homes h ON h.session_id = x.session_id"
_ELSEWHERE = "x.is_copy OR coalesce(h.machine <> x.machine, false)"
# A fork on one machine repeats what another machine's session said: those messages count there, and so do their calls.
_OWNED_ELSEWHERE = (
    f"{_ELSEWHERE} OR coalesce(o.session_id <> x.session_id AND o.machine <> x.machine AND o.copies > 1, false)"
)
_OWNER = """LEFT JOIN (
    SELECT u.message_key, u.session_id, u.machine, n.copies FROM merged_usage u
    JOIN (SELECT message_key, count(*) AS copies FROM pushed_usage_lines GROUP BY message_key) n ON n.message_key = u.message_key
) o ON o.message_key = x.message_key"""


def _of_home(view: str, session: str = "session_id") -> str:
    return (
        f"SELECT x.machine, x.person, {_columns(view, 'x')} FROM pushed_{view} x"
        f" JOIN session_homes h ON h.session_id = x.{session} AND h.machine = x.machine"
    )


def _marked(view: str, is_copy: str = _ELSEWHERE, joined: str = "") -> str:
    columns = _columns(view, "x", {"is_copy": f"({is_copy})"})
    return f"SELECT x.machine, x.person, {columns} FROM pushed_{view} x {_ANY} {joined}"


def _of_machine(view: str) -> str:
    return f"SELECT x.machine, x.person, {_columns(view, 'x')} FROM pushed_{view} x"


_SUMMED = ", ".join(f"{recorded_sum('s.' + name, 's.')} AS {name}" for name in (*TOKEN_COLUMNS, "api_messages"))
VIEWS_SQL = {
    "session_homes": session_homes("pushed_sessions", "pushed_transcripts"),
    "session_places": (
        "SELECT x.session_id, x.machine, x.person, x.project, x.client, x.title FROM pushed_sessions x"
        " JOIN session_homes h ON h.session_id = x.session_id AND h.machine = x.machine"
    ),
    "merged_usage": merged_usage("pushed_usage_lines", ("person", "ts")),
    "current_rates": _CURRENT_RATES,
    "charges": _CHARGES,
    "usage": f"SELECT c.machine, c.person, {_columns('usage', 'c', _USAGE)} FROM charges c LEFT JOIN current_rates r ON r.id = c.rate",
    "session_usage": _USED,
    "session_costs": _COSTS,
    "sessions": (
        f"SELECT x.machine, x.person, {_columns('sessions', 'x', _FROM_USAGE)} FROM pushed_sessions x"
        " JOIN session_homes h ON h.session_id = x.session_id AND h.machine = x.machine"
        " LEFT JOIN session_usage u ON u.session_id = x.session_id LEFT JOIN session_costs k ON k.session_id = x.session_id"
    ),
    "transcripts": _of_machine("transcripts"),
    "turns": _of_home("turns"),
    "messages": _marked("messages", _OWNED_ELSEWHERE, _OWNER),
    "blocks": _marked("blocks"),
    "tool_calls": _marked("tool_calls", _OWNED_ELSEWHERE, _OWNER),
    "file_changes": (
        f"SELECT c.machine, c.person, {file_changes(VIEWS['file_changes'])} FROM tool_calls c WHERE c.change IS NOT NULL"
    ),
    "risks": (
        f"SELECT x.machine, x.person, {', '.join(f'x.{column.name}' for column in RISK_COLUMNS)}, x.ts,"
        f" x.ts - x.ts % {QUARTER} AS quarter_began, h.project, h.client FROM pushed_risks x"
        " JOIN session_places h ON h.session_id = x.session_id AND h.machine = x.machine"
        " LEFT JOIN tool_calls c ON c.machine = x.machine AND c.transcript = x.transcript"
        " AND c.byte_offset = x.byte_offset AND c.block = x.block WHERE NOT coalesce(c.is_copy, false)"
    ),
    "prompts": _marked("prompts"),
    "projects": (
        "SELECT s.project, sum(CASE WHEN s.is_empty THEN 0 ELSE 1 END) AS sessions, min(s.started_at) AS first_at, max(s.ended_at) AS last_at,"
        f" {_SUMMED}, CASE WHEN sum(s.api_messages + s.messages) = 0 THEN 0 ELSE sum(CASE WHEN s.api_messages > 0 THEN s.cost_usd END) END AS cost_usd"
        " FROM sessions s GROUP BY s.project HAVING sum(CASE WHEN s.is_empty THEN 0 ELSE 1 END) > 0"
    ),
    "links": _of_home("links", "source"),
    "agents": _of_home("agents"),
    "compactions": _of_home("compactions"),
    "issues": _of_machine("issues"),
    "remarks": _of_machine("remarks"),
    **{table.view.name: _of_home(table.view.name) for table in OTHERS},
}
"""The SELECT of each view, in the order in which they are made; they read `pushed_NAME` for each of `RELATIONS`."""
