"""The lines and files that tie a subagent to the call that started it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tests.demo_history.client import Agents, Era
from tests.demo_history.files import Json, Page, SideFile, dump
from tests.demo_history.tools import Call, Outcome, failure
from tests.demo_history.usage import tokens

if TYPE_CHECKING:
    from tests.demo_history.conversation import Conversation


@dataclass(frozen=True, slots=True)
class SubagentTask:
    """A piece of work for a subagent."""

    description: str
    prompt: str
    kind: str = "general-purpose"
    background: bool = False
    model: str | None = None


def transcript_path(page: Page, agent_id: str) -> str:
    """Name the transcript of an agent, relative to the config folder."""
    project = f"projects/{page.project}"
    if page.era.agents == Agents.BESIDE:
        return f"{project}/agent-{agent_id}.jsonl"
    return f"{project}/{page.session_id}/subagents/agent-{agent_id}.jsonl"


def call_of(subagent_task: SubagentTask, era: Era) -> Call:
    """Give the Task or Agent call for a task; what comes of it is known only later."""
    asked: Json = {
        "description": subagent_task.description,
        "prompt": subagent_task.prompt,
        "subagent_type": subagent_task.kind,
    }
    if era.requests:
        asked["run_in_background"] = subagent_task.background
    elif subagent_task.background:
        asked["run_in_background"] = True
    if subagent_task.model and era.own_parents:
        asked["model"] = next(name for name in ("opus", "sonnet", "haiku") if name in subagent_task.model)
    return Call(era.agent_tool, asked, lambda _: failure("interrupted"), 0.1)


def begin(helper: Conversation, subagent_task: SubagentTask, tool_id: str, parent: Conversation) -> None:
    """Write the first line of an agent's transcript and, where the era has one, its meta file."""
    page = helper.page
    page.put_user(subagent_task.prompt, helper.prompt_id, parent=None)
    helper.meter.add(tokens(subagent_task.prompt))
    helper.ambient.say("user", subagent_task.prompt)
    helper.ambient.opening()
    if not page.era.attachments or page.agent_id is None:
        return
    meta: Json = {"agentType": subagent_task.kind, "description": subagent_task.description}
    if page.era.requests:
        meta = {
            "agentType": subagent_task.kind,
            "isBuiltIn": True,
            "description": subagent_task.description,
            "toolUseId": tool_id,
        }
        if parent.page.agent_id:
            meta["parentAgentId"] = parent.page.agent_id
        meta |= {"spawnDepth": helper.depth, "requestShape": "background" if subagent_task.background else "foreground"}
        meta["finished"] = True
    path = transcript_path(page, page.agent_id).removesuffix(".jsonl") + ".meta.json"
    helper.session_files.files[path] = SideFile(dump(meta), 0o644, page.clock.now)


def close(parent: Conversation, subagent_task: SubagentTask, tool_id: str, helper: Conversation) -> None:
    """Keep what a background agent's notice will need."""
    if subagent_task.background and helper.page.agent_id:
        parent.session_files.finished[helper.page.agent_id] = (subagent_task.description, tool_id)


def launched(call: Call, subagent_task: SubagentTask, helper: Conversation) -> Call:
    """Give the call whose result only says that the agent runs."""
    agent_id, page = helper.page.agent_id, helper.page
    output = f"/tmp/claude-1000/{page.project}/{page.session_id}/tasks/{agent_id}.output"
    text = f"Async agent launched successfully.\nagentId: {agent_id}\nYou will be notified when it is done."

    def outcome(era: Era) -> Outcome:
        result: Json = {
            "isAsync": True,
            "status": "async_launched",
            "agentId": agent_id,
            "description": subagent_task.description,
        }
        if era.requests:
            result["resolvedModel"] = helper.model
        result |= {"prompt": subagent_task.prompt, "outputFile": output}
        if era.attachments:
            result["canReadOutputFile"] = True
        if era.requests:
            result["canContinueAgent"] = True
        return Outcome([{"type": "text", "text": text}], result)

    return replace(call, outcome=outcome)


def finished(call: Call, subagent_task: SubagentTask, helper: Conversation) -> Call:
    """Give the call whose result is what the agent reported."""
    usage = helper.last_usage.shape(helper.era, final=True)
    total = helper.last_usage.input + helper.last_usage.read + helper.last_usage.write_5m + helper.last_usage.write_1h
    count = sum(1 for record in helper.page.records if record.get("type") == "assistant" and _uses_tool(record))
    report: list[Json] = [{"type": "text", "text": helper.final_text}]
    said = list(report)
    if helper.page.agent_id:
        note = f"agentId: {helper.page.agent_id} (by which it can be asked to go on)"
        said.append({"type": "text", "text": note})

    def outcome(era: Era) -> Outcome:
        head: Json = {}
        if era.agents != Agents.INLINE:
            head = {"status": "completed", "prompt": subagent_task.prompt, "agentId": helper.page.agent_id}
        if era.attachments:
            head["agentType"] = subagent_task.kind
        result: Json = {**head, "content": report, "totalDurationMs": 24_000 + count * 900}
        result |= {"totalTokens": total + helper.last_usage.output, "totalToolUseCount": count, "usage": usage}
        if era.requests:
            result |= {"resolvedModel": helper.model, "toolsUsed": list(helper.tool_names), "canContinueAgent": True}
        return Outcome(said, result)

    return replace(call, outcome=outcome)


def _uses_tool(record: Json) -> bool:
    return bool(record["message"]["content"][0]["type"] == "tool_use")


def report_progress(
    parent: Conversation, tool_id: str, line: str, subagent_task: SubagentTask, helper: Conversation
) -> None:
    """Write the copies of an agent's messages that 2.1.20 put into the main file."""
    if not parent.era.progress or parent.page.agent_id:
        return
    hangs_on = line
    for record in list(helper.page.records):
        kept = ("type", "message", "uuid", "timestamp", "requestId")
        copy = {key: record[key] for key in kept if key in record}
        data: Json = {
            "message": copy,
            "normalizedMessages": [],
            "type": "agent_progress",
            "prompt": subagent_task.prompt,
        }
        data["agentId"] = helper.page.agent_id
        identity = "agent_" + str(record["message"].get("id", "msg_01" + record["uuid"][:8]))
        body = {"type": "progress", "data": data, "toolUseID": identity, "parentToolUseID": tool_id}
        hangs_on = parent.page.put(body, parent=hangs_on)


def notice(page: Page, helper: Conversation, description: str, tool_id: str) -> str:
    """Write the text by which a background agent's end is told."""
    agent_id = helper.page.agent_id
    spent = helper.last_usage.read + helper.last_usage.write_5m + helper.last_usage.write_1h + helper.last_usage.output
    output = f"/tmp/claude-1000/{page.project}/{page.session_id}/tasks/{agent_id}.output"
    return (
        f"<task-notification>\n<task-id>{agent_id}</task-id>\n<tool-use-id>{tool_id}</tool-use-id>\n"
        f"<output-file>{output}</output-file>\n<status>completed</status>\n"
        f'<summary>Agent "{description}" finished</summary>\n<result>{helper.final_text}</result>\n'
        f"<usage><subagent_tokens>{spent}</subagent_tokens><tool_uses>{len(helper.tool_names)}</tool_uses>"
        f"<duration_ms>41250</duration_ms></usage>\n</task-notification>"
    )
