"""`files`: the files that sessions changed, and the history of one."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct, field

from hansard.errors import NotFound
from hansard.guard.passages import safe_text
from hansard.mcp.answer import Answer, Cursor, ListCursor, Params, moment
from hansard.mcp.encode import Id, Path, Short, Text, Title
from hansard.mcp.tool import Ask, Tool

if TYPE_CHECKING:
    from hansard.model.calls import Call, ChangedFile

DESCRIPTION = """List the files that past sessions changed, or the history of one file: which session changed it, when, by how many lines, with include_changes also the diff of each change.
path is the whole path, or the end of one; words of a path list the files that have them.
Examples: {"path": "src/parser.py", "include_changes": true}; {"words": "migration sql"}; {}"""


class FilesParams(Params):
    """What `files` takes."""

    path: Annotated[str, Meta(max_length=1_000, description="One file: its path, or the end of it")] = ""
    words: Annotated[str, Meta(max_length=300, description="List files with these words in their path")] = ""
    include_changes: Annotated[bool, Meta(description="With path: the diff of each change")] = False
    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    cursor: Cursor = ""


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


def run(ask: Ask, params: FilesParams) -> FilesAnswer:
    """A list of files, or the history of one."""
    folder = ask.repository.condition(params.scope)
    if not params.path:
        return _list(ask, params, params.words, folder)
    with contextlib.suppress(NotFound):  # it may be the end of a path
        return _history(ask, params, params.path, folder)
    found = ask.h.files(params.path, limit=50, folder=folder).files
    end = "/" + params.path.replace("\\", "/").lstrip("/")
    named = [one.path for one in found if one.path.replace("\\", "/").endswith(end)]
    if len(named) == 1:
        return _history(ask, params, named[0], folder)
    return _list(ask, params, params.path, folder, several=len(named))


def _list(ask: Ask, params: FilesParams, words: str, folder: str | None, several: int = 0) -> FilesAnswer:
    packer = ask.packer
    place = ListCursor.read(params.cursor)
    cursor = place.resume(lambda count: ask.h.files(words or None, limit=count, folder=folder).next_cursor)
    page = ask.h.files(words or None, limit=params.limit, cursor=cursor, folder=folder)
    answer = _begin(ask, params, total=page.total)
    for one in page.files:
        if not packer.add(answer.files, _file(ask, one)):
            break
    shown = len(answer.files)
    if shown < len(page.files):
        page = ask.h.files(words or None, limit=shown, cursor=cursor, folder=folder)
    parts = [ask.hint]
    if several:
        parts.append(f"{several} files end so: pass the whole path of one.")
    elif not answer.files:
        parts.append("No session changed such a file.")
    if page.next_cursor:
        parts.append("More files: pass next_cursor as cursor.")
    is_safe = bool(answer.files) and answer.files[-1].path == page.files[-1].path  # the cursor holds it
    return packer.end(answer, parts, place.following(shown, page.next_cursor, is_safe=is_safe))


def _history(ask: Ask, params: FilesParams, path: str, folder: str | None) -> FilesAnswer:
    packer = ask.packer
    cursor = params.cursor or None
    history = ask.h.file_history(path, limit=params.limit, cursor=cursor, folder=folder)
    answer = _begin(ask, params, total=history.changes, path=path)
    for call in history.page.calls:
        if not packer.add(answer.changes, _change(ask, call, with_diff=params.include_changes)):
            break
    page = history.page
    shown = len(answer.changes)
    if shown < len(page.calls):
        page = ask.h.file_history(path, limit=shown, cursor=cursor, folder=folder).page
    parts = [ask.hint]
    if page.next_cursor:
        parts.append("Older changes: pass next_cursor as cursor.")
    if not params.include_changes:
        parts.append("include_changes shows the diffs.")
    return packer.end(answer, parts, page.next_cursor)


def _begin(ask: Ask, params: FilesParams, *, total: int, path: str = "") -> FilesAnswer:
    return ask.packer.begin(FilesAnswer(scope=ask.repository.words(params.scope), path=path, total=total))


def _file(ask: Ask, one: ChangedFile) -> FileRow:
    return FileRow(
        path=one.path,
        changes=one.changes,
        lines_added=one.added,
        lines_removed=one.removed,
        sessions=one.sessions,
        last_session=one.last_session_id,
        age=ask.packer.age(one.last_at),
    )


def _change(ask: Ask, call: Call, *, with_diff: bool) -> ChangeRow:
    text = ""
    if with_diff:
        made = ask.h.listed_call(call)
        text = made.patch or "" if made is not None else ""
    return ChangeRow(
        session=call.session_id,
        title=call.title,
        at=moment(call.at),
        age=ask.packer.age(call.at),
        tool=call.tool,
        change=call.change or "",
        lines_added=call.added,
        lines_removed=call.removed,
        subagent=call.agent_id,
        error=call.is_error,
        text=safe_text(text),
    )


TOOL = Tool("files", "Files and their history", DESCRIPTION, FilesParams, FilesAnswer, run)
