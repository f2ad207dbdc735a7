"""Search results for the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from hansard.lazy_regex import lazy_compile
from hansard.model.search import TeamHit
from hansard.render.format import TASK, ProjectNames, full, hit_time, many, project_name, tool_name
from hansard.render.text import PIPED, Paint, clean, fit, fit_path, one_line, pad, short_id, width, wrap

if TYPE_CHECKING:
    from hansard.model.search import Facets, FoundNote, Hit, SessionHits

_WIDEST = 120  # longer lines are hard to read
_INDENT = "    "
_TITLE = 400  # characters of a title that are looked at
_TITLE_LEAST = 16  # columns of a title that says anything
_NAMED = 3  # forks that are called by their ids
_FACETS = 8
_BAR = 24
_SPEAKERS = {"prompt": ("You", "you"), "command": ("command", "cyan")}
_LOST = 5  # columns at the end of a line where the next word does not fit, about
_SHORT = 16  # a word that may go as a whole
_ODD_SPACE = lazy_compile(r"\s{2,}|[^\S ]")
_WORDS = lazy_compile(r"\S+")
_RANDOM = lazy_compile("[0-9a-f]{8,}")  # an agent's id whose beginning is as good as all of it
_SAFE = lazy_compile(r"[\w.@%+=:,/-]+", re.ASCII)


class HitStyle(Struct, frozen=True):
    """The width and colours of the terminal, and the names of projects."""

    columns: int
    paint: Paint
    names: ProjectNames

    def readable(self) -> HitStyle:
        """Limit the width; output to a pipe is not cut."""
        return self if self.is_piped else HitStyle(min(self.columns, _WIDEST), self.paint, self.names)

    @property
    def is_piped(self) -> bool:
        """Whether output goes to a pipe, which has no right edge."""
        return self.columns >= PIPED


def session_lines(found: Sequence[SessionHits], style: HitStyle) -> Iterator[str]:
    style = style.readable()
    for number, session in enumerate(found):
        if number:
            yield ""
        last = session.ended_at or (session.hits[0].timestamp if session.hits else None)
        facts = (full(last), many(session.matches, "match", "matches"))
        yield _header(session.session_id, session.project, session.title, facts, style)
        for hit in session.hits:
            yield from _hit(hit, style, last, 2)


def hit_lines(found: Sequence[Hit], style: HitStyle) -> Iterator[str]:
    """A flat list of hits, with a header whenever the session changes."""
    style = style.readable()
    before: Hit | None = None
    for hit in found:
        if before is None or (before.session_id, before.project) != (hit.session_id, hit.project):
            if before is not None:
                yield ""
            yield _header(hit.session_id, hit.project, hit.title, (), style)
        yield from _hit(hit, style, None, 3)
        before = hit


def note_lines(found: Sequence[FoundNote], style: HitStyle) -> Iterator[str]:
    """Notes with the words of a search, each under its session."""
    style = style.readable()
    for note in found:
        yield _header(note.session_id, note.project, note.title, (), style)
        yield f"  {style.paint('your note', 'you')}  {style.paint(hit_time(note.at), 'dim')}"
        text = fit(one_line(note.note), 3 * (style.columns - len(_INDENT)))
        yield from (_INDENT + piece for piece in wrap(text, style.columns - len(_INDENT)))


def _header(session_id: str, path: str, title: str, facts: tuple[str, ...], style: HitStyle) -> str:
    """One line on a session; other facts are left out before the title is cut."""
    paint = style.paint
    name = short_id(session_id) or "-"
    title = one_line(title[:_TITLE]) or ("(untitled)" if session_id else "(of no session)")
    project = fit(project_name(path, style.names), max(8, style.columns // 4))
    least = min(width(title), _TITLE_LEAST)
    ways = [(project, "  ".join(facts)), (project, "".join(facts[:1])), ("", "".join(facts[:1]))]
    rooms = [style.columns - sum(width(text) + 2 for text in (name, *way) if text) for way in ways]
    (place, tail), room = next((way for way in zip(ways, rooms, strict=True) if way[1] >= least), (ways[-1], rooms[-1]))
    title = fit(title, room)
    shown = [paint(name, "cyan"), paint(place, "green"), paint(title, "heading")]
    if tail:
        shown.append(("" if style.is_piped else " " * (room - width(title))) + paint(tail, "dim"))
    return "  ".join(filter(None, shown))


def _hit(hit: Hit, style: HitStyle, day: datetime | None, most: int) -> Iterator[str]:
    """A hit: who said it and when, how to open it, and the text itself."""
    paint, columns = style.paint, style.columns
    label, colour = _label(hit)
    machine = one_line(hit.machine) if isinstance(hit, TeamHit) else ""
    facts = "  ".join(filter(None, ("subagent" if hit.agent_id else "", hit_time(hit.timestamp, day), machine)))
    label = fit(label, min(columns // 2, columns - width(facts) - 4))
    taken = 2 + width(label) + (2 + width(facts) if facts else 0)
    opening = _opening(hit)
    beside = taken + 2 + width(opening) <= columns
    line = "  " + paint(label, colour) + (f"  {paint(facts, 'dim')}" if facts else "")
    if beside and opening:
        line += " " * (2 if style.is_piped else columns - taken - width(opening)) + paint(opening, "dim")
    yield line
    yield from _context(hit.before, style)
    yield from (_INDENT + piece for piece in snippet_lines(hit, columns - len(_INDENT), most, paint))
    yield from _context(hit.after, style)
    if hit.others:
        yield _INDENT + paint(fit(_also(hit), columns - len(_INDENT)), "dim")
    if not beside:
        yield from (_INDENT + paint(piece, "dim") for piece in wrap(opening, columns - len(_INDENT)))


def _label(hit: Hit) -> tuple[str, str]:
    if hit.kind in ("call", "result"):
        name = tool_name(hit.tool) if hit.tool else hit.kind
        sign = "✗" if hit.is_error else "→" if hit.kind == "call" else "←"
        return f"{sign} {name}", "red" if hit.is_error else "bold"
    name, style = _SPEAKERS.get(hit.kind, (one_line(hit.kind), "bold"))
    if hit.kind == "reply":
        name, style = hit.speaker, "model"
    if hit.kind == "prompt" and isinstance(hit, TeamHit):
        name = one_line(hit.person)
    if hit.agent_id and hit.kind == "prompt":
        name = TASK
    return (f"✗ {name}", "red") if hit.is_error else (name, style)


def _opening(hit: Hit) -> str:
    """The command that shows the hit in its session."""
    if isinstance(hit, TeamHit) or not hit.session_id or not (hit.project or hit.title):
        return ""  # it is on another machine, or only the prompt history remembers it
    parts = ["hansard show", _quoted(short_id(hit.session_id))]
    if hit.agent_id:
        parts.append(f"--agent {_quoted(hit.agent_id[:8] if _RANDOM.fullmatch(hit.agent_id) else hit.agent_id)}")
    if hit.is_in_other_transcript:
        parts.append(f"--transcript {_quoted(hit.transcript)}")
    if hit.is_in_thread or hit.is_in_other_transcript:
        parts.append(f"--at {hit.offset}")
    return " ".join(parts)


def _quoted(name: str) -> str:
    """A name that a shell takes as one word; transcripts are hostile."""
    name = one_line(name)
    if _SAFE.fullmatch(name):
        return name
    from shlex import quote

    return quote(name)


def _also(hit: Hit) -> str:
    forks = list(dict.fromkeys(place.session_id for place in hit.others if place.session_id != hit.session_id))
    parts = []
    if forks:
        named = ", ".join(short_id(fork) or "-" for fork in forks[:_NAMED])
        parts.append(f"in {many(len(forks), 'fork')}: {named}{', …' if len(forks) > _NAMED else ''}")
    if any(place.session_id == hit.session_id for place in hit.others):
        parts.append("elsewhere in this session")
    return f"also {', and '.join(parts)}"


def _context(lines: Sequence[str], style: HitStyle) -> Iterator[str]:
    for line in lines:
        text = clean(line).replace("\n", " ").expandtabs(4).rstrip()
        yield (_INDENT + style.paint("│ " + fit(text, style.columns - len(_INDENT) - 2), "dim")).rstrip()


# -- snippets


def snippet_lines(hit: Hit, columns: int, most: int, paint: Paint) -> list[str]:
    """The snippet in a few lines with its hits marked; what does not fit goes from the ends."""
    text, spans = _plain(hit.snippet, hit.highlights)
    if not text:
        return []
    room = (columns - _LOST) * most
    if spans and width(text) > room:
        text, spans = _from_best_match(text, spans, room * len(text) // width(text))
    pieces = _wrapped(text, columns)
    lines = [_marked(text, start, end, spans, paint) for start, end in pieces[:most]]
    if len(pieces) > most:
        lines[-1] = _cut(text, *pieces[most - 1], columns, spans, paint)
    return lines


def _cut(text: str, start: int, end: int, columns: int, spans: Sequence[tuple[int, int]], paint: Paint) -> str:
    """A last line with an ellipsis, which replaces the last word if that is not too long."""
    if width(text[start:end]) > columns - 2:
        space = text.rfind(" ", start, end)
        if space > start and end - space <= _SHORT:
            end = space
    kept = fit(text[start:end] + " …", columns)
    shown = len(kept.removesuffix("…").rstrip())
    return _marked(text, start, start + shown, spans, paint) + kept[shown:]


def _plain(snippet: str, highlights: Sequence[tuple[int, int]]) -> tuple[str, list[tuple[int, int]]]:
    """Clean text with single spaces and the hits in it; where cleaning changes the text, their positions are lost."""
    text = clean(snippet)
    spans = [(max(0, start), end) for start, end in highlights] if text == snippet else []
    if not _ODD_SPACE.search(text) and text == text.strip():
        return text, spans
    shown: list[str] = []
    places: list[int] = []  # of each character of the text in what is shown
    length = 0
    for word in re.split(r"(\s+)", text):
        piece = " " if word.isspace() else word
        places += [length + min(place, len(piece)) for place in range(len(word))]
        shown.append(piece)
        length += len(piece)
    places.append(length)
    joined = "".join(shown)
    start = len(joined) - len(joined.lstrip())
    moved = [(places[min(low, len(text))] - start, places[min(high, len(text))] - start) for low, high in spans]
    return joined.strip(), [(max(0, low), high) for low, high in moved]


def _from_best_match(text: str, spans: list[tuple[int, int]], room: int) -> tuple[str, list[tuple[int, int]]]:
    """Cut a long text to start shortly before the window with the most distinct matches."""
    best = most = 0
    for low in (0, *(max(0, start - room // 5) for start, _ in spans)):
        seen = {text[first:last].casefold() for first, last in spans if low <= first and last - low <= room}
        if len(seen) > most:
            best, most = low, len(seen)
    space = text.rfind(" ", max(0, best - _SHORT), best + 1)
    start = space + 1 if space >= 0 else best
    if start <= 2:  # an ellipsis is there already, or there is nothing before
        return text, spans
    return "… " + text[start:], [(low - start + 2, high - start + 2) for low, high in spans if low >= start]


def _wrapped(text: str, columns: int) -> list[tuple[int, int]]:
    """Where the lines of a text begin and end; it has single spaces only."""
    lines: list[tuple[int, int]] = []
    start = end = 0  # of the current line
    for word in _WORDS.finditer(text):
        low, high = word.span()
        if end > start and width(text[start:high]) <= columns:
            end = high
            continue
        # A word wider than a line begins on the current one, unless that is nearly full.
        if end > start and (width(text[low:high]) <= columns or width(text[start:end]) > columns // 2):
            lines.append((start, end))
            start = low
        elif end == start:
            start = low
        while width(text[start:high]) > columns:
            cut = start + 1
            while width(text[start : cut + 1]) <= columns:
                cut += 1
            lines.append((start, cut))
            start = cut
        end = high
    return [*lines, (start, end)] if end > start else lines


def _marked(text: str, start: int, end: int, spans: Sequence[tuple[int, int]], paint: Paint) -> str:
    shown: list[str] = []
    place = start
    for low, high in spans:
        first, last = max(low, place), min(high, end)
        if first < last:
            shown += [text[place:first], paint(text[first:last], "match")]
            place = last
    return "".join(shown) + text[place:end]


# -- facets


def facet_lines(facets: Facets, style: HitStyle) -> Iterator[str]:
    """Facets as bars: the most frequent values of each, and the latest months."""
    paths = [path for path, _ in facets.project[:_FACETS]]
    names = [project_name(path, style.names) for path in paths]
    projects = tuple(
        (name if names.count(name) == 1 else one_line(path), count)
        for name, path, (_, count) in zip(names, paths, facets.project, strict=False)
    )
    tools = tuple((tool_name(tool), count) for tool, count in facets.tool[:_FACETS])
    kinds = tuple((one_line(kind), count) for kind, count in facets.kind[:_FACETS])
    groups = (
        ("Projects", projects, len(facets.project)),
        ("Tools", tools, len(facets.tool)),
        ("Kinds", kinds, len(facets.kind)),
        ("Months", facets.month[:_FACETS], len(facets.month)),
    )
    every = [item for _, rows, _ in groups for item in rows]
    numbers = max((len(f"{count:,}") for _, count in every), default=0)
    names_wide = min(max((width(name) for name, _ in every), default=0), max(8, style.columns - numbers - _BAR - 6), 40)
    longest = max(1, min(_BAR, style.columns - names_wide - numbers - 6))
    first = True
    for title, rows, of_all in groups:
        if not rows:
            continue
        if not first:
            yield ""
        first = False
        more = f"  and {of_all - len(rows):,} more" if of_all > len(rows) else ""
        yield style.paint(title, "heading") + style.paint(more, "dim")
        most = max(count for _, count in rows)
        for name, count in rows:
            shown = fit_path(name, names_wide) if "/" in name else fit(name, names_wide)
            bar = "█" * max(1, round(count / most * longest))
            yield f"  {pad(shown, names_wide)}  {count:>{numbers},}  {style.paint(bar, 'cyan')}"
