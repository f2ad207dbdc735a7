"""`hansard cat`."""

from __future__ import annotations

import sys
from hashlib import sha256

import click

from hansard.cli.context import Command, Context, pass_context, reads, warn
from hansard.cli.session_argument import choose_session
from hansard.model.serialize import plain


@click.command(cls=Command)
@click.argument("name", metavar="SESSION|TRANSCRIPT", required=False)
@click.option(
    "--generation",
    type=click.IntRange(min=1),
    metavar="N",
    help="Another generation of a rewritten file; 1 is the first.",
)
@reads
@pass_context
def cat(cli: Context, name: str | None, generation: int | None) -> None:
    """Write a transcript's verbatim bytes to stdout.

    A session's name means its main transcript; a subagent's id, a path or the end of one means that file.
    With --json the file is described (path, bytes, SHA-256, generation) instead of written.

    Examples:
      hansard cat @last | jq .type
      hansard cat 3f2a91c0 --generation 1 > before.jsonl
      hansard cat agent-a497335b28b4899ad --json
    """
    name = choose_session(cli, name)
    with cli.reading() as h:
        id_, transcript = h.find_transcript(name, generation=generation)
        unproven_from = h.unproven_from(id_)
        if unproven_from is not None:
            warn(
                f"unproven from byte {unproven_from:,} on: it was read while the file was being written, which may never have had"
                " all of these bytes at once"
            )
        pieces = h.cat(name, generation=generation)
        if not cli.as_json:
            stream = sys.stdout.buffer
            for piece in pieces:
                stream.write(piece)
            stream.flush()
            return
        digest, length = sha256(), 0
        for piece in pieces:
            digest.update(piece)
            length += len(piece)
        facts = plain(transcript)
        facts.pop("size")
        cli.emit(
            {
                "transcript": facts.pop("path"),
                "bytes": length,
                "sha256": digest.hexdigest(),
                **facts,
                "unproven_from": unproven_from,
            }
        )
