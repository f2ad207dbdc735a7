"""Lost sessions: the list, and a reconstruction of one, in the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from hansard.model.table import Column, Kind, Table
from hansard.render.format import full, many, size, span
from hansard.render.markdown_text import code_span, escape, fenced
from hansard.render.terminal.tables import draw_table
from hansard.render.text import Paint, clean, fit, one_line, short_id, wrap

if TYPE_CHECKING:
    from hansard.model.recovery import LostSession, Reconstruction, RecoveredPaste
    from hansard.render.format import ProjectNames

_SHOWN = 400  # characters of a title
_PASTE_LINES = 12  # of a paste; Markdown and JSON have all of it
_INDENT = "  "
_STATES = {"completed": "✓", "in_progress": "▶", "deleted": "✗"}
_COLUMNS = (
    Column("WHEN", Kind.TIME),
    Column("ID", style="cyan"),
    Column("PROJECT", Kind.PROJECT, rank=2),
    Column("PROMPTS", Kind.COUNT),
    Column("TITLE", least=20),
    Column("ALSO FOUND", least=16, rank=1, style="dim"),
)


def lost_table(sessions: Sequence[LostSession], columns: int, paint: Paint, names: ProjectNames) -> list[str]:
    rows = [
        [
            lost.started_at,
            short_name(lost),
            lost.project,
            lost.prompts,
            one_line(lost.title)[: max(_SHOWN, columns)] or "-",
            ", ".join(also_found(lost)) or "-",
        ]
        for lost in sessions
    ]
    return draw_table(Table(_COLUMNS, rows), columns, paint, names)


def short_name(lost: LostSession) -> str:
    """The name to type for it."""
    return short_id(lost.name) if lost.session_id is not None else one_line(lost.name)


def also_found(lost: LostSession) -> list[str]:
    """What was found of a session besides its prompts."""
    counts = (
        (lost.pastes, "paste"),
        (lost.todos, "todo"),
        (lost.file_versions, "file version"),
        (lost.commits, "commit"),
    )
    words = [many(count, thing) for count, thing in counts if count]
    named = {"sessions-index": "index entry", "title": "title", "subagents": "subagents", "other": "other files"}
    return words + [named[source] for source in lost.sources if source in named]


def draw_reconstruction(found: Reconstruction, columns: int, paint: Paint) -> Iterator[str]:
    """A reconstruction, marked as one at both ends."""
    lost = found.session
    yield from (paint(line, "yellow") for line in wrap(f"RECONSTRUCTION. {found.note}", columns))
    yield ""
    yield paint(fit(one_line(lost.title) or "(untitled)", columns), "bold")
    facts = [one_line(lost.name), one_line(lost.project), one_line(found.branch), span(lost.started_at, lost.ended_at)]
    yield paint(fit("  ".join(filter(None, facts)), columns), "dim")
    yield paint(fit(f"from: {', '.join(lost.sources)}", columns), "dim")
    for title in found.titles:
        yield fit(f"title in {title.source}: {one_line(title.text)}", columns)
    for prompt in found.prompts:
        yield ""
        yield paint(full(prompt.at), "dim")
        for line in wrap(clean(prompt.text).strip("\n"), columns - len(_INDENT)):
            yield _INDENT + line if line else ""
        for paste in prompt.pastes:
            yield from _paste(paste, columns, paint)
    if found.todos:
        yield from _heading("Todos, as last saved", paint)
        for todo in found.todos:
            yield fit(f"{_INDENT}{_STATES.get(todo.status, '·')} {one_line(todo.text)}", columns)
    if found.file_versions:
        yield from _heading("Files as they were before the client changed them", paint)
        for version in found.file_versions:
            name = one_line(version.file or "(path unknown)")
            number = f"v{version.version}" if version.version is not None else ""
            yield fit(f"{_INDENT}{name}  {number}  {size(version.size)}  {one_line(version.path)}", columns)
    if found.files:
        yield from _heading("Other files that are kept", paint)
        for file in found.files:
            yield fit(f"{_INDENT}{file.kind}  {size(file.size)}  {one_line(file.path)}", columns)
    if found.commits:
        yield from _heading("Commits in the repository at that time, not necessarily from this session", paint)
        for commit in found.commits:
            named = "  names the session" if commit.names_session else ""
            line = f"{_INDENT}{full(commit.committed_at)}  {commit.commit[:8]}  {one_line(commit.subject)}{named}"
            yield fit(line, columns)
    yield ""
    yield paint(fit("(end of the reconstruction)", columns), "yellow")


def _heading(text: str, paint: Paint) -> Iterator[str]:
    yield ""
    yield paint(text, "bold")


def paste_words(paste: RecoveredPaste) -> str:
    """The heading of a paste."""
    if paste.text is None:
        return f"#{paste.number} {one_line(paste.kind)}: not kept"
    return f"#{paste.number} {many(len(paste.text.splitlines()), 'pasted line')}, from {paste.source}"


def _paste(paste: RecoveredPaste, columns: int, paint: Paint) -> Iterator[str]:
    yield _INDENT + paint(fit(paste_words(paste), columns - len(_INDENT)), "dim")
    if paste.text is None:
        return
    lines = clean(paste.text).strip("\n").split("\n")
    for line in lines[:_PASTE_LINES]:
        yield fit(f"{_INDENT * 2}{line.expandtabs(4)}", columns)
    if len(lines) > _PASTE_LINES:
        yield _INDENT * 2 + paint(f"… {many(len(lines) - _PASTE_LINES, 'more line')}; --markdown shows all", "dim")


def markdown_lines(found: Reconstruction) -> Iterator[str]:
    """The document, marked as a reconstruction at both ends; typed and pasted text is in code blocks."""
    lost = found.session
    yield f"# Reconstruction: {escape(one_line(lost.title)) or '(untitled)'}"
    yield f"\n> **{found.note}**\n"
    yield f"- session: {code_span(one_line(lost.name))}"
    if lost.project:
        yield f"- project: {code_span(one_line(lost.project))}"
    if found.branch:
        yield f"- branch: {code_span(one_line(found.branch))}"
    yield f"- time: {span(lost.started_at, lost.ended_at)}"
    yield f"- from: {', '.join(lost.sources)}"
    for title in found.titles:
        yield f"- title in {title.source}: {escape(one_line(title.text))}"
    for prompt in found.prompts:
        yield f"\n## {full(prompt.at)}\n"
        yield fenced(clean(prompt.text).strip("\n"), "text")
        for paste in prompt.pastes:
            yield f"\n{escape(paste_words(paste))}"
            if paste.text is not None:
                yield "\n" + fenced(clean(paste.text).strip("\n"), "text")
    if found.todos:
        yield "\n## Todos, as last saved\n"
        for todo in found.todos:
            yield f"- [{'x' if todo.status == 'completed' else ' '}] {escape(one_line(todo.text))}"
    if found.file_versions:
        yield "\n## Files as they were before the client changed them\n"
        for version in found.file_versions:
            name = code_span(one_line(version.file)) if version.file else "(path unknown)"
            number = f", version {version.version}" if version.version is not None else ""
            yield f"- {name}{number}, {size(version.size)}: {code_span(one_line(version.path))}"
    if found.files:
        yield "\n## Other files that are kept\n"
        for file in found.files:
            yield f"- {file.kind}, {size(file.size)}: {code_span(one_line(file.path))}"
    if found.commits:
        yield "\n## Commits in the repository at that time\n\nNot necessarily from this session.\n"
        for commit in found.commits:
            named = ", names the session" if commit.names_session else ""
            yield f"- {full(commit.committed_at)} {code_span(commit.commit[:8])} {escape(one_line(commit.subject))}{named}"
    yield "\n*End of the reconstruction.*"
