"""The public views, defined once: names, types, meaning and the SELECT that makes their rows from `index.db`.

Exports, `hansard sql` and the documentation page are made from these. Unlike the tables of the index they have plain ids (a place is a
`transcript` and a `byte_offset`), exact costs, and `is_copy`, which is true for rows that forks, replays and former generations
of a file repeat: rows without it are what Hansard's reports count.

Five names that the SELECTs use are not in the index; `hansard.sql.provided` provides them: the functions `usage_cost` and
`decimal_sum`, and the temporary tables `copied_calls`, `counted_prompts` and `unit_prices`.
"""

from __future__ import annotations

from hansard.clients.usage import REPEATED_LINE
from hansard.index.schema import NO_USAGE, RATE_APPLIES, WRITTEN_5M
from hansard.query.transcripts import AGENT_OF_CALL, SHOWN_RECORD
from hansard.sql.session_views import AGENTS, LINKS, PROJECTS, REMARKS, SESSIONS, TRANSCRIPTS
from hansard.sql.view import FROM_TRANSCRIPTS, Column, View, columns_of, places, scanned
from hansard.storage import OFFSET_BITS, OFFSET_MASK


def _order(record: str, transcript: str) -> str:
    """The order of records with one uuid: the first is the original."""
    return (
        f"({transcript}.current = 0, {record}.sub IS '{REPEATED_LINE}', {record}.id & {OFFSET_MASK} < {transcript}.copied, coalesce({record}.ts, 1 << 62),"
        f" {transcript}.path, {transcript}.root, {record}.id & {OFFSET_MASK})"
    )


_IS_COPY = (
    f"EXISTS (SELECT 1 FROM records o CROSS JOIN transcripts s ON s.id = o.id >> {OFFSET_BITS}"
    f" WHERE o.uuid = r.uuid AND o.id <> r.id AND {_order('o', 's')} < {_order('r', 't')})"
)
_COPY_OF_RECORD = ("is_copy", "boolean", _IS_COPY, "another transcript, or an earlier line, has the same message")

_TRILLION = 10**12
# The cost in units of 10**-12 dollars, with prices as whole numbers of these. It is no integer (but null, or rounded) where a price has
# more digits or the product is too large; then `usage_cost` does the same with decimals, several times slower.
_UNITS = (
    "iif({0}has_recorded, {0}recorded * 1000, {0}input * p.input + {0}output * p.output + {0}cache_read * p.cache_read"
    " + {0}cache_write_5m * p.cache_write_5m + {0}cache_write_1h * p.cache_write_1h + {0}web_searches * p.web_search)"
)
_WITH_PRICES = "CROSS JOIN temp.unit_prices p ON p.rate = "


def _cost(x: str, rate: str) -> str:
    """The cost of a row with the columns of `charges`, as decimal text; `unit_prices` p are those of its rate."""
    units = _UNITS.format(x)
    return (
        f"iif(typeof({units}) = 'integer',"
        f" rtrim(rtrim(printf('%d.%012d', ({units}) / {_TRILLION}, ({units}) % {_TRILLION}), '0'), '.'),"
        f" usage_cost({rate}, {x}has_recorded, {x}recorded, {x}input, {x}output, {x}cache_read, {x}cache_write_5m,"
        f" {x}cache_write_1h, {x}web_searches))"
    )


# A turn begins with a prompt, or with a subagent's instructions; entries before the first of these are a turn too.
_RANGE = f"BETWEEN t.id << {OFFSET_BITS} AND (t.id << {OFFSET_BITS}) + {OFFSET_MASK}"
_OWN = "(r.sidechain = 0 OR t.is_agent)"  # not of a subagent inside the file
_IN_TURN = ">= t.start_id AND {0} < t.next_id"
_CHARGES = "c.input, c.output, c.cache_read, c.cache_write_5m + c.cache_write_1h AS cache_write"
_TURNS = f"""FROM (
    WITH threads AS (
        SELECT id, session_id, agent_id, kind = 'agent' AS is_agent FROM transcripts
        WHERE id IN (SELECT transcript FROM sessions UNION SELECT transcript FROM agents){{sessions}}
    ),
    typed AS (
        SELECT t.id AS thread, r.id FROM threads t CROSS JOIN records r ON r.id {_RANGE} AND {_OWN}
        WHERE r.role IN ('prompt', 'instruction', 'command', 'bash') AND (r.kind <> 'attachment' OR r.role <> 'prompt'
            OR EXISTS (SELECT 1 FROM prompts p WHERE p.id = r.id AND p.source = 'queued' AND p.text <> ''))
        UNION
        SELECT t.id, p.id FROM threads t CROSS JOIN prompts p ON p.id {_RANGE} LEFT JOIN records r ON r.id = p.id
        WHERE r.role IS NULL AND (r.kind IS NOT NULL OR p.source = 'queued') AND (r.id IS NULL OR {_OWN})
    ),
    starts AS (
        SELECT thread, id FROM typed
        UNION
        SELECT t.id, min(r.id) FROM threads t CROSS JOIN records r ON r.id {_RANGE} AND {_OWN} WHERE {SHOWN_RECORD} GROUP BY t.id
        HAVING min(r.id) < coalesce((SELECT min(id) FROM typed WHERE thread = t.id), min(r.id) + 1)
    ),
    bounds AS (
        SELECT t.*, s.id AS start_id, row_number() OVER thread AS number,
            lead(s.id, 1, (t.id + 1) << {OFFSET_BITS}) OVER thread AS next_id
        FROM starts s CROSS JOIN threads t ON t.id = s.thread WINDOW thread AS (PARTITION BY s.thread ORDER BY s.id)
    ),
    said AS (
        SELECT t.start_id, min(r.ts) AS first_ts, max(r.ts) AS last_ts, sum(r.id = r.message_id) AS messages
        FROM bounds t CROSS JOIN records r ON r.id {_IN_TURN.format("r.id")} AND {_OWN} GROUP BY t.start_id
    ),
    called AS (
        SELECT t.start_id, count(*) AS calls, sum(c.is_error) AS errors
        FROM bounds t CROSS JOIN tool_calls c ON c.id {_IN_TURN.format("c.id")} AND c.part = 0
        LEFT JOIN records r ON r.id = c.message_id WHERE r.id IS NULL OR {_OWN} GROUP BY t.start_id
    ),
    charged AS (
        SELECT t.start_id, {_CHARGES}, {_cost("c.", "c.rate")} AS cost FROM bounds t CROSS JOIN records r ON r.id {_IN_TURN.format("r.id")}
        CROSS JOIN messages m ON m.id = r.message_id
        CROSS JOIN charges c ON c.key >= m.key AND c.key <= m.key || '#advisor~' AND +c.record_id = r.id
        {_WITH_PRICES}c.rate
        WHERE +c.session_id = t.session_id
    ),
    used AS (
        SELECT start_id, sum(input) AS input, sum(output) AS output, sum(cache_read) AS cache_read,
            sum(cache_write) AS cache_write, decimal_sum(cost) AS cost
        FROM charged GROUP BY start_id
    )
    SELECT t.*, first_ts, last_ts, messages, calls, errors, input, output, cache_read, cache_write, used.start_id AS is_used, cost
    FROM bounds t LEFT JOIN said USING (start_id) LEFT JOIN called USING (start_id) LEFT JOIN used USING (start_id)
) t LEFT JOIN prompts p ON p.id = t.start_id LEFT JOIN records r ON r.id = t.start_id
    LEFT JOIN (SELECT session_id FROM sessions WHERE {NO_USAGE}) n ON n.session_id = t.session_id"""

_TURN_KIND = (
    "CASE coalesce(p.source, r.role) WHEN 'command' THEN 'command' WHEN 'bash' THEN 'bash'"
    " WHEN 'queued' THEN 'prompt' WHEN 'instruction' THEN 'prompt' WHEN 'prompt' THEN 'prompt' ELSE '' END"
)

TURNS = View(
    "turns",
    "One row per turn of each thread: what was typed, and everything up to the next one. Subagents' turns are rows of their own.",
    columns_of(
        *places("t", f"t.start_id & {OFFSET_MASK}"),
        (
            "end_offset",
            "integer",
            f"nullif(t.next_id & {OFFSET_MASK}, 0)",
            "where the next turn begins; null for the last",
        ),
        ("turn", "integer", "t.number", "1, 2, ... in the thread"),
        ("kind", "text", _TURN_KIND, "prompt, command, bash; empty where nobody asked"),
        ("text", "text", "p.text", "what was typed; null where it was not"),
        ("started_at", "time", "coalesce(min(p.ts, t.first_ts), p.ts, t.first_ts)", ""),
        ("last_at", "time", "coalesce(max(p.ts, t.last_ts), p.ts, t.last_ts)", "the last record of it"),
        (
            "duration_ms",
            "integer",
            f"(SELECT sum(d.ms) FROM turn_durations d WHERE d.id {_IN_TURN.format('d.id')})",
            "as the client states it; null where it does not",
        ),
        ("messages", "integer", "coalesce(t.messages, 0)", "API messages"),
        ("tool_calls", "integer", "coalesce(t.calls, 0)", ""),
        ("tool_errors", "integer", "coalesce(t.errors, 0)", ""),
        (
            "input_tokens",
            "integer",
            "iif(n.session_id IS NULL, coalesce(t.input, 0), NULL)",
            "of API messages that count here, without subagents; null if the client recorded no usage; like what follows",
        ),
        ("output_tokens", "integer", "iif(n.session_id IS NULL, coalesce(t.output, 0), NULL)", ""),
        ("cache_read_tokens", "integer", "iif(n.session_id IS NULL, coalesce(t.cache_read, 0), NULL)", ""),
        ("cache_write_tokens", "integer", "iif(n.session_id IS NULL, coalesce(t.cache_write, 0), NULL)", ""),
        (
            "cost_usd",
            "money",
            "CASE WHEN t.is_used IS NOT NULL THEN t.cost WHEN n.session_id IS NULL THEN '0' END",
            "null where nothing has a price, or no usage is recorded",
        ),
    ),
    _TURNS,
    example=(
        "Which prompts took the longest?",
        "SELECT duration_ms / 60000 AS minutes, tool_calls, text FROM turns WHERE kind = 'prompt' AND duration_ms IS NOT NULL ORDER BY duration_ms DESC LIMIT 10",
    ),
)

MESSAGES = View(
    "messages",
    "One row per record of a conversation: what was said, called, returned or reported.",
    scanned(
        *places("r", agent="coalesce(r.agent_id, t.agent_id)"),
        ("uuid", "text", "r.uuid", ""),
        ("parent_uuid", "text", "r.parent_uuid", "the message it follows"),
        ("at", "time", "r.ts", ""),
        ("kind", "text", "r.kind", "user, assistant, system, attachment, progress, ..."),
        ("subkind", "text", "r.sub", "of system, attachment and progress records"),
        ("role", "text", "r.role", "prompt, instruction, command, bash, result, reply, error, notification, ..."),
        ("message_key", "text", "m.key", "`usage.message_key`, of assistant records"),
        ("model", "text", "m.model", ""),
        ("bytes", "integer", "r.length", "of the line"),
        ("is_sidechain", "boolean", "r.sidechain", "a subagent's, inside the main file"),
        _COPY_OF_RECORD,
    ),
    f"{FROM_TRANSCRIPTS.format(table='records', x='r')} LEFT JOIN messages m ON m.id = r.message_id",
    example=(
        "Which kinds of records are there?",
        "SELECT kind, role, count(*) AS records, sum(bytes) AS bytes FROM messages WHERE NOT is_copy GROUP BY kind, role ORDER BY records DESC",
    ),
)

BLOCKS = View(
    "blocks",
    "One row per content block of a message, except where its content is a plain string.",
    scanned(
        *places("b", f"(b.id - b.n) & {OFFSET_MASK}", "coalesce(r.agent_id, t.agent_id)"),
        ("block", "integer", "b.n", "number in the line"),
        ("kind", "text", "b.kind", "text, thinking, tool_use, tool_result, image, ..."),
        ("tool_use_id", "text", "b.tool_use_id", ""),
        ("tool", "text", "b.tool", ""),
        ("is_error", "boolean", "b.is_error", ""),
        _COPY_OF_RECORD,
    ),
    f"{FROM_TRANSCRIPTS.format(table='blocks', x='b')} AND b.kind <> 'file_change' LEFT JOIN records r ON r.id = b.id - b.n",
    example=(
        "How many blocks of each kind?",
        "SELECT kind, count(*) AS blocks FROM blocks WHERE NOT is_copy GROUP BY kind ORDER BY blocks DESC",
    ),
)

_CALL = "LEFT JOIN blocks b ON b.id = c.id LEFT JOIN messages m ON m.id = c.message_id"
_COPIED_CALL = ("is_copy", "boolean", "c.id IN (SELECT id FROM copied_calls)", "another row is the same call")

TOOL_CALLS = View(
    "tool_calls",
    "One row per tool call, with its result where there is one.",
    scanned(
        *places("c", f"(c.id - coalesce(b.n, 0)) & {OFFSET_MASK}", AGENT_OF_CALL),
        ("block", "integer", "coalesce(b.n, 0)", "number in the line"),
        ("tool_use_id", "text", "c.tool_use_id", ""),
        ("tool", "text", "c.tool", ""),
        ("called_at", "time", "c.ts", ""),
        ("returned_at", "time", "c.result_ts", ""),
        (
            "result_offset",
            "integer",
            f"(c.result_id - (SELECT n FROM blocks WHERE id = c.result_id)) & {OFFSET_MASK}",
            "of the line with the result; null without a result",
        ),
        ("message_key", "text", "m.key", "`usage.message_key`"),
        ("model", "text", "coalesce(m.model, c.model)", "of the answer that made it"),
        (
            "path",
            "text",
            "c.path",
            "the file that it reads or changes; null where it changes several, see `file_changes`",
        ),
        ("is_error", "boolean", "c.is_error", ""),
        ("change", "text", "c.change", "create, update, edit, notebook: what it did to the file"),
        ("lines_added", "integer", "c.added", ""),
        ("lines_removed", "integer", "c.removed", ""),
        ("description", "text", "c.description", "of a subagent's task"),
        ("agent_type", "text", "c.agent_type", ""),
        _COPIED_CALL,
    ),
    f"{FROM_TRANSCRIPTS.format(table='tool_calls', x='c')} AND c.part = 0 {_CALL}",
    example=(
        "Which tools fail most often?",
        "SELECT tool, count(*) AS calls, sum(CASE WHEN is_error THEN 1 ELSE 0 END) AS failed FROM tool_calls WHERE NOT is_copy GROUP BY tool ORDER BY failed DESC LIMIT 10",
    ),
)

_OF_FILES = {"at": "c.ts", "block": "coalesce(b.n, 0) - c.part", "tool_use_id": "o.tool_use_id"}
FILE_CHANGES = View(
    "file_changes",
    "One row per tool call and file that it changed.",
    tuple(
        Column(
            name := "at" if column.name == "called_at" else column.name,
            column.type,
            _OF_FILES.get(name, column.sql),
            column.about,
        )
        for column in TOOL_CALLS.columns
        if column.name
        in "session_id agent_id transcript byte_offset block tool_use_id tool called_at path change lines_added lines_removed is_copy".split()
    ),
    f"{FROM_TRANSCRIPTS.format(table='tool_calls', x='c')} CROSS JOIN tool_calls o ON o.id = c.id - c.part {_CALL}"
    " WHERE c.change IS NOT NULL AND c.path IS NOT NULL",
    example=(
        "Which files were changed in the most sessions?",
        "SELECT path, count(DISTINCT session_id) AS sessions, sum(lines_added) AS added, sum(lines_removed) AS removed FROM file_changes WHERE NOT is_copy GROUP BY path ORDER BY sessions DESC LIMIT 10",
    ),
)

PROMPTS = View(
    "prompts",
    "Everything typed: prompts, queued prompts, slash commands, shell lines, and the lines of the client's history.",
    scanned(
        (
            "session_id",
            "text",
            "coalesce(nullif(t.session_id, ''), p.session_id)",
            "the session; null where it is unknown",
        ),
        *places("p")[1:],
        ("source", "text", "p.source", "prompt, queued, command, bash, history"),
        ("at", "time", "p.ts", ""),
        ("project", "text", "coalesce(s.project, p.project, '')", ""),
        ("text", "text", "p.text", ""),
        ("is_copy", "boolean", "p.id NOT IN (SELECT id FROM counted_prompts)", "another row is the same prompt"),
    ),
    f"{FROM_TRANSCRIPTS.format(table='prompts', x='p')}"
    " LEFT JOIN sessions s ON s.session_id = coalesce(nullif(t.session_id, ''), p.session_id)",
    example=(
        "Which prompts are typed again and again?",
        "SELECT text, count(*) AS times FROM prompts WHERE NOT is_copy AND source IN ('prompt', 'queued') GROUP BY text HAVING count(*) > 1 ORDER BY times DESC LIMIT 10",
    ),
)

# `charges` with more columns: joined with `usage`, each message would be looked up twice.
_CHARGED = (
    "FROM (SELECT u.key, u.record_id, u.ts, u.session_id, u.agent_id, u.branch, u.model, u.service_tier, u.speed, u.inference_geo, u.tool,"
    f" u.input, u.output, u.final_output, u.cache_read, {WRITTEN_5M} AS cache_write_5m, u.cache_write_1h, u.web_searches,"
    " u.recorded >= 0 AS has_recorded, max(u.recorded, 0) AS recorded, u.is_progress, r.id AS rate, r.priced_as"
    f" FROM usage u CROSS JOIN rates r ON {RATE_APPLIES}) u {_WITH_PRICES}u.rate LEFT JOIN sessions s ON s.session_id = u.session_id"
)

USAGE = View(
    "usage",
    "One row per API message, counted once over all transcripts, with its exact cost.",
    columns_of(
        ("message_key", "text", "u.key", ""),
        ("session_id", "text", "u.session_id", "the session that it counts for"),
        ("agent_id", "text", "u.agent_id", "the subagent; empty in the session's own thread"),
        ("transcript", "integer", f"u.record_id >> {OFFSET_BITS}", "`transcripts.transcript`"),
        ("byte_offset", "integer", f"u.record_id & {OFFSET_MASK}", "of its first line there"),
        ("at", "time", "nullif(u.ts, 0)", ""),
        ("project", "text", "coalesce(s.project, '')", ""),
        ("branch", "text", "u.branch", "git branch"),
        ("model", "text", "nullif(u.model, '')", "null where the client does not name it"),
        ("priced_as", "text", "u.priced_as", "the model in the price data; null where it has no price"),
        ("input_tokens", "integer", "u.input", ""),
        ("output_tokens", "integer", "u.output", ""),
        ("cache_read_tokens", "integer", "u.cache_read", ""),
        ("cache_write_5m_tokens", "integer", "u.cache_write_5m", ""),
        ("cache_write_1h_tokens", "integer", "u.cache_write_1h", ""),
        ("web_searches", "integer", "u.web_searches", ""),
        ("cost_usd", "money", _cost("u.", "u.rate"), "as `hansard usage` counts it; null if no price is known"),
        ("is_recorded", "boolean", "u.has_recorded", "the client wrote what it cost, and that is `cost_usd`"),
        ("is_lower_bound", "boolean", "u.final_output < u.output", "it has no final usage record"),
        ("is_progress_only", "boolean", "u.is_progress", "known from progress records of its parent only"),
        ("service_tier", "text", "u.service_tier", ""),
        ("speed", "text", "u.speed", ""),
        ("inference_geo", "text", "u.inference_geo", ""),
        ("tool", "text", "u.tool", "the first tool that it calls"),
    ),
    _CHARGED,
    example=(
        "What did each model cost?",
        "SELECT model, count(*) AS messages, sum(output_tokens) AS output_tokens, sum(cost_usd) AS cost_usd FROM usage GROUP BY model ORDER BY cost_usd DESC",
    ),
)

COMPACTIONS = View(
    "compactions",
    "Where a conversation was replaced by its summary.",
    scanned(
        *places("c"),
        ("at", "time", "c.ts", ""),
        ("trigger", "text", "c.trigger", "auto, manual"),
        ("tokens_before", "integer", "c.pre_tokens", ""),
        ("tokens_after", "integer", "c.post_tokens", ""),
    ),
    FROM_TRANSCRIPTS.format(table="compactions", x="c"),
    example=(
        "How full was the context when it was compacted?",
        'SELECT "trigger", count(*) AS compactions, avg(tokens_before) AS tokens_before FROM compactions GROUP BY "trigger"',
    ),
)

PERMISSIONS = View(
    "permissions",
    "What clients say about permissions: the mode where it changes, and who allowed or denied a call.",
    scanned(
        *places("p", f"(p.id - coalesce(b.n, 0)) & {OFFSET_MASK}"),
        ("at", "time", "p.ts", ""),
        ("kind", "text", "p.kind", "mode, allowed, denied"),
        ("mode", "text", "iif(p.kind = 'mode', p.value, NULL)", "ask, edits, plan, auto, deny, bypass"),
        (
            "decided_by",
            "text",
            "iif(p.kind = 'mode', NULL, p.value)",
            "user, rule, mode, hook, classifier, unanswered, interrupted, unknown",
        ),
        ("detail", "text", "p.detail", "the client's own words"),
        ("tool_use_id", "text", "b.tool_use_id", "the call that was decided about; null for a mode"),
        ("tool", "text", "b.tool", ""),
    ),
    FROM_TRANSCRIPTS.format(table="permissions", x="p") + " LEFT JOIN blocks b ON b.id = p.id AND p.kind <> 'mode'",
    example=(
        "Which tools were denied?",
        "SELECT tool, count(*) AS times FROM permissions WHERE kind = 'denied' GROUP BY tool ORDER BY times DESC",
    ),
)

ISSUES = View(
    "issues",
    "Lines that could not be read as they should; none is dropped.",
    scanned(
        *places("i"),
        ("bytes", "integer", "i.length", "up to the end of the last of them"),
        ("reason", "text", "i.reason", "not_json, torn, glued, wrong_type, invalid_utf8, odd_json, too_long, ..."),
        ("detail", "text", "i.detail", ""),
        ("count", "integer", "i.count", "consecutive lines with this issue"),
    ),
    FROM_TRANSCRIPTS.format(table="issues", x="i"),
    example=(
        "What could not be read?",
        'SELECT reason, sum("count") AS lines FROM issues GROUP BY reason ORDER BY lines DESC',
    ),
)

VIEWS: dict[str, View] = {
    view.name: view
    for view in (
        SESSIONS,
        TURNS,
        MESSAGES,
        BLOCKS,
        TOOL_CALLS,
        FILE_CHANGES,
        PROMPTS,
        USAGE,
        PROJECTS,
        LINKS,
        AGENTS,
        TRANSCRIPTS,
        COMPACTIONS,
        PERMISSIONS,
        ISSUES,
        REMARKS,
    )
}
