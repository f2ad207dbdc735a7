"""`search`: the query language, over everything that was said or done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import field
from msgspec.structs import replace

from hansard.guard.passages import origin_of, safe_text
from hansard.mcp.answer import Answer, Packer, Passage, moment
from hansard.mcp.tools import CURSOR, Argument, Ask, Tool
from hansard.model.requests import SearchRequest

if TYPE_CHECKING:
    from hansard.model.search import FoundNote, Hit, SearchPage

_WIDTH = 480  # characters of a passage
DESCRIPTION = """Search everything said or done in past sessions: prompts, replies, tool calls, titles, and the user's notes on sessions. Words side by side must all match.
Operators: "exact phrase", a OR b, -not, near(a b), migrat*. Fields: kind:prompt|reply|call|title, role:, tool:Bash, file:parser.py, branch:, pr:, model:, since:7d, on:2026-05-01, is:error, session:ID.
Use it for exact words, names and errors; use recall for open questions. Tool output is left out unless include_tool_output is true.
Examples: {"query": "flaky login test"}; {"query": "\\"connection refused\\" since:30d", "include_tool_output": true}; {"query": "migration kind:prompt", "scope": "all"}"""


class SearchAnswer(Answer):
    """What `search` gives."""

    total: int = 0
    notes: list[Passage] = field(default_factory=list)  # the user's own, on sessions
    passages: list[Passage] = field(default_factory=list)


def run(ask: Ask, request: SearchRequest) -> SearchAnswer:
    packer = ask.packer
    with_output = request.command_output
    shown_kinds = None if with_output else "-kind:result"
    request = replace(request, filter=shown_kinds, width=_WIDTH, prepare=safe_text, folder=ask.folder)
    page = ask.h.search(request)
    answer = packer.begin(SearchAnswer(scope=ask.scope, total=page.total))
    for note in page.found_notes:
        packer.add(answer.notes, _note_of(note, packer, with_project=ask.is_everywhere))
    hits = [hit for hit in page.hits if with_output or hit.role != "tool"]
    printed = ask.h.command_outputs([hit.uuid for hit in hits if hit.uuid]) if with_output else ()
    shown = packer.fill(
        answer.passages,
        (passage_of(hit, packer, with_project=ask.is_everywhere, is_output=hit.uuid in printed) for hit in hits),
    )
    if shown < len(hits):  # get the cursor of a page that ends with the last hit shown
        last = page.hits.index(hits[shown - 1]) + 1
        page = ask.h.search(replace(request, limit=last))
    return packer.end(answer, _more(answer, ask, page, is_cut=packer.is_full), page.next_cursor)


def passage_of(hit: Hit, packer: Packer, *, with_project: bool, is_output: bool = False) -> Passage:
    """A hit as a passage; its snippet is already safe."""
    return Passage(
        session=hit.session_id,
        message=hit.uuid or "",
        at=moment(hit.timestamp),
        age=packer.age(hit.timestamp),
        origin=origin_of(hit.role, hit.tool_kind, is_result=is_output or hit.role == "tool"),
        kind="output" if is_output else hit.kind,
        tool=hit.tool or "",
        project=hit.project if with_project else "",
        title=hit.title,
        subagent=hit.agent_id or "",
        error=hit.is_error,
        text=packer.quoter.quote(hit.snippet),
    )


def _note_of(found: FoundNote, packer: Packer, *, with_project: bool) -> Passage:
    return Passage(
        session=found.session_id,
        at=moment(found.at),
        age=packer.age(found.at),
        origin="person",
        kind="user's note",
        project=found.project if with_project else "",
        title=found.title,
        text=packer.quoter.quote(found.note[:_WIDTH]),
        truncated=len(found.note) > _WIDTH,
    )


def _more(answer: SearchAnswer, ask: Ask, page: SearchPage, *, is_cut: bool) -> list[str]:
    """What is missing in an answer, and how to get it."""
    parts = [ask.hint]
    if not answer.passages and not answer.notes:
        wider = "" if ask.is_everywhere else ", or scope: all for other projects"
        parts.append(f"Nothing found. Try fewer words, OR, include_tool_output{wider}.")
    elif page.next_cursor:
        cut = "Cut to max_tokens; m" if is_cut else "M"
        parts.append(f"{cut}ore results: pass next_cursor as cursor. `read` with a message shows it whole.")
    return [*parts, *page.notes[:2]]


_TAKES = (
    Argument("query", "Words, phrases, operators and fields", 2_000),
    Argument(
        "command_output",
        "Also search what tools returned and commands printed",
        name="include_tool_output",
        default=False,
    ),
    Argument("sort"),
    Argument("limit", most=50),
    CURSOR,
)
TOOL = Tool("search", "Search past sessions", DESCRIPTION, SearchRequest, _TAKES, SearchAnswer, run)
