"""`hansard free`: free disk space by removing files that the record has byte for byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from hansard.cli.commands.restore import warn_of_cleanup
from hansard.cli.context import SLOW_SECONDS, Command, Context, none_found, note, reads, warn
from hansard.cli.output.progress import BytesBar
from hansard.cli.request_options import takes
from hansard.errors import Incomplete, UsageError
from hansard.model.store_requests import FreeRequest
from hansard.render.format import local, many, size
from hansard.render.text import fit_path, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hansard.engine import Hansard
    from hansard.model.freeing import FreeItem, FreePlan

_PROJECTS_SHOWN = 10
_SHOWN = 10


@click.command(cls=Command)
@click.argument("names", metavar="[SESSION...]", nargs=-1)
@takes(
    FreeRequest,
    "project until kinds",
    click.option("--yes", "-y", is_flag=True, help="Remove the files; otherwise they are only counted."),
    click.option("--undo", is_flag=True, help="Write back what was freed, to where it was."),
    click.option(
        "--touch",
        is_flag=True,
        help="With --undo: give the files today's date, so that the client does not clean them up.",
    ),
)
@reads
def free(cli: Context, request: FreeRequest, yes: bool, undo: bool, touch: bool) -> None:
    """Show what of Claude Code's folder is stored byte for byte and how much room it takes, and remove it with --yes.

    Every file is read and compared with the record, and once more right before it is removed. A session stays that was used within a
    day or that a client has open; so do the prompt history, memory, plans and everything that is not stored. What was freed is shown,
    searched and counted as before. `resume` brings a session back, `restore` or `free --undo` everything, byte for byte.

    Examples:
      hansard free
      hansard free --older-than 90d
      hansard free --older-than 90d --yes
      hansard free --project ~/src/app --kind file_history --yes
      hansard free 3f2a91c0 --yes
      hansard free --undo --touch
    """
    if touch and not undo:
        raise UsageError("--touch belongs to --undo")
    with cli.reading() as h:
        if undo:
            _undo(cli, h, request, touch=touch)
        elif yes:
            _free(cli, h, request)
        else:
            with BytesBar("Comparing", after=SLOW_SECONDS) as bar:
                plan = h.plan_free(replace(request, progress=bar))
            _show(cli, plan, request)


def _show(cli: Context, plan: FreePlan, request: FreeRequest) -> None:
    facts = {"files": len(plan.freeable), "bytes": plan.bytes, "items": plan.items, "not_stored": plan.not_stored}
    cli.answer({"applied": False, **facts}, lambda: _described(cli, plan))
    if cli.as_json:
        return
    if not plan.items:
        none_found(f"no stored file {_conditions(request)}")
    if plan.freeable:
        note(
            f"{size(plan.bytes)} in {many(len(plan.freeable), 'file')} can be freed: run this again with --yes."
            " Nothing was removed; --undo brings back what was"
        )


def _described(cli: Context, plan: FreePlan) -> Iterator[str]:
    columns = cli.width()
    for table in (plan.by_kind(), plan.by_age(), plan.by_project()) if plan.items else ():
        more = len(table.rows) - _PROJECTS_SHOWN
        yield from cli.draw(replace(table, rows=table.rows[:_PROJECTS_SHOWN]))
        if more > 0:
            yield f"and {many(more, 'more project')} (--json lists all files)"
        yield ""
    if plan.reasons:
        yield "What stays:"
        for reason, (files, bytes_) in plan.reasons.items():
            yield f"  {many(files, 'file')}, {size(bytes_)}: {one_line(reason)}"
    if plan.not_stored:
        yield "What is not stored, and never removed:"
        for item in plan.not_stored[:_SHOWN]:
            yield f"  {size(item.bytes):>10}  {fit_path(one_line(item.path), columns - 14)}"
        if len(plan.not_stored) > _SHOWN:
            yield f"  and {len(plan.not_stored) - _SHOWN:,} more"


def _conditions(request: FreeRequest) -> str:
    """What files were looked for."""
    wanted = [f"was last changed before {local(request.until):%Y-%m-%d %H:%M}"] if request.until else []
    wanted += [f"is of kind {' or '.join(request.kinds)}"] if request.kinds else []
    wanted += [f"is of project {one_line(request.project)}"] if request.project else []
    wanted += [f"is of session {' or '.join(map(one_line, request.names))}"] if request.names else []
    return " and ".join(wanted) or "is in the clients' folders"


def _free(cli: Context, h: Hansard, request: FreeRequest) -> None:
    with BytesBar("Freeing", after=SLOW_SECONDS) as bar:
        done = h.free(replace(request, progress=bar))
    undo = "; `hansard free --undo` brings them back" if done.files else ""
    cli.answer(
        {"applied": True, "files": done.files, "bytes": done.bytes, "left": done.left},
        lambda: [f"{many(done.files, 'file')} removed, {size(done.bytes)} freed{undo}"],
    )
    _warn_of(done.left)


def _warn_of(left: Sequence[FreeItem]) -> None:
    for item in left[:_SHOWN]:
        warn(f"{one_line(item.path)} stays: {one_line(item.reason)}")
    if len(left) > _SHOWN:
        warn(many(len(left) - _SHOWN, "more file stays", "more files stay"))


def _undo(cli: Context, h: Hansard, request: FreeRequest, *, touch: bool) -> None:
    items = h.plan_undo_free(request)
    if not touch:
        warn_of_cleanup(max((h.cleanup_days([item], item.base) or 0 for item in items), default=0))
    with BytesBar("Restoring", after=SLOW_SECONDS) as bar:
        done = h.restore(items, touch=touch, progress=bar)
    if h.sync().busy:
        raise Incomplete("the files are back; another process is syncing, and the next sync notes it")
    cli.answer(
        {"applied": True, "written": done.written, "same": done.same, "bytes": done.bytes},
        lambda: [f"{many(done.written, 'file')} written back, {size(done.bytes)}"],
    )
