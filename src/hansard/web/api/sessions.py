"""Sessions, projects, and what a session consists of."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import defstruct

from hansard.model.files import FileChange, Link, Todo, Transcript
from hansard.model.requests import ProjectsRequest, SessionRequest, SessionsRequest, about
from hansard.model.sessions import Project, Related, Session, SessionPage
from hansard.model.threads import Agent
from hansard.web.api.endpoint import Call, Endpoint

if TYPE_CHECKING:
    from hansard.engine import Hansard

_PATH = "/api/sessions/{session}"


class RelatedRequest(SessionRequest, frozen=True, kw_only=True):
    """Sessions like one."""

    limit: Annotated[int, about("Maximum number.", ge=1, le=50)] = 10


class FileChangesRequest(SessionRequest, frozen=True, kw_only=True):
    """Changes that a session made to files."""

    path: Annotated[str | None, about("Only files whose path contains this.")] = None
    first: Annotated[int, about("Number of the first change: 1, or `next` of the previous answer.", ge=1, le=10**9)] = 1
    limit: Annotated[int, about("Maximum number.", ge=1, le=500)] = 100


def _related(call: Call) -> dict[str, Any]:
    session = call.h.session(call.request.session)
    return {"session": session, "related": call.h.related(session.session_id, limit=call.request.limit)}


def _files(call: Call) -> dict[str, Any]:
    """The changes with those numbers; the first one is number 1."""
    request: FileChangesRequest = call.request
    found = call.h.file_changes(request.session, path=request.path)
    end = request.first - 1 + request.limit
    return {"files": found[request.first - 1 : end], "total": len(found), "next": end + 1 if end < len(found) else None}


def _part(name: str, summary: str, ask: Callable[[Hansard, str], Any], kind: Any) -> Endpoint:
    """The endpoint of a list that belongs to a session."""
    answer = defstruct(name.capitalize(), [(name, list[kind])])
    return Endpoint(
        f"{_PATH}/{name}",
        summary,
        lambda call: {name: ask(call.h, call.request.session)},
        answer,
        SessionRequest,
        has_etag=True,
    )


ENDPOINTS = (
    Endpoint(
        "/api/sessions",
        "Sessions that match, newest first",
        lambda call: call.h.sessions(call.request),
        SessionPage,
        SessionsRequest,
        "query project since until branch model tool version text has_errors source_state debris pinned tag sort"
        " ascending limit cursor",
    ),
    Endpoint(
        _PATH,
        "One session",
        lambda call: call.h.session(call.request.session),
        Session,
        SessionRequest,
        has_etag=True,
    ),
    _part("agents", "Its subagents", lambda h, name: h.agents(name), Agent),
    _part("links", "How it relates to other sessions: forks, continuations", lambda h, name: h.links(name), Link),
    Endpoint(
        f"{_PATH}/related",
        "Similar sessions, most similar first, and why",
        _related,
        defstruct("RelatedSessions", [("session", Session), ("related", list[Related])]),
        RelatedRequest,
        has_etag=True,
    ),
    _part("todos", "Its todos and tasks", lambda h, name: h.todos(name), Todo),
    _part(
        "transcripts", "Its transcripts, former generations included", lambda h, name: h.transcripts(name), Transcript
    ),
    Endpoint(
        f"{_PATH}/files",
        "What its tool calls did to files, with patches",
        _files,
        defstruct("FileChanges", [("files", list[FileChange]), ("total", int), ("next", int | None)]),
        FileChangesRequest,
        has_etag=True,
    ),
    Endpoint(
        "/api/projects",
        "Projects and their totals, most recent first",
        lambda call: {"projects": call.h.projects(call.request)},
        defstruct("Projects", [("projects", list[Project])]),
        ProjectsRequest,
    ),
)
