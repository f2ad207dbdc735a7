"""The public views of a team's database: what `docs/views.md` promises, over the rows of all machines that the caller may read.

Each has two columns more, the machine and the person (the login that pushed it). Messages are merged as `hansard.sql.merging` says; of a
session that several machines have, the rows of the machine with the most of it count, and those of the others are copies.
"""

from __future__ import annotations

from hansard.clients import CALLS_HAVE_MESSAGES
from hansard.index.schema import QUARTER, recorded_sum
from hansard.sql.merging import (
    NO_USAGE,
    RATE_OF_LINE,
    SESSION_FIGURES,
    TOOL,
    USAGE_LINES,
    WRITTEN,
    WRITTEN_5M,
    columns_from,
    file_changes,
    merged_usage,
    session_homes,
)
from hansard.sql.tables import OTHERS
from hansard.sql.views import VIEWS
from hansard.team.texts import TEXTS

_EPOCH = "timestamptz '1970-01-01 00:00:00+00'"
_LINE_COLUMNS = [column.name for column in USAGE_LINES.columns]


def _with_label(table: str, condition: str = "true") -> str:
    """A relation of a pushed table whose `machine` is the machine's label, as merging orders machines."""
    columns = {
        "pushed_sessions": "session_id, bytes, source_state, root, transcript",
        "pushed_transcripts": "transcript, bytes",
        "pushed_usage_lines": ", ".join(_LINE_COLUMNS),
    }[table]
    inner = ", ".join(f"x.{name}" for name in columns.split(", "))
    return f"(SELECT m.label AS machine, {inner} FROM {table} x JOIN machines m ON m.id = x.machine WHERE {condition})"


_HOMES = (
    "SELECT h.session_id, m.id AS machine_id, h.machine FROM"
    f" ({session_homes(_with_label('pushed_sessions'), _with_label('pushed_transcripts'))}) h JOIN machines m ON m.label = h.machine"
)
_MERGED = f"""
SELECT m.label AS machine, m.owner AS person, m.id AS machine_id, x.ts, {", ".join(f"x.{name}" for name in _LINE_COLUMNS)}
FROM pushed_usage_lines x JOIN machines m ON m.id = x.machine WHERE NOT x.is_shared
UNION ALL
SELECT m.label, m.owner, m.id, coalesce((extract(epoch FROM x.at - {_EPOCH}) * 1000)::bigint, 0), {", ".join(f"x.{name}" for name in _LINE_COLUMNS)}
FROM ({merged_usage(_with_label("pushed_usage_lines", "x.is_shared"))}) x JOIN machines m ON m.label = x.machine"""

# One machine's prices for each model, tier, speed and place: the newest data, and before others that with prices of its own.
_CURRENT_RATES = """
SELECT (r.machine::bigint << 32) + r.rate AS id, r.* FROM pushed_rates r JOIN (
    SELECT DISTINCT ON (r.model, r.service_tier, r.speed, r.inference_geo) r.model, r.service_tier, r.speed, r.inference_geo, r.machine
    FROM pushed_rates r JOIN machines m ON m.id = r.machine
    ORDER BY r.model, r.service_tier, r.speed, r.inference_geo, m.price_data DESC, m.label
) c USING (model, service_tier, speed, inference_geo, machine)"""

_BY_RATE = " + ".join(
    f"{tokens} * coalesce(r.{price}, 0)"
    for tokens, price in (
        ("u.input_tokens", "input"),
        ("u.output_tokens", "output"),
        ("u.cache_read_tokens", "cache_read"),
        (f"({WRITTEN_5M})", "cache_write_5m"),
        ("u.cache_write_1h_tokens", "cache_write_1h"),
    )
)
_COST = f"""CASE WHEN u.recorded_billionths >= 0 THEN u.recorded_billionths * 0.000000001
        WHEN r.priced_as IS NOT NULL THEN ({_BY_RATE}) * 0.000001 + u.web_searches * coalesce(r.web_search, 0) * 0.001 END"""
_CHARGED = f"""
SELECT u.machine, u.person, u.machine_id, u.message_key, u.session_id, u.agent_id, u.transcript, u.byte_offset, u.at, u.ts, u.branch, u.model,
    coalesce(r.id, -1 - (hashtext(u.model)::bigint + 2147483648)) AS rate, r.priced_as, u.input_tokens, u.output_tokens, u.cache_read_tokens, {WRITTEN_5M} AS cache_write_5m_tokens,
    u.cache_write_1h_tokens, {WRITTEN} AS cache_write_tokens,
    u.web_searches, u.recorded_billionths >= 0 AS is_recorded, greatest(u.recorded_billionths, 0) AS recorded_billionths,
    u.final_output_tokens < u.output_tokens AS is_lower_bound, u.is_progress_only, u.service_tier, u.speed, u.inference_geo,
    {TOOL} AS tool, {_COST} AS cost_usd
FROM merged_usage u LEFT JOIN current_rates r ON {RATE_OF_LINE}"""

# What the ledger reads, with the names that the tables of an index have, and machines and people beside them.
_CHARGES = f"""
SELECT u.message_key AS key, u.machine, u.person, u.ts / {QUARTER} AS quarter, u.session_id, u.agent_id, u.branch, u.model, u.rate,
    u.is_recorded::integer AS has_recorded, 1 AS messages, u.is_lower_bound::integer AS lower_bounds, u.input_tokens AS input,
    u.output_tokens AS output, u.cache_read_tokens AS cache_read, u.cache_write_5m_tokens AS cache_write_5m,
    u.cache_write_1h_tokens AS cache_write_1h, u.web_searches, u.recorded_billionths AS recorded,
    u.is_progress_only::integer AS progress_only, u.ts AS first_ts, u.ts AS last_ts, coalesce(u.tool, '') AS tool
FROM charged u"""
_RATES = """
SELECT id, model, service_tier, speed, inference_geo, since, until, above, upto, priced_as, input, output, cache_read, cache_write_5m,
    cache_write_1h, web_search, source_of_price AS source, notes
FROM current_rates"""


def _milliseconds(interval: str) -> str:
    return f"(extract(epoch FROM {interval}) * 1000)::bigint"


_WORK = (
    f"c.tool, c.is_error::integer AS is_error, greatest(0, coalesce({_milliseconds('c.returned_at - c.called_at')}, 0)) AS duration,"
    " c.lines_added AS added, c.lines_removed AS removed"
)
# Clients that do not say which answer made a call: it counts at its own time, and for its model if that has rates.
_CALLS = f"""
SELECT g.quarter, g.machine, g.person, g.session_id, g.agent_id, g.branch, g.model, g.rate, g.first_ts, {_WORK}
FROM (
    SELECT DISTINCT ON (message_key, call) * FROM (
        SELECT x.*, coalesce(x.tool_use_id, x.transcript || ' ' || x.byte_offset || ' ' || x.block) AS call
        FROM pushed_tool_calls x WHERE x.message_key IS NOT NULL AND NOT x.is_copy
    ) x ORDER BY message_key, call, returned_at IS NULL, machine
) c JOIN charges g ON g.key = c.message_key
UNION ALL
SELECT x.first_ts / {QUARTER}, x.machine, x.person, x.session_id, x.agent_id, '', x.model, r.id, x.first_ts, x.tool, x.is_error, x.duration, x.added, x.removed
FROM (
    SELECT c.label AS machine, c.owner AS person, c.session_id, c.agent_id, c.model, coalesce({_milliseconds(f"c.called_at - {_EPOCH}")}, 0) AS first_ts, {_WORK}
    FROM (
        SELECT x.*, m.label, m.owner FROM pushed_tool_calls x JOIN machines m ON m.id = x.machine
        JOIN session_homes h ON h.session_id = x.session_id AND h.machine_id = x.machine
    ) c JOIN pushed_transcripts t ON t.machine = c.machine AND t.transcript = c.transcript
    WHERE c.message_key IS NULL AND t.is_current AND t.client NOT IN ({", ".join(map(repr, sorted(CALLS_HAVE_MESSAGES)))}) AND NOT c.is_copy
) x LEFT JOIN (SELECT model, min(id) AS id FROM current_rates GROUP BY model) r ON r.model = x.model"""

_USED = """
SELECT session_id, count(*) AS api_messages, count(*) FILTER (WHERE is_lower_bound) AS lower_bound_messages,
    sum(input_tokens)::bigint AS input_tokens, sum(output_tokens)::bigint AS output_tokens,
    sum(cache_read_tokens)::bigint AS cache_read_tokens, sum(cache_write_tokens)::bigint AS cache_write_tokens, sum(cost_usd) AS cost_usd,
    coalesce(jsonb_agg(DISTINCT model) FILTER (WHERE cost_usd IS NULL), '[]')::text AS unpriced_models
FROM charged GROUP BY session_id"""
_FROM_USAGE = {
    **SESSION_FIGURES,
    "cost_usd": f"CASE WHEN {NO_USAGE} THEN NULL WHEN u.api_messages IS NULL THEN 0 ELSE u.cost_usd END",
    "unpriced_models": "coalesce(u.unpriced_models, '[]')",
}


def _columns(view: str, alias: str, others: dict[str, str] | None = None) -> str:
    return columns_from(VIEWS[view], alias, others)


TEXT_COLUMNS = tuple(name for name in TEXTS.columns if name not in ("marks", "words"))
"""What everybody may want to know of a text: the rest is for the index."""
_HOME = "JOIN machines m ON m.id = x.machine JOIN session_homes h ON h.session_id = x.{id} AND h.machine_id = x.machine"
_ANY = "JOIN machines m ON m.id = x.machine LEFT JOIN session_homes h ON h.session_id = x.session_id"
_ELSEWHERE = "x.is_copy OR coalesce(h.machine_id <> x.machine, false)"
# A fork on one machine repeats what another machine's session said: those messages count there, and so do their calls.
_OWNED_ELSEWHERE = (
    f"{_ELSEWHERE} OR EXISTS (SELECT FROM shared_usage u WHERE u.message_key = x.message_key"
    " AND u.session_id <> x.session_id AND u.machine_id <> x.machine)"
)


def _of_home(view: str, *, session: str = "session_id") -> str:
    return f"SELECT m.label AS machine, m.owner AS person, {_columns(view, 'x')} FROM pushed_{view} x {_HOME.format(id=session)}"


def _marked(view: str, is_copy: str = _ELSEWHERE) -> str:
    columns = _columns(view, "x", {"is_copy": f"({is_copy})"})
    return f"SELECT m.label AS machine, m.owner AS person, {columns} FROM pushed_{view} x {_ANY}"


def _of_machine(view: str) -> str:
    return f"SELECT m.label AS machine, m.owner AS person, {_columns(view, 'x')} FROM pushed_{view} x JOIN machines m ON m.id = x.machine"


_SUMS = ", ".join(
    f"({recorded_sum('s.' + name, 's.')})::bigint AS {name}"
    for name in "input_tokens output_tokens cache_read_tokens cache_write_tokens api_messages".split()
)

VIEWS_SQL = {
    "session_homes": _HOMES,
    "merged_usage": _MERGED,
    "shared_usage": (
        f"SELECT m.id AS machine_id, x.message_key, x.session_id FROM ({merged_usage(_with_label('pushed_usage_lines', 'x.is_shared'))}) x"
        " JOIN machines m ON m.label = x.machine"
    ),
    "current_rates": _CURRENT_RATES,
    "charged": _CHARGED,
    "charges": _CHARGES,
    "spending": "SELECT * FROM charges",
    "rates": _RATES,
    "session_usage": _USED,
    "sessions": (
        f"SELECT m.label AS machine, m.owner AS person, {_columns('sessions', 'x', _FROM_USAGE)} FROM pushed_sessions x"
        f" {_HOME.format(id='session_id')} LEFT JOIN session_usage u ON u.session_id = x.session_id"
    ),
    "usage": (
        f"SELECT u.machine, u.person, {_columns('usage', 'u', {'project': 'coalesce(s.project, ' + chr(39) * 2 + ')'})} FROM charged u"
        " LEFT JOIN session_homes h ON h.session_id = u.session_id"
        " LEFT JOIN pushed_sessions s ON s.session_id = h.session_id AND s.machine = h.machine_id"
    ),
    "transcripts": _of_machine("transcripts"),
    "turns": _of_home("turns"),
    "messages": _marked("messages", _OWNED_ELSEWHERE),
    "blocks": _marked("blocks"),
    "tool_calls": _marked("tool_calls", _OWNED_ELSEWHERE),
    "calls": _CALLS,
    "file_changes": f"SELECT machine, person, {file_changes(VIEWS['file_changes'])} FROM tool_calls c WHERE c.change IS NOT NULL",
    "prompts": _marked("prompts"),
    "projects": (
        f"SELECT s.project, count(*) FILTER (WHERE NOT s.is_empty) AS sessions, min(s.started_at) AS first_at, max(s.ended_at) AS last_at,"
        f" {_SUMS}, CASE WHEN sum(s.api_messages + s.messages) = 0 THEN 0 ELSE sum(s.cost_usd) FILTER (WHERE s.api_messages > 0) END AS cost_usd"
        " FROM sessions s GROUP BY s.project HAVING count(*) FILTER (WHERE NOT s.is_empty) > 0"
    ),
    "links": _of_home("links", session="source"),
    "agents": _of_home("agents"),
    "compactions": _of_home("compactions"),
    "issues": _of_machine("issues"),
    "remarks": _of_machine("remarks"),
    **{table.view.name: _of_home(table.view.name) for table in OTHERS},
    "texts": (
        "SELECT m.label AS machine, m.owner AS person, "
        + ", ".join(f"({_ELSEWHERE}) AS is_copy" if name == "is_copy" else f"x.{name}" for name in TEXT_COLUMNS)
        + f" FROM {TEXTS.name} x {_ANY}"
    ),
}
"""The views in the order in which they are made."""
