"""The turns of a window as the page of a session shows them: drawn as exported pages are, and bounded.

A turn may go on in the next window; what subagents did is fetched when it is opened; of a very long text only the beginning is
drawn, with a link to all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from hansard.model.display import Checklist, Facts, Picture
from hansard.render.html.escaping import element_id, escaped, one_line
from hansard.render.html.items import ItemContext, item_html, item_id
from hansard.render.html.threads import Drawing
from hansard.render.words import many

if TYPE_CHECKING:
    from hansard.model.display import Item, Part, Thread, Turn
    from hansard.model.threads import Fork

LONGEST_TEXT = 40_000  # characters of a part; what tools give back is shorter unless something went wrong
WENT_ON = -1  # the number of the session's own line where another branch is shown


@dataclass(frozen=True, slots=True)
class ThreadAddress:
    """Where a thread is read."""

    session_id: str
    agent_id: str | None = None
    branch: int = 0  # the one that is shown

    def page(self, place: str = "", **more: str | int | None) -> str:
        """The page of this thread, or what belongs to it, with something else asked of it."""
        return self._asked(place, more)

    def _asked(self, place: str, more: Mapping[str, str | int | None]) -> str:
        values = {"agent": self.agent_id, "branch": self.branch or None, **more}
        asked = urlencode({name: value for name, value in values.items() if value is not None})
        address = f"/sessions/{quote(self.session_id, safe='')}{place}"
        return f"{address}?{asked}" if asked else address

    def after(self, offset: int) -> str:
        """What begins at a place."""
        return self._asked("", {"from": offset})

    def before(self, offset: int) -> str:
        """What ends at a place."""
        return self.page(until=offset)

    def turn(self, number: int) -> str:
        """A turn, seen from the page."""
        return f"?{self.page(turn=number).partition('?')[2]}#t{number}"

    def item(self, offset: int) -> str:
        """An item, by the place of its line."""
        return f"{self.page(at=offset)}#{item_id(f'{self.agent_id}-{offset}' if self.agent_id else str(offset))}"


@dataclass
class SessionDrawing(Drawing):
    """Draws windows of one thread."""

    address: ThreadAddress = ThreadAddress("")
    forks: dict[str, Fork] = field(default_factory=dict)  # by the ids of their first records
    places: dict[str, int] = field(default_factory=dict)  # where these stand
    cut: int = 0  # the number of the turn that began in the window before

    def inner(self, turns: Iterable[Turn], agent_id: str) -> Iterator[str]:
        """Turns of a subagent, to be put where it was called."""
        for turn in turns:
            branches = {item.branch for item in turn.items}
            branch = branches.pop() if len(branches) == 1 else 0
            yield '<section class="subturn">'
            if branch:
                yield self._branch(branch, turn.items, agent_id)
            yield from self._items(turn.items, branch, agent_id)
            yield "</details></section>" if branch else "</section>"

    def thread(self, thread: Thread) -> str:
        """A subagent's thread, folded; what it did is fetched when it is opened."""
        drawn = super().thread(thread)
        if thread.agent is None or thread.turns:
            return drawn
        agent_id = thread.agent.agent_id
        place = escaped(ThreadAddress(self.address.session_id, agent_id).page())
        opening = f'<details class="agent" data-agent="{escaped(agent_id)}"'
        return (
            drawn.replace('<details class="agent"', opening, 1).removesuffix("</details>")
            + f'<p class="agent-page"><a href="{place}">Read this subagent on a page of its own</a></p></details>'
        )

    def _opening(self, turn: Turn, *, with_day: bool) -> str:
        if turn.number != self.cut:
            return super()._opening(turn, with_day=with_day)
        self.cut = 0
        drawn = super()._opening(turn, with_day=with_day)
        offset = turn.items[0].offset
        head = (
            f'<header class="turn-head"><h2><a href="{escaped(self.address.turn(turn.number))}"><span class="unseen">Turn '
            f"</span>{turn.number}</a></h2><p>goes on</p></header>"
        )
        section = drawn.partition("<header")[0]
        return (
            section.replace(f'id="t{turn.number}"', f'id="t{turn.number}~{offset}" data-part', 1).replace(
                'class="turn ', 'class="turn part ', 1
            )
            + head
        )

    def _item(self, item: Item, agent: str) -> str:
        inside = self.thread(item.thread) if item.thread is not None else ""
        place = ItemContext(self._own_id(item_id(item.anchor)), self.zone)
        shorter, notes = self._shortened(item)
        return self._switch(item, agent) + item_html(shorter, place, notes + inside)

    def _shortened(self, item: Item) -> tuple[Item, str]:
        """An item without the rest of its longest texts, and links to them."""
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
        notes.append(f'<p class="cut">Not shown: {left}. <a href="{place}">The whole text</a></p>')
        return replace(part, text=part.text[:LONGEST_TEXT])

    def _switch(self, item: Item, agent: str) -> str:
        """Where a prompt was replaced: the way to the other branches."""
        fork = self.forks.get(item.uuid or "")
        if fork is None or item.branch:
            return ""
        others = [(branch, uuid) for branch, uuid in zip(fork.branches, fork.uuids, strict=True) if uuid != item.uuid]
        links = []
        for branch, uuid in others:
            name = f"branch {branch}" if branch else "what the session went on with"
            shown = _branch_id(agent, branch or WENT_ON)
            offset = self.places.get(uuid, item.offset)
            if agent:
                links.append(f'<a href="#{shown}">{name}</a>')
                continue
            here = escaped(f"?{self.address.page(at=offset).partition('?')[2]}#{shown}")
            there = escaped(replace(self.address, branch=branch).item(offset))
            links.append(f'<a href="{here}">{name}</a> (<a href="{there}">switch to it</a>)')
        told = "Replaced what was here before" if fork.uuids[0] == item.uuid else "Replaced later"
        return f'<p class="fork">{told}: {", ".join(links)}</p>'

    def _branch(self, branch: int, items: Iterable[Item], agent: str) -> str:
        """The beginning of a folded stretch; one that began in another window has an id of its own."""
        items = list(items)
        drawn = super()._branch(branch, items, agent)
        first = items[0]
        if (first.uuid or "") not in self.forks:
            known = element_id("b", f"{agent}-{branch}" if agent else str(branch))
            drawn = drawn.replace(f'id="{known}"', f'id="{known}~{first.offset}"', 1)
        if branch == WENT_ON:
            drawn = drawn.replace(f"Replaced: branch {branch}", "The session went on with", 1)
        if agent:
            return drawn
        place = escaped(self.address.page(branch=None if branch == WENT_ON else branch, at=first.offset))
        switch = (
            f'<p class="switch"><a href="{place}#{item_id(first.anchor)}">Read the session along this branch</a></p>'
        )
        return drawn + switch


def _branch_id(agent: str, branch: int) -> str:
    return element_id("b", f"{agent}-{branch}" if agent else str(branch))


def heading_text(text: str) -> str:
    """The first words of a turn, escaped, as exported outlines have them."""
    return one_line(text, 90) or "(no text)"
