"""A session as one HTML file that needs nothing beside it."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import TYPE_CHECKING

from hansard.model.gate import replaced
from hansard.render.format import dollars, full, machine, many, redaction_words, short, span, timedelta_text, title_of
from hansard.render.html.escaping import escaped, linked, one_line, quoted
from hansard.render.html.threads import Drawing, Heading, not_shown

if TYPE_CHECKING:
    from hansard.model.sessions import Session
    from hansard.thread.thread import Thread


def page(
    thread: Thread,
    *,
    title: str = "",
    home: str = "",
    now: datetime | None = None,
    zone: tzinfo = UTC,
) -> Iterator[str]:
    """The pieces of a session's page, in order; one item is drawn at a time.

    `title` replaces the session's own, `home` is the address of the page that lists it, `now` is shown at the foot, and
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
            "footer": _foot(thread, now, zone),
        },
    )


def _foot(thread: Thread, now: datetime | None, zone: tzinfo) -> Iterator[str]:
    """Drawn after the conversation, when the count is complete."""
    yield footer(now, zone)
    if count := len(replaced(thread.redact)):
        yield f" {redaction_words(count)}"


def _conversation(thread: Thread, drawing: Drawing) -> Iterator[str]:
    if not thread.has_log:
        yield '<p class="empty">Only subagents of this session remain.</p>'
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
    """Drawn after the conversation, when the headings are known."""
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
    """The footer of a page."""
    if now is None:
        return "Written by Hansard."
    return f'Written by Hansard, <time datetime="{machine(now)}">{full(now, zone)}</time>.'


_KEPT = {
    "gone": "the client has deleted it; Hansard keeps it",
    "freed": "freed in the client's folder; Hansard keeps it",
    "rewritten": "its file was rewritten and now holds less; Hansard keeps this version",
}


def marks_of(session: Session) -> Iterable[str]:
    """Pin and tags of a session."""
    if session.pinned:
        yield "pinned"
    yield from session.tags


def header(session: Session, title: str, zone: tzinfo, home: str) -> str:
    """The head of a session's page."""
    back = f'<p class="home"><a href="{escaped(home)}">All sessions</a></p>' if home else ""
    marks = "".join(f'<li class="badge">{one_line(mark, 60)}</li>' for mark in marks_of(session))
    notes = "".join(f'<p class="note plain">{linked(note)}</p>' for note in session.notes)
    facts = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in _facts(session, zone))
    return (
        f'<header class="head">{back}<p class="project">{one_line(session.project, 300)}</p>'
        f'<h1 dir="auto">{one_line(title, 160)}</h1>'
        + (f'<ul class="tags" aria-label="Tags">{marks}</ul>' if marks else "")
        + f'{notes}<dl class="about">{facts}</dl></header>'
    )


def _facts(session: Session, zone: tzinfo) -> Iterable[tuple[str, str]]:
    if session.started_at is not None:
        started, ended = session.started_at, session.ended_at or session.started_at
        long = f" ({timedelta_text(ended - started)})" if ended > started else ""
        yield "When", f'<time datetime="{machine(session.started_at)}">{span(started, ended, zone)}</time>{long}'
    branches = session.branches or ((session.branch,) if session.branch else ())
    if branches:
        yield "Branch", _listed(branches)
    if session.models:
        yield "Models", _listed(session.models)
    yield "Activity", ", ".join(_counts(session))
    if session.api_messages:
        yield "Tokens", _tokens(session)
        yield "Cost", _cost(session)
    if session.files_changed:
        yield (
            "Changed",
            (
                f'{many(session.files_changed, "file")} <span class="plus">+{session.lines_added:,}</span> '
                f'<span class="minus">&minus;{session.lines_removed:,}</span>'
            ),
        )
    if session.pull_requests:
        yield "Pulls", ", ".join(linked(address) for address in session.pull_requests[:20])
    yield "Session", f"<code>{one_line(session.session_id, 100)}</code>"
    kept = _KEPT.get(session.source_state, session.source_state)
    is_bare = not session.project_dir or session.root.rstrip("/").endswith("projects")
    place = "/".join(filter(None, (session.root, "" if is_bare else "projects", session.project_dir)))
    yield "Source", f'<span class="path">{one_line(place, 400)}</span> ({escaped(kept)})'
    versions = session.versions or tuple(filter(None, (session.version,)))
    if versions or session.other_client:
        yield "Client", " ".join(filter(None, (escaped(session.other_client), _listed(versions))))


def _listed(values: Sequence[str], limit: int = 5) -> str:
    shown = ", ".join(f"<span>{one_line(value, 80)}</span>" for value in values[:limit])
    return shown + (f" and {len(values) - limit} more" if len(values) > limit else "")


def _counts(session: Session) -> Iterable[str]:
    yield many(session.prompts, "prompt")
    yield many(session.tool_calls, "tool call")
    errors = session.tool_errors + session.api_errors
    for count, thing in ((errors, "error"), (session.agents, "subagent"), (session.compactions, "compaction")):
        if count:
            yield many(count, thing)


def _tokens(session: Session) -> str:
    named = (
        (session.input_tokens, "in"),
        (session.output_tokens, "out"),
        (session.cache_read_tokens, "cache read"),
        (session.cache_write_tokens, "cache write"),
    )
    return ", ".join(f'<span title="{count:,}">{short(count)} {name}</span>' for count, name in named if count)


def _cost(session: Session) -> str:
    if session.cost_usd is None:
        return f"no price known for {_listed(session.unpriced_models)}" if session.unpriced_models else "no price known"
    amount = escaped(dollars(session.cost_usd))
    if session.lower_bound_messages:
        count = many(session.lower_bound_messages, "answer was", "answers were")
        amount = f'<span title="{count} not finished, so the output counted for them is a lower bound">at least {amount}</span>'
    return f"{amount}, without {_listed(session.unpriced_models)}" if session.unpriced_models else amount


_GAP = re.compile(r"\{\{(\w+)\}\}")


@cache
def asset(name: str) -> str:
    """A file of the package's assets."""
    return files("hansard.render.html").joinpath("assets", name).read_text(encoding="utf-8")


def fill_template(template: str, values: Mapping[str, str | Iterable[str]]) -> Iterator[str]:
    """Fill each {{gap}} of a template with its value, which is not parsed and may come in pieces."""
    for place, piece in enumerate(_GAP.split(asset(template))):
        if not place % 2:
            yield piece
        elif isinstance(value := values[piece], str):
            yield value
        else:
            yield from value


def document(
    template: str, styles: Iterable[str], scripts: Iterable[str], values: Mapping[str, str | Iterable[str]]
) -> Iterator[str]:
    """A page with its template as the body, and inline style and script; its content security policy allows their digests and nothing else."""
    style = "\n".join(map(asset, styles))
    script = "\n".join(map(asset, scripts))
    policy = (
        f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = {"policy": quoted(policy), "title": values["title"], "style": style, "script": script}
    return chain(fill_template("head.html", head), fill_template(template, values))


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
