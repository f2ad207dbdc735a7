"""`sessions`: list sessions, or those that belong to a file, branch, commit or pull request."""

from __future__ import annotations

import contextlib
import re
from datetime import UTC, datetime
from typing import Annotated

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from hansard.errors import HansardError, UsageError
from hansard.guard.passages import safe_text
from hansard.mcp.answer import Answer, Excerpt, Id, ListCursor, Path, Short, Title, copied, moment, usd
from hansard.mcp.tools import CURSOR, Argument, Ask, Tool
from hansard.model.names import shown_id
from hansard.model.requests import SessionsRequest
from hansard.model.sessions import Session, SessionPage
from hansard.query.language.options import make_query
from hansard.query.search.screening import has_text

_MOST_SESSIONS = 100
_MOST_WITH_WORDS = 50
_SHORTEST, _LONGEST_SHORT = 7, 16  # digits of the hashes that `git commit` prints
_IS_COMMIT = re.compile(r"[0-9a-f]{7,64}").fullmatch
DESCRIPTION = """List sessions, newest first, with title, first prompt, size, cost and state. Find those that touched a file, were on a git branch, made a commit or opened a pull request.
query takes the same language as search, for example "is:error since:7d" or "cost:>5".
Examples: {}; {"file": "src/parser.py"}; {"commit": "214bc2e"}; {"branch": "feature/login", "limit": 5}; {"pull_request": "https://github.com/me/app/pull/42"}"""


class FindSessions(SessionsRequest, frozen=True, kw_only=True):
    """A page of sessions, also of those that belong to a commit or pull request."""

    commit: Annotated[str | None, Meta(max_length=64, description="Hash, or at least 7 digits of it")] = None
    pull_request: Annotated[str | None, Meta(max_length=500, description="Link, or the end of it")] = None


class SessionRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A session in a list."""

    session: Id
    title: Title
    text: Excerpt = ""  # the first prompt, quoted
    truncated: bool = False
    started_at: str = ""
    ended_at: str = ""
    age: str = ""
    prompts: int = 0
    tool_calls: int = 0
    errors: int = 0
    files_changed: int = 0
    lines_added: int = 0
    lines_removed: int = 0
    cost_usd: str = ""  # empty if nothing has a price
    branch: Short = ""
    pull_requests: tuple[Path, ...] = ()
    notes: int = 0  # of the user's, on the session; `search` finds them
    project: Path = ""


class SessionsAnswer(Answer):
    """What `sessions` gives."""

    total: int = 0
    sessions: list[SessionRow] = field(default_factory=list)


def run(ask: Ask, request: FindSessions) -> SessionsAnswer:
    packer = ask.packer
    place = ListCursor.read(request.cursor)
    cursor = place.resume(lambda count: _list(ask, replace(request, limit=count, cursor=None)).next_cursor)
    request = replace(request, cursor=cursor)
    page = _list(ask, request)
    answer = packer.begin(SessionsAnswer(scope=ask.scope, total=page.total))
    rows = (row_of(ask, session, with_project=ask.is_everywhere) for session in page.sessions)
    shown = packer.fill(answer.sessions, rows)
    if shown < len(page.sessions):
        page = _list(ask, replace(request, limit=shown))
    parts = [ask.hint]
    if not answer.sessions:
        parts.append("No session matches." + ("" if ask.is_everywhere else " scope: all looks in other projects."))
    elif page.next_cursor:
        parts.append("More sessions: pass next_cursor as cursor. `read` shows a session.")
    is_safe = (
        bool(answer.sessions) and answer.sessions[-1].session == page.sessions[-1].session_id
    )  # the cursor holds it
    return packer.end(answer, parts, place.following(shown, page.next_cursor, is_safe=is_safe))


def _list(ask: Ask, request: FindSessions) -> SessionPage:
    asked = []
    if request.query is not None and _has_words(request.query):
        ids = _with_words(ask, request.query)
        if not ids:
            return SessionPage((), None, 0)
        request = replace(request, query=None)
        asked.append(_any_of(ids))
    if request.commit:
        asked.append(_of_commit(ask, request.commit))
    if request.pull_request and request.pull_request.strip('" '):
        asked.append('pr:"' + request.pull_request.replace('"', "") + '"')
    return ask.h.sessions(replace(request, filter=" ".join(asked) or None, folder=ask.folder))


def _has_words(query: str) -> bool:
    node = make_query(query, now=datetime.now(UTC))
    return node is not None and has_text(node)


def _with_words(ask: Ask, query: str) -> list[str]:
    """The latest sessions whose shown text matches; redacted secrets cannot be searched for."""
    page = ask.h.search(query, group=True, sort="newest", limit=_MOST_WITH_WORDS, prepare=safe_text, folder=ask.folder)
    return list(dict.fromkeys(found.session_id for found in page.sessions if found.session_id))


def _any_of(ids: list[str]) -> str:
    return "(" + " OR ".join(f'session:"{shown_id(id_)}"' for id_ in ids) + ")"


def _of_commit(ask: Ask, name: str) -> str:
    """A query for the sessions behind a commit; if git does not know it, for those that mention it."""
    if not _IS_COMMIT(name.lower()):
        raise UsageError(f"{name!r} is not a commit: give at least 7 hexadecimal digits of its hash")
    name = name.lower()
    ids: list[str] = []
    with contextlib.suppress(HansardError):  # no repository, or no git
        if whole := ask.h.find_commit(name, ask.repository.working_folder):
            page = ask.h.commits(repository=ask.repository.working_folder, limit=None)
            ids = [one.session_id for commit in page.commits if commit.commit == whole for one in commit.sessions]
    if ids:
        return _any_of(ids[:_MOST_SESSIONS])
    shorter = [f'"{name[:length]}"' for length in range(_SHORTEST, min(len(name), _LONGEST_SHORT + 1))]
    return "(" + " OR ".join([f'"{name}"*', *shorter]) + ")"


def row_of(ask: Ask, session: Session, *, with_project: bool) -> SessionRow:
    is_titled = session.title_source not in ("prompt", "none", "command")
    return copied(
        SessionRow,
        session,
        session=session.session_id,
        text=session.first_prompt if is_titled else "",
        started_at=moment(session.started_at),
        ended_at=moment(session.ended_at),
        age=ask.packer.age(session.ended_at),
        errors=session.tool_errors + session.api_errors,
        cost_usd=usd(session.cost_usd),
        pull_requests=session.pull_requests[:3],
        notes=len(session.notes),
        project=session.project if with_project else "",
    )


_TAKES = (
    Argument("query", "Words and fields, as for search", 2_000),
    Argument("file", "Name, end of a path, or path", 1_000),
    Argument("branch", longest=300),
    "commit",
    "pull_request",
    Argument("sort", choices=("ended", "started", "cost", "messages")),
    Argument("limit", most=50, default=10),
    CURSOR,
)
TOOL = Tool("sessions", "List sessions", DESCRIPTION, FindSessions, _TAKES, SessionsAnswer, run)
