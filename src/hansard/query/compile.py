"""Compile queries to SQL: for each field by what `meanings` says that it means for the items listed.

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
from hansard.index.text_tags import tool_mark, tool_marks
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


TYPED_IN = f"CASE source WHEN 'history' THEN session_id ELSE (SELECT t.session_id FROM transcripts t WHERE t.id = prompts.id >> {OFFSET_BITS}) END"
SESSIONS = Target(("session",), "session_id IN ({})")
CALLS = Target(("call",), f"c.id >> {OFFSET_BITS} IN (SELECT t.id FROM transcripts t WHERE t.session_id IN ({{}}))")
USAGE = Target(("usage",), "session_id IN ({})")
COUNTED_CALLS = Target(("counted", "usage", "call"), "session_id IN ({})")
PROMPTS = Target(("prompt",), f"{TYPED_IN} IN ({{}})")


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
        from hansard.query.meanings import meaning_of  # made of what is defined here

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
            return joined([self._of(part) for part in node.nodes], " OR ")
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
        return joined(parts, " AND ")

    def _is_said(self, node: Node) -> bool:
        """Whether a node is only about a text's words and kind."""
        return not isinstance(node, Not) and all(
            isinstance(part, Word | Phrase | Near | And | Or | Not | Kind | Role) or self._is_of_prompt(part)
            for part in walk(node)
        )

    def _is_of_prompt(self, node: Node) -> bool:
        if self.target is not PROMPTS or isinstance(node, Everything | Word | Phrase | Near | And | Or | Not):
            return False
        meaning = self.meaning(node)
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


def joined(parts: list[Condition], word: str) -> Condition:
    sql = word.join(part.sql for part in parts)
    return Condition(f"({sql})", tuple(value for part in parts for value in part.values))


def in_project(reader: Reader, value: str) -> Condition:
    """Sessions of a project: by its path, also one before it was moved, part of it, or its folder's name."""
    here = follow_moves(value, read_moves(reader))
    return Condition("(project = ? OR project LIKE ? ESCAPE '\\' OR project_dir = ?)", (here, like(here), value))


def read_moves(reader: Reader) -> dict[str, str]:
    return reader.per_revision("moves", lambda one: dict(one.rows("SELECT path, target FROM moves")))


@lru_cache(maxsize=4096)
def is_marked(tool: str, wanted: str, prefix: int) -> bool:
    """Whether a search for a tool finds this one: by its name, or an MCP tool by its server or name."""
    words = tool_marks(tool).split()
    return any(word.startswith(wanted) if prefix else word == wanted for word in words)


def _holds_all(title: str, words: str) -> bool:
    plain = fold_text(title)
    return all(word in plain for word in words.split("\n"))


def touches(meets: str, *values: Any) -> Condition:
    """Calls of a file that meets a condition over `c`; those that change several files have a row for each of them."""
    several = f"c.id IN (SELECT c.id - c.part FROM tool_calls c WHERE c.part > 0 AND {meets})"
    return Condition(f"({meets} OR {several})", (*values, *values))


def key_of(node: Field) -> str:
    """The key of a field in `MEANINGS`."""
    return f"{node.name}:{node.value}" if isinstance(node, Is | Has) else node.name
