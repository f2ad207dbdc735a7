"""Commits and blame: which sessions wrote the lines that a repository has, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct
from starlette.routing import Route

from hansard.errors import NotFound, UsageError
from hansard.model.blame import CERTAINTIES
from hansard.model.requests import about
from hansard.render.format import attributed_cost, many
from hansard.web.parameters import read_params
from hansard.web.responses import answered, html
from hansard.web.urls import place, session_place

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from hansard.engine import Hansard
    from hansard.model.blame import BlamedLine, BlameReport

_LONGEST_PATH = 4096
_LISTED = 100  # commits
_MOST_LINES = 5_000
_AGENTS = frozenset({"exact", "moved", "partial", "window"})  # certainties that name a session


class CommitsPageRequest(Struct, frozen=True, kw_only=True):
    """The commits of a session, or of a project."""

    session: Annotated[str | None, about("The session.")] = None
    project: Annotated[str | None, about("A folder in the repository.", longest=_LONGEST_PATH)] = None


class CommitPageRequest(Struct, frozen=True, kw_only=True):
    """One commit."""

    project: Annotated[str, about("A folder in the repository.", longest=_LONGEST_PATH)]


class BlamePageRequest(Struct, frozen=True, kw_only=True):
    """The lines of one file."""

    path: Annotated[str, about("The file's path as it is in the calls.", longest=_LONGEST_PATH)]
    rev: Annotated[str | None, about("The file as it was in this commit; default: the working tree.")] = None


@dataclass(frozen=True, slots=True)
class Stretch:
    """Lines one below the other that came from one edit, or from none."""

    first: int
    lines: Sequence[BlamedLine]
    certainty: str
    meaning: str
    commit: str
    commit_href: str | None
    title: str
    href: str | None


async def list_commits(request: Request) -> Response:
    """The commits that a session, or the sessions of a project, contributed to."""
    asked = read_params(request, CommitsPageRequest)
    if (asked.session is None) == (asked.project is None):
        raise UsageError("name a session or a project")

    def answer(h: Hansard) -> Response:
        about_session = h.session(asked.session) if asked.session else None
        folder = _known_project(h, asked.project) if asked.project else None
        found = h.commits(session=asked.session, repository=folder, limit=_LISTED)
        return html(
            request,
            "commits.html",
            title="Commits",
            session=about_session,
            project=asked.project or (about_session.project if about_session else ""),
            page=found,
            cost=attributed_cost(found),
            link=lambda commit: place(f"/commits/{commit.commit}", project=commit.repository),
        )

    return await answered(request, answer)


async def show_commit(request: Request) -> Response:
    """One commit: its sessions, its lines and what they cost."""
    name = request.path_params["commit"]
    asked = read_params(request, CommitPageRequest)

    def answer(h: Hansard) -> Response:
        folder = _known_project(h, asked.project)
        commit = h.find_commit(name, folder)
        if commit is None:
            raise NotFound(f"no commit {name[:60]} in {folder}")
        report = h.blame_commit(commit, folder)
        return html(
            request,
            "commit.html",
            title=report.commit.subject or commit[:12],
            report=report,
            added=sum(report.counts.values()),
            counts=_counts(report.counts),
            cost=attributed_cost(report),
            files=[(one, list(_stretches(one, None)), _counts(one.counts)) for one in report.files],
            place=session_place,
        )

    return await answered(request, answer)


async def show_blame(request: Request) -> Response:
    """Each line of a file with the session that wrote it."""
    asked = read_params(request, BlamePageRequest)

    def answer(h: Hansard) -> Response:
        _known_file(h, asked.path)
        report = h.blame(path=asked.path, rev=asked.rev)
        return html(
            request,
            "blame.html",
            title=f"Blame of {report.path.rpartition('/')[2]}",
            at="/files",
            report=report,
            history=place("/files/history", path=asked.path),
            counts=_counts(report.counts),
            cost=attributed_cost(report),
            stretches=list(_stretches(report, report.repository)),
            more=max(0, len(report.lines) - _MOST_LINES),
        )

    return await answered(request, answer)


def _known_project(h: Hansard, folder: str) -> str:
    """A folder in which sessions worked, or the repository of one: pages open no other repositories."""
    if any(folder == one or one.startswith(f"{folder.rstrip('/')}/") for one in h.field_values("project")):
        return folder
    raise NotFound(f"no session worked in {folder[:300]}")


def _known_file(h: Hansard, path: str) -> None:
    h.file_history(path=path, limit=1)  # raises if no call names it


def _counts(counts: dict[str, int]) -> list[tuple[str, str, str]]:
    """Lines by how certain it is that a session wrote them: the name, the number, and what it means."""
    return [(name, many(counts[name], "line"), CERTAINTIES[name]) for name in CERTAINTIES if counts.get(name)]


def _stretches(report: BlameReport, repository: str | None) -> Iterator[Stretch]:
    """The lines of a report, those of one edit and one commit together."""
    edits = {one.number: one for one in report.edits}
    subjects = {one.commit: one.subject for one in report.commits}
    for (edit, commit, certainty), lines in groupby(
        report.lines[:_MOST_LINES], key=lambda line: (line.edit, line.commit, line.certainty)
    ):
        inner = list(lines)
        wrote = edits.get(edit) if edit is not None and certainty in _AGENTS else None
        is_committed = bool(commit.strip("0"))
        yield Stretch(
            inner[0].number,
            inner,
            certainty,
            CERTAINTIES[certainty],
            subjects.get(commit, "") if is_committed else "not committed yet",
            place(f"/commits/{commit}", project=repository) if repository and is_committed else None,
            wrote.title or wrote.session_id[:8] if wrote else "",
            session_place(wrote.session_id, wrote.offset, wrote.agent_id) if wrote else None,
        )


ROUTES = [
    Route("/commits", list_commits),
    Route("/commits/{commit}", show_commit),
    Route("/files/blame", show_blame),
]
