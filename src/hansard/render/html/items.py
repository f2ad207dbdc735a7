"""One item as HTML: what was said, or a tool call on one line with its input and result folded under it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta, tzinfo
from typing import TYPE_CHECKING

from hansard.model.display import PERSISTED, Code, Diff, Plain, Prose
from hansard.render.html.escaping import element_id, escaped, one_line
from hansard.render.html.figures import lasting, local, machine
from hansard.render.html.parts import LONG, parts_html

if TYPE_CHECKING:
    from hansard.model.display import CallFacts, Item, Part

# The kinds that a reader can show and hide; every item is of exactly one.
GROUPS = ("prompts", "replies", "thinking", "tools", "errors", "client")
_GROUP = {
    "prompt": "prompts",
    "command": "prompts",
    "bash": "prompts",
    "reply": "replies",
    "thinking": "thinking",
    "tool": "tools",
    "error": "errors",
}
_NAMES = {
    "output": "Output",
    "note": "Note",
    "notification": "Notification",
    "interruption": "Interrupted",
    "teammate": "Teammate",
    "error": "Error",
    "summary": "Summary",
    "thinking": "Thinking",
}
_ICONS = {
    "Bash": "shell", "BashOutput": "shell", "KillShell": "shell", "KillBash": "shell", "Read": "file", "NotebookRead": "file",
    "Write": "pen", "Edit": "pen", "MultiEdit": "pen", "NotebookEdit": "pen", "Grep": "lens", "Glob": "lens", "LS": "lens",
    "ToolSearch": "lens", "Task": "agent", "Agent": "agent", "TodoWrite": "list", "TaskCreate": "list", "TaskUpdate": "list",
    "TaskGet": "list", "TaskList": "list", "WebFetch": "web", "WebSearch": "web", "AskUserQuestion": "ask",
    "ExitPlanMode": "plan", "EnterPlanMode": "plan", "exit_plan_mode": "plan",
}  # fmt: skip
_OPEN = frozenset({"AskUserQuestion", "ExitPlanMode", "exit_plan_mode"})  # said to the user, so worth reading at once


@dataclass(frozen=True, slots=True)
class ItemContext:
    """Where an item stands: its id in the page, and the zone that its time is told in."""

    id: str
    zone: tzinfo


def item_id(anchor: str) -> str:
    """The id that an item has in a page: what a link to it names behind the #."""
    return element_id("m", anchor)


def group_of(item: Item) -> str:
    """Which of the groups an item belongs to."""
    return "errors" if item.is_error else _GROUP.get(item.kind, "client")


def item_html(item: Item, place: ItemContext, inside: str = "") -> str:
    """An item; `inside` is the drawn thread of the subagent that it started."""
    group = group_of(item)
    kind = item.kind if item.kind.isascii() and item.kind.isalpha() else "other"
    if item.kind == "reply" and not (item.results or inside or any(_says_something(part) for part in item.parts)):
        kind += " blank"
    name = "article" if group in ("prompts", "replies") else "div"
    return (
        f'<{name} class="item {kind} of-{group}" id="{place.id}">'
        f"{_permalink(item, place)}{_BODIES.get(item.kind, _said)(item, inside)}</{name}>"
    )


def _says_something(part: Part) -> bool:
    return not isinstance(part, (Prose, Plain)) or bool(part.text.strip())


def _permalink(item: Item, place: ItemContext) -> str:
    facts = [f"byte {item.offset:,} of its transcript, {item.length:,} long"]
    if item.model:
        facts.insert(0, item.model)
    if item.uuid:
        facts.append(item.uuid)
    told = escaped(" · ".join(facts))
    if item.at is None:
        return f'<a class="at" href="#{place.id}" title="{told}" aria-label="Link to this">#</a>'
    time = local(item.at, place.zone)
    return (
        f'<a class="at" href="#{place.id}" title="{told}">'
        f'<time datetime="{machine(item.at)}">{time.isoformat()[11:19]}</time></a>'
    )


def _queued(item: Item) -> str:
    return '<span class="badge">queued</span>' if item.queued else ""


def _prompt(item: Item, inside: str) -> str:
    return f'<div class="body">{_queued(item)}{parts_html(item.parts)}{inside}</div>'


def _reply(item: Item, inside: str) -> str:
    return f'<div class="body">{parts_html(item.parts)}{parts_html(item.results)}{inside}</div>'


def _folded(item: Item, inside: str) -> str:
    name = _NAMES.get(item.kind) or one_line(item.kind, 40)
    text = next((part.text for part in item.parts if isinstance(part, (Prose, Plain))), "")
    return (
        f'<details><summary><span class="name">{name}</span> <span class="subject">{one_line(text, 160)}</span></summary>'
        f'<div class="body">{parts_html(item.parts)}{parts_html(item.results)}{inside}</div></details>'
    )


def _tool(item: Item, inside: str) -> str:
    icon = _ICONS.get(item.title) or ("plug" if ": " in item.title else "tool")
    title = one_line(item.title, 80)
    subject = one_line(item.subject, 400)
    summary = (
        f'<i class="icon icon-{icon}" aria-hidden="true"></i><span class="name">{title}</span> '
        f'<span class="subject">{subject}</span> <span class="facts">{_facts(item.facts)}</span>'
    )
    given = parts_html(_unsaid(item))
    result = parts_html(item.results)
    if not (given or result or inside):
        return f'<p class="line">{summary}</p>'
    is_open = " open" if item.is_error or item.title in _OPEN or _is_small_change(item) else ""
    body = (f'<div class="given">{given}</div>' if given else "") + (
        f'<div class="result">{result}</div>' if result else ""
    )
    return f'<details{is_open}><summary>{summary}</summary><div class="body">{body}{inside}</div></details>'


def _unsaid(item: Item) -> tuple[Part, ...]:
    """A call's input without a command that its line already says in full."""
    return tuple(
        part
        for part in item.parts
        if not (
            isinstance(part, Code) and part.language == "bash" and len(part.text) < 80 and part.text == item.subject
        )
    )


def _is_small_change(item: Item) -> bool:
    diffs = [part for part in item.results if isinstance(part, Diff)]
    return bool(diffs) and sum(part.text.count("\n") + 1 for part in diffs) <= LONG


def _facts(facts: CallFacts) -> str:
    told: list[str] = []
    if facts.change is not None:
        added, removed = facts.change
        told.append(
            f'<span class="fact"><span class="plus">+{added}</span> <span class="minus">&minus;{removed}</span></span>'
        )
    if facts.duration_ms is not None:
        told.append(f'<span class="fact">{lasting(timedelta(milliseconds=facts.duration_ms))}</span>')
    if facts.outcome:
        bad = " bad" if facts.outcome == "failed" else ""
        told.append(f'<span class="fact{bad}" title="{facts.outcome}">{facts.outcome}</span>')
    if facts.is_persisted:
        told.append(f'<span class="fact" title="{PERSISTED}">{PERSISTED}</span>')
    return "".join(told)


def _rule(item: Item, inside: str) -> str:
    """A line across the page."""
    return f'<div class="rule">{parts_html(item.parts)}</div>{inside}'


def _said(item: Item, inside: str) -> str:
    """What the client said, quietly, under the name of its kind."""
    name = _NAMES.get(item.kind) or one_line(item.kind.replace("_", " ").capitalize(), 40)
    title = f" {one_line(item.title, 80)}" if item.title else ""
    subject = f" {one_line(item.subject, 200)}" if item.subject else ""
    parts = parts_html(item.parts) + parts_html(item.results) or '<span class="empty">none</span>'
    return f'<div class="body"><span class="name">{name}{title}</span>{_queued(item)}{subject}{_facts(item.facts)}{parts}{inside}</div>'


_BODIES = {
    "prompt": _prompt,
    "command": _prompt,
    "bash": _prompt,
    "reply": _reply,
    "thinking": _folded,
    "summary": _folded,
    "tool": _tool,
    "compaction": _rule,
}
