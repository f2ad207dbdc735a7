"""A session as the Hugging Face hub's viewer of agent traces takes it: the client's own lines, or the hub's simple format.

The hub reads the logs of some clients as they are (https://huggingface.co/docs/hub/agent-traces). Sessions of others are
written in its Session Trace Simple Format (https://huggingface.co/docs/hub/session-traces-format).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.model.gate import release, replaced
from hansard.model.serialize import json_bytes
from hansard.render.format import redaction_words
from hansard.render.steps import Step, steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hansard.thread.thread import Thread

NOT_INCLUDED = (
    "lines that are not JSON",
    "files beside the transcript: large results, todos, plans",
    "former generations of a file that was rewritten",
    "of clients whose logs the hub does not know: subagents, pictures, usage and cost",
    "notes, tags and pins",
)


def lines(thread: Thread) -> Iterator[bytes]:
    """The lines of one session, redacted if the thread is."""
    if not thread.trace_lines:
        yield from _simple(thread)
        return
    others = [thread.of(agent.agent_id) for agent in thread.agents] if thread.trace_lines == "all" else []
    written: set[int] = set()  # transcripts: that of an old client's session has its subagents too
    for one in [thread, *others]:
        if one.has_log and one.transcript not in written:
            written.add(one.transcript)
            yield from _raw(one)
    if count := len(replaced(thread.redact)):
        about = {"type": "system", "subtype": "redaction", "session_id": thread.session.session_id}
        yield json_bytes({**about, "content": redaction_words(count)}) + b"\n"


def _raw(thread: Thread) -> Iterator[bytes]:
    """The log verbatim, except for lines with secrets."""
    for line in thread.raw_lines():
        value = _decoded(line)
        if not isinstance(value, dict):
            continue
        released = value if thread.redact is None else release(value, thread.redact)
        yield (line.strip() if released == value else json_bytes(released)) + b"\n"


def _decoded(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return json.loads(line)  # also takes lone surrogates
    except (ValueError, RecursionError):
        return None


def _simple(thread: Thread) -> Iterator[bytes]:
    session = thread.session
    header = {"type": "session", "harness": session.client, "id": session.session_id, "name": session.title}
    yield json_bytes(header) + b"\n"
    for step in steps(thread.entries(), thread.calls().lines) if thread.has_log else ():
        for message in _messages(step):
            yield json_bytes({"type": "message", "message": message}) + b"\n"
    if count := len(replaced(thread.redact)):
        note = {"role": "system", "content": redaction_words(count)}
        yield json_bytes({"type": "message", "message": note}) + b"\n"


def _messages(step: Step) -> Iterator[dict[str, Any]]:
    first = step.first
    when = {} if first.at is None else {"timestamp": round(first.at.timestamp() * 1000)}
    message: dict[str, Any] = {"role": "assistant" if step.source == "agent" else step.source, "content": step.text}
    if step.thinking:
        message["reasoningContent"] = step.thinking
    calls = step.calls
    if calls:
        message["toolCalls"] = [
            {"id": name, "function": {"name": call.tool, "arguments": json_bytes(call.input).decode()}}
            for name, call, _ in calls
        ]
    yield message | when | ({"model": first.model} if first.model else {})
    for name, call, _ in calls:
        if call.output is not None:
            yield {"role": "tool", "toolCallId": name, "content": call.output}
