"""A library of questions that `hansard sql` answers by name; each runs in both engines."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from hansard.errors import NotFound, UsageError

_SINCE = MappingProxyType({"since": "1970-01-01"})
_DAY = "substr(CAST(at AS VARCHAR), 1, 10)"


class NamedQuestion(NamedTuple):
    """A question with its SQL, and the parameters it takes with their defaults."""

    name: str
    title: str
    about: str
    sql: str
    parameters: Mapping[str, str | int] = MappingProxyType({})


QUESTIONS: dict[str, NamedQuestion] = {
    question.name: question
    for question in (
        NamedQuestion(
            "cost-by-day",
            "What did each day cost?",
            "Days in UTC; `hansard usage` reports them in your own time zone.",
            f"""SELECT {_DAY} AS day, count(*) AS messages, sum(output_tokens) AS output_tokens, sum(cost_usd) AS cost_usd
FROM usage
WHERE at >= $since
GROUP BY 1
ORDER BY 1""",
            _SINCE,
        ),
        NamedQuestion(
            "cost-by-model-and-month",
            "What did each model cost per month?",
            "One row per month and model, the most expensive first.",
            """SELECT substr(CAST(at AS VARCHAR), 1, 7) AS month, model, count(*) AS messages, sum(cost_usd) AS cost_usd
FROM usage
WHERE at >= $since
GROUP BY 1, 2
ORDER BY 1, 4 DESC""",
            _SINCE,
        ),
        NamedQuestion(
            "cost-by-project",
            "What did each project cost?",
            "With the share of all cost.",
            """SELECT project, count(*) AS messages, sum(cost_usd) AS cost_usd,
    round(100.0 * sum(cost_usd) / sum(sum(cost_usd)) OVER (), 1) AS percent
FROM usage
WHERE at >= $since
GROUP BY project
ORDER BY cost_usd DESC""",
            _SINCE,
        ),
        NamedQuestion(
            "cost-by-hour-of-day",
            "At which hours is most spent?",
            "Hours in UTC.",
            """SELECT substr(CAST(at AS VARCHAR), 12, 2) AS hour, count(*) AS messages, sum(cost_usd) AS cost_usd
FROM usage
WHERE at >= $since
GROUP BY 1
ORDER BY 1""",
            _SINCE,
        ),
        NamedQuestion(
            "subagent-share",
            "How much of the cost is subagents?",
            "Per project: messages of subagents and of the sessions' own threads.",
            """SELECT project, sum(cost_usd) AS cost_usd, sum(CASE WHEN agent_id <> '' THEN cost_usd END) AS subagents_usd,
    round(100.0 * sum(CASE WHEN agent_id <> '' THEN cost_usd ELSE 0 END) / sum(cost_usd), 1) AS percent
FROM usage
WHERE at >= $since
GROUP BY project
HAVING sum(cost_usd) > 0
ORDER BY subagents_usd DESC""",
            _SINCE,
        ),
        NamedQuestion(
            "cache-hit-rate",
            "How much of the input was read from the cache?",
            "Per model, in percent of all input tokens. A low rate is expensive.",
            """SELECT model, sum(input_tokens + cache_read_tokens + cache_write_5m_tokens + cache_write_1h_tokens) AS input_tokens,
    round(100.0 * sum(cache_read_tokens)
        / sum(input_tokens + cache_read_tokens + cache_write_5m_tokens + cache_write_1h_tokens), 1) AS percent_cached
FROM usage
WHERE at >= $since
GROUP BY model
HAVING sum(input_tokens + cache_read_tokens + cache_write_5m_tokens + cache_write_1h_tokens) > 0
ORDER BY input_tokens DESC""",
            _SINCE,
        ),
        NamedQuestion(
            "expensive-turns",
            "Which prompts were the most expensive?",
            "Without the subagents that a turn started.",
            """SELECT t.cost_usd, t.messages, t.tool_calls, s.project, t.started_at, substr(t.text, 1, 200) AS prompt
FROM turns t JOIN sessions s ON s.session_id = t.session_id
WHERE t.kind = 'prompt' AND t.started_at >= $since
ORDER BY t.cost_usd DESC, t.started_at, t.transcript, t.turn
LIMIT 25""",
            _SINCE,
        ),
        NamedQuestion(
            "costly-sessions-without-changes",
            "Which expensive sessions changed no file?",
            "Research, reviews, and work that was thrown away.",
            """SELECT session_id, project, title, started_at, cost_usd, prompts, tool_calls
FROM sessions
WHERE files_changed = 0 AND cost_usd > 0 AND started_at >= $since
ORDER BY cost_usd DESC, session_id
LIMIT 25""",
            _SINCE,
        ),
        NamedQuestion(
            "failing-tools",
            "Which tools fail most often?",
            "Calls, each counted once, and the share that returned an error.",
            """SELECT tool, count(*) AS calls, sum(CASE WHEN is_error THEN 1 ELSE 0 END) AS failed,
    round(100.0 * sum(CASE WHEN is_error THEN 1 ELSE 0 END) / count(*), 1) AS percent
FROM tool_calls
WHERE NOT is_copy AND called_at >= $since
GROUP BY tool
ORDER BY failed DESC, calls DESC""",
            _SINCE,
        ),
        NamedQuestion(
            "tools-by-model",
            "Which tools does each model call?",
            "Calls by the model of the message that made them.",
            """SELECT u.model, c.tool, count(*) AS calls
FROM tool_calls c JOIN usage u ON u.message_key = c.message_key
WHERE NOT c.is_copy AND c.called_at >= $since
GROUP BY u.model, c.tool
ORDER BY calls DESC""",
            _SINCE,
        ),
        NamedQuestion(
            "churned-files",
            "Which files are changed again and again?",
            "By the number of sessions that changed them.",
            """SELECT path, count(DISTINCT session_id) AS sessions, count(*) AS changes, sum(lines_added) AS added,
    sum(lines_removed) AS removed
FROM file_changes
WHERE NOT is_copy AND at >= $since
GROUP BY path
ORDER BY sessions DESC, changes DESC, path
LIMIT 50""",
            _SINCE,
        ),
        NamedQuestion(
            "lines-by-month",
            "How many lines were written per month?",
            "Lines that tool calls added to files and removed from them.",
            """SELECT substr(CAST(at AS VARCHAR), 1, 7) AS month, count(*) AS changes, sum(lines_added) AS added, sum(lines_removed) AS removed
FROM file_changes
WHERE NOT is_copy AND at >= $since
GROUP BY 1
ORDER BY 1""",
            _SINCE,
        ),
        NamedQuestion(
            "repeated-prompts",
            "What is typed again and again?",
            "Prompts that could become a slash command or a line in CLAUDE.md.",
            """SELECT substr(text, 1, 200) AS prompt, count(*) AS times, count(DISTINCT session_id) AS sessions
FROM prompts
WHERE NOT is_copy AND source IN ('prompt', 'queued') AND length(text) > 8 AND at >= $since
GROUP BY text
HAVING count(*) > 1
ORDER BY times DESC, prompt
LIMIT 50""",
            _SINCE,
        ),
        NamedQuestion(
            "long-turns",
            "Which turns took longest?",
            "Minutes as the client states them, where it does.",
            """SELECT round(t.duration_ms / 60000.0, 1) AS minutes, t.tool_calls, t.tool_errors, s.project, substr(t.text, 1, 200) AS prompt
FROM turns t JOIN sessions s ON s.session_id = t.session_id
WHERE t.duration_ms IS NOT NULL AND t.started_at >= $since
ORDER BY t.duration_ms DESC, t.started_at, t.transcript, t.turn
LIMIT 25""",
            _SINCE,
        ),
        NamedQuestion(
            "agents-by-type",
            "What are subagents used for?",
            "By type, with the messages and calls that they made.",
            """SELECT agent_type, count(*) AS agents, sum(messages) AS messages, sum(tool_calls) AS tool_calls
FROM agents
WHERE NOT is_warmup AND (started_at >= $since OR started_at IS NULL)
GROUP BY agent_type
ORDER BY messages DESC""",
            _SINCE,
        ),
        NamedQuestion(
            "compactions-by-project",
            "Where does the context fill up?",
            "Compactions per project, and how many tokens the context had before and after.",
            """SELECT s.project, c."trigger", count(*) AS compactions, round(avg(c.tokens_before)) AS tokens_before,
    round(avg(c.tokens_after)) AS tokens_after
FROM compactions c JOIN sessions s ON s.session_id = c.session_id
WHERE c.at >= $since
GROUP BY s.project, c."trigger"
ORDER BY compactions DESC""",
            _SINCE,
        ),
        NamedQuestion(
            "uncertain-cost",
            "What is missing from the cost?",
            "Messages without a price, and messages whose output is only a lower bound, per model.",
            """SELECT model, count(*) AS messages, sum(CASE WHEN cost_usd IS NULL THEN 1 ELSE 0 END) AS unpriced,
    sum(CASE WHEN is_lower_bound THEN 1 ELSE 0 END) AS lower_bounds
FROM usage
WHERE at >= $since
GROUP BY model
HAVING sum(CASE WHEN cost_usd IS NULL OR is_lower_bound THEN 1 ELSE 0 END) > 0
ORDER BY unpriced DESC, lower_bounds DESC""",
            _SINCE,
        ),
        NamedQuestion(
            "sessions-of-file",
            "Which sessions changed a file?",
            "By the end of its path: `-p path=/src/app.py`.",
            """SELECT f.at, f.change, f.lines_added, f.lines_removed, s.session_id, s.title
FROM file_changes f JOIN sessions s ON s.session_id = f.session_id
WHERE NOT f.is_copy AND substr(f.path, -length($path)) = $path
ORDER BY f.at DESC""",
            MappingProxyType({"path": "README.md"}),
        ),
    )
}


def find_question(name: str) -> NamedQuestion:
    """The question of this name, or the only one that begins so."""
    found = [question for key, question in QUESTIONS.items() if key == name or key.startswith(name)]
    if name in QUESTIONS:
        return QUESTIONS[name]
    if len(found) != 1:
        raise NotFound(f"no question is called {name!r}; `hansard sql --list` lists them")
    return found[0]


def fill_in(question: NamedQuestion, given: Mapping[str, str]) -> dict[str, str | int]:
    """All parameters of a question: those that are given, and the defaults of the others."""
    if unknown := sorted(set(given) - set(question.parameters)):
        known = ", ".join(question.parameters) or "none"
        raise UsageError(f"{question.name} has no parameter {unknown[0]!r}; its parameters: {known}")
    return {**question.parameters, **given}
