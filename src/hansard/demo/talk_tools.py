"""Tool calls that reach out of the repository or talk to the user: the web, lists of work, questions, plans, MCP servers."""

from __future__ import annotations

import json
from collections.abc import Sequence

from hansard.demo.eras import Era
from hansard.demo.page import Json
from hansard.demo.tools import Call, Outcome

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
