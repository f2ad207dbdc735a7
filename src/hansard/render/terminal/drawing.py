"""Turns and items as lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hansard.lazy_regex import lazy_compile
from hansard.model.display import Checklist, Code, Part, Picture, Plain, Prose
from hansard.render.depth import OTHER_BRANCH, TYPED, Depth, not_shown, repeats_subject
from hansard.render.format import (
    TASK,
    agent_counts,
    call_facts,
    clock,
    cost,
    local,
    many,
    model_name,
    short,
    turn_facts,
)
from hansard.render.terminal import prose
from hansard.render.terminal.parts import Board, rows_in
from hansard.render.terminal.spans import BOLD, CYAN, DIM, GREEN, MAGENTA, RED, YELLOW
from hansard.render.text import clean, fit, one_line, width

if TYPE_CHECKING:
    from datetime import date

    from hansard.model.display import CallFacts, DisplayThread, Item, Turn
    from hansard.model.threads import Agent
    from hansard.model.tools import ToolKind

_MODEL = frozenset({"reply", "thinking", "tool"})
_ASIDE_LINES = 6
_SUMMARY_LINES = 8
_TYPED_LINES = 200  # of a prompt
_ERROR_LINES = 6
_RULE = 110  # columns of a line across, at most
_NARROWEST = 40  # columns: a subagent gets no margin where less would be left
_SLOW = 1000  # milliseconds; shorter durations are not shown
_HEX = lazy_compile("[0-9a-f]{8,}")
_TASKS: frozenset[ToolKind] = frozenset({"task_create", "task_update"})  # their results repeat what they were given
_NUMBER = lazy_compile(r"#(\d{1,9})\b")


class Drawing:
    """Draws a thread; `command` is what to type to show its session, `speaker` what the model is called."""

    def __init__(self, board: Board, depth: Depth, command: str, speaker: str, *, agent: Agent | None = None) -> None:
        self.board = board
        self.speaker = speaker
        self.depth = depth
        self.command = command
        self.agent = agent
        self.hidden: Counter[str] = Counter()
        self._text = board.narrower(2)
        self._inner = board.narrower(4)
        self._speaker = self._before = self._model = self._minute = ""
        self._day: date | None = None
        self._tasks: dict[str, str] = {}  # by their numbers
        self._replaced: dict[int, str] = {}  # the first words of each branch that was passed over

    # -- turns

    def turn(self, turn: Turn, *, branch: int | None = None) -> Iterator[str]:
        """A turn, on the given branch or the main line; empty if it has no items there."""
        items = [item for item in turn.items if item.branch == (branch or 0)]
        for item in turn.items:
            if item.branch != (branch or 0):
                self.pass_over(item)
        if not items:
            return
        yield ""
        yield self.header(turn)
        self._speaker = ""
        for item in items:
            yield from self.item(item)

    def header(self, turn: Turn, *, finished: bool = True) -> str:
        when = clock(turn.started_at)
        if turn.started_at is not None and (day := local(turn.started_at).date()) != self._day:
            self._day = day
            when = f"{day.year:04}-{day:%m-%d} {when}"
        self._minute = clock(turn.started_at)
        facts = measures(turn) if finished else []
        parts = [f"Turn {turn.number}", *filter(None, (when, *facts))]
        if len(parts) > 3 and sum(map(len, parts)) + 3 * len(parts) > self.board.columns - 3:
            del parts[-2]  # how much was read and written
        return self.rule(" · ".join(parts))

    def rule(self, text: str, before: str = "── ", style: str = DIM) -> str:
        """Words on a line across."""
        text = fit(text, self.board.columns - len(before) - 3)
        rest = "─" * max(2, min(self.board.columns, _RULE) - width(text) - len(before) - 1)
        return self.board.paint(f"{before}{text} {rest}", style)

    def pass_over(self, item: Item) -> None:
        """Count an item of another branch."""
        self.hidden[OTHER_BRANCH] += 1
        if item.branch not in self._replaced:
            self._replaced[item.branch] = fit(one_line("".join(_texts(item)[:1])[:200]), 40)

    # -- items

    def item(self, item: Item, *, whole: bool = False) -> Iterator[str]:
        """An item below the previous one; `whole` shows it in full at any depth."""
        if not whole and not self.depth.shows(item.kind):
            self.hidden[item.kind] += 1
            return
        if item.forks:
            yield ""
            yield self.rule(f"replaced here: {', '.join(map(self._fork, item.forks))}")
            self._speaker = ""
        who = self._who(item)
        if who and (who != self._speaker or item.kind in TYPED):
            yield ""
            yield self._label(who, item)
        elif "tool" not in (item.kind, self._before) or item.kind != self._before:
            yield ""
        self._speaker = "" if item.kind in ("compaction", "summary") else who or self._speaker
        self._before = item.kind
        yield from self._body(item, full=whole or self.depth.is_full)

    def answer(self, item: Item, *, again: bool) -> Iterator[str]:
        """The result of a call that was drawn without it; with `again`, the call is repeated."""
        if not self.depth.shows(item.kind):
            return
        results = [] if again else list(self._results(item, full=self.depth.is_full))
        yield from results or self.item(item)

    def closing(self, turn: Turn) -> Iterator[str]:
        """Duration and usage of a turn, below it."""
        if facts := measures(turn):
            yield ""
            yield "  " + self.board.paint(fit(" · ".join(facts), self._text.columns), DIM)

    def forget(self) -> None:
        self._speaker = ""

    def _fork(self, branch: int) -> str:
        words = self._replaced.get(branch)
        return self.branch_hint(branch) + (f" ({words})" if words else "")

    # -- hints

    def more_hint(self) -> str:
        """How to see the rest of a text that was cut."""
        return "--depth all"

    def branch_hint(self, branch: int) -> str:
        return f"{self.command} --branch {branch}"

    def agent_hint(self, agent: Agent) -> str:
        return f"{self.command} --agent {_name(agent)}"

    def _who(self, item: Item) -> str:
        if item.kind in TYPED:
            return "You" if self.agent is None else TASK
        if item.kind in _MODEL:
            return self.speaker if self.agent is None else "Agent"
        return ""

    def _label(self, who: str, item: Item) -> str:
        facts = []
        if (minute := clock(item.at)) != self._minute:
            self._minute = minute
            facts.append(minute)
        if item.queued:
            facts.append(f"queued while {self.speaker} was working")
        if item.kind in _MODEL and item.model and item.model != self._model:
            self._model = item.model
            facts.append(fit(model_name(item.model), 30))
        name = self.board.paint(who, f"{BOLD};{CYAN if item.kind in TYPED else MAGENTA}")
        tail = fit("  ".join(filter(None, facts)), self.board.columns - len(who) - 2)
        return f"{name}  {self.board.paint(tail, DIM)}" if tail else name

    def _body(self, item: Item, *, full: bool) -> Iterator[str]:
        text = "\n".join(_texts(item))
        if item.kind == "tool":
            yield from self._tool(item, full=full)
            return
        if item.kind == "reply" or (item.kind == "prompt" and self.agent is not None):
            yield from _indented(2, prose.draw(clean(text).strip("\n"), self._text.columns, colours=self.board.colours))
        elif item.kind == "thinking":
            yield from self._marked("thinking", text, None)
        elif item.kind == "compaction":
            yield self.rule(one_line(text))
        elif item.kind == "summary":
            yield from self._cut(text, None if full else _SUMMARY_LINES, DIM)
        elif item.kind == "error":
            yield from self._cut(f"✗ {text}", None, RED)
        elif item.kind == "interruption":
            yield from self._cut(text, None, YELLOW)
        elif item.kind in TYPED:
            yield from self._cut(text, None if full else _TYPED_LINES, CYAN if item.kind != "prompt" else "")
        elif item.kind == "output":
            yield from self._parts(item.parts, full=full, most=_ASIDE_LINES)
        else:
            yield from self._marked(item.kind, text, None if full else _ASIDE_LINES)
        for part in item.parts:
            if isinstance(part, Picture):
                yield from _indented(2, self._text.part(part))

    def _marked(self, label: str, text: str, most: int | None) -> Iterator[str]:
        """A note with its label."""
        yield from self._cut(f"[{one_line(label)}] {text.strip()}", most, DIM)

    def _cut(self, text: str, most: int | None, style: str) -> Iterator[str]:
        lines = self._text.words(text, style)
        shown = lines[:most]
        yield from _indented(2, shown)
        if len(lines) > len(shown):
            more = f"… {many(len(lines) - len(shown), 'more line')} ({self.more_hint()})"
            yield "  " + self.board.paint(more, DIM)

    def _parts(self, parts: tuple[Part, ...], *, full: bool, most: int) -> Iterator[str]:
        for part in parts:
            if not isinstance(part, Picture):
                yield from _indented(2, self._text.part(part) if full else self._text.brief(part, DIM, most))

    # -- tool calls

    def _tool(self, item: Item, *, full: bool) -> Iterator[str]:
        board = self.board
        mark = board.paint("✗", RED) if item.is_error else board.paint("•", GREEN)
        facts = call_facts(item.facts if full else _brief(item.facts))
        if not full:
            facts += [many(rows_in(part), "line") for part in item.results if self._is_file(part, item)]
        name = fit(one_line(item.title), board.columns // 2)
        tail = fit("  ".join(facts), board.columns // 2 - 8)
        room = board.columns - width(name) - width(tail) - 7
        subject = self._about(item)
        shown = fit(subject, room) if room > 8 else ""
        pieces = [f"{mark} {board.paint(name, BOLD)}" + (f" {shown}" if shown else "")]
        yield "  " + "  ".join(pieces + ([board.paint(tail, DIM)] if tail else []))
        for part in item.parts:
            yield from _indented(4, self._given(part, item, full=full, is_cut=shown != subject))
        if item.thread is not None and item.thread.turns and self.depth.agents:
            yield from self._subagent(item.thread)
            yield from self._results(item, full=full)
            return
        yield from self._results(item, full=full)
        if item.thread is not None and item.thread.agent is not None:
            agent = item.thread.agent
            counts = ", ".join(agent_counts(agent))
            words = f"subagent ({counts}): {self.agent_hint(agent)}"
            yield from _indented(4, self._inner.lay([(DIM, words)]))

    def _about(self, item: Item) -> str:
        """The subject of a call; updates of a task repeat its title."""
        subject = one_line(item.subject)
        if item.facts.kind == "task_create":
            texts = (getattr(part, "text", "") for part in item.results)
            if made := next((found for text in texts if (found := _NUMBER.search(text[:200]))), None):
                self._tasks[made[1]] = subject
                return f"#{made[1]} {subject}"
        elif item.facts.kind == "task_update" and (found := _NUMBER.match(subject)) and found[1] in self._tasks:
            return f"{subject}: {self._tasks[found[1]]}"
        return subject

    def _given(self, part: Part, item: Item, *, full: bool, is_cut: bool) -> Iterator[str]:
        """The parts of a tool's input that are shown."""
        if repeats_subject(part, item) and not (is_cut and full):
            return
        if full and isinstance(part, Plain):
            if item.thread is None or not item.thread.turns:  # else it is shown there
                yield from self._inner.words(part.text, DIM)
        elif full or isinstance(part, Checklist) or (isinstance(part, Prose) and item.facts.kind == "plan"):
            yield from self._inner.part(part)

    def _results(self, item: Item, *, full: bool) -> Iterator[str]:
        lines: list[str] = []
        inner = self._inner.narrower(2)
        for part in item.results:
            if full:
                lines += inner.part(part)
            elif item.is_error:
                lines += inner.brief(part, RED, _ERROR_LINES)
            elif not self._is_file(part, item) and item.facts.kind not in _TASKS:
                lines += inner.brief(part)
        for number, line in enumerate(lines):
            yield f"    {self.board.paint('└', DIM) if not number else ' '} {line}".rstrip()

    def _is_file(self, part: Part, item: Item) -> bool:
        """Whether only its number of lines is shown."""
        return isinstance(part, Code) and item.facts.kind == "read" and not item.is_error

    # -- subagents

    def _subagent(self, thread: DisplayThread) -> Iterator[str]:
        margin = 6 if self.board.columns - 6 >= _NARROWEST else 0
        inner = Drawing(self.board.narrower(margin), self.depth, self.command, self.speaker, agent=thread.agent)
        bar = f"    {self.board.paint('│', DIM)} " if margin else ""
        for line in inner.thread(thread):
            yield f"{bar}{line}".rstrip()

    def thread(self, thread: DisplayThread) -> Iterator[str]:
        if thread.agent is not None:
            yield self.rule(agent_words(thread.agent))
        for turn in thread.turns:
            if len(thread.turns) > 1:
                yield from self.turn(turn)
                continue
            for item in turn.items:
                if item.branch:
                    self.pass_over(item)
                else:
                    yield from self.item(item)
        yield from self.left_out(thread.not_shown)

    def left_out(self, records: Mapping[str, int]) -> Iterator[str]:
        counts = not_shown(self.hidden, records)
        if counts:
            yield ""
            yield from self.board.lay([(DIM, f"Not shown: {counts}.")])


def agent_words(agent: Agent) -> str:
    about = ": ".join(filter(None, (one_line(agent.agent_type), one_line(agent.description))))
    return f"subagent {about}  {one_line(agent.agent_id)}"


def _name(agent: Agent) -> str:
    """A subagent's id for a command line, or the beginning of it that is enough."""
    from shlex import quote

    name = one_line(agent.agent_id)
    return name[:8] if _HEX.fullmatch(name) else quote(name)


def _texts(item: Item) -> list[str]:
    return [part.text for part in item.parts if not isinstance(part, (Picture, Checklist)) and hasattr(part, "text")]


def _brief(facts: CallFacts) -> CallFacts:
    """The facts of a short line."""
    is_slow = facts.duration_ms is not None and facts.duration_ms >= _SLOW
    return replace(facts, duration_ms=facts.duration_ms if is_slow else None, is_persisted=False)


def _indented(columns: int, lines: Iterator[str] | list[str]) -> Iterator[str]:
    for line in lines:
        yield (" " * columns + line).rstrip()


def measures(turn: Turn) -> list[str]:
    facts, given = turn_facts(turn)
    if turn.api_messages:
        facts += [
            f"{short(given)} in, {short(turn.tokens.output)} out",
            cost(turn.cost_usd, lower_bound=turn.is_lower_bound, unpriced=False),
        ]
    return facts
