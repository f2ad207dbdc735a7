"""`sessions`: which sessions there were, and which of them belong to a file, a branch, a commit or a pull request."""

from __future__ import annotations

import contextlib
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct, field

from hansard.errors import HansardError, UsageError
from hansard.guard.passages import safe_text
from hansard.mcp.answer import Answer, Cursor, ListCursor, Params, moment
from hansard.mcp.encode import Excerpt, Id, Path, Short, Title
from hansard.mcp.tool import Ask, Tool
from hansard.model.handles import shown_id
from hansard.model.serialize import money
from hansard.model.sessions import SessionPage
from hansard.query.language.options import make_query
from hansard.query.search.screening import has_text

if TYPE_CHECKING:
    from hansard.model.sessions import Session

_MOST_SESSIONS = 100
_MOST_WITH_WORDS = 50
_SHORTEST, _LONGEST_SHORT = 7, 16  # digits of the hashes that `git commit` prints
_IS_COMMIT = re.compile(r"[0-9a-f]{7,64}").fullmatch
DESCRIPTION = """List sessions, newest first, with title, first prompt, size, cost and state. Find those that touched a file, were on a git branch, made a commit or opened a pull request.
query takes the same language as search, for example "is:error since:7d" or "cost:>5".
Examples: {}; {"file": "src/parser.py"}; {"commit": "214bc2e"}; {"branch": "feature/login", "limit": 5}; {"pull_request": "https://github.com/me/app/pull/42"}"""


class SessionsParams(Params):
    """What `sessions` takes."""

    query: Annotated[str, Meta(max_length=2_000, description="Words and fields, as for search")] = ""
    file: Annotated[str, Meta(max_length=1_000, description="Name, end of a path, or path")] = ""
    branch: Annotated[str, Meta(max_length=300)] = ""
    commit: Annotated[str, Meta(max_length=64, description="Hash, or at least 7 digits of it")] = ""
    pull_request: Annotated[str, Meta(max_length=500, description="Link, or the end of it")] = ""
    sort: Literal["ended", "started", "cost", "messages"] = "ended"
    limit: Annotated[int, Meta(ge=1, le=50)] = 10
    cursor: Cursor = ""


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
    cost_usd: str = ""  # empty where nothing of it has a price
    branch: Short = ""
    pull_requests: tuple[Path, ...] = ()
    project: Path = ""


class SessionsAnswer(Answer):
    """What `sessions` gives."""

    total: int = 0
    sessions: list[SessionRow] = field(default_factory=list)


def run(ask: Ask, params: SessionsParams) -> SessionsAnswer:
    """A page of sessions."""
    packer = ask.packer
    place = ListCursor.read(params.cursor)
    cursor = place.resume(lambda count: _list(ask, params, count, None).next_cursor)
    page = _list(ask, params, params.limit, cursor)
    answer = packer.begin(SessionsAnswer(scope=ask.repository.words(params.scope), total=page.total))
    for session in page.sessions:
        if not packer.add(answer.sessions, row_of(ask, session, with_project=params.scope == "all")):
            break
    shown = len(answer.sessions)
    if shown < len(page.sessions):
        page = _list(ask, params, shown, cursor)
    parts = [ask.hint]
    if not answer.sessions:
        parts.append(
            "No session matches. scope: all looks in other projects."
            if params.scope != "all"
            else "No session matches."
        )
    elif page.next_cursor:
        parts.append("More sessions: pass next_cursor as cursor. `read` shows a session.")
    is_safe = (
        bool(answer.sessions) and answer.sessions[-1].session == page.sessions[-1].session_id
    )  # the cursor holds it
    return packer.end(answer, parts, place.following(shown, page.next_cursor, is_safe=is_safe))


def _list(ask: Ask, params: SessionsParams, limit: int, cursor: str | None) -> SessionPage:
    asked = []
    query: str | None = params.query or None
    if query is not None and _has_words(query):
        ids = _with_words(ask, params)
        if not ids:
            return SessionPage((), None, 0)
        query = None
        asked.append("(" + " OR ".join(f'session:"{shown_id(id_)}"' for id_ in ids) + ")")
    if params.commit:
        asked.append(_of_commit(ask, params.commit))
    if params.pull_request.strip('" '):
        asked.append('pr:"' + params.pull_request.replace('"', "") + '"')
    return ask.h.sessions(
        query,
        filter=" ".join(asked) or None,
        file=params.file or None,
        branch=params.branch or None,
        folder=ask.repository.condition(params.scope),
        sort=params.sort,
        limit=limit,
        cursor=cursor,
    )


def _has_words(query: str) -> bool:
    node = make_query(query, now=datetime.now(UTC))
    return node is not None and has_text(node)


def _with_words(ask: Ask, params: SessionsParams) -> list[str]:
    """The latest sessions in whose shown text a query matches: words of secrets find nothing."""
    page = ask.h.search(
        params.query,
        group=True,
        sort="newest",
        limit=_MOST_WITH_WORDS,
        prepare=safe_text,
        folder=ask.repository.condition(params.scope),
    )
    return list(dict.fromkeys(found.session_id for found in page.sessions if found.session_id))


def _of_commit(ask: Ask, name: str) -> str:
    """A query for the sessions that made a commit or wrote lines of it; where git does not know it, for those that name it."""
    if not _IS_COMMIT(name.lower()):
        raise UsageError(f"{name!r} is not a commit: give at least 7 hexadecimal digits of its hash")
    name = name.lower()
    ids: list[str] = []
    with contextlib.suppress(HansardError):  # no repository, or no git
        if whole := ask.h.find_commit(name, ask.repository.working_folder):
            page = ask.h.commits(repository=ask.repository.working_folder, limit=None)
            ids = [one.session_id for commit in page.commits if commit.commit == whole for one in commit.sessions]
    if ids:
        return "(" + " OR ".join(f'session:"{shown_id(id_)}"' for id_ in ids[:_MOST_SESSIONS]) + ")"
    shorter = [f'"{name[:length]}"' for length in range(_SHORTEST, min(len(name), _LONGEST_SHORT + 1))]
    return "(" + " OR ".join([f'"{name}"*', *shorter]) + ")"


def row_of(ask: Ask, session: Session, *, with_project: bool) -> SessionRow:
    """A session as a row."""
    packer = ask.packer
    is_titled = session.title_source not in ("prompt", "none", "command")
    return SessionRow(
        session=session.session_id,
        title=session.title,
        text=session.first_prompt if is_titled else "",
        started_at=moment(session.started_at),
        ended_at=moment(session.ended_at),
        age=packer.age(session.ended_at),
        prompts=session.prompts,
        tool_calls=session.tool_calls,
        errors=session.tool_errors + session.api_errors,
        files_changed=session.files_changed,
        lines_added=session.lines_added,
        lines_removed=session.lines_removed,
        cost_usd=money(round(session.cost_usd, 4)) if session.cost_usd is not None else "",
        branch=session.branch,
        pull_requests=session.pull_requests[:3],
        project=session.project if with_project else "",
    )


TOOL = Tool("sessions", "List sessions", DESCRIPTION, SessionsParams, SessionsAnswer, run)
