"""A reconstruction as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hansard.render.format import full, size, span
from hansard.render.markdown_text import code_span, escape, fenced
from hansard.render.terminal.recovery import paste_words
from hansard.render.text import clean, one_line

if TYPE_CHECKING:
    from hansard.model.recovery import Reconstruction


def markdown_lines(found: Reconstruction) -> Iterator[str]:
    """The document, whose first and last lines say what it is; whatever was typed or pasted stands in code blocks."""
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
