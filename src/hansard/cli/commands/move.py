"""`hansard move`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from hansard.cli.context import NOT_CHANGED, Command, Context, note, reads, warn
from hansard.cli.request_options import YES
from hansard.errors import NotFound, UsageError

if TYPE_CHECKING:
    from hansard.changes.journal import Journal
    from hansard.engine import Hansard


@click.command(cls=Command)
@click.argument("old", required=False)
@click.argument("new", required=False)
@YES
@click.option(
    "--rename",
    is_flag=True,
    help="Rename the history folder itself, and the path in history.jsonl and in the keys of .claude.json.",
)
@click.option("--rewrite-cwd", is_flag=True, help="With --rename: also change the cwd in the lines of transcripts.")
@click.option("--undo", is_flag=True, help="Undo the last move, or the one of OLD.")
@reads
def move(
    cli: Context, old: str | None, new: str | None, yes: bool, rename: bool, rewrite_cwd: bool, undo: bool
) -> None:
    r"""Tell Claude Code that a project was moved from OLD to NEW, so that it finds the sessions again.

    By default one line is added to .session-aliases of the new history folder and nothing else is touched; afterwards
    `claude --continue`, `--resume` and its picker work in NEW. Folders inside OLD move along, so OLD may be the home directory
    of another machine, even a Windows one. Hansard counts both places as one project.

    Without --yes the changes are shown and nothing is done. --undo restores every file as it was.

    Examples:
      hansard move ~/src/app ~/code/app
      hansard move ~/src/app ~/code/app --yes
      hansard move /Users/mira /home/mira --yes
      hansard move 'C:\Users\mira\app' ~/src/app --rename --yes
      hansard move --undo --yes
    """
    if rewrite_cwd and not rename:
        raise UsageError("--rewrite-cwd needs --rename")
    if undo:
        with cli.engine() as h:
            _undo(cli, h, old, yes)
        return
    if not old or not new:
        raise UsageError("give the folder that was moved and where it is now: hansard move OLD NEW")
    with cli.reading() as h:
        plan = h.plan_move(old, new, rename=rename, rewrite_cwd=rewrite_cwd)
        for warning in plan.warnings:
            warn(warning)
        if yes:
            h.move(plan)
    if cli.as_json:
        cli.emit(
            {
                "applied": yes,
                "old": plan.old,
                "new": plan.new,
                "folders": [{"from": source, "to": target} for source, target in plan.folders],
                "changes": plan.lines,
            }
        )
        return
    if not plan.folders:
        note(f"No root has a history folder for {plan.old}: only Hansard's own record changes.")
    cli.say(plan.lines)
    moved = f"Moved. {plan.old} and {plan.new} now count as one project; `hansard move --undo --yes` undoes it."
    note(moved if yes else NOT_CHANGED)


def _undo(cli: Context, h: Hansard, old: str | None, yes: bool) -> None:
    found = _last(h.moves(), old)
    undone = h.undo_move(found) if yes else None
    paths = [step.path for step in found.steps]
    if cli.as_json:
        left = {"merged": undone.merged, "left": undone.left, "failed": undone.failed} if undone else {"changes": paths}
        cli.emit({"applied": yes, "old": found.facts["old"], "new": found.facts["new"], **left})
        return
    if undone is None:
        cli.say([f"undo the {found.title}", *(f"restore {path}" for path in paths)])
        note(NOT_CHANGED)
        return
    for line in undone.notes("what the move did"):
        note(line)
    note(f"Undone: the {found.title}.")


def _last(moves: list[Journal], old: str | None) -> Journal:
    names = {old, os.path.abspath(os.path.expanduser(old))} if old else set()
    fitting = [item for item in moves if not names or item.facts["old"] in names]
    if not fitting:
        raise NotFound("no move to undo" if not old else f"no move of {old} to undo")
    return fitting[-1]
