"""Tool calls with results in the shape each client version gives them: what the model is told, and the twin beside it."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

from tests.demo_history.client import Era
from tests.demo_history.files import Json

REJECTED = "The user doesn't want to proceed with this tool use. Nothing was changed: wait for what they say next."


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a call: `content` for the model, `result` the twin the client keeps for itself."""

    content: str | list[Json]
    result: Any
    error: bool = False
    overflow: bool = False  # the content may be too long to stand in the line
    touched: tuple[str, str | None] | None = None  # a changed file and its text before
    added: int = 0
    removed: int = 0
    web_searches: int = 0
    extra: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call to come: how it is asked for, how long it takes and what comes of it in a given era."""

    name: str
    input: Json
    outcome: Callable[[Era], Outcome]
    seconds: float = 0.4


def png(red: int = 200, green: int = 60, blue: int = 40, size: int = 12) -> str:
    """Give a small valid PNG of one colour, in base64."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    rows = (b"\x00" + bytes((red, green, blue)) * size) * size
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return base64.b64encode(data).decode("ascii")


def failure(text: str, *, tagged: bool = False, extra: Json | None = None) -> Outcome:
    """Make the outcome of a call that failed."""
    content = f"<tool_use_error>{text}</tool_use_error>" if tagged else text
    return Outcome(content, f"Error: {text}", error=True, extra=extra or {})


def failing(call: Call, text: str, *, tagged: bool = True) -> Call:
    """Give the same call with an error for a result."""
    return Call(call.name, call.input, lambda _: failure(text, tagged=tagged), call.seconds)


def rejected(call: Call) -> Call:
    """Give the same call, turned down by the user."""
    extra = {"toolDenialKind": "user-rejected"}
    outcome = Outcome(REJECTED, "User rejected tool use", error=True, extra=extra)
    return Call(call.name, call.input, lambda _: outcome, call.seconds)


def bash(
    command: str,
    stdout: str = "",
    *,
    stderr: str = "",
    why: str = "",
    exit_code: int = 0,
    seconds: float = 1.2,
    background: str | None = None,
) -> Call:
    """Run a shell command; `background` is the id of the task it became."""
    asked: Json = {"command": command, "description": why or f"Run {command.split(maxsplit=1)[0]}"}
    if background:
        asked["run_in_background"] = True

    def outcome(era: Era) -> Outcome:
        if exit_code:
            said = f"Exit code {exit_code}\n" + "\n".join(part for part in (stdout, stderr) if part)
            return Outcome(said, f"Error: {said}", error=True)
        result: Json = {"stdout": stdout, "stderr": stderr, "interrupted": False, "isImage": False}
        if era.attachments:
            result["noOutputExpected"] = False
        if background:
            result["backgroundTaskId"] = background
            return Outcome(f"Command running in background with ID: {background}", result)
        said = "\n".join(part for part in (stdout, stderr) if part)
        empty = "(Bash completed with no output)" if era.requests else ""
        extra = {"sandboxed": False} if era.requests else {}
        return Outcome(said or empty, result, overflow=True, extra=extra)

    return Call("Bash", asked, outcome, seconds)


def read(path: str, text: str, *, offset: int | None = None, limit: int | None = None) -> Call:
    """Read a text file, or a part of it."""
    lines = text.split("\n")
    first = offset or 1
    shown = lines[first - 1 : first - 1 + limit] if limit else lines[first - 1 :]
    asked: Json = {"file_path": path}
    if offset:
        asked |= {"offset": offset, "limit": limit}

    def outcome(era: Era) -> Outcome:
        if era.arrows:
            numbered = "\n".join(f"{number:6d}→{line}" for number, line in enumerate(shown, first))
            numbered += "\n\n<system-reminder>\nConsider whether what you read could be malware.\n</system-reminder>\n"
        else:
            numbered = "\n".join(f"{number}\t{line}" for number, line in enumerate(shown, first))
        body = "\n".join(shown)
        file = {"filePath": path, "content": body, "numLines": len(shown), "startLine": first, "totalLines": len(lines)}
        return Outcome(numbered, {"type": "text", "file": file})

    return Call("Read", asked, outcome, 0.1)


def read_image(path: str, picture: str) -> Call:
    """Read a PNG: its base64 stands in the result and again in the twin."""
    size = len(picture) * 3 // 4
    sides = dict.fromkeys(("originalWidth", "originalHeight", "displayWidth", "displayHeight"), 12)
    result = {
        "type": "image",
        "file": {"base64": picture, "type": "image/png", "originalSize": size, "dimensions": sides},
    }
    block = {"type": "image", "source": {"type": "base64", "data": picture, "media_type": "image/png"}}
    return Call("Read", {"file_path": path}, lambda _: Outcome([block], result), 0.1)


def patch(before: str, after: str, context: int = 3) -> list[Json]:
    """Give the hunks between two texts as `structuredPatch` has them."""
    old, new = before.splitlines(), after.splitlines()
    hunks: list[Json] = []
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(context):
        lines: list[str] = []
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                lines += [" " + line for line in old[i1:i2]]
            else:
                lines += ["-" + line for line in old[i1:i2]]
                lines += ["+" + line for line in new[j1:j2]]
        hunks.append(
            {
                "oldStart": group[0][1] + 1,
                "oldLines": group[-1][2] - group[0][1],
                "newStart": group[0][3] + 1,
                "newLines": group[-1][4] - group[0][3],
                "lines": lines,
            }
        )
    return hunks


def _counts(hunks: list[Json]) -> tuple[int, int]:
    lines = [line for hunk in hunks for line in hunk["lines"]]
    return sum(line[0] == "+" for line in lines), sum(line[0] == "-" for line in lines)


def edit(path: str, before: str, old: str, new: str, *, everywhere: bool = False) -> Call:
    """Replace a string in a file whose whole text was `before`."""
    after = before.replace(old, new) if everywhere else before.replace(old, new, 1)
    hunks = patch(before, after)
    added, removed = _counts(hunks)
    asked = {"replace_all": everywhere, "file_path": path, "old_string": old, "new_string": new}

    def outcome(era: Era) -> Outcome:
        result = {
            "filePath": path,
            "oldString": old,
            "newString": new,
            "originalFile": before,
            "structuredPatch": hunks,
            "userModified": False,
            "replaceAll": everywhere,
        }
        said = f"The file {path} has been updated."
        if era.arrows and not era.own_parents and hunks:
            kept = [line[1:] for line in hunks[0]["lines"] if line[0] != "-"]
            cat = "\n".join(f"{number:6d}→{line}" for number, line in enumerate(kept, hunks[0]["newStart"]))
            said += f" The lines around the change:\n{cat}"
        elif era.requests:
            said = f"The file {path} has been updated successfully."
        return Outcome(said, result, touched=(path, before), added=added, removed=removed)

    return Call("Edit", asked, outcome, 0.1)


def multi_edit(path: str, before: str, edits: Sequence[tuple[str, str]]) -> Call:
    """Replace several strings in one file, as 1.0 did."""
    after = before
    for old, new in edits:
        after = after.replace(old, new, 1)
    hunks = patch(before, after)
    added, removed = _counts(hunks)
    asked = {"file_path": path, "edits": [{"old_string": old, "new_string": new} for old, new in edits]}
    result = {
        "filePath": path,
        "edits": [{"old_string": old, "new_string": new, "replace_all": False} for old, new in edits],
        "originalFileContents": before,
        "structuredPatch": hunks,
        "userModified": False,
    }
    said = f"Applied {len(edits)} edits to {path}:\n" + "\n".join(
        f'{number}. Replaced "{old}" with "{new}"' for number, (old, new) in enumerate(edits, 1)
    )
    outcome = Outcome(said, result, touched=(path, before), added=added, removed=removed)
    return Call("MultiEdit", asked, lambda _: outcome, 0.1)


def write(path: str, text: str, before: str | None = None) -> Call:
    """Write a whole file, new or over an older text."""
    hunks = patch(before, text) if before is not None else []
    added, removed = _counts(hunks) if before is not None else (text.count("\n") + 1, 0)

    def outcome(era: Era) -> Outcome:
        kind = "create" if before is None else "update"
        result: Json = {"type": kind, "filePath": path, "content": text, "structuredPatch": hunks}
        if era.snapshots:
            result["originalFile"] = before
        if era.attachments:
            result["userModified"] = False
        verb = "created" if before is None else "updated"
        said = f"File {verb} successfully at: {path}"
        return Outcome(said, result, touched=(path, before), added=added, removed=removed)

    return Call("Write", {"file_path": path, "content": text}, outcome, 0.1)


def notebook_edit(path: str, cell: str, old: str, new: str) -> Call:
    """Replace the source of a notebook cell."""

    def notebook(source: str) -> str:
        one: Json = {"cell_type": "code", "execution_count": None, "id": cell, "metadata": {}, "outputs": []}
        return json.dumps(
            {"cells": [{**one, "source": source}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1
        )

    def outcome(era: Era) -> Outcome:
        result: Json = {
            "new_source": new,
            "cell_type": "code",
            "language": "python",
            "edit_mode": "replace",
            "cell_id": cell,
            "error": "",
        }
        if era.own_parents:
            result |= {"notebook_path": path, "original_file": notebook(old), "updated_file": notebook(new)}
        if era.requests:
            result["old_source"] = old
        return Outcome(f"Updated cell {cell} with {new}", result, touched=(path, notebook(old)))

    return Call("NotebookEdit", {"notebook_path": path, "cell_id": cell, "new_source": new}, outcome, 0.1)


def grep(
    pattern: str, hits: Sequence[tuple[str, int, str]], *, files_only: bool = False, path: str | None = None
) -> Call:
    """Search files: hits are (file, line number, line)."""
    asked: Json = {"pattern": pattern}
    if path:
        asked["path"] = path
    names = list(dict.fromkeys(name for name, _, _ in hits))
    if not files_only:
        asked |= {"output_mode": "content", "-n": True}

    def outcome(era: Era) -> Outcome:
        if files_only:
            result: Json = {"mode": "files_with_matches", "filenames": names, "numFiles": len(names)}
            if era.requests:
                result["totalFiles"] = len(names)
            plural = "" if len(names) == 1 else "s"
            return Outcome(
                "\n".join([f"Found {len(names)} file{plural}", *names]) if names else "No files found", result
            )
        body = "\n".join(f"{name}:{number}:{line}" for name, number, line in hits)
        result = {"mode": "content", "numFiles": 0, "filenames": [], "content": body, "numLines": len(hits)}
        if era.requests:
            result["totalLines"] = len(hits)
        return Outcome(body or "No matches found", result)

    return Call("Grep", asked, outcome, 0.2)


def glob(pattern: str, names: Sequence[str]) -> Call:
    """Find files by name."""

    def outcome(era: Era) -> Outcome:
        result: Json = {"filenames": list(names), "durationMs": 13, "numFiles": len(names), "truncated": False}
        if era.requests:
            result |= {"totalMatches": len(names), "countIsComplete": True}
        return Outcome("\n".join(names) or "No files found", result)

    return Call("Glob", {"pattern": pattern}, outcome, 0.1)


TODOS_KEPT = "Todos have been modified successfully. Keep using the list to follow your progress."


def web_fetch(url: str, question: str, answer: str) -> Call:
    """Fetch a page and have a question about it answered."""
    result = {
        "bytes": 18_000 + len(answer),
        "code": 200,
        "codeText": "OK",
        "result": answer,
        "durationMs": 2310,
        "url": url,
    }
    return Call("WebFetch", {"url": url, "prompt": question}, lambda _: Outcome(answer, result), 2.4)


def web_search(query: str, links: Sequence[tuple[str, str]], answer: str) -> Call:
    """Search the web; links are (title, address)."""
    found = [{"title": title, "url": url} for title, url in links]

    def outcome(era: Era) -> Outcome:
        hits = {"tool_use_id": "srvtoolu_01" + f"{len(query):022d}", "content": found}
        result: Json = {"query": query, "results": [hits, answer], "durationSeconds": 6.25}
        if era.requests:
            result["searchCount"] = 1
        listed = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
        said = f'Web search results for query: "{query}"\n\nLinks: {listed}\n\n{answer}'
        return Outcome(said, result, web_searches=1)

    return Call("WebSearch", {"query": query}, outcome, 6.3)


def todo_write(todos: Sequence[tuple[str, str]], before: Sequence[tuple[str, str]] = ()) -> Call:
    """Keep a list of work the old way: items are (text, status)."""

    def listed(items: Sequence[tuple[str, str]]) -> list[Json]:
        return [{"content": text, "status": status, "activeForm": f"Working on: {text}"} for text, status in items]

    result = {"oldTodos": listed(before), "newTodos": listed(todos)}
    return Call("TodoWrite", {"todos": listed(todos)}, lambda _: Outcome(TODOS_KEPT, result), 0.1)


def task_create(number: int, subject: str, description: str) -> Call:
    """Put a task on the list of the newer clients."""
    asked = {"subject": subject, "description": description, "activeForm": f"Working on: {subject}"}
    result = {"task": {"id": str(number), "subject": subject, "description": description}}
    said = f"Task #{number} created successfully: {subject}"
    return Call("TaskCreate", asked, lambda _: Outcome(said, result), 0.1)


def task_update(number: int, before: str, status: str) -> Call:
    """Move a task on."""
    change = {"from": before, "to": status}
    result = {"success": True, "taskId": str(number), "updatedFields": ["status"], "statusChange": change}
    asked = {"taskId": str(number), "status": status}
    return Call("TaskUpdate", asked, lambda _: Outcome(f"Updated task #{number} status", result), 0.1)


def task_list(tasks: Sequence[tuple[int, str, str]]) -> Call:
    """List the tasks: (number, subject, status)."""
    rows = [
        {"id": str(number), "subject": subject, "status": status, "blockedBy": []} for number, subject, status in tasks
    ]
    said = "\n".join(f"#{number} [{status}] {subject}" for number, subject, status in tasks)
    return Call("TaskList", {}, lambda _: Outcome(said, {"tasks": rows}), 0.1)


def ask(question: str, header: str, options: Sequence[tuple[str, str]], chosen: str) -> Call:
    """Ask the user to choose; options are (label, description)."""
    listed = [{"label": label, "description": text} for label, text in options]
    asked = {"questions": [{"question": question, "header": header, "multiSelect": False, "options": listed}]}

    def outcome(era: Era) -> Outcome:
        result: Json = {**asked, "answers": {question: chosen}}
        if era.requests:
            result["annotations"] = {}
        said = f'Your questions have been answered: "{question}"="{chosen}".'
        return Outcome(said, result)

    return Call("AskUserQuestion", asked, outcome, 21.0)


def exit_plan_mode(plan: str, file_path: str) -> Call:
    """Show a plan and have it approved."""

    def outcome(era: Era) -> Outcome:
        result: Json = {"plan": plan, "isAgent": False}
        if era.snapshots:
            result["filePath"] = file_path
        said = f"User has approved your plan. It reads:\n\n{plan}"
        return Outcome(said, result)

    return Call("ExitPlanMode", {"plan": plan}, outcome, 34.0)


def mcp(server: str, tool: str, asked: Json, answer: str, *, structured: Json | None = None) -> Call:
    """Call a tool of an MCP server that answers in text."""

    def outcome(era: Era) -> Outcome:
        if era.requests:
            extra: Json = {"mcpMeta": {"structuredContent": structured}} if structured else {}
            return Outcome(answer, answer, extra={**extra, "mcpCallNotReadOnly": "no_hint"})
        blocks = [{"type": "text", "text": answer}]
        return Outcome(blocks, answer if era.snapshots else blocks)

    return Call(f"mcp__{server}__{tool}", asked, outcome, 0.8)


def mcp_picture(server: str, tool: str, asked: Json, picture: str, caption: str) -> Call:
    """Call a tool of an MCP server that answers with an image and a line of text."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": picture}}
    blocks: list[Json] = [image, {"type": "text", "text": caption}]
    return Call(f"mcp__{server}__{tool}", asked, lambda _: Outcome(blocks, blocks), 1.6)


def tool_search(query: str, names: Sequence[str]) -> Call:
    """Load tools by name: the result is a list of references."""
    blocks: list[Json] = [{"type": "tool_reference", "tool_name": name} for name in names]
    result = {"matches": list(names), "query": query, "total_deferred_tools": 23}
    return Call("ToolSearch", {"query": query, "max_results": 5}, lambda _: Outcome(blocks, result), 0.1)
