"""Commits and blame: which sessions wrote the lines that a repository has, and what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Struct
from msgspec.structs import replace
from starlette.routing import Route

from hansard.errors import NotFound, UsageError
from hansard.model.blame import CERTAINTIES
from hansard.model.requests import about
from hansard.model.table import Column, Cost, Kind, Link, Table
from hansard.render.format import attributed_cost, many
from hansard.render.html.escaping import cut_line
from hansard.render.html.tables import draw_table
from hansard.web.responses import engine_route, html
from hansard.web.urls import place, session_place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request
    from starlette.responses import Response

    from hansard.engine import Hansard
    from hansard.model.blame import BlameReport, Commit, Contribution

_LONGEST_PATH = 4096
_LISTED = 100  # commits
_MOST_LINES = 5_000
_COMMITS = (
    Column("Committed", Kind.TIME, css="quiet not-narrow"),
    Column("Commit"),
    Column("Sessions"),
    Column("Files", Kind.COUNT, css="not-narrow"),
    Column("Lines changed", Kind.LINES),
    Column("Cost", Kind.COST),
)
_CONTRIBUTIONS = (Column("Session"), Column("Lines", right=True), Column("Cost", Kind.COST))
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


@engine_route(CommitsPageRequest)
def list_commits(h: Hansard, request: Request, asked: CommitsPageRequest) -> Response:
    """The commits that a session, or the sessions of a project, contributed to."""
    if (asked.session is None) == (asked.project is None):
        raise UsageError("name a session or a project")
    session = h.session(asked.session) if asked.session else None
    folder = _known_project(h, asked.project) if asked.project else None
    found = h.commits(session=asked.session, repository=folder, limit=_LISTED)
    return html(
        request,
        "commits.html",
        title="Commits",
        session=session,
        project=asked.project or (session.project if session else ""),
        page=found,
        cost=attributed_cost(found),
        table=draw_table(Table(_COMMITS, [_commit(one) for one in found.commits]), "rows"),
    )


def _commit(commit: Commit) -> list[Any]:
    """A row of the list."""
    href = place(f"/commits/{commit.commit}", project=commit.repository)
    sessions = [
        Link(cut_line(one.title, 60) or one.session_id[:8], session_place(one.session_id)) for one in commit.sessions
    ]
    return [
        commit.committed_at,
        Link(cut_line(commit.subject, 120) or commit.commit[:12], href, more=commit.commit[:8]),
        sessions,
        commit.files,
        (commit.added, commit.removed),
        Cost(commit.cost_usd, commit.is_lower_bound),
    ]


@engine_route(CommitPageRequest)
def show_commit(h: Hansard, request: Request, asked: CommitPageRequest) -> Response:
    """One commit: its sessions, its lines and what they cost."""
    name = request.path_params["commit"]
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
        sessions=draw_table(Table(_CONTRIBUTIONS, [_contribution(one) for one in report.sessions]), "rows"),
        files=[(one, list(_ranges(one, None)), _counts(one.counts)) for one in report.files],
    )


def _contribution(one: Contribution) -> list[Any]:
    """The part that a session has in a commit."""
    title, href = cut_line(one.title, 120) or one.session_id, session_place(one.session_id, one.offset)
    return [
        Link(title, href, more="committed it" if one.made else ""),
        f"{one.lines:,} of {one.added:,}",
        Cost(one.cost_usd, one.is_lower_bound),
    ]


@engine_route(BlamePageRequest)
def show_blame(h: Hansard, request: Request, asked: BlamePageRequest) -> Response:
    """Each line of a file with the session that wrote it."""
    h.file_history(path=asked.path, limit=1)  # raises if no call names it: pages open no other files
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
        ranges=list(_ranges(report, report.repository)),
        more=max(0, len(report.lines) - _MOST_LINES),
    )


def _known_project(h: Hansard, folder: str) -> str:
    """A folder in which sessions worked, or the repository of one: pages open no other repositories."""
    if any(folder == one or one.startswith(f"{folder.rstrip('/')}/") for one in h.field_values("project")):
        return folder
    raise NotFound(f"no session worked in {folder[:300]}")


def _counts(counts: dict[str, int]) -> list[tuple[str, str, str]]:
    """Lines by how certain it is that a session wrote them: the name, the number, and what it means."""
    return [(name, many(counts[name], "line"), CERTAINTIES[name]) for name in CERTAINTIES if counts.get(name)]


def _ranges(report: BlameReport, repository: str | None) -> Iterator[dict[str, Any]]:
    """Adjacent lines with the same origin; of a long file only the first."""
    edits = {one.number: one for one in report.edits}
    subjects = {one.commit: one.subject for one in report.commits}
    for lines in replace(report, lines=report.lines[:_MOST_LINES]).ranges():
        edit, commit, certainty = lines[0].edit, lines[0].commit, lines[0].certainty
        wrote = edits.get(edit) if edit is not None and certainty in _AGENTS else None
        is_committed = bool(commit.strip("0"))
        yield {
            "first": lines[0].number,
            "lines": lines,
            "certainty": certainty,
            "meaning": CERTAINTIES[certainty],
            "commit": subjects.get(commit, "") if is_committed else "not committed yet",
            "commit_href": place(f"/commits/{commit}", project=repository) if repository and is_committed else None,
            "title": wrote.title or wrote.session_id[:8] if wrote else "",
            "href": session_place(wrote.session_id, wrote.offset, wrote.agent_id) if wrote else None,
        }


ROUTES = [
    Route("/commits", list_commits),
    Route("/commits/{commit}", show_commit),
    Route("/files/blame", show_blame),
]
