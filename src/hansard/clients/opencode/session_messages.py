"""OpenCode 2.0: a message with all its parts is one row of `session_message`; it is read as the message and parts of 1.0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hansard.clients.generic import RESULT, TEXT, Block, Record
from hansard.clients.patches import absolute
from hansard.clients.row_logs import text_of_cell
from hansard.clients.values import string, table, tables, whole

if TYPE_CHECKING:
    from collections.abc import Iterator

NOTES = frozenset({"synthetic", "system", "skill"})
"""The kinds of rows that the client itself wrote for the model."""
SWITCHES = frozenset({"agent-switched", "model-switched", "location-switched"})


def message_of(said: dict[str, Any]) -> tuple[str, dict[str, Any], list[dict[str, Any]]]:
    """The kind of a row, and what it holds as a message of 1.0 and its parts."""
    row = said["session_message"]
    kind, data = str(row["type"]), text_of_cell(row["data"])
    data.setdefault("time", {"created": row["time_created"]})
    if kind == "assistant":
        model = table(data, "model")
        data |= {"role": kind, "modelID": string(model, "id"), "providerID": string(model, "providerID")}
        data["path"] = {"cwd": string(said, "directory")}
        if error := table(data, "error"):
            name = string(error, "type")
            data["error"] = {"name": "MessageAbortedError" if name == "aborted" else name, "data": error}
        return kind, data, list(_parts(tables(data, "content"), string(said, "directory")))
    parts = [{"type": "text", "text": string(data, "text"), "synthetic": kind != "user"}]
    for file in tables(data, "files"):
        url = f"data:{string(file, 'mime')};base64,{string(file, 'data')}"
        parts.append({"type": "file", "mime": string(file, "mime"), "url": url})
    return kind, {**data, "role": "user"}, parts


def other_record(kind: str, data: dict[str, Any]) -> Record:
    """The record of a row that has no message of 1.0 like it."""
    if kind == "compaction":
        how = "automatically" if data.get("reason") == "auto" else "on request"
        if data.get("status") == "failed":
            return Record("system", "note", blocks=[Block(TEXT, f"Compaction failed: {_error(data)}")])
        text = "\n\n".join(filter(None, (f"Conversation compacted ({how})", string(data, "summary"))))
        return Record("system", "compaction", blocks=[Block(TEXT, text)])
    if kind == "shell":
        output = string(table(data, "output"), "output")
        printed = [Block(RESULT, output, is_error=bool(data.get("exit")))] if output else []
        return Record("user", "bash", blocks=[Block(TEXT, data["command"]), *printed])
    return Record(kind, cwd=string(table(data, "location"), "directory") if kind == "location-switched" else "")


def is_finished(kind: str, data: dict[str, Any]) -> bool:
    """Whether a row will not change any more."""
    if not data:
        return True
    if kind == "compaction":
        return data.get("status") != "running"
    return kind not in ("assistant", "shell") or bool(whole(table(data, "time"), "completed") or data.get("error"))


def _parts(content: list[dict[str, Any]], directory: str) -> Iterator[dict[str, Any]]:
    for part in content:
        if part.get("type") != "tool":
            yield part
            continue
        state, times = table(part, "state"), table(part, "time")
        texts = [string(item, "text") for item in tables(state, "content") if item.get("type") == "text"]
        metadata = {**table(state, "metadata")}
        files = tables(metadata, "files")
        metadata["files"] = [_file(file, directory) for file in files]
        if len(files) == 1:
            metadata.setdefault("diff", string(files[0], "patch"))
        metadata["sessionId"] = string(metadata, "sessionID", "sessionId")
        metadata.setdefault("exists", not any(text.startswith("Created file") for text in texts))
        yield {
            "type": "tool",
            "tool": string(part, "name"),
            "callID": string(part, "id"),
            "directory": directory,
            "state": {
                "status": string(state, "status"),
                "input": table(state, "input"),
                "output": "\n".join(texts),
                "error": "\n".join(filter(None, (_error(state), *texts))),
                "metadata": metadata,
                "time": {"start": whole(times, "ran") or whole(times, "created"), "end": whole(times, "completed")},
            },
        }


def _file(file: dict[str, Any], directory: str) -> dict[str, Any]:
    """What a call did to a file, as 1.0 says it of a patch."""
    path = string(file, "filePath") or absolute(directory, string(file, "file"))
    kind = {"added": "add", "deleted": "delete"}.get(string(file, "status"), "update")
    return {"type": kind, **file, "filePath": path}


def _error(of: dict[str, Any]) -> str:
    error = of.get("error")
    return error if isinstance(error, str) else string(error, "message", "type")
