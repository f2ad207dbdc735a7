"""`hansard bench`: how well search does on one's own history."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hansard.cli.context import SLOW_SECONDS, Command, Context, note, pass_context, reads
from hansard.render.terminal.tables import Column, table
from hansard.render.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hansard.query.relevance import Miss, Score

_SCORES = (
    Column("QUESTIONS", least=12),
    Column("", right=True),
    Column("HIT@1", right=True, rank=2),
    Column("HIT@10", right=True),
    Column("MRR", right=True, rank=1),
    Column("SESSION @1", right=True, rank=4),
    Column("@10", right=True, rank=3),
    Column("MRR", right=True, rank=5),
)


@click.command(cls=Command)
@click.argument("what", metavar="relevance", type=click.Choice(["relevance"]))
@click.option(
    "--sample", type=click.IntRange(min=1), default=100, show_default=True, help="Number of questions per class."
)
@click.option("--seed", type=int, default=7, show_default=True, help="Seed for choosing the questions.")
@click.option("--misses", type=click.IntRange(min=0), default=0, help="Also print this many unanswered questions.")
@reads
@pass_context
def bench(cli: Context, what: str, sample: int, seed: int, misses: int) -> None:  # noqa: ARG001 - relevance is all there is
    """Measure how well search finds what is known to be in your own history.

    Questions are made from the history itself, as somebody might remember it: phrases, words in another order or form,
    identifiers in another spelling, lines of errors. The same seed gives the same questions.

    Examples:
      hansard bench relevance
      hansard bench relevance --sample 300 --misses 10
      hansard bench relevance --json
    """
    from hansard.cli.output.progress import CountBar

    with cli.reading() as h, CountBar("Asking", after=SLOW_SECONDS) as bar:
        found = h.relevance(sample=sample, seed=seed, misses=misses, progress=bar)
    if cli.as_json:
        cli.emit(found)
    elif found.overall.queries:
        rows = [_row(score) for score in (*found.classes, found.overall)]
        cli.say([*table(_SCORES, rows, cli.width(), cli.paint()), *_told(found.misses)])
    if not found.overall.queries:
        note("hansard: the history has no text to make questions from")
        raise click.exceptions.Exit(1)


def _row(score: Score) -> tuple[str, ...]:
    figures = (score.hit_1, score.hit_10, score.mrr, score.session_hit_1, score.session_hit_10, score.session_mrr)
    return score.kind, f"{score.queries:,}", *(f"{figure:.3f}" for figure in figures)


def _told(misses: tuple[Miss, ...]) -> Iterator[str]:
    for miss in misses:
        rank = f"; its session is number {miss.session_rank}" if miss.session_rank else ""
        place = (
            f"{one_line(miss.transcript)} at {miss.offset}"
            if miss.transcript
            else f"session {one_line(miss.session_id)}"
        )
        yield ""
        yield f"{miss.kind}: {one_line(miss.query)}"
        yield f"  expected  {one_line(miss.passage)}"
        yield f"            {place}{rank}"
        yield f"  first     {one_line(miss.first) or '(nothing was found)'}"
