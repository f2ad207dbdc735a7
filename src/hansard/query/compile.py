"""Compile queries to SQL: one table defines what each field means for everything that can be listed.

A field applies to the item itself if the item has it (a text, a tool call, a message of the ledger, a prompt),
otherwise to its session. Words must occur together in one text of the session; for prompts, in the prompt itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from msgspec import Struct

from hansard.errors import NotFound
from hansard.index.schema import QUARTER, SNAPSHOT_TEXT
from hansard.index.text_tags import ASIDE, ERROR, IMAGE, kind_mark, tool_mark, tool_marks
from hansard.index.tokens import fold_text
from hansard.model.names import follow_moves, is_handle, shown_id
from hansard.query.language import (
    After,
    And,
    Before,
    Everything,
    Field,
    Folder,
    Has,
    Is,
    Kind,
    Near,
    Node,
    Not,
    On,
    Or,
    Phrase,
    Role,
    Since,
    Word,
    walk,
)
from hansard.query.reader import Reader, like
from hansard.query.sessions import COST, active_between, in_folder
from hansard.storage import OFFSET_BITS
from hansard.storage.sqlite import to_json

ALL_TOKENS = "input_tokens + output_tokens + cache_read_tokens + cache_write_tokens"
ROLES = {
    "prompt": "user",
    "command": "user",
    "reply": "assistant",
    "thinking": "assistant",
    "call": "assistant",
    "result": "tool",
    "title": "system",
    "note": "system",
}
"""The role that each kind of text belongs to."""

_SIGNS = frozenset({">", ">=", "<", "<=", "="})


class Condition(NamedTuple):
    """SQL and its bound values."""

    sql: str
    values: tuple[Any, ...] = ()

    def negated(self) -> Condition:
        """The negation; NULL does not match the condition, so it matches here."""
        return Condition(f"NOT coalesce({self.sql}, false)", self.values)


NOTHING = Condition("false")
Ask = Callable[["Compiler", Any], Condition]


class Meaning(Struct, frozen=True):
    """What one field means for each kind of item; None: the same as for its session."""

    session: Ask | None = None  # over `sessions`; None: some text must match
    session_ids: Ask | None = None  # a SELECT of ids, if a table other than `sessions` has them
    call: Ask | None = None  # over `tool_calls c`
    usage: Ask | None = None  # over the columns that `spending` and `charges` share
    counted: Ask | None = None  # over calls with the same columns, and their models where they have no rate
    prompt: Ask | None = None  # over `prompts`
    mark: Callable[[Any], str] | None = None  # a word of the full text, as an FTS5 expression
    text: Ask | None = None  # over the rows `text` of the full text
    transcript: Ask | None = None  # over `transcripts`: the text's own, or to rule some out early

    @property
    def is_of_texts(self) -> bool:
        return any((self.mark, self.text, self.transcript))


class Target(Struct, frozen=True):
    """What is listed: which meanings take precedence over those of sessions, and how a row maps to its session."""

    meanings: tuple[str, ...]
    within: str


_TYPED_IN = f"CASE source WHEN 'history' THEN session_id ELSE (SELECT t.session_id FROM transcripts t WHERE t.id = prompts.id >> {OFFSET_BITS}) END"
SESSIONS = Target(("session",), "session_id IN ({})")
CALLS = Target(("call",), f"c.id >> {OFFSET_BITS} IN (SELECT t.id FROM transcripts t WHERE t.session_id IN ({{}}))")
USAGE = Target(("usage",), "session_id IN ({})")
COUNTED_CALLS = Target(("counted", "usage", "call"), "session_id IN ({})")
PROMPTS = Target(("prompt",), f"{_TYPED_IN} IN ({{}})")


class Compiler:
    """Turns queries about one kind of item into SQL."""

    def __init__(self, reader: Reader, target: Target, folder: str | None = None) -> None:
        self.reader = reader
        self.target = target
        self.folder = folder  # everything must be inside it
        self.is_fine = False  # for the ledger: whether sums per quarter of an hour are too coarse

    def condition(self, node: Node | None) -> Condition | None:
        """The condition of a whole query; None if everything matches."""
        if node is None or isinstance(node, Everything):
            return None
        self.folder = folder_of(node.nodes if isinstance(node, And) else (node,))
        wanted: Node | None = node
        if any(isinstance(part, Word | Phrase | Near) for part in walk(node)):
            from hansard.query.search.plan import without_empty

            wanted = without_empty(node)
        return NOTHING if wanted is None else self._of(wanted)

    def meaning(self, node: Field) -> Meaning:
        """What a field means here."""
        return meaning_of(node)

    def session_ids(self, node: Field) -> Condition:
        """A SELECT of the ids of all sessions that match a field."""
        meaning = self.meaning(node)
        if meaning.session_ids is not None:
            return meaning.session_ids(self, node)
        if meaning.session is None:
            raise TypeError(node)
        asked = meaning.session(self, node)
        return Condition(f"SELECT session_id FROM sessions WHERE {asked.sql}", asked.values)

    def _of(self, node: Node) -> Condition:
        if isinstance(node, Everything):
            return Condition("true")
        if isinstance(node, And):
            return self._all(node.nodes)
        if isinstance(node, Not):
            return self._of(node.node).negated()
        if self._is_said(node):
            return self._said(node)
        if isinstance(node, Or):
            return _joined([self._of(part) for part in node.nodes], " OR ")
        if isinstance(node, Word | Phrase | Near):
            raise TypeError(node)
        meaning = self.meaning(node)
        for name in self.target.meanings:
            ask: Ask | None = getattr(meaning, name)
            if ask is not None:
                return ask(self, node)
        return self._within(self.session_ids(node))

    def _all(self, nodes: tuple[Node, ...]) -> Condition:
        """Required words must occur in one text, excluded ones in none; a session's bounds of time are one period."""
        if self.target is SESSIONS:
            nodes = _with_period(nodes)
        said = tuple(node for node in nodes if self._is_said(node))
        parts = [self._of(node) for node in nodes if not self._is_said(node)]
        if said:
            parts.insert(0, self._said(And(said) if len(said) > 1 else said[0]))
        return _joined(parts, " AND ")

    def _is_said(self, node: Node) -> bool:
        """Whether a node is only about a text's words and kind."""
        return not isinstance(node, Not) and all(
            isinstance(part, Word | Phrase | Near | And | Or | Not | Kind | Role) or self._is_of_prompt(part)
            for part in walk(node)
        )

    def _is_of_prompt(self, node: Node) -> bool:
        if self.target is not PROMPTS or isinstance(node, Everything | Word | Phrase | Near | And | Or | Not):
            return False
        meaning = meaning_of(node)
        return meaning.is_of_texts and meaning.prompt is None

    def _said(self, node: Node) -> Condition:
        if not self.reader.has_text:
            return NOTHING
        from hansard.query.search.candidates import Finder
        from hansard.query.search.plan import make_plan
        from hansard.query.search.vocabulary import IndexedWords

        if self.target is PROMPTS:
            from hansard.query.search.candidates import find_typed

            return Condition("id IN (SELECT value FROM json_each(?))", (to_json(find_typed(self.reader, node)),))
        found = Finder(self.reader, make_plan(self.reader, node, IndexedWords(self.reader))).transcripts()
        sessions = self.reader.rows(
            "SELECT session_id FROM transcripts WHERE id IN (SELECT value FROM json_each(?1))"
            f" UNION SELECT session_id FROM side_files WHERE id + {SNAPSHOT_TEXT} IN (SELECT value FROM json_each(?1))",
            (to_json(sorted(found)),),
        )
        ids = to_json(sorted(row[0] for row in sessions))
        return self._within(Condition("SELECT value FROM json_each(?)", (ids,)))

    def _within(self, ids: Condition) -> Condition:
        return Condition(self.target.within.format(ids.sql), ids.values)

    def time(self, sign: str, at: int) -> Condition:
        """A time bound over `spending` or `charges`; rows without a time match neither side."""
        column, value = ("first_ts", at) if at % QUARTER else ("quarter", at // QUARTER)
        self.is_fine |= column == "first_ts"
        if sign[0] == ">" and value > 0:
            return Condition(f"{column} {sign} ?", (value,))  # one bound: with two, SQLite would range over the other
        return Condition(f"({column} > 0 AND {column} {sign} ?)", (value,))

    def tool(self, column: str, node: Any) -> Condition:
        """A tool by its name, or an MCP tool by its server or name, as marked in the full text."""
        self.reader.teach("marked", is_marked)
        return Condition(f"marked({column}, ?, ?)", (tool_mark(node.value), node.prefix))

    def called(self, node: Any) -> Condition:
        """Calls of a tool; names are few, so they are matched once rather than per row."""
        mark, rows = tool_mark(node.value), self.reader.rows("SELECT DISTINCT tool FROM tool_calls")
        names = [name for (name,) in rows if is_marked(name, mark, node.prefix)]
        return Condition("c.tool IN (SELECT value FROM json_each(?))", (to_json(names),))

    def title(self, node: Any) -> Condition:
        """Sessions whose title has all these words, ignoring case and accents."""
        self.reader.teach("titled", _holds_all)
        return Condition("titled(title, ?)", ("\n".join(map(fold_text, node.value.split() or [node.value])),))

    def named_session(self, node: Any) -> Condition:
        """The session with that id, id prefix or handle, or `@last` of the query's folder."""
        if is_handle(node.value):
            self.reader.teach("shown_id", shown_id)
            return Condition("shown_id(session_id) = ?", (node.value,))
        if not node.value.startswith("@"):
            return Condition("session_id LIKE ? ESCAPE '\\'", (like(node.value)[1:],))
        from hansard.query.sessions import find_session

        try:
            return Condition("session_id = ?", (find_session(self.reader, node.value, self.folder).session_id,))
        except NotFound:
            return NOTHING


def _with_period(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Join a first and a last time: a session must have been active between them, not on both sides of them."""
    lows = [node for node in nodes if isinstance(node, Since | After)]
    highs = [node for node in nodes if isinstance(node, Before)]
    if not lows or not highs:
        return nodes
    others = (node for node in nodes if not isinstance(node, Since | After | Before))
    return (*others, On(max(node.at for node in lows), min(node.at for node in highs)))


def folder_of(nodes: Iterable[Node]) -> str | None:
    """The folder that a conjunction restricts a query to; an option's folder takes precedence over one in the text."""
    return next((node.value for node in reversed(tuple(nodes)) if isinstance(node, Folder)), None)


def _joined(parts: list[Condition], word: str) -> Condition:
    sql = word.join(part.sql for part in parts)
    return Condition(f"({sql})", tuple(value for part in parts for value in part.values))


def in_project(reader: Reader, value: str) -> Condition:
    """Sessions of a project: by its path, also one before it was moved, part of it, or its folder's name."""
    here = follow_moves(value, read_moves(reader))
    return Condition("(project = ? OR project LIKE ? ESCAPE '\\' OR project_dir = ?)", (here, like(here), value))


def read_moves(reader: Reader) -> dict[str, str]:
    return reader.per_revision("moves", lambda one: dict(one.rows("SELECT path, target FROM moves")))


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
        f"({_TYPED_IN} IN (SELECT session_id FROM sessions WHERE {inside.sql}) OR (({named.sql}) AND"
        f" coalesce({_TYPED_IN}, '') NOT IN (SELECT session_id FROM sessions WHERE project <> '')))",
        (*inside.values, *named.values),
    )


@lru_cache(maxsize=4096)
def is_marked(tool: str, wanted: str, prefix: int) -> bool:
    """Whether a search for a tool finds this one: by its name, or an MCP tool by its server or name."""
    words = tool_marks(tool).split()
    return any(word.startswith(wanted) if prefix else word == wanted for word in words)


def _holds_all(title: str, words: str) -> bool:
    plain = fold_text(title)
    return all(word in plain for word in words.split("\n"))


def _contains(column: str, pattern: str) -> Condition:
    return Condition(f"{column} LIKE ? ESCAPE '\\'", (pattern,))


def touches(meets: str, *values: Any) -> Condition:
    """Calls of a file that meets a condition over `c`; those that change several files have a row for each of them."""
    several = f"c.id IN (SELECT c.id - c.part FROM tool_calls c WHERE c.part > 0 AND {meets})"
    return Condition(f"({meets} OR {several})", (*values, *values))


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
    f" BETWEEN text.rowid >> {OFFSET_BITS} << {OFFSET_BITS} AND text.rowid) WHERE t.id = text.rowid >> {OFFSET_BITS}"
    " AND (coalesce(r.agent_id, t.agent_id) <> '' AND (coalesce(r.agent_id, t.agent_id) LIKE ? ESCAPE '\\' OR (t.session_id,"
    " coalesce(r.agent_id, t.agent_id)) IN (SELECT a.session_id, a.agent_id FROM agents a WHERE a.agent_type LIKE ? ESCAPE '\\'))"
    " OR r.sidechain = 1 AND coalesce(r.agent_id, t.agent_id) = '' AND EXISTS (SELECT 1 FROM agents a WHERE a.transcript = t.id"
    " AND a.record_id IS NOT NULL AND NOT a.is_reconstructed AND a.agent_type LIKE ? ESCAPE '\\')))"
)


def _agent_of_usage(_: Compiler, node: Any) -> Condition:
    return Condition(_AGENT.format(""), _agent_values(node))


# The time of a text: of its record, its prompt in history.jsonl, or its file; if all lack one, of its transcript.
_TIME = (
    f"CASE WHEN text.rowid >= {SNAPSHOT_TEXT}"
    f" THEN (SELECT mtime FROM side_files WHERE id = text.rowid - {SNAPSHOT_TEXT})"
    f" ELSE coalesce((SELECT ts FROM records WHERE id BETWEEN text.rowid >> {OFFSET_BITS} << {OFFSET_BITS} AND text.rowid ORDER BY id DESC LIMIT 1),"
    " (SELECT ts FROM prompts WHERE id = text.rowid),"
    f" (SELECT first_ts FROM transcripts WHERE id = text.rowid >> {OFFSET_BITS})) END"
)
# The tool call that a text belongs to, as its input or its result.
_CALL = (
    f"EXISTS (SELECT 1 FROM blocks b JOIN tool_calls c ON c.tool_use_id = b.tool_use_id AND c.id >> {OFFSET_BITS} = text.rowid >> {OFFSET_BITS}"
    " WHERE b.id = text.rowid AND {})"
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
        usage=lambda compiler, node: _joined([compiler.time(">=", node.first), compiler.time("<", node.last)], " AND "),
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
    "tokens": Meaning(session=_amount(ALL_TOKENS)),
}
"""The meaning of every field; `is:` and `has:` have one per value."""


def _fine(compiler: Compiler, condition: Condition) -> Condition:
    compiler.is_fine = True
    return condition


def key_of(node: Field) -> str:
    """The key of a field in `MEANINGS`."""
    return f"{node.name}:{node.value}" if isinstance(node, Is | Has) else node.name


def meaning_of(node: Field) -> Meaning:
    return MEANINGS[key_of(node)]
