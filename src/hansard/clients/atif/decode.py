"""Steps of trajectories as neutral records."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from msgspec import DecodeError, Struct

from hansard.clients.atif.lines import BETWEEN
from hansard.clients.generic import CALL, IMAGE, RESULT, TEXT, THINKING, Block, Record, Usage
from hansard.clients.state import NAME_LENGTH, digest
from hansard.clients.values import decode_object, milliseconds, string, table, tables, whole

if TYPE_CHECKING:
    from collections.abc import Iterator

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
