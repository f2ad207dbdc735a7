"""`recall`: what was done about something, from several sessions, each with how it ended."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct, field

from hansard.errors import HansardError, UsageError
from hansard.guard.passages import safe_text
from hansard.mcp.answer import Answer, Id, Passage, Path, Text, Title, moment
from hansard.mcp.tools import Ask, Tool
from hansard.mcp.tools.read import last_reply
from hansard.mcp.tools.search import passage_of

if TYPE_CHECKING:
    from hansard.model.search import SessionHits

_WIDTH = 420
_OUTCOME = 500
_PASSAGES = 3  # of a session
_MOST_WORDS = 12
_MOST_TOGETHER = 4  # of the rarest words, if no session has all
_WORD = re.compile(r"[\w][\w./#+-]*")
# Stop words of questions.
_EMPTY = frozenset(
    """a about after again all already also am an and any are as at be because been before but by can could did do does doing done ever for
    from had has have how i if in into is it its just last like made make me my no not now of on or our out please previous previously remember
    session sessions should so some still tell than that the their them then there these they this those time to up us use used was we were what
    when where which while who whom why will with work worked would you your""".split()
)
DESCRIPTION = """Recall what was done, decided or learned about something: the best passages of several past sessions, each session with how it ended. Ask in plain words; it needs no query syntax. Tool output is never included.
Call it before redoing work, when the user refers to earlier sessions, or when a problem may have been solved before. Then use read for details.
Examples: {"question": "why did we switch the parser to msgspec"}; {"question": "flaky login test", "scope": "all", "max_tokens": 2000}"""


class RecallRequest(Struct, frozen=True):
    """A question in plain words."""

    question: Annotated[str, Meta(min_length=2, max_length=1_000, description="What to recall, in plain words")]
    limit: Annotated[int, Meta(ge=1, le=20, description="How many sessions")] = 5


class RecalledSession(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A session related to the question."""

    session: Id
    title: Title
    started_at: str = ""
    age: str = ""
    project: Path = ""
    matches: int = 0
    files_changed: int = 0
    errors: int = 0
    text: Text = ""  # how it ended: the last reply, quoted
    truncated: bool = False


class RecallAnswer(Answer):
    """What `recall` gives."""

    searched: str = ""  # the query that was asked
    sessions: list[RecalledSession] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)


def run(ask: Ask, request: RecallRequest) -> RecallAnswer:
    """Sessions and their best passages that fit the budget."""
    packer = ask.packer
    query, found = _search(ask, request)
    answer = packer.begin(RecallAnswer(scope=ask.scope, searched=query))
    for one in found:
        if not packer.add(answer.sessions, _session(ask, one, with_project=ask.is_everywhere)):
            break
        hits = [hit for hit in one.hits if hit.role != "tool"][:_PASSAGES]
        passages = [passage_of(hit, packer, with_project=False) for hit in hits]
        if not all(packer.add(answer.passages, passage) for passage in passages):
            break
    parts = [ask.hint]
    if not found:
        wider = "" if ask.is_everywhere else " scope: all looks in other projects."
        parts.append(f"Nothing found.{wider}")
    elif packer.is_full:
        parts.append(
            f"Cut to max_tokens: {len(found) - len(answer.sessions)} more sessions. Ask more precisely, or raise it."
        )
    else:
        parts.append("`read` a session or a message for more; `search` for exact words.")
    return ask.packer.end(answer, parts)


def _search(ask: Ask, request: RecallRequest) -> tuple[str, list[SessionHits]]:
    """Sessions with all words of the question, then those with the rarest of them."""
    words = words_of(request.question)
    if not words:
        raise UsageError("the question has no word to look for: name what it is about")
    found: dict[str, SessionHits] = {}
    asked = ""
    for asked in _queries(ask, words, ask.folder):
        page = ask.h.search(
            asked,
            filter="-kind:result,note",
            command_output=False,
            limit=request.limit + 1,
            group=True,
            width=_WIDTH,
            prepare=safe_text,
            folder=ask.folder,
        )
        for one in page.sessions:
            if one.session_id != ask.session_id:
                found.setdefault(one.session_id, one)
        if len(found) >= request.limit:
            break
    return asked, list(found.values())[: request.limit]


def _queries(ask: Ask, words: list[str], folder: str | None) -> Iterator[str]:
    """All words first, then fewer and fewer of the rarest, then any of them."""
    yield " ".join(words)
    if len(words) == 1:
        return
    # Only words found in shown text: counts of others would reveal parts of secrets.
    counts = {
        word: ask.h.count(word, folder=folder)
        if ask.h.search(word, limit=1, prepare=safe_text, folder=folder).hits
        else 0
        for word in words
    }
    rarest = sorted((word for word in words if counts[word]), key=counts.__getitem__)
    for size in range(min(len(words) - 1, _MOST_TOGETHER, len(rarest)), 1, -1):
        yield " ".join(rarest[:size])
    if rarest:
        yield " OR ".join(rarest)


def words_of(question: str) -> list[str]:
    """The content words of a question, as terms of a query."""
    words = [word.strip("./#+-") for word in _WORD.findall(safe_text(question))]
    kept = [word for word in dict.fromkeys(words) if word and word.lower() not in _EMPTY]
    return [word if word.isalnum() else f'"{word}"' for word in kept[:_MOST_WORDS]]


def _session(ask: Ask, one: SessionHits, *, with_project: bool) -> RecalledSession:
    packer = ask.packer
    session = ask.h.session_with_id(one.session_id)
    end = ""
    if session is not None:
        with contextlib.suppress(HansardError):  # only subagents are left, or it is damaged
            end = safe_text(last_reply(ask.h.read(session, pictures=False, subagents=False, long_lines=False)))
    return RecalledSession(
        session=one.session_id,
        title=one.title,
        started_at=moment(one.started_at),
        age=packer.age(one.ended_at),
        project=one.project if with_project else "",
        matches=one.matches,
        files_changed=session.files_changed if session is not None else 0,
        errors=session.tool_errors + session.api_errors if session is not None else 0,
        text=end[:_OUTCOME],
        truncated=len(end) > _OUTCOME,
    )


TOOL = Tool("recall", "Recall past work", DESCRIPTION, RecallRequest, ("question", "limit"), RecallAnswer, run)
