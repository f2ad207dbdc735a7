"""A builder for sessions as a given client version would have written them.

    writer = SessionWriter("2.1.325", cwd="/home/mira/src/tidewater")
    writer.prompt("Why does the gauge test fail?")
    writer.tool(bash("pytest -q", "1 failed", exit_code=1), "I will run it.")
    with writer.agent("Find callers", "List the callers of read_gauge.", kind="Explore") as helper:
        helper.tool(grep("read_gauge", [("src/app.py", 12, "read_gauge()")]))
        helper.reply("One caller: src/app.py:12.")
    writer.reply("It expects metres and gets feet.")
    writer.save(tmp_path)

Any version will do: the habits are those of the era it falls in. Every method moves the clock on by itself; `wait` moves it
further. `writer.page.records` are the records so far and may be changed by hand; what the client has no word for is written
with `writer.page.note(record)`.
"""

from __future__ import annotations

import copy
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from tests.demo_history import records, subagents
from tests.demo_history.client import START, Agents, Clock, Dice, era_of, millis, stamp
from tests.demo_history.conversation import Asked, Conversation
from tests.demo_history.files import CONFIG, Json, Page, SessionFiles, SideFile, Typed, dump, write_sessions
from tests.demo_history.records import attach
from tests.demo_history.tools import Call, exit_plan_mode, failure
from tests.demo_history.usage import Bill, tokens

if TYPE_CHECKING:
    from datetime import datetime

BASE_TOKENS = 14_800  # system prompt and tools
LOST = "[Tool call interrupted: the client ended before a result was written. Nobody knows what came of it.]"


class SessionWriter(Conversation):
    """A session being written, with everything that belongs to it."""

    def __init__(
        self,
        version: str = "2.1.325",
        *,
        cwd: str = "/home/mira/src/tidewater",
        at: datetime = START,
        dice: Dice | None = None,
        seed: int = 7,
        session_id: str | None = None,
        model: str | None = None,
        branch: str = "main",
        interactive: bool = True,
        hooks: bool = False,
    ) -> None:
        era = era_of(version)
        dice = dice or Dice(seed)
        page = Page(
            era=era,
            version=version,
            dice=dice,
            clock=Clock(at),
            session_id=session_id or dice.uuid(),
            cwd=cwd,
            branch=branch,
            interactive=interactive,
        )
        super().__init__(
            page, model=model or era.models[0], session_files=SessionFiles(), bill=Bill(), base_tokens=BASE_TOKENS
        )
        self.hooks = hooks
        self.session_files.pages[self.path] = page
        self.started = at
        self.turn_started: datetime | None = None
        self.prompts = 0
        self.turns = 0
        self.opened = False
        self.first_prompt_id = ""  # of a fork: the one that the lines it copied have
        self.rewound = False
        self.permission_mode = "default"
        self.custom_title: str | None = None
        self.ai_title: str | None = None
        self.last_prompt: str | None = None
        self._lost: Asked | None = None  # the call that a killed client never answered

    @property
    def session_id(self) -> str:
        """The session's id."""
        return self.page.session_id

    @property
    def path(self) -> str:
        """The main transcript's path, relative to the config folder."""
        return f"projects/{self.page.project}/{self.page.session_id}.jsonl"

    def save(self, config_dir: str | Path) -> Path:
        """Write the session's files under a config folder and give the path of the main transcript."""
        write_sessions(config_dir, [self.session_files])
        return Path(config_dir) / self.path

    # -- what the user does -------------------------------------------------------------------------------------------

    def prompt(self, text: str, *, image: str | None = None, paste: str | None = None) -> str:
        """Write what the user asked and give the line's uuid; `image` is a PNG in base64, `paste` a long pasted text."""
        page = self.page
        page.clock.tick(page.dice.uniform(20, 300) if self.opened else 0.8)
        self._before_prompt(text if paste is None else f"{text}\n{paste}")
        content: object = text if paste is None else f"{text}\n{paste}"
        if image is not None:
            source = {"type": "base64", "media_type": "image/png", "data": image}
            content = [{"type": "image", "source": source}, {"type": "text", "text": text}]
        self._remember(text, paste, image)
        line = self.user_line(content, image=image is not None)
        self.last_prompt = text
        if self.rewound and self.era.requests:
            leaf = "00000000-0000-0000-0000-000000000000"
            page.note({"type": "last-prompt", "leafUuid": leaf, "explicit": True, "sessionId": page.session_id})
        self.rewound = False
        if not self.opened:
            self.opened = True
            self.ambient.opening()
        return line

    def user_line(self, content: object, *, image: bool = False) -> str:
        """Write a user line that begins a turn."""
        page = self.page
        uuid = page.dice.uuid()
        self.prompts += 1
        self.turns += 1
        self.turn_started = page.clock.now
        prompt_id = page.dice.uuid()  # drawn in any case, so that a seed goes on giving the same history
        self.prompt_id, self.first_prompt_id = self.first_prompt_id or prompt_id, ""
        if self.era.snapshots and page.interactive:
            self.session_files.snapshot(page, uuid)
        tail: Json = {}
        if image and self.era.snapshots:
            tail["imagePasteIds"] = [1]
        if not self.era.attachments and self.era.snapshots and page.interactive:
            tail |= {"thinkingMetadata": {"level": "high", "disabled": False, "triggers": []}, "todos": []}
        if self.era.own_parents:
            tail["permissionMode"] = self.permission_mode
        if self.era.requests:
            human = page.interactive
            tail |= {"origin": {"kind": "human"}} if human else {}
            tail |= {"promptSource": "typed" if human else "sdk", "turnOrigin": "human" if human else "sdk"}
            tail["turnPosition"] = {"promptIndex": self.prompts, "turnIndex": self.turns}
        page.put_user(content, self.prompt_id, tail=tail, uuid=uuid)
        self.meter.add(tokens(dump(content).decode()) if not image else 1600)
        self.ambient.say("user", content)
        return uuid

    def _before_prompt(self, text: str) -> None:
        page = self.page
        if not self.opened:
            if page.interactive:
                self.state_lines()
            if self.hooks:
                records.session_start_hook(page, "startup")
        elif page.interactive and not self.rewound:
            self.closing_lines()
        if not page.interactive and self.era.snapshots:
            if self.era.attachments:
                self.enqueue(text)
            page.note_queue("dequeue")

    def _remember(self, text: str, paste: str | None, image: str | None) -> None:
        page = self.page
        if not page.interactive:
            return
        display, pasted = text, {}
        if paste is not None:
            digest = hashlib.sha256(paste.encode()).hexdigest()[:16]
            display = f"{text} [Pasted text #1 +{paste.count(chr(10))} lines]"
            if self.era.attachments:
                pasted = {"1": {"id": 1, "type": "text", "contentHash": digest}}
                self.session_files.files[f"paste-cache/{digest}.txt"] = SideFile(paste.encode(), 0o600, page.clock.now)
            else:
                pasted = {"1": {"id": 1, "type": "text", "content": paste}}
        if image is not None:
            display = f"[Image #1] {text}"
        self._typed(display, pasted)

    def _typed(self, display: str, pasted: Json | None = None) -> None:
        page = self.page
        identity = page.session_id if self.era.snapshots else None
        self.session_files.typed.append(Typed(page.clock.now, display, page.cwd, identity, pasted or {}))

    def reply(self, text: str, *, thinking: str | None = None) -> None:
        """Answer in words and end the turn."""
        super().reply(text, thinking=thinking)
        self.end_turn()

    def end_turn(self) -> None:
        """Write what newer clients write when a turn is over."""
        page = self.page
        if self.hooks:
            records.stop_hook(page)
        if self.era.attachments and page.interactive and self.turn_started is not None:
            spent = int((page.clock.now - self.turn_started).total_seconds() * 1000)
            body = {"type": "system", "subtype": "turn_duration", "durationMs": spent}
            page.put({**body, "messageCount": len(page.records)}, tail={"isMeta": False})
        self.turn_started = None

    def state_lines(self) -> None:
        """Write the titles and modes that newer clients repeat again and again."""
        page = self.page
        session = {"sessionId": page.session_id}
        if self.custom_title and self.era.snapshots:
            page.note({"type": "custom-title", "customTitle": self.custom_title, **session})
            if self.era.attachments:
                page.note({"type": "agent-name", "agentName": self.custom_title, **session})
        if not self.era.attachments:
            return
        if self.ai_title and not self.custom_title:
            page.note({"type": "ai-title", "aiTitle": self.ai_title, **session})
        if self.era.requests:
            page.note({"type": "mode", "mode": "normal", **session})
        page.note({"type": "permission-mode", "permissionMode": self.permission_mode, **session})
        if self.era.requests:
            page.note({"type": "atis-latch", "atis": "", **session})

    def closing_lines(self) -> None:
        """Write the metadata lines that end a run of the client and stand before most prompts."""
        if not self.era.attachments or not self.last_prompt:
            return
        record: Json = {"type": "last-prompt", "lastPrompt": self.last_prompt}
        if self.era.requests:
            record["leafUuid"] = self.page.tip
        self.page.note({**record, "sessionId": self.page.session_id})
        self.state_lines()

    def close(self) -> None:
        """End the run of the client: closing metadata and the bill."""
        self.closing_lines()
        if self.era.requests:
            records.cost_state(self.page, self.bill, self.started)

    def title(self, text: str, *, by: str = "user") -> None:
        """Name the session, by the user's /rename or by the client itself (`by="ai"`)."""
        if by == "ai":
            self.ai_title = text
        else:
            self.custom_title = text
            if self.era.requests:
                path = f"projects/{self.page.project}/{self.session_id}/custom-title.json"
                self.session_files.files[path] = SideFile(dump({"customTitle": text}), 0o600, self.page.clock.now)
        self.state_lines()

    def summary(self, text: str, leaf: str) -> None:
        """Write a title in the old way: for the conversation that ends in `leaf`, which may stand in another file."""
        self.page.note({"type": "summary", "summary": text, "leafUuid": leaf})

    def command(self, name: str, args: str = "", stdout: str = "", *, body: str | None = None) -> None:
        """Run a slash command: a local one that prints, or with `body` one that becomes a prompt."""
        self.page.clock.tick(self.page.dice.uniform(4, 30))
        self._typed(f"{name} {args}".strip())
        if body is None:
            records.local_command(self.page, name, args, stdout)
            return
        if not self.opened:
            self._before_prompt(name)
        bare = name.removeprefix("/")
        tags = f"<command-message>{bare}</command-message>\n<command-name>{name}</command-name>"
        self.user_line(tags + (f"\n<command-args>{args}</command-args>" if args else ""))
        self.page.put_user([{"type": "text", "text": body}], self.prompt_id, {"isMeta": True})
        self.last_prompt = f"{name} {args}".strip()
        if not self.opened:
            self.opened = True
            self.ambient.opening()

    def bang(self, command: str, stdout: str = "", stderr: str = "") -> None:
        """Run a shell command from the prompt with `!`."""
        self.page.clock.tick(self.page.dice.uniform(4, 30))
        self._typed(f"!{command}")
        if not self.era.requests:
            records.caveat(self.page)
        for text in (
            f"<bash-input>{command}</bash-input>",
            f"<bash-stdout>{stdout}</bash-stdout><bash-stderr>{stderr}</bash-stderr>",
        ):
            self.page.put_user(text, self.prompt_id)
            self.meter.add(tokens(text))

    def change_directory(self, cwd: str) -> None:
        """Have later lines carry another cwd; the file stays where it is."""
        self.page.cwd = cwd

    # -- what goes wrong ----------------------------------------------------------------------------------------------

    def interrupted(self, partial: str) -> None:
        """Write an answer that the user stopped with Esc: each era keeps another part of it."""
        records.interrupted_answer(self, partial)
        self.turn_started = None

    def api_error(self, status: int, kind: str, message: str, *, retries: int = 0) -> None:
        """Write retries and, without any left, the error shown to the user."""
        records.api_error(self.page, status, kind, message, retries)
        self.turn_started = None

    def killed(self, call: Call, text: str = "") -> None:
        """Ask for a call and die before its result."""
        self._lost = self.write_answer(text=text, calls=[call])[-1]
        self.turn_started = None

    # -- the life of a session ----------------------------------------------------------------------------------------

    def resume(self, *, hours: float = 5.0, cwd: str | None = None, clean: bool = True) -> None:
        """Start the client again on the same session after some hours; `clean=False` when it had been killed."""
        if clean:
            self.close()
        self.wait(hours=hours)
        if cwd:
            self.change_directory(cwd)
        page = self.page
        if self._lost is not None and self.era.requests:
            records.synthetic(page, "No response requested.")
            lost = self._lost
            lost.call = Call(lost.call.name, lost.call.input, lambda _: failure(LOST), 0.0)
            self.write_result(lost)
        elif self._lost is not None and not self.era.attachments:
            before = next(record for record in page.records if record.get("uuid") == self._lost.line)
            page.tip = before["parentUuid"]
        self._lost = None
        if self.era.agents == Agents.BESIDE:
            self.session_files.pages[f"projects/{page.project}/{page.dice.uuid()}.jsonl"] = page.another(
                session_id=page.dice.uuid()
            )
        if self.era.agents == Agents.INLINE and page.tip:
            debris = page.another(session_id=page.dice.uuid())
            debris.note({"type": "summary", "summary": self.ai_title or "Earlier work", "leafUuid": page.tip})
            self.session_files.pages[f"projects/{page.project}/{debris.session_id}.jsonl"] = debris
        if self.hooks:
            records.session_start_hook(page, "resume")

    def warmup(self) -> None:
        """Write the two stub agents that 2.0 left at each start."""
        if self.era.agents != Agents.BESIDE:
            return
        for number in range(2):
            self.page.dice.uuid()  # drawn so that a seed goes on giving the same history
            agent_id = "a" + self.page.dice.hex(6)
            stub = self.page.another(agent_id=agent_id, sidechain=True)
            self.session_files.pages[subagents.transcript_path(self.page, agent_id)] = stub
            helper = Conversation(
                stub,
                model=self.era.small_model,
                session_files=self.session_files,
                bill=self.bill,
                base_tokens=900,
                depth=1,
            )
            stub.put_user("Warmup", parent=None)
            if number == 0:
                helper.write_answer(text="Ready to look through the code.")

    def rewind(self, prompt: str) -> None:
        """Go back to before a prompt: nothing is written until the next one, which then hangs on an earlier line."""
        line = next(record for record in self.page.records if record.get("uuid") == prompt)
        self.page.tip = line["parentUuid"]
        self.wait(20)
        self.rewound = True

    def compact(self, summary: str, *, auto: bool = False, args: str = "") -> None:
        """Compact the conversation, by /compact or because the context was full."""
        records.compact(self, summary, auto=auto, args=args)

    def fork(self, *, hours: float = 1.0) -> SessionWriter:
        """Give the session that `--resume --fork-session` starts: the same lines under a new id."""
        return self._copied(hours, {})

    def branch(self, name: str) -> SessionWriter:
        """Give the session that `/branch` starts: the same lines, each naming where it came from."""
        other = self._copied(0.01, {"sessionId": self.session_id})
        other.bill = Bill()
        other.custom_title = name
        other.page.process_session = self.page.process_session
        other.title(name)
        records.local_command(other.page, "/branch", name, f'Branched conversation "{name}".')
        return other

    def _copied(self, hours: float, origin: Json) -> SessionWriter:
        page = self.page
        other = SessionWriter(
            page.version, cwd=page.cwd, at=page.clock.now, dice=page.dice, model=self.model, branch=page.branch
        )
        other.wait(hours=hours)
        other.page.project = page.project
        other.session_files.pages = {other.path: other.page}
        copied = [records.copied_line(record, other.page, origin) for record in page.records if "parentUuid" in record]
        prompts = [] if origin else [record for record in copied if "promptId" in record]
        for record in prompts:
            record["promptId"] = other.first_prompt_id = prompts[0]["promptId"]
        other.page.records[:] = copied
        other.page.tip, other.page.slug, other.page.interactive = page.tip, page.slug, page.interactive
        other.bill, other.meter = self.bill.copy(), copy.copy(self.meter)
        other.opened, other.prompts, other.last_prompt = self.opened, self.prompts, self.last_prompt
        other.tool_names = list(self.tool_names)
        other.session_files.backups = dict(self.session_files.backups)
        return other

    def clear(self) -> SessionWriter:
        """Give the session that `/clear` starts; newer clients note in the old one where it went on."""
        self.close()
        page = self.page
        other = SessionWriter(
            page.version, cwd=page.cwd, at=page.clock.now, dice=page.dice, model=self.model, branch=page.branch
        )
        other.page.process_session = page.process_session
        self._typed("/clear")
        if self.era.requests:
            record = {"type": "continued-in", "timestamp": stamp(page.clock.now), "sessionId": page.session_id}
            page.note({**record, "continuedInSessionId": other.session_id})
        if self.custom_title:
            other.title(self.custom_title)
        records.local_command(other.page, "/clear", "", "")
        return other

    # -- agents in the background, plans, worktrees ---------------------------------------------------------------------

    def notify(self, helper: Conversation, *, mid_turn: bool = False) -> None:
        """Tell that a background agent is done: as a turn of its own, or absorbed into the running one."""
        description, tool_id = self.session_files.finished[str(helper.page.agent_id)]
        late = (helper.page.clock.now - self.page.clock.now).total_seconds()
        self.page.clock.tick(max(0.5, late))
        text = subagents.notice(self.page, helper, description, tool_id)
        self.enqueue(text)
        if mid_turn:
            self.deliver(text, kind="task-notification")
            return
        self.page.note_queue("dequeue")
        self.turns += 1
        self.prompt_id = self.page.dice.uuid()
        tail: Json = {}
        if self.era.own_parents:
            tail["permissionMode"] = self.permission_mode
        if self.era.attachments:
            tail["origin"] = {"kind": "task-notification"}
        if self.era.requests:
            tail |= {"promptSource": "system", "turnOrigin": "task_notification"}
            tail["turnPosition"] = {"promptIndex": self.prompts, "turnIndex": self.turns}
        self.page.put_user(text, self.prompt_id, tail=tail)
        self.meter.add(tokens(text))
        self.ambient.say("user", text)
        self.turn_started = self.page.clock.now

    def plan(self, text: str) -> None:
        """Show a plan made in plan mode and have it approved."""
        self.page.slug = self.page.slug or self.page.dice.slug()
        path = f"{CONFIG}/plans/{self.page.slug}.md"
        if self.era.attachments:
            mode = {
                "type": "plan_mode",
                "reminderType": "full",
                "isSubAgent": False,
                "planFilePath": path,
                "planExists": False,
            }
            attach(self.page, mode, "Plan mode is on: look, think, write the plan, and change nothing yet.")
        self.permission_mode = "plan"
        self.state_lines()
        self.tool(exit_plan_mode(text, path), "Here is how I would do it.")
        self.permission_mode = "default"
        if self.era.attachments:
            left = {"type": "plan_mode_exit", "planFilePath": path, "planExists": True}
            attach(self.page, left, "Plan mode is off: the plan may be carried out.")

    def worktree(self, repository: str, name: str, commit: str) -> None:
        """Say that the session runs in a worktree of a repository."""
        if not self.era.attachments:
            return
        state = {"originalCwd": repository, "worktreePath": self.page.cwd, "worktreeName": name}
        state |= {"worktreeBranch": f"worktree-{name}", "originalBranch": "main", "originalHeadCommit": commit}
        state["sessionId"] = self.session_id
        self.page.note({"type": "worktree-state", "worktreeSession": state, "sessionId": self.session_id})

    def pull_request(self, number: int, repository: str) -> None:
        """Say that a pull request came out of the session."""
        if self.era.own_parents:
            url = f"https://github.com/{repository}/pull/{number}"
            record = {"type": "pr-link", "sessionId": self.session_id, "prNumber": number, "prUrl": url}
            self.page.note({**record, "prRepository": repository, "timestamp": stamp(self.page.clock.now)})

    def running(self, pid: int) -> None:
        """Leave the file of a client that is still running."""
        now = millis(self.page.clock.now)
        state = {"pid": pid, "sessionId": self.session_id, "cwd": self.page.cwd, "startedAt": millis(self.started)}
        state |= {
            "version": self.page.version,
            "kind": "interactive",
            "entrypoint": "cli",
            "updatedAt": now,
            "status": "busy",
        }
        self.session_files.files[f"sessions/{pid}.json"] = SideFile(dump(state), 0o600, self.page.clock.now)
