"""`hansard doctor`."""

from __future__ import annotations

import click

from hansard.cli.context import Command, Context, pass_context, reads
from hansard.errors import HansardError


@click.command(cls=Command)
@reads
@pass_context
def doctor(cli: Context) -> None:
    """Look for problems: the store's health, permissions, bad lines, records and fields nobody has seen.

    Exits with 1 if there are errors; notes and warnings do not count.

    Examples:
      hansard doctor
      hansard doctor --json
    """
    from hansard.query.health import Diagnosis, Finding

    try:
        with cli.reading(waits=False) as h:
            answer = h.doctor()
    except HansardError as error:
        if error.exit_code <= 2:  # the question is wrong, not the store
            raise
        answer = Diagnosis((Finding("error", "store", str(error)),), (), ())
    if cli.as_json:
        cli.emit(answer)
    else:
        from hansard.render.terminal.health import doctor_lines

        cli.say(doctor_lines(answer, cli.width(), cli.paint()))
    if not answer.is_healthy:
        raise click.exceptions.Exit(1)
