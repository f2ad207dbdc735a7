"""A client with one method of its own: `decode` turns its lines into `Record`s, and the rest of the protocol is derived from these.

Where a line means something only after the lines before it, the client has a `memory` and `decode_next` in place of `decode`.
"""

from __future__ import annotations

import json
import os
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from hansard.clients import BUILT_IN
from hansard.clients.entries import (
    Change,
    Content,
    Hunk,
    Replacement,
)
from hansard.clients.lines import Issue, Lines, ParsedLine, fit, length_of
from hansard.clients.protocol import NEVER_DELETED, ListedSession, PathInfo, SideContent
from hansard.clients.state import NAME_LENGTH
from hansard.clients.tools import ToolUse
from hansard.clients.usage import Answer, Stated, dated, token_count
from hansard.model.tools import mcp_parts
from hansard.sources.roots import Root

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hansard.clients.generic_fold import GenericEntries, GenericFold, GenericTexts
    from hansard.clients.protocol import Running, SeenMessage
    from hansard.clients.state import State
    from hansard.clients.texts import RecordTexts
    from hansard.clients.tools import ToolInput
    from hansard.model.permissions import PermissionFact
    from hansard.model.tools import ToolKind
    from hansard.sources.roots import Layout

TEXT, THINKING, CALL, RESULT, IMAGE = "text", "thinking", "tool_use", "tool_result", "image"
FILE = "file_change"
"""The kind of the blocks after a call that changes several files: one for each of them."""
PROMPT_KINDS = {"prompt": "prompt", "command": "command", "bash": "command"}
NOTHING = ""
"""The kind of a block that an earlier line had already: it is passed over, and the blocks after it keep their numbers."""
_MOST_TIME = 1 << 53
CONVERSATION = frozenset({"user", "assistant", "system"})


class Block(Struct, gc=False):
    """A part of a record; `kind` is one of TEXT, THINKING, CALL, FILE, RESULT, IMAGE and NOTHING."""

    kind: str
    text: str = ""  # what was said, thought or printed; of an image its data in Base64
    call_id: str = ""  # of calls and results
    tool: str = ""  # of calls
    input: Any = None
    command: str | None = None  # that a call gives to a shell
    path: str = ""  # the file that a call reads or changes, if it is one
    change: str = ""  # create, update or edit: what a call does to that file
    changes: list[Change] = []  # what it writes there, as far as it says
    is_error: bool = False
    denied_by: str = ""  # of results: who refused the call, one of `model.permissions.DECIDERS`
    media_type: str = ""  # of images
    is_reply: bool = False  # a text of the model in a user's record, where one record is a prompt with its answer
    patch: str = ""  # of results: the unified diff of what was written
    written: list[Change] | None = None  # of results: what was written, where it is not what the call says
    agent_id: str = ""  # of results: the subagent that the call started
    description: str = ""  # of calls that start a subagent: its task
    task: str = ""  # the same: what its transcript begins with, where nothing else links the two
    agent_type: str = ""
    ts: int | None = None  # of a call and its result in one record: milliseconds; 0: unknown


def with_files(call: Block, files: Sequence[tuple[str, str, list[Change]]]) -> list[Block]:
    """A call with the files that it changes: the path of each, `Block.change` and `Block.changes`."""
    if len(files) == 1:
        ((call.path, call.change, call.changes),) = files
        return [call]
    return [
        call,
        *(
            Block(FILE, call_id=f"{call.call_id}#{number}", tool=call.tool, path=path, change=change, changes=changes)
            for number, (path, change, changes) in enumerate(files, 1)
        ),
    ]


class Usage(Struct, gc=False):
    """The tokens of one answer; `message_id` is the same in all records about it, and unique in the session.

    With `is_shared` it is unique among all sessions of the client, and the same in copies that forks have: then a copy states its
    usage too, and counts where the original is gone.
    """

    message_id: str
    model: str = ""
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    is_final: bool = True  # False: the numbers may still grow
    tool: str = ""  # the first tool that the answer calls, where the record has no call
    cost: int = -1  # what the client says that it cost, in billionths of a dollar; -1: it does not say
    is_shared: bool = False


class Record(Struct, gc=False):
    """A record in neutral terms.

    `kind` is user, assistant or system for what belongs to the conversation; anything else is only counted. `role` says what
    a user or system record is: prompt (typed by a person), instruction (given to a subagent), command, bash, note, error,
    compaction, summary, notification, interruption, rewind (the turns after its parent were taken back). A line has at most one record of the conversation, or one with usage.
    """

    kind: str
    role: str = ""
    ts: int | None = None  # milliseconds
    uuid: str = ""
    parent_uuid: str = ""
    blocks: list[Block] = []
    usage: Usage | None = None
    more_usage: list[Usage] = []  # of other models, where a record sums up several
    model: str = ""
    session_id: str = ""
    cwd: str = ""
    branch: str = ""
    version: str = ""
    title: str = ""
    asked: str = ""  # what was typed of a prompt, where the client put more around it
    is_aside: bool = False  # a subagent's
    started_by: str = ""  # the call that started the subagent, on its first record in the session's own file
    agent_id: str = ""  # the subagent whose file this is; `session_id` is then the session that started it
    agent_type: str = ""
    description: str = ""  # of that subagent's task
    forked_from: str = ""  # the session that this one began as a copy of
    mode: str = ""  # the permission mode from here on, one of `model.permissions.MODES`
    mode_words: str = ""  # the same in the client's words
    is_copy: bool = False  # copied from there, with everything before it: it counts for the other session
    unknown: list[tuple[str, str]] = []  # what the decoder does not know: a kind of its parts, or of itself and a field

    @property
    def text(self) -> str:
        """What was said, without calls and results."""
        return "\n".join(block.text for block in self.blocks if block.kind == TEXT)


class GenericClient:
    """The protocol over one method, `decode` or `decode_next`; a client says beside it where its files are."""

    name: str
    speaker = "Agent"
    layout: Layout
    permission_facts: frozenset[PermissionFact] = frozenset()
    cleans_by_records = False
    is_usage_first = False
    calls_have_messages = False
    sessions_own_files = False
    trace_lines: Literal["", "session", "all"] = ""
    tools: Mapping[str, ToolKind] = {}
    """What its tools are for; those that are not named are shown by the names and values of their input."""
    known_kinds: frozenset[str] | None = None
    """The kinds of its records outside of the conversation; others are counted as unknown. None: it does not say."""
    memory: type[Struct] | None = None
    """What is remembered from one line of a file to the next, if anything: small, with a default for every field."""

    def decode(self, line: bytes) -> Iterable[Record | Issue]:
        """The records of the bytes that `lines` gave at a time; ValueError where they are none.

        An issue is about a part of them, and has its offset in them.
        """
        raise NotImplementedError

    def decode_next(self, line: bytes, memory: Any) -> Iterable[Record | Issue]:  # noqa: ARG002
        """The records of a line after those that `memory`, which is changed, remembers.

        Lines are also read by themselves, with an empty memory: this must give the same blocks with the same numbers. What the
        memory may change is which of them are NOTHING, and everything about a record that is not in its blocks.
        """
        return self.decode(line)

    def default_roots(self, environ: Mapping[str, str], home: str) -> list[str]:
        """The directories of a user who named none, as far as they exist."""
        raise NotImplementedError

    def open_root(self, path: str) -> Root | None:
        """A directory that contains what `BUILT_IN` says of the client's roots."""
        known = BUILT_IN.get(self.name)
        if known is None:
            raise NotImplementedError
        real = os.path.realpath(os.path.expanduser(path))
        if not known.may_own(real):
            return None
        return Root(real, os.path.basename(real), self.name, self.layout, os.path.join(real, self.layout.main), real)

    def cleanup_days(self, root: Root) -> int:  # noqa: ARG002
        """Nothing is deleted, as far as is known."""
        return NEVER_DELETED

    def running(self, root: Root) -> list[Running]:  # noqa: ARG002
        """It does not say where it is running."""
        return []

    def tells_running(self, root: Root) -> bool:  # noqa: ARG002
        """No."""
        return False

    def path_info(self, path: str) -> PathInfo:
        """What a path relative to the root says: here that a file is named after its session."""
        return PathInfo(session_id=path.rpartition("/")[2].rpartition(".")[0])

    def mentioned_results(self, data: bytes) -> list[tuple[bytes, bytes]]:  # noqa: ARG002
        """No outputs are kept in files of their own."""
        return []

    def side_file(self, kind: str, path: str, data: bytes) -> SideContent:  # noqa: ARG002
        """Nothing is known of other files."""
        return SideContent()

    def session_list(self, data: bytes) -> Iterable[ListedSession]:  # noqa: ARG002
        """There is no list of sessions."""
        return ()

    def pasted(self, line: bytes) -> dict[str, Any]:  # noqa: ARG002
        """There is no prompt history."""
        return {}

    def lines(self, pieces: Iterable[bytes], start: int) -> Lines:
        """Every line is a record."""
        return Lines(pieces, start)

    def fold(
        self, base: int, kind: str, sort_path: str, session_id: str, agent_id: str, state: State, seen: SeenMessage
    ) -> GenericFold:
        """The fold of a transcript into rows."""
        from hansard.clients.generic_fold import GenericFold

        return GenericFold(
            self,
            base,
            path=sort_path,
            session_id=session_id,
            agent_id=agent_id,
            is_agent=kind == "agent",
            state=state,
            seen_message=seen,
        )

    @property
    def remembers(self) -> bool:
        """Whether a line may mean something else after other lines."""
        return self.memory is not None

    def recall(self, kept: Any) -> Any:
        """A memory as it was decoded from a fold's state; an empty one for None."""
        if self.memory is None:
            return None
        return self.memory() if kept is None else msgspec.convert(kept, self.memory)

    def text_fold(self, kind: str, kept: bytes) -> GenericTexts:
        """The fold of a transcript into texts."""
        from hansard.clients.generic_fold import GenericTexts

        return GenericTexts(self, kept, is_agent=kind == "agent")

    def texts(self, line: bytes, offset: int, *, is_aside: bool) -> list[RecordTexts]:
        """The texts of a line by itself."""
        from hansard.clients.generic_fold import GenericTexts

        return GenericTexts(self, b"", is_agent=is_aside).take(line, offset) or []

    def entry_reader(self, *, is_agent: bool) -> GenericEntries:
        """What reads a transcript for a reader."""
        from hansard.clients.generic_fold import GenericEntries

        return GenericEntries(self, is_agent=is_agent)

    def pictures(self, line: bytes, tool_use_id: str | None) -> Iterable[tuple[str, str]]:
        """The images of a line."""
        for item in self.items(line, 0) if tool_use_id is None else ():
            if isinstance(item, ParsedLine):
                yield from ((block.media_type, block.text) for block in item.body.blocks if block.kind == IMAGE)

    def answer(self, line: bytes) -> Answer | None:
        """The answer of the model that a line has."""
        for item in self.items(line, 0):
            if isinstance(item, ParsedLine) and item.body.usage is not None:
                record: Record = item.body
                reason = "end" if item.body.usage.is_final else None
                usage = partial(stated, record)
                return Answer(record.uuid or None, dated(record.ts), reason, "", record.is_aside, usage)
        return None

    def tool_kind(self, tool: str) -> ToolKind:
        """What a tool is for."""
        return "mcp" if mcp_parts(tool) is not None else self.tools.get(tool, "other")

    def tool_names(self, kind: ToolKind) -> Sequence[str]:
        """The tools of a kind."""
        return [name for name, known in self.tools.items() if known == kind]

    def tool_input(self, tool: str, given: Any) -> ToolInput | None:  # noqa: ARG002
        """What a call was given in neutral terms, None where it is shown as it is."""
        return None

    def tool_use(self, tool: str, given: Any, output: str) -> ToolUse:
        """What a call was given and gave, as it is shown."""
        try:
            known = self.tool_input(tool, given)
        except Exception:  # noqa: BLE001 - an input of another shape is shown as it is
            known = None
        return ToolUse(known, output, output)

    def mentioned_plans(self, data: bytes) -> set[str]:  # noqa: ARG002
        """Plans have no files of their own."""
        return set()

    def mentioned_pastes(self, line: bytes) -> set[str]:  # noqa: ARG002
        """Pasted texts have no files of their own."""
        return set()

    def line_names(self, line: bytes) -> tuple[list[str], str]:  # noqa: ARG002
        """A file has one session, and no line comes again in another one."""
        return [], ""

    def line_content(self, line: bytes) -> tuple[str, bytes]:  # noqa: ARG002
        """No line comes again in another session."""
        return "", b""

    def blank_line(self, line: bytes) -> bytes:
        """What most clients call the values that tell a line's place stays."""
        from hansard.clients.blanking import blank

        return blank(line)

    def usable_line(self, line: bytes, changed: bytes) -> bytes:  # noqa: ARG002 - of the protocol
        """Nothing in a line depends on its texts."""
        return changed

    def listed_sessions(self, data: bytes) -> Iterable[tuple[str, int, int]]:  # noqa: ARG002
        """There is no list of sessions."""
        return ()

    def own_agent(self, agent_id: str) -> str:  # noqa: ARG002 - of the protocol
        """None is known."""
        return ""

    def notice(self, text: str) -> str:
        """What a notification says to a reader."""
        return text

    def items(self, line: bytes, offset: int, memory: Any = None) -> Iterator[ParsedLine | Issue]:
        """The records of one line, or what is wrong with it; without a memory those of the line by itself."""
        size = length_of(line)
        line, reason, detail = fit(line)
        if reason:
            yield Issue(offset, size, reason, detail)
            if not line:
                return
        if memory is None and self.memory is not None:
            memory = self.memory()
        try:
            for record in self.decode(line) if memory is None else self.decode_next(line, memory):
                if isinstance(record, Issue):
                    yield Issue(offset + record.offset, record.length, record.reason, record.detail)
                    continue
                _check(record)
                yield ParsedLine(offset, size, record.kind, record)
        except (msgspec.DecodeError, UnicodeDecodeError, json.JSONDecodeError) as error:
            if line.strip():
                yield Issue(offset, size, "not_json", str(error))
        except KeyError as error:
            yield Issue(offset, size, "unknown_shape", f"no key {error}")
        except (ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
            yield Issue(offset, size, "unknown_shape", str(error))


def _check(record: Record) -> None:
    """Raise TypeError if a client took a value of another type for a text or a time: the line is reported then."""
    texts = [record.kind, record.role, record.uuid, record.parent_uuid, record.model, record.session_id, record.cwd]
    texts += (record.branch, record.version, record.title)
    for block in record.blocks:
        texts += (block.text, block.call_id, block.tool, block.path)
    if record.usage is not None:
        for usage in (record.usage, *record.more_usage):
            texts += (usage.message_id, usage.model)
            for count in (usage.input, usage.output, usage.cache_read, usage.cache_write, usage.cost):
                if count.__class__ is not int:
                    raise TypeError(f"{type(count).__name__} in place of a number of tokens")
    for text in texts:
        if text.__class__ is not str:
            raise TypeError(f"{type(text).__name__} in place of a text")
    if record.ts is not None and (record.ts.__class__ is not int or not -_MOST_TIME < record.ts < _MOST_TIME):
        raise TypeError(f"{type(record.ts).__name__} in place of a time")


def stated(
    record: Record,
    key: str,
    record_id: int,
    ts: int,
    path: str,
    session_id: str,
    agent_id: str,
    usage: Usage | None = None,
) -> list[tuple[str, Stated]]:
    """What a record says about the tokens of its answer, which the key names if it has several."""
    usage = usage or next((more for more in record.more_usage if key.endswith(f"/{more.message_id}")), record.usage)
    if usage is None:
        return []
    tool = usage.tool or next((block.tool for block in record.blocks if block.kind == CALL), "")
    return [
        (
            key,
            Stated(
                ts=ts,
                path=path,
                record_id=record_id,
                model=usage.model or record.model,
                session_id=session_id,
                agent_id=agent_id,
                input=token_count(usage.input),
                output=token_count(usage.output),
                cache_read=token_count(usage.cache_read),
                cache_write=token_count(usage.cache_write),
                cache_write_5m=0,
                cache_write_1h=0,
                web_searches=0,
                final_output=token_count(usage.output) if usage.is_final else -1,
                service_tier="",
                speed="",
                inference_geo="",
                branch=record.branch,
                tool=tool[:NAME_LENGTH],
                tool_ts=ts if tool else 0,
                recorded=usage.cost,
            ),
        )
    ]


__all__ = [
    "CALL", "FILE", "IMAGE", "NOTHING", "RESULT", "TEXT", "THINKING",
    "Block", "Content", "GenericClient", "Hunk", "Record", "Replacement", "Usage",
]  # fmt: skip
