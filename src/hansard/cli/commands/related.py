"""`hansard related`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from hansard.cli.context import Command, Context, note, pass_context, reads
from hansard.cli.request_options import limit_option
from hansard.cli.session_argument import choose_session
from hansard.model.table import Column, Kind, Table
from hansard.render.format import many, project_name
from hansard.render.terminal.tables import draw_table
from hansard.render.text import Paint, one_line, wrap

if TYPE_CHECKING:
    from hansard.model.related import Related
    from hansard.render.cells import CellContext

_COLUMNS = (
    Column("WHEN", Kind.TIME),
    Column("ID", Kind.ID),
    Column("PROJECT", Kind.PROJECT, rank=1),
    Column("TITLE", Kind.TITLE, least=28),
)
_INDENT = "    "
_NAMES = 3
_RELATIONS = {
    "continued_in": "continuation",
    "clear": "across a /clear",
    "context": "context of the other",
    "summary": "title in the other's file",
}


@click.command(cls=Command)
@click.argument("session", required=False)
@limit_option(10)
@reads
@pass_context
def related(cli: Context, session: str | None, limit: int) -> None:
    """List sessions like this one, the most alike first, and why: links, shared files, shared words.

    Examples:
      hansard related @last
      hansard related 'flaky login' -n 3
      hansard related 3f2a91 --json
    """
    session = choose_session(cli, session)
    with cli.reading() as h:
        chosen = h.session(session)
        found = h.related(chosen.session_id, limit=limit or None)
    if cli.as_json:
        cli.emit({"session": chosen, "related": found})
    elif found:
        cli.say(_lines(found, cli.cells(), cli.width(), cli.paint()))
    if not found:
        title = one_line(chosen.title[:60]) or one_line(chosen.session_id[:8])
        note(f"hansard: no session is related to {title!r}")
        raise click.exceptions.Exit(1)


def _lines(found: Sequence[Related], context: CellContext, columns: int, paint: Paint) -> Iterator[str]:
    rows = [(one.ended_at, one.session_id, one.project, one.title) for one in (item.session for item in found)]
    header, *lines = draw_table(Table(_COLUMNS, rows), columns, paint, context)
    yield header
    for line, item in zip(lines, found, strict=True):
        yield line
        yield from (paint(_INDENT + piece, "dim") for piece in wrap(_why(item), columns - len(_INDENT)))


def _why(item: Related) -> str:
    reasons = [_RELATIONS.get(relation, one_line(relation)) for relation in item.links]
    if item.files:
        names = ", ".join(project_name(path, {}) for path in item.files[:_NAMES])
        reasons.append(f"{many(item.shared_files, 'file')}: {names}")
    if item.words:
        reasons.append(f"words: {' '.join(one_line(word) for word in item.words)}")
    return " · ".join(reasons)
