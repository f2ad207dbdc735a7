"""The drawn pieces of a session's page: windows of turns, the outline, the timeline; drawn as exported pages are, and bounded.

A turn may go on in the next window; what subagents did is fetched when it is opened; of a very long text only the beginning is
drawn, with a link to all of it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, urlencode

from msgspec import Struct
from msgspec.structs import replace

from hansard.model.display import Checklist, Facts, Picture
from hansard.render.format import cost as cost_of
from hansard.render.format import many, short, total_tokens, turn_time
from hansard.render.html.escaping import escaped, one_line
from hansard.render.html.threads import Drawing, ItemContext, branch_id, item_html, item_id

if TYPE_CHECKING:
    from hansard.model import display
    from hansard.model.display import Item, Part, Turn
    from hansard.model.threads import Fork
    from hansard.thread.store import Window
    from hansard.thread.structure import Compaction, Request
    from hansard.thread.thread import Thread

OUTLINED = 400
"""Turns that a page names at once; the outline of a longer session is fetched."""
LONGEST_TEXT = 40_000  # characters of a part
_MOST_STEPS = 400  # steps that are drawn
_WIDE, _HIGH = 1000, 100
_TICKS = 150  # turns; of more the marks would be a stripe
MAIN_LINE = -1  # the number of the session's own line where another branch is shown


class ThreadAddress(Struct, frozen=True):
    """The address of a thread."""

    session_id: str
    agent_id: str | None = None
    branch: int = 0  # the one that is shown

    def page(self, place: str = "", **more: str | int | None) -> str:
        """The address of this thread's page, or of a part of it, with other parameters."""
        return self._asked(place, more)

    def _asked(self, place: str, more: Mapping[str, str | int | None]) -> str:
        values = {"agent": self.agent_id, "branch": self.branch or None, **more}
        asked = urlencode({name: value for name, value in values.items() if value is not None})
        address = f"/sessions/{quote(self.session_id, safe='')}{place}"
        return f"{address}?{asked}" if asked else address

    def after(self, offset: int) -> str:
        """The window that begins at an offset."""
        return self._asked("", {"from": offset})

    def before(self, offset: int) -> str:
        """The window that ends at an offset."""
        return self.page(until=offset)

    def turn(self, number: int) -> str:
        """A turn, seen from the page."""
        return f"?{self.page(turn=number).partition('?')[2]}#t{number}"

    def item(self, offset: int) -> str:
        """An item, by the offset of its line."""
        return f"{self.page(at=offset)}#{item_id(f'{self.agent_id}-{offset}' if self.agent_id else str(offset))}"


@dataclass
class SessionDrawing(Drawing):
    """Draws windows of one thread."""

    address: ThreadAddress = field(default_factory=lambda: ThreadAddress(""))
    forks: dict[str, Fork] = field(default_factory=dict)  # by the ids of their first records
    places: dict[str, int] = field(default_factory=dict)  # their offsets
    pinned: frozenset[str] = frozenset()  # uuids of messages
    cut: int = 0  # the number of the turn that began in the window before

    def inner(self, turns: Iterable[Turn], agent_id: str) -> Iterator[str]:
        """Turns of a subagent, for the call that started it."""
        for turn in turns:
            branches = {item.branch for item in turn.items}
            branch = branches.pop() if len(branches) == 1 else 0
            yield '<section class="subturn">'
            if branch:
                yield self._branch(branch, turn.items, agent_id)
            yield from self._items(turn.items, branch, agent_id)
            yield "</details></section>" if branch else "</section>"

    def _thread_attributes(self, thread: display.DisplayThread) -> str:
        agent_id = _lazy_agent(thread)
        return f' data-agent="{escaped(agent_id)}"' if agent_id else ""

    def _thread_end(self, thread: display.DisplayThread) -> str:
        agent_id = _lazy_agent(thread)
        if not agent_id:
            return ""
        place = escaped(ThreadAddress(self.address.session_id, agent_id).page())
        return f'<p class="agent-page"><a href="{place}">Open this subagent on its own page</a></p>'

    def _opening(self, turn: Turn, *, with_day: bool) -> str:
        if turn.number != self.cut:
            return super()._opening(turn, with_day=with_day)
        self.cut = 0
        return (
            f'{self._section(turn, part=True)}<header class="turn-head"><h2><a href="{escaped(self.address.turn(turn.number))}">'
            f'<span class="unseen">Turn </span>{turn.number}</a></h2><p>continued</p></header>'
        )

    def _item(self, item: Item, agent: str) -> str:
        inside = self.thread(item.thread) if item.thread is not None else ""
        place = ItemContext(self._own_id(item_id(item.anchor)), self.zone, self._attributes(item))
        shorter, notes = self._shortened(item)
        return self._switch(item, agent) + item_html(shorter, place, notes + inside)

    def _attributes(self, item: Item) -> str:
        """Attributes for pinning a message."""
        if not item.uuid:
            return ""
        return f' data-message="{escaped(item.uuid)}"{" data-pinned" if item.uuid in self.pinned else ""}'

    def _shortened(self, item: Item) -> tuple[Item, str]:
        """Cut the longest texts of an item; returns it with links to the full texts."""
        notes: list[str] = []

        def cut(parts: tuple[Part, ...], first: int) -> tuple[Part, ...]:
            return tuple(self._cut(item, number, part, notes) for number, part in enumerate(parts, first))

        if all(len(getattr(part, "text", "")) <= LONGEST_TEXT for part in (*item.parts, *item.results)):
            return item, ""
        return replace(item, parts=cut(item.parts, 0), results=cut(item.results, len(item.parts))), "".join(notes)

    def _cut(self, item: Item, number: int, part: Part, notes: list[str]) -> Part:
        if isinstance(part, (Facts, Checklist, Picture)) or len(part.text) <= LONGEST_TEXT:
            return part
        place = escaped(self.address.page("/text", branch=None, at=item.offset, item=item.anchor, part=number))
        left = many(len(part.text) - LONGEST_TEXT, "more character")
        notes.append(f'<p class="cut">Not shown: {left}. <a href="{place}">Show the full text</a></p>')
        return replace(part, text=part.text[:LONGEST_TEXT])

    def _switch(self, item: Item, agent: str) -> str:
        """Links to the other branches at a replaced prompt."""
        fork = self.forks.get(item.uuid or "")
        if fork is None or item.branch:
            return ""
        others = [(branch, uuid) for branch, uuid in zip(fork.branches, fork.uuids, strict=True) if uuid != item.uuid]
        links = []
        for branch, uuid in others:
            name = f"conversation branch {branch}" if branch else "main line"
            shown = branch_id(agent, branch or MAIN_LINE)
            offset = self.places.get(uuid, item.offset)
            if agent:
                links.append(f'<a href="#{shown}">{name}</a>')
                continue
            here = escaped(f"?{self.address.page(at=offset).partition('?')[2]}#{shown}")
            there = escaped(replace(self.address, branch=branch).item(offset))
            links.append(f'<a href="{here}">{name}</a> (<a href="{there}">switch to it</a>)')
        words = "Replaces an earlier prompt" if fork.uuids[0] == item.uuid else "Replaced later"
        return f'<p class="fork">{words}: {", ".join(links)}</p>'

    def _branch_id(self, branch: int, items: Sequence[Item], agent: str) -> str:
        """The id of a folded branch; its continuation in another window has its own."""
        known = super()._branch_id(branch, items, agent)
        return known if (items[0].uuid or "") in self.forks else f"{known}~{items[0].offset}"

    def _branch_name(self, branch: int) -> str:
        return "Main line" if branch == MAIN_LINE else super()._branch_name(branch)

    def _branch(self, branch: int, items: Sequence[Item], agent: str) -> str:
        drawn = super()._branch(branch, items, agent)
        if agent:
            return drawn
        first = items[0]
        place = escaped(self.address.page(branch=None if branch == MAIN_LINE else branch, at=first.offset))
        return f'{drawn}<p class="switch"><a href="{place}#{item_id(first.anchor)}">Read the session along this branch</a></p>'


def _lazy_agent(thread: display.DisplayThread) -> str:
    """The id of a subagent whose turns are loaded when it is opened; empty if they are included."""
    return "" if thread.agent is None or thread.turns else thread.agent.agent_id


@dataclass(frozen=True, slots=True)
class Piece:
    """A drawn window."""

    html: str
    start: int
    end: int | None
    first: int  # turn
    last: int


def drawing_of(thread: Thread, zone: tzinfo) -> SessionDrawing:
    forks = {uuid: fork for fork in thread.forks for uuid in fork.uuids}
    return SessionDrawing(
        zone,
        address=address_of(thread),
        forks=forks,
        places=thread.fork_places(),
        pinned=frozenset(thread.session.pinned_messages),
    )


def address_of(thread: Thread) -> ThreadAddress:
    """The address of a thread."""
    return ThreadAddress(thread.session.session_id, thread.agent.agent_id if thread.agent else None, thread.branch)


def draw_window(thread: Thread, window: Window, zone: tzinfo, target: int = -1) -> Piece:
    """A window as the element that a page holds it in."""
    drawing = drawing_of(thread, zone)
    drawing.cut = window.turn if window.is_cut else 0
    drawn = "".join(drawing.turns(thread.window(window)))
    numbers = [heading.number for heading in drawing.headings]
    first, last = (numbers[0], numbers[-1]) if numbers else (window.turn, window.turn)
    attributes = {
        "from": window.start,
        "until": "" if window.end is None else window.end,
        "first": first,
        "last": last,
        "log": thread.transcript,
        "fingerprint": thread.fingerprint,
        "turns": len(thread.starts),
    }
    if target >= 0:
        attributes["target"] = target
    drawn_attributes = "".join(f' data-{name}="{value}"' for name, value in attributes.items())
    return Piece(f'<div class="window"{drawn_attributes}>{drawn}</div>', window.start, window.end, first, last)


def outlined(thread: Thread, around: int) -> tuple[int, int]:
    """Turn numbers listed on a page: all of them, or a window around one."""
    count = len(thread.starts)
    if count <= OUTLINED:
        return 1, count
    first = max(1, min(around - OUTLINED // 2, count - OUTLINED + 1))
    return first, first + OUTLINED - 1


def draw_outline(thread: Thread, first: int, last: int, *, figures: bool) -> str:
    """The rows of an outline, optionally with the usage of each turn."""
    used = thread.timeline().turns if figures else []
    address = address_of(thread)
    rows: list[str] = []
    for turn in thread.outline(first, last):
        names = [turn.kind or "nobody"]
        if turn.failed:
            names.append("failed")
        if thread.shown_branch(turn.branch, turn.offset):
            names.append("replaced")
        words = turn.text
        if not words and turn.number == 1 and thread.agent is not None:
            words = thread.agent.description
        text = (one_line(words, 90) or "(no text)") if turn.kind else "before the first prompt"
        facts = [time] if (time := turn_time(turn)) else []
        cost = ""
        if used and used[turn.number - 1].api_messages:
            one = used[turn.number - 1]
            price = (
                "no price known"
                if one.cost_usd is None
                else cost_of(one.cost_usd, lower_bound=one.is_lower_bound, unpriced=False)
            )
            facts += (f"{short(total_tokens(one.tokens))} tokens", price)
            cost = f'<span class="cost">{escaped(price)}</span>' if one.cost_usd is not None else ""
        about = f' title="{escaped(" · ".join(facts))}"' if facts else ""
        rows.append(
            f'<li class="{" ".join(names)}"><a href="{escaped(address.turn(turn.number))}" data-turn="{turn.number}"'
            f'{about}><span class="number">{turn.number}</span> '
            f'<span class="text">{text}</span>{cost}</a></li>'
        )
    return "".join(rows)


def draw_context(thread: Thread) -> Timeline | None:
    """The size of a thread's context over its requests."""

    def draw() -> Timeline | None:
        address = address_of(thread)
        return draw_timeline(
            thread.timeline().requests,
            thread.compactions(),
            [start.offset for start in thread.starts],
            lambda offset: escaped(address.item(offset)),
        )

    return thread.once(f"drawn timeline {thread.branch}", draw)


# -- context size by request, as SVG


class Timeline(NamedTuple):
    """A chart and what is written beside it."""

    svg: str
    largest: int
    scale: int  # tokens at its full height
    requests: int
    compactions: int


def draw_timeline(
    requests: Sequence[Request],
    compactions: Sequence[Compaction],
    starts: Sequence[int],
    link: Callable[[int], str],
) -> Timeline | None:
    """The chart of a thread; `starts` are the offsets of its turns, `link` gives the escaped address of an offset."""
    if len(requests) < 2:
        return None
    steps = _thinned(requests)
    scale = _above(max(step.prompt for step in steps))
    width = _WIDE / len(steps)
    edge: list[str] = [f"M0 {_HIGH}"]
    hits: list[str] = []
    for number, step in enumerate(steps):
        left, right = _short(number * width), _short((number + 1) * width)
        top = _short(_HIGH - step.prompt / scale * (_HIGH - 4))
        edge.append(f"V{top}H{right}")
        turn = max(1, bisect_right(starts, step.offset))
        title = f"Turn {turn} · {step.prompt:,} tokens of context, {step.output:,} written · {one_line(step.model, 60)}"
        hits.append(
            f'<a href="{link(step.offset)}" tabindex="-1" data-offset="{step.offset}"><rect x="{left}" y="0"'
            f' width="{_short(width)}" height="{_HIGH}"><title>{title}</title></rect></a>'
        )
    area = f'<path class="area" d="{"".join(edge)}V{_HIGH}Z"/>'
    line = f'<path class="edge-line" d="{"".join(edge)}"/>'
    offsets = [step.offset for step in steps]
    marks = "".join(_mark(one, bisect_right(offsets, one.offset) * width, link) for one in compactions)
    svg = (
        f'<svg class="timeline" viewBox="0 0 {_WIDE} {_HIGH}" preserveAspectRatio="none" role="group"'
        f' aria-label="Size of the context over {len(requests):,} requests, at most {max(steps, key=_size).prompt:,} tokens">'
        f'{_ticks(starts, offsets, width)}{area}{line}<g class="hits">{"".join(hits)}</g>{marks}</svg>'
    )
    return Timeline(svg, max(steps, key=_size).prompt, scale, len(requests), len(compactions))


def _size(request: Request) -> int:
    return request.prompt


def _thinned(requests: Sequence[Request]) -> list[Request]:
    """Downsample requests: the largest of each bucket, and the last."""
    if len(requests) <= _MOST_STEPS:
        return list(requests)
    bounds = [round(place * len(requests) / _MOST_STEPS) for place in range(_MOST_STEPS + 1)]
    steps = [max(requests[low:high], key=_size) for low, high in pairwise(bounds)]
    steps[-1] = requests[-1]
    return steps


def _above(count: int) -> int:
    """The next round number."""
    size = 1000
    while True:
        for factor in (1, 2, 4, 5, 8):
            if count <= size * factor:
                return size * factor
        size *= 10


def _mark(compaction: Compaction, x: float, link: Callable[[int], str]) -> str:
    before = f" of {compaction.tokens_before:,} tokens" if compaction.tokens_before else ""
    trigger = f" ({one_line(compaction.trigger, 40)})" if compaction.trigger else ""
    place = _short(x)
    return (
        f'<a class="compaction" href="{link(compaction.offset)}" tabindex="-1"><rect x="{_short(x - 4)}" y="0" width="8"'
        f' height="{_HIGH}"><title>Compacted{before}{trigger}</title></rect><path d="M{place} 0V{_HIGH}"/></a>'
    )


def _ticks(starts: Sequence[int], offsets: Sequence[int], width: float) -> str:
    """A mark at the foot for each turn."""
    if not 1 < len(starts) <= _TICKS:
        return ""
    places = sorted({bisect_right(offsets, start - 1) for start in starts[1:]})
    drawn = "".join(f"M{_short(place * width)} {_HIGH}v-5" for place in places if 0 < place < len(offsets))
    return f'<path class="ticks" d="{drawn}"/>' if drawn else ""


def _short(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
