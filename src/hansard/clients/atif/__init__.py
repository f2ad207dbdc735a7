"""Imported trajectories: their head, each step, and the same of those embedded in them, as neutral records."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import DecodeError, Struct

from hansard.clients.generic import CALL, IMAGE, RESULT, TEXT, THINKING, Block, Record, Usage
from hansard.clients.imported import ImportedClient
from hansard.clients.lines import Lines, LongLine, joined
from hansard.clients.state import NAME_LENGTH, digest
from hansard.clients.tools import Shell, ToolInput, text_of
from hansard.clients.values import decode_object, milliseconds, string, table, tables, whole
from hansard.lazy_regex import lazy_compile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hansard.model.tools import ToolKind

BETWEEN = b", \t\r\n"
_TOKEN = lazy_compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?(\s*+:)?+|[{}\[\]]', re.DOTALL)  # a string may be cut off
_TRAJECTORY, _STEPS, _STEP, _EMBEDDED, _OTHER = range(5)
_LISTS = {b'"steps"': _STEPS, b'"subagent_trajectories"': _EMBEDDED}
_AROUND = {_STEPS: _TRAJECTORY, _TRAJECTORY: _EMBEDDED, _EMBEDDED: _TRAJECTORY}


class TrajectoryLines(Lines):
    """A reader that begins in the middle, where a step begins or one ended, gets the steps from there on."""

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        data = joined(self._pieces)
        first = self.offset
        if isinstance(data, LongLine):
            self.rest = data
            return
        end = 0
        for start, stop in _parts(data, [_STEPS] if first else []):
            end = max(end, stop)
            if data[start:stop].strip(BETWEEN):
                self.offset = first + stop
                yield first + start, data[start:stop]
        self.offset = first + end
        self.rest = data[end:]

    def skip_equal(self, line: bytes) -> int:  # noqa: ARG002
        return 0


def _parts(data: bytes, stack: list[int]) -> Iterator[tuple[int, int]]:
    """Where lines begin and end; `stack` says what the first byte is inside of. What is not complete comes in no part."""
    cut, name = 0, b""
    for found in _TOKEN.finditer(data):
        token = found[0]
        kind = stack[-1] if stack else -1
        if token[:1] == b'"':
            if kind == _TRAJECTORY and found[1] is not None:
                name = token[: len(token) - len(found[1])]
        elif token in (b"[", b"{"):
            if token == b"[":
                inside = _LISTS.get(name, _OTHER) if kind == _TRAJECTORY else _OTHER
            else:
                inside = {-1: _TRAJECTORY, _EMBEDDED: _TRAJECTORY, _STEPS: _STEP}.get(kind, _OTHER)
            if inside in (_STEP, _TRAJECTORY):
                yield cut, found.start()
                cut = found.start()
            elif inside == _STEPS:
                yield cut, found.end()
                cut = found.end()
            stack.append(inside)
            name = b""
        elif stack:
            closed = stack.pop()
            if closed == _STEP:
                yield cut, found.end()
                cut = found.end()
            elif not stack and not data[found.end() :].strip():
                yield cut, len(data)
                return
            elif not stack and closed in _AROUND:  # it began in the middle
                stack.append(_AROUND[closed])


SHELLS = frozenset({"Bash", "bash", "shell", "execute_bash", "execute_command", "run_shell_command", "terminal"})
_MOST_CALLS = 10_000  # that started subagents
_MOST_BRANCHES = 1_000
_USER = frozenset({"prompt", "command", "bash"})


class Memory(Struct, gc=False, omit_defaults=True):
    """What a step means depends on the trajectory that it is in."""

    heads: int = 0  # trajectories that began
    name: str = ""  # of the trajectory
    model: str = ""
    last: dict[int, str] = {}  # the last step of each branch
    ts: int | None = None  # of the last step
    is_counted: bool = False  # a step states its usage
    calls: dict[str, str] = {}  # trajectories of subagents -> the calls that started them


def decode(line: bytes, memory: Memory) -> Iterator[Record]:
    """The head of a trajectory, a step, or what is around these."""
    text = line.strip(BETWEEN)
    if text.startswith(b"{") and text.endswith(b"["):
        yield _head(decode_object(text + b"]}"), memory)
    elif text.startswith(b"{"):
        yield _step(decode_object(text), text, memory)
    else:
        yield _rest(text, memory)


def _rest(text: bytes, memory: Memory) -> Record:
    """What is behind the steps: usage of messages that no step has, or all that is known if the steps state none."""
    record = Record("document", ts=memory.ts, model=memory.model)
    before, name, after = text.rpartition(b'"final_metrics"')
    try:
        final = table(decode_object(b"{" + name + after), "final_metrics") if name else {}
    except DecodeError:  # trajectories of subagents follow
        return record
    if found := _stated(table(final, "extra"), f"{memory.heads}/rest"):
        record.usage, *record.more_usage = found
    elif memory.heads == 1 and not memory.is_counted and before.startswith(b"]"):
        totals = {name.removeprefix("total_"): count for name, count in final.items() if name != "extra"}
        (usage,) = _usage({"metrics": totals}, f"{memory.name}/total", memory.model) or (Usage(""),)
        if usage.input or usage.output or usage.cache_read or usage.cost > 0:
            record.usage = usage
    return record


def _head(value: dict[str, Any], memory: Memory) -> Record:
    agent = table(value, "agent")
    extra = table(agent, "extra")
    memory.heads += 1
    memory.name = string(value, "trajectory_id", "session_id") or f"#{memory.heads}"
    memory.model, memory.last = string(agent, "model_name"), {}
    if memory.heads > 1:
        return Record("trajectory")
    places = [[one for one in _listed(extra, name) if isinstance(one, str)] for name in ("cwds", "git_branches")]
    cwd, branch = (found[0] if found else "" for found in places)
    title = string(table(value, "extra"), "title")
    return Record("trajectory", cwd=cwd, branch=branch, version=string(agent, "version"), title=title)


def _step(value: dict[str, Any], text: bytes, memory: Memory) -> Record:
    source = value["source"]
    kind = {"user": "user", "agent": "assistant", "system": "system"}[source]
    number = whole(value, "step_id")
    record = Record(kind, ts=milliseconds(value.get("timestamp")))
    said = string(table(value, "extra"), "kind")
    record.role = (said if said in _USER else "prompt") if source == "user" else said if source == "system" else ""
    record.blocks = [*_thought(value), *_content(value.get("message"))]
    record.model = string(value, "model_name") or (memory.model if source == "agent" else "")
    results = _observed(value, memory)
    record.blocks += [*_calls(value), *results]
    is_own = source == "agent" and not value.get("is_copied_context")
    if is_own and (usage := _usage(value, f"{memory.name}/{number}", record.model)):
        record.usage, *record.more_usage = usage
        memory.is_counted = True
    memory.ts, memory.model = record.ts or memory.ts, memory.model or record.model
    record.uuid = digest(f"{memory.name}/{number}/{digest(text.decode('utf-8', 'replace'))}")
    branch = whole(table(value, "extra"), "branch")  # as Hansard writes it: of turns that were taken back
    record.parent_uuid = memory.last.get(branch) or memory.last.get(0, "")
    if branch in memory.last or len(memory.last) < _MOST_BRANCHES:
        memory.last[branch] = record.uuid
    if memory.heads > 1:
        record.is_aside = True
        if not record.parent_uuid:
            record.started_by = memory.calls.get(memory.name, memory.name)
    return record


def _thought(value: dict[str, Any]) -> Iterator[Block]:
    if thought := string(value, "reasoning_content"):
        yield Block(THINKING, thought)


def _content(value: Any) -> list[Block]:
    """A text, or a list of parts; pictures are files elsewhere, so only their kinds are known."""
    if isinstance(value, str):
        return [Block(TEXT, value)] if value else []
    parts = value if isinstance(value, list) else []
    texts = [string(part, "text") for part in parts if string(part, "type") == "text"]
    media = [string(table(part, "source"), "media_type") for part in parts if string(part, "type") == "image"]
    return [*(Block(TEXT, text) for text in texts if text), *(Block(IMAGE, media_type=kind) for kind in media)]


def _calls(value: dict[str, Any]) -> Iterator[Block]:
    for call in tables(value, "tool_calls"):
        tool, given = string(call, "function_name"), call.get("arguments")
        command = string(given, "command", "cmd") if tool in SHELLS else ""
        path = string(given, "file_path", "path")
        yield Block(
            CALL, call_id=string(call, "tool_call_id"), tool=tool, input=given, command=command or None, path=path
        )


def _observed(value: dict[str, Any], memory: Memory) -> list[Block]:
    blocks = []
    for result in tables(table(value, "observation"), "results"):
        call_id = string(result, "source_call_id")
        for reference in tables(result, "subagent_trajectory_ref"):
            name = string(reference, "trajectory_id")
            if name and call_id and len(memory.calls) < _MOST_CALLS:
                memory.calls[name[:NAME_LENGTH]] = call_id[:NAME_LENGTH]
        if result.get("content") is not None:
            text = "\n".join(block.text for block in _content(result["content"]) if block.kind == TEXT)
            extra = table(result, "extra")
            blocks.append(
                Block(RESULT, text, call_id=call_id, is_error=extra.get("is_error") is True, ts=_when(value, extra))
            )
    return blocks


def _when(value: dict[str, Any], extra: dict[str, Any]) -> int | None:
    """When a result came, if it says how long it took."""
    called, lasted = milliseconds(value.get("timestamp")), extra.get("duration_ms")
    return called + lasted if called is not None and isinstance(lasted, int) else None


def _usage(value: dict[str, Any], name: str, model: str) -> list[Usage]:
    """What a step states: a message, or several that Hansard counted with it."""
    metrics = table(value, "metrics")
    if not metrics:
        return []
    extra = table(metrics, "extra")
    if calls := _stated(extra, name):
        return calls
    read, written = whole(metrics, "cached_tokens"), whole(extra, "cache_creation_input_tokens")
    given = max(0, whole(metrics, "prompt_tokens") - read - written)
    output = whole(metrics, "completion_tokens")
    cost = _billionths(extra.get("cost_usd", metrics.get("cost_usd")))
    is_final = extra.get("is_lower_bound") is not True
    return [Usage(name, model, given, output, read, written, is_final=is_final, cost=cost)]


def _stated(extra: dict[str, Any], name: str) -> list[Usage]:
    """The messages that Hansard lists one by one."""
    return [
        Usage(
            f"{name}/{number}",
            string(call, "model_name"),
            input=max(0, whole(call, "input_tokens")),
            output=max(0, whole(call, "output_tokens")),
            cache_read=max(0, whole(call, "cache_read_input_tokens")),
            cache_write=max(0, whole(call, "cache_creation_input_tokens")),
            is_final=call.get("is_lower_bound") is not True,
            cost=_billionths(call.get("cost_usd")),
        )
        for number, call in enumerate(tables(extra, "calls"), 1)
    ]


def _billionths(cost: Any) -> int:
    """An amount in billionths of a dollar, -1 if none is stated."""
    try:
        amount = Decimal(str(cost))
        return round(amount * 1_000_000_000) if amount.is_finite() and 0 <= amount < 1_000_000 else -1
    except InvalidOperation:
        return -1


def _listed(of: dict[str, Any], name: str) -> list[Any]:
    value = of.get(name)
    return value if isinstance(value, list) else []


class _Document(msgspec.Struct):
    schema_version: str
    steps: list[msgspec.Raw]
    session_id: str | None = None
    trajectory_id: str | None = None


class Atif(ImportedClient):
    """Reads a trajectory with those that are embedded in it."""

    name = "atif"
    speaker = "Agent"
    memory = Memory
    known_kinds = frozenset({"document", "trajectory"})
    replaces = False  # continuations and files of subagents have the session id of their run
    tools: Mapping[str, ToolKind] = dict.fromkeys(sorted(SHELLS), "shell")

    def parts(self, name: str, data: bytes) -> Iterator[tuple[str, bytes]]:  # noqa: ARG002
        """A whole document; its session is not named as the trajectory's, which may be an export of one in the same store."""
        try:
            document = msgspec.json.decode(data, type=_Document)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return
        if document.schema_version.startswith("ATIF-v1."):
            session = document.session_id or document.trajectory_id or sha256(data).hexdigest()[:16]
            yield f"atif-{session}", data

    def lines(self, pieces: Iterable[bytes], start: int) -> TrajectoryLines:
        """Each step, and the heads of the trajectories."""
        return TrajectoryLines(pieces, start)

    def decode_next(self, line: bytes, memory: Memory) -> Iterator[Record]:
        return decode(line, memory)

    def tool_input(self, tool: str, given: Any) -> ToolInput | None:
        return Shell(text_of(given, "command")) if tool in SHELLS else None
