"""`hansard forget`: erase sessions, a project, messages or a text, everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from hansard.cli.arguments import choose_session
from hansard.cli.context import Command, Context, none_found, note, reads, warn
from hansard.cli.request_options import takes
from hansard.errors import UsageError
from hansard.model.store_requests import ForgetRequest
from hansard.render.erasing import left_lines, plan_lines, receipt_words

if TYPE_CHECKING:
    from hansard.engine import Hansard

_NOT_KNOWN = (
    "Not touched, because Hansard does not know of them: exported files that were copied or moved since, and what `show`, `cat`, `sql --to`,"
    " `audit --to`, `restore` or another program wrote."
)


@click.command(cls=Command)
@click.argument("names", metavar="SESSION...", nargs=-1)
@takes(
    ForgetRequest,
    "project match secrets messages source keep_copies",
    click.option("--yes", "-y", is_flag=True, help="Erase it; otherwise it is only shown. This cannot be undone."),
    click.option("--receipts", "shows_receipts", is_flag=True, help="List what was erased before, in numbers."),
    click.option(
        "--allow", metavar="ID", help="Let a session or message that was forgotten be stored again, by its full id."
    ),
)
@reads
def forget(cli: Context, request: ForgetRequest, yes: bool, shows_receipts: bool, allow: str | None) -> None:
    """Erase sessions, a project, messages, a text or a secret: from the record, the indexes, notes, caches, exports and backups.

    Without --yes it is only shown what would be erased, and which copies would be left. Erased bytes are overwritten, and the
    databases are written anew. Single messages become markers of the same length, and secrets placeholders, so that all else stays where it is. No later sync,
    rebuild or restore brings it back; `hansard verify` accepts the gap, because the chain of hashes has a link for it. The client's own
    files are left as they are unless you add --source, which keeps no backup of them.

    Every erasure leaves a receipt with numbers and no content: `hansard forget --receipts`.

    Examples:
      hansard forget 3f2a91c0
      hansard forget 3f2a91c0 --source --yes
      hansard forget --project ~/src/app
      hansard forget --match '"Jane Doe"' --yes
      hansard forget --message 1b9e0d2c-4f5a-4c0e-9a3d-7c1f2e8b6a01
      hansard forget --secret 3f2a91c0
      hansard forget --receipts --json
    """
    if shows_receipts or allow:
        with cli.engine() as h:
            _receipts(cli, h) if shows_receipts else _allow(cli, h, allow or "")
        return
    if not (request.names or request.project or request.match or request.messages or request.secrets):
        request = replace(request, names=(choose_session(cli, None, missing="name the sessions to forget"),))
    with cli.reading() as h:
        plan = h.plan_forget(request)
        receipt = None
        if yes:
            # `@last` may be another session a moment later.
            ids = (
                [session.session_id for session in plan.sessions]
                if request.names and not request.project
                else request.names
            )
            receipt = h.forget(replace(request, names=ids))
    if cli.as_json:
        cli.emit(
            {
                "applied": receipt is not None,
                "sessions": plan.sessions,
                "bytes": plan.bytes,
                "items": plan.items,
                "warnings": plan.warnings,
                "receipt": receipt,
            }
        )
        return
    for warning in plan.warnings:
        warn(warning)
    if receipt is None:
        cli.say(plan_lines(plan, cli.draw))
        note(_NOT_KNOWN)
        note("Nothing was changed. Run this again with --yes to erase it; this cannot be undone.")
        return
    cli.say([*left_lines(plan), receipt_words(receipt)])


def _receipts(cli: Context, h: Hansard) -> None:
    found = h.receipts()
    cli.answer({"receipts": found}, lambda: map(receipt_words, found))
    if not found and not cli.as_json:
        none_found("nothing was erased from this store")


def _allow(cli: Context, h: Hansard, session_id: str) -> None:
    if not h.allow(session_id):
        raise UsageError(f"{session_id}: was not forgotten; give the full id of a session or message that was")
    if cli.as_json:
        cli.emit({"allowed": session_id})
    else:
        note(f"{session_id} will be stored again by the next sync, if its files are still there.")
