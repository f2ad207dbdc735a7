"""A part of a thread as lines: the loaded windows, drawn for a width; each line knows its item.

Nothing is read here: `load` and `load_places` run on the engine's thread and give what `ThreadLines` puts together.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from hansard.render.depth import DEPTHS, Depth
from hansard.render.format import many
from hansard.render.terminal.drawing import Drawing
from hansard.render.terminal.page import head
from hansard.render.terminal.parts import Board
from hansard.thread.store import Budget, Window
from hansard.tui.line_view import plain

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.model.display import Item, Part, Turn
    from hansard.model.sessions import Session
    from hansard.model.threads import Agent
    from hansard.thread.thread import Thread

_PREVIEW = Budget(records=40, bytes=128 << 10, turns=2)
BUDGET = Budget(records=120, bytes=512 << 10, turns=25)
_MOST = 12  # windows that are kept
_WIDEST = 110
_LONGEST_TEXT = 60_000  # characters of a part that are drawn
_MOST_PLACES = 500  # errors or edits that are listed by themselves


class ThreadKey(NamedTuple):
    """A thread of a session."""

    session_id: str
    agent: str | None = None
    branch: int = 0

    def open(self, h: Hansard) -> Thread:
        """Its thread, without the data of pictures and without what subagents did."""
        return h.read(self.session_id, self.agent, self.branch, pictures=False, subagents=False, long_lines=False)

    def places(self, h: Hansard, kind: str) -> list[int]:
        """Where its `prompts`, `errors` or `edits` begin."""
        thread = self.open(h)
        return [start.offset for start in thread.starts] if kind == "prompts" else thread.places(kind)


class Loaded(NamedTuple):
    """A window with its turns."""

    window: Window
    turns: tuple[Turn, ...]
    speaker: str  # what the model is called


def load(h: Hansard, key: ThreadKey, where: str, offset: int | None = None) -> Loaded | None:
    """The window at the `end` of a thread, or `around`, `after` or `before` an offset; None if only its subagents remain."""
    thread = key.open(h)
    if not thread.has_log:
        return None
    window: Window = getattr(thread.windows, where)(*(() if offset is None else (offset,)), BUDGET)
    return Loaded(window, tuple(thread.window(window)), thread.speaker)


def load_places(h: Hansard, key: ThreadKey, kind: str) -> Loaded:
    """The last `errors` or `edits` of a thread, and nothing between them."""
    thread = key.open(h)
    turns = []
    for place in thread.places(kind)[-_MOST_PLACES:]:
        end = place + thread.raw_line(place).length + 1
        for turn in thread.turns(place, thread.windows.number(place), end):
            items = tuple(
                item for item in turn.items if item.is_error or (kind == "edits" and item.facts.change is not None)
            )
            if items:
                turns.append(replace(turn, items=items))
    return Loaded(Window(0, None, 1, is_cut=False), tuple(turns), thread.speaker)


class Look(NamedTuple):
    """How a thread is drawn."""

    columns: int
    colours: bool = True
    depth: str = "tools"  # a name of render.depth.DEPTHS
    thinking: bool = False

    def draws(self) -> Depth:
        """How much of it is drawn; subagents are opened, not unfolded."""
        depth = DEPTHS[self.depth]._replace(agents=False)
        return depth._replace(thinking=True) if self.thinking else depth


class ReaderDrawing(Drawing):
    """Names keys where the commands name options."""

    def more_hint(self) -> str:
        return "enter unfolds"

    def branch_hint(self, branch: int) -> str:
        return f"branch {branch}, b switches"

    def agent_hint(self, agent: Agent) -> str:  # noqa: ARG002 - of any agent
        return "enter opens it"


class _Drawn(NamedTuple):
    lines: list[str]
    owners: list[str]  # of each line, the anchor of its item


class ThreadLines:
    """The loaded windows of a thread, without gaps."""

    def __init__(self, look: Look, agent: Agent | None = None) -> None:
        self.look = look
        self.agent = agent
        self.unfolded: set[str] = set()  # anchors of items that are shown in full
        self._loaded: list[Loaded] = []
        self._drawn: list[_Drawn] = []
        self._put_together()

    # -- windows

    @property
    def is_empty(self) -> bool:
        return not self._loaded

    @property
    def start(self) -> int:
        """Where the first window begins."""
        return self._loaded[0].window.start if self._loaded else 0

    @property
    def end(self) -> int | None:
        """Where the last window ends; None at the thread's end."""
        return self._loaded[-1].window.end if self._loaded else None

    @property
    def last(self) -> Loaded | None:
        return self._loaded[-1] if self._loaded else None

    def holds(self, offset: int) -> bool:
        """Whether an offset is in the windows."""
        return bool(self._loaded) and self.start <= offset and (self.end is None or offset < self.end)

    def reset(self, loaded: Loaded | None) -> None:
        """One window instead of all others."""
        self._loaded = [loaded] if loaded is not None else []
        self._drawn = [self._draw(one) for one in self._loaded]
        self._put_together()

    def append(self, loaded: Loaded) -> int:
        """Add a window at the end; returns the number of lines removed at the top."""
        self._loaded.append(loaded)
        self._drawn.append(self._draw(loaded))
        gone = 0
        while len(self._loaded) > _MOST:
            gone += len(self._drawn.pop(0).lines)
            self._loaded.pop(0)
        self._put_together()
        return gone

    def prepend(self, loaded: Loaded) -> int:
        """Add a window at the top; returns the number of its lines."""
        self._loaded.insert(0, loaded)
        self._drawn.insert(0, self._draw(loaded))
        del self._loaded[_MOST:], self._drawn[_MOST:]
        self._put_together()
        return len(self._drawn[0].lines)

    def replace_last(self, loaded: Loaded) -> None:
        """The current state of the last window."""
        self._loaded[-1] = loaded
        self._drawn[-1] = self._draw(loaded)
        self._put_together()

    # -- looks

    def draw_as(self, look: Look) -> None:
        """Draw all of it in another way."""
        if look != self.look:
            self.look = look
            self.redraw()

    def redraw(self) -> None:
        self._drawn = [self._draw(one) for one in self._loaded]
        self._put_together()

    def fold(self, anchor: str, *, unfolded: bool) -> None:
        """Show an item in full, or no longer."""
        (self.unfolded.add if unfolded else self.unfolded.discard)(anchor)
        for place, loaded in enumerate(self._loaded):
            if any(item.anchor == anchor for turn in loaded.turns for item in turn.items):
                self._drawn[place] = self._draw(loaded)
        self._put_together()

    # -- items

    def item(self, anchor: str) -> Item | None:
        """An item that is there."""
        return self._items.get(anchor)

    def turn(self, anchor: str) -> Turn | None:
        """The turn of an item."""
        return self._turns.get(anchor)

    def line_of(self, anchor: str) -> int:
        """The first line of an item."""
        return self._first.get(anchor, 0)

    def span_of(self, anchor: str) -> tuple[int, int]:
        """The first line of an item, and the one behind its last."""
        start = end = self.line_of(anchor)
        while end < len(self.owners) and self.owners[end] == anchor:
            end += 1
        return start, end

    def text_of(self, item: Item) -> str:
        """All that is drawn of an item in full, without colours."""
        speaker = self._loaded[-1].speaker if self._loaded else ""
        drawing = ReaderDrawing(Board(100_000, colours=False), DEPTHS["all"]._replace(agents=False), "", speaker)
        return "\n".join(drawing.item(item, whole=True))

    def shown_text(self, anchor: str) -> str:
        """What is drawn of an item now, without colours."""
        start, end = self.span_of(anchor)
        return "\n".join(map(plain, self.lines[start:end]))

    # -- drawing

    def _draw(self, loaded: Loaded) -> _Drawn:
        look = self.look
        board = Board(min(look.columns, _WIDEST), look.colours)
        drawing = ReaderDrawing(board, look.draws(), "", loaded.speaker, agent=self.agent)
        lines: list[str] = []
        owners: list[str] = []
        for turn in loaded.turns:
            items = []
            for item in turn.items:
                if item.branch:
                    drawing.pass_over(item)
                else:
                    items.append(item)
            is_cut = loaded.window.is_cut and turn is loaded.turns[0]  # it began in the window before
            waiting: list[str] = ["", drawing.header(turn)] if items and not is_cut else []
            drawing.forget()
            for item in items:
                is_unfolded = item.anchor in self.unfolded
                drawn = [*waiting, *drawing.item(_bounded(item) if is_unfolded else item, whole=is_unfolded)]
                if len(drawn) == len(waiting):
                    continue  # a kind that is not shown
                waiting = []
                lines += drawn
                owners += [item.anchor] * len(drawn)
        return _Drawn(lines, owners)

    def _put_together(self) -> None:
        self.lines: Sequence[str] = list(chain.from_iterable(drawn.lines for drawn in self._drawn))
        self.owners: Sequence[str] = list(chain.from_iterable(drawn.owners for drawn in self._drawn))
        self._first: dict[str, int] = {}
        for place, anchor in enumerate(self.owners):
            self._first.setdefault(anchor, place)
        self.anchors: Sequence[str] = list(self._first)
        turns = [turn for loaded in self._loaded for turn in loaded.turns]
        self._items = {item.anchor: item for turn in turns for item in turn.items}
        self._turns = {item.anchor: turn for turn in turns for item in turn.items}


def _bounded(item: Item) -> Item:
    """An item whose texts are not too long to be drawn at once."""
    parts, results = tuple(map(_cut, item.parts)), tuple(map(_cut, item.results))
    return item if (parts, results) == (item.parts, item.results) else replace(item, parts=parts, results=results)


def _cut(part: Part) -> Part:
    text = getattr(part, "text", "")
    if len(text) <= _LONGEST_TEXT:
        return part
    return replace(
        part,
        text=f"{text[:_LONGEST_TEXT]}\n… {many(len(text) - _LONGEST_TEXT, 'more character')}: . shows the raw line",
    )


# -- previews beside a list


def session_preview(h: Hansard, session: Session, columns: int) -> list[str]:
    """The head of a session and its last turns."""
    board = Board(max(20, columns), colours=True)
    lines = list(head(session, None, board))
    thread = ThreadKey(session.session_id).open(h)
    if not thread.has_log:
        return [*lines, "", "Only subagents of this session remain."]
    drawing = ReaderDrawing(board, DEPTHS["tools"], "", thread.speaker)
    window = thread.windows.end(_PREVIEW)
    for turn in thread.window(window):
        lines += drawing.turn(turn)
    return lines


def hit_preview(h: Hansard, key: ThreadKey, offset: int, columns: int) -> tuple[list[str], int]:
    """The lines around an offset, and the number of the first that belongs to it."""
    board = Board(max(20, columns), colours=True)
    thread = key.open(h)
    if not thread.has_log:
        return ["Only subagents of this session remain."], 0
    place = thread.call_of(offset)
    window = thread.windows.around(place, _PREVIEW)
    drawing = ReaderDrawing(board, DEPTHS["tools"]._replace(thinking=True), "", thread.speaker, agent=thread.agent)
    lines: list[str] = []
    at = 0
    for turn in thread.window(window):
        lines += ["", drawing.header(turn)]
        drawing.forget()
        for item in turn.items:
            is_here = item.offset <= place < item.offset + max(1, item.length)
            if is_here and not at:
                at = len(lines)
            lines += drawing.item(item, whole=is_here)
    return lines, at
