"""How a session ends, or what stands around a place in it, as lines beside a list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.render.depth import DEPTHS
from hansard.render.terminal.page import head
from hansard.render.terminal.parts import Board
from hansard.thread.store import Budget
from hansard.tui.thread_lines import ReaderDrawing, ThreadKey

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.model.sessions import Session

_BUDGET = Budget(records=40, bytes=128 << 10, turns=2)


def session_preview(h: Hansard, session: Session, columns: int, *, colours: bool = True) -> list[str]:
    """The head of a session and its last turns."""
    board = Board(max(20, columns), colours)
    lines = list(head(session, None, board))
    thread = ThreadKey(session.session_id).open(h)
    if not thread.has_log:
        return [*lines, "", "Only subagents are left of it."]
    drawing = ReaderDrawing(board, DEPTHS["tools"], "", thread.speaker)
    window = thread.windows.end(_BUDGET)
    for turn in thread.window(window):
        lines += drawing.turn(turn)
    return lines


def hit_preview(
    h: Hansard, key: ThreadKey, offset: int, columns: int, *, colours: bool = True
) -> tuple[list[str], int]:
    """What stands around a place, and the line at which it begins."""
    board = Board(max(20, columns), colours)
    thread = key.open(h)
    if not thread.has_log:
        return ["Only subagents are left of it."], 0
    place = thread.call_of(offset)
    window = thread.windows.around(place, _BUDGET)
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
