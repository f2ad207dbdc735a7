"""A conversation as text for the terminal."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hansard.cli.calls import call_name, input_text, key_argument, output_text
from hansard.cli.terminal import Paint, clean, fit, one_line, width, wrap
from hansard.cli.words import clock, duration, local, many, model_name, short, span

if TYPE_CHECKING:
    from hansard.model import Agent, Conversation, Entry, Fork, Session, ToolCall

_YOU = frozenset({"prompt", "command", "bash"})
_CLAUDE = frozenset({"reply", "thinking", "tool"})
_ASIDE = {"notification": "notification", "teammate": "teammate", "note": "note", "output": "output"}
_BRIEF_LINES = 3
_DIFF_LINES = 20
_ASIDE_LINES = 6
_SUMMARY_LINES = 8
_SUMMARY = re.compile(r"<summary>(.*?)</summary>", re.DOTALL)
_LONG = 20_000


@dataclass
class Style:
    """How a conversation is to be shown."""

    columns: int
    paint: Paint
    thinking: bool = False
    tools: str = "brief"
    branch: int | None = None
    here: range | None = None  # the entries that somebody looks for; the conversation is what stands around them
    found: str = ""  # what is said above them
    earlier: int = 0  # entries before the first and behind the last
    later: int = 0
    hidden: Counter[str] = field(default_factory=Counter)


def reading_lines(session: Session, conversation: Conversation, style: Style) -> Iterator[str]:
    """The lines of a conversation, from the title to what was not shown."""
    style.columns = min(style.columns, 120)  # longer lines are hard to read
    yield from _head(session, conversation, style)
    forks = {uuid: fork for fork in conversation.forks for uuid in fork.uuids}
    firsts = {entry.uuid: entry for entry in reversed(conversation.entries) if entry.uuid}
    speaker, before, day = "", "", None
    if style.earlier:
        yield ""
        yield _rule(f"… {many(style.earlier, 'earlier entry', 'earlier entries')}", style)
    for number, entry in enumerate(conversation.entries):
        here = style.here is not None and number in style.here
        if style.branch is None and entry.branch:
            style.hidden["on other branches"] += 1
            continue
        if entry.kind == "thinking" and not style.thinking and not here:
            style.hidden["thinking"] += 1
            continue
        if entry.kind == "tool" and style.tools == "none" and not here:
            style.hidden["tool calls"] += 1
            continue
        if entry.at is not None and local(entry.at).date() != day:
            if day is not None:
                yield ""
                yield _rule(f"{local(entry.at):%Y-%m-%d}", style)
                speaker = ""
            day = local(entry.at).date()
        if entry.uuid in forks:
            fork = forks.pop(entry.uuid)
            yield ""
            yield _fork(fork, firsts, style)
            speaker = ""
        if style.here is not None and number in (style.here.start, style.here.stop):
            speaker = ""
            if here:
                yield ""
                yield _rule(style.found, style, "▶ ", "bold")
        who = "You" if entry.kind in _YOU else "Claude" if entry.kind in _CLAUDE else ""
        if conversation.agent_id is not None and who:
            who = "Task" if who == "You" else "Agent"
        if who and (who != speaker or entry.kind == "prompt"):
            yield ""
            yield _speaker(who, entry, style)
        elif "tool" not in (entry.kind, before) or entry.kind != before:
            yield ""
        speaker = "" if entry.kind in ("compaction", "summary") else who or speaker
        before = entry.kind
        yield from _entry(entry, session, replace(style, tools="full") if here else style, first=who != "")
    if style.later:
        yield ""
        yield _rule(f"… {many(style.later, 'later entry', 'later entries')}", style)
    if style.here is None:
        yield from _foot(conversation, style)


def _head(session: Session, conversation: Conversation, style: Style) -> Iterator[str]:
    paint, columns = style.paint, style.columns
    agent = next((item for item in conversation.agents if item.agent_id == conversation.agent_id), None)
    title = one_line(session.title[:1000]) or "(untitled)"
    if agent is not None:
        title = f"{one_line(agent.description) or one_line(agent.agent_id)} ({one_line(agent.agent_type) or 'subagent'} of: {title})"
    yield from (paint(line, "heading") for line in wrap(title, columns)[:3])
    place = [one_line(session.project), one_line(session.branch), one_line(session.version)]
    yield from (paint(line, "dim") for line in wrap("  ".join(filter(None, place)), columns))
    if agent is not None:
        facts = [
            span(agent.started_at, agent.ended_at),
            many(agent.messages, "message"),
            many(agent.tool_calls, "tool call"),
        ]
    else:
        failed = f" ({session.tool_errors:,} failed)" if session.tool_errors else ""
        facts = [
            span(session.started_at, session.ended_at),
            many(session.prompts, "prompt"),
            many(session.messages, "message"),
            many(session.tool_calls, "tool call") + failed,
            f"{short(session.output_tokens)} tokens out",
        ]
        if session.lines_added or session.lines_removed:
            facts.append(
                f"+{session.lines_added:,} -{session.lines_removed:,} lines in {many(session.files_changed, 'file')}"
            )
    if facts[0] == "-":  # a saved stream has no times
        del facts[0]
    yield from (paint(line, "dim") for line in wrap(", ".join(facts), columns))
    gone = "  (gone from the source, kept here)" if session.source_state == "gone" else ""
    yield paint(one_line(session.session_id) + gone, "dim")


def _speaker(who: str, entry: Entry, style: Style) -> str:
    facts = [clock(entry.at)]
    if entry.queued:
        facts.append("queued while Claude worked")
    if who in ("Claude", "Agent") and entry.model:
        facts.append(model_name(entry.model))
    name = style.paint(who, "you" if who in ("You", "Task") else "claude")
    return f"{name}  {style.paint('  '.join(filter(None, facts)), 'dim')}"


def _rule(text: str, style: Style, before: str = "── ", colour: str = "dim") -> str:
    text = fit(text, style.columns - 8)
    return style.paint(f"{before}{text} " + "─" * max(2, style.columns - width(text) - len(before) - 1), colour)


def _fork(fork: Fork, firsts: dict[str, Entry], style: Style) -> str:
    others = []
    for branch, uuid in zip(fork.branches[1:], fork.uuids[1:], strict=True):
        entry = firsts.get(uuid)
        words = one_line(entry.text[:200]) if entry is not None else ""
        others.append(f"--branch {branch}" + (f" ({fit(words, 40)})" if words else ""))
    if style.branch:
        return _rule(f"branch {style.branch}, which the session did not go on with", style)
    return _rule(f"replaced here: {', '.join(others)}", style)


def _entry(entry: Entry, session: Session, style: Style, *, first: bool) -> Iterator[str]:
    if entry.kind == "tool" and entry.tool is not None:
        yield from _tool(entry.tool, session, style)
    elif entry.kind == "compaction":
        yield _rule(one_line(entry.text), style)
    elif entry.kind == "summary":
        yield from _cut(entry.text, style, _SUMMARY_LINES, "dim")
    elif entry.kind == "error":
        yield from _text(f"✗ {entry.text}", style, "red")
    elif entry.kind == "interruption":
        yield from _text(entry.text, style, "yellow")
    elif entry.kind == "thinking":
        yield from _text(entry.text, style, "dim")
    elif entry.kind in _ASIDE or not first:
        label = _ASIDE.get(entry.kind, entry.kind)
        text = entry.text if entry.kind == "output" else f"[{label}] {notice(entry.text)}"
        yield from _cut(text, style, _ASIDE_LINES, "dim")
    elif entry.kind in ("command", "bash"):
        yield from _text(entry.text, style, "cyan")
    else:
        yield from _text(entry.text, style)
    if entry.images:
        yield "  " + style.paint(f"[{many(entry.images, 'image or document', 'images or documents')}]", "dim")


def _text(text: str, style: Style, colour: str | None = None) -> Iterator[str]:
    for line in wrap(clean(text).strip("\n"), style.columns - 2):
        yield f"  {style.paint(line, colour) if colour else line}".rstrip()


def _cut(text: str, style: Style, most: int, colour: str) -> Iterator[str]:
    """The beginning of a long text, unless everything is wanted."""
    lines = wrap(clean(text).strip("\n"), style.columns - 2)
    shown = lines if style.tools == "full" else lines[:most]
    yield from (f"  {style.paint(line, colour)}".rstrip() for line in shown)
    if len(lines) > len(shown):
        yield "  " + style.paint(f"… {many(len(lines) - len(shown), 'more line')} (--tools full)", "dim")


def _tool(call: ToolCall, session: Session, style: Style) -> Iterator[str]:
    paint, columns = style.paint, style.columns - 4
    mark = paint("✗", "red") if call.is_error else paint("•", "green")
    name = fit(call_name(call), columns // 2)
    facts = []
    if call.change is not None:
        facts.append(f"+{call.added} -{call.removed}")
    if call.duration_ms is not None and call.duration_ms >= 1000:
        facts.append(duration(call.duration_ms))
    if call.output is None:
        facts.append("no result")
    tail = "  ".join(facts)
    room = columns - width(name) - width(tail) - 4
    argument = fit(key_argument(call, session.cwd), room) if room > 8 else ""
    parts = [f"{mark} {paint(name, 'bold')}" + (f" {argument}" if argument else "")] + (
        [paint(tail, "dim")] if tail else []
    )
    yield "  " + "  ".join(parts)
    if style.tools == "full":
        yield from _block(input_text(call), style, None)
    if call.patch is not None:
        yield from _diff(call.patch, style)
    if call.patch is None or call.is_error or style.tools == "full":
        yield from _block(output_text(call), style, "red" if call.is_error else "dim")
    if call.has_image:
        yield "    " + paint("[image]", "dim")
    if call.agent_id is not None:
        yield "    " + paint(f"subagent: --agent {one_line(call.agent_id)}", "dim")


def _block(text: str, style: Style, colour: str | None) -> Iterator[str]:
    """A result or an input under its call: brief, or all of it."""
    if not text:
        return
    columns = style.columns - 4
    full = style.tools == "full"
    lines = text.expandtabs(4).split("\n")
    shown = lines if full else lines[:_BRIEF_LINES]
    for line in shown:
        for piece in wrap(line, columns) if full else [fit(line, columns)]:
            yield f"    {style.paint(piece, colour) if colour else piece}".rstrip()
    if len(lines) > len(shown):
        yield "    " + style.paint(f"… {many(len(lines) - len(shown), 'more line')}", "dim")


def _diff(patch: str, style: Style) -> Iterator[str]:
    columns = style.columns - 4
    full = style.tools == "full"
    lines = clean(patch).expandtabs(4).split("\n")
    shown = lines if full else lines[:_DIFF_LINES]
    for line in shown:
        colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        for piece in wrap(line, columns) if full else [fit(line, columns)]:
            yield f"    {style.paint(piece, colour) if colour else piece}".rstrip()
    if len(lines) > len(shown):
        yield "    " + style.paint(f"… {many(len(lines) - len(shown), 'more line')}", "dim")


def _family(agents: Sequence[Agent]) -> list[Agent]:
    """Subagents in the order they started, each followed by those that it made."""
    children: dict[str | None, list[Agent]] = {}
    known = {agent.agent_id for agent in agents}
    for agent in agents:
        parent = agent.parent_agent if agent.parent_agent in known and agent.parent_agent != agent.agent_id else None
        children.setdefault(parent, []).append(agent)
    ordered: list[Agent] = []
    waiting = children.pop(None, [])[::-1]
    while waiting:
        agent = waiting.pop()
        ordered.append(agent)
        waiting += children.pop(agent.agent_id, [])[::-1]
    return ordered + [agent for left in children.values() for agent in left]  # a circle of parents is still shown


def _foot(conversation: Conversation, style: Style) -> Iterator[str]:
    paint, columns = style.paint, style.columns
    inside = _family([item for item in conversation.agents if not item.warmup]) if conversation.agent_id is None else []
    if inside:
        yield ""
        yield paint("Subagents", "heading")
        for agent in inside:
            words = f"{one_line(agent.agent_type) or 'subagent'}: {one_line(agent.description)}"
            counts = f"{many(agent.messages, 'message')}, {many(agent.tool_calls, 'tool call')}"
            indent = "  " * max(1, min(agent.depth, 4))
            name = fit(one_line(agent.agent_id), 20)
            yield f"{indent}{paint(name, 'cyan')}  {fit(words, columns - len(indent) - width(name) - width(counts) - 5)}  {paint(counts, 'dim')}"
    counts = not_shown(conversation, style.hidden)
    if counts:
        yield ""
        yield from (paint(line, "dim") for line in wrap(f"Not shown: {counts}.", columns))


def notice(text: str) -> str:
    """What a task's notification says, without the tags around it."""
    summary = _SUMMARY.search(text[:_LONG])
    return summary[1].strip() if summary and text.lstrip().startswith("<task-notification>") else text


def not_shown(conversation: Conversation, hidden: Counter[str]) -> str:
    """What a reader did not get to see, with counts."""
    parts = [f"{count:,} {one_line(name)}" for name, count in hidden.most_common()]
    rest = sum(conversation.not_shown.values())
    if rest:
        kinds = Counter(conversation.not_shown).most_common(4)
        named = ", ".join(f"{count:,} {one_line(name)}" for name, count in kinds)
        parts.append(
            f"{many(rest, 'record')} of the client's own ({named}{', …' if len(conversation.not_shown) > 4 else ''})"
        )
    return ", ".join(parts)
