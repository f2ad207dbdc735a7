"""What the fields of a query ask of a session, as SQL over the `sessions` table."""

from __future__ import annotations

from typing import Any, NamedTuple

from hansard.errors import NotFound
from hansard.index.marks import marks, tool_mark
from hansard.index.tokens import fold_text
from hansard.parse.texts import Text
from hansard.query.costs import COST
from hansard.query.language import (
    After,
    Before,
    Branch,
    Cost,
    Field,
    File,
    Has,
    InAgent,
    InSession,
    Is,
    Model,
    Note,
    On,
    Project,
    Since,
    Tag,
    Title,
    Tokens,
    Tool,
    Version,
)
from hansard.query.reader import Reader, like

ALL_TOKENS = "input_tokens + output_tokens + cache_read_tokens + cache_write_tokens"
_SIGNS = frozenset({">", ">=", "<", "<=", "="})
_COUNTED = {
    "error": "tool_errors + api_errors",
    "subagent": "agents",
    "image": "images",
    "diff": "files_changed",
}
_CONTAINS = "EXISTS (SELECT 1 FROM json_each({}) WHERE value LIKE ? ESCAPE '\\')"


class Condition(NamedTuple):
    """SQL and the values in it."""

    sql: str
    values: tuple[Any, ...] = ()

    def negated(self) -> Condition:
        """The opposite; what is unknown does not fit, so it does here."""
        return Condition(f"NOT coalesce({self.sql}, 0)", self.values)


def of_session(reader: Reader, node: Field) -> Condition | None:
    """What a field asks of the session itself; None for a field that only a text can answer."""
    match node:
        case Project(value):
            return in_project(value)
        case Branch(value):
            return Condition(_CONTAINS.format("branches"), (like(value),))
        case Model(value):
            return Condition(_CONTAINS.format("models"), (like(value),))
        case Version(value):
            return Condition(
                "EXISTS (SELECT 1 FROM json_each(versions) WHERE value = ? OR value LIKE ? ESCAPE '\\')",
                (value, like(value.rstrip(".") + ".")[1:]),
            )
        case Title(value):
            return _titled(reader, value)
        case InSession(value):
            return _named(reader, value)
        case Tag() | Note() | Is("fork" | "pinned"):
            return _listed(node)
        case Tokens(compare, amount):
            return Condition(f"{ALL_TOKENS} {_sign(compare)} ?", (amount,))
        case Cost(compare, amount):
            return Condition(f"{COST} {_sign(compare)} ?", (float(amount),))
        case _:
            return None


def of_whole_session(reader: Reader, node: Field) -> Condition | None:
    """What a field asks of a session as a whole: that it used the tool, touched the file, was active at the time."""
    match node:
        case Tool(value, prefix):
            reader.teach("marked", is_marked)
            return Condition(
                "EXISTS (SELECT 1 FROM session_tools t WHERE t.session_id = sessions.session_id AND marked(t.tool, ?, ?))",
                (tool_mark(value), prefix),
            )
        case File(value):
            return touched(value)
        case InAgent(value):
            return Condition(
                "EXISTS (SELECT 1 FROM agents a WHERE a.session_id = sessions.session_id AND"
                " (a.agent_id LIKE ? ESCAPE '\\' OR a.agent_type LIKE ? ESCAPE '\\'))",
                (like(value)[1:], like(value)[1:-1]),
            )
        case Is(value) | Has(value) if value in _COUNTED:
            return Condition(f"{_COUNTED[value]} > 0")
        case Since(at) | After(at):
            return Condition("ended_at >= ?", (at,))
        case Before(at):
            return Condition("started_at < ?", (at,))
        case On(first, last):
            return Condition("started_at < ? AND ended_at >= ?", (last, first))
        case _:
            return of_session(reader, node)


def is_marked(tool: str, wanted: str, prefix: int) -> bool:
    """Whether a search for a tool would find this one: by its name, or by the server or the name of an MCP tool."""
    words = marks(Text(0, "call", "", tool), is_aside=False).split()
    return any(word.startswith(wanted) if prefix else word == wanted for word in words)


def in_project(value: str) -> Condition:
    """Sessions of a project: its path, a part of it, or the name of its folder."""
    return Condition("(project = ? OR project LIKE ? ESCAPE '\\' OR project_dir = ?)", (value, like(value), value))


def touched(value: str) -> Condition:
    """Sessions in which a tool read or changed a file."""
    return Condition(
        "session_id IN (SELECT f.session_id FROM session_files f WHERE f.path LIKE ? ESCAPE '\\')", (like(value),)
    )


def _listed(node: Tag | Note | Is) -> Condition:
    """Sessions that another table names: forks, and what the user marked."""
    if node == Is("fork"):
        return Condition("session_id IN (SELECT target FROM links WHERE relation IN ('fork', 'branch'))")
    asked = of_remarks(node)
    return Condition(f"session_id IN (SELECT session_id FROM remarks WHERE {asked.sql})", asked.values)


def of_remarks(node: Tag | Note | Is) -> Condition:
    """What a field asks of the user's remarks, over the `remarks` table."""
    match node:
        case Tag(value, prefix):
            begins = "instr(folded, ?) = 1" if prefix else "folded = ?"
            return Condition(f"kind = 'tag' AND {begins}", (fold_text(value),))
        case Note(value):
            words = [fold_text(word) for word in value.split()]
            return Condition("kind = 'note'" + " AND instr(folded, ?) > 0" * len(words), tuple(words))
        case _:
            return Condition("kind = 'pin'")


def _titled(reader: Reader, value: str) -> Condition:
    reader.teach("titled", _holds_all)
    return Condition("titled(title, ?)", ("\n".join(map(fold_text, value.split() or [value])),))


def _holds_all(title: str, words: str) -> bool:
    plain = fold_text(title)
    return all(word in plain for word in words.split("\n"))


def _named(reader: Reader, value: str) -> Condition:
    if value.startswith("@"):
        from hansard.query.sessions import find_session

        try:
            return Condition("session_id = ?", (find_session(reader, value).session_id,))
        except NotFound:
            return Condition("0")
    return Condition("session_id LIKE ? ESCAPE '\\'", (like(value)[1:],))


def _sign(compare: str) -> str:
    if compare not in _SIGNS:
        raise ValueError(compare)
    return compare
