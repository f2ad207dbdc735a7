"""Answers, tool calls and agents: what a main session and a subagent have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.demo_history import subagents
from tests.demo_history.client import Agents, Era, Regime, Spill, stamp
from tests.demo_history.files import Json, Page, SessionFiles, dump
from tests.demo_history.records import Ambient, attach
from tests.demo_history.subagents import SubagentTask
from tests.demo_history.usage import Bill, Meter, Usage, tokens

if TYPE_CHECKING:
    from tests.demo_history.tools import Call, Outcome

INLINE_LIMIT = 30_000  # characters of output that may stand in a line
PREVIEW = 2_000
ACCEPTED = {"decision": "accept", "source": "config", "reasonType": "rule", "ruleSource": "settings"}


@dataclass(slots=True)
class Asked:
    """A tool call that has been written and waits for its result."""

    call: Call
    tool_id: str
    line: str  # uuid of the tool_use line


class Conversation:
    """One page being written: a subagent's as it is, a session's with what `SessionWriter` adds."""

    def __init__(
        self, page: Page, *, model: str, session_files: SessionFiles, bill: Bill, base_tokens: int, depth: int = 0
    ) -> None:
        self.page = page
        self.model = model
        self.session_files = session_files
        self.bill = bill
        self.depth = depth
        self.meter = Meter(page.dice, base_tokens, keep="1h" if page.era.version == "2.1.112" else "5m")
        self.ambient = Ambient(page, model)
        self.prompt_id = page.dice.uuid()
        self.hooks = False
        self.agent_kind: str | None = None
        self.final_text = ""
        self.last_usage = Usage()
        self.tool_names: list[str] = []

    @property
    def era(self) -> Era:
        """The habits of the client that writes."""
        return self.page.era

    def wait(self, seconds: float = 0, *, minutes: float = 0, hours: float = 0) -> None:
        """Let time pass."""
        self.page.clock.tick(seconds + 60 * minutes + 3600 * hours)

    # -- answers ------------------------------------------------------------------------------------------------------

    def tool(self, call: Call, text: str = "", *, thinking: str | None = None, queued: str | None = None) -> None:
        """Answer with one tool call and write its result."""
        self.tools(call, text=text, thinking=thinking, queued=queued)

    def tools(
        self,
        *calls: Call,
        text: str = "",
        thinking: str | None = None,
        order: Sequence[int] | None = None,
        interleave: bool | None = None,
        queued: str | None = None,
    ) -> None:
        """Answer with several calls at once.

        Results are written in `order`, each between the tool_use lines when `interleave` (2.1.325 only; by chance when left
        out); `queued` is what the user typed meanwhile.
        """
        if interleave is None:
            interleave = order is None and len(calls) > 1 and self.page.dice.random() < 0.5
        between = interleave and self.era.requests
        asked = self.write_answer(text=text, thinking=thinking, calls=calls, results_between=between)
        if queued is not None:
            self.page.clock.tick(2)
            self.enqueue(queued)
        if not between:
            for index in order if order is not None else range(len(asked)):
                self.write_result(asked[index])
        if queued is not None:
            self.deliver(queued)

    def reply(self, text: str, *, thinking: str | None = None) -> None:
        """Answer in words and end the turn."""
        self.final_text = text
        self.write_answer(text=text, thinking=thinking)

    def unanswered(self, call: Call, text: str = "") -> None:
        """Ask for a tool call that never gets a result: the client was killed meanwhile."""
        self.write_answer(text=text, calls=[call])

    def write_answer(
        self,
        *,
        text: str = "",
        thinking: str | None = None,
        calls: Sequence[Call] = (),
        results_between: bool = False,
        redacted: bool = False,
    ) -> list[Asked]:
        """Write one API answer, a line for each block, and give the calls that wait for results."""
        dice, page = self.page.dice, self.page
        blocks: list[Json] = []
        if redacted:
            blocks.append({"type": "redacted_thinking", "data": dice.signature()})
        if thinking is not None:
            blocks.append({"type": "thinking", "thinking": thinking, "signature": dice.signature()})
        if text:
            blocks.append({"type": "text", "text": text})
        asked: list[Asked] = []
        outcomes = [call.outcome(self.era) for call in calls]
        for call in calls:
            block: Json = {"type": "tool_use", "id": dice.tool_id(), "name": call.name, "input": call.input}
            if self.era.version == "2.1.112":
                block["caller"] = {"type": "direct"}
            blocks.append(block)
        hidden = dice.randrange(40, 400) if thinking == "" else 0
        output = sum(tokens(dump(block).decode()) for block in blocks if block["type"] != "thinking") + hidden
        output += tokens(thinking) if thinking else 0
        page.clock.tick(dice.uniform(0.6, 3.0))
        reference = self.ambient.request()
        page.clock.tick(1.5 + output / 70)
        searches = sum(outcome.web_searches for outcome in outcomes)
        usage = self.meter.request(page.clock.now, output, thinking=hidden, web_searches=searches)
        self.last_usage = usage
        self.bill.add(self.model, usage)
        self.bill.api_ms += int(1500 + output * 14)
        self._note_tools(calls)
        stop = "tool_use" if calls else "end_turn"
        figures = self._figures(usage, stop, len(blocks))
        ids = {"message": dice.message_id(), "request": dice.request_id()}
        for index, block in enumerate(blocks):
            line_usage, line_stop = figures[index]
            line = self.write_line(block, index, ids, line_usage, line_stop, reference)
            page.clock.tick(0.04 if self.era.regime == Regime.FINAL else dice.uniform(0.1, 1.2))
            if block["type"] == "tool_use":
                waiting = Asked(calls[len(asked)], block["id"], line)
                asked.append(waiting)
                if results_between:
                    self.write_result(waiting)
        self.ambient.say("assistant", blocks)
        return asked

    def _figures(self, usage: Usage, stop: str, count: int) -> list[tuple[Json, str | None]]:
        final = usage.shape(self.era, final=True)
        opening = usage.shape(self.era, final=False)
        if self.era.regime == Regime.FINAL:
            return [(final, stop)] * count
        if self.era.regime == Regime.OPENING or self.page.dice.random() < 0.5:
            return [(opening, None)] * count
        return [(final, None if index == 0 and count > 1 else stop) for index in range(count)]

    def write_line(
        self,
        block: Json,
        index: int,
        ids: dict[str, str],
        usage: Json,
        stop: str | None,
        reference: str | None,
        **more: object,
    ) -> str:
        """Write one block of an answer as its own line."""
        head = {"id": ids["message"], "type": "message", "role": "assistant"}
        ends: Json = {"content": [block], "stop_reason": stop, "stop_sequence": None}
        if not self.era.attachments:
            message: Json = {**head, "model": self.model, **ends, "usage": usage}
        elif not self.era.requests:
            message = {"model": self.model, **head, **ends, "stop_details": None, "usage": usage}
        else:
            message = {**head, "model": self.model, **ends, "usage": usage, "stop_details": None}
        body: Json = {"message": message}
        tail: Json = dict(more)
        if self.era.requests:
            if block["type"] == "tool_use":
                body["toolInputStreamMs"] = 1 + len(dump(block)) // 60
            if block["type"] == "thinking":
                body |= {"thinkingDurationMs": self.page.dice.randrange(200, 6000), "thinkingDisplay": "omitted"}
            body |= {"apiBlockIndex": index, "requestId": ids["request"], "requestRef": reference}
            body |= {"requestedModel": self.model, "promptCacheRequested": self.meter.keep}
            if self.agent_kind:
                body["attributionAgent"] = self.agent_kind
            tail |= {"effort": "medium", "perTurnEffort": "medium", "madeBy": "model"}
        else:
            body["requestId"] = ids["request"]
        return self.page.put({**body, "type": "assistant"}, tail=tail)

    def _note_tools(self, calls: Sequence[Call]) -> None:
        new = [call.name for call in calls if call.name not in self.tool_names]
        self.tool_names += list(dict.fromkeys(new))
        if new and self.era.requests:
            self.page.note({"type": "tools-used", "tools": list(self.tool_names), "sessionId": self.page.session_id})

    # -- results ------------------------------------------------------------------------------------------------------

    def write_result(self, asked: Asked) -> None:
        """Write the result of a call, with the progress and hook lines around it."""
        call, page = asked.call, self.page
        outcome = call.outcome(self.era)
        self._progress(asked, outcome)
        page.clock.tick(call.seconds)
        self.bill.tool_ms += int(call.seconds * 1000)
        self.bill.lines_added += outcome.added
        self.bill.lines_removed += outcome.removed
        self.session_files.keep(page, call, outcome, asked.line)
        content, result = self._fit(asked, outcome)
        block: Json = {"tool_use_id": asked.tool_id, "type": "tool_result", "content": content}
        if outcome.error:
            block = {"type": "tool_result", "content": content, "is_error": True, "tool_use_id": asked.tool_id}
        elif call.name == "Bash":
            block["is_error"] = False
        tail: Json = {}
        if page.agent_id is None or not self.era.own_parents:
            tail["toolUseResult"] = result
        tail |= outcome.extra if self.era.requests else {}
        if self.era.own_parents:
            tail["sourceToolAssistantUUID"] = asked.line
        if self.era.requests and not outcome.error:
            tail["permissionDecision"] = ACCEPTED
        parent = asked.line if self.era.own_parents else page.tip
        line = page.put_user([block], self.prompt_id, tail=tail, parent=parent)
        self.meter.add(tokens(dump(content).decode()))
        self.ambient.say("user", [block])
        if self.hooks:
            self._hook("PostToolUse", call.name, asked.tool_id, line)

    def _fit(self, asked: Asked, outcome: Outcome) -> tuple[object, object]:
        content, result = outcome.content, outcome.result
        if not (outcome.overflow and isinstance(content, str) and len(content) > INLINE_LIMIT):
            return content, result
        if self.era.spill == Spill.CUT:
            cut = content[:INLINE_LIMIT] + f"\n\n... [{len(content) - INLINE_LIMIT} characters truncated] ..."
            return cut, {**result, "stdout": cut}
        by_task = self.era.spill == Spill.BY_TASK
        name = self.page.dice.task_id() if by_task else asked.tool_id
        path = self.session_files.tool_result(self.page, f"{name}.txt", content)
        size = len(content.encode())
        shown = (
            f"<persisted-output>\nOutput too large ({size / 1024:.1f}KB). Full output saved to: {path}\n\n"
            f"Preview (first 2KB):\n{content[:PREVIEW]}\n...\n</persisted-output>"
        )
        if by_task:
            result = {
                **result,
                "stdout": content[:INLINE_LIMIT],
                "persistedOutputPath": path,
                "persistedOutputSize": size,
            }
        return shown, result

    def _progress(self, asked: Asked, outcome: Outcome) -> None:
        if not self.era.progress or self.page.agent_id:
            return
        steps: list[Json] = []
        if asked.call.name == "Bash" and asked.call.seconds > 2 and isinstance(outcome.content, str):
            lines = outcome.content.split("\n")
            for second in range(2, min(int(asked.call.seconds), 8)):
                shown = "\n".join(lines[: len(lines) * second // int(asked.call.seconds + 1)][:60])
                data = {"type": "bash_progress", "output": shown[-400:], "fullOutput": shown}
                steps.append(
                    {**data, "elapsedTimeSeconds": second, "totalLines": shown.count("\n"), "timeoutMs": 120000}
                )
        elif asked.call.name.startswith("mcp__"):
            _, server, tool = asked.call.name.split("__")
            ends = {"type": "mcp_progress", "serverName": server, "toolName": tool}
            steps += [{**ends, "status": status} for status in ("started", "completed")]
        parent = asked.line
        for number, data in enumerate(steps):
            kind = asked.tool_id if data["type"] == "mcp_progress" else f"bash-progress-{number}"
            body = {"type": "progress", "data": data, "toolUseID": kind, "parentToolUseID": asked.tool_id}
            parent = self.page.put(body, parent=parent)

    def _hook(self, event: str, tool: str, tool_id: str, line: str) -> None:
        name = f"{event}:{tool}"
        if self.era.progress:
            data = {"type": "hook_progress", "hookEvent": event, "hookName": name, "command": "callback"}
            body = {"type": "progress", "data": data, "parentToolUseID": tool_id, "toolUseID": tool_id}
            self.page.put(body, parent=line)
        elif self.era.attachments:
            ran: Json = {
                "type": "hook_success",
                "hookName": name,
                "toolUseID": tool_id,
                "hookEvent": event,
                "content": "formatted",
            }
            ran |= {"stdout": "formatted\n", "stderr": "", "exitCode": 0, "command": "make format", "durationMs": 41}
            attach(self.page, ran, f"{name} hook success: formatted")

    # -- prompts that arrive while tools run ----------------------------------------------------------------------------

    def enqueue(self, text: str) -> None:
        """Write that a prompt was typed, or a notice came, while the model works."""
        if self.era.snapshots:
            self.page.note_queue("enqueue", content=text)

    def deliver(self, text: str, kind: str = "human") -> None:
        """Write that a queued prompt reached the model in mid-turn."""
        if not self.era.snapshots:
            return
        page = self.page
        source, delivery = page.dice.uuid(), page.dice.uuid()
        told = {"content": text, "reason": "absorbed_mid_turn", "commandUuid": source, "deliveryId": delivery}
        page.note_queue("remove", **(told if self.era.requests else {}))
        self.meter.add(tokens(text))
        if not self.era.attachments:
            return
        attachment: Json = {"type": "queued_command", "prompt": text}
        if self.era.requests:
            attachment |= {"source_uuid": source, "delivery_id": delivery}
        attachment["commandMode"] = "prompt" if kind == "human" else "task-notification"
        attachment |= {"origin": {"kind": kind}, "timestamp": stamp(page.clock.now)}
        if self.era.requests and kind == "human":
            attachment["humanTurn"] = True
        attach(page, attachment, f"Sent by the user in the meantime:\n{text}")

    # -- agents -------------------------------------------------------------------------------------------------------

    @contextmanager
    def agent(
        self,
        description: str,
        prompt: str,
        *,
        kind: str = "general-purpose",
        background: bool = False,
        model: str | None = None,
        text: str = "",
    ) -> Iterator[Conversation]:
        """Hand work to a subagent and write its conversation inside the `with`."""
        subagent_task = SubagentTask(description, prompt, kind=kind, background=background, model=model)
        with self.agents(subagent_task, text=text) as helpers:
            yield helpers[0]

    @contextmanager
    def agents(self, *work: SubagentTask, text: str = "", thinking: str | None = None) -> Iterator[list[Conversation]]:
        """Hand work to several subagents in one answer; foreground results follow when the `with` ends."""
        calls = [subagents.call_of(subagent_task, self.era) for subagent_task in work]
        asked = self.write_answer(text=text, thinking=thinking, calls=calls)
        helpers = [self._helper(subagent_task, one) for subagent_task, one in zip(work, asked, strict=True)]
        for subagent_task, one, helper in zip(work, asked, helpers, strict=True):
            if subagent_task.background and self.era.agents != Agents.INLINE:
                one.call = subagents.launched(one.call, subagent_task, helper)
                self.write_result(one)
        yield helpers
        for subagent_task, one, helper in zip(work, asked, helpers, strict=True):
            subagents.close(self, subagent_task, one.tool_id, helper)
            if subagent_task.background and self.era.agents != Agents.INLINE:
                continue
            late = (helper.page.clock.now - self.page.clock.now).total_seconds()
            self.page.clock.tick(max(0.2, late))
            subagents.report_progress(self, one.tool_id, one.line, subagent_task, helper)
            one.call = subagents.finished(one.call, subagent_task, helper)
            self.write_result(one)

    def _helper(self, subagent_task: SubagentTask, asked: Asked) -> Conversation:
        page, dice = self.page, self.page.dice
        inline = self.era.agents == Agents.INLINE
        long_ids = self.era.attachments
        identity = None if inline else "a" + dice.hex(16 if long_ids else 6)
        helper_page = page.another(agent_id=identity, sidechain=True)
        if inline:
            helper_page.records = page.records
        model = subagent_task.model or (self.era.small_model if subagent_task.kind == "Explore" else self.model)
        helper = Conversation(
            helper_page,
            model=model,
            session_files=self.session_files,
            bill=self.bill,
            base_tokens=9_400,
            depth=self.depth + 1,
        )
        helper.prompt_id = self.prompt_id
        helper.agent_kind = subagent_task.kind
        helper_page.clock.tick(0.1)
        if identity is not None:
            self.session_files.pages[subagents.transcript_path(page, identity)] = helper_page
        subagents.begin(helper, subagent_task, asked.tool_id, parent=self)
        return helper
