"""A session as one HTML file that needs nothing beside it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING

from hansard.render.html.escaping import escaped, one_line
from hansard.render.html.head import header
from hansard.render.html.shell import document
from hansard.render.html.threads import Drawing, Heading, not_shown
from hansard.render.words import day, local, machine, title_of

if TYPE_CHECKING:
    from hansard.thread.thread import Thread


def page(
    thread: Thread,
    *,
    title: str = "",
    home: str = "",
    now: datetime | None = None,
    zone: tzinfo = UTC,
) -> Iterator[str]:
    """The pieces of a session's page, in order; no more than one item is drawn at a time.

    `title` stands instead of the session's own, `home` is the address of the page that lists it, `now` is told at the foot, and
    times are those of `zone`.
    """
    session = thread.session
    shown = title.strip() or title_of(session)
    drawing = Drawing(zone)
    return document(
        "page.html",
        ("base.css", "parts.css", "page.css"),
        ("common.js", "page.js"),
        {
            "title": one_line(shown, 200),
            "header": header(session, shown, zone, home),
            "conversation": _conversation(thread, drawing),
            "outline": _outline(drawing.headings),
            "footer": footer(now, zone),
        },
    )


def _conversation(thread: Thread, drawing: Drawing) -> Iterator[str]:
    if not thread.has_log:
        yield '<p class="empty">Only subagents are left of this session.</p>'
    else:
        yield from drawing.turns(thread.turns())
        if not drawing.headings:
            yield '<p class="empty">Nothing was said in this session.</p>'
        yield not_shown(thread.not_shown)
        if drawing.transcript:
            yield f'<p class="not-shown">Transcript: <span class="path">{escaped(drawing.transcript)}</span></p>'
    others = False
    for other in thread.others():
        if not others:
            others = True
            yield '<section class="others"><h2>Subagents whose calls are not here</h2>'
        yield drawing.thread(other.whole())
    if others:
        yield "</section>"


def _outline(headings: list[Heading]) -> Iterator[str]:
    """Made when the conversation is drawn, so that the headings are there."""
    for heading in headings:
        names = [
            heading.kind or "nobody",
            *(("failed",) if heading.failed else ()),
            *(("replaced",) if heading.replaced else ()),
        ]
        yield (
            f'<li class="{" ".join(names)}"><a href="#t{heading.number}"><span class="number">{heading.number}</span> '
            f'<span class="text">{heading.text or "…"}</span></a></li>'
        )


def footer(now: datetime | None, zone: tzinfo) -> str:
    """What a page says at its end."""
    if now is None:
        return "Written by Hansard."
    here = local(now, zone)
    return f'Written by Hansard, <time datetime="{machine(now)}">{day(here)}, {here:%H:%M}</time>.'
