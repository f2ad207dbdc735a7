"""`hansard explain`."""

from __future__ import annotations

import click
from msgspec.structs import replace

from hansard.cli.context import Command, Context, note, pass_context, reads
from hansard.cli.request_options import LEDGER_FILTERS, limit_option, period_of, takes
from hansard.model.requests import DIMENSIONS, ExplainRequest


@click.command(cls=Command)
@click.argument("what", nargs=-1, metavar="[TARGET|KEY...]")
@takes(
    ExplainRequest,
    click.option(
        "--by", metavar="WHAT", help=f"KEY is a row of this report: {', '.join(DIMENSIONS)}; several with commas."
    ),
    f"query {LEDGER_FILTERS} mode",
    limit_option(20, text="Show at most this many messages, the most expensive first; 0 shows all."),
)
@reads
@pass_context
def explain(cli: Context, request: ExplainRequest, what: tuple[str, ...]) -> None:
    """Show any figure down to the lines, the rates and the arithmetic behind it.

    TARGET is a session, a time as reports show it, a message's id, or the uuid of a line. With --by, KEY is the row of a
    report: the values of its dimensions in order, - for the unknown one. Without either: everything that is selected.

    Examples:
      hansard explain @last
      hansard explain 2026-05-01
      hansard explain 2026-W18 --project tidewater
      hansard explain msg_01XFDUDYJgAACzvnptvVoYEL
      hansard explain --by day,model 2026-05-01 claude-opus-4-6
      hansard explain --by branch - --since 30d -n 0
      hansard explain --since 7d --json
    """
    key = [None if value in ("", "-") else value for value in what] if request.by is not None else what
    with cli.reading() as h:
        explanation = h.explain(replace(request, key=key))
    if cli.as_json:
        cli.emit(explanation)
        return
    from hansard.render.terminal.explanation import lay_out

    cli.say(lay_out(explanation, period_of(request).zone, cli.names, cli.width(), cli.paint()))
    hidden = explanation.figure.api_messages - len(explanation.messages)
    if hidden and explanation.messages:
        note(f"{len(explanation.messages):,} of {explanation.figure.api_messages:,} messages; --limit 0 shows them all")
