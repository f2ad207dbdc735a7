"""What each field of the query language means, in SQL, for everything that can be listed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hansard.index.schema import SNAPSHOT_TEXT, recorded
from hansard.index.text_tags import ASIDE, ERROR, IMAGE, kind_mark, tool_mark
from hansard.index.tokens import fold_text
from hansard.model.names import follow_moves
from hansard.query.compile import (
    ALL_TOKENS,
    ROLES,
    TYPED_IN,
    Ask,
    Compiler,
    Condition,
    Meaning,
    in_project,
    joined,
    key_of,
    read_moves,
    touches,
)
from hansard.query.language import Field
from hansard.query.reader import like
from hansard.query.sessions import COST, active_between, in_folder
from hansard.storage import OFFSET_BITS

_SIGNS = frozenset({">", ">=", "<", "<=", "="})


def is_said_in_project(compiler: Compiler, node: Any) -> Condition:
    """Prompts of a project's sessions, and lines of history.jsonl that name the project but no known session."""
    moves = read_moves(compiler.reader)
    inside, here = in_project(compiler.reader, node.value), follow_moves(node.value, moves)
    named = Condition("project LIKE ? ESCAPE '\\'", (like(here),))
    for old in moves:  # the lines name it as it was then
        below = f"(project = ? OR substr(project, 1, {len(old) + 1}) IN (?, ?))"
        moved = Condition(
            f"({below} AND ? || substr(project, {len(old) + 1}) LIKE ? ESCAPE '\\')",
            (old, f"{old}/", f"{old}\\", follow_moves(old, moves), like(here)),
        )
        named = Condition(f"{named.sql} OR {moved.sql}", (*named.values, *moved.values))
    return Condition(
        f"({TYPED_IN} IN (SELECT session_id FROM sessions WHERE {inside.sql}) OR (({named.sql}) AND"
        f" coalesce({TYPED_IN}, '') NOT IN (SELECT session_id FROM sessions WHERE project <> '')))",
        (*inside.values, *named.values),
    )


def _contains(column: str, pattern: str) -> Condition:
    return Condition(f"{column} LIKE ? ESCAPE '\\'", (pattern,))


def _text_of(files: Condition) -> Condition:
    """Texts of some calls."""
    return Condition(_CALL.format(files.sql), files.values)


def _has_path(node: Any) -> Condition:
    return touches("c.path LIKE ? ESCAPE '\\'", like(node.value))


def _changed_path(node: Any) -> Condition:
    return touches("c.change IS NOT NULL AND c.path LIKE ? ESCAPE '\\'", like(node.value))


def _lists(column: str) -> Ask:
    """Sessions with a list value that contains the given one."""
    sql = f"EXISTS (SELECT 1 FROM json_each({column}) WHERE value LIKE ? ESCAPE '\\')"
    return lambda _, node: Condition(sql, (like(node.value),))


def _version(_: Compiler, node: Any) -> Condition:
    return Condition(
        "EXISTS (SELECT 1 FROM json_each(versions) WHERE value = ? OR value LIKE ? ESCAPE '\\')",
        (node.value, like(node.value.rstrip(".") + ".")[1:]),
    )


def _amount(column: str) -> Ask:
    def ask(_: Compiler, node: Any) -> Condition:
        if node.compare not in _SIGNS:
            raise ValueError(node.compare)
        amount = node.amount if isinstance(node.amount, int) else float(node.amount)
        return Condition(f"{column} {node.compare} ?", (amount,))

    return ask


def _counted(columns: str) -> Ask:
    return lambda _, __: Condition(f"{columns} > 0")


# By the user's remarks; not via `sessions`, since only history.jsonl may know the session.
def _tag(_: Compiler, node: Any) -> Condition:
    begins = "instr(folded, ?) = 1" if node.prefix else "folded = ?"
    return Condition(f"SELECT session_id FROM remarks WHERE kind = 'tag' AND {begins}", (fold_text(node.value),))


def _note(_: Compiler, node: Any) -> Condition:
    words = tuple(map(fold_text, node.value.split()))
    holds = " AND instr(folded, ?) > 0" * len(words)
    return Condition(f"SELECT session_id FROM remarks WHERE kind = 'note'{holds}", words)


def _message(sql: str, other: str, values: Callable[[Any], tuple[Any, ...]] = lambda _: ()) -> Ask:
    """Calls by the message that made them, from the ledger; `other` is for those of clients that do not say which that was."""
    made = "EXISTS (SELECT 1 FROM messages m JOIN usage u ON u.key = m.key WHERE m.id = c.message_id AND {})"
    asked = f"iif(c.message_id IS NULL, {other}, {made.format(sql)})"
    return lambda _, node: Condition(asked, values(node) * 2)


def _in_transcript(sql: str) -> str:
    return f"EXISTS (SELECT 1 FROM transcripts t WHERE t.id = c.id >> {OFFSET_BITS} AND {sql})"


# By a subagent's id prefix, or by its type.
_AGENT = (
    "({0}agent_id <> '' AND ({0}agent_id LIKE ? ESCAPE '\\' OR ({0}session_id, {0}agent_id) IN"
    " (SELECT a.session_id, a.agent_id FROM agents a WHERE a.agent_type LIKE ? ESCAPE '\\')))"
)


def _agent_values(node: Any) -> tuple[str, str]:
    return like(node.value)[1:], like(node.value)[1:-1]


# A main transcript may have subagents inside: of progress records, which name them, or of the oldest clients.
_TEXT_OF_AGENT = (
    "EXISTS (SELECT 1 FROM transcripts t LEFT JOIN records r ON r.id = (SELECT max(id) FROM records WHERE id"
    f" BETWEEN place.id >> {OFFSET_BITS} << {OFFSET_BITS} AND place.id) WHERE t.id = place.id >> {OFFSET_BITS}"
    " AND (coalesce(r.agent_id, t.agent_id) <> '' AND (coalesce(r.agent_id, t.agent_id) LIKE ? ESCAPE '\\' OR (t.session_id,"
    " coalesce(r.agent_id, t.agent_id)) IN (SELECT a.session_id, a.agent_id FROM agents a WHERE a.agent_type LIKE ? ESCAPE '\\'))"
    " OR r.sidechain = 1 AND coalesce(r.agent_id, t.agent_id) = '' AND EXISTS (SELECT 1 FROM agents a WHERE a.transcript = t.id"
    " AND a.record_id IS NOT NULL AND NOT a.is_reconstructed AND a.agent_type LIKE ? ESCAPE '\\')))"
)


def _agent_of_usage(_: Compiler, node: Any) -> Condition:
    return Condition(_AGENT.format(""), _agent_values(node))


# The time of a text: of its record, its prompt in history.jsonl, or its file; if all lack one, of its transcript.
_TIME = (
    f"CASE WHEN place.id >= {SNAPSHOT_TEXT}"
    f" THEN (SELECT mtime FROM side_files WHERE id = place.id - {SNAPSHOT_TEXT})"
    f" ELSE coalesce((SELECT ts FROM records WHERE id BETWEEN place.id >> {OFFSET_BITS} << {OFFSET_BITS} AND place.id ORDER BY id DESC LIMIT 1),"
    " (SELECT ts FROM prompts WHERE id = place.id),"
    f" (SELECT first_ts FROM transcripts WHERE id = place.id >> {OFFSET_BITS})) END"
)
# The tool call that a text belongs to, as its input or its result.
_CALL = (
    f"EXISTS (SELECT 1 FROM blocks b JOIN tool_calls c ON c.tool_use_id = b.tool_use_id AND c.id >> {OFFSET_BITS} = place.id >> {OFFSET_BITS}"
    " WHERE b.id = place.id AND {})"
)


def _bound(sign: str, sessions: str, transcripts: str) -> Meaning:
    """Before or after a time."""

    def ask(column: str) -> Ask:
        return lambda _, node: Condition(f"{column} {sign} ?", (node.at,))

    return Meaning(
        session=ask(sessions),
        call=ask("c.ts"),
        usage=lambda compiler, node: compiler.time(sign, node.at),
        prompt=ask("ts"),
        text=ask(_TIME),
        transcript=lambda _, node: Condition(f"({transcripts} {sign} ? OR kind = 'history')", (node.at,)),
    )


def _within_day() -> Meaning:
    def ask(column: str) -> Ask:
        return lambda _, node: Condition(f"{column} BETWEEN ? AND ?", (node.first, node.last - 1))

    def overlap(sql: str) -> Ask:
        return lambda _, node: Condition(sql, (node.last, node.first))

    return Meaning(
        session=lambda _, node: Condition(*active_between(node.first, node.last)),
        call=ask("c.ts"),
        usage=lambda compiler, node: joined([compiler.time(">=", node.first), compiler.time("<", node.last)], " AND "),
        prompt=ask("ts"),
        text=ask(_TIME),
        transcript=overlap("(first_ts < ? AND last_ts >= ? OR kind = 'history')"),
    )


def _role_marks(node: Any) -> str:
    return " OR ".join(f'"{kind_mark(kind)}"' for kind, role in ROLES.items() if role == node.value)


_SINCE = _bound(">=", "ended_at", "last_ts")
_BEFORE = _bound("<", "started_at", "first_ts")
_WITHIN = _within_day()
_OF_MODEL = "rate IN (SELECT r.id FROM rates r WHERE r.model LIKE ? ESCAPE '\\')"

MEANINGS: dict[str, Meaning] = {
    "kind": Meaning(mark=lambda node: f'mark : "{ERROR if node.value == "error" else kind_mark(node.value)}"'),
    "role": Meaning(mark=lambda node: f"mark : ({_role_marks(node)})"),
    "tool": Meaning(
        session=lambda compiler, node: Condition(
            "EXISTS (SELECT 1 FROM session_tools t WHERE t.session_id = sessions.session_id AND {})".format(
                (asked := compiler.tool("t.tool", node)).sql
            ),
            asked.values,
        ),
        call=lambda compiler, node: compiler.called(node),
        usage=lambda compiler, node: _fine(compiler, compiler.tool("tool", node)),
        mark=lambda node: f'mark : "{tool_mark(node.value)}"' + " *" * node.prefix,
    ),
    "file": Meaning(
        session=lambda _, node: Condition(
            "session_id IN (SELECT f.session_id FROM session_files f WHERE f.path LIKE ? ESCAPE '\\')",
            (like(node.value),),
        ),
        call=lambda _, node: _has_path(node),
        text=lambda _, node: _text_of(_has_path(node)),
    ),
    "changed": Meaning(
        session=lambda _, node: Condition(
            "session_id IN (SELECT f.session_id FROM session_files f WHERE f.changes > 0 AND f.path LIKE ? ESCAPE '\\')",
            (like(node.value),),
        ),
        call=lambda _, node: _changed_path(node),
        text=lambda _, node: _text_of(_changed_path(node)),
    ),
    "title": Meaning(session=Compiler.title),
    "project": Meaning(
        session=lambda compiler, node: in_project(compiler.reader, node.value), prompt=is_said_in_project
    ),
    "folder": Meaning(session=lambda _, node: Condition(*in_folder(node.value))),
    "pr": Meaning(
        session=lambda _, node: Condition(
            "EXISTS (SELECT 1 FROM json_each(pull_requests) WHERE value LIKE ? ESCAPE '\\')",
            (like(node.value.rstrip("/"))[:-1],),
        )
    ),
    "branch": Meaning(
        session=_lists("branches"),
        call=_message(
            "u.branch LIKE ? ESCAPE '\\'",
            _in_transcript(
                "EXISTS (SELECT 1 FROM sessions s WHERE s.session_id = t.session_id AND s.branch LIKE ? ESCAPE '\\')"
            ),
            lambda node: (like(node.value),),
        ),
        usage=lambda _, node: _contains("branch", like(node.value)),
    ),
    "session": Meaning(session=Compiler.named_session),
    "agent": Meaning(
        session=lambda _, node: Condition(
            "EXISTS (SELECT 1 FROM agents a WHERE a.session_id = sessions.session_id AND"
            " (a.agent_id LIKE ? ESCAPE '\\' OR a.agent_type LIKE ? ESCAPE '\\'))",
            (like(node.value)[1:], like(node.value)[1:-1]),
        ),
        call=_message(_AGENT.format("u."), _in_transcript(_AGENT.format("t.")), _agent_values),
        usage=_agent_of_usage,
        text=lambda _, node: Condition(
            _TEXT_OF_AGENT, (like(node.value)[1:], like(node.value)[1:-1], like(node.value)[1:-1])
        ),
        transcript=lambda _, node: Condition(
            "(agent_id <> '' AND agent_id LIKE ? ESCAPE '\\' OR session_id IN (SELECT a.session_id FROM agents a"
            " WHERE a.agent_id LIKE ? ESCAPE '\\' OR a.agent_type LIKE ? ESCAPE '\\'))",
            (like(node.value)[1:], like(node.value)[1:], like(node.value)[1:-1]),
        ),
    ),
    "model": Meaning(
        session=_lists("models"),
        call=_message("u.model LIKE ? ESCAPE '\\'", "c.model LIKE ? ESCAPE '\\'", lambda node: (like(node.value),)),
        usage=lambda _, node: Condition(_OF_MODEL, (like(node.value),)),
        counted=lambda _, node: Condition(f"({_OF_MODEL} OR model LIKE ? ESCAPE '\\')", (like(node.value),) * 2),
    ),
    "version": Meaning(session=_version),
    "client": Meaning(session=lambda _, node: Condition("client = ?", (node.value.lower(),))),
    "tag": Meaning(session_ids=_tag),
    "note": Meaning(session_ids=_note),
    "since": _SINCE,
    "after": _SINCE,
    "before": _BEFORE,
    "until": _BEFORE,
    "on": _WITHIN,
    "date": _WITHIN,
    "is:error": Meaning(
        session=_counted("tool_errors + api_errors"),
        call=lambda _, __: Condition("c.is_error = 1"),
        mark=lambda _: f'mark : "{ERROR}"',
    ),
    "is:fork": Meaning(
        session_ids=lambda _, __: Condition("SELECT target FROM links WHERE relation IN ('fork', 'branch')")
    ),
    "is:subagent": Meaning(
        session=_counted("agents"),
        call=_message("u.agent_id <> ''", _in_transcript("t.agent_id <> ''")),
        usage=lambda _, __: Condition("agent_id <> ''"),
        mark=lambda _: f'mark : "{ASIDE}"',
    ),
    "is:pinned": Meaning(
        session_ids=lambda _, __: Condition("SELECT session_id FROM remarks WHERE kind = 'pin' AND value = ''")
    ),
    "is:live": Meaning(session=lambda _, __: Condition("source_state = 'live'")),
    "is:gone": Meaning(session=lambda _, __: Condition("source_state = 'gone'")),
    "is:freed": Meaning(session=lambda _, __: Condition("source_state = 'freed'")),
    "has:image": Meaning(session=_counted("images"), mark=lambda _: f'mark : "{IMAGE}"'),
    "has:diff": Meaning(
        session=_counted("files_changed"),
        call=lambda _, __: Condition("c.change IS NOT NULL"),
        text=lambda _, __: Condition(_CALL.format("c.change IS NOT NULL")),
    ),
    "has:pin": Meaning(
        session_ids=lambda _, __: Condition("SELECT session_id FROM remarks WHERE kind = 'pin' AND value <> ''")
    ),
    "cost": Meaning(session=_amount(COST)),
    "tokens": Meaning(session=_amount(recorded(ALL_TOKENS))),
}
"""The meaning of every field; `is:` and `has:` have one per value."""


def _fine(compiler: Compiler, condition: Condition) -> Condition:
    compiler.is_fine = True
    return condition


def meaning_of(node: Field) -> Meaning:
    """What a field means."""
    return MEANINGS[key_of(node)]
