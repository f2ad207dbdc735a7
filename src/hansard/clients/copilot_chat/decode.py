"""Copilot Chat's requests, and changes of them, as neutral records.

A document has the whole session. A log begins with the same (`kind` 0), then sets values (1), appends to lists (2) and deletes (3): what
it appends becomes records of their own. A request has its answer inside, and calls twice: as they were shown, and as the model made
them in rounds, with results. The rounds count where they are known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from msgspec import Struct

from hansard.clients.copilot_chat.tools import KINDS, change_of, path_of
from hansard.clients.generic import CALL, NOTHING, RESULT, TEXT, THINKING, Block, Record, Usage
from hansard.clients.state import NAME_LENGTH, digest
from hansard.clients.values import as_object, decode_object, milliseconds, string, table, tables, whole

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST = 2000  # requests and blocks that are remembered
_MAX_DEPTH = 40
_PUSHED = (b'{"kind":2,"k":["requests"],"v":[', b'{"kind":1,"k":["requests"],"v":[')


class Memory(Struct, gc=False, omit_defaults=True):
    """The requests so far, by their numbers, and digests of blocks that changes brought."""

    requests: list[str] = []
    seen: list[str] = []

    def is_new(self, *parts: str) -> bool:
        """Note a block; False if it was there before."""
        key = digest("\n".join(parts))[:12]
        if key in self.seen:
            return False
        self.seen.append(key)
        del self.seen[:-_MOST]
        return True


def opening(line: bytes) -> int:
    """The end of the bracket that opens the requests of an entry, 0 if it has none."""
    from hansard.clients.documents import list_start

    if line.startswith(b'{"kind":0'):
        return list_start(line, b"requests", 2)
    return next((len(start) for start in _PUSHED if line.startswith(start)), 0)


def decode(line: bytes, memory: Memory) -> Iterator[Record]:
    """The record of a request, of an entry, or of what is around requests."""
    text = line.strip(b", \t\r\n")
    if text.startswith(b"]"):
        end = b'{"":[' + text
        yield _session(decode_object(end[:-1] if text.endswith(b"}}") and not _is_object(end) else end), "session")
    elif text.endswith(b"["):
        is_entry = text.startswith(b'{"kind":')
        given = decode_object(text + (b"]}}" if text.startswith(b'{"kind":0') else b"]}"))
        yield _session(table(given, "v") if is_entry else given, "session")
    else:
        given = decode_object(text)
        if "requestId" in given:
            yield _request(given, memory)
        elif "kind" in given and "k" in given:
            yield _change(given, memory)
        else:
            yield _session(given, "session")


def _is_object(data: bytes) -> bool:
    try:
        decode_object(data)
    except ValueError:
        return False
    return True


def _session(given: dict[str, Any], kind: str) -> Record:
    ts = milliseconds(given.get("creationDate"))
    return Record(kind, ts=ts, session_id=string(given, "sessionId"), title=string(given, "customTitle"))


def _change(entry: dict[str, Any], memory: Memory) -> Record:
    """What an entry of a log sets or appends."""
    path, value = entry["k"], entry.get("v")
    match path:
        case ["customTitle"]:
            return Record("title", title=value if isinstance(value, str) else "")
        case ["requests", int(number), "response"] if isinstance(value, list):
            blocks = [block for block in _shown(value) if block.kind != CALL]
            for block in blocks:
                if not memory.is_new(str(number), block.kind, block.text):
                    block.kind = NOTHING
            return Record("assistant", blocks=blocks, parent_uuid=_request_id(memory, number))
        case ["requests", int(number), "result"] if isinstance(value, dict):
            key = _request_id(memory, number)
            record = Record("assistant", parent_uuid=key, blocks=list(_rounds(value)))
            for block in record.blocks:
                if not memory.is_new(block.kind, block.call_id):
                    block.kind = NOTHING
            record.usage = _usage({"requestId": key, "result": value})
            return record
    return Record("change")


def _request_id(memory: Memory, number: int) -> str:
    return memory.requests[number] if 0 <= number < len(memory.requests) else ""


def _request(given: dict[str, Any], memory: Memory) -> Record:
    """A prompt with its answer."""
    message = given.get("message")
    said = message if isinstance(message, str) else string(message, "text")
    record = Record(
        "user", "prompt", ts=milliseconds(given.get("timestamp")), uuid=string(given, "requestId")[:NAME_LENGTH]
    )
    record.model = _model(given)
    record.version = string(table(given, "agent"), "extensionVersion")
    record.blocks = [Block(TEXT, said)]
    calls = list(_rounds(table(given, "result")))
    response = given.get("response")
    for block in _shown(response if isinstance(response, list) else []):
        if block.kind != CALL:
            record.blocks.append(block)
        elif calls:  # as the model made it, with its result
            record.blocks.append(calls.pop(0))
            if calls and calls[0].kind == RESULT:
                record.blocks.append(calls.pop(0))
        elif not table(given, "result").get("metadata"):
            record.blocks.append(block)
    record.blocks += calls
    record.usage = _usage(given)
    record.cwd = next((cwd for part in tables(given, "response") if (cwd := _folder(part.get("baseUri")))), "")
    if memory.requests:
        record.parent_uuid = memory.requests[-1]
    if record.uuid not in memory.requests:
        memory.requests.append(record.uuid)
        del memory.requests[_MOST:]
    return record


def _model(given: dict[str, Any]) -> str:
    known = string(table(table(given, "result"), "metadata"), "resolvedModel")
    return known or string(given, "modelId").rpartition("/")[2]


def _folder(uri: Any) -> str:
    """The folder of a workspace, which links in an answer are relative to."""
    path = unquote(string(uri, "path")).rstrip("/")
    return path[1:] if path[2:3] == ":" else path


def _shown(parts: list[Any]) -> Iterator[Block]:
    """The blocks of an answer as it was shown; texts and references between them are one."""
    said: list[str] = []
    for part in parts:
        kind = string(part, "kind")
        if isinstance(part, str):
            said.append(part)
        elif kind in ("", "markdownContent"):
            said.append(string(part, "value") or string(table(part, "content"), "value"))
        elif kind == "inlineReference":
            said.append(_reference(part))
        elif kind in ("thinking", "toolInvocationSerialized"):
            yield from _reply(said)
            said = []
            if kind == "thinking":
                value = part.get("value")
                thought = "\n".join(map(str, value)) if isinstance(value, list) else string(part, "value")
                if thought:
                    yield Block(THINKING, thought)
            else:
                yield _invocation(part)
    yield from _reply(said)


def _reply(said: list[str]) -> Iterator[Block]:
    text = "".join(said)
    if text.strip(" \t\r\n`"):
        yield Block(TEXT, text.strip(), is_reply=True)


def _reference(part: dict[str, Any]) -> str:
    place = table(part, "inlineReference")
    path = string(place, "fsPath", "path") or string(table(place, "uri"), "fsPath", "path")
    return f"`{string(part, 'name') or path.replace(chr(92), '/').rpartition('/')[2]}`"


def _invocation(part: dict[str, Any]) -> Block:
    data = table(part, "toolSpecificData")
    command = string(data, "command") or string(table(data, "commandLine"), "original")
    message = part.get("pastTenseMessage") or part.get("invocationMessage")
    given = (
        {"command": command}
        if command
        else {"message": message if isinstance(message, str) else string(message, "value")}
    )
    return Block(
        CALL, call_id=string(part, "toolCallId"), tool=string(part, "toolId"), input=given, command=command or None
    )


def _rounds(result: dict[str, Any]) -> Iterator[Block]:
    """The calls that the model made, each with its result."""
    metadata = table(result, "metadata")
    results = table(metadata, "toolCallResults")
    for step in tables(metadata, "toolCallRounds"):
        for call in tables(step, "toolCalls"):
            key, tool, given = string(call, "id"), string(call, "name"), as_object(call.get("arguments"))
            block = Block(CALL, call_id=key, tool=tool, input=given)
            if isinstance(given, dict):
                block.path = path_of(given)
                block.change, block.changes = change_of(tool, given)
                block.command = string(given, "command") or None if KINDS.get(tool) == "shell" else None
            yield block
            if key in results:
                texts: list[str] = []
                _leaves(results[key], texts, 0)
                yield Block(RESULT, "\n".join(texts), call_id=key)


def _leaves(value: Any, found: list[str], depth: int) -> None:
    """The texts of a result, which may be a tree of rendered elements."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, list):
        for item in value:
            _leaves(item, found, depth + 1)
    elif isinstance(value, dict):
        for name in ("content", "value", "node", "children", "text"):
            item = value.get(name)
            if isinstance(item, str):
                found.append(item)
            elif item is not None:
                _leaves(item, found, depth + 1)


def _usage(given: dict[str, Any]) -> Usage | None:
    """Tokens of the last model call of a request: a lower bound for all of its rounds."""
    result = table(given, "result")
    usage, metadata = table(result, "usage"), table(result, "metadata")
    prompt = whole(usage, "promptTokens") or whole(metadata, "promptTokens")
    output = whole(usage, "completionTokens") or whole(metadata, "outputTokens") or whole(given, "completionTokens")
    if not prompt and not output:
        return None
    return Usage(string(given, "requestId") or "result", _model(given), prompt, output, is_final=False)
