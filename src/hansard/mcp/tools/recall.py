"""`recall`: what was done about something: the best passages of the whole history, each session with how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from hansard.errors import UsageError
from hansard.guard.passages import origin_of, safe_text
from hansard.mcp.answer import Answer, Id, Packer, Passage, Path, Short, Text, Title, moment
from hansard.mcp.tools import Ask, Tool

if TYPE_CHECKING:
    from hansard.model.search import RecalledPassage, Recollection
    from hansard.model.search import RecalledSession as Recalled

_PASSAGES = 20  # at most; most answers have room for ten
_DESCRIBED = 3  # of the first sessions; of the others an answer has the title
_LEFT_OUT = 3
DESCRIPTION = """Recall what was done, decided or learned about something: the best passages of all past sessions, and how each ended. Tool output is never included.
Call it before redoing work, or when the user refers to earlier sessions. Words are matched, not meanings: give others for the same thing in also. Then read has details. To follow up: session asks one session, like finds passages like a message.
Examples: {"question": "why did we switch the parser", "also": "msgspec orjson decode slow benchmark"}; {"question": "parser benchmarks", "session": "3f2a91c0"}"""


class RecallRequest(Struct, frozen=True):
    """A question in plain words."""

    question: Annotated[str, Meta(min_length=2, max_length=1_000, description="What to recall, in plain words")]
    also: Annotated[
        str | None,
        Meta(max_length=500, description="Other words for it: synonyms, identifiers, libraries, words of errors"),
    ] = None
    limit: Annotated[int, Meta(ge=1, le=20, description="How many sessions")] = 12
    session: Annotated[
        str | None, Meta(max_length=100, description="Only this session: its id or the beginning of it")
    ] = None
    like: Annotated[str | None, Meta(max_length=100, description="A passage's message: find more like it")] = None


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
    text: Text = ""  # what it came to: of the replies that end a turn the piece that answers best, quoted
    truncated: bool = False


class LeftOut(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A session with matches that are not shown."""

    session: Id
    title: Title


class RecallAnswer(Answer):
    """What `recall` gives."""

    searched: str = ""  # the words that were searched for
    missing: list[Short] = field(default_factory=list)  # of these the ones that no passage has
    confidence: float = 0.0  # the share of the words, weighted by rarity, in the best passage
    sessions: list[RecalledSession] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)


def run(ask: Ask, request: RecallRequest) -> RecallAnswer:
    """The best passages that fit the budget, and their sessions."""
    packer = ask.packer
    found = ask.h.recall(
        question=safe_text(request.question),
        also=safe_text(request.also or ""),
        sessions=request.limit,
        passages=_PASSAGES,
        session=request.session,
        like=request.like,
        without=ask.session_id or None,
        folder=ask.folder,
        prepare=safe_text,
        now=ask.now,
    )
    if not found.words:
        raise UsageError("the question has no word to look for: name what it is about")
    searched, missing = " ".join(found.words), list(found.missing) if found.sessions else []
    answer = packer.begin(
        RecallAnswer(scope=ask.scope, searched=searched, missing=missing, confidence=found.confidence)
    )
    best = sorted(
        ((passage, session) for session in found.sessions for passage in session.passages),
        key=lambda pair: -pair[0].score,
    )
    shown: set[str] = set()
    for passage, session in best:
        is_new = session.session_id not in shown
        if is_new and not packer.add(answer.sessions, _session(ask, session, is_described=len(shown) < _DESCRIBED)):
            break
        shown.add(session.session_id)
        if not packer.add(answer.passages, _passage(passage, packer)):
            break
    for name, title in found.left_out[:_LEFT_OUT] if not packer.is_full else ():
        packer.add(answer.left_out, LeftOut(session=name, title=title))
    return packer.end(answer, [ask.hint, *_more(ask, found, len(best) - len(answer.passages))])


def _more(ask: Ask, found: Recollection, missing: int) -> list[str]:
    """How sure the answer is, what is missing, and how to continue."""
    if not found.sessions:
        return ["Nothing found." + ("" if ask.is_everywhere else " scope: all looks in other projects.")]
    parts = []
    if found.is_cut:
        parts.append("The words are so common that not all matches were weighed: add a rarer one.")
    if missing > 0:
        parts.append(f"Cut to max_tokens: {missing} more passages.")
    return [*parts, "`read` a session or a message for more; `search` for exact words."]


def _session(ask: Ask, one: Recalled, *, is_described: bool) -> RecalledSession:
    found = RecalledSession(session=one.session_id, title=one.title, age=ask.packer.age(one.ended_at))
    if not is_described:
        return found
    return replace(
        found,
        started_at=moment(one.started_at),
        project=one.project if ask.is_everywhere else "",
        matches=one.matches,
        files_changed=one.files_changed,
        errors=one.errors,
        text=ask.packer.quoter.quote(one.outcome) if one.outcome else "",
    )


def _passage(one: RecalledPassage, packer: Packer) -> Passage:
    """A passage; its session has the project and the title."""
    origins = dict.fromkeys(origin_of(role, one.tool_kind) for role in one.roles)
    return Passage(
        session=one.session_id,
        message=one.uuid or "",
        at=moment(one.timestamp),
        origin="conversation" if len(origins) > 1 else next(iter(origins)),
        kind=one.kind,
        tool=one.tool or "",
        subagent=one.agent_id or "",
        text=packer.quoter.quote(one.text),
    )


_TAKES = ("question", "also", "limit", "session", "like")
TOOL = Tool("recall", "Recall past work", DESCRIPTION, RecallRequest, _TAKES, RecallAnswer, run)
