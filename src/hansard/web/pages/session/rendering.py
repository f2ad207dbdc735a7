"""The drawn pieces of a session's page: windows, the outline, the course, the branches."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import tzinfo
from typing import TYPE_CHECKING

from hansard.render.html.escaping import escaped
from hansard.render.html.figures import lasting, total
from hansard.render.money import dollars
from hansard.render.words import short
from hansard.thread.branch_view import fork_places
from hansard.web.charts.context_size import Timeline, draw_timeline
from hansard.web.reading import NEXT
from hansard.web.thread_html import SessionDrawing, ThreadAddress, heading_text

if TYPE_CHECKING:
    from hansard.thread.windows import Window
    from hansard.web.pages.session.params import ThreadRequest
    from hansard.web.reading import Reading

OUTLINED = 400
"""Turns that a page names at once; the outline of a longer session is fetched."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A drawn window."""

    html: str
    start: int
    end: int | None
    first: int  # turn
    last: int


def drawing_of(reading: Reading, zone: tzinfo) -> SessionDrawing:
    """What draws a thread."""
    forks = {uuid: fork for fork in reading.source.branches.forks for uuid in fork.uuids}
    places = reading.once("forks", lambda: fork_places(reading.source)) if forks else {}
    return SessionDrawing(zone, address=address_of(reading), forks=forks, places=places)


def address_of(reading: Reading) -> ThreadAddress:
    """Where a thread is read."""
    return ThreadAddress(reading.session.session_id, reading.source.agent_id, reading.line.branch)


def draw_window(reading: Reading, window: Window, zone: tzinfo, target: int = -1) -> Piece:
    """A window as the element that a page holds it in."""
    drawing = drawing_of(reading, zone)
    drawing.cut = window.turn if window.is_cut else 0
    drawn = "".join(drawing.turns(reading.turns(window)))
    numbers = [heading.number for heading in drawing.headings]
    first, last = (numbers[0], numbers[-1]) if numbers else (window.turn, window.turn)
    attributes = {
        "from": window.start,
        "until": "" if window.end is None else window.end,
        "first": first,
        "last": last,
        "log": reading.source.transcript,
        "fingerprint": reading.fingerprint,
        "turns": len(reading.starts),
    }
    if target >= 0:
        attributes["target"] = target
    told = "".join(f' data-{name}="{value}"' for name, value in attributes.items())
    return Piece(f'<div class="window"{told}>{drawn}</div>', window.start, window.end, first, last)


def draw_more(reading: Reading, wanted: ThreadRequest, zone: tzinfo) -> Piece:
    """The window that a page fetches."""
    return draw_window(reading, wanted.window(reading, NEXT), zone, wanted.target(reading))


def outlined(reading: Reading, around: int) -> tuple[int, int]:
    """The numbers of the turns that a page names: all, or so many around one."""
    count = len(reading.starts)
    if count <= OUTLINED:
        return 1, count
    first = max(1, min(around - OUTLINED // 2, count - OUTLINED + 1))
    return first, first + OUTLINED - 1


def draw_outline(reading: Reading, first: int, last: int, *, figures: bool) -> str:
    """The rows of an outline, with what each turn used where that is wanted."""
    from hansard.thread.outline import read_outline

    used = reading.course().turns if figures else []
    address = address_of(reading)
    rows: list[str] = []
    for turn in read_outline(reading.source, reading.starts, first, last):
        names = [turn.kind or "nobody"]
        if turn.failed:
            names.append("failed")
        if reading.branch(turn.branch, turn.offset):
            names.append("replaced")
        text = heading_text(_words(reading, turn.text, turn.number)) if turn.kind else "before the first prompt"
        facts: list[str] = []
        if turn.started_at is not None and turn.ended_at is not None and turn.ended_at > turn.started_at:
            facts.append(lasting(turn.ended_at - turn.started_at))
        cost = ""
        if used and used[turn.number - 1].api_messages:
            one = used[turn.number - 1]
            price = "no price known" if one.cost_usd is None else dollars(one.cost_usd)
            facts += (f"{short(total(one.tokens))} tokens", price)
            cost = f'<span class="cost">{escaped(price)}</span>' if one.cost_usd is not None else ""
        about = f' title="{escaped(" · ".join(facts))}"' if facts else ""
        rows.append(
            f'<li class="{" ".join(names)}"><a href="{escaped(address.turn(turn.number))}" data-turn="{turn.number}"'
            f'{about}><span class="number">{turn.number}</span> '
            f'<span class="text">{text}</span>{cost}</a></li>'
        )
    return "".join(rows)


def _words(reading: Reading, text: str, number: int) -> str:
    if not text and number == 1 and reading.agent is not None:
        return reading.agent.description
    return text


def draw_course(reading: Reading) -> Timeline | None:
    """The timeline of a thread."""
    from hansard.thread.outline import read_compactions

    def draw() -> Timeline | None:
        address = address_of(reading)
        return draw_timeline(
            reading.course().requests,
            read_compactions(reading.source),
            [start.offset for start in reading.starts],
            lambda offset: escaped(address.item(offset)),
        )

    return reading.once(f"timeline {reading.line.branch}", draw)
