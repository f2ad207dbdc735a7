"""`hansard files`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from hansard.cli.context import Command, Context, none_found, reads
from hansard.cli.request_options import note_next, read_page, reversed_order, show_page, takes
from hansard.errors import NotFound, UsageError
from hansard.model.requests import FileHistoryRequest, FilesRequest, same_for
from hansard.model.table import Column, Kind, Table
from hansard.render.format import many, short
from hansard.render.text import one_line

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.model.calls import Call, ChangedFile, FileHistory

_FILES = (
    Column("LAST", Kind.TIME),
    Column("ID", Kind.ID, rank=2),
    Column("FILE", Kind.PATH, least=30),
    Column("CHANGES", Kind.ROUNDED),
    Column("LINES", Kind.ROUNDED_LINES),
    Column("SESSIONS", Kind.ROUNDED, rank=1),
    Column("PROJECT", Kind.PROJECT, rank=3),
)
_HISTORY = (
    Column("WHEN", Kind.TIME),
    Column("ID", Kind.ID),
    Column("TURN", right=True),
    Column("TOOL", Kind.TOOL),
    Column("LINES", Kind.ROUNDED_LINES),
    Column("TOOK", Kind.DURATION, rank=2),
    Column("SESSION", Kind.TITLE, least=20, rank=1),
    Column("", rank=3, style="yellow"),
)


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="[WORDS|PATH]...")
@takes(
    FilesRequest,
    "project since until",
    click.option("--reads", "with_reads", is_flag=True, help="With PATH: also the calls that only read it, or failed."),
    click.option("--diff", is_flag=True, help="With PATH: show each change as a diff."),
    "sort reverse limit page cursor",
)
@reads
def files(
    cli: Context, request: FilesRequest, words: tuple[str, ...], with_reads: bool, diff: bool, reverse: bool, page: int
) -> None:
    """List the files that sessions changed, the latest first; with the PATH of one, its history.

    WORDS must all be in the path; fields such as client:codex select calls. PATH is a file as tool calls name it, or
    relative to the current directory; part of a path is enough if only one file matches.

    Examples:
      hansard files --since 7d
      hansard files parser --sort changes -n 10
      hansard files src/tide/parser.py
      hansard files src/tide/parser.py --diff
      hansard files client:codex tool:apply_patch
      hansard files --project tidewater --json
    """
    request = replace(request, text=" ".join(words) or None)
    with cli.reading() as h:
        path = _path(h, request, must=with_reads or diff)
        if path is not None:
            limits = {"limit": request.limit, "cursor": request.cursor, "reads": with_reads}
            _show_history(cli, h, same_for(FileHistoryRequest, request, path=path, **limits), page, diff=diff)
            return
        found = read_page(h.files, reversed_order(request) if reverse else request, page)
    table = Table(_FILES, [_row(item) for item in found.files])
    show_page(cli, found, found.files, lambda: cli.draw(table), "files", page)
    if not found.files:
        none_found("no file matches")


def _path(h: Hansard, request: FilesRequest, *, must: bool) -> str | None:
    """The one file that the words name; None for a list of files."""
    text = request.text or ""
    looks_like_path = "/" in text or "\\" in text or must
    if not text or not looks_like_path:
        if must:
            raise UsageError("--reads and --diff need the PATH of a file")
        return None
    for path in dict.fromkeys((text, os.path.abspath(text))):
        try:
            h.file_history(same_for(FileHistoryRequest, request, path=path, limit=1))
        except NotFound:
            continue
        return path
    ending = f"/{text.lstrip('/')}"
    found = h.files(same_for(FilesRequest, request, text=text, limit=200)).files
    paths = [item.path for item in found]
    matching = [path for path in paths if path.replace("\\", "/").endswith(ending)] or paths
    if len(matching) == 1:
        return matching[0]
    if not must:
        return None
    if matching:
        raise UsageError(f"{len(matching)} files match {text!r}: use more of the path")
    raise NotFound(f"no tool call names the file {text}")


def _show_history(cli: Context, h: Hansard, request: FileHistoryRequest, page: int, *, diff: bool) -> None:
    history = read_page(h.file_history, request, page)
    cli.answer(history, lambda: _lines(cli, h, history, diff=diff))
    note_next(cli, history.page, history.page.calls, "calls", page)


def _lines(cli: Context, h: Hansard, history: FileHistory, *, diff: bool) -> Iterator[str]:
    paint = cli.paint()
    yield paint(one_line(history.path), "heading")
    yield paint(
        f"{many(history.changes, 'change')}, +{short(history.added)} -{short(history.removed)} lines,"
        f" {many(history.sessions, 'session')}, {many(history.reads, 'other call')}",
        "dim",
    )
    yield ""
    calls = history.page.calls
    turns = _turns(h, calls)
    rows = [
        (
            call.at,
            call.session_id,
            turns.get(number),
            call.tool,
            (call.added, call.removed) if call.change is not None else None,
            call.duration_ms,
            call.title,
            "failed" if call.is_error else "" if call.change is not None else "read",
        )
        for number, call in enumerate(calls)
    ]
    header, *lines = cli.draw(Table(_HISTORY, rows))
    yield header
    for line, call in zip(lines, calls, strict=True):
        yield line
        if diff and call.change is not None:
            yield from _diff(cli, h, call)


def _turns(h: Hansard, calls: Sequence[Call]) -> dict[int, str]:
    """The turn of each call that its session's own thread shows, by its place in the list."""
    starts: dict[str, list[int]] = {}
    turns: dict[int, str] = {}
    for number, call in enumerate(calls):
        if call.agent_id or not call.is_shown:
            continue
        if call.session_id not in starts:
            starts[call.session_id] = [start.offset for start in h.read(call.session_id).starts]
        turn = sum(offset <= call.offset for offset in starts[call.session_id])
        turns[number] = str(turn) if turn else ""
    return turns


def _diff(cli: Context, h: Hansard, call: Call) -> Iterator[str]:
    """What a call changed, as the record has it."""
    from hansard.render.terminal.parts import Board
    from hansard.thread.tool_views import view

    read, paint = h.listed_call(call), cli.paint()
    if read is None:
        yield paint("    the change is no longer in the record", "dim")
        return
    shown = view(read, "")
    board = Board(cli.width(), paint.enabled).narrower(4)
    for part in shown.results or shown.parts:
        yield from ("    " + line for line in board.part(part))
    yield ""


def _row(item: ChangedFile) -> tuple[Any, ...]:
    lines = (item.added, item.removed)
    return (item.last_at, item.last_session_id, item.path, item.changes, lines, item.sessions, item.project)
