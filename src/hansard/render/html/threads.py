"""The turns of a thread as HTML, item by item; subagents are inside the calls that started them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta, tzinfo
from itertools import groupby
from typing import TYPE_CHECKING

from hansard.model.display import PERSISTED, Code, Diff, Plain, Prose
from hansard.render.format import (
    agent_counts,
    clock,
    full,
    local,
    machine,
    many,
    short,
    timedelta_text,
    token_words,
    total_tokens,
    turn_time,
)
from hansard.render.format import cost as marked_cost
from hansard.render.html.escaping import element_id, escaped, one_line
from hansard.render.html.parts import part_html, parts_html
from hansard.render.html.prose import LONG, prompt_html

if TYPE_CHECKING:
    from hansard.model.display import CallFacts, DisplayThread, Item, Part, Turn
    from hansard.model.threads import Agent
    from hansard.model.tools import ToolKind

_PROMPTS = frozenset({"prompt", "command", "bash"})
# Groups of items that readers can show and hide; every item is in exactly one.
GROUPS = {
    "prompts": "Prompts",
    "replies": "Replies",
    "thinking": "Thinking",
    "tools": "Tools",
    "errors": "Errors",
    "client": "System notes",
}
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
_ICONS: dict[ToolKind, str] = {
    "shell": "shell", "shell_output": "shell", "read": "file", "write": "pen", "edit": "pen", "search": "lens",
    "tool_search": "lens", "fetch": "web", "web_search": "web", "spawn": "agent", "plan": "plan", "plan_mode": "plan",
    "todo": "list", "task_create": "list", "task_update": "list", "ask": "ask", "mcp": "plug",
}  # fmt: skip
_OPEN: frozenset[ToolKind] = frozenset({"ask", "plan"})  # addressed to the user, so open from the start


@dataclass(frozen=True, slots=True)
class Heading:
    """A turn as the outline names it."""

    number: int
    text: str  # escaped
    kind: str  # prompt, command, bash; empty: no prompt
    failed: bool
    replaced: bool


@dataclass(slots=True)
class Drawing:
    """State shared by the threads of one page: used ids, and headings for the outline."""

    zone: tzinfo
    headings: list[Heading] = field(default_factory=list)
    transcript: str = ""  # of the session's own thread
    _taken: set[str] = field(default_factory=set)

    def turns(self, turns: Iterable[Turn]) -> Iterator[str]:
        """The session's own turns; replaced branches are folded."""
        folded = 0
        before: date | None = None
        for turn in turns:
            self.transcript = self.transcript or turn.items[0].transcript
            branches = {item.branch for item in turn.items}
            branch = branches.pop() if len(branches) == 1 else 0
            if branch != folded:
                if folded:
                    yield "</details>"
                if branch:
                    yield self._branch(branch, turn.items, "")
                folded = branch
            self.headings.append(_heading(turn, replaced=bool(branch)))
            started = local(turn.started_at, self.zone) if turn.started_at else None
            first_of_day = started is not None and started.date() != before
            before = started.date() if started else before
            yield self._opening(turn, with_day=first_of_day)
            yield from self._items(turn.items, branch, "")
            yield "</section>"
        if folded:
            yield "</details>"

    def thread(self, thread: DisplayThread) -> str:
        name = thread.agent.agent_id if thread.agent is not None else ""
        place = self._own_id(element_id("a", name))
        out = [f'<details class="agent"{self._thread_attributes(thread)} id="{place}"><summary>']
        out += (_about(thread.agent), "</summary>")
        folded = 0
        for turn in thread.turns:
            branches = {item.branch for item in turn.items}
            branch = branches.pop() if len(branches) == 1 else 0
            if branch != folded:
                out.append("</details>" if folded else "")
                out.append(self._branch(branch, turn.items, name) if branch else "")
                folded = branch
            out.append('<section class="subturn">')
            out.append(f'<p class="spent">{_spent(turn)}</p>' if len(thread.turns) > 1 and _spent(turn) else "")
            out += self._items(turn.items, branch, name)
            out.append("</section>")
        out.append("</details>" if folded else "")
        out += (not_shown(thread.not_shown, folded=True), self._thread_end(thread), "</details>")
        return "".join(out)

    def _thread_attributes(self, thread: DisplayThread) -> str:  # noqa: ARG002 - for drawings that fetch its turns
        return ""

    def _thread_end(self, thread: DisplayThread) -> str:  # noqa: ARG002 - the same
        return ""

    def _opening(self, turn: Turn, *, with_day: bool) -> str:
        """The header of a turn: number, time and usage."""
        when = ""
        if turn.started_at is not None:
            stated = (full if with_day else clock)(turn.started_at, self.zone)
            when = f'<time datetime="{machine(turn.started_at)}">{stated}</time>'
        return (
            f'{self._section(turn)}<header class="turn-head"><h2><a href="#t{turn.number}"><span class="unseen">Turn </span>{turn.number}</a></h2>'
            f'<p class="spent">{when}{_spent(turn)}</p></header>'
        )

    def _section(self, turn: Turn, *, part: bool = False) -> str:
        """The element of a turn, or of its continuation; its class is an estimate of its height."""
        room = min(4, len(turn.items).bit_length() // 2)
        holds = " ".join(sorted({group_of(item) for item in turn.items}))
        kind, place = (
            ("turn part", f'"t{turn.number}~{turn.items[0].offset}" data-part')
            if part
            else ("turn", f'"t{turn.number}"')
        )
        return f'<section class="{kind} room-{room}" id={place} data-holds="{holds}" tabindex="-1">'

    def _items(self, items: Iterable[Item], branch: int, agent: str) -> Iterator[str]:
        """Items; those of other branches than the turn's are folded in place."""
        for other, run in groupby(items, key=lambda item: item.branch):
            inner = list(run)
            is_folded = bool(other) and other != branch
            if is_folded:
                yield self._branch(other, inner, agent)
            for item in inner:
                yield self._item(item, agent)
            if is_folded:
                yield "</details>"

    def _item(self, item: Item, agent: str) -> str:
        inside = self.thread(item.thread) if item.thread is not None else ""
        place = ItemContext(self._own_id(item_id(item.anchor)), self.zone)
        return self._switch(item, agent) + item_html(item, place, inside)

    def _switch(self, item: Item, agent: str) -> str:
        if not item.forks:
            return ""
        links = ", ".join(f'<a href="#{branch_id(agent, fork)}">show branch {fork}</a>' for fork in item.forks)
        return f'<p class="fork">What was here before was replaced: {links}</p>'

    def _branch(self, branch: int, items: Sequence[Item], agent: str) -> str:
        """Open a folded run of items of another branch."""
        text = next((text for item in items if (text := _words(item))), "")
        place = self._own_id(self._branch_id(branch, items, agent))
        return (
            f'<details class="branch" id="{place}"><summary><span class="name">{self._branch_name(branch)}</span> '
            f'<span class="subject">{one_line(text, 160)}</span></summary>'
        )

    def _branch_id(self, branch: int, items: Sequence[Item], agent: str) -> str:  # noqa: ARG002 - for drawings of windows
        return branch_id(agent, branch)

    def _branch_name(self, branch: int) -> str:
        return f"Replaced: branch {branch}"

    def _own_id(self, wanted: str) -> str:
        """A unique id; a call that is shown twice shows its subagent twice."""
        place, number = wanted, 1
        while place in self._taken:
            number += 1
            place = f"{wanted}~{number}"
        self._taken.add(place)
        return place


def branch_id(agent: str, branch: int) -> str:
    """The id of a branch in a page."""
    return element_id("b", f"{agent}-{branch}" if agent else str(branch))


def _words(item: Item) -> str:
    """The first text of an item."""
    return next((part.text for part in item.parts if isinstance(part, (Plain, Prose, Code)) and part.text.strip()), "")


def _heading(turn: Turn, *, replaced: bool) -> Heading:
    first = next((item for item in turn.items if item.kind in _PROMPTS), None)
    text = _words(first) if first is not None else ""
    failed = any(item.is_error for item in turn.items)
    if first is None:
        return Heading(turn.number, "before the first prompt" if turn.number == 1 else "", "", failed, replaced)
    return Heading(turn.number, one_line(text, 90) or "(no text)", first.kind, failed, replaced)


def _spent(turn: Turn) -> str:
    """The duration and usage of a turn."""
    facts: list[str] = []
    if time := turn_time(turn):
        facts.append(f"<span>{time}</span>")
    if turn.api_messages:
        used = escaped(f"{many(turn.api_messages, 'API message')}: {token_words(turn.tokens)}")
        facts.append(f'<span title="{used}">{short(total_tokens(turn.tokens))} tokens</span>')
        cost = (
            "no price known"
            if turn.cost_usd is None
            else marked_cost(turn.cost_usd, lower_bound=turn.is_lower_bound, unpriced=False)
        )
        facts.append(f"<span>{escaped(cost)}</span>")
    return "".join(facts)


def _about(agent: Agent | None) -> str:
    if agent is None:
        return '<i class="icon icon-agent" aria-hidden="true"></i><span class="name">Subagent</span>'
    facts = agent_counts(agent)
    if agent.started_at is not None and agent.ended_at is not None:
        facts.append(timedelta_text(agent.ended_at - agent.started_at))
    name = one_line(agent.agent_type, 60)
    listed = "".join(f'<span class="fact">{fact}</span>' for fact in facts)
    return (
        f'<i class="icon icon-agent" aria-hidden="true"></i><span class="name">Subagent {name}</span> '
        f'<span class="subject">{one_line(agent.description, 200)}</span> '
        f'<span class="facts">{listed}</span>'
    )


def not_shown(counts: dict[str, int], *, folded: bool = False) -> str:
    """Count the records that are not shown; their kinds follow, or are folded below."""
    if not counts:
        return ""
    summary = f"Not shown: {many(sum(counts.values()), 'record')}"
    listed = ", ".join(f"{count:,} {one_line(kind, 60)}" for kind, count in counts.items())
    if folded:
        return f'<details class="not-shown"><summary>{summary}</summary>{listed}</details>'
    return f'<p class="not-shown">{summary} ({listed})</p>'


# -- items


@dataclass(frozen=True, slots=True)
class ItemContext:
    """An item's id in the page, and the time zone it is shown in."""

    id: str
    zone: tzinfo
    attributes: str = ""  # of its element


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
    if item.kind == "reply" and not (item.results or inside or any(_has_content(part) for part in item.parts)):
        kind += " blank"
    name = "article" if group in ("prompts", "replies") else "div"
    return (
        f'<{name} class="item {kind} of-{group}" id="{place.id}"{place.attributes}>'
        f"{_permalink(item, place)}{_BODIES.get(item.kind, _client_note)(item, inside)}</{name}>"
    )


def _has_content(part: Part) -> bool:
    return not isinstance(part, (Prose, Plain)) or bool(part.text.strip())


def _permalink(item: Item, place: ItemContext) -> str:
    facts = [f"byte {item.offset:,} of its transcript, {item.length:,} long"]
    if item.model:
        facts.insert(0, item.model)
    if item.uuid:
        facts.append(item.uuid)
    title = escaped(" · ".join(facts))
    if item.at is None:
        return f'<a class="at" href="#{place.id}" title="{title}" aria-label="Link to this">#</a>'
    time = local(item.at, place.zone)
    return (
        f'<a class="at" href="#{place.id}" title="{title}">'
        f'<time datetime="{machine(item.at)}">{time.isoformat()[11:19]}</time></a>'
    )


def _queued(item: Item) -> str:
    return '<span class="badge">queued</span>' if item.queued else ""


def _prompt(item: Item, inside: str) -> str:
    drawn = (
        prompt_html(part.text) if item.kind == "prompt" and isinstance(part, Plain) else part_html(part)
        for part in item.parts
    )
    return f'<div class="body">{_queued(item)}{"".join(drawn)}{inside}</div>'


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
    icon = _ICONS.get(item.facts.kind, "tool")
    title = one_line(item.title, 80)
    described = _description(item)
    line = described.text if described else item.subject
    subject = one_line(line, 400)
    summary = (
        f'<i class="icon icon-{icon}" aria-hidden="true"></i><span class="name">{title}</span> '
        f'<span class="subject{" words" if described else ""}">{subject}</span> <span class="facts">{_facts(item.facts)}</span>'
    )
    given = parts_html(part for part in item.parts if part is not described and not _is_on_line(part, line))
    result = parts_html(item.results)
    if not (given or result or inside):
        return f'<p class="line">{summary}</p>'
    is_open = " open" if item.is_error or item.facts.kind in _OPEN or _is_small_change(item) else ""
    body = (f'<div class="given">{given}</div>' if given else "") + (
        f'<div class="result">{result}</div>' if result else ""
    )
    return f'<details{is_open}><summary>{summary}</summary><div class="body">{body}{inside}</div></details>'


def _description(item: Item) -> Plain | None:
    """The description of a shell command, if it fits on the call's line."""
    first = item.parts[0] if item.facts.kind == "shell" and len(item.parts) > 1 else None
    return first if isinstance(first, Plain) and len(first.text) < 400 and "\n" not in first.text.strip() else None


def _is_on_line(part: Part, subject: str) -> bool:
    """Whether the call's line already has the whole command."""
    return isinstance(part, Code) and part.language == "bash" and len(part.text) < 80 and part.text == subject


def _is_small_change(item: Item) -> bool:
    diffs = [part for part in item.results if isinstance(part, Diff)]
    return bool(diffs) and sum(part.text.count("\n") + 1 for part in diffs) <= LONG


def _facts(facts: CallFacts) -> str:
    spans: list[str] = []
    if facts.change is not None:
        added, removed = facts.change
        spans.append(
            f'<span class="fact"><span class="plus">+{added}</span> <span class="minus">&minus;{removed}</span></span>'
        )
    if facts.duration_ms is not None:
        spans.append(f'<span class="fact">{timedelta_text(timedelta(milliseconds=facts.duration_ms))}</span>')
    if facts.outcome:
        bad = " bad" if facts.outcome == "failed" else ""
        spans.append(f'<span class="fact{bad}" title="{facts.outcome}">{facts.outcome}</span>')
    if facts.is_persisted:
        spans.append(f'<span class="fact" title="{PERSISTED}">{PERSISTED}</span>')
    return "".join(spans)


def _rule(item: Item, inside: str) -> str:
    """A line across the page."""
    return f'<div class="rule">{parts_html(item.parts)}</div>{inside}'


def _client_note(item: Item, inside: str) -> str:
    """A note of the client, labelled with its kind."""
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
