"""`files`: the files that sessions changed, and the history of one."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from hansard.errors import NotFound
from hansard.guard.passages import safe_text
from hansard.mcp.answer import Answer, Id, ListCursor, Path, Short, Text, Title, copied, moment
from hansard.mcp.tools import CURSOR, Argument, Ask, Tool
from hansard.model.requests import FileHistoryRequest, FilesRequest

if TYPE_CHECKING:
    from hansard.model.calls import Call, ChangedFile

DESCRIPTION = """List the files that past sessions changed, or the history of one file: which session changed it, when, by how many lines, with include_changes also the diff of each change.
path is the whole path, or the end of one; words of a path list the files that have them.
Examples: {"path": "src/parser.py", "include_changes": true}; {"words": "migration sql"}; {}"""


class FindFiles(FilesRequest, frozen=True, kw_only=True):
    """A page of changed files, or of the changes of one."""

    path: Annotated[str | None, Meta(max_length=1_000, description="One file: its path, or the end of it")] = None
    include_changes: Annotated[bool, Meta(description="With path: the diff of each change")] = False


class FileRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A changed file."""

    path: Path
    changes: int = 0
    lines_added: int = 0
    lines_removed: int = 0
    sessions: int = 0
    last_session: Id = ""
    age: str = ""


class ChangeRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A change of the file."""

    session: Id
    title: Title = ""
    at: str = ""
    age: str = ""
    tool: Short = ""
    change: str = ""  # create, update, edit, notebook
    lines_added: int = 0
    lines_removed: int = 0
    subagent: Id = ""
    error: bool = False
    text: Text = ""  # the diff, quoted
    truncated: bool = False


class FilesAnswer(Answer):
    """What `files` gives."""

    path: Path = ""
    total: int = 0
    files: list[FileRow] = field(default_factory=list)
    changes: list[ChangeRow] = field(default_factory=list)


def run(ask: Ask, request: FindFiles) -> FilesAnswer:
    """A list of files, or the history of one."""
    request = replace(request, folder=ask.folder)
    if not request.path:
        return _list(ask, request)
    with contextlib.suppress(NotFound):  # it may be the end of a path
        return _history(ask, request, request.path)
    end = "/" + request.path.replace("\\", "/").lstrip("/")
    request = replace(request, text=request.path)
    found = ask.h.files(replace(request, limit=50, cursor=None)).files
    named = [one.path for one in found if one.path.replace("\\", "/").endswith(end)]
    if len(named) == 1:
        return _history(ask, request, named[0])
    return _list(ask, request, several=len(named))


def _list(ask: Ask, request: FindFiles, several: int = 0) -> FilesAnswer:
    packer = ask.packer
    place = ListCursor.read(request.cursor)
    cursor = place.resume(lambda count: ask.h.files(replace(request, limit=count, cursor=None)).next_cursor)
    request = replace(request, cursor=cursor)
    page = ask.h.files(request)
    answer = packer.begin(FilesAnswer(scope=ask.scope, total=page.total))
    shown = packer.fill(answer.files, (_file(ask, one) for one in page.files))
    if shown < len(page.files):
        page = ask.h.files(replace(request, limit=shown))
    parts = [ask.hint]
    if several:
        parts.append(f"{several} files match: pass the whole path of one.")
    elif not answer.files:
        parts.append("No session changed such a file.")
    if page.next_cursor:
        parts.append("More files: pass next_cursor as cursor.")
    is_safe = bool(answer.files) and answer.files[-1].path == page.files[-1].path  # the cursor holds it
    return packer.end(answer, parts, place.following(shown, page.next_cursor, is_safe=is_safe))


def _history(ask: Ask, request: FindFiles, path: str) -> FilesAnswer:
    packer = ask.packer
    asked = FileHistoryRequest(path, limit=request.limit, cursor=request.cursor, folder=ask.folder)
    history = ask.h.file_history(asked)
    answer = packer.begin(FilesAnswer(scope=ask.scope, path=path, total=history.changes))
    page = history.page
    rows = (_change(ask, call, with_diff=request.include_changes) for call in page.calls)
    shown = packer.fill(answer.changes, rows)
    if shown < len(page.calls):
        page = ask.h.file_history(replace(asked, limit=shown)).page
    parts = [ask.hint]
    if page.next_cursor:
        parts.append("Older changes: pass next_cursor as cursor.")
    if not request.include_changes:
        parts.append("include_changes shows the diffs.")
    return packer.end(answer, parts, page.next_cursor)


def _file(ask: Ask, one: ChangedFile) -> FileRow:
    lines = {"lines_added": one.added, "lines_removed": one.removed}
    return copied(FileRow, one, last_session=one.last_session_id, age=ask.packer.age(one.last_at), **lines)


def _change(ask: Ask, call: Call, *, with_diff: bool) -> ChangeRow:
    text = ""
    if with_diff:
        made = ask.h.listed_call(call)
        text = made.patch or "" if made is not None else ""
    return copied(
        ChangeRow,
        call,
        session=call.session_id,
        at=moment(call.at),
        age=ask.packer.age(call.at),
        change=call.change or "",
        lines_added=call.added,
        lines_removed=call.removed,
        subagent=call.agent_id,
        error=call.is_error,
        text=safe_text(text),
    )


_TAKES = (
    "path",
    Argument("text", "List files with these words in their path", 300, name="words"),
    "include_changes",
    Argument("limit", most=100, default=20),
    CURSOR,
)
TOOL = Tool("files", "Files and their history", DESCRIPTION, FindFiles, _TAKES, FilesAnswer, run)
