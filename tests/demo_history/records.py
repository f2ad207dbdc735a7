"""Records besides questions and answers: surroundings, requests, commands, hooks, errors, compaction, the bill."""

from __future__ import annotations

import copy
import hashlib
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tests.demo_history.client import load, millis, stamp
from tests.demo_history.files import Json, Page, dump
from tests.demo_history.usage import Bill, Usage, no_usage, tokens

if TYPE_CHECKING:
    from tests.demo_history.session_writer import SessionWriter

# Readers go by how such texts begin; the rest is in words of our own.
OLD_CAVEAT = "Caveat: what follows are commands that the user ran by hand. They ask nothing of you."
ZERO_HOOK = "notify-send 'the session has begun'"


def reminder(text: str) -> list[Json]:
    """Give the `rendered` form of an attachment."""
    return [{"content": f"<system-reminder>\n{text}\n</system-reminder>"}]


def attach(page: Page, attachment: Json, text: str | None = None, role: str = "system", **more: Any) -> str:
    """Write an attachment line; `text` is what the model gets to see of it."""
    shown = {"rendered": reminder(text), "renderedRole": role} if text and page.era.requests else {}
    return page.put({"attachment": attachment, "type": "attachment"}, tail={**shown, **more})


class Ambient:
    """The side records of one page, written by the clients that keep them."""

    def __init__(self, page: Page, model: str) -> None:
        self.page = page
        self.model = model
        self.shape: str | None = None  # the hash of the request shape, once written
        self.last_request: str | None = None
        self.sent: list[str] = []  # hashes of the messages sent so far
        self.fresh: list[Json] = []  # messages that the next request sends for the first time

    def opening(self) -> None:
        """Write what stands between the first prompt and the first answer."""
        if not self.page.era.attachments:
            return
        if self.page.era.requests:
            self._surroundings()
        known = load("client.toml")["skills"]
        listed = "\n".join(f"- {name}: {text}" for name, text in known.items())
        skills: Json = {"type": "skill_listing", "content": listed, "skillCount": len(known), "isInitial": True}
        if self.page.era.requests:
            digests = [hashlib.sha256(text.encode()).hexdigest()[:16] for text in known.values()]
            skills |= {"names": list(known), "digests": digests}
        attach(self.page, skills, f"These skills can be loaded with the Skill tool:\n\n{listed}")
        if not self.page.era.requests:
            return
        branch = f"The state of git when the conversation began; it is not kept up to date.\n\nCurrent branch: {self.page.branch}"
        attach(
            self.page, {"type": "session_context", "context": {"gitStatus": branch}}, f"# gitStatus\n{branch}", "user"
        )
        today = stamp(self.page.clock.now)[:10]
        attach(self.page, {"type": "date", "date": today}, f"Today's date is {today}.")
        credit = {"type": "remote_session_change", "url": None, "commit": "", "pr": "", "sendUserFileHint": False}
        attach(self.page, credit, "Sign commits as the user does.", "user", renderedBesideToolResult=True)
        self.snapshot()

    def _surroundings(self) -> None:
        page = self.page
        place = {
            "workingDirectory": page.cwd,
            "isWorktree": "/worktrees/" in page.cwd,
            "isGitRepo": True,
            "platform": "linux",
        }
        attach(page, {"type": "environment", "snapshot": place}, f"# Environment\n - Working directory: {page.cwd}")
        identity = {"modelId": self.model, "marketingName": self.model.removeprefix("claude-")}
        attach(page, {"type": "model", "identity": identity, "text": f"Model: {self.model}."}, f"Model: {self.model}.")
        names = load("client.toml")["deferred_tools"]
        delta = {"type": "deferred_tools_delta", "addedNames": names, "addedLines": names, "removedNames": []}
        attach(page, delta, "Further tools, loaded by ToolSearch:\n" + "\n".join(names))
        agents = load("client.toml")["agent_kinds"]
        lines = [f"- {name}: {text}" for name, text in agents.items()]
        kinds = {"type": "agent_listing_delta", "addedTypes": list(agents), "addedLines": lines, "isInitial": True}
        attach(page, kinds, "Kinds of agent:\n" + "\n".join(lines))

    def snapshot(self) -> None:
        """Write the system prompt down, as 2.1.325 does when it may have changed."""
        if self.page.era.requests:
            attachment = {
                "type": "prompt_snapshot",
                "systemPrompt": load("client.toml")["system"].split("\n\n"),
                "reminderFold": False,
            }
            attach(self.page, attachment)

    def say(self, role: str, content: object) -> None:
        """Remember a message that the next request will send."""
        self.fresh.append({"role": role, "content": content})

    def request(self) -> str | None:
        """Write the request about to be made and give the id that answers refer to."""
        if not self.page.era.requests:
            return None
        page = self.page
        agent = {"agentId": page.agent_id} if page.agent_id else {}
        when = {"timestamp": stamp(page.clock.now), "version": page.version}
        if self.shape is None:
            told = load("client.toml")
            shape = {
                "system": [{"type": "text", "text": told["system"]}],
                "tools": [_tool(name, **tool) for name, tool in told["tools"].items()],
            }
            self.shape = hashlib.sha256(dump(shape)).hexdigest()
            head = {"type": "api-request-shape", "sessionId": page.session_id, "shapeHash": self.shape}
            page.note({**head, **when, "shape": shape, **agent})
        kept = len(self.sent)
        for message in self.fresh:
            hashed = hashlib.sha256(dump(message)).hexdigest()
            self.sent.append(hashed)
            # Most messages can be put together from the lines above; the client writes out the ones that cannot.
            if len(self.sent) < 3 or (message["role"] == "user" and page.dice.random() < 0.15):
                blob = {"type": "api-request-blob", "sessionId": page.session_id, "hash": hashed, "message": message}
                page.note({**blob, **agent})
        self.fresh = []
        identity = page.dice.uuid()
        params = {
            "model": self.model,
            "betas": ["interleaved-thinking-2025-05-14", "context-management-2025-06-27"],
            "max_tokens": 64000,
            "thinking": {"type": "adaptive", "display": "omitted"},
            "output_config": {"effort": "medium"},
        }
        source = "agent:builtin" if page.agent_id else "repl_main_thread" if page.interactive else "sdk"
        record: Json = {
            "type": "api-request",
            "sessionId": page.session_id,
            "id": identity,
            **when,
            "querySource": source,
        }
        record |= {"shapeHash": self.shape, "params": params, "keep": kept, "tail": self.sent[kept:]}
        record["cacheControl"] = [{"path": ["system", 0], "value": {"type": "ephemeral"}}]
        record["requestDigest"] = hashlib.sha256("".join(self.sent).encode()).hexdigest()
        if self.last_request:
            record["base"] = self.last_request
        page.note({**record, **agent})
        self.last_request = identity
        return identity


def _tool(name: str, description: str, fields: list[str]) -> Json:
    properties = {field: {"type": "string", "description": f"The {field.strip('-')} of the call."} for field in fields}
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": properties}
    return {"name": name, "description": description, "input_schema": {**schema, "required": list(fields[:1])}}


def caveat(page: Page) -> None:
    """Write the line that tells the model to leave the next ones alone."""
    text = OLD_CAVEAT
    if page.era.own_parents:
        text = f"<local-command-caveat>{OLD_CAVEAT}</local-command-caveat>"
    page.put_user(text, marks={"isMeta": True})


def local_command(page: Page, name: str, args: str, stdout: str) -> None:
    """Write a slash command that the client carried out by itself, and what it printed."""
    gap = "\n            "
    bare = name.removeprefix("/")
    called = f"<command-name>{name}</command-name>{gap}<command-message>{bare}</command-message>"
    called += f"{gap}<command-args>{args}</command-args>"
    printed = f"<local-command-stdout>{stdout}</local-command-stdout>"
    if not page.era.attachments or name in {"/clear", "/compact"}:
        caveat(page)
        page.put_user(called)
        page.put_user(printed)
        return
    for text in (called, printed):
        body: Json = {"type": "system", "subtype": "local_command", "content": text, "level": "info"}
        run = {"commandRun": {"command": bare, "args": args}} if page.era.requests and text == printed else {}
        page.put(body, tail={"isMeta": False, **run})


def session_start_hook(page: Page, how: str) -> None:
    """Write that a hook ran when the client started."""
    identity = page.dice.uuid()
    name = f"SessionStart:{how}"
    if page.era.progress:
        data = {"type": "hook_progress", "hookEvent": "SessionStart", "hookName": name, "command": ZERO_HOOK}
        page.put({"type": "progress", "data": data, "parentToolUseID": identity, "toolUseID": identity})
    elif page.era.attachments:
        ran: Json = {
            "type": "hook_success",
            "hookName": name,
            "toolUseID": identity,
            "hookEvent": "SessionStart",
            "content": "",
        }
        ran |= {"stdout": "", "stderr": "", "exitCode": 0, "command": ZERO_HOOK, "durationMs": 22}
        attach(page, ran)
        context = {"type": "hook_additional_context", "content": ["The build is green."], "hookName": name}
        attach(page, {**context, "toolUseID": identity, "hookEvent": "SessionStart"}, "The build is green.")


def stop_hook(page: Page) -> None:
    """Write that hooks ran at the end of a turn."""
    if not page.era.attachments:
        return
    body = {"type": "system", "subtype": "stop_hook_summary", "hookCount": 1, "hookInfos": [{"command": "make check"}]}
    body |= {
        "hookErrors": [],
        "preventedContinuation": False,
        "stopReason": "",
        "hasOutput": True,
        "level": "suggestion",
    }
    page.put(body, tail={"toolUseID": page.dice.uuid()})


def synthetic(page: Page, text: str, tail: Json | None = None, *, request: str | None = None) -> str:
    """Write an assistant line that no model has written."""
    message: Json = {"id": page.dice.uuid(), "container": None, "model": "<synthetic>", "role": "assistant"}
    message |= {"stop_reason": "stop_sequence", "stop_sequence": "", "type": "message", "usage": no_usage(page.era)}
    message["content"] = [{"type": "text", "text": text}]
    if page.era.snapshots:
        message["context_management"] = None
    more = {"requestId": request} if request else {}
    return page.put({"type": "assistant", "message": message, **more}, tail=tail)


def api_error(page: Page, status: int, kind: str, message: str, retries: int) -> None:
    """Write the retries of a failing request, then the error as an answer."""
    request = page.dice.request_id()
    wire = f'{{"type":"error","error":{{"type":"{kind}","message":"{message}"}},"request_id":"{request}"}}'
    for attempt in range(1, retries + 1):
        if page.era.own_parents:
            page.clock.tick(0.6 * 2**attempt)
            error: Json = {"status": status, "requestID": request, "error": {"type": kind, "message": message}}
            if page.era.requests:
                error = {
                    "message": f"{status} {wire}",
                    "status": status,
                    "requestId": request,
                    "formatted": f"{status} {message}",
                }
            body: Json = {"type": "system", "subtype": "api_error", "level": "error", "error": error}
            body |= {"retryInMs": 600 * 2**attempt, "retryAttempt": attempt, "maxRetries": 10}
            page.put(body)
    page.clock.tick(2)
    tail: Json = {"isApiErrorMessage": True}
    if page.era.snapshots:
        tail = {"error": "unknown", **tail}
    text = f"API Error: {status} {wire}"
    if page.era.requests:
        tail |= {"apiErrorStatus": status, "apiErrorType": kind, "failedResponseHadNoToolCall": True, "madeBy": "model"}
        text = f"API Error: {status} {message}"
    synthetic(page, text, tail, request=request if page.era.requests else None)


def interrupted_answer(writer: SessionWriter, partial: str) -> None:
    """Write what an era keeps of an answer that was stopped: all, the text only, or nothing."""
    page = writer.page
    tail: Json = {}
    page.clock.tick(3)
    if writer.era.requests:
        reference = writer.ambient.request()
        usage = writer.meter.request(page.clock.now, 3)
        writer.bill.add(writer.model, Usage(usage.input, tokens(partial), usage.read, usage.write_5m))
        ids = {"message": page.dice.message_id(), "request": page.dice.request_id()}
        block = {"type": "text", "text": partial}
        shape = usage.shape(writer.era, final=False)
        writer.write_line(block, 0, ids, shape, None, reference, isAbortedMidStream=True)
        tail["interruptedMessageId"] = ids["message"]
    elif writer.era.attachments:
        synthetic(page, partial)
    page.put_user([{"type": "text", "text": "[Request interrupted by user]"}], writer.prompt_id, tail=tail)


def compact(writer: SessionWriter, summary: str, *, auto: bool, args: str) -> None:
    """Write a compaction: the boundary, the summary and, when asked for, the command."""
    page, era = writer.page, writer.era
    before = writer.meter.fill()
    left = tokens(summary) + 600
    # The request that makes the summary is billed and leaves no line.
    page.clock.tick(25)
    usage = writer.meter.request(page.clock.now, left)
    writer.bill.add(writer.model, usage)
    page.slug = page.slug or page.dice.slug()
    last = page.tip
    summary_line = page.dice.uuid()
    data: Json = {"trigger": "auto" if auto else "manual", "preTokens": before}
    if era.attachments:
        data |= {"postTokens": left, "durationMs": 24_300}
    if era.requests:
        data["cumulativeDroppedTokens"] = before - left
        data["preservedSegment"] = {"headUuid": last, "anchorUuid": summary_line, "tailUuid": last}
        data["preservedMessages"] = {"anchorUuid": summary_line, "uuids": [last], "allUuids": [last]}
    body = {
        "logicalParentUuid": last,
        "type": "system",
        "subtype": "compact_boundary",
        "content": "Conversation compacted",
    }
    page.put({**body, "isMeta": False}, tail={"level": "info", "compactMetadata": data}, parent=None)
    text = f"This session is being continued from a previous conversation. What was said so far, in short:\n\n{summary}"
    marks = {"isVisibleInTranscriptOnly": True, "isCompactSummary": True}
    page.put_user(text, writer.prompt_id, marks, uuid=summary_line)
    if not auto:
        local_command(page, "/compact", args, "Compacted (ctrl+o to see full summary)")
    writer.meter.compact(left)
    writer.ambient.snapshot()


def copied_line(record: Json, page: Page, origin: Json) -> Json:
    """Give a line as a fork or a branch carries it over."""
    line = copy.deepcopy(record)
    line["sessionId"] = page.session_id
    if "promptId" in line and not origin:
        line["promptId"] = page.dice.uuid()
    message = line.get("message")
    if not page.era.attachments and message and isinstance(message["content"], str):
        message["content"] = [{"type": "text", "text": message["content"]}]
    if not page.era.snapshots:
        line["timestamp"] = stamp(page.clock.now)
        line.pop("requestId", None)
    if origin:
        line["forkedFrom"] = {**origin, "messageUuid": line["uuid"]}
    return line


def cost_state(page: Page, bill: Bill, started: datetime) -> None:
    """Write the bill so far, as the client adds it up."""
    spent = int((page.clock.now - started).total_seconds() * 1000)
    page.note(
        {
            "type": "cost-state",
            "sessionId": page.session_id,
            "totalCostUSD": bill.total(),
            "totalAPIDuration": bill.api_ms,
            "totalAPIDurationWithoutRetries": bill.api_ms,
            "totalToolDuration": bill.tool_ms,
            "totalLinesAdded": bill.lines_added,
            "totalLinesRemoved": bill.lines_removed,
            "totalDuration": spent,
            "startTime": millis(started),
            "modelUsage": {model: dict(row) for model, row in bill.by_model.items()},
            "hasUnknownModelCost": False,
        }
    )
