"""OpenCode's directory, and the lines that its rows are kept as."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from hansard.clients.database_client import DatabaseClient
from hansard.clients.generic import (
    CONVERSATION,
    IMAGE,
    NOTHING,
    TEXT,
    THINKING,
    Block,
    Record,
    Usage,
)
from hansard.clients.opencode.database import REVERT
from hansard.clients.opencode.session_messages import NOTES, SWITCHES, message_of, other_record
from hansard.clients.opencode.tools import TOOLS, call_blocks, tool_input
from hansard.clients.row_logs import text_of_cell
from hansard.clients.state import digest
from hansard.clients.values import string, table, unknown_kinds, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hansard.clients.opencode.statements import Statements
    from hansard.clients.row_logs import RowLog
    from hansard.clients.tools import ToolInput
    from hansard.sources.foreign import ForeignDatabase
    from hansard.sources.roots import Root

_TREE = "storage"
_MOST = 500  # messages that can be reverted to
_NO_TITLE = ("New session - ", "Child session - ")
# From this moment on, the tokens of reasoning are beside those of the output, not among them.
_REASONING_BESIDE = 1775260800000


_PARTS = frozenset(
    "text reasoning tool file step-start step-finish snapshot patch agent subtask retry compaction".split()
)


class Memory(Struct, gc=False, omit_defaults=True):
    """What a message means depends on its session."""

    began: int = 0
    last: str = ""  # the message before the next one
    before: dict[str, str] = {}  # what the last messages come after, by their ids
    reverted: str = ""  # the first message that was taken back
    undone: str = ""  # the last one of these


class OpenCode(DatabaseClient):
    """OpenCode 1.0 and 2.0."""

    name = "opencode"
    speaker = "OpenCode"
    memory = Memory
    known_kinds = SWITCHES | {"session", "todo", "update", "deleted"}
    database = "opencode.db"
    tables = ("session", "message", "part", "todo", "session_v2", "session_message")
    other_tables = (
        "account account_state control_account credential session_share session_input session_inbox session_pending"
        " session_context_epoch project project_directory workspace worktree permission event event_sequence kv migration"
        " data_migration instruction_blob instruction_entry instruction_state __drizzle_migrations"
    ).split()
    tools = TOOLS

    def default_roots(self, environ: Mapping[str, str], home: str) -> list[str]:
        data = environ.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
        path = os.path.join(data, "opencode")
        named = os.path.join(path, environ.get("OPENCODE_DB", ""))
        other = os.path.dirname(named) if environ.get("OPENCODE_DB") else ""
        return [place for place in dict.fromkeys((path, other)) if place and self.open_root(place) is not None]

    def open_root(self, path: str) -> Root | None:
        real = os.path.realpath(os.path.expanduser(path))
        try:
            names = os.listdir(real)
        except OSError:
            return None
        databases = [name for name in names if name == "opencode.db" or _is_channel(name)]
        files = sorted(databases, key=lambda name: (name != self.database, name))
        tree = [kind for kind in ("session", "message") if os.path.isdir(os.path.join(real, _TREE, kind))]
        if tree:
            # Once there is a database, the folder does not change any more but for what is deleted.
            files.append(f"{_TREE}/session" if databases and "session" in tree else _TREE)
        if not files:
            return None
        return self.root_of(real, self.layout_of(files))

    def database_rank(self, path: str) -> int:
        """The database counts before the folder that it was made from."""
        return int(path.startswith(_TREE))

    def row_logs(self, path: str, place: str, database: ForeignDatabase | None) -> Iterable[RowLog]:
        if database is None:
            from hansard.clients.opencode.tree import tree_logs

            folder = place if path == _TREE else os.path.dirname(place)
            return tree_logs(folder)
        from hansard.clients.opencode.database import database_logs

        return database_logs(database)

    def unread(self, database: ForeignDatabase) -> dict[str, int]:
        from hansard.clients.opencode.database import has_session_messages

        skipped = set() if has_session_messages(database) else {"session_v2", "session_message"}
        return database.count_rows({*self.tables, *self.other_tables} - skipped)

    def statement_reader(self) -> Statements:
        from hansard.clients.opencode.statements import Statements

        return Statements()

    def tool_input(self, tool: str, given: Any) -> ToolInput | None:
        return tool_input(tool, given)

    def decode(self, line: bytes) -> Iterator[Record]:
        return self.decode_next(line, Memory())

    def decode_next(self, line: bytes, memory: Memory) -> Iterator[Record]:
        said = msgspec.json.decode(line)
        if "id" not in said:
            yield _other(said, memory)
            return
        if "revert" in said:
            yield _revert(said, memory)
            return
        record, data = _message(said)
        if record.kind not in CONVERSATION:
            yield record
            return
        # A fork has all messages of the other session up to some place under new ids, with the times of the originals.
        record.is_copy = data["time"]["created"] < memory.began
        record.parent_uuid = memory.before[said["id"]] = memory.last
        if len(memory.before) > _MOST:
            del memory.before[next(iter(memory.before))]
        memory.last = record.uuid
        yield record


def _message(said: dict[str, Any]) -> tuple[Record, dict[str, Any]]:
    """A message with its parts, in rows of 1.0 or in one of 2.0."""
    if "session_message" in said:
        role, data, parts = message_of(said)
        if role not in ("user", "assistant", *NOTES):
            record = other_record(role, data)
            record.ts, record.uuid = data["time"]["created"], _uuid(data, [{"type": "text", "text": record.text}])
            return record, data
    else:
        data = text_of_cell(said["message"]["data"])
        parts = [text_of_cell(part["data"]) for part in said.get("part", ())]
        role = data["role"]
        if role not in ("user", "assistant"):
            return Record(str(role)), data
    record = _assistant(data, parts) if role == "assistant" else _user(data, parts)
    record.cwd = record.cwd or string(said, "directory")
    record.unknown = unknown_kinds(parts, _PARTS)
    return record, data


def _revert(said: dict[str, Any], memory: Memory) -> Record:
    """The messages from one on are taken back; they are deleted when the next prompt comes."""
    id_ = string(said["revert"], "messageID")
    memory.reverted, memory.undone = id_, memory.last
    memory.last = memory.before.get(id_, memory.last)
    words = "Reverted: what was said after this place was taken back"
    return Record("system", "rewind", uuid=f"{said['id']}", parent_uuid=memory.last, blocks=[Block(TEXT, words)])


def _deleted(id_: str, memory: Memory) -> Record:
    if id_ == memory.reverted:
        memory.reverted = ""
    if id_ == f"{REVERT}{memory.reverted}" and memory.last == memory.before.get(memory.reverted):
        memory.last, memory.reverted = memory.undone, ""
        words = "Restored: what was taken back"
        return Record("system", "note", uuid=f"un{id_}", parent_uuid=memory.last, blocks=[Block(TEXT, words)])
    return Record("deleted")


def _is_channel(name: str) -> bool:
    return name.startswith("opencode-") and name.endswith(".db")


def _other(said: dict[str, Any], memory: Memory) -> Record:
    row = said.get("session")
    if row is None:
        if "deleted" in said:
            return _deleted(str(said["deleted"]), memory)
        return Record("todo" if "todo" in said else "update")
    memory.began = whole(row, "time_created") or whole(table(text_of_cell(row.get("data")), "time"), "created")
    title = row.get("title") or ""
    record = Record("session", title="" if title.startswith(_NO_TITLE) else title)
    record.cwd = row.get("directory") or ""
    record.version = row.get("version") or ""
    if row.get("parent_id"):
        record.agent_type = row.get("agent") or ""
        record.description = record.title
    return record


def _uuid(data: dict[str, Any], parts: list[dict[str, Any]]) -> str:
    """An id that a message and its copy in a forked session have in common."""
    first = next((part for part in parts if part.get("type") in ("text", "reasoning", "tool")), {})
    said = first.get("text") or first.get("callID") or ""
    model = data.get("model") or {}
    models = (data.get(name) or model.get(name) for name in ("providerID", "modelID"))
    names = (data["role"], data["time"]["created"], *models, said)
    return f"opencode-{digest(repr(names))}"


def _common(kind: str, role: str, data: dict[str, Any], parts: list[dict[str, Any]]) -> Record:
    return Record(kind, role, ts=data["time"]["created"], uuid=_uuid(data, parts))


def _user(data: dict[str, Any], parts: list[dict[str, Any]]) -> Record:
    typed = [part for part in parts if part["type"] == "text" and not part.get("synthetic") and not part.get("ignored")]
    compaction = next((part for part in parts if part["type"] == "compaction"), None)
    if compaction is not None and not typed:
        record = _common("system", "compaction", data, parts)
        how = "automatically" if compaction.get("auto") else "on request"
        record.blocks = [Block(TEXT, f"Conversation compacted ({how})")]
        return record
    role = "prompt" if typed or any(part["type"] == "file" for part in parts) else "note"
    record = _common("user", role, data, parts)
    blocks = [_user_block(part, is_prompt=role == "prompt") for part in parts]
    record.blocks = [block for block in blocks if block is not None]
    record.model = (data.get("model") or {}).get("modelID") or ""
    return record


def _user_block(part: dict[str, Any], *, is_prompt: bool) -> Block | None:
    kind = part["type"]
    if kind == "text":
        is_typed = not part.get("synthetic") and not part.get("ignored")
        return Block(TEXT if is_typed or not is_prompt else NOTHING, part["text"])
    if kind == "file":
        head, _, encoded = str(part.get("url") or "").partition(";base64,")
        if head.startswith("data:image/") and encoded:
            return Block(IMAGE, encoded, media_type=head.removeprefix("data:"))
    if kind == "subtask":
        return Block(TEXT, part.get("prompt") or part.get("description") or "")
    return None


def _assistant(data: dict[str, Any], parts: list[dict[str, Any]]) -> Record:
    is_summary = data.get("summary") is True
    record = _common(*(("system", "summary") if is_summary else ("assistant", "reply")), data, parts)
    record.model = data.get("modelID") or ""
    record.cwd = (data.get("path") or {}).get("cwd") or ""
    for part in parts:
        kind = part["type"]
        if kind == "text":
            record.blocks.append(Block(TEXT if part["text"].strip() else NOTHING, part["text"]))
        elif kind == "reasoning":
            record.blocks.append(Block(THINKING, part["text"]))
        elif kind == "tool":
            record.blocks += call_blocks(part, f"{data['time']['created']}/{len(record.blocks)}/{part.get('callID')}")
    error = data.get("error")
    if error and not any(block.kind == TEXT for block in record.blocks):
        record.kind, record.role = ("system", "interruption") if "Abort" in error["name"] else ("assistant", "error")
        record.blocks.append(Block(TEXT, (error.get("data") or {}).get("message") or error["name"]))
    record.usage = message_usage(data)[0]
    return record


def message_usage(data: dict[str, Any]) -> tuple[Usage | None, int]:
    """What a message states, and how many tokens of its output are reasoning that is stated beside it."""
    tokens = data.get("tokens") or {}
    cache = tokens.get("cache") or {}
    plain, output, reasoning = (tokens.get(name) or 0 for name in ("input", "output", "reasoning"))
    read, write = cache.get("read") or 0, cache.get("write") or 0
    if not (plain or output or reasoning or read or write):
        return None, 0
    total = tokens.get("total")
    is_beside = (
        data["time"]["created"] >= _REASONING_BESIDE
        if total is None
        else total >= (plain + output + reasoning + read + write)
    )
    # A fork has the same message under another id. Parallel subagents may begin in one millisecond, but not with the same context.
    names = (data["time"]["created"], data.get("providerID"), data.get("modelID"), plain, read, write)
    beside = reasoning if is_beside else 0
    usage = Usage(
        digest(repr(names)),
        data.get("modelID") or "",
        plain,
        output + beside,
        read,
        write,
        cost=round(data["cost"] * 1e9) if data.get("cost") else -1,
        is_shared=True,
    )
    return usage, beside
