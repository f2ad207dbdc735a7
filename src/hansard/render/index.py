"""The page of a folder that lists its sessions: HTML, by project and month, to be filtered and sorted by a script; or Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, tzinfo
from decimal import Decimal
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from hansard.model.table import Column, Cost, Kind, Table
from hansard.render.format import (
    ProjectNames,
    cost,
    local,
    machine,
    many,
    model_name,
    month,
    project_name,
    short,
    timedelta_text,
    title_of,
)
from hansard.render.html.document import document, footer, marks_of
from hansard.render.html.escaping import element_id, escaped, one_line

if TYPE_CHECKING:
    from hansard.model.sessions import Session

_NEVER = datetime.min.replace(tzinfo=UTC)
_COLUMNS = (
    Column("when", Kind.LABEL),
    Column("session", Kind.LABEL),
    Column("prompts", Kind.COUNT),
    Column("tool calls", Kind.COUNT),
    Column("cost", Kind.COST),
    Column("model", Kind.MODEL),
)


class SessionLink(NamedTuple):
    """A session and the address of its page, relative to the page that lists it and quoted as addresses are."""

    session: Session
    href: str


def draw_index(form: str, entries: Iterable[SessionLink], zone: tzinfo, names: ProjectNames) -> Iterator[bytes]:
    """The page in HTML or Markdown, in pieces."""
    if form == "html":
        for piece in index_page(entries, zone=zone, names=names):
            yield piece.encode("utf-8", "replace")
    else:
        for line in _markdown(_newest_first(entries), zone, names):
            yield line.encode("utf-8", "replace") + b"\n"


def _newest_first(entries: Iterable[SessionLink]) -> list[SessionLink]:
    return sorted(entries, key=lambda entry: entry.session.ended_at or _NEVER, reverse=True)


def _by_project(entries: Iterable[SessionLink]) -> dict[str, list[SessionLink]]:
    projects: dict[str, list[SessionLink]] = {}
    for entry in entries:
        projects.setdefault(entry.session.project, []).append(entry)
    return projects


def _when(moment: datetime, zone: tzinfo) -> str:
    here = local(moment, zone)
    return f"{here.year:04}-{here:%m-%d %H:%M}"


# -- Markdown


def _markdown(entries: Sequence[SessionLink], zone: tzinfo, names: ProjectNames) -> Iterator[str]:
    from hansard.render.markdown_text import escape, table_lines

    yield "# Sessions\n"
    yield f"{many(len(entries), 'session')}, newest first."
    for project, own in _by_project(entries).items():
        yield f"\n## {escape(project_name(project, names)) or '(no project)'}\n"
        yield from table_lines(Table(_COLUMNS, [_markdown_row(entry, zone) for entry in own]))


def _markdown_row(entry: SessionLink, zone: tzinfo) -> tuple[object, ...]:
    from hansard.render.markdown_text import escape
    from hansard.render.text import one_line

    session = entry.session
    marks = (["pinned"] if session.pinned else []) + [escape(one_line(tag)) for tag in session.tags]
    spent = Cost(session.cost_usd, session.lower_bound_messages > 0, bool(session.unpriced_models))
    return (
        _when(session.ended_at, zone) if session.ended_at is not None else "",
        f"[{escape(one_line(session.title[:400])) or '(untitled)'}]({entry.href})"
        + (f" ({', '.join(marks)})" if marks else ""),
        session.prompts,
        session.tool_calls,
        spent if session.api_messages else None,
        session.models[0] if session.models else None,
    )


# -- HTML


def index_page(
    entries: Iterable[SessionLink],
    *,
    title: str = "Sessions",
    zone: tzinfo = UTC,
    names: ProjectNames,
) -> Iterator[str]:
    """The pieces of a page that lists sessions, the newest first in every project."""
    listed = _newest_first(entries)
    return document(
        "index.html",
        ("base.css", "index.css"),
        ("common.js", "index.js"),
        {
            "title": one_line(title, 200),
            "totals": _totals([entry.session for entry in listed], zone),
            "sessions": _projects(listed, zone, names),
            "footer": footer(None, zone),
        },
    )


def _totals(sessions: Sequence[Session], zone: tzinfo) -> str:
    known = [session.tokens for session in sessions if session.tokens is not None]
    tokens = sum(known)
    facts = [
        (many(len(sessions), "session"), ""),
        (many(len({session.project for session in sessions}), "project"), ""),
        (many(sum(session.prompts for session in sessions), "prompt"), ""),
        (f"{short(tokens)} tokens", f"{tokens:,} tokens") if known else ("tokens not recorded", ""),
        (_cost(sessions) or "no price known", ""),
    ]
    times = sorted(
        local(time, zone) for session in sessions for time in (session.started_at, session.ended_at) if time is not None
    )
    if times:
        first, last = month(times[0]), month(times[-1])
        facts.append((first if first == last else f"{first} to {last}", ""))
    return "".join(
        f'<li title="{escaped(about)}">{escaped(fact)}</li>' if about else f"<li>{escaped(fact)}</li>"
        for fact, about in facts
    )


def _projects(entries: Sequence[SessionLink], zone: tzinfo, names: ProjectNames) -> Iterator[str]:
    if not entries:
        yield '<p class="empty">No sessions.</p>'
    for project, own in _by_project(entries).items():
        cost = _cost([entry.session for entry in own])
        spent = f", {cost}" if cost else ""
        place = element_id("p", project)
        yield (
            f'<section class="group" aria-labelledby="{place}"><h2 id="{place}">{escaped(project_name(project, names))}'
            f" <small>{one_line(project, 300)}, {many(len(own), 'session')}{escaped(spent)}</small></h2>"
        )
        for name, month_entries in groupby(own, key=lambda entry: _month(entry.session, zone)):
            yield f'<section class="group"><h3>{name}</h3><ul class="sessions">'
            for entry in month_entries:
                yield _row(entry, zone)
            yield "</ul></section>"
        yield "</section>"


def _month(session: Session, zone: tzinfo) -> str:
    return month(local(session.ended_at, zone)) if session.ended_at is not None else "No date"


def _row(entry: SessionLink, zone: tzinfo) -> str:
    session = entry.session
    ended = session.ended_at
    facts = [many(session.prompts, "prompt"), many(session.tool_calls, "tool call")]
    if session.started_at is not None and ended is not None and ended > session.started_at:
        facts.append(timedelta_text(ended - session.started_at))
    facts.append("tokens not recorded" if session.tokens is None else f"{short(session.tokens)} tokens")
    facts += [", ".join(map(model_name, session.models[:3]))]
    when = ""
    if ended is not None:
        when = f'<time datetime="{machine(ended)}">{_when(ended, zone)}</time>'
    cost = _cost([session])
    marks = "".join(f'<span class="badge">{one_line(mark, 40)}</span>' for mark in marks_of(session))
    return (
        f'<li class="session" data-at="{ended.timestamp() if ended else 0:.0f}" data-cost="{session.cost_usd or 0:f}"'
        f' data-tokens="{session.tokens or 0}" data-prompts="{session.prompts}" data-project="{one_line(session.project, 200)}">'
        f'<a href="{escaped(entry.href)}" dir="auto">{one_line(title_of(session), 140)}</a>'
        f'<span class="facts">{marks}{when}{"".join(f"<span>{escaped(fact)}</span>" for fact in facts if fact)}</span>'
        f'<span class="cost">{escaped(cost)}</span></li>'
    )


def _cost(sessions: Sequence[Session]) -> str:
    """The cost of sessions, with its mark; empty if nothing has a price."""
    costs = [session.cost_usd for session in sessions if session.cost_usd is not None]
    if not costs:
        return ""
    bounds = any(session.lower_bound_messages for session in sessions)
    unpriced = any(session.unpriced_models for session in sessions)
    return cost(sum(costs, Decimal(0)), lower_bound=bounds, unpriced=unpriced)
