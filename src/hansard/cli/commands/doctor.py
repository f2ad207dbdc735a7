"""`hansard doctor`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from hansard.cli.context import Command, Context, pass_context, reads
from hansard.errors import HansardError
from hansard.render.terminal.tables import Column, table
from hansard.render.text import Paint, fit, fit_path, one_line, wrap

if TYPE_CHECKING:
    from hansard.query.health import Diagnosis


_LEVELS = {"ok": ("ok", "green"), "note": ("note", "blue"), "warning": ("warning", "yellow"), "error": ("ERROR", "red")}


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
        cli.say(doctor_lines(answer, cli.width(), cli.paint()))
    if not answer.is_healthy:
        raise click.exceptions.Exit(1)


def doctor_lines(answer: Diagnosis, columns: int, paint: Paint) -> Iterator[str]:
    """The diagnosis for people."""
    for finding in answer.findings:
        word, style = _LEVELS.get(finding.level, (finding.level, "yellow"))
        first, *more = wrap(f"{finding.subject}: {one_line(finding.text)}", columns - 9)
        yield f"{paint(word.ljust(7), style)}  {first}"
        yield from (" " * 9 + line for line in more)
    if answer.issues:
        yield ""
        yield paint("Malformed lines, kept as they are", "heading")
        for issue in answer.issues:
            detail = one_line(issue.examples[0].detail) if issue.examples else ""
            words = one_line(issue.reason).replace("_", " ") + (f": {detail}" if detail else "")
            yield fit(f"  {issue.count:>7,}  {words}", columns)
            for example in issue.examples:
                place = f"at {example.offset:,} in "
                yield f"           {place}{fit_path(one_line(example.transcript), columns - 11 - len(place))}"
    if answer.drift:
        yield ""
        yield paint("Records and fields that Hansard does not know yet", "heading")
        shape = (
            Column("CLIENT"),
            Column("COUNT", right=True),
            Column("RECORD", least=10),
            Column("FIELD", least=8),
            Column("FIRST SEEN", rank=1, style="dim"),
        )
        rows = [
            (
                one_line(item.version) or "-",
                f"{item.count:,}",
                one_line(item.kind),
                one_line(item.field) or "(new kind)",
                fit_path(one_line(item.transcript.rsplit("/", 1)[-1]), 20) + f" at {item.offset:,}",
            )
            for item in answer.drift[:30]
        ]
        yield from ("  " + line for line in table(shape, rows, columns - 2, paint))
        if len(answer.drift) > 30:
            yield f"  and {len(answer.drift) - 30:,} more: --json lists all"
