"""What each field of a query means in a team's database: the second target of `hansard.query.compile`.

The conditions are over the views, so row-level security applies. Values that SQL cannot compare as we do (titles without accents, lists) are few:
the distinct ones are read and compared here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hansard.errors import UsageError
from hansard.index.text_tags import tool_mark
from hansard.index.tokens import fold_text
from hansard.model.names import is_handle, shown_id
from hansard.query.compile import (
    ALL_TOKENS,
    Ask,
    Compiler,
    Condition,
    Meaning,
    is_marked,
    key_of,
)
from hansard.query.language import Field, Node
from hansard.query.meanings import MEANINGS
from hansard.query.reader import like
from hansard.query.sessions import in_folder
from hansard.storage.sqlite import from_json

if TYPE_CHECKING:
    from hansard.team.reader import TeamReader

TIME = "timestamptz '1970-01-01 00:00:00+00' + ? * interval '1 millisecond'"
"""A bound time in milliseconds."""


class TeamCompiler(Compiler):
    """Turns queries about sessions, messages of the ledger or texts into SQL for PostgreSQL."""

    reader: TeamReader

    def meaning(self, node: Field) -> Meaning:
        return TEAM_MEANINGS[key_of(node)]

    def _said(self, node: Node) -> Condition:
        """Sessions in one of whose texts the words occur together; only texts of opened projects are known."""
        from hansard.team.text_query import plan_texts

        found = [leg.source(None, None) for leg in plan_texts(self.reader, node).legs]
        ids = " UNION ".join(f"SELECT t.session_id {asked.sql}" for asked in found)
        return self._within(Condition(ids, tuple(value for asked in found for value in asked.values)))

    def distinct(self, column: str, source: str, is_wanted: Callable[[Any], bool]) -> list[Any]:
        """The values of a column that are wanted."""
        rows = self.reader.rows(f"SELECT DISTINCT {column} FROM {source}")
        return [value for (value,) in rows if value is not None and is_wanted(value)]

    def named_session(self, node: Any) -> Condition:
        if is_handle(node.value):
            found = self.distinct("session_id", "sessions", lambda name: shown_id(name) == node.value)
            return Condition("session_id = ANY (?)", (found,))
        if node.value.startswith("@"):
            raise UsageError(f"session:{node.value}: a team has no last session; give an id or the beginning of one")
        return Condition("session_id ILIKE ? ESCAPE '\\'", (like(node.value)[1:],))


def _of_values(column: str, wanted: Callable[[Any], Callable[[Any], bool]]) -> Ask:
    """Sessions by a column whose values are compared here; `wanted` makes the comparison of a field."""

    def ask(compiler: Any, node: Any) -> Condition:
        return Condition(f"{column} = ANY (?)", (compiler.distinct(column, "sessions", wanted(node)),))

    return ask


def _of_remarks(kind: str, wanted: Callable[[Any], Callable[[str], bool]]) -> Ask:
    def ask(compiler: Any, node: Any) -> Condition:
        values = compiler.distinct("value", f"remarks WHERE kind = '{kind}'", wanted(node))
        return Condition(f"SELECT session_id FROM remarks WHERE kind = '{kind}' AND value = ANY (?)", (values,))

    return ask


def _lower(text: str) -> str:
    """As LIKE of SQLite compares: without the case of ASCII letters."""
    return text.encode("utf-8", "replace").lower().decode()


def _lists(column: str) -> Ask:
    """Sessions with a list value that contains the given one."""
    return _of_values(
        column, lambda node: lambda found: any(_lower(node.value) in _lower(value) for value in from_json(found))
    )


def _ends(node: Any) -> Callable[[Any], bool]:
    end = _lower(node.value.rstrip("/"))
    return lambda found: any(_lower(value).endswith(end) for value in from_json(found))


def _version(node: Any) -> Callable[[Any], bool]:
    begins = _lower(node.value.rstrip(".") + ".")
    return lambda found: any(value == node.value or _lower(value).startswith(begins) for value in from_json(found))


def _title(node: Any) -> Callable[[Any], bool]:
    words = list(map(fold_text, node.value.split() or [node.value]))
    return lambda found: all(word in fold_text(found) for word in words)


def _tag(node: Any) -> Callable[[str], bool]:
    wanted = fold_text(node.value)
    return lambda found: fold_text(found).startswith(wanted) if node.prefix else fold_text(found) == wanted


def _note(node: Any) -> Callable[[str], bool]:
    words = list(map(fold_text, node.value.split()))
    return lambda found: all(word in fold_text(found) for word in words)


def _tools(column: str, source: str, sql: str) -> Ask:
    def ask(compiler: Any, node: Any) -> Condition:
        mark = tool_mark(node.value)
        compiler.is_fine = True
        names = compiler.distinct(column, source, lambda name: is_marked(name, mark, node.prefix))
        return Condition(sql, (names,))

    return ask


def _calls_of(node: Any, *, changed: bool = False) -> Condition:
    return Condition(f"path ILIKE ? ESCAPE '\\'{' AND change IS NOT NULL' * changed}", (like(node.value),))


def _files(*, changed: bool = False) -> Meaning:
    def sessions(_: Compiler, node: Any) -> Condition:
        calls = _calls_of(node, changed=changed)
        return Condition(f"SELECT session_id FROM pushed_tool_calls WHERE {calls.sql}", calls.values)

    return Meaning(session_ids=sessions, text=lambda _, node: _text_of(_calls_of(node, changed=changed)))


def _text_of(calls: Condition) -> Condition:
    """The inputs and results of some calls; without coalesce() the planner would join every call with every text."""
    return Condition(
        "coalesce((t.machine, t.transcript, t.tool_use_id) IN (SELECT machine, transcript, tool_use_id FROM pushed_tool_calls"
        f" WHERE tool_use_id IS NOT NULL AND {calls.sql}), false)",
        calls.values,
    )


def _compared(column: str) -> Ask:
    return lambda _, node: Condition(f"{column} {_SIGNS[node.compare]} ?", (node.amount,))


_SIGNS = {sign: sign for sign in (">", ">=", "<", "<=", "=")}


def _contains(column: str) -> Ask:
    return lambda _, node: Condition(f"{column} ILIKE ? ESCAPE '\\'", (like(node.value),))


def _always(sql: str) -> Ask:
    return lambda _, __: Condition(sql)


def _within(_: Compiler, node: Any) -> Condition:
    """Something was recorded in the time, as `active_between` says it for SQLite."""
    low, high = node.first, node.last
    recorded = f"session_id IN (SELECT x.session_id FROM pushed_messages x WHERE x.at >= {TIME} AND x.at < {TIME})"
    return Condition(
        f"(ended_at >= {TIME} AND started_at < {TIME} AND (started_at >= {TIME} OR ended_at < {TIME} OR {recorded}))",
        (low, high, low, high, low, high),
    )


def _bound(column: str, sign: str) -> Ask:
    return lambda _, node: Condition(f"{column} {sign} {TIME}", (node.at,))


def _said_on(_: Compiler, node: Any) -> Condition:
    return Condition(f"(t.at >= {TIME} AND t.at < {TIME})", (node.first, node.last))


def _agent(alias: str, prefix: str) -> Ask:
    sql = (
        f"({prefix}({alias}agent_id ILIKE ? ESCAPE '\\' OR ({alias}session_id, {alias}agent_id) IN"
        " (SELECT b.session_id, b.agent_id FROM agents b WHERE b.agent_type ILIKE ? ESCAPE '\\')))"
    )
    return lambda _, node: Condition(sql, (like(node.value)[1:], like(node.value)[1:-1]))


def _agent_of_session(_: Compiler, node: Any) -> Condition:
    return Condition(
        "SELECT session_id FROM agents WHERE agent_id ILIKE ? ESCAPE '\\' OR agent_type ILIKE ? ESCAPE '\\'",
        (like(node.value)[1:], like(node.value)[1:-1]),
    )


# A main transcript of the oldest clients may have subagents inside.
_TEXT_OF_AGENT = (
    "coalesce(t.agent_id <> '' AND (t.agent_id ILIKE ? ESCAPE '\\' OR (t.machine, t.session_id, t.agent_id) IN"
    " (SELECT b.machine, b.session_id, b.agent_id FROM pushed_agents b WHERE b.agent_type ILIKE ? ESCAPE '\\'))"
    " OR t.is_aside AND t.agent_id = '' AND (t.machine, t.transcript) IN"
    " (SELECT b.machine, b.transcript FROM pushed_agents b WHERE NOT b.is_reconstructed AND b.byte_offset > 0"
    " AND b.agent_type ILIKE ? ESCAPE '\\'), false)"
)


def _text_of_agent(_: Compiler, node: Any) -> Condition:
    return Condition(_TEXT_OF_AGENT, (like(node.value)[1:], like(node.value)[1:-1], like(node.value)[1:-1]))


def _ledger(name: str) -> Ask | None:
    """The meaning for messages of the ledger that both databases share."""
    return MEANINGS[name].usage


_MODEL = "rate IN (SELECT r.id FROM rates r WHERE r.model ILIKE ? ESCAPE '\\')"

TEAM_MEANINGS: dict[str, Meaning] = {
    "kind": MEANINGS["kind"],
    "role": MEANINGS["role"],
    "tool": Meaning(
        session_ids=_tools(
            "tool", "pushed_tool_calls", "SELECT session_id FROM pushed_tool_calls WHERE tool = ANY (?)"
        ),
        usage=_tools("tool", "charges", "tool = ANY (?)"),
        mark=MEANINGS["tool"].mark,
    ),
    "file": _files(),
    "changed": _files(changed=True),
    "title": Meaning(session=_of_values("title", _title)),
    "project": Meaning(session=_contains("project")),
    "folder": Meaning(session=lambda _, node: Condition(*in_folder(node.value))),
    "pr": Meaning(session=_of_values("pull_requests", _ends)),
    "branch": Meaning(session=_lists("branches"), usage=_contains("branch")),
    "session": Meaning(session=lambda compiler, node: compiler.named_session(node)),
    "agent": Meaning(session_ids=_agent_of_session, usage=_agent("", "agent_id <> '' AND "), text=_text_of_agent),
    "model": Meaning(session=_lists("models"), usage=lambda _, node: Condition(_MODEL, (like(node.value),))),
    "version": Meaning(session=_of_values("versions", _version)),
    "client": Meaning(session=MEANINGS["client"].session),
    "tag": Meaning(session_ids=_of_remarks("tag", _tag)),
    "note": Meaning(session_ids=_of_remarks("note", _note)),
    **{
        name: Meaning(session=_bound("ended_at", ">="), usage=_ledger(name), text=_bound("t.at", ">="))
        for name in ("since", "after")
    },
    **{
        name: Meaning(session=_bound("started_at", "<"), usage=_ledger(name), text=_bound("t.at", "<"))
        for name in ("before", "until")
    },
    **{name: Meaning(session=_within, usage=_ledger(name), text=_said_on) for name in ("on", "date")},
    "is:error": Meaning(session=MEANINGS["is:error"].session, mark=MEANINGS["is:error"].mark),
    "is:fork": Meaning(session_ids=MEANINGS["is:fork"].session_ids),
    "is:subagent": Meaning(
        session=MEANINGS["is:subagent"].session,
        usage=_ledger("is:subagent"),
        mark=MEANINGS["is:subagent"].mark,
    ),
    "is:pinned": Meaning(session=_always("is_pinned")),
    "is:live": Meaning(session=MEANINGS["is:live"].session),
    "is:gone": Meaning(session=MEANINGS["is:gone"].session),
    "is:freed": Meaning(session=MEANINGS["is:freed"].session),
    "has:image": Meaning(session=MEANINGS["has:image"].session, mark=MEANINGS["has:image"].mark),
    "has:diff": Meaning(
        session=MEANINGS["has:diff"].session, text=lambda _, __: _text_of(Condition("change IS NOT NULL"))
    ),
    "has:pin": Meaning(session_ids=MEANINGS["has:pin"].session_ids),
    "cost": Meaning(session=_compared("cost_usd")),
    "tokens": Meaning(session=_compared(f"({ALL_TOKENS})")),
}
"""The meaning of every field; many are those of the index, whose SQL both databases understand."""
