"""The public views with one row per session, and per what is known of one: its files, project, subagents, links and remarks."""

from __future__ import annotations

from hansard.index.schema import recorded, recorded_sum
from hansard.sql.view import View, columns_of
from hansard.storage import OFFSET_MASK

SESSIONS = View(
    "sessions",
    "One row per session, with the figures of `hansard sessions --json`.",
    columns_of(
        ("session_id", "text", "s.session_id", ""),
        ("client", "text", "s.client", "the product that wrote it: claude-code, ..."),
        ("project", "text", "s.project", "path of the project; worktrees count with their repository"),
        ("title", "text", "s.title", ""),
        ("title_source", "text", "s.title_source", "yours, custom, agent, ai, summary, prompt, command, none"),
        ("first_prompt", "text", "s.first_prompt", ""),
        ("started_at", "time", "s.started_at", ""),
        ("ended_at", "time", "s.ended_at", ""),
        ("prompts", "integer", "s.prompts", "typed, queued ones included"),
        ("commands", "integer", "s.commands", "slash commands"),
        (
            "messages",
            "integer",
            "s.messages",
            "answers of the model: `api_messages`, or more where not each of them states its usage",
        ),
        ("tool_calls", "integer", "s.tool_calls", ""),
        ("tool_errors", "integer", "s.tool_errors", ""),
        ("api_errors", "integer", "s.api_errors", ""),
        ("agents", "integer", "s.agents", "subagents"),
        ("compactions", "integer", "s.compactions", ""),
        ("hooks", "integer", "s.hooks", ""),
        ("images", "integer", "s.images", ""),
        ("files_changed", "integer", "s.files_changed", ""),
        ("lines_added", "integer", "s.lines_added", ""),
        ("lines_removed", "integer", "s.lines_removed", ""),
        ("models", "text", "s.models", "JSON list, the one with most answers in the conversation first"),
        (
            "input_tokens",
            "integer",
            recorded("s.input_tokens", "s."),
            "of messages that count for this session, like what follows; null if the client recorded no usage",
        ),
        ("output_tokens", "integer", recorded("s.output_tokens", "s."), ""),
        ("cache_read_tokens", "integer", recorded("s.cache_read_tokens", "s."), ""),
        ("cache_write_tokens", "integer", recorded("s.cache_write_tokens", "s."), ""),
        ("api_messages", "integer", "s.api_messages", "each counted once over all sessions"),
        ("lower_bound_messages", "integer", "s.lower_bound_messages", "of these, how many have no final usage record"),
        (
            "cost_usd",
            "money",
            "coalesce(c.cost_usd, iif(s.api_messages + s.messages = 0, '0', NULL))",
            "null where nothing has a price, or no usage is recorded",
        ),
        ("unpriced_models", "text", "coalesce(c.unpriced_models, '[]')", "JSON list; not in `cost_usd`"),
        ("transcript", "integer", "s.transcript", "its main transcript; null where only subagents or history are left"),
        ("source_state", "text", "s.source_state", "live, gone, freed, rewritten (the file has less of it now)"),
        ("root", "text", "s.root", "the source root"),
        ("cwd", "text", "s.cwd", "where it was started"),
        ("branch", "text", "s.branch", "the first git branch"),
        ("branches", "text", "s.branches", "JSON list"),
        ("version", "text", "s.version", "of the client, the last one"),
        ("versions", "text", "s.versions", "JSON list"),
        ("transcripts", "integer", "s.transcripts", "files, subagents included"),
        ("bytes", "integer", "s.bytes", ""),
        ("issues", "integer", "s.issues", "lines that could not be read as they should"),
        ("is_empty", "boolean", "s.debris", "nothing was said in it"),
        ("team", "text", "s.team", ""),
        ("pull_requests", "text", "s.pull_requests", "JSON list"),
        (
            "is_pinned",
            "boolean",
            "EXISTS (SELECT 1 FROM remarks WHERE session_id = s.session_id AND kind = 'pin' AND value = '')",
            "by you, like the tags and notes",
        ),
        (
            "tags",
            "text",
            "(SELECT json_group_array(value ORDER BY id) FROM remarks WHERE session_id = s.session_id AND kind = 'tag')",
            "JSON list",
        ),
        (
            "notes",
            "text",
            "(SELECT json_group_array(value ORDER BY id) FROM remarks WHERE session_id = s.session_id AND kind = 'note')",
            "JSON list",
        ),
        (
            "pinned_messages",
            "text",
            (
                "(SELECT json_group_array(value ORDER BY id) FROM remarks"
                " WHERE session_id = s.session_id AND kind = 'pin' AND value != '')"
            ),
            "JSON list of uuids",
        ),
    ),
    "FROM sessions s LEFT JOIN session_costs c ON c.session_id = s.session_id",
    example=(
        "Which sessions cost most?",
        "SELECT title, project, started_at, cost_usd FROM sessions ORDER BY cost_usd DESC LIMIT 10",
    ),
)

TRANSCRIPTS = View(
    "transcripts",
    "One row per generation of a log file: main transcripts, subagents, the history of prompts.",
    columns_of(
        ("transcript", "integer", "t.id", "what the other views call it"),
        ("session_id", "text", "t.session_id", "empty for the history of prompts"),
        ("agent_id", "text", "t.agent_id", "empty for main transcripts"),
        ("client", "text", "t.client", ""),
        ("root", "text", "t.root", "the source root"),
        ("path", "text", "t.path", "relative to it, with `/`"),
        ("kind", "text", "t.kind", "main, agent, journal, history, log"),
        ("generation", "integer", "t.generation", "1, 2, ... for the same path"),
        ("is_current", "boolean", "t.current", "the generation that is read"),
        ("state", "text", "t.state", "live, gone, freed; rewritten for all but the last generation"),
        ("bytes", "integer", "t.size", ""),
        ("lines", "integer", "t.lines", ""),
        ("records", "integer", "t.records", ""),
        ("issues", "integer", "t.issues", ""),
        ("first_at", "time", "t.first_ts", ""),
        ("last_at", "time", "t.last_ts", ""),
        ("version", "text", "t.version", "of the client that wrote last"),
    ),
    "FROM transcripts t",
    example=(
        "How large are the transcripts of each client?",
        "SELECT client, count(*) AS files, sum(lines) AS lines, sum(bytes) AS bytes FROM transcripts GROUP BY client ORDER BY bytes DESC",
    ),
)

PROJECTS = View(
    "projects",
    "One row per project that has sessions which are not empty, with what counts for all of its sessions.",
    columns_of(
        ("project", "text", "s.project", "path of the project; worktrees count with their repository"),
        ("sessions", "integer", "sum(s.debris = 0)", "those that are not empty"),
        ("first_at", "time", "min(s.started_at)", ""),
        ("last_at", "time", "max(s.ended_at)", ""),
        ("input_tokens", "integer", recorded_sum("s.input_tokens", "s."), ""),
        ("output_tokens", "integer", recorded_sum("s.output_tokens", "s."), ""),
        ("cache_read_tokens", "integer", recorded_sum("s.cache_read_tokens", "s."), ""),
        ("cache_write_tokens", "integer", recorded_sum("s.cache_write_tokens", "s."), ""),
        ("api_messages", "integer", "sum(s.api_messages)", ""),
        (
            "cost_usd",
            "money",
            "coalesce(decimal_sum(c.cost_usd), iif(sum(s.api_messages + s.messages) = 0, '0', NULL))",
            "null where nothing has a price, or no usage is recorded",
        ),
    ),
    "FROM sessions s LEFT JOIN session_costs c ON c.session_id = s.session_id GROUP BY s.project HAVING sum(s.debris = 0)",
    condition="project IN (SELECT project FROM sessions WHERE session_id IN (SELECT value FROM json_each(?1)))",
    example=(
        "Which projects were worked on last?",
        "SELECT project, sessions, last_at, cost_usd FROM projects ORDER BY last_at DESC LIMIT 10",
    ),
)

AGENTS = View(
    "agents",
    "One row per subagent.",
    columns_of(
        ("session_id", "text", "a.session_id", ""),
        ("agent_id", "text", "a.agent_id", ""),
        ("transcript", "integer", "a.transcript", "where its lines are"),
        ("byte_offset", "integer", f"coalesce(a.record_id & {OFFSET_MASK}, 0)", "of its first line there"),
        ("parent_agent", "text", "a.parent_agent", "the subagent that made it; null: the session's own thread"),
        ("tool_use_id", "text", "c.tool_use_id", "the call that made it"),
        ("depth", "integer", "a.depth", ""),
        ("agent_type", "text", "a.agent_type", ""),
        ("description", "text", "a.description", ""),
        ("linked_by", "text", "a.linked_by", "meta, result, progress, text, prompt, none"),
        ("is_warmup", "boolean", "a.warmup", ""),
        ("is_reconstructed", "boolean", "a.is_reconstructed", "read from progress records, its transcript being gone"),
        ("started_at", "time", "a.started_at", ""),
        ("ended_at", "time", "a.ended_at", ""),
        ("messages", "integer", "a.messages", "API messages"),
        ("tool_calls", "integer", "a.tool_calls", ""),
    ),
    "FROM agents a LEFT JOIN tool_calls c ON c.id = a.call_id",
    example=(
        "What are subagents used for?",
        "SELECT agent_type, count(*) AS agents, sum(messages) AS messages, sum(tool_calls) AS tool_calls FROM agents GROUP BY agent_type ORDER BY agents DESC",
    ),
)

LINKS = View(
    "links",
    "How sessions relate: fork, branch, clear, continued_in, context, replay, summary, resumed.",
    columns_of(
        ("source", "text", "l.source", "a session's id"),
        ("target", "text", "l.target", "a session's id, or a subagent's for replays"),
        ("relation", "text", "l.relation", ""),
    ),
    "FROM links l",
    condition="source IN (SELECT value FROM json_each(?1)) OR target IN (SELECT value FROM json_each(?1))",
    inside="source IN (SELECT value FROM json_each(?1)) AND target IN (SELECT value FROM json_each(?1))",
    example=(
        "Which sessions were forked most?",
        "SELECT source, count(*) AS forks FROM links WHERE relation = 'fork' GROUP BY source ORDER BY forks DESC LIMIT 10",
    ),
)

REMARKS = View(
    "remarks",
    "Your own pins, tags, titles and notes.",
    columns_of(
        ("session_id", "text", "r.session_id", ""),
        ("kind", "text", "r.kind", "pin, tag, title, note"),
        ("value", "text", "r.value", "as you typed it; empty for a pin"),
        ("set_at", "time", "r.set_at", ""),
    ),
    "FROM remarks r",
    example=(
        "Which tags are in use?",
        "SELECT value AS tag, count(*) AS sessions FROM remarks WHERE kind = 'tag' GROUP BY value ORDER BY sessions DESC",
    ),
)
