"""`blame`: which session wrote the lines of a file or commit."""

from __future__ import annotations

import os
import re
from typing import Annotated

from msgspec import Meta, Struct, field

from hansard.errors import UsageError
from hansard.mcp.answer import Answer, Excerpt, Id, Path, Short, Title, moment, usd
from hansard.mcp.store import is_inside
from hansard.mcp.tools import CURSOR, Ask, Tool
from hansard.model.blame import BlamedCommit, BlamedLine, BlameReport, RecordedEdit, line_range

_IS_COMMIT = re.compile(r"[0-9A-Za-z_@][0-9A-Za-z_./~^@{}-]{0,199}").fullmatch
DESCRIPTION = """Tell which past session wrote each line of a file, or the lines that a commit added: session, turn, the prompt that led to it, model, cost, and confidence (exact, moved, partial, window, marked, unknown). Worked out from recorded edits and git history.
Use it to learn why code is as it is; then read the session's turn.
Examples: {"file": "src/parser.py", "lines": "40-60"}; {"file": "src/parser.py"}; {"commit": "214bc2e"}"""


class BlameRequest(Struct, frozen=True):
    """A file with its lines, or a commit."""

    file: Annotated[str | None, Meta(max_length=1_000, description="Path in the repository")] = None
    lines: Annotated[str | None, Meta(max_length=20, description="One line or a range: 40-60")] = None
    commit: Annotated[
        str | None, Meta(max_length=200, description="Without file: this commit; with it: the file as of it")
    ] = None
    cursor: str | None = None


class LineRange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Adjacent lines with the same origin."""

    lines: str
    path: Path = ""  # of a commit's file
    commit: str = ""  # empty: not committed yet
    certainty: str
    edit: int = 0  # the number of an edit


class EditRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A recorded edit that wrote lines."""

    edit: int
    session: Id = ""
    title: Title = ""
    turn: int = 0
    at: str = ""
    age: str = ""
    subagent: Id = ""
    tool: Short = ""
    model: Short = ""
    cost_usd: str = ""
    is_lower_bound: bool = False  # of the cost
    text: Excerpt = ""  # how the prompt begins, quoted
    truncated: bool = False
    note: str = ""  # why the rest is empty


class CommitRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A commit that added lines."""

    commit: str
    author: Title = ""
    age: str = ""
    subject: Title = ""


class BlameAnswer(Answer):
    """What `blame` gives."""

    path: Path = ""
    counts: dict[str, int] = field(default_factory=dict)  # lines by certainty
    cost_usd: str = ""
    is_lower_bound: bool = False  # of the cost
    ranges: list[LineRange] = field(default_factory=list)
    edits: list[EditRow] = field(default_factory=list)
    commits: list[CommitRow] = field(default_factory=list)


def run(ask: Ask, request: BlameRequest) -> BlameAnswer:
    """Ranges of lines, with the edits and commits they name."""
    packer = ask.packer
    reports, counts, cost = _reports(ask, request)
    is_commit = not request.file
    path = "" if is_commit else reports[0].path
    answer = packer.begin(BlameAnswer(scope=ask.scope, path=path, counts=counts, cost_usd=cost))
    answer.is_lower_bound = any(report.is_lower_bound for report in reports)
    ranges = [(report, lines) for report in reports for lines in report.ranges()]
    start = _start(request.cursor, len(ranges))
    edits: dict[tuple[str, int], int] = {}
    following = len(ranges)
    for number, (report, lines) in enumerate(ranges[start:], start):
        if not _add(ask, answer, report, lines, edits, with_path=is_commit):
            following = number
            break
    parts = [ask.hint]
    if following < len(ranges):
        parts.append(f"{len(ranges) - following} more ranges: pass next_cursor as cursor.")
    elif not ranges:
        parts.append("There are no lines.")
    return packer.end(answer, parts, str(following) if following < len(ranges) else None)


def _reports(ask: Ask, request: BlameRequest) -> tuple[tuple[BlameReport, ...], dict[str, int], str]:
    if request.commit and not _IS_COMMIT(request.commit):
        raise UsageError(f"{request.commit!r} is not a commit")
    if not request.file:
        if not request.commit or request.lines:
            raise UsageError("blame takes a file, with lines or a commit if needed, or a commit alone")
        found = ask.h.blame_commit(request.commit, ask.repository.working_folder)
        return found.files, found.counts, usd(found.cost_usd)
    if "\0" in request.file:
        raise UsageError("invalid file: a path has no NUL character")
    span = line_range(request.lines) if request.lines else None
    path = os.path.realpath(os.path.join(ask.repository.working_folder, os.path.expanduser(request.file)))
    if not ask.is_everywhere and not any(is_inside(path, folder) for folder in ask.repository.folders):
        raise UsageError(f"{request.file} is outside the repository. Pass scope: all if the user wants that.")
    report = ask.h.blame(path, span, request.commit)
    return (report,), report.counts, usd(report.cost_usd)


def _start(cursor: str | None, count: int) -> int:
    if cursor and not (cursor.isdecimal() and len(cursor) < 9 and int(cursor) <= count):
        raise UsageError(f"invalid cursor {cursor!r}: pass next_cursor of the previous answer unchanged")
    return int(cursor or 0)


def _add(
    ask: Ask,
    answer: BlameAnswer,
    report: BlameReport,
    lines: list[BlamedLine],
    edits: dict[tuple[str, int], int],
    *,
    with_path: bool,
) -> bool:
    """Add a range, with its edit and commit if they are new; False if it does not fit."""
    packer = ask.packer
    first, last = lines[0], lines[-1]
    key = (report.path, first.edit) if first.edit is not None else None
    number = edits.get(key, len(edits) + 1) if key is not None else 0
    committed = "" if not first.commit.strip("0") else first.commit[:12]
    row = LineRange(
        lines=str(first.number) if first is last else f"{first.number}-{last.number}",
        path=report.path if with_path else "",
        commit=committed,
        certainty=first.certainty,
        edit=number,
    )
    if not packer.add(answer.ranges, row):
        return False
    if key is not None and key not in edits:
        edits[key] = number
        made = next(edit for edit in report.edits if edit.number == first.edit)
        if not packer.add(answer.edits, _edit(ask, made, number)) and (
            not answer.edits or answer.edits[-1].edit != number
        ):
            answer.ranges.pop()
            return False
    if committed and all(one.commit != committed for one in answer.commits):
        brought = next((commit for commit in report.commits if commit.commit == first.commit), None)
        if brought is not None:
            packer.add(answer.commits, _commit(ask, brought))
    return not packer.is_full


def _edit(ask: Ask, made: RecordedEdit, number: int) -> EditRow:
    packer = ask.packer
    if ask.h.session_with_id(made.session_id, folder=ask.folder) is None:
        return EditRow(edit=number, note="by a session of another project; scope: all shows it")
    return EditRow(
        edit=number,
        session=made.session_id,
        title=made.title,
        turn=made.turn or 0,
        at=moment(made.at),
        age=packer.age(made.at),
        subagent=made.agent_id,
        tool=made.tool,
        model=made.model or "",
        cost_usd=usd(made.cost_usd),
        is_lower_bound=made.is_lower_bound,
        text=made.prompt or "",
    )


def _commit(ask: Ask, brought: BlamedCommit) -> CommitRow:
    return CommitRow(
        commit=brought.commit[:12],
        author=brought.author,
        age=ask.packer.age(brought.authored_at),
        subject=brought.subject,
    )


_TAKES = ("file", "lines", "commit", CURSOR)
TOOL = Tool("blame", "Which session wrote a line", DESCRIPTION, BlameRequest, _TAKES, BlameAnswer, run)
