"""`hansard retention`: what the rules of the configuration free and delete."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hansard.cli.context import Command, Context, none_found, note, reads, warn
from hansard.errors import UsageError
from hansard.model.retention import Retention
from hansard.render.format import many, size
from hansard.render.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hansard.model.retention import RetentionDone, RetentionPlan


@click.command(cls=Command)
@click.option(
    "--yes", "-y", is_flag=True, help="Do it; otherwise it is only shown. What is deleted cannot be brought back."
)
@reads
def retention(cli: Context, yes: bool) -> None:
    """Show what the rules below [retention] in the configuration would free and delete now; --yes does it.

    Everything is kept for ever unless a rule says otherwise. `free_after_days` removes files from the client's folder, as `hansard free`
    does; `delete_after_days` erases sessions from the record, as `hansard forget` does. Nothing of what is under `hold` goes.

    Examples:
      hansard retention
      hansard retention --yes
      hansard retention --json
    """
    rules = cli.settings().retention or Retention()
    if not rules.has_rules:
        if yes:
            raise UsageError("there are no rules: see `retention` in the configuration (hansard help retention)")
        if not cli.as_json:
            none_found("no rules: everything is kept for ever, in the client's folder as long as the client keeps it")
    with cli.reading() as h:
        plan = h.plan_retention(rules)
        done = h.apply_retention(rules) if yes else None
    for name in plan.unknown:
        warn(f"{one_line(name)}: named below [retention], but no project and no session is called so")
    if cli.as_json:
        cli.emit(_as_json(plan, done))
        return
    if done is not None:
        cli.say(_done_lines(done))
        return
    cli.say(_lines(cli, plan))
    note("Nothing was changed. Run this again with --yes to do it; deletion from the record cannot be undone.")


def _as_json(plan: RetentionPlan, done: RetentionDone | None) -> dict[str, object]:
    return {
        "applied": done is not None,
        "free": {"files": len(plan.free.freeable), "bytes": plan.free.bytes, "items": plan.free.items},
        "delete": plan.delete,
        "held_sessions": plan.held,
        "unknown": plan.unknown,
        "freed": done.freed if done is not None else None,
        "receipt": done.receipt if done is not None else None,
    }


def _lines(cli: Context, plan: RetentionPlan) -> Iterator[str]:
    yield f"From the client's folder: {many(len(plan.free.freeable), 'file')}, {size(plan.free.bytes)}"
    if plan.free.items:
        yield from cli.draw(plan.free.by_kind())
    for reason, (files, bytes_) in plan.free.reasons.items():
        yield f"  {many(files, 'file')}, {size(bytes_)} stay: {one_line(reason)}"
    yield ""
    if plan.delete is None:
        yield "From the record: nothing"
    else:
        yield f"From the record: {many(len(plan.delete.sessions), 'session')}, {size(plan.delete.bytes)}"
        yield from cli.draw(plan.delete.summary)
    if plan.held:
        yield f"Under a hold: {many(plan.held, 'session')}"


def _done_lines(done: RetentionDone) -> Iterator[str]:
    yield f"{many(done.freed.files, 'file')} removed from the client's folder, {size(done.freed.bytes)} freed"
    if done.freed.left:
        yield f"{many(len(done.freed.left), 'file')} stayed: changed or opened meanwhile"
    if done.receipt is None:
        yield "Nothing was deleted from the record"
    else:
        erased = done.receipt.erased
        what = f"{many(erased.sessions, 'session')}, {many(erased.files, 'other file')}"
        yield f"{what} deleted from the record ({size(erased.bytes)}): receipt {done.receipt.number}"
