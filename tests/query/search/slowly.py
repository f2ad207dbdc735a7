"""Search as it would be written if time were no matter: look at every text of every line and compare.

It shares with the product what a text and a token are (`TextFold`, `tokens`) and the parsed query, and nothing else.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from hansard.clients.claude_code.decode import items
from hansard.clients.claude_code.history import HistoryFold
from hansard.clients.claude_code.meaning import milliseconds, unwrapped
from hansard.clients.claude_code.texts import TextFold
from hansard.clients.lines import ParsedLine
from hansard.index.tokens import fold, tokens
from hansard.query import language as q
from hansard.query.search.spellings import COMMON, STOP_WORDS, inflections, is_part

if TYPE_CHECKING:
    from decimal import Decimal

    from hansard.engine import Hansard
    from hansard.model.sessions import Session

ROLE = {"reminder": "", "prompt": "user", "command": "user", "result": "tool", "title": "system", "note": "system"}


@dataclass
class Said:
    """One text of the history and all that a query may ask of it."""

    place: tuple[int, int]  # transcript, offset + number of the block
    tokens: list[str]
    kind: str
    tool: str
    is_error: bool
    has_image: bool
    is_aside: bool
    at: int | None
    session: Session | None
    agent_id: str
    agent_types: set[str]
    file: str | None
    has_diff: bool
    is_fork: bool = False
    remarks: tuple[tuple[str, str], ...] = ()  # kind and value


def everything(h: Hansard) -> list[Said]:
    """Every text, from the bytes in the record."""
    sessions = {session.session_id: session for session in h.sessions(limit=None, debris=True).sessions}
    calls: dict[Any, Any] = {
        (row[0], row[1]): row[2:]
        for row in h.reader.rows("SELECT id >> 40, tool_use_id, path, change IS NOT NULL FROM tool_calls")
    }
    types: dict[Any, set[str]] = {}
    for session_id, agent_id, agent_type, inside in h.reader.rows(
        "SELECT session_id, agent_id, agent_type, iif(record_id IS NULL OR is_reconstructed, NULL, transcript) FROM agents"
    ):
        types.setdefault((session_id, agent_id) if inside is None else inside, set()).add(agent_type)
    forks = {row[0] for row in h.reader.rows("SELECT target FROM links WHERE relation IN ('fork', 'branch')")}
    titled: dict[Any, Any] = {}
    for row in h.reader.rows(
        "SELECT s.id, t.session_id FROM summaries s JOIN records r ON r.uuid = s.leaf_uuid JOIN transcripts t ON t.id = r.id >> 40"
        " WHERE t.session_id <> '' ORDER BY t.current, r.ts DESC, t.path DESC"
    ):
        titled[row[0]] = row[1]
    remarks: dict[Any, tuple[tuple[str, str], ...]] = {}
    for remark in h.record.remarks():
        remarks[remark.session_id] = (*remarks.get(remark.session_id, ()), (remark.kind, remark.value))
    found: list[Said] = []
    for id_, kind, session_id, agent_id, first_ts in h.reader.rows(
        "SELECT id, kind, session_id, agent_id, first_ts FROM transcripts"
    ):
        if kind == "history":
            found += _typed(h, id_, sessions, remarks)
            continue
        if kind not in ("main", "agent", "log"):
            continue
        reading = TextFold(is_agent=kind == "agent")
        latest = None
        for record, made_by in _records(h, id_, agent_id, is_agent=kind == "agent"):
            body = record.body
            if getattr(body, "uuid", None) and record.kind != "summary":
                latest = milliseconds(getattr(body, "timestamp", None))
            aside = reading.is_aside(record)
            content = getattr(getattr(body, "message", None), "content", None)
            for text in reading.texts(record):
                owner = titled.get((id_ << 40) + record.offset, session_id) if text.kind == "title" else session_id
                file, has_diff = None, False
                if isinstance(content, list) and text.kind != "reminder":  # which is neither a call nor a result
                    block = content[text.number]
                    file, has_diff = calls.get((id_, block.id or block.tool_use_id), (None, False))
                found.append(
                    Said(
                        (id_, record.offset + text.number),
                        [token.text for token in tokens(text.text)],
                        text.kind,
                        text.tool,
                        text.is_error,
                        text.has_image,
                        aside,
                        latest if latest is not None else first_ts,
                        sessions.get(owner),
                        made_by,
                        types.get((session_id, made_by) if made_by else id_ if aside else None, set()),
                        file,
                        bool(has_diff),
                        owner in forks,
                        remarks.get(owner, ()),
                    )
                )
    return found


def _records(h: Hansard, transcript: int, agent_id: str, *, is_agent: bool) -> Iterator[tuple[ParsedLine, str]]:
    """The records of a transcript and whose they are; a progress record only where it repeats a line of a subagent."""
    offset = 0
    for line in b"".join(h.record.read(transcript)).split(b"\n"):
        for item in items(line, offset) if line.strip() else ():
            if isinstance(item, ParsedLine):
                record = item if is_agent else unwrapped(item)
                if record.kind != "progress":
                    yield record, agent_id if record is item else record.body.agent_id or ""
        offset += len(line) + 1


def _typed(
    h: Hansard, transcript: int, sessions: dict[str, Session], remarks: dict[Any, tuple[tuple[str, str], ...]]
) -> Iterator[Said]:
    kept = {row[0] for row in h.reader.rows("SELECT session_id FROM sessions WHERE transcript IS NOT NULL")}
    typed = list(h.reader.rows("SELECT ts, text FROM prompts WHERE source <> 'history' AND ts IS NOT NULL"))
    offset = 0
    for line in b"".join(h.record.read(transcript)).split(b"\n"):
        for item in HistoryFold.items(line, offset) if line.strip() else ():
            if isinstance(item, ParsedLine) and item.body.display and item.body.session_id not in kept:
                words = [token.text for token in tokens(item.body.display)]
                at = int(item.body.timestamp) if item.body.timestamp is not None else None
                session = sessions.get(item.body.session_id)
                if at is not None and any(
                    text.strip(" ") == item.body.display.strip(" ") and at - 5000 <= ts <= at + 60000
                    for ts, text in typed
                ):
                    continue
                yield Said(
                    (transcript, offset),
                    words,
                    "prompt",
                    "",
                    False,
                    False,
                    False,
                    at,
                    session,
                    "",
                    set(),
                    None,
                    False,
                    remarks=remarks.get(item.body.session_id, ()),
                )
        offset += len(line) + 1


def fits(node: q.Node, said: Said, often: Callable[[str], int], *, friendly: bool = True) -> bool:  # noqa: PLR0911, PLR0912 - one line per operator
    """Whether a text satisfies a single word or field; `often` tells in how many texts a token stands."""
    session = said.session
    match node:
        case q.Everything():
            return True
        case q.Word(text, prefix):
            return has_word(said.tokens, text, often, prefix=prefix, friendly=friendly)
        case q.Phrase(text, prefix):
            return bool(positions(said.tokens, spelled(text), prefix=prefix))
        case q.Near(words, distance):
            return near(said.tokens, [spelled(word) for word in words], distance)
        case q.Kind("error") | q.Is("error"):
            return said.is_error
        case q.Kind(value):
            return said.kind == value
        case q.Role(value):
            return ROLE.get(said.kind, "assistant") == value
        case q.Tool(value, prefix):
            return has_tool(said.tool, value, prefix=prefix)
        case q.Is("subagent"):
            return said.is_aside
        case q.Is("fork"):
            return said.is_fork
        case q.Is("pinned"):
            return ("pin", "") in said.remarks
        case q.Tag(value, prefix):
            tags = [bare(tag) for kind, tag in said.remarks if kind == "tag"]
            return any(tag.startswith(bare(value)) if prefix else tag == bare(value) for tag in tags)
        case q.Note(value):
            notes = [bare(note) for kind, note in said.remarks if kind == "note"]
            return any(all(bare(word) in note for word in value.split()) for note in notes)
        case q.Has("image"):
            return said.has_image
        case q.Has("pin"):
            return any(kind == "pin" and value for kind, value in said.remarks)
        case q.Has("diff"):
            return said.has_diff
        case q.File(value):
            return said.file is not None and value.lower() in said.file.lower()
        case q.Changed(value):
            return said.has_diff and said.file is not None and value.lower() in said.file.lower()
        case q.Since(at) | q.After(at):
            return said.at is not None and said.at >= at
        case q.Before(at):
            return said.at is not None and said.at < at
        case q.On(first, last):
            return said.at is not None and first <= said.at < last
        case q.InAgent(value):
            named = said.agent_id != "" and said.agent_id.lower().startswith(value.lower())
            return named or value.lower() in {name.lower() for name in said.agent_types}
    if session is None:
        return False
    match node:
        case q.Project(value):
            return value.lower() in session.project.lower() or value == session.project_dir
        case q.Folder(value):
            return session.project == value or session.project.startswith(value.rstrip("/") + "/")
        case q.PullRequest(value):
            return any(link.lower().endswith(value.lower()) for link in session.pull_requests)
        case q.Branch(value):
            return any(value.lower() in branch.lower() for branch in session.branches)
        case q.Model(value):
            return any(value.lower() in model.lower() for model in session.models)
        case q.Version(value):
            return any(version == value or version.startswith(value.rstrip(".") + ".") for version in session.versions)
        case q.Client(value):
            return session.client == value.lower()
        case q.Title(value):
            return all(fold(word) in fold(session.title) for word in value.split())
        case q.Is("live" | "gone" | "freed" as state):
            return session.source_state == state
        case q.InSession(value):
            return session.session_id.startswith(value)
        case q.Tokens(compare, amount):
            return session.tokens is not None and compares(session.tokens, compare, amount)
        case q.Cost(compare, amount):
            return session.cost_usd is not None and compares(session.cost_usd, compare, amount)
    raise NotImplementedError(node)


def bare(text: str) -> str:
    """Without case and accents."""
    return "".join(sign for sign in unicodedata.normalize("NFD", text.lower()) if not unicodedata.combining(sign))


def compares(one: Decimal | int, sign: str, other: Decimal | int) -> bool:
    signs = {">": one > other, ">=": one >= other, "<": one < other, "<=": one <= other}
    return signs.get(sign, one == other)


@cache
def spelled(text: str) -> list[str]:
    return [token.text for token in tokens(text)]


def positions(words: list[str], wanted: list[str], *, prefix: bool = False) -> list[int]:
    """Where these tokens stand in a row."""
    *body, last = wanted
    ends = [at for at, word in enumerate(words) if (word.startswith(last) if prefix else word == last)]
    return [at - len(body) for at in ends if at >= len(body) and words[at - len(body) : at] == body]


def has_word(words: list[str], text: str, often: Callable[[str], int], *, prefix: bool, friendly: bool) -> bool:
    """A bare word: as typed, in pieces that give the same letters, or in a simple form."""
    typed = spelled(text)
    if positions(words, typed, prefix=prefix):
        return True
    joined = "".join(typed)
    if not friendly or not joined.isascii():
        return False
    if prefix:
        pairs = pairwise(words)
        return len(typed) == 1 and any(
            len(one) >= 2
            and joined.startswith(one)
            and len(joined) - len(one) >= 3
            and two.startswith(joined[len(one) :])
            for one, two in pairs
        )
    if len(typed) > 4:
        return False
    if joined in STOP_WORDS:
        return joined in words
    if len(typed) == 1 and set(inflections(joined)) & set(words):
        return True
    if joined in words:
        return True
    if not 5 <= len(joined) <= 32:
        return False
    most = 2 if len(joined) < 7 or often(joined) >= COMMON else 4
    for start in (start for start, word in enumerate(words) if joined.startswith(word)):
        for size in range(2, most + 1):
            pieces = words[start : start + size]
            if "".join(pieces) == joined and all(
                (len(piece) >= 2 or piece.isdigit()) if size == 2 else is_part(piece) for piece in pieces
            ):
                return True
    return False


def near(words: list[str], rows: list[list[str]], distance: int) -> bool:
    """Each row somewhere, with at most so many tokens between the end of the first and the beginning of the last."""

    def reach(chosen: list[tuple[int, int]]) -> bool:
        return max(start for start, _ in chosen) - min(start + size for start, size in chosen) <= distance

    def choose(rest: list[list[str]], chosen: list[tuple[int, int]]) -> bool:
        if not rest:
            return reach(chosen)
        return any(choose(rest[1:], [*chosen, (place, len(rest[0]))]) for place in positions(words, rest[0]))

    return choose(rows, [])


def has_tool(tool: str, value: str, *, prefix: bool) -> bool:
    """A tool's whole name, or the server or the name of an MCP tool; only letters and digits count."""

    def letters(name: str) -> str:
        return re.sub(r"[^a-z0-9]", "", name.lower())

    names = [letters(tool)] + ([letters(part) for part in tool.split("__")[1:]] if tool.startswith("mcp__") else [])
    return tool != "" and any(name.startswith(letters(value)) if prefix else name == letters(value) for name in names)
