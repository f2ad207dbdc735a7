"""Sessions, projects, and what a session consists of."""

from __future__ import annotations

from typing import Any

from msgspec import defstruct

from hansard.model.files import FileChange, Link, Todo, Transcript
from hansard.model.related import Related
from hansard.model.sessions import Project, Session, SessionPage
from hansard.model.threads import Agent
from hansard.query.sessions import SORTS
from hansard.web.api.endpoint import Call, Endpoint
from hansard.web.api.parameters import (
    CURSOR,
    PROJECT,
    QUERY,
    SESSION,
    SINCE,
    UNTIL,
    Choice,
    Flag,
    Number,
    Text,
    sort_order,
)

_PATH = "/api/sessions/{session}"
_MOST = 500


def _sessions(call: Call) -> SessionPage:
    given = call.given
    return call.h.sessions(
        given["q"],
        **call.conditions,
        text=given["text"],
        debris=given["all"],
        sort=given["sort"],
        ascending=call.ascending,
        limit=given["limit"],
        cursor=given["cursor"],
        timezone=call.timezone,
    )


def _session(call: Call) -> Session:
    return call.h.session(call.given["session"])


def _agents(call: Call) -> dict[str, Any]:
    return {"agents": call.h.agents(call.given["session"])}


def _links(call: Call) -> dict[str, Any]:
    return {"links": call.h.links(call.given["session"])}


def _related(call: Call) -> dict[str, Any]:
    session = call.h.session(call.given["session"])
    return {"session": session, "related": call.h.related(session.session_id, limit=call.given["limit"])}


def _todos(call: Call) -> dict[str, Any]:
    return {"todos": call.h.todos(call.given["session"])}


def _transcripts(call: Call) -> dict[str, Any]:
    return {"transcripts": call.h.transcripts(call.given["session"])}


def _files(call: Call) -> dict[str, Any]:
    """The changes with those numbers; the first one is number 1."""
    found = call.h.file_changes(call.given["session"], path=call.given["path"])
    first = call.given["first"]
    end = first - 1 + call.given["limit"]
    return {"files": found[first - 1 : end], "total": len(found), "next": end + 1 if end < len(found) else None}


def _projects(call: Call) -> dict[str, Any]:
    given = call.given
    return {"projects": call.h.projects(since=given["since"], until=given["until"], text=given["text"])}


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/sessions",
        "Sessions that match, newest first",
        _sessions,
        SessionPage,
        parameters=(
            QUERY,
            PROJECT,
            SINCE,
            UNTIL,
            Text("branch", "Only on this Git branch."),
            Text("model", "Only with a model whose name contains this."),
            Text(
                "tool",
                "Only with a call of this tool or MCP server; a trailing * matches a prefix.",
            ),
            Text("version", "Only written by this version of the client, or versions that start with it."),
            Text("text", "Only with all these words in the title or first prompt."),
            Flag("errors", "Only with a failed tool call or API request."),
            Choice(
                "state",
                "Whether the transcript is on disk (live), deleted (gone) or shortened (rewritten).",
                ("live", "gone", "rewritten"),
            ),
            Flag("all", "Include sessions without a message."),
            Flag("pinned", "Only pinned sessions."),
            Text("tag", "Only with this tag; a trailing * matches a prefix."),
            *sort_order(tuple(SORTS), "ended"),
            Number("limit", "Maximum number.", 1, _MOST, 50),
            CURSOR,
        ),
    ),
    Endpoint("GET", _PATH, "One session", _session, Session, (SESSION,), steady=True),
    Endpoint(
        "GET",
        f"{_PATH}/agents",
        "Its subagents",
        _agents,
        defstruct("Agents", [("agents", list[Agent])]),
        (SESSION,),
        steady=True,
    ),
    Endpoint(
        "GET",
        f"{_PATH}/links",
        "How it relates to other sessions: forks, continuations",
        _links,
        defstruct("Links", [("links", list[Link])]),
        (SESSION,),
        steady=True,
    ),
    Endpoint(
        "GET",
        f"{_PATH}/related",
        "Similar sessions, most similar first, and why",
        _related,
        defstruct("RelatedSessions", [("session", Session), ("related", list[Related])]),
        (SESSION,),
        (Number("limit", "Maximum number.", 1, 50, 10),),
        steady=True,
    ),
    Endpoint(
        "GET",
        f"{_PATH}/todos",
        "Its todos and tasks",
        _todos,
        defstruct("Todos", [("todos", list[Todo])]),
        (SESSION,),
        steady=True,
    ),
    Endpoint(
        "GET",
        f"{_PATH}/transcripts",
        "Its transcripts, former generations included",
        _transcripts,
        defstruct("Transcripts", [("transcripts", list[Transcript])]),
        (SESSION,),
        steady=True,
    ),
    Endpoint(
        "GET",
        f"{_PATH}/files",
        "What its tool calls did to files, with patches",
        _files,
        defstruct("FileChanges", [("files", list[FileChange]), ("total", int), ("next", int | None)]),
        (SESSION,),
        (
            Text("path", "Only files whose path contains this."),
            Number("first", "Number of the first change: 1, or `next` of the previous answer.", 1, 10**9, 1),
            Number("limit", "Maximum number.", 1, _MOST, 100),
        ),
        steady=True,
    ),
    Endpoint(
        "GET",
        "/api/projects",
        "Projects and their totals, most recent first",
        _projects,
        defstruct("Projects", [("projects", list[Project])]),
        parameters=(Text("text", "Part of the path."), SINCE, UNTIL),
    ),
)
